// Reference kernels of discrete Fourier transforms, in double and in O(n log n) for every length.
#include <algorithm>
#include <bit>
#include <complex>
#include <new>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "kernels/checked_index.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

using Complex = std::complex<double>;
using Signal = std::vector<Complex>;

// e^(-2 * pi * i * k / n), for k in [0, n).
Complex RootOfUnity(int64_t k, int64_t n) {
  const double turn = static_cast<double>(k) / static_cast<double>(n);
  return std::polar(1.0, -2 * std::numbers::pi * turn);
}

// The transform of sequences of one length. Allocates, and throws std::bad_alloc.
class Fourier {
 public:
  explicit Fourier(int64_t n)
      : n_(n), padded_(std::bit_ceil(static_cast<uint64_t>(PowerOfTwo(n) ? n : 2 * n - 1))) {
    roots_.reserve(padded_ / 2);
    for (uint64_t k = 0; k < padded_ / 2; ++k) {
      roots_.push_back(RootOfUnity(static_cast<int64_t>(k), static_cast<int64_t>(padded_)));
    }
    if (PowerOfTwo(n)) return;
    // Bluestein: n * k is (n^2 + k^2 - (k - n)^2) / 2, which makes the transform a convolution.
    chirp_.reserve(static_cast<size_t>(n));
    for (int64_t k = 0, square = 0; k < n; ++k) {
      chirp_.push_back(RootOfUnity(square, 2 * n));
      square = (square + 2 * k + 1) % (2 * n);  // (k + 1)^2, modulo the period
    }
    filter_.assign(padded_, Complex());
    for (size_t k = 0; k < chirp_.size(); ++k) {
      filter_[k] = filter_[(padded_ - k) % padded_] = std::conj(chirp_[k]);
    }
    TransformPadded(filter_);
    work_.resize(padded_);
  }

  // Replaces `x`, of n elements, by its transform.
  void Transform(Signal& x) {
    if (chirp_.empty()) return TransformPadded(x);
    std::fill(work_.begin(), work_.end(), Complex());
    for (size_t k = 0; k < x.size(); ++k) work_[k] = x[k] * chirp_[k];
    TransformPadded(work_);
    // The inverse is the transform of the conjugate.
    for (uint64_t k = 0; k < padded_; ++k) work_[k] = std::conj(work_[k] * filter_[k]);
    TransformPadded(work_);
    const double scale = 1 / static_cast<double>(padded_);
    for (size_t k = 0; k < x.size(); ++k) x[k] = std::conj(work_[k]) * scale * chirp_[k];
  }

  int64_t length() const { return n_; }

 private:
  static bool PowerOfTwo(int64_t n) { return std::has_single_bit(static_cast<uint64_t>(n)); }

  // The transform of padded_ elements, a power of two.
  void TransformPadded(Signal& x) const {
    for (uint64_t i = 0, reversed = 0; i < padded_; ++i) {
      if (i < reversed) std::swap(x[i], x[reversed]);
      uint64_t bit = padded_ / 2;
      for (; (reversed & bit) != 0; bit /= 2) reversed ^= bit;
      reversed |= bit;
    }
    for (uint64_t half = 1; half < padded_; half *= 2) {
      const uint64_t step = padded_ / (2 * half);
      for (uint64_t begin = 0; begin < padded_; begin += 2 * half) {
        for (uint64_t k = 0; k < half; ++k) {
          const Complex even = x[begin + k], odd = x[begin + half + k] * roots_[k * step];
          x[begin + k] = even + odd;
          x[begin + half + k] = even - odd;
        }
      }
    }
  }

  int64_t n_;
  uint64_t padded_;
  Signal roots_, chirp_, filter_, work_;
};

struct Call {
  TensorView x, out;
  int64_t axis = 0;
  int64_t length = 0;  // of the transform
  bool inverse = false, onesided = false;
  // The onesided inverse reads the first half of a transform of real numbers.
  bool from_half() const { return inverse && onesided; }
};

// Completes a sequence whose first half is that of a transform of real numbers.
void MirrorHalf(Signal& values) {
  const size_t n = values.size();
  values[0] = values[0].real();
  for (size_t k = 1; 2 * k < n; ++k) values[n - k] = std::conj(values[k]);
  if (n % 2 == 0) values[n / 2] = values[n / 2].real();
}

template <typename T>
void TransformAll(const Call& call) {
  const auto axis = static_cast<size_t>(call.axis);
  const DimSpan from = call.x.shape, to = call.out.shape;
  const int64_t parts_in = from.back(), parts_out = to.back();
  const int64_t outer = Product(from.first(axis));
  const int64_t inner = Product(from.subspan(axis + 1)) / parts_in;
  const int64_t given = std::min(from[axis], call.from_half() ? call.length / 2 + 1 : call.length);
  const T* x = call.x.as<T>();
  T* out = call.out.as<T>();
  Fourier fourier(call.length);
  Signal values(static_cast<size_t>(call.length));
  const auto read = [&](int64_t i) { return static_cast<double>(static_cast<Compute<T>>(x[i])); };
  for (int64_t sequence = 0; sequence < outer * inner; ++sequence) {
    const int64_t o = sequence / inner, i = sequence % inner;
    std::fill(values.begin(), values.end(), Complex());
    for (int64_t k = 0; k < given; ++k) {
      const int64_t at = ((o * from[axis] + k) * inner + i) * parts_in;
      values[k] = Complex(read(at), parts_in == 2 ? read(at + 1) : 0);
    }
    if (call.from_half()) MirrorHalf(values);
    double scale = 1;
    if (call.inverse) {
      for (Complex& value : values) value = std::conj(value);
      scale = 1 / static_cast<double>(call.length);
    }
    fourier.Transform(values);
    for (int64_t k = 0; k < to[axis]; ++k) {
      const Complex value = (call.inverse ? std::conj(values[k]) : values[k]) * scale;
      const int64_t at = ((o * to[axis] + k) * inner + i) * parts_out;
      out[at] = static_cast<T>(value.real());
      if (parts_out == 2) out[at + 1] = static_cast<T>(value.imag());
    }
  }
}

KernelStatus Run(Call call) {
  const int64_t parts = call.x.shape.back();
  if (parts < 1 || parts > 2 || (call.onesided && (parts == 2) != call.inverse)) {
    return KernelStatus::Invalid("the last axis of x has " + std::to_string(parts) +
                                 " elements (expected " +
                                 (!call.onesided ? "1 for real or 2 for complex numbers)"
                                  : call.inverse ? "2: a onesided inverse takes complex numbers)"
                                                 : "1: a onesided transform takes real numbers)"));
  }
  if (call.length == 0) {
    const int64_t extent = call.x.shape[call.axis];
    call.length = call.from_half() ? 2 * (extent - 1) : extent;
  }
  if (call.length < 1) {
    return KernelStatus::Invalid("the transform would have " + std::to_string(call.length) +
                                 " elements (expected 1 or more)");
  }
  // A type that says the shape of the result was there before the axis and the length.
  for (int64_t i = 0; i < call.x.rank(); ++i) {
    int64_t extent = call.x.shape[i];
    if (i == call.axis) extent = call.onesided && !call.inverse ? call.length / 2 + 1 : call.length;
    if (i == call.x.rank() - 1) extent = call.from_half() ? 1 : 2;
    if (call.out.shape[i] != extent) {
      return KernelStatus::Invalid("extent " + std::to_string(i) + " of the result is " +
                                   std::to_string(call.out.shape[i]) + " (expected " +
                                   std::to_string(extent) + ")");
    }
  }
  if (call.out.numel() == 0) return KernelStatus::Ok();
  try {
    return DispatchFloat(call.x.dtype, [&](auto tag) {
      TransformAll<typename decltype(tag)::type>(call);
      return KernelStatus::Ok();
    });
  } catch (const std::bad_alloc&) {
    return KernelStatus::OutOfMemory("no memory for a transform of " + std::to_string(call.length) +
                                     " elements");
  }
}

KernelStatus Dft(const RunArgs& args) {
  const auto& attrs = args.get<ten::DftAttrs>();
  return Run(
      {args.inputs[0], args.outputs[0], attrs.axis, attrs.length, attrs.inverse, attrs.onesided});
}

KernelStatus DynamicDft(const RunArgs& args) {
  const auto& attrs = args.get<ten::DynamicDftAttrs>();
  const TensorView &x = args.inputs[0], &length = args.inputs[2];
  if (args.inputs[1].numel() != 1 || (length.present() && length.numel() != 1)) {
    return KernelStatus::Invalid("axis or length is a list (expected one element)");
  }
  int64_t axis = IndexAt(args.inputs[1], 0);
  if (!ResolveIndex(axis, x.rank()) || axis == x.rank() - 1) {
    return KernelStatus::Invalid("axis " + std::to_string(axis) +
                                 " is the last one or none (expected another one)");
  }
  int64_t elements = 0;
  if (length.present()) {
    elements = IndexAt(length, 0);
    if (elements < 1) {
      return KernelStatus::Invalid("length is " + std::to_string(elements) +
                                   " (expected 1 or more)");
    }
  }
  return Run({x, args.outputs[0], axis, elements, attrs.inverse, attrs.onesided});
}

}  // namespace

Kernel RefDft() { return {.op = "ten.dft", .name = "ref.dft", .run = Dft}; }

Kernel RefDynamicDft() {
  return {.op = "ten.dynamic_dft", .name = "ref.dynamic_dft", .run = DynamicDft};
}

}  // namespace tenon::kernels
