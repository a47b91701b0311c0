// Two states of a program, and what connects them: rules, near misses, times.
#ifndef TENON_FRONTENDS_VIEW_COMPARISON_H_
#define TENON_FRONTENDS_VIEW_COMPARISON_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/view/program.h"
#include "pass/rewrite_step.h"
#include "pass/rule_log.h"

namespace tenon::view {

// Which rule made which operation, for PassContext::observer. Keeps no pointers to operations: one
// is known by its name and its location.
class OriginRecorder : public RewriteObserver {
 public:
  // The rule that made an operation.
  struct Maker {
    std::string rule,  // its name
        place,         // where it is defined
        pass;          // that applied it
    // All nodes of the matched operations, where a location cannot hold as many; else empty.
    std::vector<std::string> from;
  };
  void PassBegins(std::string_view text, Operation* op) override;
  void StepBegins(const RewriteStep& step) override;
  void Created(Operation* op) override { created_.push_back(op); }
  void Erasing(Operation* op) override { std::erase(created_, op); }
  void StepEnds() override;

  // The last rule that made an op of this name and these nodes or positions; null if there is none.
  const Maker* Find(std::string_view op, const std::vector<std::string>& from) const;

 private:
  using Key = std::pair<std::string, std::string>;  // the name of an op, and its first node
  std::map<Key, Maker> makers_;
  std::string pass_;
  Maker step_;
  bool is_rule_ = false;
  std::vector<std::string> matched_;
  std::vector<Operation*> created_;
};

// The times of a profile.
struct Times {
  std::map<std::pair<std::string, std::string>, double> ms;  // of one run, by op and node
  double all_ms = 0;                                         // the sum
};

// Reads the JSON that `ir-run --profile=FILE.json` writes. InvalidArgument says what is wrong.
absl::StatusOr<Times> ReadTimes(std::string_view json);

// What a picture shows.
struct Comparison {
  std::string input;             // the name of the model
  std::string pipeline;          // the passes, as text; empty without passes
  Program before;                // as it was read
  std::optional<Program> after;  // after the passes; nothing without passes
  std::vector<RuleMiss> misses;  // near misses, by rule
  double shown_ms = 0;           // of a profile: the times that shown operations have
  double all_ms = 0;             // the sum of all its times
};

// Says of each operation of both programs what became of it, and which rule made it.
void Compare(const OriginRecorder& origins, Comparison& comparison);
// Adds near misses of `log`, and notes them with the operations of the last program.
void AddMisses(const RuleLog& log, Comparison& comparison);
// Notes times with the operations of the last program. Operations of one name and node share a
// time.
void AddTimes(const Times& times, Comparison& comparison);

}  // namespace tenon::view

#endif  // TENON_FRONTENDS_VIEW_COMPARISON_H_
