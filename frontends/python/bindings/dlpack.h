// DLPack's structures, and element types in its terms and in those of buffers.
#ifndef TENON_FRONTENDS_PYTHON_BINDINGS_DLPACK_H_
#define TENON_FRONTENDS_PYTHON_BINDINGS_DLPACK_H_

#include <cstdint>
#include <string_view>

#include "ir/base/dtype.h"

namespace tenon::python {

// The layout of these three is DLPack's.
struct DlDevice {
  int32_t type = 1;  // 1: the CPU
  int32_t id = 0;    // the number of the device
};
// An element type.
struct DlType {
  uint8_t code = 0;    // the kind: 0 signed, 1 unsigned, 2 float, 4 bfloat, 6 bool, …
  uint8_t bits = 0;    // of one element
  uint16_t lanes = 1;  // more than 1: vectors, which Tenon does not take
};
// A borrowed tensor.
struct DlTensor {
  void* data = nullptr;        // the memory, without the offset
  DlDevice device;             // where it lies
  int32_t rank = 0;            // the number of dimensions
  DlType dtype;                // the element type
  int64_t* shape = nullptr;    // the extents
  int64_t* strides = nullptr;  // in elements; null: dense
  uint64_t byte_offset = 0;    // of the first element
};
// A tensor with its owner, as a capsule "dltensor" holds it.
struct DlManagedTensor {
  DlTensor tensor;          // the tensor
  void* context = nullptr;  // of the owner
  void (*deleter)(DlManagedTensor*) =
      nullptr;  // whoever takes the tensor calls it once; may be null
};

// The same since version 1, as a capsule "dltensor_versioned" holds it.
struct DlManagedTensorVersioned {
  uint32_t major = 1, minor = 0;  // of DLPack; another `major` has another layout behind it
  void* context = nullptr;        // of the owner
  void (*deleter)(DlManagedTensorVersioned*) = nullptr;  // as DlManagedTensor
  uint64_t flags = 0;                                    // kDlReadOnly, kDlCopied
  DlTensor tensor;                                       // the tensor
};

inline constexpr uint64_t kDlReadOnly = 1, kDlCopied = 2;  // DlManagedTensorVersioned::flags
inline constexpr int32_t kDlCpu = 1;                       // DlDevice::type of host memory.

// The type in DLPack's terms; `bits` is 0 if it has none.
DlType DlTypeOf(DType dtype);
// The reverse; kInvalid for types that Tenon does not have, or stores in another way.
DType DTypeOf(DlType type);

// The format of a buffer, such as "f"; null if buffers have no such type.
const char* FormatOf(DType dtype);
// The reverse, for elements of `size` bytes; kInvalid for types that Tenon does not have, and for
// bytes in the other order.
DType DTypeOf(std::string_view format, int64_t size);

// The name in NumPy's terms: "float32", "bool", "bfloat16", "int4".
const char* NumpyName(DType dtype);
// The reverse; kInvalid for other names.
DType DTypeNamed(std::string_view name);

}  // namespace tenon::python

#endif  // TENON_FRONTENDS_PYTHON_BINDINGS_DLPACK_H_
