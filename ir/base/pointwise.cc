#include "ir/base/pointwise.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "absl/container/flat_hash_map.h"
#include "fmt/format.h"

namespace tenon {
namespace {

constexpr std::array<const char*, 3> ParamsOf(PointwiseOp op) {
  switch (op) {
    case PointwiseOp::kCast:
      return {"to"};
    case PointwiseOp::kClip:
      return {"max", "min"};
    case PointwiseOp::kElu:
      return {"alpha", "gamma", "width"};
    case PointwiseOp::kGelu:
      return {"approximate"};
    case PointwiseOp::kHardSigmoid:
      return {"alpha", "beta"};
    case PointwiseOp::kLeakyRelu:
      return {"alpha"};
    case PointwiseOp::kLayerNorm:
    case PointwiseOp::kRmsNorm:
      return {"epsilon"};
    default:
      return {};
  }
}

constexpr PointwiseOpInfo kOps[] = {
#define TENON_POINTWISE_OP(id, name, operands, dtypes, result) \
  {name,                                                       \
   operands,                                                   \
   PointwiseDTypes::dtypes,                                    \
   PointwiseOpInfo::Result::result,                            \
   ParamsOf(PointwiseOp::k##id),                               \
   PointwiseOpInfo::Rows::kNone},
#define TENON_ROW_OP(id, name, rows) \
  {name,                             \
   1,                                \
   PointwiseDTypes::kFloats,         \
   PointwiseOpInfo::Result::kSame,   \
   ParamsOf(PointwiseOp::k##id),     \
   PointwiseOpInfo::Rows::rows},
#include "ir/base/pointwise_ops.def"
#undef TENON_POINTWISE_OP
#undef TENON_ROW_OP
};

constexpr std::string_view kGeluWords[] = {"none", "tanh", "sigmoid"};

bool Accepts(PointwiseDTypes set, DType dtype) {
  const bool number = dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kI64;
  switch (set) {
    case PointwiseDTypes::kFloats:
      return dtype == DType::kF32;
    case PointwiseDTypes::kNumbers:
      return number;
    case PointwiseDTypes::kBools:
      return dtype == DType::kBool;
    case PointwiseDTypes::kAll:
      return number || dtype == DType::kBool;
    case PointwiseDTypes::kConvertible:
      return number || dtype == DType::kBool || dtype == DType::kU8 || dtype == DType::kI8;
  }
  return false;
}

// A float that reads back as the same one, and never looks like an integer.
std::string FloatText(double value) {
  const auto number = static_cast<float>(value);
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string ConstantText(const PointwiseConstant& constant) {
  if (constant.dtype == DType::kF32) return FloatText(constant.real);
  if (constant.dtype == DType::kBool) return constant.integer != 0 ? "true" : "false";
  return fmt::format("{} : {}", constant.integer, Name(constant.dtype));
}

std::string ParamText(PointwiseOp op, double value) {
  if (op == PointwiseOp::kCast) return Name(static_cast<DType>(static_cast<int>(value)));
  if (op == PointwiseOp::kGelu) return std::string(kGeluWords[static_cast<size_t>(value)]);
  // Attributes of f32, which read back as the same number.
  if (InfoOf(op).rows != PointwiseOpInfo::Rows::kNone)
    return fmt::format("{}", static_cast<float>(value));
  return fmt::format("{}", value);
}

class BodyReader {
 public:
  BodyReader(std::string_view text, std::span<const DType> inputs, PointwiseBody& body)
      : text_(text), body_(body) {
    body_ = {};
    body_.inputs.assign(inputs.begin(), inputs.end());
  }

  bool Read(std::string& error) {
    // Constants come to stand before the steps when all are known.
    if (ReadSteps()) {
      const int shift = static_cast<int>(body_.constants.size());
      const int first = body_.first_constant();
      const auto renumber = [&](int& value) {
        if (value < 0) {
          value = first + (-1 - value);
        } else if (value >= first) {
          value += shift;
        }
      };
      for (PointwiseStep& step : body_.steps) {
        for (int i = 0; i < InfoOf(step.op).num_operands; ++i) renumber(step.operands[i]);
      }
      for (int& result : body_.results) renumber(result);
      return true;
    }
    error = fmt::format("{} at column {} of \"{}\"", error_, at_, text_);
    return false;
  }

 private:
  bool Fail(std::string message) {
    if (error_.empty()) error_ = std::move(message);
    return false;
  }

  void SkipSpace() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool Take(std::string_view token) {
    SkipSpace();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  bool Expect(std::string_view token) {
    return Take(token) || Fail(fmt::format("expected '{}'", token));
  }

  // Letters, digits and what is in names and numbers.
  std::string_view Word() {
    SkipSpace();
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
            std::string_view("._+-").find(text_[at_]) != std::string_view::npos)) {
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  bool Number(std::string_view word, double& value) {
    const std::string copy(word);
    char* end = nullptr;
    value = std::strtod(copy.c_str(), &end);
    return (!copy.empty() && end == copy.c_str() + copy.size()) || Fail("expected a number");
  }

  // A value that exists: an input, or the result of an earlier step (numbered from the inputs on).
  bool Value(int& value) {
    const std::string_view word = Word();
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
    const int known = body_.first_constant() + static_cast<int>(body_.steps.size());
    if (word.empty() || code != std::errc() || end != word.data() + word.size() || value < 0 ||
        value >= known) {
      return Fail(fmt::format(
          "%{} is not defined here (expected an input or the result of an earlier step)", word));
    }
    return true;
  }

  DType DTypeOf(int value) const {
    if (value < 0) return body_.constants[-1 - value].dtype;
    return value < body_.first_constant() ? body_.inputs[value]
                                          : body_.steps[value - body_.first_constant()].dtype;
  }

  // Constants are -1, -2, … until all are known.
  bool Operand(int& value) {
    if (Take("%")) return Value(value);
    const std::string_view word = Word();
    PointwiseConstant constant;
    if (word == "true" || word == "false") {
      constant = {DType::kBool, 0, word == "true" ? 1 : 0};
    } else if (Take(":")) {
      const std::string_view type = Word();
      constant.dtype = type == "i64" ? DType::kI64 : type == "i32" ? DType::kI32 : DType::kInvalid;
      const auto [end, code] =
          std::from_chars(word.data(), word.data() + word.size(), constant.integer);
      if (constant.dtype == DType::kInvalid || code != std::errc() ||
          end != word.data() + word.size()) {
        return Fail("expected an integer and its type, i32 or i64");
      }
    } else if (!Number(word, constant.real)) {
      return Fail("expected a value or a number");
    }
    constant.real = static_cast<float>(constant.real);
    body_.constants.push_back(constant);
    value = -static_cast<int>(body_.constants.size());
    return true;
  }

  bool Params(PointwiseStep& step) {
    const auto& names = InfoOf(step.op).params;
    if (names[0] == nullptr) return true;
    if (!Expect("{")) return false;
    for (size_t i = 0; i < names.size() && names[i] != nullptr; ++i) {
      if ((i > 0 && !Expect(",")) || !Expect(names[i]) || !Expect("=")) return false;
      const std::string_view word = Word();
      if (!PointwiseWord(step.op, word, step.params[i]) && !Number(word, step.params[i])) {
        return false;
      }
      if (step.op == PointwiseOp::kCast || step.op == PointwiseOp::kGelu) {
        double known = 0;
        if (!PointwiseWord(step.op, word, known))
          return Fail(fmt::format("'{}' is not a known value of '{}'", word, names[i]));
      }
    }
    return Expect("}");
  }

  bool IsOnePerRow(int value) const {
    return value >= body_.first_constant() &&
           one_per_row_[static_cast<size_t>(value - body_.first_constant())];
  }

  // Notes whether the step makes one element for each row. False for a row op of another operand
  // than a row.
  bool ReadsRows(const PointwiseStep& step, std::string_view name) {
    bool any = false, all = true;
    for (const int operand : step.used()) {
      any = any || IsOnePerRow(operand);
      all = all && (operand < 0 || IsOnePerRow(operand));
    }
    const PointwiseOpInfo::Rows rows = InfoOf(step.op).rows;
    if (rows != PointwiseOpInfo::Rows::kNone && all) {
      return Fail(fmt::format("{} works on rows (expected a value with whole rows)", name));
    }
    one_per_row_.push_back(rows == PointwiseOpInfo::Rows::kReduces || (any && all));
    return true;
  }

  bool Step() {
    int number = -1;
    const std::string_view word = Word();
    std::from_chars(word.data(), word.data() + word.size(), number);
    const int next = body_.first_constant() + static_cast<int>(body_.steps.size());
    if (number != next) return Fail(fmt::format("expected the value %{}", next));
    if (!Expect("=")) return false;
    PointwiseStep step;
    const std::string_view name = Word();
    if (!FindPointwiseOp(name, step.op)) {
      return Fail(fmt::format("'{}' is not an op that a body may have", name));
    }
    std::array<DType, 3> dtypes = {};
    const int count = InfoOf(step.op).num_operands;
    for (int i = 0; i < count; ++i) {
      if ((i > 0 && !Expect(",")) || !Operand(step.operands[i])) return false;
      dtypes[i] = DTypeOf(step.operands[i]);
    }
    if (!ReadsRows(step, name) || !Params(step)) return false;
    step.dtype = PointwiseResult(step.op, {dtypes.data(), static_cast<size_t>(count)}, step.params);
    if (step.dtype == DType::kInvalid) {
      std::string types;
      for (int i = 0; i < count; ++i)
        types += fmt::format("{}{}", i > 0 ? ", " : "", tenon::Name(dtypes[i]));
      return Fail(fmt::format("{} does not work on {}", name, types));
    }
    body_.steps.push_back(step);
    return true;
  }

  bool ReadSteps() {
    while (!Take("yield")) {
      if (!Expect("%") || !Step() || !Expect(";")) return false;
    }
    do {
      int value = 0;
      if (!Expect("%") || !Value(value)) return false;
      if (value < body_.first_constant()) return Fail("only values of steps can be results");
      if (std::find(body_.results.begin(), body_.results.end(), value) != body_.results.end()) {
        return Fail(fmt::format("%{} is yielded twice (expected once)", value));
      }
      body_.results.push_back(value);
    } while (Take(","));
    SkipSpace();
    return at_ == text_.size() || Fail("expected the end");
  }

  std::string_view text_;
  PointwiseBody& body_;
  std::vector<bool> one_per_row_;  // by step
  size_t at_ = 0;
  std::string error_;
};

}  // namespace

const PointwiseOpInfo& InfoOf(PointwiseOp op) { return kOps[static_cast<size_t>(op)]; }

bool FindPointwiseOp(std::string_view name, PointwiseOp& op) {
  static const auto kByName = [] {
    absl::flat_hash_map<std::string_view, PointwiseOp> by_name;
    for (size_t i = 0; i < std::size(kOps); ++i)
      by_name.emplace(kOps[i].name, static_cast<PointwiseOp>(i));
    return by_name;
  }();
  const auto found = kByName.find(name);
  if (found == kByName.end()) return false;
  op = found->second;
  return true;
}

DType PointwiseResult(PointwiseOp op, std::span<const DType> operands,
                      std::span<const double> params) {
  const PointwiseOpInfo& info = InfoOf(op);
  if (operands.size() != static_cast<size_t>(info.num_operands)) return DType::kInvalid;
  if (op == PointwiseOp::kWhere) {
    if (operands[0] != DType::kBool) return DType::kInvalid;
    operands = operands.subspan(1);
  }
  for (DType dtype : operands) {
    if (dtype != operands[0] || !Accepts(info.dtypes, dtype)) return DType::kInvalid;
  }
  switch (info.result) {
    case PointwiseOpInfo::Result::kSame:
    case PointwiseOpInfo::Result::kSecond:
      return operands[0];
    case PointwiseOpInfo::Result::kBool:
      return DType::kBool;
    case PointwiseOpInfo::Result::kParameter: {
      const auto to = static_cast<DType>(static_cast<int>(params[0]));
      return Accepts(info.dtypes, to) ? to : DType::kInvalid;
    }
  }
  return DType::kInvalid;
}

bool PointwiseWord(PointwiseOp op, std::string_view word, double& value) {
  if (op == PointwiseOp::kGelu) {
    for (size_t i = 0; i < std::size(kGeluWords); ++i) {
      if (word != kGeluWords[i]) continue;
      value = static_cast<double>(i);
      return true;
    }
  }
  if (op != PointwiseOp::kCast) return false;
  for (int i = 1; i < kNumDTypes; ++i) {
    if (word != Name(static_cast<DType>(i))) continue;
    value = i;
    return true;
  }
  return false;
}

DType PointwiseBody::dtype(int value) const {
  if (value < first_constant()) return inputs[value];
  return value < first_step() ? constants[value - first_constant()].dtype
                              : steps[value - first_step()].dtype;
}

bool PointwiseBody::has_row_ops() const {
  return std::any_of(steps.begin(), steps.end(), [](const PointwiseStep& step) {
    return InfoOf(step.op).rows != PointwiseOpInfo::Rows::kNone;
  });
}

std::vector<bool> OnePerRow(const PointwiseBody& body) {
  std::vector<bool> one(static_cast<size_t>(body.num_values()), false);
  for (size_t s = 0; s < body.steps.size(); ++s) {
    bool any = false, all = true;
    for (const int operand : body.steps[s].used()) {
      const bool constant = operand >= body.first_constant() && operand < body.first_step();
      any = any || one[static_cast<size_t>(operand)];
      all = all && (constant || one[static_cast<size_t>(operand)]);
    }
    const PointwiseOpInfo::Rows rows = InfoOf(body.steps[s].op).rows;
    one[static_cast<size_t>(body.first_step()) + s] =
        rows == PointwiseOpInfo::Rows::kReduces ||
        (rows == PointwiseOpInfo::Rows::kNone && any && all);
  }
  return one;
}

std::string PointwiseText(const PointwiseBody& body) {
  const int constants = static_cast<int>(body.constants.size());
  const auto name = [&](int value) {
    return fmt::format("%{}", value < body.first_constant() ? value : value - constants);
  };
  std::string text;
  for (size_t s = 0; s < body.steps.size(); ++s) {
    const PointwiseStep& step = body.steps[s];
    const PointwiseOpInfo& info = InfoOf(step.op);
    text += fmt::format("{} = {}", name(body.first_step() + static_cast<int>(s)), info.name);
    for (int i = 0; i < info.num_operands; ++i) {
      const int value = step.operands[i];
      const bool constant = value >= body.first_constant() && value < body.first_step();
      text += i == 0 ? " " : ", ";
      text += constant ? ConstantText(body.constants[value - body.first_constant()]) : name(value);
    }
    for (size_t i = 0; i < info.params.size() && info.params[i] != nullptr; ++i) {
      text += fmt::format("{}{} = {}", i == 0 ? " {" : ", ", info.params[i],
                          ParamText(step.op, step.params[i]));
    }
    text += info.params[0] != nullptr ? "}; " : "; ";
  }
  text += "yield";
  for (size_t i = 0; i < body.results.size(); ++i) {
    text += (i == 0 ? " " : ", ") + name(body.results[i]);
  }
  return text;
}

bool ParsePointwise(std::string_view text, std::span<const DType> inputs, PointwiseBody& body,
                    std::string& error) {
  return BodyReader(text, inputs, body).Read(error);
}

}  // namespace tenon
