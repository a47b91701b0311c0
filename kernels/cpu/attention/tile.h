// Attention of some query rows over a range of keys: the unit of work of cpu.fused_attention. The
// structs are plain data, because their loops are compiled once per instruction set.
#ifndef TENON_KERNELS_CPU_ATTENTION_TILE_H_
#define TENON_KERNELS_CPU_ATTENTION_TILE_H_

#include <stdint.h>

namespace tenon::kernels::cpu {

inline constexpr int64_t kMaxQueryRows = 256;  // of a tile
inline constexpr int64_t kKeyBlock = 256;      // keys whose scores are held at once

// Data of the rows of a tile. That of position i and head g of the group is at
// base + i * position + g * head. A null base means that there is none.
template <typename T>
struct RowsAt {
  T* base = nullptr;
  int64_t position = 0, head = 0;
  // The data of a row. Always inlined: files for several instruction sets share it.
  __attribute__((always_inline)) T* At(int64_t i, int64_t g) const {
    return base + i * position + g * head;
  }
};

// A value for each score of the rows: a float to add, or a byte that is 0 for hidden keys.
template <typename T>
struct ScoreTerm {
  RowsAt<const T> rows;  // the value for key 0
  int64_t step = 1;      // from key to key; 0: one value for all keys of a row
};

// The operands and results of a unit of work.
struct AttentionTile {
  // Operands. All rows share one head of k and v. Row numbers count the `group` query heads that
  // share it first, then positions.
  int64_t first = 0, rows = 0, group = 1;
  RowsAt<const float> q;                        // queries
  const float* k = nullptr;                     // key 0
  const float* v = nullptr;                     // the value of key 0
  int64_t k_row = 0, k_element = 1, v_row = 0;  // strides, in elements
  int64_t dim = 0, v_dim = 0;                   // elements of a key and of a value
  int64_t begin = 0, end = 0;                   // the keys: [begin, end)
  // With by_position, position i sees keys [i + first_seen, i + last_seen], if they exist.
  bool by_position = false;
  int64_t first_seen = 0, last_seen = 0;
  // Keys that the positions hide from all rows of a strip have no weight and are skipped.
  bool skip_hidden = false;
  ScoreTerm<float> bias, mask;        // added to scores
  ScoreTerm<uint8_t> keep;            // a mask of bools
  const uint8_t* key_keep = nullptr;  // by key, for all rows; null: absent
  int64_t key_keep_step = 1;          // from key to key
  float scale = 1, softcap = 0, mask_value = 0;
  bool mask_replaces = false, mask_last = false, nan_guard = false;

  // Results: row r of out is divided by the sum of the row. If `part` is not null, the rows go
  // there instead, one after the other and undivided.
  RowsAt<float> out;
  float* part = nullptr;
  float max[kMaxQueryRows];  // of the scores; -inf if all are
  float sum[kMaxQueryRows];  // of exp(score - max), or exp(score) if max is -inf

  // The next tile of the same thread, if known. Its operands are prefetched.
  const AttentionTile* next = nullptr;
  int64_t most_fetched = 0;  // at most so many floats of its keys and values are prefetched
  int64_t cache_ways = 8;    // of the first-level cache

  float* scratch = nullptr;  // TileScratchFloats(dim, v_dim) floats, aligned to 64 bytes
};

// Returns the floats of scratch for a tile: a block of keys and values, results, and the scores and
// queries of a strip of up to 16 rows. Rows are padded to whole vectors.
constexpr int64_t TileScratchFloats(int64_t dim, int64_t v_dim) {
  return kKeyBlock * (dim + v_dim + 16) + kMaxQueryRows * (v_dim + 16) + 16 * (kKeyBlock + dim);
}

// The loops of one instruction set.
struct AttentionOps {
  int few_rows;  // the most rows of attend_few
  // Computes few rows. Reads keys and values once, in the order of memory.
  void (*attend_few)(AttentionTile& tile);
  int strip_rows;  // multiples of it suit `attend` best
  // Computes any number of rows up to kMaxQueryRows.
  void (*attend)(AttentionTile& tile);
};

// Each returns the loops of one instruction set. The first two exist on x86-64 only.
AttentionOps AttentionOpsAvx512();
AttentionOps AttentionOpsAvx2();
AttentionOps AttentionOpsPortable();

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_ATTENTION_TILE_H_
