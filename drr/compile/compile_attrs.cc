// What a rule computes with: attributes, dimensions, and the arguments of functions.
#include <algorithm>

#include "drr/compile/compiler.h"
#include "fmt/format.h"
#include "ir/base/check.h"

namespace tenon::drr {

uint16_t Compiler::AttrVariable(const AttrRef& attr) {
  auto [it, inserted] =
      attr_index_.emplace(attr.get(), static_cast<uint16_t>(out_.attr_names.size()));
  if (inserted) out_.attr_names.push_back(attr->name);
  return it->second;
}

uint16_t Compiler::AddDim(const DimRef& dim, bool in_source) {
  DimCode code{dim->kind, kNone, {}, kNone, kNone};
  if (dim->kind == DimNode::Kind::kVariable) {
    auto [it, inserted] =
        dim_variables_.emplace(dim.get(), static_cast<uint16_t>(out_.dim_names.size()));
    if (inserted) out_.dim_names.push_back(dim->name);
    code.variable = it->second;
    (in_source ? bound_dims_ : used_dims_).insert(it->second);
  }
  if (dim->kind == DimNode::Kind::kConstant)
    code.constant = DimExpr::Constant(context_, dim->value);
  // What is shared is computed once for each use.
  int64_t& size = dim_sizes_.emplace(std::pair(dim.get(), in_source), 0).first->second;
  if (size == 0) {
    size = 1;
    if (dim->a) code.a = AddDim(dim->a, in_source);
    if (dim->b) code.b = AddDim(dim->b, in_source);
    for (const DimRef& part : {dim->a, dim->b}) {
      if (part) size += dim_sizes_[{part.get(), in_source}];
    }
    size = std::min(size, kMostDimTerms + 1);
    too_long_dim_ = too_long_dim_ || size > kMostDimTerms;
  }
  auto [it, inserted] = dim_index_.emplace(dim.get(), static_cast<uint16_t>(out_.dims.size()));
  if (inserted) out_.dims.push_back(code);
  return it->second;
}

absl::StatusOr<std::vector<ArgCode>> Compiler::AddArgs(const std::vector<ArgRef>& args) {
  std::vector<ArgCode> codes;
  for (const ArgRef& arg : args) {
    ArgCode code;
    if (arg.val) {
      auto it = node_index_.find(arg.val.get());
      if (it == node_index_.end() || !out_.nodes[it->second].in_source) {
        return Error(fmt::format("{} is not part of the match", ToString(ValRef{arg.val, 0})));
      }
      TENON_RETURN_IF_ERROR(CheckHasResult(it->second, ValRef{arg.val, arg.result}));
      code.edge = {it->second, static_cast<uint16_t>(arg.result), false};
      used_nodes_.insert(it->second);
    } else if (arg.attr) {
      code.attr = AttrVariable(arg.attr);
      used_attrs_.insert(code.attr);
    } else {
      code.dim = AddDim(arg.dim, false);
    }
    codes.push_back(code);
  }
  return codes;
}

absl::StatusOr<AttrCode> Compiler::AddAttr(const AttrRef& attr, AttrType type,
                                           std::string_view name, bool in_source,
                                           std::string_view where) {
  TENON_RETURN_IF_ERROR(CheckKind(*attr, type, name, in_source, where));
  AttrCode code;
  code.type = type;
  code.source = attr.get();
  switch (attr->kind) {
    case AttrNode::Kind::kAny:
      if (!in_source)
        return Error(fmt::format(
            "{}: '{}' is {} in the result (expected a value, or a variable that the match binds)",
            where, name, rule_.in_text() ? "'any'" : "kAny"));
      code.kind = AttrCode::Kind::kAny;
      return code;
    case AttrNode::Kind::kVariable:
      code.kind = AttrCode::Kind::kVariable;
      code.variable = AttrVariable(attr);
      (in_source && !bound_attrs_.count(code.variable) ? bound_attrs_ : used_attrs_)
          .insert(code.variable);
      return code;
    case AttrNode::Kind::kLiteral: {
      const int64_t* axis = std::get_if<int64_t>(&attr->literal);
      const I64s* axes = std::get_if<I64s>(&attr->literal);
      if (name == "axis" && axis != nullptr && *axis < 0) {
        code.kind = AttrCode::Kind::kAxis;
      } else if (name == "axes" && axes != nullptr &&
                 std::any_of(axes->begin(), axes->end(), [](int64_t a) { return a < 0; })) {
        code.kind = AttrCode::Kind::kAxes;
      } else {
        code.kind = AttrCode::Kind::kLiteral;
        code.literal = ToAttribute(context_, type, attr->literal);
        if (!code.literal) {
          return Error(fmt::format("{}: '{}' cannot be {}", where, name, ToString(attr->literal)));
        }
      }
      return code;
    }
    case AttrNode::Kind::kCompute: {
      code.kind = AttrCode::Kind::kCompute;
      auto args = AddArgs(attr->args);
      if (!args.ok()) return args.status();
      code.args = *std::move(args);
      for (const ArgCode& arg : code.args) {
        if (arg.edge.node != kNone && out_.nodes[arg.edge.node].kind == ValNode::Kind::kEach)
          return Error(fmt::format("{}: '{}' reads '{}', which stands for any number of values",
                                   where, name, NameOf(arg.edge.node)));
      }
      return code;
    }
    case AttrNode::Kind::kDim:
    case AttrNode::Kind::kDims:
      code.kind = attr->kind == AttrNode::Kind::kDim ? AttrCode::Kind::kDim : AttrCode::Kind::kDims;
      for (const DimRef& dim : attr->dims) code.dims.push_back(AddDim(dim, in_source));
      return code;
  }
  return code;
}

}  // namespace tenon::drr
