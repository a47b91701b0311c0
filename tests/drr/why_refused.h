// What is wrong with rules in text.
#ifndef TENON_TESTS_DRR_WHY_REFUSED_H_
#define TENON_TESTS_DRR_WHY_REFUSED_H_

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "drr/compile/compiled.h"
#include "drr/text/text.h"

namespace tenon::drr {

// Reads and compiles the rules of x.drr. Returns the message of the mistake, or "accepted".
inline std::string WhyRefused(std::string_view text, Context& context,
                              std::span<const Word> facts = {}) {
  auto rules = ParseRules(text, "x.drr", context, facts);
  if (!rules.ok()) return std::string(rules.status().message());
  auto set = CompiledRules::Create(*std::move(rules), context);
  return set.ok() ? "accepted" : std::string(set.status().message());
}

}  // namespace tenon::drr

#endif  // TENON_TESTS_DRR_WHY_REFUSED_H_
