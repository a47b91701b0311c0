// Element types, types of values, and locations.
#ifndef TENON_FRONTENDS_C_TYPES_H_
#define TENON_FRONTENDS_C_TYPES_H_

#include "frontends/c/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

// Element types of tensors. Values in memory are little-endian and dense, and every element takes
// whole bytes. Those below F64 are stored, moved and converted only.
typedef int32_t TenonDType;
enum {
  TENON_DTYPE_INVALID = 0,
  TENON_BOOL = 1,  // a byte, 0 or 1
  TENON_I8 = 2,
  TENON_I16 = 3,
  TENON_I32 = 4,
  TENON_I64 = 5,
  TENON_U8 = 6,
  TENON_U16 = 7,
  TENON_U32 = 8,
  TENON_U64 = 9,
  TENON_F16 = 10,
  TENON_BF16 = 11,
  TENON_F32 = 12,
  TENON_F64 = 13,
  TENON_F8E4M3FN = 14,
  TENON_F8E4M3FNUZ = 15,
  TENON_F8E5M2 = 16,
  TENON_F8E5M2FNUZ = 17,
  TENON_F8E8M0FNU = 18,
  TENON_F4E2M1FN = 19,
  TENON_I4 = 20,
  TENON_I2 = 21,
  TENON_U4 = 22,
  TENON_U2 = 23
};

// Bytes of one element; 0 for TENON_DTYPE_INVALID and for no element type.
TENON_C_API size_t tenonDTypeSize(TenonDType dtype);
// The name in text, such as "f32". Lives as long as the process; empty for no element type.
TENON_C_API TenonString tenonDTypeName(TenonDType dtype);

// The kind of a type.
typedef int32_t TenonTypeKind;
enum {
  TENON_TYPE_NULL = 0,      // of a null handle
  TENON_TYPE_SCALAR = 1,    // f32, an element type by itself
  TENON_TYPE_INDEX = 2,     // index
  TENON_TYPE_NONE = 3,      // none
  TENON_TYPE_TENSOR = 4,    // tensor<2x?xf32>
  TENON_TYPE_UNRANKED = 5,  // tensor<*xf32>
  TENON_TYPE_FUNCTION = 6,  // (a, b) -> (c)
  TENON_TYPE_TUPLE = 7,     // tuple<a, b>
  TENON_TYPE_OPAQUE = 8     // of a dialect, as text: !acme.money
};

// The extent of a dimension that is not a number.
#define TENON_DYNAMIC (-1)

// All functions that make types may run in several threads at once.

// Reads a type, which must be all of `text`, such as `tensor<?x3xf32, ["batch", ""]>`.
TENON_C_API TenonStatus* tenonTypeParse(TenonContext context, TenonString text, TenonType* type);
// A ranked tensor; TENON_DYNAMIC is an extent of which nothing is known. `extents` may be NULL for
// rank 0.
TENON_C_API TenonStatus* tenonTypeTensor(TenonContext context, TenonDType dtype,
                                         const int64_t* extents, size_t rank, TenonType* type);
// A ranked tensor whose extents are texts: numbers, names such as "batch", expressions such as
// "past + 1", and "?".
TENON_C_API TenonStatus* tenonTypeSymbolicTensor(TenonContext context, TenonDType dtype,
                                                 const TenonString* extents, size_t rank,
                                                 TenonType* type);
// An element type by itself.
TENON_C_API TenonStatus* tenonTypeScalar(TenonContext context, TenonDType dtype, TenonType* type);
// A function type: (a, b) -> (c). A list without types may be NULL.
TENON_C_API TenonStatus* tenonTypeFunction(TenonContext context, const TenonType* inputs,
                                           size_t num_inputs, const TenonType* results,
                                           size_t num_results, TenonType* type);

// The kind; TENON_TYPE_NULL for a null handle.
TENON_C_API TenonTypeKind tenonTypeGetKind(TenonType type);
// The element type of a tensor, or a scalar type; TENON_DTYPE_INVALID for others.
TENON_C_API TenonDType tenonTypeGetDType(TenonType type);
// The number of dimensions of a ranked tensor; -1 for others.
TENON_C_API int64_t tenonTypeRank(TenonType type);
// An extent of a ranked tensor; TENON_DYNAMIC for one that is not a number.
TENON_C_API int64_t tenonTypeExtent(TenonType type, size_t axis);
// The same as text: "768", "batch", "?". Lives as long as the context.
TENON_C_API TenonString tenonTypeExtentText(TenonType type, size_t axis);
// The number of inputs of a function type, or of elements of a tuple.
TENON_C_API size_t tenonTypeNumInputs(TenonType type);
// The type of one of these.
TENON_C_API TenonType tenonTypeInput(TenonType type, size_t index);
// The number of results of a function type.
TENON_C_API size_t tenonTypeNumResults(TenonType type);
// The type of a result of a function type.
TENON_C_API TenonType tenonTypeResult(TenonType type, size_t index);
// Passes the text of the type to `sink`.
TENON_C_API TenonStatus* tenonTypePrint(TenonType type, TenonTextFn sink, void* state);

// ---- locations
// The name of a node of the model.
TENON_C_API TenonStatus* tenonLocationName(TenonContext context, TenonString name,
                                           TenonLocation* location);
// A place in a text. Line and column count from 1.
TENON_C_API TenonStatus* tenonLocationFile(TenonContext context, TenonString file, uint32_t line,
                                           uint32_t column, TenonLocation* location);
// Passes the short text of a location to `sink`, such as "/encoder/Add" or "m.mlir:3:4".
TENON_C_API TenonStatus* tenonLocationPrint(TenonContext context, TenonLocation location,
                                            TenonTextFn sink, void* state);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_FRONTENDS_C_TYPES_H_
