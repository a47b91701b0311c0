#include "transforms/expand/conv_transpose_choice.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "ir/base/ceil_div.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/nn_ops.h"

namespace tenon {
namespace {

// Filters of a vector, on the machines with the longest ones.
constexpr int64_t kLanes = 16;

class Choice {
 public:
  explicit Choice(Operation& op) : op_(op), attrs_(ConvTransposeAttrsOf(op)) {}

  bool HasKernel() const {
    const Type x = x_type(), w = op_.operand(1).type();
    return x.is_tensor() && w.is_tensor() && x.dtype() == DType::kF32 && x.rank() <= 4 &&
           attrs_.group == 1 &&
           (PadsFilters() || (w.dim(1).is_constant() && w.dim(1).constant() >= kLanes &&
                              !FitsWinograd() && !FillsPoorly()));
  }

 private:
  Type x_type() const { return op_.operand(0).type(); }
  // Is spatial axis i of the image of one pixel?
  bool IsPixel(size_t i) const {
    const int64_t first = attrs_.layout == "nhwc" ? 1 : 2;
    return x_type().dim(static_cast<int64_t>(i) + first).is_constant(1);
  }

  // Would the filters of the convolution end in zeros? Zero times an infinity of the image is NaN,
  // in results that the window does not reach.
  bool PadsFilters() const {
    for (size_t i = 0; i < attrs_.strides.size(); ++i) {
      const DimExpr window = op_.operand(1).type().dim(static_cast<int64_t>(i) + 2);
      if (!window.is_constant() || window.constant() % attrs_.strides[i] != 0) return true;
    }
    return false;
  }
  // Is it, without zeros or interleaving, a convolution that Winograd's method computes? Images of
  // one pixel in an axis meet so much padding that phases are faster.
  bool FitsWinograd() const {
    const Value w = op_.operand(1);
    const auto is_one = [](int64_t n) { return n == 1; };
    return w.type().rank() == 4 && w.type().dim(2).is_constant(3) &&
           w.type().dim(3).is_constant(3) && DefinedBy<core::ConstantOp>(w) &&
           std::ranges::all_of(attrs_.strides, is_one) &&
           std::ranges::all_of(attrs_.dilations, is_one) && !IsPixel(0) && !IsPixel(1);
  }
  // Do the kernel's phases, each with vectors of its own, take more multiplications than one
  // convolution, and moving its results?
  bool FillsPoorly() const {
    const Value w = op_.operand(1);
    if (!w.type().is_static()) return false;
    // Multiplications in the time that an element is moved in: once, or, where results are cut,
    // twice and in pieces.
    constexpr double kMoving = 8, kCutting = 30;
    constexpr int64_t kMostSteps = 256;  // phases are counted one by one
    const int64_t filters = w.type().dim(1).constant();
    const auto padded = [](int64_t n) { return static_cast<double>(CeilDiv(n, kLanes) * kLanes); };
    double kernel = 1, taps = 1, steps = 1;  // for each pixel and channel
    bool is_cut = false;
    for (size_t i = 0; i < attrs_.strides.size(); ++i) {
      if (IsPixel(i) || attrs_.strides[i] > kMostSteps) return false;
      const bool is_last = i + 1 == attrs_.strides.size();
      const int64_t window = w.type().dim(static_cast<int64_t>(i) + 2).constant();
      is_cut |= window % attrs_.strides[i] != 0 || attrs_.output_padding[i] != 0 ||
                attrs_.pads[i] != 0 || attrs_.pads[attrs_.strides.size() + i] != 0;
      taps *= static_cast<double>(CeilDiv(window, attrs_.strides[i]));
      steps *= static_cast<double>(attrs_.strides[i]);
      double sums = 0;
      for (const Phases& phases : PhasesOf(i, window)) {
        const double width =
            is_last ? padded(phases.count * filters) : static_cast<double>(phases.count);
        sums += width * static_cast<double>(phases.reads.size());
      }
      kernel *= sums;
    }
    const double moved = steps * static_cast<double>(filters);
    const double convolution =
        padded(static_cast<int64_t>(moved)) * taps +
        (is_cut ? kCutting : kMoving) * moved / static_cast<double>(w.type().dim(0).constant());
    return convolution < kernel;
  }
  // Neighbouring phases of an axis that read the same pixels, which the kernel computes together.
  struct Phases {
    std::vector<int64_t> reads;
    int64_t count;
  };
  std::vector<Phases> PhasesOf(size_t axis, int64_t window) const {
    std::vector<Phases> all;
    const int64_t step = attrs_.strides[axis];
    for (int64_t phase = 0; phase < step; ++phase) {
      std::vector<int64_t> reads;
      for (int64_t element = 0; element < window; ++element) {
        const int64_t from = phase + attrs_.pads[axis] - element * attrs_.dilations[axis];
        if (from % step == 0) reads.push_back(from / step);
      }
      if (!all.empty() && all.back().reads == reads) {
        ++all.back().count;
      } else {
        all.push_back({std::move(reads), 1});
      }
    }
    return all;
  }

  Operation& op_;
  fused::ConvTransposeOp::Attrs attrs_;
};

}  // namespace

fused::ConvTransposeOp::Attrs ConvTransposeAttrsOf(Operation& op) {
  auto plain = DynCast<nn::ConvTransposeOp>(&op);
  if (!plain) return fused::ConvTransposeOp(&op).attrs();
  const nn::ConvTransposeOp::Attrs from = plain.attrs();
  fused::ConvTransposeOp::Attrs attrs;
  attrs.strides = from.strides;
  attrs.pads = from.pads;
  attrs.dilations = from.dilations;
  attrs.output_padding = from.output_padding;
  attrs.group = from.group;
  attrs.layout = from.layout;
  return attrs;
}

bool HasConvTransposeKernel(Operation& op) { return Choice(op).HasKernel(); }

}  // namespace tenon
