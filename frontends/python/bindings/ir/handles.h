// Handles to IR that Python holds. None of them can dangle.
//
// A module in Python is a copy of its own, which only Python changes, with the interpreter's lock.
// It keeps a table of the operations and blocks to which there are handles. Erasing an operation
// looks up everything inside it and clears the handles; a pass clears all of them. A cleared handle
// raises FailedPrecondition. A handle keeps the module, and with it the Context and the bytes of
// constants.
#ifndef TENON_FRONTENDS_PYTHON_BINDINGS_IR_HANDLES_H_
#define TENON_FRONTENDS_PYTHON_BINDINGS_IR_HANDLES_H_

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "frontends/python/bindings/errors.h"
#include "frontends/python/bindings/model.h"
#include "ir/core/block.h"
#include "ir/core/constants/keep_blobs.h"
#include "ir/core/operation.h"

namespace tenon::python {

struct OpRef;
struct BlockRef;

// A module that Python changes.
struct IrState {
  IrState(std::shared_ptr<const Model> from, std::shared_ptr<DiagnosticLog> messages);
  std::shared_ptr<const Model> origin;  // has the Context, and files that hold constants
  std::shared_ptr<DiagnosticLog> log;   // of the Context
  KeepUnusedBlobs keep;                 // constants that only a handle has
  OwnedOp module;                       // the copy
  // Weak, as a handle keeps the module.
  absl::flat_hash_map<const Operation*, std::weak_ptr<OpRef>> ops;
  absl::flat_hash_map<const Block*, std::weak_ptr<BlockRef>> blocks;

  Context& context() const { return origin->context(); }
  // Clears the handles to `top` and to everything inside it.
  void Forget(Operation* top);
  // Clears all handles.
  void ForgetAll();
};
using StatePtr = std::shared_ptr<IrState>;

// What all handles to one operation share.
struct OpRef {
  OpRef(StatePtr of, Operation* what) : state(std::move(of)), op(what) {}
  OpRef(const OpRef&) = delete;
  OpRef& operator=(const OpRef&) = delete;
  StatePtr state;
  Operation* op = nullptr;  // null once it is erased
  ~OpRef();
};
// The same for a block.
struct BlockRef {
  BlockRef(StatePtr of, Block* what) : state(std::move(of)), block(what) {}
  BlockRef(const BlockRef&) = delete;
  BlockRef& operator=(const BlockRef&) = delete;
  StatePtr state;
  Block* block = nullptr;
  ~BlockRef();
};

// An operation.
struct PyOperation {
  std::shared_ptr<OpRef> ref;
  // The operation. FailedPrecondition is raised if it is gone.
  Operation* get() const;
  const StatePtr& state() const { return ref->state; }
};
// A block.
struct PyBlock {
  std::shared_ptr<BlockRef> ref;
  Block* get() const;
  const StatePtr& state() const { return ref->state; }
};
// A region: those of an operation stay as long as it does.
struct PyRegion {
  PyOperation op;
  unsigned index = 0;
  Region& get() const { return op.get()->region(index); }
};
// A result of an operation, or an argument of a block.
struct PyValue {
  std::shared_ptr<OpRef> op;        // null for an argument
  std::shared_ptr<BlockRef> block;  // null for a result
  unsigned index = 0;
  Value get() const;
  const StatePtr& state() const { return op != nullptr ? op->state : block->state; }
};
// A type, which lives as long as the Context.
struct PyType {
  StatePtr state;
  Type type;
};
// An attribute; the same.
struct PyAttribute {
  StatePtr state;
  Attribute attribute;
};

// Returns handles; those to one operation share its OpRef.
PyOperation HandleOf(const StatePtr& state, Operation* op);
PyBlock HandleOf(const StatePtr& state, Block* block);
PyValue HandleOf(const StatePtr& state, Value value);
// A handle, or None for null.
template <typename T>
nb::object HandleOrNone(const StatePtr& state, T thing) {
  return thing ? nb::cast(HandleOf(state, thing)) : nb::none();
}

// Raises InvalidArgument unless both handles belong to one module.
void CheckSame(const StatePtr& a, const StatePtr& b);
// The same for types and attributes, which modules of one model share.
void CheckSameContext(const StatePtr& a, const StatePtr& b);
// Raises InvalidArgument unless an operation in `block` may use `value`: its region, or one around
// it, defines the value. So nothing outside of an erased operation uses what is in it.
void CheckVisible(Value value, const Block* block);

// Returns the attribute for a value of Python: an Attribute, bool, int, float, str, or a list of
// integers. `kind` is the kind that the definition asks for. TypeError for others.
Attribute AttributeFrom(const StatePtr& state, nb::handle value, AttrType kind);

// What an operation is made of.
struct NewOp {
  std::string name;
  std::vector<PyValue> operands;
  nb::dict attributes;
  nb::object result_types;  // a list of PyType, or None: they follow from the operands
  unsigned num_regions = 0;
  std::string node;  // the location; may be empty
};
// Makes an operation at the place that `place` tells: a block, and the operation behind the new one
// or null for the end. `place` is called when no code of others runs any more. InvalidArgument says
// what does not fit.
PyOperation CreateOp(const StatePtr& state, std::function<std::pair<Block*, Operation*>()> place,
                     const NewOp& what);

// Each adds classes to the module.
void BindIr(nb::module_& module, nb::class_<ModelHandle>& model);
void BindOperation(nb::module_& module);
void BindAttributes(nb::module_& module);

}  // namespace tenon::python

#endif  // TENON_FRONTENDS_PYTHON_BINDINGS_IR_HANDLES_H_
