#include "pass/reports/hit_index.h"

#include <algorithm>

#include "absl/strings/string_view.h"
#include "pass/rule_log.h"

namespace tenon {
namespace {

absl::string_view Key(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

void HitIndex::Update(const std::vector<RuleHit>& hits) {
  for (; known_ < hits.size(); ++known_) {
    const RuleHit& hit = hits[known_];
    for (const std::string& node : hit.nodes) at_[node].push_back(known_);
    for (const std::string& made : hit.made) {
      made_[made] = known_;
      ops_.insert(made.substr(0, made.find(' ')));
      longest_ = std::max(longest_, made.size());
    }
    steps_ += static_cast<int64_t>(hit.nodes.size() + hit.made.size());
  }
}

std::span<const size_t> HitIndex::At(std::string_view node) const { return At(node, 0); }

std::span<const size_t> HitIndex::At(std::string_view node, size_t first) const {
  ++steps_;
  const auto found = at_.find(Key(node));
  if (found == at_.end()) return {};
  const std::vector<size_t>& all = found->second;
  return {std::lower_bound(all.begin(), all.end(), first), all.end()};
}

HitIndex::Mention HitIndex::LastMade(std::string_view text) const {
  constexpr std::string_view kEnds = " ,;";
  Mention last;
  for (size_t begin = 0; begin < text.size(); begin = text.find(' ', begin)) {
    begin += text[begin] == ' ' ? 1 : 0;
    ++steps_;
    const size_t op_end = std::min(text.find_first_of(kEnds, begin), text.size());
    if (op_end == text.size() && begin == text.size()) break;
    if (!ops_.contains(Key(text.substr(begin, op_end - begin)))) continue;
    for (size_t end = op_end; end - begin <= longest_;) {
      ++steps_;
      const auto made = made_.find(Key(text.substr(begin, end - begin)));
      if (made != made_.end() && (last.hit == kNone || made->second > last.hit))
        last = {made->second, end};
      if (end == text.size()) break;
      end = std::min(text.find_first_of(kEnds, end + 1), text.size());
    }
  }
  return last;
}

}  // namespace tenon
