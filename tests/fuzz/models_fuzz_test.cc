// ONNX models, as they are and with a few changes: imported, optimised, compiled and run, or an
// error that says why not.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "frontends/cpp/tenon.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/verify/verifier.h"
#include "tests/fuzz/model_mutator.h"
#include "tests/fuzz/model_seeds.h"
#include "tests/fuzz/mutator.h"
#include "tests/fuzz/sample_run.h"

namespace tenon::fuzz {
namespace {

// How far a model gets.
enum class Reached { kNothing, kImport, kCompile, kRun };

std::string Unexplained(const absl::Status& status) {
  return status.message().empty() ? "an error without a message" : "";
}

// What is wrong with how the model is treated; empty if nothing is.
std::string CheckModel(const std::string& bytes, Reached& reached) {
  reached = Reached::kNothing;
  bool has_error = false;
  LoadOptions load;
  load.on_diagnostic = [&has_error](const Context&, const Diagnostic& diagnostic) {
    has_error |= diagnostic.severity == Severity::kError;
  };
  absl::StatusOr<Model> model = LoadFromBytes(bytes, "model.onnx", load);
  if (!model.ok()) return has_error ? Unexplained(model.status()) : "an error not reported";
  reached = Reached::kImport;
  if (model->main() == nullptr) return "an imported model without a function";
  const absl::StatusOr<Program> plain = Compile(*model, BoundedCompile());
  std::optional<SampleRun> run;
  if (plain.ok()) {
    reached = Reached::kCompile;
    run = RunOnSample(*model, *plain);
  } else if (std::string problem = Unexplained(plain.status()); !problem.empty()) {
    return problem;
  }
  // What fails at run time in any case may be refused when it is optimised.
  if (const absl::Status status = Optimize(*model); !status.ok()) {
    return run ? "cannot be optimised: " + std::string(status.message()) : Unexplained(status);
  }
  if (const absl::Status status = Verify(model->module()); !status.ok()) {
    return "what passes made does not verify: " + std::string(status.message());
  }
  const absl::StatusOr<Program> fast = Compile(*model, BoundedCompile());
  if (!fast.ok()) {
    return plain.ok() ? "compiles no more once optimised: " + std::string(fast.status().message())
                      : Unexplained(fast.status());
  }
  if (!run) return {};
  const absl::StatusOr<std::vector<Tensor>> outputs = fast->Run(run->inputs);
  if (!outputs.ok()) return "runs no more once optimised: " + outputs.status().ToString();
  for (size_t i = 0; i < run->outputs.size(); ++i) {
    if ((*outputs)[i].type_text() != run->outputs[i].type_text())
      return "an output is " + (*outputs)[i].type_text() + " once optimised";
  }
  reached = Reached::kRun;
  return {};
}

class ModelsFuzzTest : public ::testing::TestWithParam<ModelSeed> {};

TEST_P(ModelsFuzzTest, RunAsTheyAre) {
  Reached reached;
  EXPECT_EQ(CheckModel(GetParam().bytes, reached), "");
  EXPECT_EQ(reached, Reached::kRun);
}

TEST_P(ModelsFuzzTest, ChangedModelsNeverCrash) {
  const int rounds = Rounds(20);
  ModelMutator mutator(GetParam().bytes, Seed());
  int ran = 0, refused = 0;
  for (int i = 0; i < rounds; ++i) {
    Reached reached;
    EXPECT_EQ(CheckModel(mutator.Next(), reached), "") << "round " << i;
    ran += reached == Reached::kRun;
    refused += reached != Reached::kRun;
  }
  // Changes that break everything, or nothing, would test little.
  EXPECT_GT(ran, 0);
  EXPECT_GT(refused, 0);
}

INSTANTIATE_TEST_SUITE_P(Models, ModelsFuzzTest, ::testing::ValuesIn(ModelSeeds()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tenon::fuzz
