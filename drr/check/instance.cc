#include "drr/check/instance.h"

#include <charconv>
#include <cmath>
#include <functional>

#include "drr/check/planner.h"
#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/verify/verifier.h"

namespace tenon::drr {
namespace {

Attribute Elements(Context& context, DType dtype, const std::vector<int64_t>& shape,
                   const std::vector<double>& values) {
  Type type = Type::Tensor(context, dtype, shape);
  if (values.size() == 1) {
    std::byte element[8];
    StoreFromDouble(dtype, values[0], element);
    return Attribute::Splat(context, type, {element, SizeOf(dtype)});
  }
  std::vector<std::byte> bytes(values.size() * SizeOf(dtype));
  for (size_t i = 0; i < values.size(); ++i)
    StoreFromDouble(dtype, values[i], bytes.data() + i * SizeOf(dtype));
  return Attribute::Elements(context, type, bytes);
}

constexpr char kNamePrefix = 'n';  // a size of 3 is named n3

Type TypeKnowing(Context& context, Extents extents, DType dtype,
                 const std::vector<int64_t>& shape) {
  if (extents == Extents::kKnown) return Type::Tensor(context, dtype, shape);
  if (extents == Extents::kUnranked) return Type::Unranked(context, dtype);
  std::vector<DimExpr> dims;
  for (const int64_t extent : shape)
    dims.push_back(extents == Extents::kUnknown
                       ? DimExpr::Unknown(context)
                       : DimExpr::Symbol(context, fmt::format("{}{}", kNamePrefix, extent)));
  return Type::Tensor(context, dtype, dims);
}

}  // namespace

std::optional<double> NumberOf(const AttrValue& value) {
  if (const double* real = std::get_if<double>(&value)) return *real;
  if (const int64_t* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  return std::nullopt;
}

std::optional<int64_t> NamedExtent(DimExpr extent) {
  return extent.Evaluate([](std::string_view name) -> std::optional<int64_t> {
    int64_t size = 0;
    const char* end = name.data() + name.size();
    if (name.empty() || name[0] != kNamePrefix ||
        std::from_chars(name.data() + 1, end, size).ptr != end)
      return std::nullopt;
    return size;
  });
}

std::optional<InstancePlan> InstancePlan::Make(const PlanFacts& facts, Context& context,
                                               std::mt19937_64& random, uint16_t node,
                                               int alternative, std::string* why) {
  InstancePlan plan;
  if (!Planner(facts, context, random).Plan(node, alternative, plan, why)) return std::nullopt;
  return plan;
}

std::optional<InstancePlan> InstancePlan::Make(const CompiledRule& rule, Context& context,
                                               std::mt19937_64& random, uint16_t node,
                                               int alternative, std::string* why) {
  return Make(PlanFacts(rule), context, random, node, alternative, why);
}

std::optional<Instance> InstancePlan::Build(DType dtype, Extents extents) const {
  Instance instance;
  instance.module = CreateModule(*context_);
  auto type_of = [&](const Leaf& leaf) {
    return leaf.dtype == DType::kInvalid ? dtype : leaf.dtype;
  };
  std::vector<Type> inputs;
  for (const auto& [n, leaf] : leaves_) {
    if (leaf.constant || (coincide_ && coincide_->second == n)) continue;
    inputs.push_back(
        TypeKnowing(*context_, leaf.known ? Extents::kKnown : extents, type_of(leaf), leaf.shape));
  }
  instance.function =
      CreateFunction(instance.module.get(), "instance", Type::Function(*context_, inputs, {}));
  Block& block = instance.function->region().front();
  OpBuilder builder = OpBuilder::AtEnd(*context_, &block);
  std::vector<Operation*> made(rule_->nodes.size());
  std::vector<Value> values(leaves_.empty() ? 0 : size_t{leaves_.rbegin()->first} + 1);
  size_t argument = 0;
  for (const auto& [n, leaf] : leaves_) {
    if (coincide_ && coincide_->second == n) continue;
    if (!leaf.constant) {
      const Value guarded =
          Guarded(leaf, block.argument(static_cast<unsigned>(argument++)), builder);
      values[n] = Produced(leaf, guarded, builder);
      continue;
    }
    const Attribute elements = Elements(*context_, type_of(leaf), leaf.shape, leaf.values);
    Type type = elements.type();
    values[n] = builder
                    .Insert(Operation::Create(*context_->FindOp("core.constant"), Location(),
                                              {{type}}, {}, {{elements}}))
                    ->result();
  }
  if (coincide_) values[coincide_->second] = values[coincide_->first];
  std::pair<uint16_t, uint16_t> item = {kNone, kNone};  // a list, and the leaf in its place
  std::function<Value(const Edge&)> build = [&](const Edge& edge) -> Value {
    const Node& node = rule_->nodes[edge.node];
    if (node.kind == ValNode::Kind::kAnyOf)
      return build(node.alternatives[static_cast<size_t>(alternatives_[edge.node])]);
    if (node.kind == ValNode::Kind::kLet) return build(node.alternatives[0]);
    if (node.kind != ValNode::Kind::kOp) {
      const uint16_t id = edge.node == item.first ? item.second : edge.node;
      return id < values.size() ? values[id] : Value();
    }
    const auto result_of = [&](Operation* op) {
      return edge.result < op->num_results() ? op->result(edge.result) : Value();
    };
    if (made[edge.node] != nullptr && !node.mapped) return result_of(made[edge.node]);
    std::vector<Value> operands;
    std::vector<int64_t> segments;
    for (size_t g = 0; g < node.operands.size(); ++g) {
      size_t before = operands.size();
      for (size_t i = 0; i < node.operands[g].size(); ++i) {
        if (IsAbsent(absent_, edge.node, g, i)) continue;
        const Node& from = rule_->nodes[node.operands[g][i].node];
        const uint16_t list = from.list == kNone ? node.operands[g][i].node : from.list;
        const Edge each = from.list == kNone ? node.operands[g][i] : from.chain[0].op;
        std::vector<uint16_t> ids = {list};
        const auto more = more_of_each_.find(list);
        if (more != more_of_each_.end() && !node.mapped)
          ids.insert(ids.end(), more->second.begin(), more->second.end());
        for (const uint16_t id : ids) {
          if (from.kind == ValNode::Kind::kEach && !node.mapped) item = {list, id};
          const Value operand = build(each);
          if (!node.mapped) item = {kNone, kNone};
          if (!operand && each.rest && made[each.node] != nullptr) continue;  // there are none
          if (!operand) return Value();
          operands.push_back(operand);
          for (unsigned r = each.result + 1u; each.rest && r < operand.defining_op()->num_results();
               ++r)
            operands.push_back(operand.defining_op()->result(r));
        }
      }
      segments.push_back(static_cast<int64_t>(operands.size() - before));
    }
    auto found = slots_.find(edge.node);
    if (found == slots_.end()) return Value();
    std::vector<Attribute> slots = found->second;
    if (node.info->segment_slot() >= 0) {
      slots[static_cast<size_t>(node.info->segment_slot())] =
          Attribute::Ints(*context_, DType::kI32, segments);
    }
    auto filled = FillDefaults(*node.info, slots);
    ResultTypes types;
    for (size_t g = 0, i = 0; g < node.operands.size(); ++g) {
      for (int64_t k = 0; k < segments[g]; ++k, ++i) {
        if (!node.info->def().operands[g].constraint.Accepts(operands[i].type())) return Value();
      }
    }
    for (int s = 0; s < node.info->num_slots(); ++s) {
      if (!filled[s] && node.info->def().attrs[s].required) return Value();
    }
    if (!InferResultTypes(*node.info, Location(), std::span<const Value>(operands), filled, types)
             .ok())
      return Value();
    Operation* op =
        builder.Insert(Operation::Create(*node.info, Location(), types, operands, filled));
    made[edge.node] = op;
    return result_of(op);
  };
  std::vector<Value> results;
  for (const Edge& root : rule_->roots) {
    Value value = build(root);
    if (!value && !results.empty() && made[root.node] != nullptr) continue;  // the op has it not
    if (!value || (extents == Extents::kKnown && !at_run_time_ && !value.type().is_static()))
      return std::nullopt;
    results.push_back(value);
    for (unsigned r = root.result + 1u; root.rest && r < value.defining_op()->num_results(); ++r)
      results.push_back(value.defining_op()->result(r));
  }
  instance.anchor = results[0].defining_op();
  builder.Insert(Operation::Create(*context_->FindOp("func.return"), Location(), {}, results, {}));
  std::vector<Type> result_types;
  result_types.reserve(results.size());
  for (const Value& value : results) result_types.push_back(value.type());
  instance.function->SetAttr(
      "function_type",
      Attribute::TypeAttr(*context_, Type::Function(*context_, inputs, result_types)));
  // A rule that pins one element type may have been given operands of another.
  const ScopedDiagnosticHandler quiet(*context_, [](const Diagnostic&) {});
  if (!Verify(instance.module.get()).ok()) return std::nullopt;
  instance.arguments = Arguments(dtype);
  return instance;
}

std::vector<Numbers> InstancePlan::Arguments(DType dtype) const {
  std::vector<Numbers> arguments;
  for (const auto& [n, leaf] : leaves_) {
    if (leaf.constant || (coincide_ && coincide_->second == n)) continue;
    arguments.push_back({leaf.values, leaf.rests});
    if (IsFloat(dtype) || leaf.boolean || leaf.exact || leaf.index || leaf.given) continue;
    for (double& value : arguments.back().values)
      value = std::isnan(value) ? 0 : std::round(2 * value);
  }
  return arguments;
}

void InstancePlan::MixTypes(std::mt19937_64& random) {
  static constexpr DType kTypes[] = {DType::kF16, DType::kF32, DType::kF64,
                                     DType::kI32, DType::kI64, DType::kU8};
  std::vector<Leaf*> open;
  for (auto& [n, leaf] : leaves_)
    if (!leaf.constant && !leaf.given && leaf.dtype == DType::kInvalid) open.push_back(&leaf);
  if (open.empty()) return;
  is_mixed_ = true;
  Leaf& leaf = *open[std::uniform_int_distribution<size_t>(0, open.size() - 1)(random)];
  leaf.dtype = kTypes[std::uniform_int_distribution<size_t>(0, std::size(kTypes) - 1)(random)];
}

void InstancePlan::Coincide(std::mt19937_64& random) {
  if (coincide_) return;  // the rule asks for a pair of its own
  std::vector<std::pair<uint16_t, uint16_t>> pairs;
  for (auto a = leaves_.begin(); a != leaves_.end(); ++a) {
    for (auto b = std::next(a); b != leaves_.end(); ++b) {
      const Leaf &x = a->second, &y = b->second;
      if (!x.constant && !y.constant && !x.given && !y.given && x.shape == y.shape &&
          x.dtype == y.dtype && x.positive == y.positive && x.index == y.index)
        pairs.emplace_back(a->first, b->first);
    }
  }
  if (!pairs.empty())
    coincide_ = pairs[std::uniform_int_distribution<size_t>(0, pairs.size() - 1)(random)];
}

}  // namespace tenon::drr
