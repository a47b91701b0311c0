// Attributes: numbers, texts, lists and contents of tensors that belong to operations.
#ifndef TENON_FRONTENDS_C_ATTRIBUTES_H_
#define TENON_FRONTENDS_C_ATTRIBUTES_H_

#include "frontends/c/ir.h"
#include "frontends/c/types.h"

#ifdef __cplusplus
extern "C" {
#endif

// The kind of an attribute, with an example of its text.
typedef int32_t TenonAttributeKind;
enum {
  TENON_ATTRIBUTE_NULL = 0,         // of a null handle
  TENON_ATTRIBUTE_UNIT = 1,         // unit
  TENON_ATTRIBUTE_BOOL = 2,         // true
  TENON_ATTRIBUTE_INTEGER = 3,      // 3 : i64
  TENON_ATTRIBUTE_FLOAT = 4,        // 1.0e-5 : f32
  TENON_ATTRIBUTE_STRING = 5,       // "text"
  TENON_ATTRIBUTE_ARRAY = 6,        // [a, b]
  TENON_ATTRIBUTE_DENSE_ARRAY = 7,  // array<i64: 1, 2>
  TENON_ATTRIBUTE_TYPE = 8,         // f32
  TENON_ATTRIBUTE_SYMBOL_REF = 9,   // @name
  TENON_ATTRIBUTE_DICTIONARY = 10,  // {a = 1, b}
  TENON_ATTRIBUTE_ELEMENTS = 11,    // dense<0.0> : tensor<2xf32>
  TENON_ATTRIBUTE_DIMS = 12,        // #core.dims<"B", 768>
  TENON_ATTRIBUTE_OPAQUE = 13       // of a dialect, as text
};

// All functions that make attributes may run in several threads at once.

// Reads an attribute of any kind, which must be all of `text`: `{axis = 1 : i64, keep}`.
TENON_C_API TenonStatus* tenonAttributeParse(TenonContext context, TenonString text,
                                             TenonAttribute* attribute);
// true or false.
TENON_C_API TenonStatus* tenonAttributeBool(TenonContext context, bool value,
                                            TenonAttribute* attribute);
// An integer of type i64.
TENON_C_API TenonStatus* tenonAttributeInt64(TenonContext context, int64_t value,
                                             TenonAttribute* attribute);
// A number that is rounded to a float type: TENON_F16, TENON_BF16, TENON_F32 or TENON_F64.
TENON_C_API TenonStatus* tenonAttributeFloat(TenonContext context, TenonDType dtype, double value,
                                             TenonAttribute* attribute);
// A text, which is copied.
TENON_C_API TenonStatus* tenonAttributeString(TenonContext context, TenonString value,
                                              TenonAttribute* attribute);
// array<i64: …>. `values` may be NULL without elements.
TENON_C_API TenonStatus* tenonAttributeInt64s(TenonContext context, const int64_t* values,
                                              size_t count, TenonAttribute* attribute);
// [a, b]: a list of attributes.
TENON_C_API TenonStatus* tenonAttributeArray(TenonContext context, const TenonAttribute* elements,
                                             size_t count, TenonAttribute* attribute);
// A type of the same context.
TENON_C_API TenonStatus* tenonAttributeType(TenonContext context, TenonType type,
                                            TenonAttribute* attribute);
// The contents of a tensor of the static type `type`: `bytes` has exactly its size, row-major, and
// is copied.
TENON_C_API TenonStatus* tenonAttributeElements(TenonContext context, TenonType type,
                                                const void* bytes, size_t size,
                                                TenonAttribute* attribute);

// The kind; TENON_ATTRIBUTE_NULL for a null handle.
TENON_C_API TenonAttributeKind tenonAttributeGetKind(TenonAttribute attribute);
// The answers below are 0 or empty for attributes of another kind.

// Of a bool, and of an integer other than 0.
TENON_C_API bool tenonAttributeBoolValue(TenonAttribute attribute);
// Of an integer or a bool.
TENON_C_API int64_t tenonAttributeIntValue(TenonAttribute attribute);
// Of a float.
TENON_C_API double tenonAttributeFloatValue(TenonAttribute attribute);
// Of a string, of a symbol without its @, or of an opaque attribute. Lives as long as the context.
TENON_C_API TenonString tenonAttributeText(TenonAttribute attribute);
// The length of an array, a dense array, a dictionary, or a list of dimensions.
TENON_C_API size_t tenonAttributeSize(TenonAttribute attribute);
// Of an array, or the value of an entry of a dictionary.
TENON_C_API TenonAttribute tenonAttributeElement(TenonAttribute attribute, size_t index);
// Of an entry of a dictionary; they are sorted by name. Lives as long as the context.
TENON_C_API TenonString tenonAttributeEntryName(TenonAttribute attribute, size_t index);
// The entry of a dictionary; null if there is none of the name.
TENON_C_API TenonAttribute tenonAttributeFind(TenonAttribute attribute, TenonString name);
// The elements of a dense array of integers; NULL for others. Lives as long as the context.
TENON_C_API const int64_t* tenonAttributeInts(TenonAttribute attribute);
// The elements of a dense array of floats; NULL for others. Lives as long as the context.
TENON_C_API const double* tenonAttributeFloats(TenonAttribute attribute);
// Of a type attribute the type; of a number and of contents of a tensor their type.
TENON_C_API TenonType tenonAttributeGetType(TenonAttribute attribute);
// True for contents of a tensor whose elements are all equal, of which one is stored.
TENON_C_API bool tenonAttributeIsSplat(TenonAttribute attribute);
// Gives the bytes of contents of a tensor; of a splat those of one element. They live as long as an
// operation holds the attribute. FailedPrecondition for other kinds.
TENON_C_API TenonStatus* tenonAttributeBytes(TenonAttribute attribute, const void** bytes,
                                             size_t* size);
// Passes the text of the attribute to `sink`, without the bytes of large constants.
TENON_C_API TenonStatus* tenonAttributePrint(TenonAttribute attribute, TenonTextFn sink,
                                             void* state);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_FRONTENDS_C_ATTRIBUTES_H_
