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

// Handles are null if `ptr` is NULL. Two handles of one thing have equal members.

// What models share. It lives as long as one of its models or programs.
typedef struct TenonContext {
  void* ptr;  // null for no context; internal
} TenonContext;
// A node of the IR, which may hold regions.
typedef struct TenonOperation {
  void* ptr;  // null for no operation; internal
} TenonOperation;
// A list of operations, with arguments.
typedef struct TenonBlock {
  void* ptr;  // null for no block; internal
} TenonBlock;
// A list of blocks in an operation.
typedef struct TenonRegion {
  void* ptr;  // null for no region; internal
} TenonRegion;
// A result of an operation, or an argument of a block.
typedef struct TenonValue {
  void* ptr;  // null for no value; internal
} TenonValue;
// One operand of an operation, seen from its value.
typedef struct TenonUse {
  void* ptr;  // null for no use; internal
} TenonUse;
// Equal types have equal handles.
typedef struct TenonType {
  const void* ptr;  // null for no type; internal
} TenonType;
// Equal attributes have equal handles, except large constants.
typedef struct TenonAttribute {
  const void* ptr;  // null for no attribute; internal
} TenonAttribute;
// Where something comes from, in one context; all 0 is unknown.
typedef struct TenonLocation {
  void* ptr;    // null if unknown; internal
  uint32_t id;  // its number in the context; internal
} TenonLocation;

// ---- operations
// The name with its dialect, such as "ten.matmul". Lives as long as the context.
TENON_C_API TenonString tenonOperationName(TenonOperation op);
// The context to which it belongs.
TENON_C_API TenonContext tenonOperationContext(TenonOperation op);
// Where it comes from; all 0 if that is unknown.
TENON_C_API TenonLocation tenonOperationLocation(TenonOperation op);
// False for an operation of an unknown dialect.
TENON_C_API bool tenonOperationIsRegistered(TenonOperation op);
// The number of operands of all groups.
TENON_C_API size_t tenonOperationNumOperands(TenonOperation op);
// An operand. Null also for one that was dropped.
TENON_C_API TenonValue tenonOperationOperand(TenonOperation op, size_t index);
// The number of results.
TENON_C_API size_t tenonOperationNumResults(TenonOperation op);
TENON_C_API TenonValue tenonOperationResult(TenonOperation op, size_t index);  // a result
// The number of regions.
TENON_C_API size_t tenonOperationNumRegions(TenonOperation op);
TENON_C_API TenonRegion tenonOperationRegion(TenonOperation op, size_t index);  // a region
// The number of blocks to which a terminator may go.
TENON_C_API size_t tenonOperationNumSuccessors(TenonOperation op);
TENON_C_API TenonBlock tenonOperationSuccessor(TenonOperation op, size_t index);  // one of these
// An attribute by name, of the definition or another one; null if there is none.
TENON_C_API TenonAttribute tenonOperationAttribute(TenonOperation op, TenonString name);
// The number of attributes of the definition.
TENON_C_API size_t tenonOperationNumSlots(TenonOperation op);
// The name of one of them, by position; empty behind the last one. Lives as long as the context.
TENON_C_API TenonString tenonOperationSlotName(TenonOperation op, size_t index);
// Its value; null for an attribute that is absent, and behind the last one.
TENON_C_API TenonAttribute tenonOperationSlot(TenonOperation op, size_t index);
// All other attributes as a dictionary; null if there are none.
TENON_C_API TenonAttribute tenonOperationDiscardableAttributes(TenonOperation op);
// The block that holds the operation; null for a detached one.
TENON_C_API TenonBlock tenonOperationBlock(TenonOperation op);
// The next operation of the block; null at its end.
TENON_C_API TenonOperation tenonOperationNext(TenonOperation op);
// The operation before it in the block; null at its beginning.
TENON_C_API TenonOperation tenonOperationPrevious(TenonOperation op);
// The operation around this one; null at the top.
TENON_C_API TenonOperation tenonOperationParent(TenonOperation op);

// ---- regions and blocks
// The operation that holds the region.
TENON_C_API TenonOperation tenonRegionParent(TenonRegion region);
// The entry; null for a region without blocks.
TENON_C_API TenonBlock tenonRegionFirstBlock(TenonRegion region);
// The next block of the region; null at its end.
TENON_C_API TenonBlock tenonBlockNext(TenonBlock block);
// The region that holds the block.
TENON_C_API TenonRegion tenonBlockRegion(TenonBlock block);
// The first operation; null in an empty block.
TENON_C_API TenonOperation tenonBlockFirstOperation(TenonBlock block);
// The last operation; null in an empty block.
TENON_C_API TenonOperation tenonBlockLastOperation(TenonBlock block);
// The number of arguments.
TENON_C_API size_t tenonBlockNumArguments(TenonBlock block);
TENON_C_API TenonValue tenonBlockArgument(TenonBlock block, size_t index);  // an argument

// ---- values
// The type of the value.
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
// The operation whose operand it is.
TENON_C_API TenonOperation tenonUseOperation(TenonUse use);
// The position among the operands of the operation.
TENON_C_API size_t tenonUseIndex(TenonUse use);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_FRONTENDS_C_IR_H_
