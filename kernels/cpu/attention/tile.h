// Attention of a few query rows over a range of keys: the unit of work of cpu.fused_attention, in
// plain data, since what computes it is compiled once per instruction set.
#ifndef TENON_KERNELS_CPU_ATTENTION_TILE_H_
#define TENON_KERNELS_CPU_ATTENTION_TILE_H_

#include <stdint.h>

namespace tenon::kernels::cpu {

inline constexpr int kMaxTileRows = 32;
inline constexpr int64_t kKeyBlock = 128;  // keys whose scores are held at once

// Values over the scores of the rows: what is added to them (float), or which are kept (bytes).
template <typename T>
struct ScoreTerm {
  const T* rows[kMaxTileRows] = {};  // of each row, the value at key 0; null throughout: absent
  int64_t step = 1;                  // from key to key; 0: one value for all keys of a row
  bool same_rows = false;            // all rows are at one address
};

struct AttentionTile {
  // Operands. The rows share the head of k and v; rows' positions do not decrease. What is said of
  // each row is also filled in up to the next multiple of the lanes, by repeating the last row.
  int rows = 0;
  const float* q[kMaxTileRows] = {};
  int64_t last_key[kMaxTileRows] = {};   // the last key that causality shows
  int64_t first_key[kMaxTileRows] = {};  // the first key that the window shows
  const float* k = nullptr;
  const float* v = nullptr;
  int64_t k_row = 0, k_element = 1, v_row = 0;
  int64_t dim = 0, v_dim = 0;
  int64_t begin = 0, end = 0;  // the keys
  ScoreTerm<float> bias, mask;
  ScoreTerm<uint8_t> keep;
  const uint8_t* key_keep = nullptr;  // by key, for all rows; null: absent
  int64_t key_keep_step = 1;
  float scale = 1, softcap = 0, mask_value = 0;
  bool mask_replaces = false, nan_guard = false;
  bool fresh = false;  // the first tile that reads these keys and values

  // Results: row r of out is divided by the row's sum unless `partial`.
  bool partial = false;
  float* out[kMaxTileRows] = {};
  float max[kMaxTileRows];  // of the scores; -inf if all are
  float sum[kMaxTileRows];  // of exp(score - max), or exp(score) if max is -inf

  float* scratch = nullptr;  // TileScratchFloats(dim, v_dim), on a cache line's boundary
};

constexpr int64_t TileScratchFloats(int64_t dim, int64_t v_dim) {
  return kMaxTileRows * (dim + v_dim + kKeyBlock + 16);
}

struct AttentionOps {
  int lanes;  // rows of a tile are best a multiple of it, at most twice as many
  // Up to `few_rows` rows: keys and values are read once, in the order they lie in memory.
  int few_rows;
  void (*attend_few)(AttentionTile& tile);
  void (*attend)(AttentionTile& tile);
};

// Of one level each; the first two exist on x86-64 only.
AttentionOps AttentionOpsAvx512();
AttentionOps AttentionOpsAvx2();
AttentionOps AttentionOpsPortable();

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_ATTENTION_TILE_H_
