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

// A module that Python changes, or the operation of a pass while the pass runs.
struct IrState {
  // A copy of the module of `from`.
  IrState(std::shared_ptr<const Model> from, std::shared_ptr<DiagnosticLog> messages);
  // The operation `op` of a pass, which the pass manager owns. Call ForgetAll before it goes on.
  IrState(std::shared_ptr<const Model> from, std::shared_ptr<DiagnosticLog> messages,
          Operation* op);
  std::shared_ptr<const Model> origin;  // has the Context, and files that hold constants
  std::shared_ptr<DiagnosticLog> log;   // of the Context
  KeepUnusedBlobs keep;                 // constants that only a handle has
  OwnedOp module;                       // the copy; null in a pass
  // All that Python can reach: the module, or the operation of the pass. Null once a pass has
  // ended.
  Operation* root = nullptr;
  // True while passes run on a copy of the module: handles then raise FailedPrecondition.
  bool busy = false;
  // Weak, as a handle keeps the module.
  absl::flat_hash_map<const Operation*, std::weak_ptr<OpRef>> ops;
  absl::flat_hash_map<const Block*, std::weak_ptr<BlockRef>> blocks;

  Context& context() const { return origin->context(); }
  // Clears the handles to `top` and to everything inside it.
  void Forget(Operation* top);
  // Clears all handles.
  void ForgetAll();
  // The root. FailedPrecondition is raised if the pass has ended, or if passes are running.
  Operation* Root() const;
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
// A module in Python; its operation is the root of the state.
struct PyModule {
  StatePtr state;
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

// Returns the attribute for a value of Python. `kind` is the kind that the definition asks for: it
// decides between attributes that one value could become, such as a number or its array. TypeError
// for values that become none.
Attribute AttributeFrom(const StatePtr& state, nb::handle value, AttrType kind);
// Returns the value in Python: a NumPy copy for elements, text for unknown kinds.
nb::object ValueOfAttribute(const StatePtr& state, Attribute attribute);
// Returns an array as the contents of a constant.
Attribute ElementsFrom(const StatePtr& state, nb::handle array);
// Returns a type for a Type of the same model, or for its text. TypeError for others.
Type TypeFrom(const StatePtr& state, nb::handle value);
// Returns the text as a str, with bytes that are no UTF-8 escaped.
nb::object TextFrom(std::string_view text);

// What an operation is made of.
struct NewOp {
  std::string name;
  std::vector<PyValue> operands;
  nb::dict attributes;
  nb::object result_types;  // a list for TypeFrom, or None: they follow from the operands
  unsigned num_regions = 0;
  std::string node;  // the location; may be empty
};
// Makes an operation at the place that `place` tells: a block, and the operation behind the new one
// or null for the end. `place` is called when no code of others runs any more. InvalidArgument says
// what does not fit.
PyOperation CreateOp(const StatePtr& state, std::function<std::pair<Block*, Operation*>()> place,
                     const NewOp& what);

// Makes an operation from arguments as generated functions get them: operands by position or name,
// with lists for variadic groups, and attributes by name. TypeError for wrong ones; else as
// CreateOp. Returns the only result, a tuple of the results, or the operation if it has none.
nb::object BuildOp(const PyBlock& block, const PyOperation* before, const std::string& name,
                   const nb::tuple& args, const nb::dict& kwargs, nb::object result_types,
                   const std::string& node);
// Returns what each operand group has: a Value or None, or a list for a variadic one. Empty for an
// operation without a definition.
nb::list OperandGroupsOf(const PyOperation& self);
// Returns the attributes of the definition by name, as values of Python; None for absent ones.
nb::dict PropertiesOf(const PyOperation& self);
// Returns the operand, attribute, result or region `name` of an operation. AttributeError if there
// is none.
nb::object PartOf(const PyOperation& self, const std::string& name);

// Each adds classes to the module.
void BindIr(nb::module_& module, nb::class_<ModelHandle>& model);
void BindOperation(nb::module_& module);
void BindAttributes(nb::module_& module);
// Each adds methods to a class.
void BindRegion(nb::class_<PyRegion>& region);
void BindValue(nb::class_<PyValue>& value);

}  // namespace tenon::python

#endif  // TENON_FRONTENDS_PYTHON_BINDINGS_IR_HANDLES_H_
