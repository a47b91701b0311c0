// Products of bytes. Four bytes along the depth make a word, and two words are multiplied at once
// as signed bytes: unsigned ones and their zero points are taken less 128. Zero points are taken
// out of the sums: of (x - a)(w - b), the sums of x w, less a w, less b x, and a b for each k.
// Sums wrap around, so their order is of no matter.
#include "kernels/gpu/device/device_code.h"

namespace tenon::kernels::gpu {
namespace {

constexpr int kFour = 4;
using Words = Pack<uint32_t, kFour>;

// What turns bytes into signed ones.
__device__ inline uint32_t Flip(bool is_signed) { return is_signed ? 0 : 0x80808080u; }

// A zero point, of bytes that have been turned into signed ones. Of 32 bits, to multiply wrapping.
__device__ inline uint32_t ZeroAt(const void* zero, bool is_signed, int64_t at) {
  const uint32_t byte = As<uint8_t>(zero)[at] ^ (Flip(is_signed) & 0xff);
  return static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(byte)));
}
__device__ inline uint32_t XZero(const QLinearParams& p) { return ZeroAt(p.x_zero, p.x_signed, 0); }
__device__ inline uint32_t WZero(const QLinearParams& p, int64_t column) {
  return ZeroAt(p.w_zero, p.w_signed, p.w_zero_each ? column : 0);
}

__device__ inline uint32_t Dot(uint32_t a, uint32_t b, uint32_t sum) {
  return static_cast<uint32_t>(
      __dp4a(static_cast<int>(a), static_cast<int>(b), static_cast<int>(sum)));
}
__device__ inline uint32_t SumOfBytes(uint32_t a, uint32_t sum) { return Dot(a, 0x01010101u, sum); }

// Four bytes of a row of x from k on, zeros beyond its end. kVector: words are aligned, and there
// is an end between them alone. REQUIRES: the row is one of x.
template <bool kVector>
__device__ inline uint32_t LoadX(const QLinearParams& p, int64_t row, int64_t k) {
  const uint8_t* const x = As<uint8_t>(p.x) + row * p.k + k;
  const uint32_t flip = Flip(p.x_signed);
  if constexpr (kVector) return k < p.k ? *As<uint32_t>(x) ^ flip : 0;
  uint32_t word = 0;
#pragma unroll
  for (int i = 0; i < kFour; ++i) {
    if (k + i < p.k) word |= (x[i] ^ (flip & 0xff)) << (8 * i);
  }
  return word;
}

// Of four columns of w four bytes each, from k on; zeros beyond the matrix.
template <bool kVector>
__device__ inline Words LoadW(const QLinearParams& p, int64_t k, int64_t column) {
  const uint8_t* const w = As<uint8_t>(p.w) + k * p.n + column;
  const uint32_t flip = Flip(p.w_signed);
  Words to = {};
  if constexpr (kVector) {
    if (k >= p.k || column >= p.n) return to;
    uint32_t rows[kFour];
#pragma unroll
    for (int i = 0; i < kFour; ++i) rows[i] = *As<uint32_t>(w + i * p.n) ^ flip;
    const uint32_t top_left = __byte_perm(rows[0], rows[1], 0x5140);
    const uint32_t bottom_left = __byte_perm(rows[2], rows[3], 0x5140);
    const uint32_t top_right = __byte_perm(rows[0], rows[1], 0x7362);
    const uint32_t bottom_right = __byte_perm(rows[2], rows[3], 0x7362);
    to.at[0] = __byte_perm(top_left, bottom_left, 0x5410);
    to.at[1] = __byte_perm(top_left, bottom_left, 0x7632);
    to.at[2] = __byte_perm(top_right, bottom_right, 0x5410);
    to.at[3] = __byte_perm(top_right, bottom_right, 0x7632);
  } else {
#pragma unroll
    for (int i = 0; i < kFour; ++i) {
#pragma unroll
      for (int c = 0; c < kFour; ++c) {
        if (k + i < p.k && column + c < p.n) {
          to.at[c] |= (w[i * p.n + c] ^ (flip & 0xff)) << (8 * i);
        }
      }
    }
  }
  return to;
}

// The sum lacks what both zero points multiply to.
__device__ inline void Store(const QLinearParams& p, int64_t row, int64_t column, uint32_t sum) {
  const int64_t at = row * p.n + column;
  sum += static_cast<uint32_t>(p.k) * XZero(p) * WZero(p, column);
  const auto value = static_cast<int32_t>(sum);
  if (p.to_float) {
    static_cast<float*>(p.out)[at] = static_cast<float>(value);
  } else {
    static_cast<int32_t*>(p.out)[at] = value;
  }
}

// Few rows, where reading w is what takes time: a block has kColumns columns, a lane four of them,
// and the warps share the depth in stretches. The tasks of the same columns lie side by side, so
// that what one reads is still near for the others.
constexpr int kMostThinRows = 16, kThinRows = 4;
constexpr int kColumns = 32;
constexpr int kQuarters = kWarp * kFour / kColumns;
template <int kRows>
constexpr int kThinWarps = kRows == 1 ? 32 : 16;

template <bool kVector, int kRows>
__global__ void __launch_bounds__(kThinWarps<kRows>* kWarp, 1)
    ThinQLinear(TENON_GRID_CONSTANT QLinearParams p) {
  constexpr int kAll = kThinWarps<kRows>;
  __shared__ uint32_t parts[kAll][kRows][kColumns];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int own = lane * kFour % kColumns;
  const int64_t words = (p.k + kFour - 1) / kFour, stretch = (words + kAll - 1) / kAll;
  const int64_t end = words < (warp + 1) * stretch ? words : (warp + 1) * stretch;
  const int64_t row_groups = (p.rows + kRows - 1) / kRows;
  const int64_t tasks = (p.n + kColumns - 1) / kColumns * row_groups;
  for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
    int64_t first = task;
    const int64_t first_row = DivMod(first, row_groups) * kRows, rows = p.rows - first_row;
    first *= kColumns;
    const int64_t column = first + own;
    uint32_t sums[kRows][kFour] = {}, x_sums[kRows] = {}, w_sums[kFour] = {};
    [[maybe_unused]] constexpr int kAtOnce = !kVector ? 1 : kRows == 1 ? 4 : 2;
#pragma unroll kAtOnce
    for (int64_t word = warp * stretch + lane * kFour / kColumns; word < end; word += kQuarters) {
      const Words w = LoadW<kVector>(p, word * kFour, column);
#pragma unroll
      for (int c = 0; c < kFour; ++c) w_sums[c] = SumOfBytes(w.at[c], w_sums[c]);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (kRows > 1 && r >= rows) continue;
        const uint32_t x = LoadX<kVector>(p, first_row + r, word * kFour);
        x_sums[r] = SumOfBytes(x, x_sums[r]);
#pragma unroll
        for (int c = 0; c < kFour; ++c) sums[r][c] = Dot(x, w.at[c], sums[r][c]);
      }
    }
    const uint32_t x_zero = XZero(p);
#pragma unroll
    for (int c = 0; c < kFour; ++c) {
      const uint32_t w_zero = column + c < p.n ? WZero(p, column + c) : 0;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        uint32_t sum = sums[r][c] - x_zero * w_sums[c] - w_zero * x_sums[r];
        for (int d = kWarp / 2; d >= kColumns / kFour; d /= 2) {
          sum += __shfl_xor_sync(kAllLanes, sum, d);
        }
        if (lane < kColumns / kFour) parts[warp][r][own + c] = sum;
      }
    }
    __syncthreads();
    if (warp < kRows && warp < rows && first + lane < p.n) {
      uint32_t sum = 0;
      for (int part = 0; part < kAll; ++part) sum += parts[part][warp][lane];
      Store(p, first_row + warp, first + lane, sum);
    }
    __syncthreads();
  }
}

// Many rows: a block computes a tile of the result, four by four of its elements a thread, from
// parts of both operands in shared memory. A part is there while the next is fetched to registers.
struct ByteTile {
  static constexpr int kSize = 64;   // rows and columns of the tile
  static constexpr int kDepth = 16;  // words of both operands at once
  static constexpr int kSide = 16;   // threads along an edge
  static constexpr int kThreads = kSide * kSide;
  static constexpr int kWarps = kThreads / kWarp;

  // Word d of the depth of row (column) i. Rows stay aligned to four words; lanes that store along
  // the depth meet different banks.
  alignas(16) uint32_t a[kDepth][kSize + kFour];
  alignas(16) uint32_t b[kDepth][kSize + kFour];
  // Of the bytes of each row of x, and of each column of w as the warps have read them.
  uint32_t x_sums[kSize];
  uint32_t w_sums[kWarps][kSize];
};

// What a thread fetches of a part: one word of each of four rows of x, which are kSide apart, and a
// word of each of four neighbouring columns of w.
struct Fetched {
  Words x, w;
};
template <bool kVector>
__device__ inline Fetched FetchPart(const QLinearParams& p, int64_t i0, int64_t j0, int64_t word0) {
  constexpr int kSide = ByteTile::kSide;
  const int low = static_cast<int>(threadIdx.x) % kSide;
  const int high = static_cast<int>(threadIdx.x) / kSide;
  Fetched f = {};
#pragma unroll
  for (int r = 0; r < kFour; ++r) {
    const int64_t row = i0 + high + r * kSide;
    if (row < p.rows) f.x.at[r] = LoadX<kVector>(p, row, (word0 + low) * kFour);
  }
  f.w = LoadW<kVector>(p, (word0 + high) * kFour, j0 + low * kFour);
  return f;
}

template <bool kVector>
__global__ void __launch_bounds__(ByteTile::kThreads, 2)
    TiledQLinear(TENON_GRID_CONSTANT QLinearParams p) {
  constexpr int kSize = ByteTile::kSize, kDepth = ByteTile::kDepth, kSide = ByteTile::kSide;
  __shared__ ByteTile tile;
  const int low = static_cast<int>(threadIdx.x) % kSide;
  const int high = static_cast<int>(threadIdx.x) / kSide;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t words = (p.k + kFour - 1) / kFour;
  const int64_t m_tiles = (p.rows + kSize - 1) / kSize, n_tiles = (p.n + kSize - 1) / kSize;
  for (int64_t task = blockIdx.x; task < m_tiles * n_tiles; task += gridDim.x) {
    int64_t i0 = task;
    const int64_t j0 = DivMod(i0, n_tiles) * kSize;
    i0 *= kSize;
    uint32_t sums[kFour][kFour] = {}, x_sums[kFour] = {}, w_sums[kFour] = {};
    Fetched next = FetchPart<kVector>(p, i0, j0, 0);
    for (int64_t word0 = 0; word0 < words; word0 += kDepth) {
      __syncthreads();  // the part before is no longer read
#pragma unroll
      for (int e = 0; e < kFour; ++e) {
        tile.a[low][high + e * kSide] = next.x.at[e];
        x_sums[e] = SumOfBytes(next.x.at[e], x_sums[e]);
        w_sums[e] = SumOfBytes(next.w.at[e], w_sums[e]);
      }
      *reinterpret_cast<Words*>(&tile.b[high][low * kFour]) = next.w;
      __syncthreads();
      if (word0 + kDepth < words) next = FetchPart<kVector>(p, i0, j0, word0 + kDepth);
#pragma unroll 4
      for (int d = 0; d < kDepth; ++d) {
        const Words a = *As<Words>(&tile.a[d][high * kFour]);
        const Words b = *As<Words>(&tile.b[d][low * kFour]);
#pragma unroll
        for (int i = 0; i < kFour; ++i) {
#pragma unroll
          for (int j = 0; j < kFour; ++j) sums[i][j] = Dot(a.at[i], b.at[j], sums[i][j]);
        }
      }
    }
    // Lanes of a half of a warp share rows of x, and those of both halves columns of w.
#pragma unroll
    for (int e = 0; e < kFour; ++e) {
      for (int d = kSide / 2; d > 0; d /= 2) x_sums[e] += __shfl_xor_sync(kAllLanes, x_sums[e], d);
      w_sums[e] += __shfl_xor_sync(kAllLanes, w_sums[e], kSide);
    }
    __syncthreads();  // the sums of the task before are no longer read
#pragma unroll
    for (int e = 0; e < kFour; ++e) {
      if (low == 0) tile.x_sums[high + e * kSide] = x_sums[e];
      if (lane < kSide) tile.w_sums[warp][low * kFour + e] = w_sums[e];
    }
    __syncthreads();
    const uint32_t x_zero = XZero(p);
#pragma unroll
    for (int j = 0; j < kFour; ++j) {
      const int64_t column = j0 + low * kFour + j;
      if (column >= p.n) continue;
      const uint32_t w_zero = WZero(p, column);
      uint32_t of_column = 0;
      for (const auto& part : tile.w_sums) of_column += part[low * kFour + j];
#pragma unroll
      for (int i = 0; i < kFour; ++i) {
        const int at = high * kFour + i;
        if (i0 + at >= p.rows) continue;
        Store(p, i0 + at, column, sums[i][j] - x_zero * of_column - w_zero * tile.x_sums[at]);
      }
    }
  }
}

template <bool kVector, int kRows>
void LaunchThin(StreamHandle stream, const QLinearParams& p) {
  const int64_t row_groups = (p.rows + kRows - 1) / kRows;
  TENON_LAUNCH((ThinQLinear<kVector, kRows>),
               BlocksFor((p.n + kColumns - 1) / kColumns * row_groups, 1),
               kThinWarps<kRows> * kWarp, 0, stream, p);
}

template <bool kVector>
void Launch(StreamHandle stream, const QLinearParams& p) {
  constexpr int64_t kSize = ByteTile::kSize;
  if (p.rows == 1) {
    LaunchThin<kVector, 1>(stream, p);
  } else if (p.rows <= kMostThinRows) {
    LaunchThin<kVector, kThinRows>(stream, p);
  } else {
    const int64_t tiles = (p.rows + kSize - 1) / kSize * ((p.n + kSize - 1) / kSize);
    TENON_LAUNCH(TiledQLinear<kVector>, BlocksFor(tiles, 1), ByteTile::kThreads, 0, stream, p);
  }
}

}  // namespace

void LaunchOn(StreamHandle stream, const QLinearParams& p) {
  const bool words =
      p.k % kFour == 0 && p.n % kFour == 0 && IsAligned(p.x, kFour) && IsAligned(p.w, kFour);
  words ? Launch<true>(stream, p) : Launch<false>(stream, p);
}

}  // namespace tenon::kernels::gpu
