// infer-shapes: one walk over a function refines types by shape functions, evaluates shape
// computations symbolically, and gives operations with run-time shapes their static form. What then
// computes a known small integer tensor is replaced by core.constant or core.dims.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/hash/hash.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/defined_dims.h"
#include "ir/dialect/calls_and_jumps.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/ctl_ops.h"
#include "ir/dialect/func_ops.h"
#include "ir/dialect/shapes/shape_data.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/general/visit_order.h"
#include "transforms/passes.h"
#include "transforms/shapes/branch_facts.h"
#include "transforms/shapes/control_types.h"
#include "transforms/shapes/dim_facts.h"
#include "transforms/shapes/normalize_slice.h"
#include "transforms/shapes/run_time_to_static.h"
#include "transforms/shapes/shape_values.h"

namespace tenon {
namespace {

// What both types say; `computed` is believed where they differ.
Type MergeTypes(Type old, Type computed) {
  if (!computed.is_any_tensor() || !old.is_any_tensor() || old.dtype() != computed.dtype())
    return computed;
  if (!computed.is_tensor()) return old;
  if (!old.is_tensor() || old.rank() != computed.rank()) return computed;
  std::vector<DimExpr> dims(computed.dims().begin(), computed.dims().end());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].is_unknown()) dims[i] = old.dims()[i];
  }
  return Type::Tensor(computed.context(), computed.dtype(), dims);
}

// A tensor made of core.dims by casts and reshapes only: nothing is gained by making it anew.
bool IsDimsInDisguise(Operation* op) {
  while (op != nullptr && (Isa<ten::CastOp>(op) || Isa<ten::ReshapeOp>(op))) {
    op = op->operand(0).defining_op();
  }
  return Isa<core::DimsOp>(op);
}

class Inference {
 public:
  Inference(Operation* function, PassContext& context)
      : function_(function), context_(context), ir_(function->context()), namer_(function) {}

  absl::StatusOr<PassResult> Run() {
    if (function_->num_regions() == 0 || function_->region().empty()) return PassResult{};
    const size_t before = Fingerprint();
    NameArguments();
    // What an operation demands of its operands may tell something about those before it.
    for (int round = 0; round == 0 || (round < kMaxRounds && facts_.TakeLearned()); ++round) {
      data_ = ShapeData();
      TENON_RETURN_IF_ERROR(VisitRegion(function_->region()));
    }
    if (function_->region().front().next() != nullptr) ResolveBlocks();
    Materialize();
    UpdateFunctionType();
    return PassResult{Fingerprint() != before};
  }

 private:
  static constexpr int kMaxRounds = 4;

  void Changed(std::string_view statistic) { context_.statistics->Add(statistic); }

  // Changes with the function. What one round does, another may undo.
  size_t Fingerprint() const {
    size_t hash = 0;
    const auto add = [&](const void* pointer) { hash = absl::HashOf(hash, pointer); };
    function_->WalkPreOrder([&](Operation* op) {
      add(op);
      for (OpOperand& operand : op->operands()) add(operand.get().impl());
      for (unsigned i = 0; i < op->num_results(); ++i) add(op->result(i).type().storage());
      for (Attribute slot : op->slots()) add(slot.storage());
      for (unsigned r = 0; r < op->num_regions(); ++r) {
        for (Block& block : op->region(r)) {
          for (unsigned i = 0; i < block.num_arguments(); ++i)
            add(block.argument(i).type().storage());
        }
      }
      return true;
    });
    return hash;
  }

  // Unknown extents of arguments get names, and all their symbols count as known when ops run.
  void NameArguments() {
    Block& entry = function_->region().front();
    const Attribute attrs = function_->attr("arg_attrs");
    for (unsigned i = 0; i < entry.num_arguments(); ++i) {
      const Value argument = entry.argument(i);
      std::string prefix = fmt::format("arg{}", i);
      if (attrs && attrs.kind() == Attribute::Kind::kArray && i < attrs.elements().size() &&
          attrs.elements()[i].kind() == Attribute::Kind::kDictionary) {
        const Attribute name = attrs.elements()[i].Get("core.name");
        if (name && name.kind() == Attribute::Kind::kString) prefix = name.str();
      }
      if (namer_.NameUnknownDims(argument, prefix)) Changed("dims-named");
      if (!argument.type().is_tensor()) continue;
      std::vector<std::string_view> symbols;
      for (DimExpr d : argument.type().dims()) d.CollectSymbols(symbols);
      input_symbols_.insert(symbols.begin(), symbols.end());
      for (std::string_view s : symbols) {
        facts_.Keep(s);
        if (std::find(kept_.begin(), kept_.end(), s) == kept_.end()) kept_.emplace_back(s);
      }
    }
  }

  bool KnownFromInputs(std::span<const DimExpr> dims, Type also = Type()) const {
    std::vector<std::string_view> symbols, others;
    for (DimExpr d : dims) d.CollectSymbols(symbols);
    if (also && also.is_tensor()) {
      for (DimExpr d : also.dims()) d.CollectSymbols(others);
    }
    return std::all_of(symbols.begin(), symbols.end(), [&](std::string_view s) {
      return input_symbols_.count(s) > 0 ||
             std::find(others.begin(), others.end(), s) != others.end();
    });
  }

  // Inputs keep the plain names that the model gives their extents: users know them.
  void ResolveInputs(Block& entry) {
    for (unsigned i = 0; i < entry.num_arguments(); ++i) {
      Value argument = entry.argument(i);
      if (!argument.type().is_tensor()) continue;
      std::vector<DimExpr> dims;
      for (DimExpr d : argument.type().dims()) {
        const DimExpr now = facts_.Resolve(d);
        dims.push_back(now.kind() == DimExpr::Kind::kSum ? now : d);
      }
      argument.set_type(WithDims(argument.type(), dims));
    }
  }

  // Of a loop of blocks, the first was visited before what the last says.
  void ResolveBlocks() {
    for (Block& block : function_->region()) {
      if (&block != &function_->region().front()) facts_.Resolve(block);
      for (Operation& op : block) facts_.Resolve(op);
    }
  }

  absl::Status VisitRegion(Region& region) {
    for (Block* const block : BlocksToVisit(region)) {
      const bool is_entry = block == &function_->region().front();
      is_entry ? ResolveInputs(*block) : void(facts_.Resolve(*block));
      for (Operation *op = block->front(), *next; op != nullptr; op = next) {
        next = op->next();
        facts_.Resolve(*op);
        TENON_ASSIGN_OR_RETURN(op, MakeStatic(op));
        facts_.Resolve(*op);
        TENON_RETURN_IF_ERROR(Refine(op));
        if (Isa<ten::SliceOp>(op) && NormalizeSlice(*op)) Changed("slices-normalized");
        if (IsStructuredControl(*op)) {
          TENON_RETURN_IF_ERROR(VisitControl(op));
          continue;
        }
        NameResults(op);
        // What a branch demands holds in that branch only.
        if (is_entry) facts_.Learn(*op);
        data_.Visit(*op);
        if (Isa<ten::DivOp>(op)) VisitDivision(*op);
        for (unsigned r = 0; r < op->num_regions(); ++r)
          TENON_RETURN_IF_ERROR(VisitRegion(op->region(r)));
      }
    }
    return absl::OkStatus();
  }

  // Regions first: the results' types follow from what they yield.
  absl::Status VisitControl(Operation* op) {
    if (!Isa<ctl::IfOp>(op)) RefineCarried(*op);
    for (unsigned r = 0; r < op->num_regions(); ++r) {
      TENON_RETURN_IF_ERROR(VisitRegion(op->region(r)));
      if (!Isa<ctl::IfOp>(op)) continue;
      const RefinedBranch refined = RefineBranch(op->region(r), kept_, data_);
      if (refined.captures > 0) context_.statistics->Add("captures-refined", refined.captures);
      if (refined.changed) TENON_RETURN_IF_ERROR(VisitRegion(op->region(r)));
    }
    const DimExpr runs =
        Isa<ctl::ForOp>(op) ? RunsOfLoop(*op, data_) : DimExpr::Unknown(op->context());
    const std::vector<Type> types = ControlResultTypes(*op, runs);
    for (unsigned i = 0; i < types.size(); ++i) {
      if (types[i]) SetType(op->result(i), types[i]);
    }
    NameResults(op);
    return absl::OkStatus();
  }

  void RefineCarried(Operation& loop) {
    Block& first = loop.region(0).front();
    const unsigned count = PartsOfLoop(loop).num_carried;
    for (unsigned i = 0; i < count; ++i) {
      const Value argument = first.argument(Isa<ctl::ForOp>(loop) ? i + 1 : i);
      const Type type = CarriedType(loop, i);
      if (type == argument.type()) continue;
      // The names disappear from the regions as they are visited.
      facts_.Define(argument.type(), type);
      Changed("types-refined");
    }
  }

  // Quotients whose sign follows from facts only: division truncates, floordiv does not.
  void VisitDivision(Operation& op) {
    const ShapeElements *a = data_.Find(op.operand(0)), *b = data_.Find(op.operand(1));
    if (a == nullptr || b == nullptr || a->size() != 1 || b->size() != 1) return;
    const DimExpr dividend = facts_.Resolve((*a)[0]), divisor = (*b)[0];
    if (data_.FindKnown(op.result()) != nullptr || dividend.is_unknown() ||
        !divisor.is_constant() || divisor.constant() <= 0 ||
        !facts_.Proves(DimExpr::Constant(ir_, 0), dividend)) {
      return;
    }
    data_.Set(op.result(), {FloorDiv(dividend, divisor)});
  }

  void NameResults(Operation* op) {
    for (unsigned i = 0; i < op->num_results(); ++i) {
      if (IsTypePinned(op->result(i))) return;
    }
    if (namer_.NameUnknownDims(op)) Changed("dims-named");
  }

  // `op`, or the static form that took its place.
  absl::StatusOr<Operation*> MakeStatic(Operation* op) {
    const absl::StatusOr<StaticForm> form =
        FindStaticForm(*op, data_, [&](const Operation& user, std::span<const DimExpr> dims) {
          return KnownFromInputs(dims, user.operand(0).type());
        });
    if (!form.ok()) return EmitError(ir_, op->location(), std::string(form.status().message()));
    if (form->replacement != nullptr) {
      const Type type = op->result().type();
      Value made = form->replacement->result();
      made.set_type(IsTypePinned(op->result()) ? type : MergeTypes(type, made.type()));
      facts_.Define(type, made.type());
      op->result().ReplaceAllUsesWith(form->replacement->result());
      if (const Attribute kept = op->discardable_attrs())
        form->replacement->SetDiscardableAttrs(kept);
      data_.Forget(*op);
      op->Erase();
      Changed("static-forms");
      return form->replacement;
    }
    if (!form->dims.empty()) {
      SetType(op->result(), Type::Tensor(ir_, op->result().type().dtype(), form->dims));
    }
    return op;
  }

  void SetType(Value value, Type computed) {
    const Type type = facts_.Resolve(MergeTypes(value.type(), computed));
    if (type == value.type() || IsTypePinned(value)) return;
    facts_.Define(value.type(), type);
    value.set_type(type);
    Changed("types-refined");
  }

  absl::Status Refine(Operation* op) {
    if (op->info().def().infer == nullptr || op->num_results() == 0) return absl::OkStatus();
    absl::InlinedVector<Type, 6> operands;
    for (OpOperand& operand : op->operands()) operands.push_back(operand.get().type());
    ResultTypes results;
    const absl::Status status = InferResultTypes(
        op->info(), op->location(), std::span<const Type>(operands), op->slots(), results);
    if (!status.ok()) return EmitError(ir_, op->location(), std::string(status.message()));
    if (results.size() != op->num_results()) {
      return EmitError(ir_, op->location(),
                       fmt::format("{} has {} results, expected {}", op->name(), op->num_results(),
                                   results.size()));
    }
    for (unsigned i = 0; i < op->num_results(); ++i) SetType(op->result(i), results[i]);
    return absl::OkStatus();
  }

  // Backwards, so that of a shape computation only the last value is made.
  void Materialize() {
    const std::vector<Operation*> ops = OpsToVisit(*function_, VisitOrder::kOuterFirst);
    for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
      Operation* op = *it;
      if (!op->info().is_registered() || !op->Has(Trait::kPure) || op->num_regions() > 0) continue;
      if (!op->Has(Trait::kConstantLike)) {
        for (unsigned i = 0; i < op->num_results(); ++i) Replace(op, op->result(i));
      }
      if (op->has_uses() || DefinesDims(*op)) continue;
      data_.Forget(*op);
      op->Erase();
      Changed("ops-erased");
    }
  }

  void Replace(Operation* op, Value value) {
    if (!value.has_uses()) return;
    const ShapeElements* elements = data_.FindKnown(value);
    if (elements == nullptr) return;
    const bool constant =
        std::all_of(elements->begin(), elements->end(), [](DimExpr d) { return d.is_constant(); });
    if (!constant && (IsDimsInDisguise(op) || !KnownFromInputs(*elements))) return;
    OpBuilder builder = OpBuilder::Before(op);
    const absl::StatusOr<Value> made =
        MakeShapeValue(builder, op->location(), value.type(), *elements);
    if (!made.ok()) return;
    value.ReplaceAllUsesWith(*made);
    Changed("shape-values");
  }

  // The function's type follows its arguments, and what all its returns agree on.
  void UpdateFunctionType() {
    const Attribute attr = function_->attr("function_type");
    const Type old = attr.type();
    std::vector<Type> inputs, results(old.results().begin(), old.results().end());
    const Block& entry = function_->region().front();
    for (unsigned i = 0; i < entry.num_arguments(); ++i) inputs.push_back(entry.argument(i).type());
    std::vector<Operation*> returns;
    for (Block& block : function_->region()) {
      if (Isa<func::ReturnOp>(block.back())) returns.push_back(block.back());
    }
    for (size_t i = 0; i < results.size() && !returns.empty(); ++i) {
      const auto type_in = [&](Operation* r) {
        return i < r->num_operands() ? r->operand(i).type() : Type();
      };
      const Type first = type_in(returns[0]);
      const bool agree = std::all_of(returns.begin(), returns.end(),
                                     [&](Operation* r) { return type_in(r) == first; });
      if (first && agree) results[i] = first;
    }
    const Type type = Type::Function(ir_, inputs, results);
    if (type == old) return;
    function_->SetAttr("function_type", Attribute::TypeAttr(ir_, type));
    Changed("types-refined");
  }

  Operation* function_;
  PassContext& context_;
  Context& ir_;
  ShapeData data_;
  DimNamer namer_;
  DimFacts facts_;
  std::set<std::string_view> input_symbols_;
  std::vector<std::string> kept_;  // the same in their order
};

class InferShapes : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    return Inference(op, context).Run();
  }
};

}  // namespace

PassInfo InferShapesPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {
      {"captures-refined", "types of values that a region reads and that are refined"},
      {"dims-named", "values with unknown extents that got names"},
      {"ops-erased", "shape computations without use, removed"},
      {"shape-values", "shape computations replaced by dimension expressions"},
      {"slices-normalized", "slices with bounds in a normal form"},
      {"static-forms", "run-time forms replaced by static ones"},
      {"types-refined", "types of results that are known better"}};
  info.steps = PassSteps::kNone;
  info.establishes = static_cast<uint32_t>(ModuleProperty::kShapesInferred);
  info.create = [](const PassOptionValues&) { return std::make_unique<InferShapes>(); };
  return info;
}

}  // namespace tenon
