// Any text as rules: a rule set, or an error that names the place.
#include "drr/compile/compiled.h"
#include "drr/text/text.h"
#include "ir/dialect/dialects.h"
#include "patterns/facts/facts.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/seed_files.h"

namespace tenon::fuzz {

std::string CheckRules(std::string_view bytes, bool* accepted) {
  Context context;
  RegisterAllDialects(context);
  if (accepted != nullptr) *accepted = false;
  absl::StatusOr<std::vector<drr::Rule>> rules =
      drr::ParseRules(bytes, "rules.drr", context, pattern::Facts());
  if (!rules.ok()) {
    return rules.status().message().substr(0, 10) == "rules.drr:" ? "" : "an error without a place";
  }
  const auto set = drr::CompiledRules::Create(*std::move(rules), context);
  if (accepted != nullptr) *accepted = set.ok();
  return set.ok() || !set.status().message().empty() ? "" : "an error without a message";
}

std::vector<std::string> RulesSeeds() { return FilesBelow("rules/planted", ".drr", 20'000); }

}  // namespace tenon::fuzz
