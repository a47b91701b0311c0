// Hits and near misses in words, for the reports of a log of rules.
#ifndef TENON_PASS_REPORTS_MISS_TEXT_H_
#define TENON_PASS_REPORTS_MISS_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "pass/rule_log.h"

namespace tenon {

// Returns text such as "1 place" or "3 places".
std::string Count(size_t n, std::string_view what);
// Returns text such as "a (with b, c and 3 more)", or "a" unless `all`.
std::string NodesText(const std::vector<std::string>& nodes, bool all = true);
// Where the rule nearly matched.
std::string PlaceText(const RuleMiss& miss);
// What fits there, and what does not.
std::string MissText(const RuleMiss& miss);

}  // namespace tenon

#endif  // TENON_PASS_REPORTS_MISS_TEXT_H_
