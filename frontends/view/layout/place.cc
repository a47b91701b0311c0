// Horizontal positions: each row in turn is put as near to its neighbors as its order allows.
#include <algorithm>

#include "frontends/view/layout/layered.h"

namespace tenon::view {
namespace {

constexpr int kRounds = 8;

class Placer {
 public:
  Placer(const Layering& layering, const LayerSizes& sizes)
      : l_(layering),
        sizes_(sizes),
        middle_(layering.row_of.size(), 0),
        above_(middle_.size()),
        below_(middle_.size()) {
    for (const Layering::Link& link : l_.links) {
      const double from = OffsetOf(sizes.from_offsets, link.from, link.edge);
      const double to = OffsetOf(sizes.to_offsets, link.to, link.edge);
      // Long edges are straight.
      const int bends = (IsBend(link.from) ? 1 : 0) + (IsBend(link.to) ? 1 : 0);
      const double weight = bends == 2 ? 8 : bends == 1 ? 2 : 1;
      above_[At(link.to)].push_back({link.from, from - to, weight});
      below_[At(link.from)].push_back({link.to, to - from, weight});
    }
  }

  std::vector<double> Run() {
    for (const std::vector<int>& row : l_.rows) Pack(row);
    for (int round = 0; round < kRounds; ++round) {
      for (size_t i = 1; i < l_.rows.size(); ++i) Align(l_.rows[i], true, false);
      for (size_t i = l_.rows.size(); i-- > 0;) Align(l_.rows[i], round == kRounds - 1, true);
    }
    double left = 0;
    bool any = false;
    for (size_t node = 0; node < middle_.size(); ++node) {
      const double side = middle_[node] - Half(static_cast<int>(node));
      left = any ? std::min(left, side) : side;
      any = true;
    }
    for (double& middle : middle_) middle -= left;
    return std::move(middle_);
  }

 private:
  struct Neighbor {
    int node;
    double shift;  // from the middle of the neighbor to the place that makes the link vertical
    double weight;
  };
  // Nodes that lie side by side, at the mean of where they want to be.
  struct Cluster {
    double sum, weight;
    size_t nodes;
    double mean() const { return sum / weight; }
  };

  static size_t At(int node) { return static_cast<size_t>(node); }
  bool IsBend(int node) const { return node >= l_.num_vertices; }
  double Half(int node) const {
    return (IsBend(node) ? sizes_.bend_width : sizes_.widths[At(node)]) / 2;
  }
  double OffsetOf(std::span<const double> offsets, int node, int edge) const {
    return IsBend(node) || offsets.empty() ? 0 : offsets[At(edge)];
  }
  double Distance(int a, int b) const { return Half(a) + sizes_.gap + Half(b); }

  void Pack(const std::vector<int>& row) {
    double x = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) x += Distance(row[i - 1], row[i]);
      middle_[At(row[i])] = x;
    }
    for (const int node : row) middle_[At(node)] -= x / 2;
  }

  // The weighted least squares under the distances, by pooling of neighbors.
  void Align(const std::vector<int>& row, bool use_above, bool use_below) {
    std::vector<Cluster> clusters;
    std::vector<double> offset(row.size(), 0);
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) offset[i] = offset[i - 1] + Distance(row[i - 1], row[i]);
      double sum = 0, weight = 0;
      for (const auto* list : {use_above ? &above_ : nullptr, use_below ? &below_ : nullptr}) {
        if (list == nullptr) continue;
        for (const Neighbor& n : (*list)[At(row[i])]) {
          sum += n.weight * (middle_[At(n.node)] + n.shift);
          weight += n.weight;
          Count();
        }
      }
      if (weight == 0) {
        weight = 0.05;
        sum = weight * middle_[At(row[i])];
      }
      Count();
      clusters.push_back({sum - weight * offset[i], weight, 1});
      while (clusters.size() > 1 && clusters.end()[-2].mean() > clusters.back().mean()) {
        const Cluster last = clusters.back();
        clusters.pop_back();
        clusters.back().sum += last.sum;
        clusters.back().weight += last.weight;
        clusters.back().nodes += last.nodes;
      }
    }
    size_t i = 0;
    for (const Cluster& cluster : clusters) {
      for (size_t k = 0; k < cluster.nodes; ++k, ++i)
        middle_[At(row[i])] = cluster.mean() + offset[i];
    }
  }

  void Count() {
    if (sizes_.steps != nullptr) ++*sizes_.steps;
  }

  const Layering& l_;
  const LayerSizes& sizes_;
  std::vector<double> middle_;
  std::vector<std::vector<Neighbor>> above_, below_;
};

}  // namespace

std::vector<double> Place(const Layering& layering, const LayerSizes& sizes) {
  return Placer(layering, sizes).Run();
}

double WidthOf(const Layering& layering, std::span<const double> middles, const LayerSizes& sizes) {
  double width = 0;
  for (size_t node = 0; node < middles.size(); ++node) {
    const bool bend = node >= static_cast<size_t>(layering.num_vertices);
    width = std::max(width, middles[node] + (bend ? sizes.bend_width : sizes.widths[node]) / 2);
  }
  return width;
}

}  // namespace tenon::view
