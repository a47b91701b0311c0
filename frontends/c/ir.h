// Reading IR: operations, their operands and results, blocks, regions, values and uses.
//
// Handles own nothing. One of an operation, block, region or value is valid until that is
// destroyed, also when it moves; one of a type or attribute as long as its context. Any number of
// threads may read IR that nobody changes.
#ifndef TENON_FRONTENDS_C_IR_H_
#define TENON_FRONTENDS_C_IR_H_

#include "frontends/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Handles; null if `ptr` is NULL. Two handles of one thing have equal members. A context owns what
// its models share: it lives as long as one of its models or programs.
typedef struct TenonContext {
  void* ptr;
} TenonContext;
typedef struct TenonOperation {
  void* ptr;
} TenonOperation;
typedef struct TenonBlock {
  void* ptr;
} TenonBlock;
typedef struct TenonRegion {
  void* ptr;
} TenonRegion;
typedef struct TenonValue {
  void* ptr;
} TenonValue;
// One operand of an operation, seen from its value.
typedef struct TenonUse {
  void* ptr;
} TenonUse;
// Equal types have equal handles.
typedef struct TenonType {
  const void* ptr;
} TenonType;
// Equal attributes have equal handles, except large constants.
typedef struct TenonAttribute {
  const void* ptr;
} TenonAttribute;
// Where something comes from, in one context; all 0 is unknown.
typedef struct TenonLocation {
  void* ptr;
  uint32_t id;
} TenonLocation;

// ---- operations
// The name with its dialect, such as "ten.matmul". Lives as long as the context.
TENON_C_API TenonString tenonOperationName(TenonOperation op);
TENON_C_API TenonContext tenonOperationContext(TenonOperation op);
TENON_C_API TenonLocation tenonOperationLocation(TenonOperation op);
// False for an operation of an unknown dialect.
TENON_C_API bool tenonOperationIsRegistered(TenonOperation op);
TENON_C_API size_t tenonOperationNumOperands(TenonOperation op);
// Null also for an operand that was dropped.
TENON_C_API TenonValue tenonOperationOperand(TenonOperation op, size_t index);
TENON_C_API size_t tenonOperationNumResults(TenonOperation op);
TENON_C_API TenonValue tenonOperationResult(TenonOperation op, size_t index);
TENON_C_API size_t tenonOperationNumRegions(TenonOperation op);
TENON_C_API TenonRegion tenonOperationRegion(TenonOperation op, size_t index);
TENON_C_API size_t tenonOperationNumSuccessors(TenonOperation op);
TENON_C_API TenonBlock tenonOperationSuccessor(TenonOperation op, size_t index);
// An attribute by name, of the definition or another one; null if there is none.
TENON_C_API TenonAttribute tenonOperationAttribute(TenonOperation op, TenonString name);
// The attributes of the definition, by position: the name is empty and the value null behind the
// last one, and the value alone is null for one that is absent.
TENON_C_API size_t tenonOperationNumSlots(TenonOperation op);
TENON_C_API TenonString tenonOperationSlotName(TenonOperation op, size_t index);
TENON_C_API TenonAttribute tenonOperationSlot(TenonOperation op, size_t index);
// All other attributes as a dictionary; null if there are none.
TENON_C_API TenonAttribute tenonOperationDiscardableAttributes(TenonOperation op);
// The block that holds the operation; null for a detached one.
TENON_C_API TenonBlock tenonOperationBlock(TenonOperation op);
// The neighbors in the block; null at its ends.
TENON_C_API TenonOperation tenonOperationNext(TenonOperation op);
TENON_C_API TenonOperation tenonOperationPrevious(TenonOperation op);
// The operation around this one; null at the top.
TENON_C_API TenonOperation tenonOperationParent(TenonOperation op);

// ---- regions and blocks
TENON_C_API TenonOperation tenonRegionParent(TenonRegion region);
// The entry; null for a region without blocks.
TENON_C_API TenonBlock tenonRegionFirstBlock(TenonRegion region);
// The next block of the region; null at its end.
TENON_C_API TenonBlock tenonBlockNext(TenonBlock block);
TENON_C_API TenonRegion tenonBlockRegion(TenonBlock block);
TENON_C_API TenonOperation tenonBlockFirstOperation(TenonBlock block);
TENON_C_API TenonOperation tenonBlockLastOperation(TenonBlock block);
TENON_C_API size_t tenonBlockNumArguments(TenonBlock block);
TENON_C_API TenonValue tenonBlockArgument(TenonBlock block, size_t index);

// ---- values
TENON_C_API TenonType tenonValueType(TenonValue value);
// The operation of which it is a result; null for the argument of a block.
TENON_C_API TenonOperation tenonValueDefiningOperation(TenonValue value);
// The block of which it is an argument; null for a result.
TENON_C_API TenonBlock tenonValueArgumentBlock(TenonValue value);
// The position among the results or arguments.
TENON_C_API size_t tenonValueIndex(TenonValue value);
// Passes the name to `sink`, unless there is none.
TENON_C_API TenonStatus* tenonValueName(TenonValue value, TenonTextFn sink, void* state);
// The latest use; null if there is none. tenonUseNext leads to the others.
TENON_C_API TenonUse tenonValueFirstUse(TenonValue value);
// Read it before the operand is changed.
TENON_C_API TenonUse tenonUseNext(TenonUse use);
TENON_C_API TenonOperation tenonUseOperation(TenonUse use);
// The position among the operands of the operation.
TENON_C_API size_t tenonUseIndex(TenonUse use);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_FRONTENDS_C_IR_H_
