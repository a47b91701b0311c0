// Numbers, dimensions and attributes in the text of rules.
#include <cctype>
#include <charconv>
#include <limits>

#include "drr/text/text_parser.h"
#include "fmt/format.h"

namespace tenon::drr {

absl::StatusOr<double> RuleTextParser::Number() {
  double sign = 1;
  std::string_view text = token_.text;
  if (text.starts_with('-')) sign = -1, text.remove_prefix(1);
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (token_.kind == Token::Kind::kString || error != std::errc() ||
      end != text.data() + text.size()) {
    return Expected("a number");
  }
  Next();
  return sign * value;
}

absl::StatusOr<int64_t> RuleTextParser::Integer() {
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(token_.text.data(), token_.text.data() + token_.text.size(), value);
  if (token_.kind != Token::Kind::kNumber || error != std::errc() ||
      end != token_.text.data() + token_.text.size()) {
    return Expected("a whole number");
  }
  Next();
  return value;
}

absl::StatusOr<int> RuleTextParser::IntegerWithin(int low, int high) {
  const Token at = token_;
  TENON_ASSIGN_OR_RETURN(const int64_t value, Integer());
  if (value >= low && value <= high) return static_cast<int>(value);
  token_ = at;
  return Expected(fmt::format("a number from {} to {}", low, high));
}

absl::StatusOr<Dim> RuleTextParser::ParseFactor() {
  if (Is("(")) {
    if (depth_ >= kMaxDepth) return TooDeep();
    Next();
    ++depth_;
    TENON_ASSIGN_OR_RETURN(Dim dim, ParseDim());
    --depth_;
    TENON_RETURN_IF_ERROR(Require(")"));
    return dim;
  }
  if (Take("?")) return AnyDim();
  if (token_.kind == Token::Kind::kNumber) {
    TENON_ASSIGN_OR_RETURN(int64_t value, Integer());
    return Dim(value);
  }
  TENON_ASSIGN_OR_RETURN(std::string name, Name("a dimension"));
  return dims_.try_emplace(name, name.c_str()).first->second;
}

absl::StatusOr<Dim> RuleTextParser::ParseDim() {
  auto product = [&]() -> absl::StatusOr<Dim> {
    TENON_ASSIGN_OR_RETURN(Dim left, ParseFactor());
    while (Take("*")) {
      TENON_ASSIGN_OR_RETURN(Dim right, ParseFactor());
      left = left * right;
    }
    return left;
  };
  TENON_ASSIGN_OR_RETURN(Dim left, product());
  while (Is("+") || Is("-")) {
    const bool plus = Is("+");
    Next();
    TENON_ASSIGN_OR_RETURN(Dim right, product());
    left = plus ? left + right : left - right;
  }
  return left;
}

absl::StatusOr<std::vector<Dim>> RuleTextParser::ParseDims() {
  std::vector<Dim> dims;
  TENON_RETURN_IF_ERROR(Require("{"));
  while (!Is("}")) {
    if (!dims.empty()) TENON_RETURN_IF_ERROR(Require(","));
    TENON_ASSIGN_OR_RETURN(Dim dim, ParseDim());
    dims.push_back(dim);
  }
  Next();
  return dims;
}

absl::StatusOr<AttrRef> RuleTextParser::ParseAttr(AttrType type) {
  if (token_.kind == Token::Kind::kString) {
    AttrRef attr = MakeLiteral(std::string(token_.text));
    Next();
    return attr;
  }
  if (Take("any")) return MakeAnyAttr();
  if (Take("true")) return MakeLiteral(true);
  if (Take("false")) return MakeLiteral(false);
  if (Is("{") && type == AttrType::kDims) {
    TENON_ASSIGN_OR_RETURN(std::vector<Dim> dims, ParseDims());
    return MakeDimsAttr(dims);
  }
  if (Take("{")) {
    I64s ints;
    F32s floats;
    while (!Is("}")) {
      if (!ints.empty() || !floats.empty()) TENON_RETURN_IF_ERROR(Require(","));
      if (type == AttrType::kF32s) {
        TENON_ASSIGN_OR_RETURN(double value, Number());
        floats.push_back(static_cast<float>(value));
      } else {
        TENON_ASSIGN_OR_RETURN(int64_t value, Integer());
        ints.push_back(value);
      }
    }
    Next();
    return type == AttrType::kF32s ? MakeLiteral(floats) : MakeLiteral(ints);
  }
  if (token_.kind == Token::Kind::kNumber || Is("inf")) {
    const bool whole = token_.text.find_first_of(".ein") == std::string_view::npos;
    if (type == AttrType::kI64 || (type == AttrType::kAny && whole)) {
      TENON_ASSIGN_OR_RETURN(int64_t value, Integer());
      return MakeLiteral(value);
    }
    TENON_ASSIGN_OR_RETURN(double value, Number());
    return MakeLiteral(value);
  }
  if (type == AttrType::kType) {
    for (int d = 1; d < kNumDTypes; ++d) {
      if (Take(tenon::Name(static_cast<DType>(d)))) return MakeLiteral(static_cast<DType>(d));
    }
  }
  TENON_ASSIGN_OR_RETURN(std::string name, Name("a value"));
  if (std::isupper(static_cast<unsigned char>(name[0]))) {
    return MakeDimAttr(dims_.try_emplace(name, name.c_str()).first->second);
  }
  return AttrVariable(name);
}

}  // namespace tenon::drr
