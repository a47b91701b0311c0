// Converting TensorProto to bytes.
#ifndef TENON_FRONTENDS_ONNX_FILE_TENSOR_H_
#define TENON_FRONTENDS_ONNX_FILE_TENSOR_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "frontends/onnx/file/external_data.h"
#include "frontends/onnx/file/mapped_file.h"
#include "frontends/onnx/file/tensor_data.h"
#include "frontends/onnx/onnx.pb.h"
#include "ir/base/dtype.h"
#include "ir/core/attribute.h"
#include "ir/core/constants/blob.h"

namespace tenon::onnx {

// The highest rank that is accepted.

// Returns kInvalid for element types that Tenon does not have: strings, complex numbers, floats of
// 6 bits.
DType DTypeOf(int32_t onnx_type);
int32_t OnnxTypeOf(DType dtype);
// Returns "FLOAT8E4M3FN", or "type 99" for an unknown one.
std::string OnnxTypeName(int32_t onnx_type);

// Where the bytes of tensors are.
struct TensorSource {
  FileBytes file;                    // RawSlice refers to it
  ExternalData* external = nullptr;  // null: external tensors are refused
};

// Returns the size in bytes. An error for negative dimensions, too many of them, and overflow.
absl::StatusOr<size_t> CheckedByteSize(DType dtype, std::span<const int64_t> dims);

// The bytes that ONNX has for so many elements: types of 4 and 2 bits have two and four in a byte.
size_t OnnxByteSize(DType dtype, size_t count);
// Elements as ONNX has them. Returns `elements` itself unless the type is one of 4 or 2 bits.
std::shared_ptr<const Blob> OnnxBytes(DType dtype, std::shared_ptr<const Blob> elements);
// The first opset with this element type.
int64_t OldestOpset(DType dtype);

// Reads a tensor. Shares the bytes of raw and external tensors. Copies those of typed fields and of
// elements of 4 and 2 bits. Unimplemented for element types that Tenon does not have. Messages name
// the tensor.
absl::StatusOr<TensorData> DecodeTensor(const onnxpb::TensorProto& tensor,
                                        const TensorSource& source);
absl::StatusOr<Attribute> DecodeElements(Context& context, const onnxpb::TensorProto& tensor,
                                         const TensorSource& source);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_FILE_TENSOR_H_
