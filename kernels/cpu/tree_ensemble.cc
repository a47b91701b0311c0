// Ensembles of decision trees: blocks of rows go through one tree after another, eight rows at a
// time, without a branch that depends on data. Single rows go through eight trees at a time.
#include <algorithm>
#include <limits>

#include "fmt/format.h"
#include "kernels/cpu/support.h"
#include "kernels/cpu/tree_records.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/threads/parallel_slots.h"

namespace tenon::kernels {
namespace {

using cpu::TreeHeader;
using cpu::TreeLayout;
using cpu::TreeLeaf;
using cpu::TreeRecord;
using Aggregate = nn::TreeEnsembleAggregate;

constexpr int kWays = 8;               // rows or trees that walk at the same time
constexpr int64_t kFewRows = 3;        // fewer walk one by one, through several trees
constexpr int64_t kStepsPerCheck = 4;  // then a walk ends if all are at leaves
constexpr int64_t kMaxBranches = 1 << 23, kMaxRoots = 1 << 26;  // places are 32 bits wide

struct TreeState : KernelState {
  explicit TreeState(const TreeCall& call, int64_t record_bytes) : layout(call, record_bytes) {}

  const TreeHeader& header() const { return *reinterpret_cast<const TreeHeader*>(packed.get()); }
  template <typename T>
  const T* At(size_t place) const {
    return reinterpret_cast<const T*>(packed.get() + place);
  }

  TreeLayout layout;
  PackedBytes packed;
  int64_t num_roots = 0, num_targets = 0;
  int64_t block = 0;  // rows
  int64_t slots = 1, slot_bytes = 0;
  size_t totals_at = 0, seen_at = 0;  // behind the keys of a slot
};

template <typename T>
KernelStatus PrepareTrees(PrepareArgs& args, TreeState& s) {
  const TreeCall call(args.inputs);
  constexpr int kFrom[] = {TreeCall::kBranches, TreeCall::kSplits,  TreeCall::kLeaves,
                           TreeCall::kTargets,  TreeCall::kWeights, TreeCall::kRoots};
  s.packed = args.Pack(kFrom, s.layout.Name(s.num_targets), s.layout.bytes, [&](std::byte* packed) {
    cpu::PackTrees<T>(TreeCall(args.inputs), s.num_targets, s.layout, packed);
  });
  if (s.packed == nullptr) return KernelStatus::OutOfMemory("no memory for packed trees");
  const int64_t most = std::max<int64_t>(s.header().rows, kWays);  // 0 of wrong trees
  s.block = std::clamp((s.block + kWays - 1) / kWays * kWays, int64_t{kWays}, most);
  const auto align = [](int64_t bytes) { return (bytes + 63) / 64 * 64; };
  s.totals_at = align(s.header().used_features * s.header().rows * static_cast<int64_t>(sizeof(T)));
  s.seen_at = s.totals_at + align(s.num_targets * s.block * static_cast<int64_t>(sizeof(double)));
  s.slot_bytes = static_cast<int64_t>(s.seen_at) + align(s.num_targets * s.block);
  args.scratch_bytes = static_cast<size_t>(s.slots * s.slot_bytes);
  return KernelStatus::Ok();
}

KernelStatus Prepare(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const bool is_double = args.inputs[TreeCall::kX].dtype == DType::kF64;
  auto state = std::make_shared<TreeState>(
      TreeCall(args.inputs), is_double ? sizeof(TreeRecord<double>) : sizeof(TreeRecord<float>));
  out = state;
  state->num_roots = args.inputs[TreeCall::kRoots].numel();
  state->num_targets = static_cast<const nn::TreeEnsembleAttrs*>(args.attrs)->num_targets;
  const int64_t threads = args.device->parallel->num_threads();
  const int64_t rows = args.inputs[TreeCall::kX].shape[0];
  state->block = threads == 1 ? rows : rows / (2 * threads);
  state->slots = threads;
  return is_double ? PrepareTrees<double>(args, *state) : PrepareTrees<float>(args, *state);
}

// Steps of kWays walks from the records `at`. Walk i reads the keys of row i * kRowStep.
template <typename T, int kRowStep>
[[gnu::always_inline]] inline void Walk(const std::byte* records, const std::byte* keys,
                                        int64_t depth, uint32_t (&at)[kWays]) {
  using Record = TreeRecord<T>;
  using Key = typename Record::Key;
  using Span = typename Record::Span;
  const auto record_at = [&](uint32_t place) __attribute__((always_inline)) {
    return reinterpret_cast<const Record*>(records + place);
  };
  while (depth > 0) {
    for (int64_t step = std::min(depth, kStepsPerCheck); step > 0; --step) {
#pragma GCC unroll 8
      for (int i = 0; i < kWays; ++i) {
        const Record* record = record_at(at[i]);
        const Key key = *reinterpret_cast<const Key*>(keys + record->feature +
                                                      i * kRowStep * static_cast<int>(sizeof(Key)));
        const Span distance = static_cast<Span>(key) - static_cast<Span>(record->first);
        at[i] = record->yes + (distance > record->span ? uint32_t{sizeof(Record)} : 0);
      }
    }
    depth -= kStepsPerCheck;
    if (depth <= 0) return;
    uint32_t moves = 0;
#pragma GCC unroll 8
    for (int i = 0; i < kWays; ++i) moves |= record_at(at[i])->yes ^ at[i];
    if (moves == 0) return;
  }
}

// A block of rows.
template <typename T>
class TreeBlock {
 public:
  using Record = TreeRecord<T>;
  using Key = typename Record::Key;

  TreeBlock(const TreeState& state, Aggregate aggregate, int64_t rows, std::byte* slot)
      : s_(state),
        aggregate_(aggregate),
        is_sum_(aggregate == Aggregate::kSum || aggregate == Aggregate::kAverage),
        adds_numbers_(is_sum_ && state.header().is_one_weight != 0),
        rows_(rows),
        leaves_(state.At<TreeLeaf>(state.layout.leaves_at)),
        keys_(slot),
        totals_(reinterpret_cast<double*>(slot + state.totals_at)),
        seen_(reinterpret_cast<uint8_t*>(slot + state.seen_at)) {}

  void Run(const T* x, int64_t features, T* out) {
    // Single rows at the end walk alone; more are filled up to kWays.
    const int64_t alone = rows_ % kWays <= kFewRows ? rows_ % kWays : 0;
    const int64_t together = rows_ - alone;
    ReadKeys(x, features);
    std::fill_n(totals_, rows_ * s_.num_targets, 0.0);
    std::fill_n(seen_, rows_ * s_.num_targets, uint8_t{0});
    for (int64_t tree = 0; tree < s_.num_roots; ++tree) {
      for (int64_t row = 0; row < together; row += kWays) WalkRows(tree, row);
    }
    for (int64_t row = together; row < rows_; ++row) WalkTrees(row);
    const double factor = aggregate_ == Aggregate::kAverage && s_.num_roots > 0
                              ? static_cast<double>(s_.num_roots)
                              : 1.0;
    for (int64_t i = 0; i < rows_ * s_.num_targets; ++i) {
      out[i] = static_cast<T>(totals_[i] / factor);
    }
  }

 private:
  void ReadKeys(const T* x, int64_t features);
  void WalkRows(int64_t tree, int64_t row);
  void WalkTrees(int64_t row);
  void Add(int64_t row, uint32_t place);

  const TreeState& s_;
  const Aggregate aggregate_;
  const bool is_sum_, adds_numbers_;
  const int64_t rows_;
  const TreeLeaf* leaves_;
  std::byte* keys_;
  double* totals_;  // [rows, targets]
  uint8_t* seen_;   // the same; for the least and the largest only
};

template <typename T>
void TreeBlock<T>::ReadKeys(const T* x, int64_t features) {
  const auto* used = s_.At<int64_t>(s_.layout.features_at);
  const int64_t filled = (rows_ + kWays - 1) / kWays * kWays;
  for (int64_t f = 0; f < s_.header().used_features; ++f) {
    Key* to = reinterpret_cast<Key*>(keys_) + f * s_.header().rows;
    for (int64_t row = 0; row < rows_; ++row) to[row] = cpu::KeyOf(x[row * features + used[f]]);
    std::fill(to + rows_, to + filled, Key{0});
  }
}

// Adds what the leaf at `place` has for a row.
template <typename T>
void TreeBlock<T>::Add(int64_t row, uint32_t place) {
  const TreeLeaf leaf = leaves_[place / sizeof(Record)];
  const auto put = [&](int64_t target, double weight) {
    double& total = totals_[row * s_.num_targets + target];
    uint8_t& seen = seen_[row * s_.num_targets + target];
    if (is_sum_ || seen == 0) {
      total += weight;
    } else {
      total = aggregate_ == Aggregate::kMin ? std::min(total, weight) : std::max(total, weight);
    }
    seen = 1;
  };
  if (s_.header().is_one_weight != 0) return put(0, leaf.weight);
  const auto* targets = s_.At<uint32_t>(s_.layout.targets_at) + leaf.weights.first;
  const auto* weights = s_.At<double>(s_.layout.weights_at) + leaf.weights.first;
  for (uint32_t i = 0; i < leaf.weights.count; ++i) put(targets[i], weights[i]);
}

template <typename T>
void TreeBlock<T>::WalkRows(int64_t tree, int64_t row) {
  uint32_t at[kWays];
  std::fill_n(at, kWays, s_.At<uint32_t>(s_.layout.roots_at)[tree]);
  Walk<T, 1>(s_.At<std::byte>(s_.layout.records_at),
             keys_ + row * static_cast<int64_t>(sizeof(Key)),
             s_.At<uint32_t>(s_.layout.depths_at)[tree], at);
  const int64_t count = std::min<int64_t>(rows_ - row, kWays);
  if (adds_numbers_) {
    for (int64_t i = 0; i < count; ++i) {
      totals_[row + i] += leaves_[at[i] / sizeof(Record)].weight;
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) Add(row + i, at[i]);
}

template <typename T>
void TreeBlock<T>::WalkTrees(int64_t row) {
  const auto* roots = s_.At<uint32_t>(s_.layout.roots_at);
  const auto* depths = s_.At<uint32_t>(s_.layout.depths_at);
  for (int64_t tree = 0; tree < s_.num_roots; tree += kWays) {
    const int64_t count = std::min<int64_t>(s_.num_roots - tree, kWays);
    uint32_t at[kWays], depth = 0;
    for (int64_t i = 0; i < kWays; ++i) {
      at[i] = roots[tree + std::min(i, count - 1)];
      if (i < count) depth = std::max(depth, depths[tree + i]);
    }
    Walk<T, 0>(s_.At<std::byte>(s_.layout.records_at),
               keys_ + row * static_cast<int64_t>(sizeof(Key)), depth, at);
    if (adds_numbers_) {
      double total = totals_[row];
      for (int64_t i = 0; i < count; ++i) total += leaves_[at[i] / sizeof(Record)].weight;
      totals_[row] = total;
      continue;
    }
    for (int64_t i = 0; i < count; ++i) Add(row, at[i]);
  }
}

template <typename T>
void RunTrees(const RunArgs& args, const TreeState& s) {
  const TensorView &x = args.inputs[TreeCall::kX], &out = args.outputs[0];
  const int64_t rows = x.shape[0], features = x.shape[1];
  const Aggregate aggregate = args.get<nn::TreeEnsembleAttrs>().aggregate;
  const int64_t tasks = (rows + s.block - 1) / s.block;
  const int64_t steps = s.block * s.num_roots * std::max<int64_t>(s.header().depth, 1);
  const int64_t grain = std::max<int64_t>(cpu::kSerialFlops / (8 * steps + 1), 1);
  auto* scratch = static_cast<std::byte*>(args.scratch);
  ForRangesInSlots(
      *args.device->parallel, s.slots, tasks, grain, [&](int64_t slot, int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
          const int64_t first = task * s.block;
          TreeBlock<T>(s, aggregate, std::min(s.block, rows - first), scratch + slot * s.slot_bytes)
              .Run(x.as<T>() + first * features, features, out.as<T>() + first * s.num_targets);
        }
      });
}

KernelStatus Run(const RunArgs& args) {
  const auto& s = *static_cast<const TreeState*>(args.state);
  if (s.header().is_valid == 0 || s.header().features > args.inputs[TreeCall::kX].shape[1]) {
    return RefTreeEnsemble().run(args);  // says what is wrong
  }
  if (args.inputs[TreeCall::kX].dtype == DType::kF64) {
    RunTrees<double>(args, s);
  } else {
    RunTrees<float>(args, s);
  }
  return KernelStatus::Ok();
}

std::string Supports(const CallSignature& call) {
  const DType dtype = call.inputs[TreeCall::kX].dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64) return "needs f32 or f64";
  for (int i = TreeCall::kBranches; i <= TreeCall::kRoots; ++i) {
    if (!call.constant_input[static_cast<size_t>(i)]) return "needs constant trees";
  }
  if (call.inputs[TreeCall::kBranches].shape[0] >= kMaxBranches ||
      call.inputs[TreeCall::kRoots].numel() >= kMaxRoots ||
      call.inputs[TreeCall::kWeights].numel() > std::numeric_limits<uint32_t>::max()) {
    return fmt::format("needs fewer than {} branches and {} trees", kMaxBranches, kMaxRoots);
  }
  return "";
}

}  // namespace

Kernel CpuTreeEnsemble() {
  return {.op = "nn.tree_ensemble",
          .name = "cpu.tree_ensemble",
          .priority = 10,
          .run = Run,
          .prepare = Prepare,
          .supports = Supports};
}

}  // namespace tenon::kernels
