// Concatenations, splits and slices that need no copies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "fmt/format.h"
#include "tests/executor/run_util.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kJoin[] = R"ir(
  %0 = ten.neg(%a) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = ten.abs(%a) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = ten.concat(%0, %a, %1) <{axis = 0 : i64}> : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<6x8xf32>
  %3 = ten.exp(%2) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  func.return(%3) : (tensor<6x8xf32>) -> ()
)ir";

std::string JoinFunction() {
  return Function("%a: tensor<2x8xf32>", "(tensor<2x8xf32>) -> tensor<6x8xf32>", kJoin);
}

TEST(Parts, OperandsOfAConcatenationLieInItsResult) {
  std::string lowered;
  const absl::StatusOr<Program> program = CompileText(JoinFunction(), true, &lowered);
  ASSERT_TRUE(program.ok()) << program.status();
  // The argument is the caller's: it is copied.
  EXPECT_THAT(lowered, HasSubstr("kernel.joined = array<i64: 0, 2>"));
  const Tensor a = Ramp({2, 8});
  const absl::StatusOr<std::vector<Tensor>> out = program->Run({{a}});
  ASSERT_TRUE(out.ok()) << out.status();
  for (int64_t i = 0; i < 16; ++i) {
    const float x = a.as<float>()[i];
    EXPECT_FLOAT_EQ((*out)[0].as<float>()[i], std::exp(-x));
    EXPECT_FLOAT_EQ((*out)[0].as<float>()[16 + i], std::exp(x));
    EXPECT_FLOAT_EQ((*out)[0].as<float>()[32 + i], std::exp(std::abs(x)));
  }
}

TEST(Parts, NotAlongAnInnerAxis) {
  std::string lowered;
  const std::string text =
      Function("%a: tensor<2x8xf32>", "(tensor<2x8xf32>) -> tensor<2x16xf32>", R"ir(
  %0 = ten.neg(%a) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = ten.concat(%0, %0) <{axis = 1 : i64}> : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x16xf32>
  %2 = ten.exp(%1) : (tensor<2x16xf32>) -> tensor<2x16xf32>
  func.return(%2) : (tensor<2x16xf32>) -> ()
)ir");
  ASSERT_TRUE(CompileText(text, true, &lowered).ok());
  EXPECT_THAT(lowered, Not(HasSubstr("kernel.joined = array")));
}

TEST(Parts, CutsAreViewsOfWhatIsCut) {
  std::string lowered;
  const std::string text =
      Function("%a: tensor<1x?x8xf32, [\"\", \"S\", \"\"]>",
               "(tensor<1x?x8xf32, [\"\", \"S\", \"\"]>) -> tensor<1x1x8xf32>", R"ir(
  %0 = ten.neg(%a) : (tensor<1x?x8xf32, ["", "S", ""]>) -> tensor<1x?x8xf32, ["", "S", ""]>
  %1 = ten.slice(%0) <{axes = array<i64: 1>, ends = #core.dims<"S">, starts = #core.dims<"S - 1">, steps = array<i64: 1>}> : (tensor<1x?x8xf32, ["", "S", ""]>) -> tensor<1x1x8xf32>
  %2 = ten.exp(%1) : (tensor<1x1x8xf32>) -> tensor<1x1x8xf32>
  func.return(%2) : (tensor<1x1x8xf32>) -> ()
)ir");
  const absl::StatusOr<Program> program = CompileText(text, true, &lowered);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_THAT(lowered, HasSubstr("kernel.parts = true"));
  for (int64_t rows : {3, 5, 1}) {
    const Tensor a = Ramp({1, rows, 8});
    const absl::StatusOr<std::vector<Tensor>> out = program->Run({{a}});
    ASSERT_TRUE(out.ok()) << out.status();
    for (int64_t i = 0; i < 8; ++i) {
      EXPECT_FLOAT_EQ((*out)[0].as<float>()[i], std::exp(-a.as<float>()[(rows - 1) * 8 + i]));
    }
  }
}

// What a text says may be wrong.
TEST(Parts, WrongDecisionsAreErrors) {
  std::string lowered;
  ASSERT_TRUE(CompileText(JoinFunction(), true, &lowered).ok());
  const auto compile = [&](std::string_view from, std::string_view to) {
    std::string text = lowered;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << text;
    text.replace(at, from.size(), to);
    std::shared_ptr<Context> context = NewTestContext();
    absl::StatusOr<OwnedOp> module = ParseModule(*context, text);
    EXPECT_TRUE(module.ok()) << module.status();
    ProgramOptions options;
    options.context = context;
    return Program::Compile((*module)->region().front().front(), options).status();
  };
  EXPECT_THAT(
      compile("kernel.joined = array<i64: 0, 2>", "kernel.joined = array<i64: 0, 1>").message(),
      HasSubstr("operand 1 cannot be a part of the result"));
  EXPECT_THAT(
      compile("kernel.joined = array<i64: 0, 2>", "kernel.joined = array<i64: 0, 0>").message(),
      HasSubstr("operand 0 cannot be a part of the result"));
  EXPECT_THAT(
      compile("kernel.joined = array<i64: 0, 2>", "kernel.joined = array<i64: 7>").message(),
      HasSubstr("operand 7 cannot be a part of the result"));
  EXPECT_THAT(compile("kernel.joined = array<i64: 0, 2>",
                      "kernel.joined = array<i64: 0, 2>, kernel.parts = true")
                  .message(),
              HasSubstr("not parts of a buffer"));
}

// A random program over rows of 8 floats; returns a few of its values.
std::string RandomProgram(unsigned seed) {
  std::mt19937 random(seed);
  std::string body, types, names;
  std::vector<int> rows = {4};  // by value; value 0 is the argument
  const auto type = [](int n) { return fmt::format("tensor<{}x8xf32>", n); };
  const auto pick = [&] { return static_cast<int>(random() % rows.size()); };
  const auto name = [](int v) { return v == 0 ? std::string("%a") : fmt::format("%v{}", v); };
  for (int step = 0; step < 14; ++step) {
    // Mostly young values, so that older ones die.
    const int last = static_cast<int>(rows.size()) - 1;
    const int x = random() % 3 == 0 ? pick() : std::max(0, last - static_cast<int>(random() % 3));
    const int next = last + 1;
    switch (random() % 6) {
      case 0:
      case 1:
        body +=
            fmt::format("  {} = ten.{}({}) : ({}) -> {}\n", name(next),
                        random() % 2 == 0 ? "neg" : "abs", name(x), type(rows[x]), type(rows[x]));
        rows.push_back(rows[x]);
        break;
      case 2: {
        int y = pick();
        if (rows[y] != rows[x]) y = x;
        body += fmt::format("  {} = ten.add({}, {}) : ({}, {}) -> {}\n", name(next), name(x),
                            name(y), type(rows[x]), type(rows[x]), type(rows[x]));
        rows.push_back(rows[x]);
        break;
      }
      case 3: {
        const int y = pick();
        const int sum = rows[x] + rows[y];
        if (sum > 40) break;
        body += fmt::format("  {} = ten.concat({}, {}) <{{axis = 0 : i64}}> : ({}, {}) -> {}\n",
                            name(next), name(x), name(y), type(rows[x]), type(rows[y]), type(sum));
        rows.push_back(sum);
        break;
      }
      case 4: {
        if (rows[x] < 2) break;
        const int cut = 1 + static_cast<int>(random() % static_cast<unsigned>(rows[x] - 1));
        body += fmt::format(
            "  {}, {} = ten.split({}) <{{axis = 0 : i64, sizes = #core.dims<{}, {}>}}> : ({}) -> "
            "({}, {})\n",
            name(next), name(next + 1), name(x), cut, rows[x] - cut, type(rows[x]), type(cut),
            type(rows[x] - cut));
        rows.push_back(cut);
        rows.push_back(rows[x] - cut);
        break;
      }
      default: {
        const int begin = static_cast<int>(random() % static_cast<unsigned>(rows[x]));
        const int n = 1 + static_cast<int>(random() % static_cast<unsigned>(rows[x] - begin));
        body += fmt::format(
            "  {} = ten.slice({}) <{{axes = array<i64: 0>, ends = #core.dims<{}>, starts = "
            "#core.dims<{}>, "
            "steps = array<i64: 1>}}> : ({}) -> {}\n",
            name(next), name(x), begin + n, begin, type(rows[x]), type(n));
        rows.push_back(n);
      }
    }
  }
  for (int i = 0; i < 3; ++i) {
    const int v = static_cast<int>(rows.size()) - 1 - 2 * i;
    if (v < 1) continue;
    names += (names.empty() ? "" : ", ") + name(v);
    types += (types.empty() ? "" : ", ") + type(rows[v]);
  }
  if (names.empty()) {
    names = "%a";
    types = type(4);
  }
  body += fmt::format("  func.return({}) : ({}) -> ()\n", names, types);
  return Function("%a: tensor<4x8xf32>", fmt::format("(tensor<4x8xf32>) -> ({})", types), body);
}

TEST(Parts, RandomProgramsComputeTheSameAsWithoutThem) {
  int joined = 0, cut = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const std::string text = RandomProgram(seed);
    std::string lowered;
    const absl::StatusOr<Program> planned =
        CompileText(text, true, &lowered, 1, nullptr, {.check_memory = true});
    ASSERT_TRUE(planned.ok()) << planned.status() << text;
    const absl::StatusOr<Program> plain = CompileText(
        text, true, nullptr, 1, nullptr, {.pipeline = "lower-to-kernels{reference=true}"});
    ASSERT_TRUE(plain.ok()) << plain.status() << text;
    const Tensor a = Ramp({4, 8});
    const absl::StatusOr<std::vector<Tensor>> x = planned->Run({{a}}), y = plain->Run({{a}});
    ASSERT_TRUE(x.ok()) << x.status();
    ASSERT_TRUE(y.ok()) << y.status();
    for (size_t i = 0; i < x->size(); ++i) {
      EXPECT_EQ(ValuesOf<float>((*x)[i]), ValuesOf<float>((*y)[i])) << seed << lowered;
    }
    joined += lowered.find("kernel.joined = array") != std::string::npos ? 1 : 0;
    cut += lowered.find("kernel.parts = true") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(joined, 50);
  EXPECT_GT(cut, 50);
}

}  // namespace
}  // namespace tenon
