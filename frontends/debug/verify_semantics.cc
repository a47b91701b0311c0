#include "frontends/debug/verify_semantics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "fmt/format.h"
#include "frontends/cpp/files/strings.h"
#include "frontends/cpp/passes.h"
#include "frontends/cpp/tenon.h"
#include "frontends/debug/runnable_copy.h"
#include "ir/base/check.h"
#include "ir/base/check_limits.h"
#include "ir/base/narrow_number.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/verify/symbol_table.h"
#include "ir/dialect/func_ops.h"
#include "pass/module_properties.h"
#include "pass/rewrite_step.h"

namespace tenon {
namespace {

constexpr size_t kSamples = 3;  // of those that suit the function, beside the two kinds more

using Outputs = std::vector<Tensor>;

// Of rounding in another order; the fast kernels of a lowered program round more.
double ToleranceOf(DType dtype, bool lowered) {
  switch (dtype) {
    case DType::kF64:
      return 1e-9;
    case DType::kF16:
      return 1e-2;
    case DType::kBF16:
      return 5e-2;
    default:
      if (IsNarrowFloat(dtype)) return NarrowEpsilon(dtype);
      return IsFloat(dtype) ? (lowered ? 5e-5 : 1e-5) : 0;
  }
}

double ElementOf(const Tensor& tensor, int64_t i) {
  return LoadAsDouble(tensor.dtype(), static_cast<const std::byte*>(tensor.data()) +
                                          static_cast<size_t>(i) * SizeOf(tensor.dtype()));
}

// Empty if the results agree. `specs` are those of the program that made `after`.
std::string Compare(std::span<const TensorSpec> specs, const Outputs& before, const Outputs& after,
                    double tolerance, bool lowered) {
  // Equal strings may lie at other places of their text.
  std::vector<bool> compared(before.size());
  for (const StringPorts& ports : FindStrings(specs)) {
    if (ports.first + 1 >= before.size()) continue;
    const Difference text = CompareStrings(std::span(after).subspan(ports.first, 2),
                                           std::span(before).subspan(ports.first, 2));
    if (!text.pass) return fmt::format("result {}: {}", ports.first, text.problem);
    compared[ports.first] = compared[ports.first + 1] = true;
  }
  for (size_t r = 0; r < before.size(); ++r) {
    if (compared[r]) continue;
    const Tensor &a = before[r], &b = after[r];
    if (a.dtype() != b.dtype() ||
        !std::equal(a.shape().begin(), a.shape().end(), b.shape().begin(), b.shape().end())) {
      return fmt::format("result {} is {} and was {}", r, b.type_text(), a.type_text());
    }
    double largest = 0, worst = 0;
    int64_t at = -1;
    for (int64_t i = 0; i < a.numel(); ++i) {
      if (std::isfinite(ElementOf(a, i))) largest = std::max(largest, std::abs(ElementOf(a, i)));
    }
    const double allowed =
        (tolerance > 0 ? tolerance : ToleranceOf(a.dtype(), lowered)) * std::max(largest, 1e-6);
    for (int64_t i = 0; i < a.numel(); ++i) {
      const double x = ElementOf(a, i), y = ElementOf(b, i);
      double difference = std::abs(x - y);
      if (!std::isfinite(x) || !std::isfinite(y)) {
        const bool same = std::isnan(x) ? std::isnan(y) : x == y;
        difference = same ? 0 : std::numeric_limits<double>::infinity();
      }
      if (difference > allowed && difference > worst) worst = difference, at = i;
    }
    if (at >= 0) {
      return fmt::format(
          "result {} differs by up to {:.6g} ({:.6g} are allowed): element {} is "
          "{:.9g} and was {:.9g}",
          r, worst, allowed, at, ElementOf(b, at), ElementOf(a, at));
    }
  }
  return "";
}

bool AllFinite(const Outputs& outputs) {
  for (const Tensor& output : outputs) {
    if (!IsFloat(output.dtype())) continue;
    for (int64_t i = 0; i < output.numel(); ++i) {
      if (!std::isfinite(ElementOf(output, i))) return false;
    }
  }
  return true;
}

// Runs the program on the sample. Where it overflows there, and optimised programs may give numbers
// (a softmax without the maximum taken off), on the same sample with smaller floats, if those do
// not overflow; `sample` is what was taken.
absl::StatusOr<Outputs> RunWithoutOverflow(const Program& program, Sample& sample) {
  absl::StatusOr<Outputs> outputs = program.Run(sample.inputs);
  if (!outputs.ok() || AllFinite(*outputs)) return outputs;
  Sample smaller = sample;
  constexpr double kFactor = 1.0 / 64;
  for (Tensor& input : smaller.inputs) {
    if (!IsFloat(input.dtype())) continue;
    input = Tensor::Copy(input.dtype(), input.shape(), input.data());
    auto* bytes = static_cast<std::byte*>(input.data());
    const size_t size = SizeOf(input.dtype());
    for (int64_t i = 0; i < input.numel(); ++i, bytes += size)
      StoreFromDouble(input.dtype(), kFactor * LoadAsDouble(input.dtype(), bytes), bytes);
  }
  absl::StatusOr<Outputs> tame = program.Run(smaller.inputs);
  if (!tame.ok() || !AllFinite(*tame)) return outputs;
  sample = std::move(smaller);
  sample.text += ", floats divided by 64, since the program overflows otherwise";
  return tame;
}

// Where the function was before a pass. A copy that a pass on functions began with lies in no
// module: there it has the place that the function has now.
PlacedFunction PlaceBefore(Operation* before, Operation* after) {
  return {before, before->parent_op() != nullptr ? before : after};
}

bool IsLowered(Operation* function) {
  bool lowered = false;
  function->Walk([&](Operation* op) { lowered |= op->name().starts_with("kernel."); });
  return lowered;
}

absl::Status RunText(Operation* module, std::string_view text) {
  PassRegistry registry;
  TENON_RETURN_IF_ERROR(RegisterAllPasses(registry));
  PassManager manager(registry);
  TENON_RETURN_IF_ERROR(manager.AddPipeline(text));
  PassContext context;
  return manager.Run(module, context).status();
}

// A program of a copy of the function.
absl::StatusOr<Program> MakeProgram(const std::shared_ptr<Context>& context,
                                    const PlacedFunction& function, const Limits& limits) {
  auto copy = [&] { return CopyToRun(context, function).model; };
  // What does not compile is reported by the status alone.
  const ScopedDiagnosticHandler quiet(*context, nullptr);
  auto make = [&]() -> absl::StatusOr<Program> {
    if (IsLowered(function.function)) {
      Model lowered = copy();
      // Functions that it calls may not be lowered yet.
      if (function.HasCalls()) {
        TENON_RETURN_IF_ERROR(RunText(lowered.module(), "lower-to-kernels{reference=true}"));
      }
      SetModuleProperties(*lowered.module(), static_cast<uint32_t>(ModuleProperty::kLowered));
      TENON_RETURN_IF_ERROR(RunText(lowered.module(), "plan-memory"));
      ProgramOptions options;
      options.limits = limits;
      options.context = context;
      options.threads = 1;
      return Program::Compile(lowered.main(), options);
    }
    CompileOptions options;
    options.limits = limits;
    options.reference = true;
    options.threads = 1;
    absl::StatusOr<Program> program = Compile(copy(), options);
    if (program.ok()) return program;
    // Before shapes are inferred some operations have no kernel yet.
    Model inferred = copy();
    if (!RunText(inferred.module(), "infer-shapes").ok()) return program;
    return Compile(inferred, options);
  };
  return make();
}

}  // namespace

struct SemanticsVerifier::Function {
  bool sampled = false;
  std::vector<Sample> samples;
  std::vector<Outputs> outputs;  // of the function as it is now; by sample
  int checked = 0;
  std::vector<std::string> skipped;  // passes after which it could not be compared
  std::string why;
};

SemanticsVerifier::SemanticsVerifier(std::shared_ptr<Context> context, const PassContext& passes,
                                     VerifySemanticsOptions options)
    : context_(std::move(context)), passes_(passes), options_(std::move(options)) {}
SemanticsVerifier::~SemanticsVerifier() = default;

namespace {
absl::Status CheckOptions(const VerifySemanticsOptions& options) {
  if (!(options.tolerance >= 0)) {
    return absl::InvalidArgumentError(fmt::format(
        "VerifySemanticsOptions::tolerance is {} (expected at least 0)", options.tolerance));
  }
  return CheckLimits(options.limits);
}
}  // namespace

absl::Status CheckVerifyInputs(Operation* module, const VerifySemanticsOptions& options) {
  TENON_RETURN_IF_ERROR(CheckOptions(options));
  absl::Status first;
  if (options.inputs.empty()) return first;
  for (Operation& function : module->region().front()) {
    if (!Isa<func::FuncOp>(function) || function.region().empty()) continue;
    const absl::Status read = ReadInputs(&function, options.inputs, options.limits).status();
    if (read.ok()) return read;
    if (first.ok()) first = read;
  }
  return first;
}

absl::Status SemanticsVerifier::Check(const PassRun& run) {
  TENON_RETURN_IF_ERROR(CheckOptions(options_));
  if (Isa<func::FuncOp>(*run.after)) return CheckFunction(run, run.before, run.after);
  absl::flat_hash_map<std::string, Operation*> before;
  run.before->WalkPreOrder([&](Operation* op) {
    if (Isa<func::FuncOp>(*op)) before.emplace(SymbolPath(*op), op);
    return true;
  });
  std::vector<Operation*> functions;
  run.after->WalkPreOrder([&](Operation* op) {
    if (Isa<func::FuncOp>(*op)) functions.push_back(op);
    return true;
  });
  for (Operation* const after : functions) {
    const auto was = before.find(SymbolPath(*after));
    if (was != before.end()) TENON_RETURN_IF_ERROR(CheckFunction(run, was->second, after));
  }
  return absl::OkStatus();
}

absl::Status SemanticsVerifier::CheckFunction(const PassRun& run, Operation* before,
                                              Operation* after) {
  if (before->region().empty() || after->region().empty()) return absl::OkStatus();
  std::unique_ptr<Function>& slot = functions_[SymbolPath(*after)];
  if (!slot) slot = std::make_unique<Function>();
  Function& state = *slot;
  auto skip = [&](std::string why) {
    state.skipped.push_back(run.pass);
    state.why = std::move(why);
    return absl::OkStatus();
  };
  if (state.outputs.empty()) {
    absl::StatusOr<Program> program =
        MakeProgram(context_, PlaceBefore(before, after), options_.limits);
    if (!program.ok()) return skip(std::string(program.status().message()));
    state.samples.clear();
    std::string why = "no sample inputs suit the function";
    const int kinds = options_.inputs.empty() ? kLongSample + 1 : 1;
    for (int kind = 0; kind < kinds; ++kind) {
      if (kind < kSampleKinds && state.samples.size() >= kSamples) continue;
      absl::StatusOr<Sample> sample = options_.inputs.empty()
                                          ? SampleInputs(before, kind)
                                          : ReadInputs(before, options_.inputs, options_.limits);
      if (!sample.ok() && !options_.inputs.empty()) return sample.status();
      if (!sample.ok()) continue;
      absl::StatusOr<Outputs> outputs = options_.inputs.empty()
                                            ? RunWithoutOverflow(*program, *sample)
                                            : program->Run(sample->inputs);
      if (!outputs.ok()) {
        why = std::string(outputs.status().message());
        continue;
      }
      state.samples.push_back(*std::move(sample));
      state.outputs.push_back(*std::move(outputs));
    }
    if (state.samples.empty()) return skip(why);
  }
  const absl::StatusOr<Program> program = MakeProgram(context_, {after, after}, options_.limits);
  const bool lowered = IsLowered(after);
  std::vector<Outputs> outputs;
  for (size_t s = 0; s < state.samples.size(); ++s) {
    absl::StatusOr<Outputs> made =
        program.ok() ? program->Run(state.samples[s].inputs) : program.status();
    std::string wrong =
        made.ok()
            ? Compare(program->outputs(), state.outputs[s], *made, options_.tolerance, lowered)
            : "the function does not run any more: " + std::string(made.status().message());
    if (!wrong.empty()) {
      return absl::InternalError(fmt::format(
          "changed what the program computes: {}\n  {}\n  "
          "inputs: {}",
          wrong, FindStep(run, PlaceBefore(before, after), state, s), state.samples[s].text));
    }
    outputs.push_back(*std::move(made));
  }
  state.outputs = std::move(outputs);
  ++state.checked;
  return absl::OkStatus();
}

// Runs the pass again with fewer and fewer of its steps until one is left that makes the
// difference.
std::string SemanticsVerifier::FindStep(const PassRun& run, const PlacedFunction& before,
                                        Function& state, size_t sample) const {
  std::string last;
  auto run_with = [&](int64_t limit, int64_t& steps) -> bool {
    const RunnableCopy copy = CopyToRun(context_, before);
    PassContext context = passes_;
    std::map<std::string, int64_t, std::less<>> counts;
    context.rule_log = nullptr;
    context.rule_counts = &counts;
    steps = 0;
    context.observer = nullptr;
    context.allow_rewrite = [&](const RewriteStep& step) {
      if (steps >= limit) return false;
      if (++steps == limit) {
        const Operation& op = *step.op;
        const std::string node = DescribeLocation(op.context(), op.location());
        last = step.kind == RewriteStep::Kind::kFold
                   ? fmt::format("the fold of {}", op.name())
                   : fmt::format("rule {}, applied to {}", step.name, op.name());
        if (!node.empty()) last += fmt::format(" at {}", node);
      }
      return true;
    };
    const bool on_function = Isa<func::FuncOp>(*run.before);
    if (!run.again(on_function ? copy.function : copy.module, context).ok()) return true;
    Operation* const main = copy.model.main();
    if (main == nullptr) return true;
    const absl::StatusOr<Program> program = MakeProgram(context_, {main, main}, options_.limits);
    if (!program.ok()) return true;
    const absl::StatusOr<Outputs> made = program->Run(state.samples[sample].inputs);
    return !made.ok() || !Compare(program->outputs(), state.outputs[sample], *made,
                                  options_.tolerance, IsLowered(copy.model.module()))
                              .empty();
  };
  int64_t all = 0, unused = 0;
  run_with(std::numeric_limits<int64_t>::max(), all);
  if (all == 0) return "the pass applies no rules";
  if (run_with(0, unused)) return "not by a rule: it does so with no rule applied";
  int64_t good = 0, bad = all;
  while (bad - good > 1) {
    const int64_t middle = good + (bad - good) / 2;
    (run_with(middle, unused) ? bad : good) = middle;
  }
  run_with(bad, unused);
  return fmt::format(
      "first by {} (step {} of {}; --opt-bisect-limit counts them through all passes)", last, bad,
      all);
}

std::vector<std::string> SemanticsVerifier::Summary() const {
  std::vector<std::string> lines;
  for (const auto& [name, state] : functions_) {
    const size_t inputs = state->samples.size();
    std::string line =
        fmt::format("@{}: {} keep{} the results on {} input{}", name,
                    state->checked == 1 ? "1 pass" : fmt::format("{} passes", state->checked),
                    state->checked == 1 ? "s" : "", inputs, inputs == 1 ? "" : "s");
    if (!state->skipped.empty()) {
      line += fmt::format("; not checked: {} ({})", fmt::join(state->skipped, ", "), state->why);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace tenon
