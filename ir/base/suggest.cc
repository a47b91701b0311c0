#include "ir/base/suggest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tenon {
namespace {

constexpr size_t kMaxLength = 128;

// Insertions, deletions, substitutions, and swaps of neighbours.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string_view Nearest(std::string_view name, std::span<const std::string> candidates) {
  if (name.size() > kMaxLength) return {};
  std::string_view best;
  size_t best_distance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kMaxLength) continue;
    size_t distance = EditDistance(name, candidate);
    if (distance < best_distance) best = candidate, best_distance = distance;
  }
  return best;
}

std::string DidYouMean(std::string_view name, std::span<const std::string> candidates) {
  std::string_view nearest = Nearest(name, candidates);
  return nearest.empty() ? std::string() : "; did you mean '" + std::string(nearest) + "'?";
}

std::string DidYouMeanOp(std::string_view name, std::span<const std::string> candidates) {
  const auto last_part = [](std::string_view op) { return op.substr(op.find('.') + 1); };
  for (const std::string& candidate : candidates)
    if (last_part(candidate) == last_part(name)) return "; did you mean '" + candidate + "'?";
  return DidYouMean(name, candidates);
}

}  // namespace tenon
