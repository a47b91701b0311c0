// Rules in which a set may differ, and programs on which to try them: for the benchmark of many
// rules and for the test that no match is lost.
#ifndef TENON_TESTS_BENCH_SCALING_RULES_H_
#define TENON_TESTS_BENCH_SCALING_RULES_H_

#include <cstdint>
#include <iterator>
#include <span>
#include <string>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/builder.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/dialects.h"
#include "ir/dialect/func_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::bench_rules {

// What the rules of a set differ in. All are rooted at ten.add, but for those of kRoots. kMixed has
// the first four in turn, and kAll all before it.
enum Kind {
  kConstants,
  kAttributes,
  kDepth,
  kConditions,
  kMixed,
  kNested,        // depth in a program as deep
  kOperands,      // the ops of operands
  kTypes,         // element types and ranges of ranks and extents
  kNumbers,       // attributes that are numbers, texts and computed conditions on them
  kSame,          // a variable that occurs twice
  kVariadics,     // how many operands
  kAlternatives,  // one of several operands
  kResults,       // the shape of the result
  kRoots,         // the op of the root
  kAll,
};
inline constexpr const char* kNames[] = {"constants", "attributes", "depth",     "conditions",
                                         "mixed",     "nested",     "operands",  "types",
                                         "numbers",   "same",       "variadics", "alternatives",
                                         "results",   "roots",      "all"};

// The source graph and the conditions of a rule.
inline std::string SourceText(Kind kind, int i) {
  static constexpr const char* kUnary[] = {"relu", "tanh", "exp", "abs", "sigmoid", "sqrt", "neg"};
  static constexpr int kOps = static_cast<int>(std::size(kUnary));
  const double number = 1000.5 + i;
  switch (kind) {
    case kConstants:
      return fmt::format("add(x, splat({}))", number);
    case kAttributes:
      return fmt::format("add(x, transpose(_y) {{perm = {{{}, {}, 0}}}})", i + 3, i + 2);
    case kDepth:
    case kNested: {
      std::string source = kind == kDepth ? fmt::format("mul(x, splat({}))", 2000 + number)
                                          : fmt::format("add(x, splat({}))", number);
      for (int d = 0; d <= i % 20; ++d) source = fmt::format("add({}, _y{})", source, d);
      return source;
    }
    case kConditions:
      return fmt::format("add(x, _y)\n  where dim(x, {}) == {} && rank(_y) == {}", i % 4, 100 + i,
                         5 + i % 3);
    case kOperands:
      return fmt::format("add(x, {}({}({}({}(_y)))))", kUnary[i % kOps], kUnary[i / kOps % kOps],
                         kUnary[i / kOps / kOps % kOps], kUnary[i / kOps / kOps / kOps % kOps]);
    case kTypes:
      return fmt::format("add(x, _y)\n  where dtype(x) == {} && rank(x) >= {} && dim(_y, 0) > {}",
                         i % 2 == 0 ? "f16" : "f32", 3 + i % 3, 100 + i);
    case kNumbers:
      switch (i % 4) {
        case 0:
          return fmt::format("add(x, layer_norm(_y, none, none) {{axis = -1, epsilon = {}}})",
                             number);
        case 1:
          return fmt::format("add(x, softmax(_y) {{axis = a}})\n  where a == {}", i);
        case 2:
          return fmt::format("add(x, splat(c))\n  where c > {}", 1000 + number);
        default:
          return fmt::format("add(x, mul(gelu(_y) {{approximate = \"tanh\"}}, splat({})))", number);
      }
    case kSame:
      return fmt::format("add(mul(x, x), mul(x, splat({})))", number);
    case kVariadics: {
      std::string operands = "x";
      for (int d = 0; d < i % 24; ++d) operands += fmt::format(", _y{}", d);
      return fmt::format("add(x, concat({}) {{axis = {}}})", operands, i);
    }
    case kAlternatives:
      return fmt::format("add(x, any(mul(_y, splat({})) | {}(div(_z, splat({})))))", number,
                         kUnary[i % kOps], number);
    case kResults:
      return fmt::format("s\n  where shape(s) == {{N, {}}} && dim(x, 0) == 3", 100 + i);
    case kRoots:
      return fmt::format("{}(x, mul(_y, splat({})))",
                         i % 3 == 0   ? "add"
                         : i % 3 == 1 ? "sub"
                                      : "mul",
                         number);
    default:
      return "";
  }
}

inline std::string RuleText(Kind kind, int i) {
  if (kind == kMixed) return RuleText(static_cast<Kind>(i % kMixed), i);
  if (kind == kAll) {
    const int other = i % (kAll - 1);
    return RuleText(static_cast<Kind>(other < kMixed ? other : other + 1), i);
  }
  const char* let = kind == kResults ? "let s = add(x, _y)\n  " : "";
  return fmt::format("rule {}-{} {{\n  {}match {}\n  replace x\n}}\n", kNames[kind], i, let,
                     SourceText(kind, i));
}

inline std::string RuleTexts(Kind kind, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += RuleText(kind, i);
  return text;
}

// A function in which no rule matches. `varied`: it has the ops of the rules, and constants of
// many numbers, some of them those of the rules where no rule wants them.
inline OwnedOp MakeProgram(Context& context, int64_t ops, bool varied) {
  const int64_t dims[] = {8, 16};
  const Type type = Type::Tensor(context, DType::kF32, dims);
  OwnedOp module = CreateModule(context);
  const Type types[] = {type, type};
  Operation* func =
      CreateFunction(module.get(), "f", Type::Function(context, types, {types, 1}), Location());
  Block* body = &func->region().front();
  OpBuilder builder = OpBuilder::AtEnd(context, body);
  const Type scalar = Type::Tensor(context, DType::kF32, std::span<const int64_t>());
  const auto constant = [&](float number) -> Value {
    const Attribute elements =
        Attribute::Elements(context, scalar, std::as_bytes(std::span(&number, 1)));
    return core::ConstantOp::Create(builder, Location(), {.value = elements})->out();
  };
  const Value shared = constant(77.25f);
  std::vector<Value> numbers;
  for (int i = 0; varied && i < 64; ++i)
    numbers.push_back(constant(1010.25f + static_cast<float>(i)));
  Value a = body->argument(0), b = body->argument(1);
  for (int64_t i = 0; i < ops; ++i) {
    const Value other = i % 3 == 0 ? shared : a;
    Value next;
    const Value number = varied ? numbers[static_cast<size_t>(i / 8) % 64] : Value();
    if (varied && i % 8 == 2) {
      next = ten::MulOp::Create(builder, Location(), b, number)->out();
    } else if (varied && i % 8 == 4) {
      next = ten::TanhOp::Create(builder, Location(), b)->out();
    } else if (varied && i % 8 == 6) {
      next = ten::SubOp::Create(builder, Location(), b, number)->out();
    } else {
      next =
          ten::AddOp::Create(builder, Location(), b, varied && i % 16 == 1 ? number : other)->out();
    }
    a = b;
    b = next;
  }
  TENON_CHECK(func::ReturnOp::Create(builder, Location(), std::span<const Value>(&b, 1)).ok());
  return module;
}

}  // namespace tenon::bench_rules

#endif  // TENON_TESTS_BENCH_SCALING_RULES_H_
