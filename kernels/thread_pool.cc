#include "kernels/thread_pool.h"

#include <omp.h>

#include <algorithm>
#include <atomic>

namespace tenon::kernels {
namespace {

// Pieces per thread: enough to even out unequal speeds, few enough to stay cheap.
constexpr int64_t kPiecesPerThread = 4;

}  // namespace

ThreadPool::ThreadPool(int num_threads)
    : num_threads_(num_threads > 0 ? num_threads : std::max(1, omp_get_num_procs())) {}

void ThreadPool::Run(int64_t n, int64_t grain, void (*f)(void* arg, int64_t begin, int64_t end),
                     void* arg) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t pieces = std::min(num_threads_ * kPiecesPerThread, (n + grain - 1) / grain);
  if (pieces <= 1 || num_threads_ == 1 || omp_in_parallel() != 0) {
    f(arg, 0, n);
    return;
  }
  const int64_t size = n / pieces, longer = n % pieces;  // the first `longer` pieces have one more
  std::atomic<int64_t> next{0};
  // Always the full team: OpenMP keeps its threads as long as the size of the team does not change.
#pragma omp parallel num_threads(num_threads_)
  {
    for (int64_t i = next++; i < pieces; i = next++) {
      const int64_t begin = i * size + std::min(i, longer);
      f(arg, begin, begin + size + (i < longer ? 1 : 0));
    }
  }
}

}  // namespace tenon::kernels
