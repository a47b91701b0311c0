// What recording near misses takes grows with the program, and not much faster: steps of matching
// and places that are compared, which depend on no machine.
#include <functional>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "frontends/cpp/passes.h"
#include "gtest/gtest.h"
#include "ir/core/text/parser.h"
#include "ir/dialect/dialects.h"
#include "pass/pass_manager.h"
#include "pass/rule_log.h"
#include "tests/sanitizers.h"

namespace tenon {
namespace {

constexpr std::string_view kSmallType = "tensor<4x8xf32>";

// A function of %x, %y and, where operations ask for it, a condition %c.
class ProgramText {
 public:
  std::string Op(std::string_view name, const std::vector<std::string>& operands,
                 std::string_view attributes = "", std::string_view result = kSmallType,
                 std::vector<std::string_view> types = {}) {
    const std::string value = fmt::format("%v{}", ++values_);
    types.resize(operands.size(), kSmallType);
    lines_ += fmt::format("  {} = {}({}){} : ({}) -> {}\n", value, name, fmt::join(operands, ", "),
                          attributes.empty() ? "" : fmt::format(" <{{{}}}>", attributes),
                          fmt::join(types, ", "), result);
    return value;
  }
  std::string Number(double number) {
    return Op("core.constant", {}, fmt::format("value = dense<{:.8e}> : tensor<f32>", number),
              "tensor<f32>");
  }
  std::string WithNumber(std::string_view name, const std::string& x, double number) {
    const std::string value = Number(number);
    return Op(name, {x, value}, "", kSmallType, {kSmallType, "tensor<f32>"});
  }
  void Add(const std::string& text) { lines_ += text; }
  std::string Text(const std::string& result, std::string_view type = kSmallType) const {
    return fmt::format(
        "func.func() <{{function_type = ({0}, {0}, tensor<i1>) -> {1}, sym_name = \"main\"}}> ({{\n"
        "^bb0(%x: {0}, %y: {0}, %c: tensor<i1>):\n{2}  func.return({3}) : ({1}) -> ()\n}}) : () -> "
        "()\n",
        kSmallType, type, lines_, result);
  }

 private:
  std::string lines_;
  int values_ = 0;
};

std::string ChainProgram(int n) {
  ProgramText p;
  std::string v = "%x";
  for (int i = 0; i < n; ++i) v = p.Op("ten.add", {v, "%y"});
  return p.Text(v);
}

std::string ChainOfNumbersProgram(int n) {
  ProgramText p;
  std::string v = "%x";
  for (int i = 0; i < n; ++i) v = p.WithNumber(i % 2 == 0 ? "ten.mul" : "ten.add", v, 1.5 + i);
  return p.Text(v);
}

std::string OneKindProgram(int n) {
  ProgramText p;
  std::string v = "%x";
  for (int i = 0; i < n; ++i) v = p.Op("ten.exp", {v});
  return p.Text(v);
}

std::string WideProgram(int n) {
  ProgramText p;
  std::vector<std::string> rows;
  for (int i = 0; i < n; ++i)
    rows.push_back(p.Op("ten.tanh", {p.WithNumber("ten.mul", "%x", 1.5 + i)}));
  const std::string type = fmt::format("tensor<{}x8xf32>", 4 * n);
  return p.Text(p.Op("ten.concat", rows, "axis = 0 : i64", type), type);
}

// One value that all others read.
std::string ManyUsersProgram(int n) {
  ProgramText p;
  const std::string shared = p.Op("ten.sigmoid", {"%x"});
  std::vector<std::string> rows;
  for (int i = 0; i < n; ++i)
    rows.push_back(p.Op("ten.mul", {shared, p.WithNumber("ten.add", "%y", 1.5 + i)}));
  const std::string type = fmt::format("tensor<{}x8xf32>", 4 * n);
  return p.Text(p.Op("ten.concat", rows, "axis = 0 : i64", type), type);
}

std::string NestedProgram(int n) {
  ProgramText p;
  std::string v = "%x", ends;
  for (int i = 0; i < n; ++i) {
    const std::string x = p.Op("ten.erf", {p.WithNumber("ten.div", v, 1.5)});
    p.Add(fmt::format("  %r{} = ctl.if(%c) ({{\n", i));
    ends = fmt::format(
               "  ctl.yield({0}) : ({1}) -> ()\n  }}, {{\n  ctl.yield({2}) : ({1}) -> ()\n"
               "  }}) : (tensor<i1>) -> {1}\n",
               i + 1 == n ? x : fmt::format("%r{}", i + 1), kSmallType, v) +
           ends;
    v = x;
  }
  p.Add(ends);
  return p.Text("%r0");
}

// LayersProgram as exporters write them, with a division in the place of the scale's product and a
// norm whose sum is of another axis, so that rules nearly match.
std::string LayersProgram(int n) {
  constexpr std::string_view kX = "tensor<1x4x16xf32>", kHeads = "tensor<1x2x4x8xf32>",
                             kScores = "tensor<1x2x4x4xf32>", kSplit = "tensor<1x4x2x8xf32>",
                             kOne = "tensor<1x4x1xf32>", kRow = "tensor<16xf32>",
                             kWeights = "tensor<16x16xf32>";
  ProgramText p;
  const auto linear = [&](const std::string& v) {
    const std::string w =
        p.Op("core.constant", {}, "value = dense<1.25e-01> : tensor<16x16xf32>", kWeights);
    const std::string b =
        p.Op("core.constant", {}, "value = dense<5.0e-01> : tensor<16xf32>", kRow);
    return p.Op("ten.add", {p.Op("ten.matmul", {v, w}, "", kX, {kX, kWeights}), b}, "", kX,
                {kX, kRow});
  };
  const auto heads = [&](const std::string& v) {
    const std::string split =
        p.Op("ten.reshape", {linear(v)}, "shape = #core.dims<1, 4, 2, 8>", kSplit, {kX});
    return p.Op("ten.transpose", {split}, "perm = array<i64: 0, 2, 1, 3>", kHeads, {kSplit});
  };
  const auto norm = [&](const std::string& v) {
    const std::string mean = p.Op("ten.reduce_mean", {v}, "axes = array<i64: 2>", kOne, {kX});
    const std::string d = p.Op("ten.sub", {v, mean}, "", kX, {kX, kOne});
    const std::string square = p.Op("ten.mul", {d, v}, "", kX, {kX, kX});
    const std::string sum = p.Op("ten.reduce_mean", {square}, "axes = array<i64: 2>", kOne, {kX});
    const std::string eps = p.Op("ten.add", {sum, p.Number(1e-5)}, "", kOne, {kOne, "tensor<f32>"});
    return p.Op("ten.div", {d, p.Op("ten.sqrt", {eps}, "", kOne, {kOne})}, "", kX, {kX, kOne});
  };
  std::string v =
      p.Op("ten.reshape", {p.Op("ten.concat", {"%x", "%y"}, "axis = 0 : i64", "tensor<8x8xf32>")},
           "shape = #core.dims<1, 4, 16>", kX, {"tensor<8x8xf32>"});
  for (int i = 0; i < n; ++i) {
    const std::string q = heads(v), k = heads(v), values = heads(v);
    const std::string product =
        p.Op("ten.matmul", {q, k}, "transpose_b = true", kScores, {kHeads, kHeads});
    const std::string scores =
        p.Op("ten.div", {product, p.Number(2.5)}, "", kScores, {kScores, "tensor<f32>"});
    const std::string weights = p.Op("nn.softmax", {scores}, "axis = 2 : i64", kScores, {kScores});
    const std::string mixed = p.Op("ten.matmul", {weights, values}, "", kHeads, {kScores, kHeads});
    const std::string joined =
        p.Op("ten.transpose", {mixed}, "perm = array<i64: 0, 2, 1, 3>", kSplit, {kHeads});
    const std::string merged =
        p.Op("ten.reshape", {joined}, "shape = #core.dims<1, 4, 16>", kX, {kSplit});
    v = norm(p.Op("ten.add", {v, linear(merged)}, "", kX, {kX, kX}));
    const std::string up = linear(v);
    const std::string erf =
        p.Op("ten.erf", {p.Op("ten.div", {up, p.Number(1.5)}, "", kX, {kX, "tensor<f32>"})}, "", kX,
             {kX});
    v = norm(p.Op("ten.add", {v, p.Op("ten.mul", {up, erf}, "", kX, {kX, kX})}, "", kX, {kX, kX}));
  }
  return p.Text(v, kX);
}

struct ScalingShape {
  const char* name;
  std::function<std::string(int)> text;
  int small;
  int times;  // as large is the larger program
  // Of the smaller program, for each operation, over all rules and passes: a fifth more than it
  // takes. A rule that needs more than that is worth a look.
  int64_t most_steps;
};

struct Recorded {
  int64_t steps = 0;
  std::string report;
};

// -O2 with all near misses recorded, or only those that reports tell.
Recorded Record(const std::string& text, bool only_near) {
  Context context;
  RegisterAllDialects(context);
  context.diagnostics().SetHandler(nullptr);
  absl::StatusOr<OwnedOp> module = ParseModule(context, text);
  EXPECT_TRUE(module.ok()) << module.status() << text;
  PassRegistry registry;
  EXPECT_TRUE(RegisterAllPasses(registry).ok());
  PassManager manager(registry);
  EXPECT_TRUE(manager.AddPipeline("O2").ok());
  RuleLog log;
  log.wanted = [](std::string_view) { return true; };
  log.only_near = only_near;
  PassContext services;
  services.rule_log = &log;
  const absl::Status status = manager.Run(module->get(), services).status();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_NE(FusionReportText(log), "");
  return {log.steps, FusionReportJson(log)};
}

int64_t StepsOfReport(const std::string& text) { return Record(text, false).steps; }

constexpr int kMostUnderSanitizers = 100;  // operations of the smaller program, or layers

class ExplainScaling : public ::testing::TestWithParam<ScalingShape> {};

TEST_P(ExplainScaling, IsNearlyLinear) {
  const ScalingShape& shape = GetParam();
  if (kUnderSanitizers && shape.small > kMostUnderSanitizers)
    GTEST_SKIP() << "takes sanitized builds minutes, and builds without sanitizers run it";
  const int64_t small = StepsOfReport(shape.text(shape.small));
  EXPECT_GT(small, 0);
  // Sanitized builds count the same steps, and the smaller program shows mistakes of memory.
  if (kUnderSanitizers) return;
  const int64_t large = StepsOfReport(shape.text(shape.times * shape.small));
  // A tenth more leaves room for a logarithm.
  EXPECT_LT(static_cast<double>(large), 1.1 * shape.times * static_cast<double>(small))
      << small << " steps, then " << large;
}

// A report that leaves out what it does not tell is the same report, for much less work.
TEST_P(ExplainScaling, NearMissesAloneAreTheSameAndCheap) {
  const ScalingShape& shape = GetParam();
  if (shape.small > kMostUnderSanitizers) GTEST_SKIP() << "what is told is cut off";
  const std::string text = shape.text(shape.small);
  const Recorded all = Record(text, false), near = Record(text, true);
  EXPECT_EQ(all.report, near.report);
  int64_t operations = 0;
  for (size_t at = 0; (at = text.find(" = ten.", at)) != std::string::npos; ++at) ++operations;
  EXPECT_LT(near.steps, shape.most_steps * operations)
      << operations << " operations, " << near.steps / operations << " steps each, " << all.steps
      << " steps for all";
  EXPECT_LT(near.steps, all.steps);
}

// More than 400 of one kind, as no search for a range goes further.
INSTANTIATE_TEST_SUITE_P(
    Shapes, ExplainScaling,
    ::testing::Values(ScalingShape{"Chain", ChainProgram, 50, 4, 26000},
                      ScalingShape{"ChainOfNumbers", ChainOfNumbersProgram, 30, 4, 30000},
                      ScalingShape{"OneKind", OneKindProgram, 2000, 2, 0},
                      ScalingShape{"Wide", WideProgram, 25, 4, 10000},
                      ScalingShape{"ManyUsers", ManyUsersProgram, 25, 4, 17000},
                      ScalingShape{"Nested", NestedProgram, 12, 4, 5000},
                      ScalingShape{"Layers", LayersProgram, 3, 4, 9500}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tenon
