// TensorProto to bytes.
#ifndef TENON_FRONTENDS_ONNX_TENSOR_H_
#define TENON_FRONTENDS_ONNX_TENSOR_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "frontends/onnx/external_data.h"
#include "frontends/onnx/mapped_file.h"
#include "frontends/onnx/onnx.pb.h"
#include "frontends/onnx/tensor_data.h"
#include "ir/core/attribute.h"
#include "ir/core/dtype.h"

namespace tenon::onnx {

// Largest rank that is accepted.
inline constexpr int kMaxRank = 1024;

// kInvalid for element types that Tenon has not (string, complex, 8-bit floats and smaller, ...).
DType DTypeOf(int32_t onnx_type);
int32_t OnnxTypeOf(DType dtype);
// "FLOAT8E4M3FN", or "type 99".
std::string OnnxTypeName(int32_t onnx_type);

// Where the bytes of tensors are.
struct TensorSource {
  FileBytes file;                    // what RawSlice refers to
  ExternalData* external = nullptr;  // null: external tensors are refused
};

// Bytes of a tensor of these dimensions; an error for negative ones, for too many, and on overflow.
absl::StatusOr<size_t> CheckedByteSize(DType dtype, std::span<const int64_t> dims);

// Shares the bytes of raw and external tensors, copies those of typed fields. Elements of 4 bits
// become bytes of the same signedness. Unimplemented for other element types that Tenon has not.
// Messages name the tensor.
absl::StatusOr<TensorData> DecodeTensor(const onnxpb::TensorProto& tensor,
                                        const TensorSource& source);
absl::StatusOr<Attribute> DecodeElements(Context& context, const onnxpb::TensorProto& tensor,
                                         const TensorSource& source);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_TENSOR_H_
