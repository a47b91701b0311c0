#include "ir/base/text_diff.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace tenon {
namespace {

using Lines = std::vector<std::string_view>;

Lines LinesOf(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Which lines of two texts have no counterpart in the other.
class LineMatcher {
 public:
  LineMatcher(const Lines& before, const Lines& after)
      : gone(before.size(), false), added(after.size(), false) {
    std::map<std::string_view, uint32_t> known;
    const auto number = [&](const Lines& lines, std::vector<uint32_t>& ids) {
      for (const std::string_view line : lines)
        ids.push_back(known.emplace(line, static_cast<uint32_t>(known.size())).first->second);
    };
    number(before, before_);
    number(after, after_);
    Match(0, before_.size(), 0, after_.size());
  }

  std::vector<bool> gone, added;

 private:
  // Edits that the search for the fewest tries. Its table has the square of this many numbers.
  static constexpr int64_t kMostEdits = 512;

  void Match(size_t a, size_t a_end, size_t b, size_t b_end) {
    while (a < a_end && b < b_end && before_[a] == after_[b]) ++a, ++b;
    while (a < a_end && b < b_end && before_[a_end - 1] == after_[b_end - 1]) --a_end, --b_end;
    if (a == a_end || b == b_end || !MatchFewEdits(a, a_end, b, b_end))
      MatchBetweenAnchors(a, a_end, b, b_end);
  }

  // Finds the fewest edits. False, with nothing noted, if they are too many. [Myers, An O(ND)
  // difference algorithm and its variations, 1986]
  bool MatchFewEdits(size_t a, size_t a_end, size_t b, size_t b_end) {
    const auto n = static_cast<int64_t>(a_end - a), m = static_cast<int64_t>(b_end - b);
    const int64_t most = std::min(n + m, kMostEdits);
    // furthest[d][k + d]: how many lines of `before` d edits on diagonal k = x - y may cover.
    std::vector<std::vector<int64_t>> furthest;
    for (int64_t d = 0; d <= most; ++d) {
      std::vector<int64_t>& row = furthest.emplace_back(static_cast<size_t>(2 * d + 1));
      for (int64_t k = -d; k <= d; k += 2) {
        int64_t x = d == 0 ? 0 : StepTo(furthest[static_cast<size_t>(d - 1)], d, k).first;
        int64_t y = x - k;
        while (x < n && y < m && y >= 0 &&
               before_[a + static_cast<size_t>(x)] == after_[b + static_cast<size_t>(y)])
          ++x, ++y;
        row[static_cast<size_t>(k + d)] = x;
        if (x >= n && y >= m) {
          NoteEdits(furthest, d, k, a, b);
          return true;
        }
      }
    }
    return false;
  }

  // Where the d-th edit leads on diagonal k, and whether it adds a line. `row` is that of d - 1.
  static std::pair<int64_t, bool> StepTo(const std::vector<int64_t>& row, int64_t d, int64_t k) {
    const auto at = [&](int64_t diagonal) { return row[static_cast<size_t>(diagonal + d - 1)]; };
    const bool adds = k == -d || (k != d && at(k - 1) < at(k + 1));
    return {adds ? at(k + 1) : at(k - 1) + 1, adds};
  }

  void NoteEdits(const std::vector<std::vector<int64_t>>& furthest, int64_t d, int64_t k, size_t a,
                 size_t b) {
    for (; d > 0; --d) {
      const auto [x, adds] = StepTo(furthest[static_cast<size_t>(d - 1)], d, k);
      if (adds) {
        added[b + static_cast<size_t>(x - k - 1)] = true;
        ++k;
      } else {
        gone[a + static_cast<size_t>(x - 1)] = true;
        --k;
      }
    }
  }

  // Matches lines that each text has once, in the longest order that both share, and what lies
  // between them. Without such lines, all differ.
  void MatchBetweenAnchors(size_t a, size_t a_end, size_t b, size_t b_end) {
    const std::vector<std::pair<size_t, size_t>> anchors = AnchorsIn(a, a_end, b, b_end);
    if (anchors.empty()) {
      std::fill(gone.begin() + static_cast<std::ptrdiff_t>(a),
                gone.begin() + static_cast<std::ptrdiff_t>(a_end), true);
      std::fill(added.begin() + static_cast<std::ptrdiff_t>(b),
                added.begin() + static_cast<std::ptrdiff_t>(b_end), true);
      return;
    }
    for (const auto& [x, y] : anchors) {
      Match(a, x, b, y);
      a = x + 1;
      b = y + 1;
    }
    Match(a, a_end, b, b_end);
  }

  std::vector<std::pair<size_t, size_t>> AnchorsIn(size_t a, size_t a_end, size_t b,
                                                   size_t b_end) const {
    struct Seen {
      int before = 0, after = 0;
      size_t at = 0;  // in `after`
    };
    std::map<uint32_t, Seen> seen;
    for (size_t i = a; i < a_end; ++i) ++seen[before_[i]].before;
    for (size_t i = b; i < b_end; ++i) {
      Seen& line = seen[after_[i]];
      ++line.after;
      line.at = i;
    }
    // The longest rising sequence, by the last element of one of each length.
    std::vector<std::pair<size_t, size_t>> pairs;
    std::vector<size_t> last, previous;
    for (size_t i = a; i < a_end; ++i) {
      const Seen& line = seen[before_[i]];
      if (line.before != 1 || line.after != 1) continue;
      const auto place =
          std::lower_bound(last.begin(), last.end(), line.at,
                           [&](size_t p, size_t at) { return pairs[p].second < at; });
      previous.push_back(place == last.begin() ? pairs.size() : *(place - 1));
      const size_t length = static_cast<size_t>(place - last.begin());
      if (length == last.size()) last.emplace_back();
      last[length] = pairs.size();
      pairs.emplace_back(i, line.at);
    }
    std::vector<std::pair<size_t, size_t>> rising(last.size());
    size_t p = last.empty() ? 0 : last.back();
    for (size_t i = rising.size(); i-- > 0; p = previous[p]) rising[i] = pairs[p];
    return rising;
  }

  std::vector<uint32_t> before_, after_;
};

// "3,4" of a head: the first line from 1 on, and how many. Of none, the line in front.
std::string RangeText(size_t first, size_t count) {
  if (count == 1) return fmt::format("{}", first + 1);
  return fmt::format("{},{}", count == 0 ? first : first + 1, count);
}

}  // namespace

std::string UnifiedDiff(std::string_view before, std::string_view after,
                        std::string_view before_name, std::string_view after_name, size_t around) {
  const Lines a = LinesOf(before), b = LinesOf(after);
  const LineMatcher match(a, b);
  std::string text;
  for (size_t i = 0, j = 0;;) {
    // The next lines that differ; i and j are counterparts.
    while (i < a.size() && j < b.size() && !match.gone[i] && !match.added[j]) ++i, ++j;
    if (i == a.size() && j == b.size()) break;
    const size_t lead = std::min(around, i);
    const size_t first_i = i - lead, first_j = j - lead;
    std::string lines;
    const auto add = [&](char mark, std::string_view line) {
      lines += mark;
      lines += line;
      lines += '\n';
    };
    for (size_t l = first_i; l < i; ++l) add(' ', a[l]);
    for (size_t same = 0;;) {
      if (i < a.size() && match.gone[i]) {
        add('-', a[i++]);
        same = 0;
      } else if (j < b.size() && match.added[j]) {
        add('+', b[j++]);
        same = 0;
      } else if (i < a.size() && same < 2 * around) {
        add(' ', a[i++]);
        ++j;
        ++same;
      } else {
        // Equal lines that are more than those around a difference.
        for (; same > around; --same) {
          lines.erase(lines.rfind('\n', lines.size() - 2) + 1);
          --i;
          --j;
        }
        break;
      }
    }
    text += fmt::format("@@ -{} +{} @@\n{}", RangeText(first_i, i - first_i),
                        RangeText(first_j, j - first_j), lines);
  }
  if (text.empty()) return text;
  return fmt::format("--- {}\n+++ {}\n{}", before_name, after_name, text);
}

}  // namespace tenon
