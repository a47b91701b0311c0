// Attention of some query rows over a range of keys: the unit of work of cpu.fused_attention, in
// plain data, since what computes it is compiled once per instruction set.
#ifndef TENON_KERNELS_CPU_ATTENTION_TILE_H_
#define TENON_KERNELS_CPU_ATTENTION_TILE_H_

#include <stdint.h>

namespace tenon::kernels::cpu {

inline constexpr int64_t kMaxQueryRows = 256;
inline constexpr int64_t kKeyBlock = 256;  // keys whose scores are held at once

// What belongs to the rows of a tile: of position i and head g of the group, at
// base + i * position + g * head. A null base: nothing.
template <typename T>
struct RowsAt {
  T* base = nullptr;
  int64_t position = 0, head = 0;
  // Always inlined: files for several instruction sets share it.
  __attribute__((always_inline)) T* At(int64_t i, int64_t g) const {
    return base + i * position + g * head;
  }
};

// Values over the scores of the rows, from key 0 on: what is added (float), or which are kept
// (bytes).
template <typename T>
struct ScoreTerm {
  RowsAt<const T> rows;
  int64_t step = 1;  // from key to key; 0: one value for all keys of a row
};

struct AttentionTile {
  // Operands. The rows share the head of k and v; they are counted over the query heads that do,
  // `group` of them, and then over positions.
  int64_t first = 0, rows = 0, group = 1;
  RowsAt<const float> q;
  const float* k = nullptr;
  const float* v = nullptr;
  int64_t k_row = 0, k_element = 1, v_row = 0;
  int64_t dim = 0, v_dim = 0;
  int64_t begin = 0, end = 0;  // the keys
  // Position i sees keys [i + first_seen, i + last_seen], as far as there are such.
  bool by_position = false;
  int64_t first_seen = 0, last_seen = 0;
  // Keys that all rows of a strip are kept from by their positions have no weight and are passed
  // over.
  bool skip_hidden = false;
  ScoreTerm<float> bias, mask;
  ScoreTerm<uint8_t> keep;
  const uint8_t* key_keep = nullptr;  // by key, for all rows; null: absent
  int64_t key_keep_step = 1;
  float scale = 1, softcap = 0, mask_value = 0;
  bool mask_replaces = false, mask_last = false, nan_guard = false;

  // Results: row r of out is divided by the row's sum. With `part` the tile's rows go there
  // instead, one after the other and undivided.
  RowsAt<float> out;
  float* part = nullptr;
  float max[kMaxQueryRows];  // of the scores; -inf if all are
  float sum[kMaxQueryRows];  // of exp(score - max), or exp(score) if max is -inf

  // What the same thread computes next, if known: its operands are fetched meanwhile.
  const AttentionTile* next = nullptr;
  int64_t most_fetched = 0;  // floats of its keys and values; more of them are not
  int64_t cache_ways = 8;    // of the first-level cache

  float* scratch = nullptr;  // TileScratchFloats(dim, v_dim), on a cache line's boundary
};

// A block of keys and values, results, and a strip's scores and queries, up to 16 rows; elements of
// rows are filled up to vectors.
constexpr int64_t TileScratchFloats(int64_t dim, int64_t v_dim) {
  return kKeyBlock * (dim + v_dim + 16) + kMaxQueryRows * (v_dim + 16) + 16 * (kKeyBlock + dim);
}

struct AttentionOps {
  // Up to `few_rows` rows: keys and values are read once, in the order they lie in memory.
  int few_rows;
  void (*attend_few)(AttentionTile& tile);
  // Any number of rows up to kMaxQueryRows; multiples of strip_rows are best.
  int strip_rows;
  void (*attend)(AttentionTile& tile);
};

// Of one level each; the first two exist on x86-64 only.
AttentionOps AttentionOpsAvx512();
AttentionOps AttentionOpsAvx2();
AttentionOps AttentionOpsPortable();

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_ATTENTION_TILE_H_
