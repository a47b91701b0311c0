// Loops: what they compute, and that a run with shapes seen before allocates nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/executor/counting_allocator.h"
#include "tests/executor/run_util.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Case {
  std::vector<Tensor> inputs, expected;
};

Tensor Integer(int64_t value) { return MakeTensor<int64_t>(DType::kI64, {}, {value}); }

// Runs the cases by turns, in rounds; the last rounds are counted.
void ExpectRuns(const Program& program, const std::vector<Case>& cases) {
  constexpr int kRounds = 5;
  Session session = program.NewSession();
  std::vector<std::vector<kernels::TensorView>> from(cases.size()), to(cases.size());
  std::vector<Tensor> memory;
  for (size_t i = 0; i < cases.size(); ++i) {
    for (const Tensor& input : cases[i].inputs) from[i].push_back(input.view());
    for (const Tensor& result : cases[i].expected)
      memory.push_back(Tensor::Make(result.dtype(), result.shape()));
  }
  size_t at = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    for (size_t r = 0; r < cases[i].expected.size(); ++r) to[i].push_back(memory[at++].view());
  }
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < cases.size(); ++i) {
      for (const kernels::TensorView& result : to[i])
        std::memset(result.data, 0xff, static_cast<size_t>(result.bytes()));
#ifdef TENON_COUNTS_ALLOCATIONS
      constexpr int kPrepared = 2;
      std::optional<allocations::Count> count;
      if (round >= kPrepared) count.emplace();
#endif
      const absl::Status status = session.Run(from[i], to[i]);
#ifdef TENON_COUNTS_ALLOCATIONS
      if (count) {
        count->Stop();
        EXPECT_EQ(count->ours(), 0) << "allocations in round " << round << ", case " << i;
      }
#endif
      ASSERT_TRUE(status.ok()) << status;
      for (size_t r = 0; r < to[i].size(); ++r) {
        const Tensor& expected = cases[i].expected[r];
        EXPECT_EQ(
            std::memcmp(to[i][r].data, expected.data(), static_cast<size_t>(to[i][r].bytes())), 0)
            << "case " << i << ", result " << r;
      }
    }
  }
}

void ExpectRuns(const std::string& text, const std::vector<Case>& cases) {
  for (const bool reference : {true, false}) {
    CompileTextOptions how;
    how.check_memory = true;
    absl::StatusOr<Program> program = CompileText(text, reference, nullptr, 1, nullptr, how);
    ASSERT_TRUE(program.ok()) << program.status();
    ExpectRuns(*program, cases);
    // Results that are allocated are the same.
    for (const Case& one : cases) {
      auto results = program->Run(one.inputs);
      ASSERT_TRUE(results.ok()) << results.status();
      for (size_t r = 0; r < results->size(); ++r) {
        ASSERT_EQ(ShapeOf((*results)[r]), ShapeOf(one.expected[r]));
        EXPECT_EQ(
            std::memcmp((*results)[r].data(), one.expected[r].data(), one.expected[r].num_bytes()),
            0);
      }
    }
  }
}

constexpr char kBounds[] = R"ir(
  %zero = core.constant() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
  %one = core.constant() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
)ir";

// Two values change places, a third is handed on, a fourth is the counter.
TEST(Loops, CarriedValuesThatAreHandedOn) {
  const std::string two = "tensor<?xf32, [\"N\"]>";
  const std::string all = two + ", " + two + ", " + two + ", tensor<i64>";
  std::string body = kBounds;
  body += "%r:4 = ctl.for(%zero, %n, %one, %a, %b, %a, %n) ({\n^bb0(%i: tensor<i64>, %x: " + two +
          ", %y: " + two + ", %z: " + two +
          ", %last: tensor<i64>):\n"
          "  %s = ten.add(%x, %y) : (" +
          two + ", " + two + ") -> " + two + "\n  ctl.yield(%y, %s, %z, %i) : (" + all +
          ") -> ()\n}) : (tensor<i64>, tensor<i64>, tensor<i64>, " + all + ") -> (" + all +
          ")\nfunc.return(%r#0, %r#1, %r#2, %r#3) : (" + all + ") -> ()\n";
  const std::string text =
      Function("%n: tensor<i64>, %a: " + two + ", %b: " + two,
               "(tensor<i64>, " + two + ", " + two + ") -> (" + all + ")", body);
  const Tensor a = Floats({2}, {0, 1}), b = Floats({2}, {1, 2});
  const Tensor c = Floats({1}, {3}), d = Floats({1}, {4});
  ExpectRuns(text,
             {
                 {{Integer(0), a, b}, {a, b, a, Integer(0)}},
                 {{Integer(1), a, b}, {b, Floats({2}, {1, 3}), a, Integer(0)}},
                 {{Integer(6), a, b}, {Floats({2}, {8, 21}), Floats({2}, {13, 34}), a, Integer(5)}},
                 {{Integer(2), c, d}, {Floats({1}, {7}), Floats({1}, {11}), c, Integer(1)}},
                 {{Integer(-3), c, d}, {c, d, c, Integer(-3)}},
             });
}

TEST(Loops, ValuesThatChangePlacesOnly) {
  const std::string types = "tensor<2xf32>, tensor<2xf32>, tensor<2xf32>";
  const std::string text =
      Function("%n: tensor<i64>, %a: tensor<2xf32>",
               "(tensor<i64>, tensor<2xf32>) -> (" + types + ")", std::string(kBounds) + R"ir(
  %w = core.constant() <{value = dense<[5.0, 6.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
  %b = ten.neg(%a) : (tensor<2xf32>) -> tensor<2xf32>
  %r:3 = ctl.for(%zero, %n, %one, %a, %b, %w) ({
  ^bb0(%i: tensor<i64>, %x: tensor<2xf32>, %y: tensor<2xf32>, %z: tensor<2xf32>):
    ctl.yield(%y, %z, %x) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> ()
  }) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
  func.return(%r#0, %r#1, %r#2) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> ()
)ir");
  const Tensor a = Floats({2}, {1, 2}), b = Floats({2}, {-1, -2}), w = Floats({2}, {5, 6});
  ExpectRuns(text, {{{Integer(0), a}, {a, b, w}},
                    {{Integer(1), a}, {b, w, a}},
                    {{Integer(2), a}, {w, a, b}},
                    {{Integer(7), a}, {b, w, a}}});
}

// Along several axes, and backwards; one shows what is carried, one the counter, one a value from
// around the loop.
TEST(Loops, StackedResults) {
  const std::string results =
      "tensor<2xf32>, tensor<3x2xf32>, tensor<2x3xf32>, tensor<3xi64>, tensor<3x2xf32>";
  const std::string text = Function("%a: tensor<2xf32>", "(tensor<2xf32>) -> (" + results + ")",
                                    std::string(kBounds) + R"ir(
  %three = core.constant() <{value = dense<3> : tensor<i64>}> : () -> tensor<i64>
  %r:5 = ctl.for(%zero, %three, %one, %a) <{scan_axes = array<i64: 0, 1, 0, 0>, scan_reverse = array<i64: 0, 0, 1, 0>}> ({
  ^bb0(%i: tensor<i64>, %x: tensor<2xf32>):
    %0 = ten.add(%x, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %1 = ten.neg(%0) : (tensor<2xf32>) -> tensor<2xf32>
    ctl.yield(%0, %0, %1, %i, %a) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<i64>, tensor<2xf32>) -> ()
  }) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<2xf32>) -> ()ir" +
                                        results + R"ir()
  func.return(%r#0, %r#1, %r#2, %r#3, %r#4) : ()ir" +
                                        results + ") -> ()\n");
  ExpectRuns(text, {{{Floats({2}, {1, 10})},
                     {Floats({2}, {4, 40}), Floats({3, 2}, {2, 20, 3, 30, 4, 40}),
                      Floats({2, 3}, {-2, -3, -4, -20, -30, -40}), Ints({3}, {2, 1, 0}),
                      Floats({3, 2}, {1, 10, 1, 10, 1, 10})}}});
}

// While the sum is below a bound: one branch doubles, the other adds in a loop of its own.
TEST(Loops, NestedInEachOther) {
  const std::string text = Function("%bound: tensor<i64>, %a: tensor<i64>",
                                    "(tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)",
                                    std::string(kBounds) + R"ir(
  %two = core.constant() <{value = dense<2> : tensor<i64>}> : () -> tensor<i64>
  %four = core.constant() <{value = dense<4> : tensor<i64>}> : () -> tensor<i64>
  %r:2 = ctl.while(%a, %zero) ({
  ^bb0(%x: tensor<i64>, %k: tensor<i64>):
    %c = ten.less(%x, %bound) : (tensor<i64>, tensor<i64>) -> tensor<i1>
    ctl.condition(%c, %x, %k) : (tensor<i1>, tensor<i64>, tensor<i64>) -> ()
  }, {
  ^bb0(%x: tensor<i64>, %k: tensor<i64>):
    %c = ten.less(%k, %two) : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %y = ctl.if(%c) ({
      %d = ten.mul(%x, %two) : (tensor<i64>, tensor<i64>) -> tensor<i64>
      ctl.yield(%d) : (tensor<i64>) -> ()
    }, {
      %s = ctl.for(%zero, %four, %one, %x) ({
      ^bb0(%i: tensor<i64>, %z: tensor<i64>):
        %e = ten.add(%z, %i) : (tensor<i64>, tensor<i64>) -> tensor<i64>
        ctl.yield(%e) : (tensor<i64>) -> ()
      }) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<i64>
      ctl.yield(%s) : (tensor<i64>) -> ()
    }) : (tensor<i1>) -> tensor<i64>
    %next = ten.add(%k, %one) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    ctl.yield(%y, %next) : (tensor<i64>, tensor<i64>) -> ()
  }) : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
  func.return(%r#0, %r#1) : (tensor<i64>, tensor<i64>) -> ()
)ir");
  ExpectRuns(text, {{{Integer(0), Integer(3)}, {Integer(3), Integer(0)}},
                    {{Integer(4), Integer(3)}, {Integer(6), Integer(1)}},
                    {{Integer(30), Integer(3)}, {Integer(30), Integer(5)}}});
}

// The value that grows is not read behind the loop: nothing depends on how long it became. The loop
// goes through more shapes than a function keeps.
TEST(Loops, ValuesThatGrow) {
  const std::string text =
      Function("%n: tensor<i64>, %a: tensor<?xf32, [\"N\"]>",
               "(tensor<i64>, tensor<?xf32, [\"N\"]>) -> tensor<f32>", std::string(kBounds) + R"ir(
  %start = core.constant() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %r:2 = ctl.for(%zero, %n, %one, %a, %start) ({
  ^bb0(%i: tensor<i64>, %x: tensor<?xf32, ["own"]>, %s: tensor<f32>):
    %0 = ten.concat(%x, %a) <{axis = 0 : i64}> : (tensor<?xf32, ["own"]>, tensor<?xf32, ["N"]>) -> tensor<?xf32, ["own + N"]>
    %1 = ten.reduce_sum(%0) <{axes = array<i64: 0>, keepdims = false}> : (tensor<?xf32, ["own + N"]>) -> tensor<f32>
    ctl.yield(%0, %1) : (tensor<?xf32, ["own + N"]>, tensor<f32>) -> ()
  }) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<?xf32, ["N"]>, tensor<f32>) -> (tensor<?xf32, ["M"]>, tensor<f32>)
  func.return(%r#1) : (tensor<f32>) -> ()
)ir");
  const Tensor a = Floats({2}, {1, 2}), b = Floats({3}, {1, 1, 1});
  ExpectRuns(text, {{{Integer(0), a}, {Floats({}, {0})}},
                    {{Integer(3), a}, {Floats({}, {12})}},
                    {{Integer(60), b}, {Floats({}, {183})}},
                    {{Integer(40), a}, {Floats({}, {123})}}});
}

// How long it became is known after the run only: the program around allocates.
TEST(Loops, ResultsOfUnknownExtents) {
  const std::string text =
      Function("%n: tensor<i64>, %a: tensor<1xf32>",
               "(tensor<i64>, tensor<1xf32>) -> (tensor<?xf32, [\"M\"]>, tensor<?xi64, [\"K\"]>)",
               std::string(kBounds) + R"ir(
  %r:2 = ctl.for(%zero, %n, %one, %a) <{scan_axes = array<i64: 0>}> ({
  ^bb0(%i: tensor<i64>, %x: tensor<?xf32, ["own"]>):
    %0 = ten.concat(%x, %a) <{axis = 0 : i64}> : (tensor<?xf32, ["own"]>, tensor<1xf32>) -> tensor<?xf32, ["own + 1"]>
    ctl.yield(%0, %i) : (tensor<?xf32, ["own + 1"]>, tensor<i64>) -> ()
  }) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<1xf32>) -> (tensor<?xf32, ["M"]>, tensor<?xi64, ["K"]>)
  func.return(%r#0, %r#1) : (tensor<?xf32, ["M"]>, tensor<?xi64, ["K"]>) -> ()
)ir");
  absl::StatusOr<Program> program = CompileText(text);
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<std::vector<Tensor>> kept;
  Session session = program->NewSession();
  for (const int64_t n : {3, 0, 3, 1}) {
    auto results = session.Run(std::vector<Tensor>{Integer(n), Floats({1}, {2})});
    ASSERT_TRUE(results.ok()) << results.status();
    kept.push_back(*std::move(results));
  }
  // Later runs do not write over what earlier ones returned.
  EXPECT_THAT(ValuesOf<float>(kept[0][0]), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(ValuesOf<int64_t>(kept[0][1]), ElementsAre(0, 1, 2));
  EXPECT_THAT(ValuesOf<float>(kept[1][0]), ElementsAre(2));
  EXPECT_THAT(ShapeOf(kept[1][1]), ElementsAre(0));
  EXPECT_THAT(ValuesOf<float>(kept[3][0]), ElementsAre(2, 2));
}

// Bounds at the ends of the integers, and steps that do not meet them.
TEST(Loops, NumbersOfRuns) {
  const std::string text =
      Function("%from: tensor<i64>, %to: tensor<i64>, %by: tensor<i64>",
               "(tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)",
               std::string(kBounds) + R"ir(
  %r:2 = ctl.for(%from, %to, %by, %zero, %zero) ({
  ^bb0(%i: tensor<i64>, %runs: tensor<i64>, %last: tensor<i64>):
    %0 = ten.add(%runs, %one) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    ctl.yield(%0, %i) : (tensor<i64>, tensor<i64>) -> ()
  }) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
  func.return(%r#0, %r#1) : (tensor<i64>, tensor<i64>) -> ()
)ir");
  const Tensor max = Integer(INT64_MAX), min = Integer(INT64_MIN);
  ExpectRuns(text,
             {{{Integer(1), Integer(8), Integer(3)}, {Integer(3), Integer(7)}},
              {{Integer(1), Integer(7), Integer(3)}, {Integer(2), Integer(4)}},
              {{Integer(7), Integer(1), Integer(-3)}, {Integer(2), Integer(4)}},
              {{Integer(1), Integer(7), Integer(-3)}, {Integer(0), Integer(0)}},
              {{Integer(INT64_MAX - 2), max, Integer(2)}, {Integer(1), Integer(INT64_MAX - 2)}},
              {{min, max, max}, {Integer(3), Integer(INT64_MAX - 1)}},
              {{max, min, min}, {Integer(2), Integer(-1)}}});
}

// A failed run leaves nothing behind that changes the next.
TEST(Loops, RunsAfterOneThatFailed) {
  const std::string text = Function("%n: tensor<i64>, %a: tensor<?xf32, [\"N\"]>",
                                    "(tensor<i64>, tensor<?xf32, [\"N\"]>) -> tensor<2xf32>",
                                    std::string(kBounds) + R"ir(
  %r = ctl.for(%zero, %n, %one, %a) ({
  ^bb0(%i: tensor<i64>, %x: tensor<?xf32, ["own"]>):
    %0 = ten.concat(%x, %x) <{axis = 0 : i64}> : (tensor<?xf32, ["own"]>, tensor<?xf32, ["own"]>) -> tensor<?xf32, ["2*own"]>
    ctl.yield(%0) : (tensor<?xf32, ["2*own"]>) -> ()
  }) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<?xf32, ["N"]>) -> tensor<?xf32, ["M"]>
  %z = ten.reshape(%r) <{shape = #core.dims<2>}> : (tensor<?xf32, ["M"]>) -> tensor<2xf32>
  func.return(%z) : (tensor<2xf32>) -> ()
)ir");
  absl::StatusOr<Program> program = CompileText(text);
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  for (int round = 0; round < 3; ++round) {
    const auto wrong = session.Run(std::vector<Tensor>{Integer(3), Floats({1}, {7})});
    EXPECT_FALSE(wrong.ok());
    const auto right = session.Run(std::vector<Tensor>{Integer(1), Floats({1}, {7})});
    ASSERT_TRUE(right.ok()) << right.status();
    EXPECT_THAT(ValuesOf<float>((*right)[0]), ElementsAre(7, 7));
  }
}

TEST(Loops, SessionsBesideEachOther) {
  const std::string text = Function(
      "%n: tensor<i64>, %a: tensor<2xf32>",
      "(tensor<i64>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)", std::string(kBounds) + R"ir(
  %r:2 = ctl.for(%zero, %n, %one, %a, %a) ({
  ^bb0(%i: tensor<i64>, %x: tensor<2xf32>, %y: tensor<2xf32>):
    %0 = ten.add(%x, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    ctl.yield(%0, %x) : (tensor<2xf32>, tensor<2xf32>) -> ()
  }) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  func.return(%r#0, %r#1) : (tensor<2xf32>, tensor<2xf32>) -> ()
)ir");
  absl::StatusOr<Program> program = CompileText(text, /*reference=*/false);
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t n = 1; n < 50; ++n) {
        const auto base = static_cast<float>(t + 1), runs = static_cast<float>(n);
        const auto results = program->Run(std::vector<Tensor>{Integer(n), Floats({2}, {base, 1})});
        const bool right = results.ok() && ValuesOf<float>((*results)[0])[0] == base * (runs + 1) &&
                           ValuesOf<float>((*results)[1])[0] == base * runs;
        if (!right) ++wrong[static_cast<size_t>(t)];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
}

// What follows from the shapes of an iteration is known before it runs, here numbers of 0.6 MB. Of
// so many shapes a session does not keep it.
TEST(Loops, WhatIsKnownForShapesIsBounded) {
  const std::string type = "tensor<?xi64, [\"own + N\"]>";
  std::string sums;
  for (int i = 1; i <= 10; ++i) {
    sums += "%p" + std::to_string(i) + " = ten.add(%p" + std::to_string(i - 1) + ", %p0) : (" +
            type + ", " + type + ") -> " + type + "\n";
  }
  absl::StatusOr<Program> program = CompileText(
      Function("%n: tensor<i64>, %a: tensor<?xf32, [\"N\"]>, %first: tensor<?xf32, [\"F\"]>",
               "(tensor<i64>, tensor<?xf32, [\"N\"]>, tensor<?xf32, [\"F\"]>) -> tensor<i64>",
               std::string(kBounds) + R"ir(
  %r:2 = ctl.for(%zero, %n, %one, %first, %zero) ({
  ^bb0(%i: tensor<i64>, %x: tensor<?xf32, ["own"]>, %s: tensor<i64>):
    %0 = ten.concat(%x, %a) <{axis = 0 : i64}> : (tensor<?xf32, ["own"]>, tensor<?xf32, ["N"]>) -> tensor<?xf32, ["own + N"]>
    %len1 = core.dims() <{dims = #core.dims<"own + N">}> : () -> tensor<1xi64>
    %len = ten.reshape(%len1) <{shape = #core.dims<>}> : (tensor<1xi64>) -> tensor<i64>
    %p0 = ten.range(%zero, %len, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> )ir" +
                   type + "\n" + sums + R"ir(
    %1 = ten.reduce_max(%p10) <{axes = array<i64: 0>, keepdims = false}> : ()ir" +
                   type + R"ir() -> tensor<i64>
    ctl.yield(%0, %1) : (tensor<?xf32, ["own + N"]>, tensor<i64>) -> ()
  }) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<?xf32, ["F"]>, tensor<i64>) -> (tensor<?xf32, ["M"]>, tensor<i64>)
  func.return(%r#1) : (tensor<i64>) -> ()
)ir"),
      false);
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  const auto prepared_by = [&](int64_t n) {
    const int64_t before = session.stats().shapes_prepared;
    auto out = session.Run(std::vector<Tensor>{Integer(n), Floats({1}, {1}),
                                               Floats({7000}, std::vector<float>(7000))});
    EXPECT_TRUE(out.ok()) << out.status();
    EXPECT_THAT(ValuesOf<int64_t>(out->front()), ElementsAre(11 * (7000 + n - 1)));
    return session.stats().shapes_prepared - before;
  };
  prepared_by(40);
  EXPECT_EQ(prepared_by(40), 0);
  prepared_by(200);
  EXPECT_GT(prepared_by(200), 0);
}

}  // namespace
}  // namespace tenon
