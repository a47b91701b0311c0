#include "kernels/cpu/movement/copy_plan.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/support.h"

namespace tenon::kernels::cpu {
namespace {

constexpr int64_t kGrainBytes = 4 * kGrain;
// Rows of a matrix that one task transposes: a multiple of all block sizes.
constexpr int64_t kRowsOfTask = 64;
constexpr size_t kPatternBytes = 128;

template <typename T>
void Repeat(const char* element, char* pattern) {
  T value;
  std::memcpy(&value, element, sizeof(T));
  for (size_t i = 0; i < kPatternBytes / sizeof(T); ++i) {
    std::memcpy(pattern + i * sizeof(T), &value, sizeof(T));
  }
}

void RepeatElement(const char* element, int64_t size, char* pattern) {
  switch (size) {
    case 1:
      return Repeat<uint8_t>(element, pattern);
    case 2:
      return Repeat<uint16_t>(element, pattern);
    case 4:
      return Repeat<uint32_t>(element, pattern);
    default:
      return Repeat<uint64_t>(element, pattern);
  }
}

template <typename T>
void Transpose(const T* from, int64_t from_column, T* to, int64_t to_row, int64_t rows,
               int64_t columns) {
  constexpr int64_t kBlock = 16;  // blocks of source and result stay in the first-level cache
  for (int64_t i0 = 0; i0 < rows; i0 += kBlock) {
    const int64_t i1 = std::min(rows, i0 + kBlock);
    for (int64_t j0 = 0; j0 < columns; j0 += kBlock) {
      const int64_t j1 = std::min(columns, j0 + kBlock);
      for (int64_t i = i0; i < i1; ++i) {
        for (int64_t j = j0; j < j1; ++j) to[i * to_row + j] = from[i + j * from_column];
      }
    }
  }
}

template <>
void Transpose<uint32_t>(const uint32_t* from, int64_t from_column, uint32_t* to, int64_t to_row,
                         int64_t rows, int64_t columns) {
  GetCopyBlocks().transpose(from, from_column, to, to_row, rows, columns);
}

}  // namespace

const CopyBlocks& GetCopyBlocks() {
  static const CopyBlocks blocks = [] {
#if defined(__x86_64__)
    if (ActiveIsa() >= Isa::kAvx512) return Avx512CopyBlocks();
    if (ActiveIsa() >= Isa::kAvx2) return Avx2CopyBlocks();
#endif
    return PortableCopyBlocks();
  }();
  return blocks;
}

CopyPlan::CopyPlan(Dims shape, Dims from, Dims to, int64_t element) : element_(element) {
  std::array<Dims, 2> strides = {std::move(from), std::move(to)};
  Coalesce(shape, strides);
  from = strides[0], to = strides[1];
  // Runs of one element, where the last axis of the result was one element and is gone.
  if (to.back() != 1) shape.push_back(1), from.push_back(1), to.push_back(1);
  const int64_t last = shape.back(), last_from = from.back();
  shape.pop_back(), from.pop_back(), to.pop_back();
  if (last_from == 1 || last == 1) {
    way_ = Way::kRows;
    run_ = last * element;
  } else if (last_from == 0) {
    way_ = Way::kRepeat;
    run_ = last;
  } else {
    // A matrix over the last axis and another one: if there is one, that along which the source is
    // contiguous.
    run_ = last;
    step_ = last_from;
    const auto along = std::find(from.begin(), from.end(), 1);
    way_ = along != from.end() ? Way::kTranspose : Way::kElements;
    rows_ = 1;
    if (!shape.empty()) {
      const size_t axis = along != from.end() ? along - from.begin() : shape.size() - 1;
      rows_ = shape[axis], row_from_ = from[axis], row_to_ = to[axis];
      shape.erase(shape.begin() + axis);
      from.erase(from.begin() + axis), to.erase(to.begin() + axis);
    }
    // Long matrices are work for several tasks.
    const int64_t pieces = (rows_ + kRowsOfTask - 1) / kRowsOfTask;
    shape.push_back(pieces);
    from.push_back(kRowsOfTask * row_from_), to.push_back(kRowsOfTask * row_to_);
  }
  if (shape.empty()) shape.push_back(1), from.push_back(0), to.push_back(0);
  for (int64_t& s : from) s *= element;
  for (int64_t& s : to) s *= element;
  outer_ = std::move(shape), outer_from_ = std::move(from), outer_to_ = std::move(to);
}

void CopyPlan::Run(const char* from, char* to, ParallelFor& parallel) const {
  from += from_offset, to += to_offset;
  switch (way_) {
    case Way::kNothing:
      return;
    case Way::kRows:
      return RunRows(from, to, parallel);
    case Way::kRepeat:
      return RunRepeat(from, to, parallel);
    default:
      break;
  }
  switch (element_) {
    case 1:
      return RunMatrices<uint8_t>(from, to, parallel);
    case 2:
      return RunMatrices<uint16_t>(from, to, parallel);
    case 4:
      return RunMatrices<uint32_t>(from, to, parallel);
    default:
      return RunMatrices<uint64_t>(from, to, parallel);
  }
}

template <typename Move>
void CopyPlan::ForRows(int64_t begin, int64_t end, Move move) const {
  const size_t last = outer_.size() - 1;
  Dims index(outer_.size(), 0);
  int64_t from = 0, to = 0, rest = begin;
  for (size_t axis = outer_.size(); axis-- > 0;) {
    index[axis] = rest % outer_[axis];
    rest /= outer_[axis];
    from += index[axis] * outer_from_[axis];
    to += index[axis] * outer_to_[axis];
  }
  while (begin < end) {
    const int64_t count = std::min(end - begin, outer_[last] - index[last]);
    move(from, to, index[last], count);
    begin += count;
    from += count * outer_from_[last], to += count * outer_to_[last];
    index[last] += count;
    for (size_t axis = last; axis > 0 && index[axis] == outer_[axis]; --axis) {
      from += outer_from_[axis - 1] - outer_[axis] * outer_from_[axis];
      to += outer_to_[axis - 1] - outer_[axis] * outer_to_[axis];
      index[axis] = 0;
      ++index[axis - 1];
    }
  }
}

void CopyPlan::RunRows(const char* from, char* to, ParallelFor& parallel) const {
  const int64_t rows = Product(View(outer_));
  if (rows == 1) {
    parallel(run_, kGrainBytes, [=](int64_t begin, int64_t end) {
      std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
    });
    return;
  }
  const CopyBlocks& blocks = GetCopyBlocks();
  parallel(rows, std::max<int64_t>(1, kGrainBytes / run_), [&](int64_t begin, int64_t end) {
    ForRows(begin, end, [&](int64_t f, int64_t t, int64_t, int64_t count) {
      blocks.rows(from + f, outer_from_.back(), to + t, outer_to_.back(), count, run_);
    });
  });
}

void CopyPlan::RunRepeat(const char* from, char* to, ParallelFor& parallel) const {
  const int64_t rows = Product(View(outer_)), bytes = run_ * element_;
  const CopyBlocks& blocks = GetCopyBlocks();
  parallel(rows, RowGrain(run_), [&](int64_t begin, int64_t end) {
    ForRows(begin, end, [&](int64_t f, int64_t t, int64_t, int64_t count) {
      for (int64_t r = 0; r < count; ++r, f += outer_from_.back(), t += outer_to_.back()) {
        // The element repeated, and that copied.
        alignas(64) char pattern[kPatternBytes];
        RepeatElement(from + f, element_, pattern);
        constexpr auto kStep = static_cast<int64_t>(kPatternBytes);
        const int64_t whole = bytes / kStep * kStep;
        blocks.rows(pattern, 0, to + t, kStep, bytes / kStep, kStep);
        std::memcpy(to + t + whole, pattern, static_cast<size_t>(bytes - whole));
      }
    });
  });
}

template <typename T>
void CopyPlan::RunMatrices(const char* from, char* to, ParallelFor& parallel) const {
  const int64_t tasks = Product(View(outer_));
  const int64_t grain = RowGrain(run_ * std::min(rows_, kRowsOfTask));
  parallel(tasks, grain, [&](int64_t begin, int64_t end) {
    ForRows(begin, end, [&](int64_t f, int64_t t, int64_t first, int64_t count) {
      const T* x = reinterpret_cast<const T*>(from + f);
      T* y = reinterpret_cast<T*>(to + t);
      const int64_t rows = std::min(count * kRowsOfTask, rows_ - first * kRowsOfTask);
      if (way_ == Way::kTranspose) return Transpose<T>(x, step_, y, row_to_, rows, run_);
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < run_; ++j) y[i * row_to_ + j] = x[i * row_from_ + j * step_];
      }
    });
  });
}

}  // namespace tenon::kernels::cpu
