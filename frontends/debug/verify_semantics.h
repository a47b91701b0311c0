// Running every function on samples before and after each pass, to find the pass and the rule that
// change a result.
#ifndef TENON_FRONTENDS_DEBUG_VERIFY_SEMANTICS_H_
#define TENON_FRONTENDS_DEBUG_VERIFY_SEMANTICS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "frontends/cpp/samples/sample_inputs.h"
#include "frontends/debug/runnable_copy.h"
#include "ir/base/limits.h"
#include "ir/core/context/context.h"
#include "ir/core/operation.h"
#include "pass/pass.h"
#include "pass/pass_manager.h"

namespace tenon {

// How results are compared.
struct VerifySemanticsOptions {
  // A folder with input_N.pb or input_N.npy; empty: generated samples.
  std::string inputs{};
  // The largest change in one pass, relative to the largest element of the tensor. 0 chooses by
  // element type: f64 1e-9, f32 5e-5, f16 1e-2, bf16 5e-2.
  double tolerance = 0;
  Limits limits{};  // for each run
};

// Checks passes with the reference kernels; lowered programs run on their own kernels. Not
// thread-safe.
class SemanticsVerifier {
 public:
  // `passes` must outlive the verifier.
  SemanticsVerifier(std::shared_ptr<Context> context, const PassContext& passes,
                    VerifySemanticsOptions options = {});
  ~SemanticsVerifier();

  // For PassManagerOptions::check. Returns Internal if a result has changed. The message names the
  // pass, the rule and its node, the largest difference, and the inputs that show it.
  absl::Status Check(const PassRun& run);
  // One line per function: how much was checked, or why it was not.
  std::vector<std::string> Summary() const;

 private:
  struct Function;
  absl::Status CheckFunction(const PassRun& run, Operation* before, Operation* after);
  std::string FindStep(const PassRun& run, const PlacedFunction& before, Function& state,
                       size_t sample) const;

  std::shared_ptr<Context> context_;
  const PassContext& passes_;
  VerifySemanticsOptions options_;
  std::map<std::string, std::unique_ptr<Function>> functions_;
};

// Reads the given inputs, if there are any: a mistake in them shows also where no pass changes
// anything. InvalidArgument if they suit no function of `module`.
absl::Status CheckVerifyInputs(Operation* module, const VerifySemanticsOptions& options);

}  // namespace tenon

#endif  // TENON_FRONTENDS_DEBUG_VERIFY_SEMANTICS_H_
