// The loops of channelwise.h for the instruction set of the including file.
#ifndef TENON_KERNELS_CPU_CONV_CHANNELWISE_INL_H_
#define TENON_KERNELS_CPU_CONV_CHANNELWISE_INL_H_

#include "kernels/cpu/conv/channelwise.h"
#include "kernels/cpu/conv/loop_activation-inl.h"

namespace tenon::kernels::cpu {
namespace {

// The elements [begin, end) of a window that lie inside [low, high) when it starts at `start`.
struct Span {
  int64_t begin, end;
};
inline Span Inside(const WindowAxis& axis, int64_t start, int64_t low, int64_t high) {
  Span s = {0, axis.kernel};
  while (s.begin < s.end && start + s.begin * axis.dilation < low) ++s.begin;
  while (s.end > s.begin && start + (s.end - 1) * axis.dilation >= high) --s.end;
  return s;
}

// The part of a window that lies inside the image.
struct Part {
  Span rows, columns;
  float count;  // what kMean divides by
};

// kLanes channels, or the first n (kPart), of kPixels neighbouring outputs whose windows have the
// same elements inside the image. `x` is the first window's first element, inside or not.
template <ChannelwiseOp kOp, int kPixels, bool kPart, typename Activate>
__attribute__((always_inline)) inline void PixelsAt(const Channelwise& call, const float* x,
                                                    const Part& part, int64_t c, int64_t n,
                                                    Activate activate, float* out) {
  const int64_t channels = call.channels, pixel = call.columns.stride * channels;
  const int64_t column_step = call.columns.dilation * channels;
  const int64_t row_step = call.rows.dilation * call.columns.in * channels;
  const auto load = [n](const float* p) { return kPart ? LoadPart(p, n) : Load(p); };
  Vec sum[kPixels];
  Vec first = {};
  if constexpr (kOp == ChannelwiseOp::kMax) first = Set(-__builtin_inff());
  if (kOp == ChannelwiseOp::kConvolve && call.bias != nullptr) first = load(call.bias + c);
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) sum[p] = first;
  for (int64_t i = part.rows.begin; i < part.rows.end; ++i) {
    for (int64_t j = part.columns.begin; j < part.columns.end; ++j) {
      const float* from = x + i * row_step + j * column_step + c;
      Vec w = {};
      if constexpr (kOp == ChannelwiseOp::kConvolve) {
        w = load(call.weights + (i * call.columns.kernel + j) * channels + c);
      }
#pragma GCC unroll 8
      for (int p = 0; p < kPixels; ++p) {
        const Vec v = load(from + p * pixel);
        if constexpr (kOp == ChannelwiseOp::kConvolve) {
          sum[p] = Fma(v, w, sum[p]);
        } else if constexpr (kOp == ChannelwiseOp::kMax) {
          const Vec larger = AtLeast(v, sum[p]);
          sum[p] = sum[p] == sum[p] ? larger : sum[p];
        } else {
          sum[p] = sum[p] + v;
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) {
    if constexpr (kOp == ChannelwiseOp::kMean) sum[p] = sum[p] / Set(part.count);
    if constexpr (kOp == ChannelwiseOp::kConvolve) sum[p] = activate(sum[p]);
    float* to = out + p * channels + c;
    if constexpr (kPart) {
      StorePart(to, sum[p], n);
    } else {
      Store(to, sum[p]);
    }
  }
}

template <ChannelwiseOp kOp, int kPixels, typename Activate>
inline void Pixels(const Channelwise& call, const float* x, const Part& part, Activate activate,
                   float* out) {
  int64_t c = 0;
  for (; c + kLanes <= call.channels; c += kLanes) {
    PixelsAt<kOp, kPixels, false>(call, x, part, c, kLanes, activate, out);
  }
  if (c < call.channels) {
    PixelsAt<kOp, kPixels, true>(call, x, part, c, call.channels - c, activate, out);
  }
}

// A convolution at kPixels neighbouring outputs some of whose windows reach into the padding:
// elements[window element][pixel] point to the first channel of the image or of the zeros.
template <int kPixels, bool kPart, typename Activate>
__attribute__((always_inline)) inline void BorderAt(const Channelwise& call,
                                                    const float* const* elements, Span rows,
                                                    int64_t c, int64_t n, Activate activate,
                                                    float* out) {
  const auto load = [n](const float* p) { return kPart ? LoadPart(p, n) : Load(p); };
  const int64_t width = call.columns.kernel;
  Vec sum[kPixels];
  const Vec first = call.bias != nullptr ? load(call.bias + c) : Vec{};
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) sum[p] = first;
  for (int64_t i = rows.begin * width; i < rows.end * width; ++i) {
    const Vec w = load(call.weights + i * call.channels + c);
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) sum[p] = Fma(load(elements[i * kPixels + p] + c), w, sum[p]);
  }
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) {
    float* to = out + p * call.channels + c;
    if constexpr (kPart) {
      StorePart(to, activate(sum[p]), n);
    } else {
      Store(to, activate(sum[p]));
    }
  }
}

constexpr int64_t kMaxBorderWindow = 81;

template <int kPixels, typename Activate>
inline void Border(const Channelwise& call, const float* x, int64_t left, Span rows,
                   Activate activate, float* out) {
  const float* elements[kMaxBorderWindow * kPixels];
  const WindowAxis& columns = call.columns;
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    const float* row = x + i * call.rows.dilation * columns.in * call.channels;
    for (int64_t j = 0; j < columns.kernel; ++j) {
      for (int p = 0; p < kPixels; ++p) {
        const int64_t at = left + p * columns.stride + j * columns.dilation;
        elements[(i * columns.kernel + j) * kPixels + p] =
            at >= 0 && at < columns.in ? row + at * call.channels : call.zeros;
      }
    }
  }
  int64_t c = 0;
  for (; c + kLanes <= call.channels; c += kLanes) {
    BorderAt<kPixels, false>(call, elements, rows, c, kLanes, activate, out);
  }
  if (c < call.channels) {
    BorderAt<kPixels, true>(call, elements, rows, c, call.channels - c, activate, out);
  }
}

// `x` is the row of the image where the windows start, inside or not; `left` the first column of
// the first window.
template <typename Activate>
inline void BorderOf(const Channelwise& call, const float* x, int64_t left, Span rows,
                     int64_t pixels, Activate activate, float* out) {
  switch (pixels) {
    case 1:
      return Border<1>(call, x, left, rows, activate, out);
    case 2:
      return Border<2>(call, x, left, rows, activate, out);
    case 3:
      return Border<3>(call, x, left, rows, activate, out);
    case 4:
      return Border<4>(call, x, left, rows, activate, out);
    case 5:
      return Border<5>(call, x, left, rows, activate, out);
    case 6:
      return Border<6>(call, x, left, rows, activate, out);
    case 7:
      return Border<7>(call, x, left, rows, activate, out);
    default:
      return Border<8>(call, x, left, rows, activate, out);
  }
}

// A convolution at kShared neighbouring outputs for windows of a width and step known here: what
// neighbouring windows share is read once and stays in registers. `at(i, q)` points to the first
// channel of pixel q of row i.
constexpr int kShared = 7;
constexpr int kRegisters = kLanes == 16 ? 32 : kLanes == 8 ? 16 : 0;  // 0: too few, or not known
constexpr int64_t kMaxSharedRows = 7;

template <int kWidth, int kStride, bool kPart, typename At, typename Activate>
__attribute__((always_inline)) inline void SharedAt(const Channelwise& call, At at, Span rows,
                                                    int64_t c, int64_t n, Activate activate,
                                                    float* out) {
  constexpr int kPixels = (kShared - 1) * kStride + kWidth;
  const auto load = [n](const float* p) { return kPart ? LoadPart(p, n) : Load(p); };
  Vec sum[kShared];
  const Vec first = call.bias != nullptr ? load(call.bias + c) : Vec{};
#pragma GCC unroll 8
  for (int p = 0; p < kShared; ++p) sum[p] = first;
  const float* weights = call.weights + rows.begin * kWidth * call.channels + c;
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    if constexpr (kRegisters == 32) {
      Vec pixels[kPixels];
#pragma GCC unroll 32
      for (int q = 0; q < kPixels; ++q) pixels[q] = load(at(i, q) + c);
#pragma GCC unroll 8
      for (int j = 0; j < kWidth; ++j, weights += call.channels) {
        const Vec w = load(weights);
#pragma GCC unroll 8
        for (int p = 0; p < kShared; ++p) sum[p] = Fma(pixels[p * kStride + j], w, sum[p]);
      }
    } else {
      // One pixel after the other, while the weights of a row stay.
      Vec w[kWidth];
#pragma GCC unroll 8
      for (int j = 0; j < kWidth; ++j, weights += call.channels) w[j] = load(weights);
#pragma GCC unroll 32
      for (int q = 0; q < kPixels; ++q) {
        const Vec pixel = load(at(i, q) + c);
#pragma GCC unroll 8
        for (int j = 0; j < kWidth; ++j) {
          const int p = (q - j) / kStride;
          if (q >= j && (q - j) % kStride == 0 && p < kShared) sum[p] = Fma(pixel, w[j], sum[p]);
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < kShared; ++p) {
    float* to = out + p * call.channels + c;
    if constexpr (kPart) {
      StorePart(to, activate(sum[p]), n);
    } else {
      Store(to, activate(sum[p]));
    }
  }
}

template <int kWidth, int kStride, typename At, typename Activate>
inline void Shared(const Channelwise& call, At at, Span rows, Activate activate, float* out) {
  int64_t c = 0;
  for (; c + kLanes <= call.channels; c += kLanes) {
    SharedAt<kWidth, kStride, false>(call, at, rows, c, kLanes, activate, out);
  }
  if (c < call.channels) {
    SharedAt<kWidth, kStride, true>(call, at, rows, c, call.channels - c, activate, out);
  }
}

// `x` is the row of the image where the windows start, inside or not. The last outputs are computed
// together with some before them.
template <int kWidth, int kStride, typename Activate>
inline void SharedRow(const Channelwise& call, const float* x, Span rows, Activate activate,
                      float* out) {
  constexpr int kPixels = (kShared - 1) * kStride + kWidth;
  const int64_t channels = call.channels, in = call.columns.in;
  const int64_t row_step = call.rows.dilation * in * channels, last = call.out_width - kShared;
  for (int64_t o = 0; o < call.out_width; o += kShared) {
    const int64_t first = o < last ? o : last, left = first * kStride - call.columns.pad_begin;
    float* to = out + first * channels;
    if (left >= 0 && left + kPixels <= in) {
      const float* from = x + left * channels;
      Shared<kWidth, kStride>(
          call, [=](int64_t i, int q) { return from + i * row_step + q * channels; }, rows,
          activate, to);
      continue;
    }
    const float* table[kMaxSharedRows][kPixels];
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      for (int q = 0; q < kPixels; ++q) {
        const int64_t column = left + q;
        table[i][q] =
            column >= 0 && column < in ? x + i * row_step + column * channels : call.zeros;
      }
    }
    Shared<kWidth, kStride>(
        call, [&](int64_t i, int q) { return table[i][q]; }, rows, activate, to);
  }
}

// Whether a row was of a shape that is known here, with registers for what windows share.
template <typename Activate>
inline bool TrySharedRow(const Channelwise& call, const float* x, Span rows, Activate activate,
                         float* out) {
  if (kRegisters == 0 || call.out_width < kShared || call.columns.dilation != 1 ||
      call.rows.kernel > kMaxSharedRows) {
    return false;
  }
  const int64_t width = call.columns.kernel, stride = call.columns.stride;
  if (width == 3 && stride == 1) return SharedRow<3, 1>(call, x, rows, activate, out), true;
  if (width == 3 && stride == 2) return SharedRow<3, 2>(call, x, rows, activate, out), true;
  if (width == 5 && stride == 1) return SharedRow<5, 1>(call, x, rows, activate, out), true;
  if (width == 5 && stride == 2) return SharedRow<5, 2>(call, x, rows, activate, out), true;
  if (width == 7 && stride == 1) return SharedRow<7, 1>(call, x, rows, activate, out), true;
  return false;
}

template <ChannelwiseOp kOp, typename Activate>
inline void Row(const Channelwise& call, const float* x, int64_t row, Activate activate,
                float* out) {
  const WindowAxis &rows = call.rows, &columns = call.columns;
  const int64_t top = row * rows.stride - rows.pad_begin;
  const Span inside_rows = Inside(rows, top, 0, rows.in);
  const Span padded_rows = Inside(rows, top, -rows.pad_begin, rows.in + rows.pad_end);
  const float* window_row = x + top * columns.in * call.channels;
  if constexpr (kOp == ChannelwiseOp::kConvolve) {
    if (TrySharedRow(call, window_row, inside_rows, activate, out)) return;
  }
  for (int64_t o = 0; o < call.out_width;) {
    const int64_t left = o * columns.stride - columns.pad_begin;
    const Span inside = Inside(columns, left, 0, columns.in);
    const Span padded = call.include_padding ? Inside(columns, left, -columns.pad_begin,
                                                      columns.in + columns.pad_end)
                                             : inside;
    const int64_t height = call.include_padding ? padded_rows.end - padded_rows.begin
                                                : inside_rows.end - inside_rows.begin;
    const auto count = static_cast<float>(height * (padded.end - padded.begin));
    const Part part = {inside_rows, inside, count};
    const float* window = window_row + left * call.channels;
    float* to = out + o * call.channels;
    // Whole windows from here on.
    int64_t whole = 0;
    if (inside.begin == 0 && inside.end == columns.kernel) {
      const int64_t reach = (columns.kernel - 1) * columns.dilation + 1;
      const int64_t last = (columns.in - reach + columns.pad_begin) / columns.stride;
      whole = (last < call.out_width - 1 ? last : call.out_width - 1) - o + 1;
    }
    if constexpr (kOp == ChannelwiseOp::kConvolve) {
      if (whole < 8 && rows.kernel * columns.kernel <= kMaxBorderWindow) {
        const int64_t left_over = call.out_width - o, pixels = left_over < 8 ? left_over : 8;
        BorderOf(call, window_row, left, inside_rows, pixels, activate, to);
        o += pixels;
        continue;
      }
    }
    if (whole >= 8) {
      Pixels<kOp, 8>(call, window, part, activate, to);
      o += 8;
    } else if (whole >= 4) {
      Pixels<kOp, 4>(call, window, part, activate, to);
      o += 4;
    } else if (whole >= 2) {
      Pixels<kOp, 2>(call, window, part, activate, to);
      o += 2;
    } else {
      Pixels<kOp, 1>(call, window, part, activate, to);
      o += 1;
    }
  }
}

inline void RowOfAnyOp(const Channelwise& call, const float* x, int64_t row, float* out) {
  const auto keep = [](Vec v) { return v; };
  switch (call.op) {
    case ChannelwiseOp::kConvolve:
      return WithActivation(call.activation, [&](auto activate) {
        Row<ChannelwiseOp::kConvolve>(call, x, row, activate, out);
      });
    case ChannelwiseOp::kMax:
      return Row<ChannelwiseOp::kMax>(call, x, row, keep, out);
    case ChannelwiseOp::kMean:
      return Row<ChannelwiseOp::kMean>(call, x, row, keep, out);
  }
}

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_CHANNELWISE_INL_H_
