#include "kernels/cpu/gemm/integers.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "ir/base/ceil_div.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/isa.h"

namespace tenon::kernels::cpu {
namespace {

// Bytes worth a thread of their own.
constexpr int64_t kIntegerGrainBytes = 65536;

const IntegerKernels& ChooseIntegerKernels() {
#if defined(__x86_64__)
  if (ActiveIsa() >= Isa::kAvx512Vnni) return IntegerKernelsAvx512Vnni();
  if (ActiveIsa() >= Isa::kAvx512) return IntegerKernelsAvx512();
  if (ActiveIsa() >= Isa::kAvx2) return IntegerKernelsAvx2();
#endif
  return IntegerKernelsPortable();
}

int ValueAt(const void* bytes, bool is_signed, int64_t i) {
  const uint8_t byte = static_cast<const uint8_t*>(bytes)[i];
  return is_signed ? static_cast<int8_t>(byte) : byte;
}

int ZeroOf(const ByteMatrix& matrix, int64_t column) {
  return ValueAt(matrix.zero, matrix.is_signed, matrix.zero_each ? column : 0);
}

size_t Index(int64_t i) { return static_cast<size_t>(i); }

bool TakesBytes() { return ActiveIntegerKernels().depth == 4; }

int64_t Elements(int64_t k) { return CeilDiv(k, ActiveIntegerKernels().depth); }

// Behind the panels: what is left of zero points where bytes are multiplied as they are.
struct Corrections {
  int32_t* sums;   // [n], of the columns of b less their zero points
  int32_t* zeros;  // [n]
  int32_t* any;    // is a zero point not 0?
};

Corrections CorrectionsOf(const std::byte* packed, int64_t k, int64_t n) {
  auto* at =
      reinterpret_cast<int32_t*>(const_cast<std::byte*>(packed) + PackedBytesOfB(Elements(k), n));
  return {at, at + n, at + 2 * n};
}

// Panels [begin, end). Bytes become signed ones by an offset, which their zero points share.
void PackPanels(const ByteMatrix& b, int64_t k, int64_t n, std::byte* packed, int64_t begin,
                int64_t end) {
  const int64_t panel = GemmPanel(), elements = Elements(k);
  const int depth = ActiveIntegerKernels().depth;
  const int offset = b.is_signed ? 0 : 128;
  const Corrections corrections = CorrectionsOf(packed, k, n);
  std::vector<int> zeros(Index(panel));
  std::vector<uint32_t> sums(Index(panel));
  for (int64_t i = begin; i < end; ++i) {
    std::byte* out = packed + i * panel * elements * static_cast<int64_t>(sizeof(float));
    std::fill_n(out, panel * elements * static_cast<int64_t>(sizeof(float)), std::byte{0});
    const int64_t first = i * panel, cols = std::min(panel, n - first);
    for (int64_t j = 0; j < cols; ++j) zeros[Index(j)] = ZeroOf(b, first + j);
    std::fill(sums.begin(), sums.end(), 0);
    for (int64_t p = 0; p < k; ++p) {
      const int64_t to = p / depth * panel * depth + p % depth;
      for (int64_t j = 0; j < cols; ++j) {
        const int value = ValueAt(b.data, b.is_signed, p * n + first + j);
        const int centred = value - zeros[Index(j)];
        if (depth == 4) {
          reinterpret_cast<int8_t*>(out)[to + j * depth] = static_cast<int8_t>(value - offset);
        } else {
          reinterpret_cast<int16_t*>(out)[to + j * depth] = static_cast<int16_t>(centred);
        }
        sums[Index(j)] += static_cast<uint32_t>(centred);
      }
    }
    for (int64_t j = 0; depth == 4 && j < cols; ++j) {
      corrections.sums[first + j] = static_cast<int32_t>(sums[Index(j)]);
      corrections.zeros[first + j] = zeros[Index(j)] - offset;
    }
  }
}

// Where the parts of scratch lie.
struct Scratch {
  Scratch(std::byte* scratch, int64_t m, int64_t n, int64_t k)
      : a(reinterpret_cast<float*>(scratch)), a_row(RowOfCopiedA(Elements(k))) {
    start = reinterpret_cast<int32_t*>(a + m * a_row);
    row_sums = start + n;
  }

  float* a;
  int64_t a_row;
  int32_t* start;     // [n], what sums start with
  int32_t* row_sums;  // [m], of the bytes of a
};

// Rows of a as elements, zeros beyond k.
void Convert(const ByteGemm& g, const Scratch& scratch, ParallelFor& parallel) {
  const IntegerKernels& kernels = ActiveIntegerKernels();
  const int zero = ZeroOf(g.a, 0);
  const int64_t each = static_cast<int64_t>(sizeof(float)) / kernels.depth;  // bytes
  parallel(g.m, kIntegerGrainBytes / std::max<int64_t>(1, g.k) + 1,
           [&](int64_t begin, int64_t end) {
             for (int64_t i = begin; i < end; ++i) {
               auto* out = reinterpret_cast<std::byte*>(scratch.a + i * scratch.a_row);
               kernels.convert(static_cast<const uint8_t*>(g.a.data) + i * g.k, g.a.is_signed, zero,
                               g.k, out);
               std::fill(out + g.k * each,
                         out + Elements(g.k) * static_cast<int64_t>(sizeof(float)), std::byte{0});
             }
           });
}

}  // namespace

const IntegerKernels& ActiveIntegerKernels() {
  static const IntegerKernels& kernels = ChooseIntegerKernels();
  return kernels;
}

std::string PackedLayoutOfBytes(bool is_signed, int64_t k, int64_t n) {
  return std::string(is_signed ? "gemm.i8." : "gemm.u8.") +
         std::to_string(ActiveIntegerKernels().depth) + "." + std::to_string(GemmPanel()) + "x" +
         std::to_string(k) + "x" + std::to_string(n);
}

size_t PackedSizeOfBytes(int64_t k, int64_t n) {
  const size_t corrections = TakesBytes() ? static_cast<size_t>(2 * n + 1) * sizeof(int32_t) : 0;
  return PackedBytesOfB(Elements(k), n) + corrections;
}

void PackBytes(const ByteMatrix& b, int64_t k, int64_t n, std::byte* packed,
               ParallelFor& parallel) {
  parallel(GemmPanels(n), kIntegerGrainBytes / std::max<int64_t>(1, k * GemmPanel()) + 1,
           [&](int64_t begin, int64_t end) { PackPanels(b, k, n, packed, begin, end); });
  if (!TakesBytes()) return;
  const Corrections corrections = CorrectionsOf(packed, k, n);
  *corrections.any =
      std::any_of(corrections.zeros, corrections.zeros + n, [](int32_t zero) { return zero != 0; });
}

size_t ScratchOfBytes(int64_t m, int64_t n, int64_t k) {
  return static_cast<size_t>(m * RowOfCopiedA(Elements(k)) + n + m) * sizeof(float);
}

void MultiplyBytes(const ByteGemm& args, std::byte* scratch_bytes, ParallelFor& parallel) {
  const Scratch scratch(scratch_bytes, args.m, args.n, args.k);
  GemmArgs g = {.m = args.m, .n = args.n, .k = Elements(args.k), .element = GemmElement::kIntegers};
  g.b = reinterpret_cast<const float*>(args.packed);
  g.c = static_cast<float*>(args.c), g.c_row = args.n;
  g.epilogue.integers_to_float = args.to_float;
  // Unsigned bytes whose rows have no rest are multiplied where they lie.
  const bool aligned = reinterpret_cast<uintptr_t>(args.a.data) % alignof(float) == 0;
  if (TakesBytes() && !args.a.is_signed && args.k % 4 == 0 && aligned) {
    g.a = static_cast<const float*>(args.a.data), g.a_row = args.k / 4;
  } else {
    Convert(args, scratch, parallel);
    g.a = scratch.a, g.a_row = scratch.a_row;
  }
  if (TakesBytes()) {
    const Corrections corrections = CorrectionsOf(args.packed, args.k, args.n);
    const int zero = ZeroOf(args.a, 0) + (args.a.is_signed ? 128 : 0);
    if (zero != 0) {
      for (int64_t j = 0; j < args.n; ++j) {
        scratch.start[j] = static_cast<int32_t>(-static_cast<uint32_t>(zero) *
                                                static_cast<uint32_t>(corrections.sums[j]));
      }
      g.epilogue.bias = reinterpret_cast<const float*>(scratch.start);
    }
    if (*corrections.any != 0) {
      for (int64_t i = 0; i < args.m; ++i) {
        const auto* row = reinterpret_cast<const uint8_t*>(g.a + i * g.a_row);
        scratch.row_sums[i] = static_cast<int32_t>(std::accumulate(row, row + args.k, uint32_t{0}));
      }
      g.epilogue.integer_row = scratch.row_sums, g.epilogue.integer_col = corrections.zeros;
    }
  }
  Gemm(g, parallel);
}

}  // namespace tenon::kernels::cpu
