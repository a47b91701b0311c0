// Attention on floats: tiles of query rows against blocks of keys with an online softmax, so that
// no more than a block of scores exists at a time. All layouts are read in place.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/base/ceil_div.h"
#include "kernels/calls/attention_call.h"
#include "kernels/cpu/attention/tile.h"
#include "kernels/cpu/caches.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/support.h"
#include "kernels/growing_state.h"
#include "kernels/kernel_list.h"

namespace tenon::kernels {
namespace {

using cpu::AttentionOps;
using cpu::AttentionTile;

constexpr float kMasked = -std::numeric_limits<float>::infinity();
constexpr int64_t kSmallestSplit = 256;  // keys; below, putting parts together costs too much

// Floats of keys and values, a fifth of the second-level cache.
int64_t MostFetched() {
  return cpu::ActiveCaches().second_bytes / 5 / static_cast<int64_t>(sizeof(float));
}

// A finite mask value so low that any other score leaves hidden keys without weight.
bool Swallows(float mask_value) { return mask_value <= -1e30f && mask_value != kMasked; }

AttentionOps ChooseOps() {
#if defined(__x86_64__)
  if (cpu::ActiveIsa() >= cpu::Isa::kAvx512) return cpu::AttentionOpsAvx512();
  if (cpu::ActiveIsa() >= cpu::Isa::kAvx2) return cpu::AttentionOpsAvx2();
#endif
  return cpu::AttentionOpsPortable();
}

// How the work is divided. The query rows that share a head of k and v - those of all query heads
// of its group, heads innermost - are cut into tiles; where there are fewer tiles than threads
// could use, the keys are cut too, and the parts of a tile are merged at the end.
struct AttentionState : GrowingState {
  AttentionOps ops = {};
  std::array<Growth, 2> grown = {};  // keys and values
  bool has_past = false;
  int64_t rows = 0;    // that share keys
  int64_t tiles = 0;   // per head of k
  int64_t splits = 1;  // parts of a tile's keys
  int64_t slots = 1;   // workers, each with scratch of its own
  int64_t slot_floats = 0;
  bool reference = false;  // left to the reference kernel: all keys hidden as the first one is

  int64_t tile_rows() const { return (rows + tiles - 1) / tiles; }  // at most
  // Is a task all of a head, so that no other waits for the keys and values that it appends?
  bool AppendsInTasks() const { return tiles == 1 && splits == 1; }
  std::span<Growth> growths() override { return std::span(grown).first(has_past ? 2 : 0); }
};

// Floats that a part of a tile leaves behind: its rows of results, their maxima and sums.
int64_t PartFloats(const AttentionState& state, int64_t v_dim) {
  return state.splits == 1 ? 0 : state.tile_rows() * (v_dim + 2);
}

template <auto kReadCall>
KernelStatus PrepareAttention(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const AttentionCall call = kReadCall(args.inputs, args.outputs, args.attrs);
  auto state = std::make_shared<AttentionState>();
  if (call.repeats_first_key) {  // of fused.attention alone
    state->reference = true;
    args.scratch_bytes = static_cast<size_t>(call.k_len) * sizeof(double);
    out = std::move(state);
    return KernelStatus::Ok();
  }
  state->ops = ChooseOps();
  state->has_past = call.has_past;
  constexpr int kPast = AttentionCall::kPast;
  state->grown = {{{.from = kPast, .to = 1}, {.from = kPast + 1, .to = 2}}};
  const int64_t heads = call.batch * call.kv_heads;
  state->rows = call.q_len * (call.heads / std::max<int64_t>(call.kv_heads, 1));
  const double keys = static_cast<double>(heads) * static_cast<double>(call.k_len) *
                      static_cast<double>(call.dim + call.v_dim);
  // Reading a float of k or v takes as long as sixteen operations on it.
  const double work = keys * (2 * static_cast<double>(state->rows) + 16);
  const int64_t threads = cpu::ThreadsFor(work, *args.device);
  // Every tile transposes the keys that it sees, which takes as long as multiplying some six rows.
  const int64_t fewest = int64_t{4} * state->ops.strip_rows;
  state->tiles = CeilDiv(std::max<int64_t>(state->rows, 1), cpu::kMaxQueryRows);
  if (threads > 1 && heads * state->tiles < 4 * threads) {
    state->tiles =
        std::clamp<int64_t>(state->rows / fewest, state->tiles, CeilDiv(4 * threads, heads));
  }
  const int64_t tiles = std::max<int64_t>(heads * state->tiles, 1);
  if (tiles < 2 * threads && threads > 1) {
    state->splits =
        std::clamp<int64_t>(call.k_len / kSmallestSplit, 1, CeilDiv(2 * threads, tiles));
  }
  const int64_t tasks = tiles * state->splits;
  state->slots = std::min(threads, tasks);
  state->slot_floats = cpu::TileScratchFloats(call.dim, call.v_dim);
  args.scratch_bytes = static_cast<size_t>(state->slots * state->slot_floats +
                                           tasks * PartFloats(*state, call.v_dim)) *
                       sizeof(float);
  out = std::move(state);
  return KernelStatus::Ok();
}

// Heads that lie `pitch` rows apart, if it is not 0.
void SetPitch(AttentionCall::Layout& layout, int64_t kv_heads, int64_t pitch) {
  if (pitch == 0) return;
  layout.head = pitch * layout.row;
  layout.batch = kv_heads * layout.head;
}

// present = the rows of past and then those of `now`, for one of the heads of all batch elements.
// past and present are [B, H, rows, dim].
void AppendRows(const AttentionCall& call, int64_t head, const TensorView& past,
                const AttentionCall::Layout& past_layout, const TensorView& now,
                const AttentionCall::Layout& layout, int64_t dim, const TensorView& present,
                const AttentionCall::Layout& present_layout) {
  const int64_t b = head / call.kv_heads, h = head % call.kv_heads, old = call.past_len * dim;
  const float* const before = past.as<float>() + past_layout.At(b, h, 0);
  float* to = present.as<float>() + present_layout.At(b, h, 0);
  if (to != before) std::copy_n(before, old, to);
  to += old;
  for (int64_t j = 0; j < call.new_len(); ++j, to += dim) {
    const float* from = now.as<float>() + layout.At(b, h, j);
    if (layout.element == 1) {
      std::copy_n(from, dim, to);
      continue;
    }
    for (int64_t d = 0; d < dim; ++d) to[d] = from[d * layout.element];
  }
}

void Append(const AttentionCall& call, const RunArgs& args, int64_t head) {
  constexpr size_t kPast = AttentionCall::kPast;
  AppendRows(call, head, args.inputs[kPast], call.past_k, args.inputs[1], call.k, call.dim,
             args.outputs[1], call.present_k);
  AppendRows(call, head, args.inputs[kPast + 1], call.past_v, args.inputs[2], call.v, call.v_dim,
             args.outputs[2], call.present_v);
}

// The tensors of one call. Keys and values behind those of a past are read from the results, where
// they are put head by head as they are needed, so that attention finds them in the cache.
class Worker {
 public:
  Worker(const AttentionCall& call, const AttentionState& state, const RunArgs& args)
      : call_(call),
        state_(state),
        args_(args),
        group_(call.heads / call.kv_heads),
        q_(args.inputs[0].as<float>()),
        k_(call.has_past ? args.outputs[1].as<float>() : args.inputs[1].as<float>()),
        v_(call.has_past ? args.outputs[2].as<float>() : args.inputs[2].as<float>()),
        k_layout_(call.has_past ? call.present_k : call.k),
        v_layout_(call.has_past ? call.present_v : call.v),
        out_(args.outputs[0].as<float>()),
        in_place_(!call.has_past || k_ == args.inputs[AttentionCall::kPast].data),
        scratch_(static_cast<float*>(args.scratch)),
        parts_(scratch_ + state.slots * state.slot_floats) {}

  int64_t tasks() const { return call_.batch * call_.kv_heads * state_.tiles * state_.splits; }

  // Takes tasks from the common counter until none is left.
  void Run(int64_t slot, std::atomic<int64_t>& next) const {
    const int64_t chunk = std::max<int64_t>(1, tasks() / (state_.slots * 16));
    std::array<AttentionTile, 2> tiles = {SameForAll(), SameForAll()};
    AttentionTile *now = &tiles[0], *after = &tiles[1];
    now->scratch = after->scratch = scratch_ + slot * state_.slot_floats;
    int64_t set = -1;  // the task that `now` describes
    for (;;) {
      const int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= tasks()) return;
      const int64_t end = std::min(tasks(), begin + chunk);
      for (int64_t task = begin; task < end; ++task) {
        if (set != task) SetTask(task, *now);
        set = task + 1 < (state_.slots == 1 ? tasks() : end) ? task + 1 : -1;
        if (set > 0) SetTask(set, *after);
        now->next = set > 0 && in_place_ ? after : nullptr;
        Attend(task, *now);
        std::swap(now, after);
      }
    }
  }

  // Puts the parts of tiles [begin, end) together.
  void Merge(int64_t begin, int64_t end) const {
    for (int64_t tile = begin; tile < end; ++tile) {
      const Rows rows = RowsOf(tile);
      Walk at = WalkOver(rows);
      for (int64_t r = 0; r < rows.count; ++r, at.Next()) {
        MergeRow(tile * state_.splits, r, out_ + call_.out.At(rows.b, at.head(), at.i));
      }
    }
  }

 private:
  // Rows of one tile: `first` counts among the rows that share head `kv` of batch element b.
  struct Rows {
    int64_t b, kv, first, count;
  };
  // A part's results in the scratch.
  struct Part {
    float *rows, *max, *sum;
  };

  Rows RowsOf(int64_t tile) const {
    const int64_t head = tile / state_.tiles, i = tile % state_.tiles;
    const int64_t first = state_.rows * i / state_.tiles;
    const int64_t end = state_.rows * (i + 1) / state_.tiles;
    return {head / call_.kv_heads, head % call_.kv_heads, first, end - first};
  }

  // The query position and the head of rows that follow each other.
  struct Walk {
    int64_t group, first_head, i, in_group;
    int64_t head() const { return first_head + in_group; }
    void Next() {
      if (++in_group == group) in_group = 0, ++i;
    }
  };
  Walk WalkOver(const Rows& rows) const {
    return {group_, rows.kv * group_, rows.first / group_, rows.first % group_};
  }

  Part PartOf(int64_t task) const {
    float* at = parts_ + task * PartFloats(state_, call_.v_dim);
    float* max = at + state_.tile_rows() * call_.v_dim;
    return {at, max, max + state_.tile_rows()};
  }

  AttentionTile SameForAll() const {
    AttentionTile tile;
    tile.k_row = k_layout_.row;
    tile.k_element = k_layout_.element;
    tile.v_row = v_layout_.row;
    tile.dim = call_.dim;
    tile.v_dim = call_.v_dim;
    tile.scale = call_.scale;
    tile.softcap = call_.softcap;
    tile.mask_value = call_.mask_value;
    tile.mask_replaces = call_.mask_replaces;
    tile.mask_last = call_.mask_last;
    tile.nan_guard = call_.nan_guard || call_.zero_nan_rows;
    tile.group = group_;
    tile.most_fetched = MostFetched();
    tile.cache_ways = cpu::ActiveCaches().first_ways;
    tile.by_position = call_.causal || call_.window > 0;
    tile.last_seen = call_.causal ? call_.causal_offset : call_.k_len;
    tile.first_seen = call_.window > 0 ? call_.causal_offset - call_.window + 1 : -call_.q_len;
    return tile;
  }

  // What belongs to the rows that share head `kv` of batch element b.
  template <typename T>
  static cpu::RowsAt<T> RowsIn(T* base, const AttentionCall::Layout& layout, int64_t b,
                               int64_t first_head) {
    return {base + layout.At(b, first_head, 0), layout.row, layout.head};
  }

  template <typename T>
  void SetTerm(const TensorView& tensor, const AttentionCall::ScoreStrides& strides,
               const Rows& rows, cpu::ScoreTerm<T>& term) const {
    const int64_t first_head = rows.kv * group_;
    const T* base = tensor.as<T>() + rows.b * strides[0] + first_head * strides[1];
    term.rows = {base, strides[2], strides[1]};
    term.step = strides[3];
  }

  void SetRows(const Rows& rows, AttentionTile& tile) const {
    tile.first = rows.first;
    tile.rows = rows.count;
    tile.q = RowsIn(q_, call_.q, rows.b, rows.kv * group_);
    tile.out = RowsIn(out_, call_.out, rows.b, rows.kv * group_);
    tile.k = k_ + k_layout_.At(rows.b, rows.kv, 0);
    tile.v = v_ + v_layout_.At(rows.b, rows.kv, 0);
    if (call_.bias.present()) SetTerm(call_.bias, call_.bias_strides, rows, tile.bias);
    if (call_.mask.dtype == DType::kBool) {
      SetTerm(call_.mask, call_.mask_strides, rows, tile.keep);
    } else if (call_.mask.present()) {
      SetTerm(call_.mask, call_.mask_strides, rows, tile.mask);
    }
    if (call_.key_mask.present()) {
      tile.key_keep = call_.key_mask.as<uint8_t>() + rows.b * call_.key_mask_strides[0];
      tile.key_keep_step = call_.key_mask_strides[3];
    }
  }

  // A finite mask value gives hidden keys a weight; only a very low one does not, and then only
  // in rows that see another key, which in parts of the keys cannot be known.
  bool Swallowed() const { return Swallows(call_.mask_value) && state_.splits == 1; }

  void SetTask(int64_t task, AttentionTile& tile) const {
    const int64_t split = task % state_.splits;
    const Rows rows = RowsOf(task / state_.splits);
    SetRows(rows, tile);
    if (state_.splits > 1) tile.part = PartOf(task).rows;
    int64_t begin = 0, end = call_.k_len;
    tile.skip_hidden = call_.mask_value == kMasked || Swallowed();
    if (tile.skip_hidden) {
      end = call_.VisibleTo((rows.first + rows.count - 1) / group_).end;
      begin = std::min(call_.VisibleTo(rows.first / group_).first, end);
      SkipHiddenKeys(tile, begin, end);
    }
    tile.begin = begin + (end - begin) * split / state_.splits;
    tile.end = begin + (end - begin) * (split + 1) / state_.splits;
  }

  void Attend(int64_t task, AttentionTile& tile) const {
    if (call_.has_past && state_.AppendsInTasks()) Append(call_, args_, task);
    Run(tile);
    if (Swallowed() && HiddenKeysCount(tile)) {
      SetRows(RowsOf(task), tile);
      tile.skip_hidden = false;
      tile.begin = 0;
      tile.end = call_.k_len;
      Run(tile);
    }
    if (state_.splits == 1) {
      if (call_.zero_nan_rows) ZeroNanRows(RowsOf(task), tile.sum);
      return;
    }
    const Part part = PartOf(task);
    std::copy_n(tile.max, tile.rows, part.max);
    std::copy_n(tile.sum, tile.rows, part.sum);
  }

  // Takes keys off both ends that the mask of keys hides, and the mask if it hides no other.
  static void SkipHiddenKeys(AttentionTile& tile, int64_t& begin, int64_t& end) {
    if (tile.key_keep == nullptr || tile.key_keep_step != 1) return;
    while (begin < end && tile.key_keep[end - 1] == 0) --end;
    while (begin < end && tile.key_keep[begin] == 0) ++begin;
    const auto keys = static_cast<size_t>(end - begin);
    if (std::memchr(tile.key_keep + begin, 0, keys) == nullptr) tile.key_keep = nullptr;
  }

  void Run(AttentionTile& tile) const {
    if (tile.rows <= state_.ops.few_rows) {
      state_.ops.attend_few(tile);
    } else {
      state_.ops.attend(tile);
    }
  }

  void ZeroNanRows(const Rows& rows, const float* sums) const {
    Walk at = WalkOver(rows);
    for (int64_t r = 0; r < rows.count; ++r, at.Next()) {
      if (!std::isnan(sums[r])) continue;
      std::fill_n(out_ + call_.out.At(rows.b, at.head(), at.i), call_.v_dim, 0.0f);
    }
  }

  // Has some row seen none but hidden keys?
  bool HiddenKeysCount(const AttentionTile& tile) const {
    return !std::all_of(tile.max, tile.max + tile.rows,
                        [&](float max) { return max > call_.mask_value / 2; });
  }

  void MergeRow(int64_t first_task, int64_t r, float* out) const {
    float max = kMasked, sum = 0;
    for (int64_t s = 0; s < state_.splits; ++s) max = std::max(max, PartOf(first_task + s).max[r]);
    const float base = max == kMasked ? 0 : max;
    for (int64_t s = 0; s < state_.splits; ++s) {
      const Part part = PartOf(first_task + s);
      const float weight = std::exp(part.max[r] - base);
      const float* from = part.rows + r * call_.v_dim;
      sum += weight * part.sum[r];
      for (int64_t d = 0; d < call_.v_dim; ++d) out[d] = (s == 0 ? 0 : out[d]) + weight * from[d];
    }
    const bool guarded = call_.nan_guard || call_.zero_nan_rows;
    const float factor = guarded && sum == 0 ? 0 : 1 / sum;
    for (int64_t d = 0; d < call_.v_dim; ++d) out[d] *= factor;
    if (call_.zero_nan_rows && std::isnan(sum)) std::fill_n(out, call_.v_dim, 0.0f);
  }

  const AttentionCall& call_;
  const AttentionState& state_;
  const RunArgs& args_;
  const int64_t group_;
  const float *q_, *k_, *v_;
  const AttentionCall::Layout &k_layout_, &v_layout_;
  float* out_;
  bool in_place_;  // do keys lie where they are read from before their tile begins?
  float *scratch_, *parts_;
};

template <auto kReadCall>
KernelStatus Attention(const RunArgs& args) {
  const TensorView& out = args.outputs[0];
  AttentionCall call = kReadCall(args.inputs, args.outputs, args.attrs);
  const auto& state = *static_cast<const AttentionState*>(args.state);
  if (call.has_past) {
    const auto& [keys, values] = state.grown;
    SetPitch(call.past_k, call.kv_heads, keys.from_pitch);
    SetPitch(call.present_k, call.kv_heads, keys.to_pitch);
    SetPitch(call.past_v, call.kv_heads, values.from_pitch);
    SetPitch(call.present_v, call.kv_heads, values.to_pitch);
  }
  if (call.has_past && (out.numel() == 0 || !state.AppendsInTasks())) {
    const int64_t floats = call.k_len * (call.dim + call.v_dim);
    (*args.device->parallel)(call.batch * call.kv_heads, cpu::RowGrain(floats),
                             [&](int64_t begin, int64_t end) {
                               for (int64_t head = begin; head < end; ++head) {
                                 Append(call, args, head);
                               }
                             });
  }
  if (out.numel() == 0) return KernelStatus::Ok();
  if (call.k_len == 0) {
    std::memset(out.data, 0, static_cast<size_t>(out.bytes()));
    return KernelStatus::Ok();
  }
  const Worker worker(call, state, args);
  std::atomic<int64_t> next = 0;
  (*args.device->parallel)(state.slots, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) worker.Run(slot, next);
  });
  if (state.splits == 1) return KernelStatus::Ok();
  const int64_t tiles = call.batch * call.kv_heads * state.tiles;
  (*args.device->parallel)(tiles, cpu::RowGrain(state.tile_rows() * call.v_dim * state.splits),
                           [&](int64_t begin, int64_t end) { worker.Merge(begin, end); });
  return KernelStatus::Ok();
}

KernelStatus FusedAttention(const RunArgs& args) {
  if (static_cast<const AttentionState*>(args.state)->reference)
    return RefFusedAttention().run(args);
  return Attention<&AttentionCall::OfFused>(args);
}

// Floats throughout, but masks may be boolean.
std::string Supports(const CallSignature& call) {
  std::array<TensorView, 8> inputs;
  size_t count = std::min(call.inputs.size(), inputs.size());
  std::copy_n(call.inputs.begin(), count, inputs.begin());
  for (TensorView& input : inputs) {
    if (input.dtype == DType::kBool) input = TensorView{};
  }
  CallSignature floats = call;
  floats.inputs = std::span<const TensorView>(inputs.data(), count);
  return cpu::RequireF32(floats);
}

}  // namespace

Kernel CpuAttention() {
  return {.op = "nn.attention",
          .name = "cpu.attention",
          .priority = 10,
          .run = Attention<&AttentionCall::OfNn>,
          .prepare = PrepareAttention<&AttentionCall::OfNn>,
          .supports = Supports};
}

Kernel CpuFusedAttention() {
  return {.op = "fused.attention",
          .name = "cpu.fused_attention",
          .priority = 10,
          .run = FusedAttention,
          .prepare = PrepareAttention<&AttentionCall::OfFused>,
          .supports = Supports};
}

}  // namespace tenon::kernels
