#include "kernels/cpu/tree_records.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kernels/trusted_layout.h"

namespace tenon::kernels::cpu {
namespace {

// Each block of rows reads all trees, so that blocks are as large as leaves their keys in the
// caches near the core.
constexpr int64_t kKeyBytes = 64 << 10, kFewestRows = 64, kMostRows = 512;

template <typename T>
class TreePacker {
 public:
  using Record = TreeRecord<T>;
  using Key = typename Record::Key;
  using Span = typename Record::Span;

  TreePacker(const TreeCall& call, int64_t num_targets, const TreeLayout& layout, std::byte* packed)
      : call_(call),
        num_targets_(num_targets),
        layout_(layout),
        packed_(packed),
        splits_(call.inputs[TreeCall::kSplits].as<T>()),
        records_(reinterpret_cast<Record*>(packed + layout.records_at)),
        header_(reinterpret_cast<TreeHeader*>(packed)),
        sides_(static_cast<size_t>(call.num_branches)) {}

  void Pack();

 private:
  static constexpr Key kLeast = std::numeric_limits<Key>::min();
  static constexpr Key kNan = std::numeric_limits<Key>::max();

  struct Interval {
    Key first;
    Span span;
  };
  static Interval Between(Key first, Key last) {
    return {first, static_cast<Span>(static_cast<Span>(last) - static_cast<Span>(first))};
  }
  static Interval Only(Key key) { return {key, 0}; }
  static Interval None() { return Only(kLeast); }  // no number has this key

  // Does a branch need a second record, for NaN?
  bool IsTwofold(int64_t branch) const {
    return call_.branches[branch].test == TreeCall::kEqual &&
           call_.branches[branch].nan_is_yes != 0;
  }
  Interval IntervalOf(int64_t branch) const;

  void PackFeatures();
  void PackWeights();
  void PackTree(int64_t tree);
  // Writes the record of a node. One for the sides of a new branch follows later.
  void Write(int64_t node, int64_t record);
  // Returns the place for two records.
  int64_t TwoRecords() { return std::exchange(used_, used_ + 2); }
  // The keys of the feature of a branch.
  uint32_t FeatureAt(int64_t branch) const {
    return slots_[static_cast<size_t>(branch)] *
           static_cast<uint32_t>(header_->rows * static_cast<int64_t>(sizeof(Key)));
  }
  uint32_t PlaceOf(int64_t record) const {
    return static_cast<uint32_t>(record * static_cast<int64_t>(sizeof(Record)));
  }

  const TreeCall& call_;
  const int64_t num_targets_;
  const TreeLayout& layout_;
  std::byte* packed_;
  const T* splits_;
  Record* records_;
  TreeHeader* header_;
  int64_t used_ = 0;             // records
  std::vector<int64_t> sides_;   // of branches: the first record of the sides; 0: none yet
  std::vector<int64_t> open_;    // branches whose sides are to be written
  std::vector<int64_t> order_;   // TreeCall::Check
  std::vector<uint32_t> slots_;  // of features: the number among those that are used
  std::vector<TreeLeaf> leaves_;
};

template <typename T>
typename TreePacker<T>::Interval TreePacker<T>::IntervalOf(int64_t branch) const {
  const int64_t test = call_.branches[branch].test;
  const bool nan = call_.branches[branch].nan_is_yes != 0;
  const Key split = KeyOf(splits_[branch]), infinity = KeyOf(std::numeric_limits<T>::infinity());
  if (split == kNan) {
    if (test == TreeCall::kNotEqual) return None();  // the sides are exchanged
    return nan ? Only(kNan) : None();
  }
  switch (test) {
    case TreeCall::kLessEqual:
      return Between(nan ? kNan : kLeast, split);
    case TreeCall::kLess:
      return Between(nan ? kNan : kLeast, split - 1);
    case TreeCall::kGreaterEqual:
      return Between(split, nan ? kNan : infinity);
    case TreeCall::kGreater:
      if (split == infinity) return nan ? Only(kNan) : None();
      return Between(split + 1, nan ? kNan : infinity);
    default:
      return Only(split);
  }
}

template <typename T>
void TreePacker<T>::PackFeatures() {
  std::vector<int64_t> used;
  for (int64_t i = 0; i < call_.num_branches; ++i) used.push_back(call_.branches[i].feature);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  std::copy(used.begin(), used.end(), reinterpret_cast<int64_t*>(packed_ + layout_.features_at));
  header_->features = used.empty() ? 0 : used.back() + 1;
  header_->used_features = static_cast<int64_t>(used.size());
  const int64_t row_bytes = header_->used_features * static_cast<int64_t>(sizeof(Key));
  header_->rows =
      std::clamp(kKeyBytes / std::max<int64_t>(row_bytes, 1) / kFewestRows * kFewestRows,
                 kFewestRows, kMostRows);
  for (int64_t i = 0; i < call_.num_branches; ++i) {
    const auto at = std::lower_bound(used.begin(), used.end(), call_.branches[i].feature);
    slots_.push_back(static_cast<uint32_t>(at - used.begin()));
  }
}

// The weights of a leaf for one target become one.
template <typename T>
void TreePacker<T>::PackWeights() {
  auto* targets = reinterpret_cast<uint32_t*>(packed_ + layout_.targets_at);
  auto* weights = reinterpret_cast<double*>(packed_ + layout_.weights_at);
  const T* values = call_.inputs[TreeCall::kWeights].as<T>();
  uint32_t count = 0;
  bool is_one_weight = num_targets_ == 1;
  std::vector<std::pair<int64_t, uint32_t>> place(static_cast<size_t>(num_targets_), {-1, 0});
  for (int64_t leaf = 0; leaf < call_.num_leaves; ++leaf) {
    const uint32_t first = count;
    for (int64_t i = call_.leaves[leaf]; i < call_.leaves[leaf + 1]; ++i) {
      auto& [last_leaf, at] = place[static_cast<size_t>(call_.targets[i])];
      if (std::exchange(last_leaf, leaf) != leaf) {
        at = count++;
        targets[at] = static_cast<uint32_t>(call_.targets[i]);
        weights[at] = 0;
      }
      weights[at] += static_cast<double>(values[i]);
    }
    leaves_.push_back({.weights = {first, count - first}});
    is_one_weight &= count - first == 1;
  }
  header_->is_one_weight = is_one_weight;
  if (!is_one_weight) return;
  for (TreeLeaf& leaf : leaves_) leaf.weight = weights[leaf.weights.first];
}

template <typename T>
void TreePacker<T>::Write(int64_t node, int64_t record) {
  Record& to = records_[record];
  if (node >= call_.num_branches) {
    to = {.first = 0, .span = std::numeric_limits<Span>::max(), .yes = PlaceOf(record)};
    reinterpret_cast<TreeLeaf*>(packed_ + layout_.leaves_at)[record] =
        leaves_[static_cast<size_t>(node - call_.num_branches)];
    return;
  }
  int64_t& sides = sides_[static_cast<size_t>(node)];
  if (sides == 0) {
    sides = TwoRecords();
    open_.push_back(node);
  }
  const Interval interval = IntervalOf(node);
  to = {.first = interval.first,
        .span = interval.span,
        .feature = FeatureAt(node),
        .yes = PlaceOf(sides)};
}

template <typename T>
void TreePacker<T>::PackTree(int64_t tree) {
  const int64_t root = used_++;
  reinterpret_cast<uint32_t*>(packed_ + layout_.roots_at)[tree] = PlaceOf(root);
  Write(call_.roots[tree], root);
  for (size_t next = 0; next < open_.size(); ++next) {
    const int64_t branch = open_[next], at = sides_[static_cast<size_t>(branch)];
    int64_t yes = call_.branches[branch].yes, no = call_.branches[branch].no;
    if (call_.branches[branch].test == TreeCall::kNotEqual) std::swap(yes, no);
    if (!IsTwofold(branch)) {
      Write(yes, at);
      Write(no, at + 1);
      continue;
    }
    const int64_t of_nan = TwoRecords();
    Write(yes, at);
    records_[at + 1] = {
        .first = kNan, .span = 0, .feature = FeatureAt(branch), .yes = PlaceOf(of_nan)};
    Write(yes, of_nan);
    Write(no, of_nan + 1);
  }
  open_.clear();
}

template <typename T>
void TreePacker<T>::Pack() {
  std::memset(packed_, 0, layout_.bytes);
  // Runs compare header_->features with what they have.
  if (!call_.Check(std::numeric_limits<int64_t>::max(), num_targets_, order_).ok()) return;
  PackFeatures();
  PackWeights();
  for (int64_t tree = 0; tree < call_.num_roots; ++tree) PackTree(tree);
  std::vector<uint32_t> depth(static_cast<size_t>(call_.num_branches + call_.num_leaves));
  for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
    const TreeCall::Branch& branch = call_.branches[*it];
    depth[static_cast<size_t>(*it)] =
        (IsTwofold(*it) ? 2 : 1) +
        std::max(depth[static_cast<size_t>(branch.yes)], depth[static_cast<size_t>(branch.no)]);
  }
  auto* depths = reinterpret_cast<uint32_t*>(packed_ + layout_.depths_at);
  for (int64_t tree = 0; tree < call_.num_roots; ++tree) {
    depths[tree] = depth[static_cast<size_t>(call_.roots[tree])];
    header_->depth = std::max<int64_t>(header_->depth, depths[tree]);
  }
  header_->is_valid = 1;
}

}  // namespace

TreeLayout::TreeLayout(const TreeCall& call, int64_t record_size)
    : max_records(call.num_roots + 4 * call.num_branches), record_bytes(record_size) {
  bytes = sizeof(TreeHeader);
  const auto reserve = [&](int64_t count, int64_t size) {
    bytes = (bytes + 63) / 64 * 64;
    return std::exchange(bytes, bytes + static_cast<size_t>(count * size));
  };
  roots_at = reserve(call.num_roots, sizeof(uint32_t));
  depths_at = reserve(call.num_roots, sizeof(uint32_t));
  features_at = reserve(call.num_branches, sizeof(int64_t));
  leaves_at = reserve(max_records, sizeof(TreeLeaf));
  targets_at = reserve(call.num_weights, sizeof(uint32_t));
  weights_at = reserve(call.num_weights, sizeof(double));
  records_at = reserve(max_records, record_bytes);
}

std::string TreeLayout::Name(int64_t num_targets) const {
  return fmt::format("{}trees:{}:{}:{}", kTrustedLayout, record_bytes, max_records, num_targets);
}

template <typename T>
void PackTrees(const TreeCall& call, int64_t num_targets, const TreeLayout& layout,
               std::byte* packed) {
  TreePacker<T>(call, num_targets, layout, packed).Pack();
}

template void PackTrees<float>(const TreeCall&, int64_t, const TreeLayout&, std::byte*);
template void PackTrees<double>(const TreeCall&, int64_t, const TreeLayout&, std::byte*);

}  // namespace tenon::kernels::cpu
