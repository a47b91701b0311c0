// Attributes of an instance: read from the rule where it says them, else random.
#include <algorithm>
#include <limits>
#include <numeric>

#include "drr/check/planner.h"
#include "fmt/format.h"
#include "ir/base/guarded_read.h"
#include "ir/core/builder.h"

namespace tenon::drr {

std::optional<int64_t> Planner::DimValue(uint16_t index) {
  const DimCode& code = rule_.dims[index];
  switch (code.kind) {
    case DimNode::Kind::kConstant:
      return code.constant.constant();
    case DimNode::Kind::kVariable:
      return Value(dim_unknowns_[code.variable]);
    case DimNode::Kind::kAny:
      return std::nullopt;
    default:
      break;
  }
  std::optional<int64_t> a = DimValue(code.a), b = DimValue(code.b);
  if (!a || !b) return std::nullopt;
  int64_t value = 0;
  const bool overflow = code.kind == DimNode::Kind::kAdd   ? __builtin_add_overflow(*a, *b, &value)
                        : code.kind == DimNode::Kind::kSub ? __builtin_sub_overflow(*a, *b, &value)
                                                           : __builtin_mul_overflow(*a, *b, &value);
  return overflow ? std::numeric_limits<int64_t>::max() : value;
}

Unknown Planner::DimUnknown(uint16_t index) {
  if (rule_.dims[index].kind == DimNode::Kind::kVariable)
    return dim_unknowns_[rule_.dims[index].variable];
  std::optional<int64_t> value = DimValue(index);
  return value ? Number(*value) : Fresh();
}

double Planner::RandomNumber() {
  static constexpr double kNumbers[] = {0.5, 2, 0.25, 1.5, 3, 0.0625, -0.75, -2};
  return kNumbers[Pick(0, 7)];
}

double Planner::RandomReal(const OpInfo& info, std::string_view name) {
  const auto some = [&](std::initializer_list<double> list) {
    return list.begin()[Pick(0, static_cast<int>(list.size()) - 1)];
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (name == "scale" && info.name() == "nn.attention") return some({0, 0.375, 1.25});
  if (name == "softcap") return some({0, 0, 3});
  if (name == "mask_value") return some({-kInfinity, -8});
  const bool positive = IsPositiveName(name);
  // What a condition asks for, and what it excludes.
  if (!facts_.asked.empty() && Chance(0.2)) {
    const std::vector<double>& list = facts_.asked;
    const double asked = list[static_cast<size_t>(Pick(0, static_cast<int>(list.size()) - 1))];
    const double number = positive ? asked * some({0.5, 1, 2}) : asked + some({-1, -0.25, 0, 1});
    if (!positive || number > 0) return number;
  }
  if (name == "epsilon") return some({1.0 / 1024, 1.0 / 16, 0.5});
  // Bounds are in order more often than not. Both have either sign, and one may be missing.
  if (name == "min")
    return Chance(0.7) ? some({-1, -0.25, 0}) : some({-3, 0.25, 0.75, 2, -kInfinity});
  if (name == "max") return Chance(0.7) ? some({0.5, 1, 6}) : some({-2, -0.5, 0, 0.125, kInfinity});
  if (name == "alpha") return some({0.125, 0.375, 0.5, 1.25, -0.5, -1});
  return some({0.125, 0.375, 0.5, 1.25});
}

AttrValue Planner::RandomAttr(const OpInfo& info, const AttrDef& def, int rank) {
  const std::string& name = def.name;
  const size_t axes = rank > 2 ? static_cast<size_t>(rank - 2) : 0;
  auto each = [&](size_t count, int low, int high) {
    I64s values;
    for (size_t i = 0; i < count; ++i) values.push_back(Pick(low, high));
    return values;
  };
  switch (def.type) {
    case AttrType::kBool:
    case AttrType::kUnit:
      return Chance(0.5);
    case AttrType::kI64:
      if (name == "axis") return static_cast<int64_t>(Pick(0, std::max(rank - 1, 0)));
      if (name == "window") return static_cast<int64_t>(Pick(0, 2));
      if (name == "rotary_dim") return static_cast<int64_t>(2 * Pick(0, 1));
      return static_cast<int64_t>(Pick(1, 2));
    case AttrType::kF32:
    case AttrType::kF64:
      return RandomReal(info, name);
    case AttrType::kEnum:
      if (Chance(0.5) && !def.enums.empty()) return def.enums[0];
      return def.enums[static_cast<size_t>(Pick(0, static_cast<int>(def.enums.size()) - 1))];
    case AttrType::kI64s: {
      I64s all(static_cast<size_t>(rank));
      std::iota(all.begin(), all.end(), 0);
      if (name == "perm") {
        std::shuffle(all.begin(), all.end(), random_);
        return all;
      }
      if (name == "axes") {
        if (Chance(0.6) || rank < 2)
          return I64s(all.begin() + Pick(0, std::max(rank - 1, 0)), all.end());
        if (Chance(0.6)) return I64s{Pick(0, rank - 1)};
        I64s some_axes;
        for (int64_t axis : all) {
          if (Chance(0.5)) some_axes.push_back(axis);
        }
        if (some_axes.empty()) some_axes.push_back(Pick(0, rank - 1));
        return some_axes;
      }
      if (name == "pads") return each(2 * axes, 0, 1);
      if (name == "output_padding") return each(axes, 0, 0);
      return each(axes, 1, 2);
    }
    case AttrType::kType: {
      // One that the result may have: floats of the program, or any other.
      std::vector<DType> types;
      const auto add = [&](DType dtype) {
        const std::vector<OperandDef>& results = info.def().results;
        if (results.empty() || results[0].constraint.Accepts(Type::Unranked(context_, dtype)))
          types.push_back(dtype);
      };
      for (const DType dtype : {DType::kF16, DType::kF32, DType::kF64}) add(dtype);
      for (int d = 1; types.empty() && d < kNumDTypes; ++d) add(static_cast<DType>(d));
      if (types.empty()) return DType::kF32;
      return types[static_cast<size_t>(Pick(0, static_cast<int>(types.size()) - 1))];
    }
    case AttrType::kDims:
      if (name == "pads") {  // of images: space only, as a rule
        I64s pads = each(2 * static_cast<size_t>(rank), 0, 1);
        for (size_t i = 0; i < pads.size(); ++i) {
          if (rank > 2 && i % static_cast<size_t>(rank) < 2 && Chance(0.9)) pads[i] = 0;
        }
        // Below zero they cut elements away.
        if (!pads.empty() && Chance(0.3)) {
          for (int64_t& pad : pads)
            if (Chance(0.5)) pad = Pick(-2, 1);
        }
        return pads;
      }
      if (name == "k") return I64s{Pick(1, 3)};
      if (name == "repeats") return each(static_cast<size_t>(rank), Chance(0.1) ? 0 : 1, 2);
      if (name == "sizes") return each(static_cast<size_t>(rank), 1, 4);
      if (name == "dims") return each(2, 1, 3);
      return {};
    default:
      return {};
  }
}

AttrValue Planner::ValueOfVariable(uint16_t variable, int rank) {
  const auto known = attrs_.find(variable);
  if (known != attrs_.end()) return known->second;
  return attrs_[variable] = Draw(variable, [&] { return DrawOpen(variable, rank); });
}

AttrValue Planner::DrawOpen(uint16_t variable, int rank) {
  for (const Node& node : rule_.nodes) {
    if (!node.in_source) continue;
    for (const AttrCode& code : node.attrs) {
      if (code.kind == AttrCode::Kind::kVariable && code.variable == variable)
        return RandomAttr(*node.info, node.info->def().attrs[code.slot], rank);
    }
  }
  return RandomNumber();
}

AttrValue Planner::Compute(const AttrCode& code, int rank) {
  // Extents that are still open are decided only if the value needs them.
  for (const bool decides : {false, true}) {
    const OwnedOp module = CreateModule(context_);
    std::vector<Type> types;
    std::vector<AttrValue> attributes;
    attributes.reserve(code.args.size());  // arguments point at them
    std::vector<BoundArg> args(code.args.size());
    for (const ArgCode& arg : code.args) {
      if (arg.edge.node != kNone) types.push_back(KnownType(arg.edge, rank, decides));
    }
    Operation* function =
        CreateFunction(module.get(), "values", Type::Function(context_, types, {}));
    unsigned next = 0;
    for (size_t i = 0; i < args.size(); ++i) {
      const ArgCode& arg = code.args[i];
      if (arg.edge.node != kNone) {
        args[i].value = function->region().front().argument(next++);
      } else if (arg.attr != kNone) {
        attributes.push_back(ValueOfVariable(arg.attr, rank));
        args[i].literal = &attributes.back();
      } else if (const std::optional<int64_t> extent = DimValue(arg.dim)) {
        args[i].dim = DimExpr::Constant(context_, *extent);
      }
    }
    AttrValue value = GuardedRead([&] { return code.source->compute(args); }).value_or(AttrValue());
    if (!std::holds_alternative<std::monostate>(value)) return value;
  }
  why_ = fmt::format("{} has no value in the programs that the check makes",
                     drr::ToString(*code.source));
  return {};
}

Type Planner::KnownType(const Edge& unresolved, int rank, bool decides) {
  const Edge edge = Through(unresolved);
  const auto hint = dtype_hints_.find(edge.node);
  const DType dtype = hint != dtype_hints_.end() ? hint->second : DType::kF32;
  const auto known = shapes_.find(edge.node);
  if (known == shapes_.end()) {
    const int found = KnownRank(edge);
    const auto extents = static_cast<size_t>(std::max(found >= 0 ? found : rank, 0));
    return Type::Tensor(context_, dtype, Dims(extents, DimExpr::Unknown(context_)));
  }
  Dims dims;
  for (const Unknown u : known->second)
    dims.push_back(decides || Known(u) ? DimExpr::Constant(context_, Value(u))
                                       : DimExpr::Unknown(context_));
  return Type::Tensor(context_, dtype, dims);
}

AttrValue Planner::ReadCode(const AttrCode& code, const OpInfo& info, int slot, int rank) {
  switch (code.kind) {
    case AttrCode::Kind::kLiteral:
      return ToAttrValue(code.literal);
    case AttrCode::Kind::kAxis:
      return std::get<int64_t>(code.source->literal) + rank;
    case AttrCode::Kind::kAxes: {
      I64s axes = std::get<I64s>(code.source->literal);
      for (int64_t& axis : axes) axis = axis < 0 ? axis + rank : axis;
      return axes;
    }
    case AttrCode::Kind::kVariable: {
      auto it = attrs_.find(code.variable);
      if (it != attrs_.end()) return it->second;
      AttrValue value = Draw(code.variable, [&] {
        return slot < 0 ? AttrValue(RandomNumber())
                        : RandomAttr(info, info.def().attrs[static_cast<size_t>(slot)], rank);
      });
      attrs_[code.variable] = value;
      return value;
    }
    case AttrCode::Kind::kDim: {
      std::optional<int64_t> value = DimValue(code.dims[0]);
      return value ? AttrValue(*value) : AttrValue();
    }
    case AttrCode::Kind::kDims: {
      I64s dims;
      for (uint16_t dim : code.dims) dims.push_back(DimValue(dim).value_or(1));
      return dims;
    }
    case AttrCode::Kind::kAny:
      return RandomAttr(info, info.def().attrs[static_cast<size_t>(slot)], rank);
    case AttrCode::Kind::kCompute:
      return Compute(code, rank);
  }
  return {};
}

AttrValue Planner::AttrOf(uint16_t n, std::string_view name, int rank) {
  const Node& node = rule_.nodes[n];
  int slot = node.info->FindSlot(name);
  for (const AttrCode& code : node.attrs) {
    if (code.slot != slot) continue;
    if (code.kind != AttrCode::Kind::kAny) return ReadCode(code, *node.info, slot, rank);
    auto [it, inserted] = any_attrs_.emplace(std::pair(n, slot), AttrValue());
    if (inserted) it->second = ReadCode(code, *node.info, slot, rank);
    return it->second;
  }
  return {};
}

}  // namespace tenon::drr
