// What is read later, fetched little by little in the steps of a product: fetches that follow each
// other wait for each other, and what comes behind them waits too.
#ifndef TENON_KERNELS_CPU_ATTENTION_FETCH_INL_H_
#define TENON_KERNELS_CPU_ATTENTION_FETCH_INL_H_

#include <stdint.h>

namespace tenon::kernels::cpu {
namespace {

// Fetching is inlined into loops that compute: a function that does nothing else counts as one
// without effects, and compilers leave out calls of it.

// Pairs of cache lines at `at`, at + step, …: one for each of the first `count` steps of a product.
struct FetchSteps {
  const char* at = nullptr;
  int64_t step = 0;  // bytes
  int64_t count = 0;
  __attribute__((always_inline)) void Next() {
    __builtin_prefetch(at, 0, 2);
    __builtin_prefetch(at + 64, 0, 2);
    at += step;
  }
};

// Blocks of rows that are to be fetched. Of a block the first pair of lines of each row comes
// first, then the second, and so on.
class FetchQueue {
 public:
  void Add(const float* at, int64_t row, int64_t rows, int64_t floats) {
    if (rows <= 0 || floats <= 0) return;
    if (row == floats) floats *= rows, rows = 1;
    const auto before = static_cast<int64_t>(reinterpret_cast<uintptr_t>(at) % kLine);
    const int64_t row_bytes = row * kFloat;
    // Where rows begin at different places of a line, all may need as much as the worst one does.
    const int64_t bytes = floats * kFloat + (row_bytes % kLine == 0 ? before : kLine - kFloat);
    Block& block = blocks_[end_++];
    block = {reinterpret_cast<const char*>(at) - before, row_bytes, rows,
             (bytes + kPair - 1) / kPair};
    if (rows == 1) block.row = kPair, block.rows = block.pairs, block.pairs = 1;
    left_ += block.rows * block.pairs;
  }

  // For a product of so many steps: pairs of one block, if any is left.
  FetchSteps Take(int64_t steps) {
    if (left_ == 0) return {};
    const Block& from = blocks_[block_];
    const int64_t left = from.rows - row_, count = left < steps ? left : steps;
    const FetchSteps taken = {from.at + row_ * from.row + pair_ * kPair, from.row, count};
    left_ -= count;
    row_ += count;
    if (row_ == from.rows) row_ = 0, ++pair_;
    if (pair_ == from.pairs) pair_ = 0, ++block_;
    return taken;
  }

  // Fetches what is left at once.
  void FetchRest() {
    while (left_ > 0) {
      for (FetchSteps now = Take(left_); now.count > 0; --now.count) now.Next();
    }
  }

 private:
  static constexpr int64_t kLine = 64, kPair = 128, kFloat = sizeof(float);
  struct Block {
    const char* at;
    int64_t row;  // bytes from row to row
    int64_t rows;
    int64_t pairs;  // of a row
  };

  Block blocks_[5];
  int end_ = 0, block_ = 0;
  int64_t row_ = 0, pair_ = 0;  // the next one
  int64_t left_ = 0;            // pairs
};

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_ATTENTION_FETCH_INL_H_
