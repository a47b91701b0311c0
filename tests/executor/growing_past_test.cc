// Keys and values that grow where they are, as a decoder's do: the same results as with dense
// tensors that are handed on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "executor/io_binding.h"
#include "tests/executor/run_util.h"

namespace tenon {
namespace {

constexpr int64_t kHeads = 4, kPastHeads = 2, kDim = 8;

// Queries of 4 heads, keys and values of 2, one attention with its past. `more`: what else the
// function computes of the past or the present, and returns.
std::string Decoder(const std::string& more = "", const std::string& value = "",
                    const std::string& type = "") {
  const std::string q = R"(tensor<?x?x32xf32, ["B", "S", ""]>)";
  const std::string kv = R"(tensor<?x?x16xf32, ["B", "S", ""]>)";
  const std::string past = R"(tensor<?x2x?x8xf32, ["B", "", "P", ""]>)";
  const std::string present = R"(tensor<?x2x?x8xf32, ["B", "", "P + S", ""]>)";
  const std::string comma = value.empty() ? "" : ", ";
  const std::string results = q + ", " + present + ", " + present + comma + type;
  return Function(
      "%q: " + q + ", %k: " + kv + ", %v: " + kv + ", %pk: " + past + ", %pv: " + past,
      "(" + q + ", " + kv + ", " + kv + ", " + past + ", " + past + ") -> (" + results + ")",
      R"(
  %0:3 = fused.attention(%q, %k, %v, %pk, %pv) <{causal = true, kv_num_heads = 2 : i64, num_heads = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 1>, scale = 0.5 : f32}> : ()" +
          q + ", " + kv + ", " + kv + ", " + past + ", " + past + ") -> (" + q + ", " + present +
          ", " + present + ")\n" + more + "  func.return(%0#0, %0#1, %0#2" + comma + value +
          ") : (" + results + ") -> ()\n");
}

Program Compiled(const std::string& text, bool reference, int threads) {
  absl::StatusOr<Program> program = CompileText(text, reference, nullptr, threads);
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

Tensor Waves(std::vector<int64_t> shape, int seed) {
  Tensor t = Tensor::Make(DType::kF32, shape);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.as<float>()[i] = std::sin(0.7f * static_cast<float>(i) + static_cast<float>(seed));
  return t;
}

void ExpectClose(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(ShapeOf(actual), ShapeOf(expected));
  for (int64_t i = 0; i < expected.numel(); ++i)
    ASSERT_NEAR(actual.as<float>()[i], expected.as<float>()[i], 1e-5f) << "element " << i;
}

// Does the binding keep room behind the rows of this carried output? Then it gives copies.
bool Grows(const IoBinding& binding, size_t output) {
  const Tensor once = *binding.output(output), again = *binding.output(output);
  return once.data() != again.data();
}

class GrowingPast : public ::testing::TestWithParam<int> {
 protected:
  // What one step adds.
  struct Step {
    Tensor q, k, v;
  };
  static Step NewStep(int64_t batch, int64_t rows, int seed) {
    return {Waves({batch, rows, kHeads * kDim}, seed),
            Waves({batch, rows, kPastHeads * kDim}, seed + 1),
            Waves({batch, rows, kPastHeads * kDim}, seed + 2)};
  }
  static Tensor Past(int64_t batch, int64_t rows, int seed) {
    return Waves({batch, kPastHeads, rows, kDim}, seed);
  }

  // The same step by the binding, and densely by the reference kernels.
  void Run(IoBinding& binding, Session& session, const Step& step) {
    for (size_t i = 0; i < 3; ++i) {
      const Tensor& tensor = i == 0 ? step.q : i == 1 ? step.k : step.v;
      ASSERT_TRUE(binding.BindInput(i, tensor).ok());
    }
    const absl::Status status = session.Run(binding);
    ASSERT_TRUE(status.ok()) << status;
    absl::StatusOr<std::vector<Tensor>> expected =
        reference_.Run(std::vector{step.q, step.k, step.v, keys_, values_});
    ASSERT_TRUE(expected.ok()) << expected.status();
    keys_ = (*expected)[1];
    values_ = (*expected)[2];
    for (size_t i = 0; i < 3; ++i) ExpectClose(*binding.output(i), (*expected)[i]);
    ExpectClose(*binding.input(3), keys_);
  }
  // A sequence begins.
  void Begin(IoBinding& binding, int64_t batch, int64_t rows) {
    keys_ = Past(batch, rows, 1);
    values_ = Past(batch, rows, 2);
    ASSERT_TRUE(binding.BindInput(3, keys_).ok());
    ASSERT_TRUE(binding.BindInput(4, values_).ok());
  }

  // Keys and values are carried.
  IoBinding Carrying() const {
    IoBinding binding(program_);
    EXPECT_TRUE(binding.Carry(1, 3).ok());
    EXPECT_TRUE(binding.Carry(2, 4).ok());
    return binding;
  }

  const Program program_ = Compiled(Decoder(), false, GetParam());
  const Program reference_ = Compiled(Decoder(), true, 1);
  Tensor keys_, values_;
};

TEST_P(GrowingPast, StepByStep) {
  Session session = program_.NewSession();
  IoBinding binding = Carrying();
  Begin(binding, 2, 0);
  // Past the first room, and the one after.
  int64_t rows = 0;
  for (int step = 0; step < 60; ++step) {
    const int64_t added = step == 0 ? 5 : step % 7 == 0 ? 9 : 3;
    rows += added;
    ASSERT_NO_FATAL_FAILURE(Run(binding, session, NewStep(2, added, step))) << "at " << rows;
    EXPECT_TRUE(Grows(binding, 1) && Grows(binding, 2));
  }
  EXPECT_GT(rows, 200);
  // Shorter again, and with other batches, in memory that is there.
  for (const int64_t batch : {3, 1, 2}) {
    Begin(binding, batch, 4);
    const std::vector<float> before = ValuesOf<float>(keys_);
    const Tensor given = keys_;
    for (int step = 0; step < 3; ++step)
      ASSERT_NO_FATAL_FAILURE(Run(binding, session, NewStep(batch, 1, step)));
    EXPECT_EQ(ValuesOf<float>(given), before) << "the caller's tensor was written to";
  }
}

// What the binding gives is the caller's, also after further runs.
TEST_P(GrowingPast, CopiesStay) {
  Session session = program_.NewSession();
  IoBinding binding = Carrying();
  Begin(binding, 1, 3);
  ASSERT_NO_FATAL_FAILURE(Run(binding, session, NewStep(1, 1, 5)));
  const Tensor kept = *binding.output(1);
  const std::vector<float> values = ValuesOf<float>(kept);
  // A search that goes back: the copy is bound as the past of another continuation.
  ASSERT_NO_FATAL_FAILURE(Run(binding, session, NewStep(1, 1, 6)));
  EXPECT_EQ(ValuesOf<float>(kept), values);
  Begin(binding, 1, 3);
  ASSERT_NO_FATAL_FAILURE(Run(binding, session, NewStep(1, 1, 5)));
  ASSERT_TRUE(binding.BindInput(3, kept).ok());
  ASSERT_NO_FATAL_FAILURE(Run(binding, session, NewStep(1, 2, 7)));
  EXPECT_EQ(ValuesOf<float>(kept), values);
}

// One of the two alone; and both until one is not carried any more.
TEST_P(GrowingPast, SomeOfThem) {
  Session session = program_.NewSession();
  IoBinding binding(program_);
  ASSERT_TRUE(binding.Carry(1, 3).ok());
  Begin(binding, 1, 3);
  for (int step = 0; step < 3; ++step) {
    ASSERT_NO_FATAL_FAILURE(Run(binding, session, NewStep(1, 1, step)));
    EXPECT_TRUE(Grows(binding, 1));
    EXPECT_FALSE(Grows(binding, 2));
    ASSERT_TRUE(binding.BindInput(4, values_).ok());
  }
  // No more: the past is read densely.
  const Tensor keys = keys_;
  ASSERT_TRUE(binding.BindOutput(1).ok());
  const Step last = NewStep(1, 1, 9);
  ASSERT_TRUE(binding.BindInput(0, last.q).ok());
  ASSERT_TRUE(session.Run(binding).ok());
  ExpectClose(*binding.input(3), keys);
  absl::StatusOr<std::vector<Tensor>> expected = reference_.Run(
      std::vector{last.q, *binding.input(1), *binding.input(2), keys_, *binding.input(4)});
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (size_t i = 0; i < 2; ++i) ExpectClose(*binding.output(i), (*expected)[i]);
}

// The same session runs others in between, densely.
TEST_P(GrowingPast, BesideOtherRuns) {
  Session session = program_.NewSession();
  IoBinding one(program_), two(program_);
  for (IoBinding* binding : {&one, &two}) {
    ASSERT_TRUE(binding->Carry(1, 3).ok());
    ASSERT_TRUE(binding->Carry(2, 4).ok());
  }
  Begin(one, 1, 2);
  const Tensor keys = keys_, values = values_;
  Begin(two, 1, 2);
  Tensor other_keys = keys_, other_values = values_;
  for (int step = 0; step < 4; ++step) {
    ASSERT_NO_FATAL_FAILURE(Run(one, session, NewStep(1, 1, step)));
    std::swap(keys_, other_keys);
    std::swap(values_, other_values);
    const Step next = NewStep(1, 1, step + 50);
    absl::StatusOr<std::vector<Tensor>> dense =
        session.Run(std::vector{next.q, next.k, next.v, keys_, values_});
    ASSERT_TRUE(dense.ok()) << dense.status();
    ASSERT_NO_FATAL_FAILURE(Run(two, session, next));
    ExpectClose((*dense)[1], keys_);
    std::swap(keys_, other_keys);
    std::swap(values_, other_values);
  }
}

// A run that fails changes nothing that the next one reads.
TEST_P(GrowingPast, AfterACancelledRun) {
  Session session = program_.NewSession();
  IoBinding binding = Carrying();
  Begin(binding, 1, 60);
  for (int step = 0; step < 40; ++step) {  // room for 64 more
    ASSERT_NO_FATAL_FAILURE(Run(binding, session, NewStep(1, 1, step)));
    const Step lost = NewStep(1, step % 2 == 0 ? 1 : 200, 99);
    ASSERT_TRUE(binding.BindInput(0, lost.q).ok());
    ASSERT_TRUE(binding.BindInput(1, lost.k).ok());
    ASSERT_TRUE(binding.BindInput(2, lost.v).ok());
    CancelToken token;
    token.Cancel();
    ASSERT_TRUE(absl::IsCancelled(session.Run(binding, {.cancel = &token})));
    ExpectClose(*binding.output(1), keys_);
  }
}

// Where something else reads the past or the present, tensors stay dense.
TEST_P(GrowingPast, ReadByOthersToo) {
  const std::string past = R"(tensor<?x2x?x8xf32, ["B", "", "P", ""]>)";
  const std::string present = R"(tensor<?x2x?x8xf32, ["B", "", "P + S", ""]>)";
  const struct {
    std::string more, type;
    bool keys_grow, values_grow;
  } cases[] = {
      {"  %1 = ten.neg(%pk) : (" + past + ") -> " + past + "\n", past, false, true},
      {"  %1 = ten.neg(%0#2) : (" + present + ") -> " + present + "\n", present, true, false},
  };
  for (const auto& c : cases) {
    const Program program = Compiled(Decoder(c.more, "%1", c.type), false, GetParam());
    Session session = program.NewSession();
    IoBinding binding(program);
    ASSERT_TRUE(binding.Carry(1, 3).ok());
    ASSERT_TRUE(binding.Carry(2, 4).ok());
    Begin(binding, 1, 2);
    for (int step = 0; step < 3; ++step) {
      ASSERT_NO_FATAL_FAILURE(Run(binding, session, NewStep(1, 1, step)));
      EXPECT_EQ(Grows(binding, 1), c.keys_grow);
      EXPECT_EQ(Grows(binding, 2), c.values_grow);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, GrowingPast, ::testing::Values(1, 4));

// Keys and values that grow in some runs only: with a mask of one column, which hides all keys or
// none, the reference kernel takes over, and it reads dense tensors. `more` as above.
std::string Windowed(const std::string& more = "", const std::string& argument = "",
                     const std::string& value = "", const std::string& type = "") {
  const std::string q = R"(tensor<?x?x16xf32, ["B", "S", ""]>)";
  const std::string past = R"(tensor<?x2x?x8xf32, ["B", "", "P", ""]>)";
  const std::string present = R"(tensor<?x2x?x8xf32, ["B", "", "P + S", ""]>)";
  const std::string mask = R"(tensor<?x?xi1, ["B", "M"]>)";
  const std::string three = q + ", " + present + ", " + present;
  const bool extra = !argument.empty();
  const std::string results = three + (extra ? ", " + type : "");
  return Function("%q: " + q + ", %pk: " + past + ", %pv: " + past + ", %m: " + mask +
                      (extra ? ", %x: " + argument : ""),
                  "(" + q + ", " + past + ", " + past + ", " + mask +
                      (extra ? ", " + argument : "") + ") -> (" + results + ")",
                  R"(
  %0:3 = fused.attention(%q, %q, %q, %m, %pk, %pv) <{causal = true, kv_num_heads = 2 : i64, mask_value = -10.0 : f32, num_heads = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 1, 1>, repeat_first_key = true, scale = 0.5 : f32, window = 4 : i64}> : ()" +
                      q + ", " + q + ", " + q + ", " + mask + ", " + past + ", " + past + ") -> (" +
                      three + ")\n" + more + "  func.return(%0#0, %0#1, %0#2" +
                      (extra ? ", " + value : "") + ") : (" + results + ") -> ()\n");
}

class SometimesGrowing : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(binding_.Carry(1, 1).ok());
    ASSERT_TRUE(binding_.Carry(2, 2).ok());
  }
  void Begin(Tensor keys, Tensor values) {
    keys_ = std::move(keys);
    values_ = std::move(values);
    ASSERT_TRUE(binding_.BindInput(1, keys_).ok());
    ASSERT_TRUE(binding_.BindInput(2, values_).ok());
    // What is compared with is nobody's.
    keys_ = Tensor::Copy(keys_.dtype(), keys_.shape(), keys_.data());
    values_ = Tensor::Copy(values_.dtype(), values_.shape(), values_.data());
  }
  static Tensor Past(int64_t rows, int seed) { return Waves({1, kPastHeads, rows, kDim}, seed); }
  // The inputs of a step of one token; `grow`: of one in which keys and values grow.
  std::vector<Tensor> Inputs(bool grow, int seed) const {
    const int64_t columns = grow ? keys_.shape()[2] + 1 : 1;
    const Tensor mask = Tensor::Make(DType::kBool, std::vector<int64_t>{1, columns});
    std::fill_n(mask.as<uint8_t>(), columns, 1);
    return {Waves({1, 1, kPastHeads * kDim}, seed), keys_, values_, mask};
  }
  void Bind(IoBinding& binding, const std::vector<Tensor>& inputs) const {
    ASSERT_TRUE(binding.BindInput(0, inputs[0]).ok());
    ASSERT_TRUE(binding.BindInput(3, inputs[3]).ok());
  }
  void Run(bool grow, int seed) {
    const std::vector<Tensor> inputs = Inputs(grow, seed);
    ASSERT_NO_FATAL_FAILURE(Bind(binding_, inputs));
    const absl::Status status = session_.Run(binding_);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_NO_FATAL_FAILURE(Compare(binding_, inputs));
    ASSERT_EQ(Grows(binding_, 1), grow);
  }
  void Compare(const IoBinding& binding, const std::vector<Tensor>& inputs) {
    absl::StatusOr<std::vector<Tensor>> expected = reference_.Run(inputs);
    ASSERT_TRUE(expected.ok()) << expected.status();
    for (size_t i = 0; i < 3; ++i) ExpectClose(*binding.output(i), (*expected)[i]);
    keys_ = (*expected)[1];
    values_ = (*expected)[2];
  }

  const Program program_ = Compiled(Windowed(), false, GetParam());
  const Program reference_ = Compiled(Windowed(), true, 1);
  Session session_ = program_.NewSession();
  IoBinding binding_{program_};
  Tensor keys_, values_;
};

TEST_P(SometimesGrowing, ADenseRunAfterAnotherSequence) {
  for (int round = 0; round < 3; ++round) {
    ASSERT_NO_FATAL_FAILURE(Begin(Past(2, 1), Past(2, 2)));
    ASSERT_NO_FATAL_FAILURE(Run(true, 3));
    ASSERT_NO_FATAL_FAILURE(Begin(Past(5, 5), Past(5, 6)));
    for (const bool grow : {false, false, true, false, true, true, false, false})
      ASSERT_NO_FATAL_FAILURE(Run(grow, round));
  }
}

TEST_P(SometimesGrowing, ADenseRunAfterACancelledOne) {
  ASSERT_NO_FATAL_FAILURE(Begin(Past(2, 1), Past(2, 2)));
  ASSERT_NO_FATAL_FAILURE(Bind(binding_, Inputs(true, 3)));
  CancelToken token;
  token.Cancel();
  ASSERT_TRUE(absl::IsCancelled(session_.Run(binding_, {.cancel = &token})));
  ASSERT_NO_FATAL_FAILURE(Begin(Past(5, 5), Past(5, 6)));
  ASSERT_NO_FATAL_FAILURE(Run(false, 4));
  ASSERT_NO_FATAL_FAILURE(Run(true, 5));
}

// Its shapes are known beforehand only where %x has no elements.
TEST_P(SometimesGrowing, ADynamicRunAfterAnotherSequence) {
  const std::string x = R"(tensor<?xf32, ["X"]>)", found = R"(tensor<1x?xi64, ["", "N"]>)";
  const Program program =
      Compiled(Windowed("  %1 = ten.nonzero(%x) : (" + x + ") -> " + found + "\n", x, "%1", found),
               false, GetParam());
  Session session = program.NewSession();
  IoBinding binding(program);
  ASSERT_TRUE(binding.Carry(1, 1).ok());
  ASSERT_TRUE(binding.Carry(2, 2).ok());
  for (const bool dynamic : {false, true}) {
    keys_ = Past(dynamic ? 5 : 2, 5);
    values_ = Past(dynamic ? 5 : 2, 6);
    ASSERT_TRUE(binding.BindInput(1, keys_).ok());
    ASSERT_TRUE(binding.BindInput(2, values_).ok());
    for (int step = 0; step < 3; ++step) {
      const std::vector<Tensor> inputs = Inputs(true, step);
      ASSERT_NO_FATAL_FAILURE(Bind(binding, inputs));
      ASSERT_TRUE(binding.BindInput(4, Waves({dynamic ? 3 : 0}, 1)).ok());
      const absl::Status status = session.Run(binding);
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_NO_FATAL_FAILURE(Compare(binding, inputs));
      ASSERT_EQ(Grows(binding, 1), !dynamic);
    }
  }
}

// Results of runs in which nothing grew are the caller's to bind, as any input; none is written to
// when it is, whichever of the binding's memories it was.
TEST_P(SometimesGrowing, HeldResultsAsInputs) {
  for (int steps = 2; steps < 7; ++steps) {
    for (int held_step = 0; held_step < steps; ++held_step) {
      for (const bool as_keys : {true, false}) {
        for (const bool grow : {true, false}) {
          SCOPED_TRACE(testing::Message()
                       << steps << " steps, " << held_step << ' ' << as_keys << ' ' << grow);
          // Memory that grows by half has room for the next steps.
          ASSERT_NO_FATAL_FAILURE(Begin(Past(20, 1), Past(20, 2)));
          Tensor held;
          for (int step = 0; step < steps; ++step) {
            ASSERT_NO_FATAL_FAILURE(Run(false, step));
            if (step == held_step) held = *binding_.output(1);
          }
          std::vector<float> before = ValuesOf<float>(held);
          ASSERT_NO_FATAL_FAILURE(Run(grow, 50));
          if (grow) {
            ASSERT_EQ(ValuesOf<float>(held), before) << "what grows lies in the caller's tensor";
          }
          before = ValuesOf<float>(held);
          const Tensor other = Past(held.shape()[2], 9);
          ASSERT_NO_FATAL_FAILURE(as_keys ? Begin(held, other) : Begin(other, held));
          for (int step = 0; step < 3; ++step) ASSERT_NO_FATAL_FAILURE(Run(grow, 60 + step));
          ASSERT_EQ(ValuesOf<float>(held), before) << "the caller's tensor was written to";
        }
      }
    }
  }
}

TEST_P(SometimesGrowing, OneTensorAsBothPasts) {
  for (const bool grow : {false, true}) {
    const Tensor both = Past(3, 1);
    const std::vector<float> before = ValuesOf<float>(both);
    ASSERT_NO_FATAL_FAILURE(Begin(both, both));
    for (int step = 0; step < 4; ++step) {
      ASSERT_NO_FATAL_FAILURE(Run(grow, step));
      EXPECT_EQ(both.owner().use_count(), 1) << "the binding keeps what it does not need";
    }
    EXPECT_EQ(ValuesOf<float>(both), before);
  }
}

TEST_P(SometimesGrowing, BindingsMoveButAreNotCopied) {
  static_assert(!std::is_copy_constructible_v<IoBinding> && !std::is_copy_assignable_v<IoBinding>);
  ASSERT_NO_FATAL_FAILURE(Begin(Past(2, 1), Past(2, 2)));
  ASSERT_NO_FATAL_FAILURE(Run(true, 3));
  IoBinding moved = std::move(binding_);
  binding_ = std::move(moved);
  for (const bool grow : {true, false, true}) ASSERT_NO_FATAL_FAILURE(Run(grow, 4));
}

INSTANTIATE_TEST_SUITE_P(Threads, SometimesGrowing, ::testing::Values(1, 4));

}  // namespace
}  // namespace tenon
