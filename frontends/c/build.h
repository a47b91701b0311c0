// Building and changing IR. One thread changes a module, while nobody else reads it; different
// threads may change different functions of it.
//
// Nothing is verified at once: tenonOperationVerify does that, and so do Optimize, the other calls
// that run passes, and Compile, before they begin.
#ifndef TENON_FRONTENDS_C_BUILD_H_
#define TENON_FRONTENDS_C_BUILD_H_

#include "frontends/c/attributes.h"
#include "frontends/c/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

// An attribute with its name.
typedef struct TenonNamedAttribute {
  TenonString name;          // of the attribute
  TenonAttribute attribute;  // its value
} TenonNamedAttribute;

// An operation to be made. Everything belongs to one context.
typedef struct TenonOperationState {
  size_t struct_size;          // sizeof(TenonOperationState)
  TenonString name;            // with its dialect: "ten.matmul"
  TenonLocation location;      // all 0 if unknown
  const TenonValue* operands;  // of all groups, in order
  size_t num_operands;         // length of `operands`
  // The types of the results. With `infer_results` they follow from the shape function instead.
  const TenonType* result_types;
  size_t num_result_types;  // length of `result_types`
  bool infer_results;       // the shape function gives the types
  // Of the definition, or others. Missing ones get their defaults. An operation with several
  // optional or variadic groups needs `operandSegmentSizes`: array<i32: 1, 0, 2>.
  const TenonNamedAttribute* attributes;
  size_t num_attributes;         // length of `attributes`
  const TenonBlock* successors;  // of a terminator: blocks of the region that will hold it
  size_t num_successors;         // length of `successors`
  size_t num_regions;            // made without blocks: tenonRegionAddBlock
} TenonOperationState;

// Makes a detached operation, which the caller owns until it is inserted. NotFound for an unknown
// name, unless the context accepts its dialect. InvalidArgument if operands or attributes do not
// fit the definition.
TENON_C_API TenonStatus* tenonOperationCreate(TenonContext context,
                                              const TenonOperationState* state, TenonOperation* op);
// Makes a detached copy of `op` and all in it, which the caller owns. It uses the same values of
// outside.
TENON_C_API TenonStatus* tenonOperationClone(TenonOperation op, TenonOperation* copy);
// Destroys a detached operation and all in it. FailedPrecondition if it is in a block, or if its
// results have uses.
TENON_C_API TenonStatus* tenonOperationDestroy(TenonOperation op);

// Appends a detached operation to a block, which owns it from then on.
TENON_C_API TenonStatus* tenonBlockAppend(TenonBlock block, TenonOperation op);
// Inserts a detached operation before another one of a block.
TENON_C_API TenonStatus* tenonOperationInsertBefore(TenonOperation op, TenonOperation before);
// Moves an operation of a block before another one of the same context.
TENON_C_API TenonStatus* tenonOperationMoveBefore(TenonOperation op, TenonOperation before);
// Takes an operation out of its block; the caller owns it.
TENON_C_API TenonStatus* tenonOperationDetach(TenonOperation op);
// Takes an operation out of its block and destroys it, with all in it. FailedPrecondition if its
// results have uses.
TENON_C_API TenonStatus* tenonOperationErase(TenonOperation op);

// Makes operand `index` refer to `value`.
TENON_C_API TenonStatus* tenonOperationSetOperand(TenonOperation op, size_t index,
                                                  TenonValue value);
// Sets an attribute; null removes it, and gives one of the definition its default. InvalidArgument
// for a value that does not fit the definition.
TENON_C_API TenonStatus* tenonOperationSetAttribute(TenonOperation op, TenonString name,
                                                    TenonAttribute attribute);
// Sets where an operation comes from; all 0 for unknown.
TENON_C_API TenonStatus* tenonOperationSetLocation(TenonOperation op, TenonLocation location);

// Gives all uses of `value` to `other`.
TENON_C_API TenonStatus* tenonValueReplaceAllUses(TenonValue value, TenonValue other);
// Changes the type of a value, and nothing else.
TENON_C_API TenonStatus* tenonValueSetType(TenonValue value, TenonType type);
// A hint for people: the printer shows it. An empty name removes it.
TENON_C_API TenonStatus* tenonValueSetName(TenonValue value, TenonString name);

// Appends a block with these arguments to a region, which owns it.
TENON_C_API TenonStatus* tenonRegionAddBlock(TenonRegion region, const TenonType* argument_types,
                                             size_t num_arguments, TenonBlock* block);
// Appends an argument to a block of a region.
TENON_C_API TenonStatus* tenonBlockAddArgument(TenonBlock block, TenonType type,
                                               TenonValue* argument);

// Appends a function of this type to a module. It has an entry block with an argument for each
// input, and needs a terminator: func.return.
TENON_C_API TenonStatus* tenonFunctionCreate(TenonOperation module, TenonString name,
                                             TenonType function_type, TenonOperation* function);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_FRONTENDS_C_BUILD_H_
