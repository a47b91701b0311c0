#include "pass/ir_fingerprint.h"

#include "ir/core/block.h"

namespace tenon {
namespace {

class Hasher {
 public:
  void Add(uint64_t word) {
    // One multiplication for each word; the rotation lets high bits take part in what follows.
    state_ = (state_ ^ word) * 0x9fb21c651e98df25ull;
    state_ = (state_ >> 29) | (state_ << 35);
  }
  void Add(const void* address) { Add(reinterpret_cast<uint64_t>(address)); }

  void Add(const Operation& op) {
    Add(&op);
    Add(&op.info());
    // Counts tell where one list ends and the next begins.
    Add(op.location().id() | uint64_t{op.num_operands()} << 32);
    for (const OpOperand& operand : op.operands()) Add(operand.get().impl());
    for (unsigned i = 0; i < op.num_results(); ++i) Add(op.result(i).type().storage());
    for (Attribute slot : op.slots()) Add(slot.storage());
    Add(op.discardable_attrs().storage());
    for (unsigned i = 0; i < op.num_successors(); ++i) Add(op.successor(i));
    for (unsigned i = 0; i < op.num_regions(); ++i) Add(op.region(i));
  }

  void Add(Region& region) {
    for (Block& block : region) {
      Add(&block);
      Add(uint64_t{block.num_arguments()});
      for (unsigned i = 0; i < block.num_arguments(); ++i) {
        Add(block.argument(i).impl());
        Add(block.argument(i).type().storage());
      }
      for (Operation& op : block) Add(op);
    }
    Add(uint64_t{0});
  }

  uint64_t state() const { return state_; }

 private:
  uint64_t state_ = 0;
};

}  // namespace

uint64_t IrFingerprint(const Operation& op) {
  Hasher hasher;
  hasher.Add(op);
  return hasher.state();
}

}  // namespace tenon
