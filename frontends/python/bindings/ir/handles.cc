#include "frontends/python/bindings/ir/handles.h"

#include "ir/core/clone.h"

namespace tenon::python {
namespace {

[[noreturn]] void RefuseStale(const char* what) {
  Raise(absl::FailedPreconditionError(std::string("the ") + what +
                                      " is gone: it was erased, or a pass changed the module "
                                      "(expected a handle that was made afterward)"));
}

[[noreturn]] void RefuseBusy() {
  Raise(absl::FailedPreconditionError(
      "passes are running on the module (expected a call after they have ended)"));
}

}  // namespace

IrState::IrState(std::shared_ptr<const Model> from, std::shared_ptr<DiagnosticLog> messages)
    : origin(std::move(from)),
      log(std::move(messages)),
      keep(origin->context()),
      module(Clone(*origin->module())),
      root(module.get()) {}

IrState::IrState(std::shared_ptr<const Model> from, std::shared_ptr<DiagnosticLog> messages,
                 Operation* op)
    : origin(std::move(from)), log(std::move(messages)), keep(origin->context()), root(op) {}

Operation* IrState::Root() const {
  if (root == nullptr) RefuseStale("module");
  if (busy) RefuseBusy();
  return root;
}

void IrState::Forget(Operation* top) {
  top->Walk([this](Operation* op) {
    if (const auto found = ops.find(op); found != ops.end()) {
      if (const std::shared_ptr<OpRef> ref = found->second.lock()) ref->op = nullptr;
      ops.erase(op);
    }
    for (unsigned i = 0; i < op->num_regions(); ++i) {
      for (Block& block : op->region(i)) {
        const auto found = blocks.find(&block);
        if (found == blocks.end()) continue;
        if (const std::shared_ptr<BlockRef> ref = found->second.lock()) ref->block = nullptr;
        blocks.erase(&block);
      }
    }
  });
}

void IrState::ForgetAll() {
  for (auto& [op, weak] : ops) {
    if (const std::shared_ptr<OpRef> ref = weak.lock()) ref->op = nullptr;
  }
  for (auto& [block, weak] : blocks) {
    if (const std::shared_ptr<BlockRef> ref = weak.lock()) ref->block = nullptr;
  }
  ops.clear();
  blocks.clear();
}

OpRef::~OpRef() {
  if (op != nullptr) state->ops.erase(op);
}
BlockRef::~BlockRef() {
  if (block != nullptr) state->blocks.erase(block);
}

Operation* PyOperation::get() const {
  if (ref->op == nullptr) RefuseStale("operation");
  if (ref->state->busy) RefuseBusy();
  return ref->op;
}
Block* PyBlock::get() const {
  if (ref->block == nullptr) RefuseStale("block");
  if (ref->state->busy) RefuseBusy();
  return ref->block;
}
Value PyValue::get() const {
  if (state()->busy) RefuseBusy();
  if (op != nullptr) {
    if (op->op == nullptr) RefuseStale("value");
    return op->op->result(index);
  }
  if (block->block == nullptr) RefuseStale("value");
  return block->block->argument(index);
}

PyOperation HandleOf(const StatePtr& state, Operation* op) {
  std::weak_ptr<OpRef>& weak = state->ops[op];
  std::shared_ptr<OpRef> ref = weak.lock();
  if (ref == nullptr) {
    ref = std::make_shared<OpRef>(state, op);
    weak = ref;
  }
  return {std::move(ref)};
}

PyBlock HandleOf(const StatePtr& state, Block* block) {
  std::weak_ptr<BlockRef>& weak = state->blocks[block];
  std::shared_ptr<BlockRef> ref = weak.lock();
  if (ref == nullptr) {
    ref = std::make_shared<BlockRef>(state, block);
    weak = ref;
  }
  return {std::move(ref)};
}

PyValue HandleOf(const StatePtr& state, Value value) {
  if (value.is_block_argument())
    return {nullptr, HandleOf(state, value.argument_owner()).ref, value.argument_index()};
  return {HandleOf(state, value.defining_op()).ref, nullptr, value.result_index()};
}

void CheckSame(const StatePtr& a, const StatePtr& b) {
  if (a == b) return;
  Raise(absl::InvalidArgumentError("the handle belongs to another module"));
}

void CheckSameContext(const StatePtr& a, const StatePtr& b) {
  if (&a->context() == &b->context()) return;
  Raise(absl::InvalidArgumentError("the type or attribute belongs to another model"));
}

void CheckVisible(Value value, const Block* block) {
  const Region* defined =
      value.parent_block() == nullptr ? nullptr : value.parent_block()->parent();
  const Region* region = block->parent();
  while (region != nullptr && region != defined)
    region = region->parent() == nullptr ? nullptr : region->parent()->parent_region();
  if (region != nullptr) return;
  Raise(
      absl::InvalidArgumentError("the value is not visible there (expected one of the same region, "
                                 "or of a region around it)"));
}

}  // namespace tenon::python
