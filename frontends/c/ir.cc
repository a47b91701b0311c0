#include "frontends/c/ir.h"

#include "frontends/c/convert.h"
#include "ir/core/context/context.h"

namespace c = tenon::c;

// ---- operations

TenonString tenonOperationName(TenonOperation op) {
  return op.ptr == nullptr ? TenonString{nullptr, 0} : c::ToC(c::FromC(op)->name());
}

TenonContext tenonOperationContext(TenonOperation op) {
  return op.ptr == nullptr ? TenonContext{nullptr} : c::ToC(c::FromC(op)->context());
}

TenonLocation tenonOperationLocation(TenonOperation op) {
  if (op.ptr == nullptr) return {nullptr, 0};
  return c::ToC(c::FromC(op)->location(), c::FromC(op)->context());
}

bool tenonOperationIsRegistered(TenonOperation op) {
  return op.ptr != nullptr && c::FromC(op)->info().is_registered();
}

size_t tenonOperationNumOperands(TenonOperation op) {
  return op.ptr == nullptr ? 0 : c::FromC(op)->num_operands();
}

TenonValue tenonOperationOperand(TenonOperation op, size_t index) {
  if (index >= tenonOperationNumOperands(op)) return {nullptr};
  return c::ToC(c::FromC(op)->operand(static_cast<unsigned>(index)));
}

size_t tenonOperationNumResults(TenonOperation op) {
  return op.ptr == nullptr ? 0 : c::FromC(op)->num_results();
}

TenonValue tenonOperationResult(TenonOperation op, size_t index) {
  if (index >= tenonOperationNumResults(op)) return {nullptr};
  return c::ToC(c::FromC(op)->result(static_cast<unsigned>(index)));
}

size_t tenonOperationNumRegions(TenonOperation op) {
  return op.ptr == nullptr ? 0 : c::FromC(op)->num_regions();
}

TenonRegion tenonOperationRegion(TenonOperation op, size_t index) {
  if (index >= tenonOperationNumRegions(op)) return {nullptr};
  return c::ToC(&c::FromC(op)->region(static_cast<unsigned>(index)));
}

size_t tenonOperationNumSuccessors(TenonOperation op) {
  return op.ptr == nullptr ? 0 : c::FromC(op)->num_successors();
}

TenonBlock tenonOperationSuccessor(TenonOperation op, size_t index) {
  if (index >= tenonOperationNumSuccessors(op)) return {nullptr};
  return c::ToC(c::FromC(op)->successor(static_cast<unsigned>(index)));
}

TenonAttribute tenonOperationAttribute(TenonOperation op, TenonString name) {
  return op.ptr == nullptr ? TenonAttribute{nullptr} : c::ToC(c::FromC(op)->attr(c::FromC(name)));
}

size_t tenonOperationNumSlots(TenonOperation op) {
  return op.ptr == nullptr ? 0 : c::FromC(op)->num_slots();
}

TenonString tenonOperationSlotName(TenonOperation op, size_t index) {
  if (index >= tenonOperationNumSlots(op)) return {nullptr, 0};
  return c::ToC(c::FromC(op)->info().slot_name(static_cast<int>(index)).str());
}

TenonAttribute tenonOperationSlot(TenonOperation op, size_t index) {
  if (index >= tenonOperationNumSlots(op)) return {nullptr};
  return c::ToC(c::FromC(op)->slot(static_cast<unsigned>(index)));
}

TenonAttribute tenonOperationDiscardableAttributes(TenonOperation op) {
  return op.ptr == nullptr ? TenonAttribute{nullptr} : c::ToC(c::FromC(op)->discardable_attrs());
}

TenonBlock tenonOperationBlock(TenonOperation op) {
  return op.ptr == nullptr ? TenonBlock{nullptr} : c::ToC(c::FromC(op)->block());
}

TenonOperation tenonOperationNext(TenonOperation op) {
  return op.ptr == nullptr ? op : c::ToC(c::FromC(op)->next());
}

TenonOperation tenonOperationPrevious(TenonOperation op) {
  return op.ptr == nullptr ? op : c::ToC(c::FromC(op)->prev());
}

TenonOperation tenonOperationParent(TenonOperation op) {
  return op.ptr == nullptr ? op : c::ToC(c::FromC(op)->parent_op());
}

// ---- regions and blocks

TenonOperation tenonRegionParent(TenonRegion region) {
  return region.ptr == nullptr ? TenonOperation{nullptr} : c::ToC(c::FromC(region)->parent());
}

TenonBlock tenonRegionFirstBlock(TenonRegion region) {
  if (region.ptr == nullptr || c::FromC(region)->empty()) return {nullptr};
  return c::ToC(&c::FromC(region)->front());
}

TenonBlock tenonBlockNext(TenonBlock block) {
  return block.ptr == nullptr ? block : c::ToC(c::FromC(block)->next());
}

TenonRegion tenonBlockRegion(TenonBlock block) {
  return block.ptr == nullptr ? TenonRegion{nullptr} : c::ToC(c::FromC(block)->parent());
}

TenonOperation tenonBlockFirstOperation(TenonBlock block) {
  return block.ptr == nullptr ? TenonOperation{nullptr} : c::ToC(c::FromC(block)->front());
}

TenonOperation tenonBlockLastOperation(TenonBlock block) {
  return block.ptr == nullptr ? TenonOperation{nullptr} : c::ToC(c::FromC(block)->back());
}

size_t tenonBlockNumArguments(TenonBlock block) {
  return block.ptr == nullptr ? 0 : c::FromC(block)->num_arguments();
}

TenonValue tenonBlockArgument(TenonBlock block, size_t index) {
  if (index >= tenonBlockNumArguments(block)) return {nullptr};
  return c::ToC(c::FromC(block)->argument(static_cast<unsigned>(index)));
}

// ---- values

TenonType tenonValueType(TenonValue value) {
  return value.ptr == nullptr ? TenonType{nullptr} : c::ToC(c::FromC(value).type());
}

TenonOperation tenonValueDefiningOperation(TenonValue value) {
  return value.ptr == nullptr ? TenonOperation{nullptr} : c::ToC(c::FromC(value).defining_op());
}

TenonBlock tenonValueArgumentBlock(TenonValue value) {
  if (value.ptr == nullptr || !c::FromC(value).is_block_argument()) return {nullptr};
  return c::ToC(c::FromC(value).argument_owner());
}

size_t tenonValueIndex(TenonValue value) {
  if (value.ptr == nullptr) return 0;
  const tenon::Value known = c::FromC(value);
  return known.is_block_argument() ? known.argument_index() : known.result_index();
}

TenonStatus* tenonValueName(TenonValue value, TenonTextFn sink, void* state) {
  return c::Answer("reading a name", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(value.ptr, "value"));
    TENON_RETURN_IF_ERROR(c::NotNull(sink, "sink"));
    const std::string name = c::FromC(value).name();
    return name.empty() ? absl::OkStatus() : c::Tell(sink, state, name);
  });
}

TenonUse tenonValueFirstUse(TenonValue value) {
  return {value.ptr == nullptr ? nullptr : c::FromC(value).uses().first};
}

TenonUse tenonUseNext(TenonUse use) {
  return {use.ptr == nullptr ? nullptr : static_cast<tenon::OpOperand*>(use.ptr)->next_use()};
}

TenonOperation tenonUseOperation(TenonUse use) {
  if (use.ptr == nullptr) return {nullptr};
  return c::ToC(static_cast<tenon::OpOperand*>(use.ptr)->owner());
}

size_t tenonUseIndex(TenonUse use) {
  return use.ptr == nullptr ? 0 : static_cast<tenon::OpOperand*>(use.ptr)->index();
}
