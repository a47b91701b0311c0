#include "drr/rule/attr.h"

#include <cmath>
#include <optional>

#include "drr/rule/term_values.h"
#include "fmt/format.h"

namespace tenon::drr {
namespace {

DimRef MakeDim(DimNode::Kind kind, DimRef a, DimRef b) {
  return std::make_shared<DimNode>(DimNode{kind, "", 0, std::move(a), std::move(b)});
}

template <typename List>
std::string Braced(const List& list) {
  std::string text = "{";
  for (const auto& element : list) {
    if (text.size() > 1) text += ", ";
    if constexpr (std::is_same_v<std::decay_t<decltype(element)>, DimExpr>) {
      text += element.text();
    } else {
      text += fmt::format("{}", element);
    }
  }
  return text + "}";
}

}  // namespace

Dim::Dim(const char* name)
    : node_(
          std::make_shared<DimNode>(DimNode{DimNode::Kind::kVariable, name, 0, nullptr, nullptr})) {
}
Dim::Dim(int64_t value)
    : node_(std::make_shared<DimNode>(
          DimNode{DimNode::Kind::kConstant, "", value, nullptr, nullptr})) {}

Dim operator+(const Dim& a, const Dim& b) {
  return Dim(MakeDim(DimNode::Kind::kAdd, a.node(), b.node()));
}
Dim operator-(const Dim& a, const Dim& b) {
  return Dim(MakeDim(DimNode::Kind::kSub, a.node(), b.node()));
}
Dim operator*(const Dim& a, const Dim& b) {
  return Dim(MakeDim(DimNode::Kind::kMul, a.node(), b.node()));
}
Dim AnyDim() { return Dim(MakeDim(DimNode::Kind::kAny, nullptr, nullptr)); }

AttrRef MakeLiteral(AttrValue value) {
  auto node = std::make_shared<AttrNode>();
  node->kind = AttrNode::Kind::kLiteral;
  node->literal = std::move(value);
  return node;
}

AttrRef MakeAnyAttr() {
  auto node = std::make_shared<AttrNode>();
  node->kind = AttrNode::Kind::kAny;
  return node;
}

AttrRef MakeDimAttr(const Dim& dim) {
  if (dim.node()->kind == DimNode::Kind::kConstant) return MakeLiteral(dim.node()->value);
  auto node = std::make_shared<AttrNode>();
  node->kind = AttrNode::Kind::kDim;
  node->dims.push_back(dim.node());
  return node;
}

AttrRef MakeDimsAttr(std::span<const Dim> dims) {
  auto node = std::make_shared<AttrNode>();
  node->kind = AttrNode::Kind::kDims;
  for (const Dim& dim : dims) node->dims.push_back(dim.node());
  return node;
}

AttrValue ToAttrValue(Attribute attr) {
  if (!attr) return {};
  switch (attr.kind()) {
    case Attribute::Kind::kUnit:
      return true;
    case Attribute::Kind::kBool:
      return attr.bool_value();
    case Attribute::Kind::kInteger:
      return attr.int_value();
    case Attribute::Kind::kFloat:
      return attr.float_value();
    case Attribute::Kind::kString:
    case Attribute::Kind::kSymbolRef:
      return std::string(attr.str());
    case Attribute::Kind::kDims:
      return Dims(attr.dims().begin(), attr.dims().end());
    case Attribute::Kind::kType:
      return attr.type().kind() == Type::Kind::kScalar ? AttrValue(attr.type().dtype())
                                                       : AttrValue(attr);
    case Attribute::Kind::kDenseArray:
      if (IsFloat(attr.type().dtype())) return F32s(attr.floats().begin(), attr.floats().end());
      return I64s(attr.ints().begin(), attr.ints().end());
    default:
      return attr;
  }
}

AttrValue ToAttrValue(const BoundArg& arg) {
  if (arg.literal != nullptr) return *arg.literal;
  if (arg.attr) return ToAttrValue(arg.attr);
  if (arg.dim) {
    if (arg.dim.is_constant()) return arg.dim.constant();
    return {};
  }
  return arg.number;
}

double ToNumber(const BoundArg& arg) {
  if (arg.literal != nullptr) {
    if (const double* d = std::get_if<double>(arg.literal)) return *d;
    if (const int64_t* i = std::get_if<int64_t>(arg.literal)) return static_cast<double>(*i);
    if (const bool* b = std::get_if<bool>(arg.literal)) return *b ? 1 : 0;
    return std::nan("");
  }
  if (arg.attr) {
    switch (arg.attr.kind()) {
      case Attribute::Kind::kFloat:
        return arg.attr.float_value();
      case Attribute::Kind::kInteger:
        return static_cast<double>(arg.attr.int_value());
      case Attribute::Kind::kBool:
        return arg.attr.bool_value() ? 1 : 0;
      default:
        return std::nan("");
    }
  }
  return arg.number;
}

namespace {

// The extents as integers; nullopt if one is a symbol.
std::optional<I64s> WholesOf(const Dims& dims) {
  I64s integers;
  for (DimExpr dim : dims) {
    if (!dim || !dim.is_constant()) return std::nullopt;
    integers.push_back(dim.constant());
  }
  return integers;
}

}  // namespace

Attribute ToAttribute(Context& context, AttrType type, const AttrValue& value) {
  const double* real = std::get_if<double>(&value);
  const int64_t* integer = std::get_if<int64_t>(&value);
  const std::string* text = std::get_if<std::string>(&value);
  const I64s* ints = std::get_if<I64s>(&value);
  if (const Attribute* attr = std::get_if<Attribute>(&value)) return *attr;
  switch (type) {
    case AttrType::kUnit:
    case AttrType::kBool: {
      const bool* flag = std::get_if<bool>(&value);
      if (flag == nullptr) return {};
      if (type == AttrType::kUnit) return *flag ? Attribute::Unit(context) : Attribute();
      return Attribute::Bool(context, *flag);
    }
    case AttrType::kI64:
      if (real != nullptr) {
        const std::optional<int64_t> whole = WholeOf(*real);
        return whole ? Attribute::I64(context, *whole) : Attribute();
      }
      return integer != nullptr ? Attribute::I64(context, *integer) : Attribute();
    case AttrType::kF32:
    case AttrType::kF64: {
      if (real == nullptr && integer == nullptr) return {};
      double number = real != nullptr ? *real : static_cast<double>(*integer);
      return Attribute::Float(context, number, type == AttrType::kF32 ? DType::kF32 : DType::kF64);
    }
    case AttrType::kStr:
    case AttrType::kEnum:
      return text != nullptr ? Attribute::Str(context, *text) : Attribute();
    case AttrType::kSymbol:
      return text != nullptr ? Attribute::SymbolRef(context, *text) : Attribute();
    case AttrType::kI64s:
      if (const Dims* dims = std::get_if<Dims>(&value)) {
        const std::optional<I64s> integers = WholesOf(*dims);
        return integers ? Attribute::I64s(context, *integers) : Attribute();
      }
      return ints != nullptr ? Attribute::I64s(context, *ints) : Attribute();
    case AttrType::kF32s: {
      const F32s* floats = std::get_if<F32s>(&value);
      if (ints != nullptr) return Attribute::F32s(context, F32s(ints->begin(), ints->end()));
      return floats != nullptr ? Attribute::F32s(context, *floats) : Attribute();
    }
    case AttrType::kDims: {
      if (const Dims* dims = std::get_if<Dims>(&value)) return Attribute::Dims(context, *dims);
      if (ints == nullptr) return {};
      Dims dims;
      for (int64_t i : *ints) dims.push_back(DimExpr::Constant(context, i));
      return Attribute::Dims(context, dims);
    }
    case AttrType::kType:
    case AttrType::kTypeAttr: {
      const DType* dtype = std::get_if<DType>(&value);
      return dtype != nullptr ? Attribute::TypeAttr(context, Type::Scalar(context, *dtype))
                              : Attribute();
    }
    case AttrType::kAny:
    case AttrType::kElements:
      return {};
  }
  return {};
}

std::string ToString(const AttrValue& value) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(int64_t i) const { return fmt::format("{}", i); }
    // Without a point it would be an integer, which has one zero.
    std::string operator()(double d) const {
      return d == 0 && std::signbit(d) ? "-0.0" : fmt::format("{}", d);
    }
    std::string operator()(const std::string& s) const { return fmt::format("\"{}\"", s); }
    std::string operator()(const I64s& v) const { return Braced(v); }
    std::string operator()(const F32s& v) const { return Braced(v); }
    std::string operator()(const Dims& v) const { return Braced(v); }
    std::string operator()(DType d) const { return Name(d); }
    std::string operator()(const Attribute& a) const { return a ? a.text() : "none"; }
    std::string operator()(const DimExpr& d) const { return d ? d.text() : "none"; }
  };
  return std::visit(Visitor(), value);
}

}  // namespace tenon::drr
