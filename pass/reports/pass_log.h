// What a pass that fuses or moves operations says of its decisions, in the log of rules.
#ifndef TENON_PASS_REPORTS_PASS_LOG_H_
#define TENON_PASS_REPORTS_PASS_LOG_H_

#include <span>
#include <string>
#include <string_view>

#include "ir/core/operation.h"
#include "pass/pass.h"

namespace tenon {

struct RuleLog;

// Records under the name of the pass, as rules do. A pass that uses it sets PassInfo::explains. Not
// thread-safe; a run with a log runs passes one at a time.
class PassLog {
 public:
  // Begins a run of the pass on `function`, whose earlier misses it forgets. `context` outlives it.
  PassLog(const PassContext& context, std::string_view pass, const Operation* function);

  // False if nobody asks. Nothing is recorded then, and reasons need not be made.
  bool wanted() const { return log_ != nullptr; }
  // The pass has put `made` in the place of `ops`, which are still there.
  void Hit(std::span<Operation* const> ops, const Operation* made);
  // The pass has left `ops` alone, because of `at`.
  void Miss(std::span<Operation* const> ops, const Operation* at, std::string reason);

 private:
  RuleLog* log_ = nullptr;
  const std::string pass_, function_;
};

// Returns text such as "ten.add at /layer/Add".
std::string OpAndNode(const Operation* op);

}  // namespace tenon

#endif  // TENON_PASS_REPORTS_PASS_LOG_H_
