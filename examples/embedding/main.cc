// Loads a model, optimises it with rules, kernels and passes of its own, and runs it from several
// threads on tensors that stay bound.
//
//   embedding MODEL.onnx [libacme.so]
//
// Rules, kernels and passes are those of this program, or those of a plugin, if one is given.
// The model's inputs are of i64 (token ids, masks), as those of most text models are.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "acme.h"
#include "tenon/frontends/cpp/plugin.h"
#include "tenon/frontends/cpp/tenon.h"
#include "tenon/ir/core/context/diagnostic.h"

namespace {

constexpr int kThreads = 3, kRuns = 4;
constexpr int64_t kBatch = 1, kLength = 8;

absl::StatusOr<std::shared_ptr<const tenon::Extension>> ExtensionOf(const char* plugin) {
  if (plugin == nullptr) return AcmeExtension();
  auto extension = std::make_shared<tenon::Extension>();
  if (auto status = tenon::LoadPlugin(plugin, *extension); !status.ok()) return status;
  return extension;
}

absl::StatusOr<tenon::Model> LoadAndOptimize(const std::string& path, const char* plugin) {
  tenon::LoadOptions options;
  auto extension = ExtensionOf(plugin);
  if (!extension.ok()) return extension.status();
  options.extension = *extension;
  options.on_diagnostic = [](const tenon::Context& context, const tenon::Diagnostic& diagnostic) {
    if (diagnostic.severity == tenon::Severity::kRemark) return;
    std::fprintf(stderr, "%s\n", tenon::FormatDiagnostic(context, diagnostic).c_str());
  };
  absl::StatusOr<tenon::Model> model = tenon::Load(path, options);
  if (!model.ok()) return model;
  tenon::OptimizeReport report;
  if (auto status = tenon::Optimize(*model, {.pipeline = "O2,acme-merge-scale"}, &report);
      !status.ok())
    return status;
  const auto own = report.rules.find("acme-scaled-gelu");
  std::printf("acme-scaled-gelu fired %d times\n",
              own == report.rules.end() ? 0 : static_cast<int>(own->second));
  return model;
}

// One session and one binding a thread: a Program may be shared, these may not.
absl::Status RunOften(const tenon::Program& program, float* first) {
  tenon::Session session = program.NewSession();
  tenon::IoBinding binding(program);
  std::vector<tenon::Tensor> inputs;
  for (size_t i = 0; i < program.inputs().size(); ++i) {
    const tenon::TensorSpec& spec = program.inputs()[i];
    if (spec.dtype != tenon::DType::kI64)
      return absl::InvalidArgumentError("input " + spec.name + " is not of i64");
    inputs.push_back(tenon::Tensor::Make(spec.dtype, {kBatch, kLength}));
    std::fill_n(inputs.back().as<int64_t>(), kBatch * kLength, 1);
    if (auto status = binding.BindInput(i, inputs.back()); !status.ok()) return status;
  }
  for (int run = 0; run < kRuns; ++run) {
    inputs[0].as<int64_t>()[0] = run + 1;  // what is bound may change between runs
    if (auto status = session.Run(binding); !status.ok()) return status;
  }
  absl::StatusOr<tenon::Tensor> out = binding.output(0);
  if (!out.ok()) return out.status();
  *first = out->as<float>()[0];
  return absl::OkStatus();
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "embedding: %s\n", status.ToString().c_str());
  return 1;
}

int Run(const char* path, const char* plugin) {
  absl::StatusOr<tenon::Model> model = LoadAndOptimize(path, plugin);
  if (!model.ok()) return Fail(model.status());
  absl::StatusOr<tenon::Program> program = tenon::Compile(*model);
  if (!program.ok()) return Fail(program.status());

  std::vector<absl::Status> statuses(kThreads);
  std::vector<float> results(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] { statuses[i] = RunOften(*program, &results[i]); });
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) {
    if (!status.ok()) return Fail(status);
  }
  std::printf("first value %f\n", results[0]);
  const bool same =
      std::all_of(results.begin(), results.end(), [&](float value) { return value == results[0]; });
  if (!same || !std::isfinite(results[0])) return Fail(absl::InternalError("wrong results"));

  // Mistakes come back as statuses that say what was expected.
  const std::vector<tenon::Tensor> wrong(program->inputs().size(),
                                         tenon::Tensor::Make(tenon::DType::kF32, {2}));
  std::printf("wrong inputs: %s\n", program->Run(wrong).status().ToString().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 || argc == 3) return Run(argv[1], argc == 3 ? argv[2] : nullptr);
  std::fprintf(stderr, "usage: embedding MODEL.onnx [PLUGIN.so]\n");
  return 2;
}
