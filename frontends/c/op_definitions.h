// Definitions of operations of the host: types, attributes, and functions with a state.
#ifndef TENON_FRONTENDS_C_OP_DEFINITIONS_H_
#define TENON_FRONTENDS_C_OP_DEFINITIONS_H_

#include "frontends/c/extensions.h"
#include "frontends/c/types.h"

#ifdef __cplusplus
extern "C" {
#endif

// How many values a group of operands or results has.
typedef int32_t TenonArity;
enum { TENON_SINGLE = 0, TENON_OPTIONAL = 1, TENON_VARIADIC = 2 };

// A group of operands or results.
typedef struct TenonValueDef {
  TenonString name;  // of the group
  TenonArity arity;  // how many values it has
  // The element types that a tensor may have: bit 1u << TENON_F32 and so on. 0: any type.
  uint32_t dtypes;
} TenonValueDef;

// The values that an attribute takes, with an example of their text.
typedef int32_t TenonAttributeType;
enum {
  TENON_TAKES_ANY = 0,       // any attribute
  TENON_TAKES_UNIT = 1,      // unit
  TENON_TAKES_BOOL = 2,      // true
  TENON_TAKES_I64 = 3,       // 3 : i64
  TENON_TAKES_F32 = 4,       // 1.0 : f32
  TENON_TAKES_F64 = 5,       // 1.0 : f64
  TENON_TAKES_STRING = 6,    // "text"
  TENON_TAKES_I64S = 8,      // array<i64: 1, 2>
  TENON_TAKES_F32S = 9,      // array<f32: 1.0>
  TENON_TAKES_DIMS = 10,     // #core.dims<"B", 768>
  TENON_TAKES_DTYPE = 11,    // an element type: f32
  TENON_TAKES_TYPE = 12,     // any type
  TENON_TAKES_ELEMENTS = 13  // contents of a tensor
};

// An attribute of an operation.
typedef struct TenonAttributeDef {
  TenonString name;          // of the attribute
  TenonAttributeType type;   // which values it takes
  bool optional;             // the operation can exist without it
  TenonString default_text;  // as in text: "1.0 : f32"; empty for no default
} TenonAttributeDef;

// Traits, on which passes rely. One without an effect must say TENON_TRAIT_PURE: others are never
// removed, merged or folded.
enum {
  TENON_TRAIT_PURE = 1 << 0,         // no effect beyond its results
  TENON_TRAIT_ELEMENTWISE = 1 << 1,  // result shape = broadcast of operand shapes
  TENON_TRAIT_COMMUTATIVE = 1 << 2,  // the first two operands may be swapped
  TENON_TRAIT_IDEMPOTENT = 1 << 3,   // f(f(x)) = f(x)
  TENON_TRAIT_TERMINATOR = 1 << 5,   // ends its block
  TENON_TRAIT_SAME_DTYPE = 1 << 11,  // operands and results share one element type
  TENON_TRAIT_READS_MEMORY = 1 << 14,
  TENON_TRAIT_WRITES_MEMORY = 1 << 15,
  TENON_TRAIT_RANDOM = 1 << 16  // results differ from run to run
};

// The types and attributes of an operation whose results are asked for. Valid during the call.
typedef struct TenonInferCall TenonInferCall;
// In this context the types of results are made.
TENON_C_API TenonContext tenonInferCallContext(const TenonInferCall* call);
// The number of operands of all groups.
TENON_C_API size_t tenonInferCallNumOperands(const TenonInferCall* call);
// The type of an operand.
TENON_C_API TenonType tenonInferCallOperand(const TenonInferCall* call, size_t index);
// Defaults are filled in; null if the attribute is absent.
TENON_C_API TenonAttribute tenonInferCallAttribute(const TenonInferCall* call, TenonString name);
// Adds the type of the next result.
TENON_C_API TenonStatus* tenonInferCallAddResult(TenonInferCall* call, TenonType type);

// Adds the type of each result, for any shapes, also of unknown extents. Returns an error for
// operands or attributes that do not fit.
typedef TenonStatus* (*TenonInferFn)(TenonInferCall* call, void* state);
// Checks an operation beyond its definition. The message needs neither name nor place.
typedef TenonStatus* (*TenonVerifyFn)(TenonOperation op, void* state);

// An operation that is folded. Valid during the call.
typedef struct TenonFoldCall TenonFoldCall;
// The operation itself.
TENON_C_API TenonOperation tenonFoldCallOperation(const TenonFoldCall* call);
// The constant that an operand is; null for other operands.
TENON_C_API TenonAttribute tenonFoldCallConstant(const TenonFoldCall* call, size_t operand);
// Replaces a result by an existing value.
TENON_C_API TenonStatus* tenonFoldCallSetValue(TenonFoldCall* call, size_t result,
                                               TenonValue value);
// Replaces a result by a constant.
TENON_C_API TenonStatus* tenonFoldCallSetConstant(TenonFoldCall* call, size_t result,
                                                  TenonAttribute constant);
// Replaces all results, or none. Creates and changes nothing.
typedef void (*TenonFoldFn)(TenonFoldCall* call, void* state);

// How the types of results follow from operands and attributes.
typedef int32_t TenonInferKind;
enum {
  TENON_INFER_FIRST = 0,        // the type of the first operand
  TENON_INFER_ELEMENTWISE = 1,  // the broadcast shape, and the element type of the first operand
  TENON_INFER_CALL = 2          // `infer` says
};

// An operation. All functions may be NULL, except that TENON_INFER_CALL needs `infer`.
typedef struct TenonOpDef {
  size_t struct_size;             // sizeof(TenonOpDef)
  TenonString name;               // with its dialect, which must not be one of Tenon: "acme.gelu"
  TenonString summary;            // one sentence
  const TenonValueDef* operands;  // groups, in order
  size_t num_operands;            // length of `operands`
  const TenonValueDef* results;   // the last one alone may be optional or variadic
  size_t num_results;             // length of `results`
  const TenonAttributeDef* attributes;  // in any order
  size_t num_attributes;                // length of `attributes`
  const TenonString* regions;           // their names
  size_t num_regions;                   // length of `regions`
  uint32_t traits;                      // bits
  TenonInferKind infer_kind;            // how types of results follow
  TenonInferFn infer;                   // for TENON_INFER_CALL
  TenonVerifyFn verify;                 // checks an operation
  TenonFoldFn fold;                     // folds an operation
  void* state;                          // passed to the functions
  void (*destroy)(void* state);         // destroys `state`
} TenonOpDef;

// Adds an operation. A node `gelu` of an ONNX domain `acme` becomes `acme.gelu`. Most mistakes of a
// definition are errors of this call, all others of loading.
TENON_C_API TenonStatus* tenonExtensionAddOp(TenonExtension* extension, const TenonOpDef* op);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_FRONTENDS_C_OP_DEFINITIONS_H_
