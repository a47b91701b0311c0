// Near misses of what rules expect: an optimised program computes what the program computed.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "frontends/cpp/samples/sample_inputs.h"
#include "frontends/cpp/tenon.h"
#include "frontends/debug/compare.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/core/verify/verifier.h"
#include "ir/dialect/dialects.h"
#include "tests/fuzz/mutator.h"
#include "tests/fuzz/near_miss.h"

namespace tenon::fuzz {
namespace {

using Tensors = std::vector<Tensor>;

// Of what is not exact; results that are not finite are not compared, since an optimised program
// may give numbers where the source overflows on the way.
constexpr double kTolerance = 1e-4;
constexpr int kSamples = 2;

double At(const Tensor& tensor, int64_t i) {
  return LoadAsDouble(tensor.dtype(), static_cast<const std::byte*>(tensor.data()) +
                                          static_cast<size_t>(i) * SizeOf(tensor.dtype()));
}

bool AllFinite(const Tensors& tensors) {
  for (const Tensor& tensor : tensors) {
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      if (!std::isfinite(At(tensor, i))) return false;
    }
  }
  return true;
}

// What differs; empty if nothing does.
std::string CompareAll(const Tensors& got, const Tensors& expected, double tolerance) {
  if (got.size() != expected.size()) return "the number of results";
  for (size_t i = 0; i < expected.size(); ++i) {
    const bool exact = !IsFloat(expected[i].dtype());
    const Difference d = Compare(got[i], expected[i], exact ? 0 : tolerance, exact ? 0 : tolerance);
    if (!d.pass) return fmt::format("result {}: {}", i, d.problem);
  }
  return {};
}

// Inputs that differ in their last bits.
Tensors Nudged(const Tensors& inputs) {
  Tensors nudged;
  for (const Tensor& input : inputs) {
    nudged.push_back(Tensor::Copy(input.dtype(), input.shape(), input.data()));
    if (!IsFloat(input.dtype())) continue;
    auto* bytes = static_cast<std::byte*>(nudged.back().data());
    for (int64_t i = 0; i < input.numel(); ++i, bytes += SizeOf(input.dtype())) {
      StoreFromDouble(input.dtype(), At(input, i) * (i % 3 == 0 ? 1 + 1e-6 : 1 - 1e-6), bytes);
    }
  }
  return nudged;
}

// A changed extent may ask for any amount of memory.
CompileOptions Options(int64_t megabytes) {
  return {.threads = 1,
          .reference = true,
          .limits = {.loop_trips = 1000, .memory_bytes = megabytes << 20}};
}

class ResultsFuzzTest : public ::testing::TestWithParam<const char*> {
 protected:
  // What is wrong with the optimised program; empty if nothing is.
  std::string Check(const std::string& text, std::mt19937& random) {
    auto context = std::make_shared<Context>();
    RegisterAllDialects(*context);
    const ScopedDiagnosticHandler quiet(*context, nullptr);
    absl::StatusOr<OwnedOp> module = ParseModule(*context, text, ParseOptions());
    if (!module.ok() || !Verify(module->get()).ok()) return {};
    MakeNearMiss(module->get(), random);
    if (!Verify(module->get()).ok()) return {};
    Model model(context, *std::move(module));
    if (model.main() == nullptr) return {};
    text_ = Print(*model.module());
    const absl::StatusOr<Program> plain = Compile(model, Options(256));
    if (!plain.ok()) return {};
    std::vector<Sample> samples;
    std::vector<Tensors> expected;
    bool runs = false;
    for (int kind = 0; kind <= kEdgeSample && samples.size() < kSamples; ++kind) {
      absl::StatusOr<Sample> sample = SampleInputs(model.main(), kind);
      if (!sample.ok()) continue;
      absl::StatusOr<Tensors> results = plain->Run(sample->inputs);
      runs |= results.ok();
      if (!results.ok() || !AllFinite(*results)) continue;
      samples.push_back(*std::move(sample));
      expected.push_back(*std::move(results));
    }
    if (!samples.empty()) ++programs_;
    if (const absl::Status status = Optimize(model); !status.ok()) {
      return runs ? "cannot be optimised: " + std::string(status.message()) : "";
    }
    const absl::StatusOr<Program> fast = Compile(model, Options(1024));
    if (!fast.ok()) {
      return runs ? "does not compile: " + std::string(fast.status().message()) : "";
    }
    for (size_t i = 0; i < samples.size(); ++i) {
      const absl::StatusOr<Tensors> got = fast->Run(samples[i].inputs);
      std::string wrong = got.ok() ? CompareAll(*got, expected[i], kTolerance)
                                   : "does not run: " + std::string(got.status().message());
      if (wrong.empty()) continue;
      // What becomes a guard of attention guards against rows that see no key, and no other NaN.
      if (got.ok() && !AllFinite(*got) && text_.find("ten.is_nan") != std::string::npos) continue;
      // Rounding is no difference.
      const absl::StatusOr<Tensors> nudged = plain->Run(Nudged(samples[i].inputs));
      if (got.ok() && nudged.ok() && !CompareAll(*nudged, expected[i], kTolerance / 4).empty()) {
        continue;
      }
      return wrong + "\ninputs: " + samples[i].text + "\n" + Print(*model.module());
    }
    return {};
  }

  int programs_ = 0;
  std::string text_;
};

TEST_P(ResultsFuzzTest, OptimisedNearMissesComputeTheSame) {
  const std::vector<std::string> corpus = GoldenCorpus(GetParam());
  ASSERT_GT(corpus.size(), 10u);
  const int rounds = Rounds(200);
  std::mt19937 random(Seed());
  for (int i = 0; i < rounds; ++i) {
    std::string text = corpus[random() % corpus.size()];
    if (text.find("ctl.while") != std::string::npos) continue;  // it may not end
    if (random() % 4 == 0) text = ChangeAttributes(std::move(text), random);
    EXPECT_EQ(Check(text, random), "") << "round " << i << ":\n" << text_;
  }
  EXPECT_GT(programs_, rounds / 4);
}

INSTANTIATE_TEST_SUITE_P(Golden, ResultsFuzzTest,
                         ::testing::Values("exec", "patterns", "transforms"));

}  // namespace
}  // namespace tenon::fuzz
