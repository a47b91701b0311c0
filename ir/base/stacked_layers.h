// Where the operands of fused.transformer_stack hold those of each layer. Do not include this in a
// file that is compiled for one instruction set: the linker keeps one copy of an inline function.
#ifndef TENON_IR_BASE_STACKED_LAYERS_H_
#define TENON_IR_BASE_STACKED_LAYERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tenon {

// The operands of a stack behind its rows and their residual, for one value of its attribute `has`.
class StackedLayers {
 public:
  static constexpr size_t kOperands = 27;  // of fused.transformer_layer
  static constexpr size_t kNeeded = 6;     // the first of them are always there

  // Reads `has`: a 1 or a 0 for each operand of a layer that may be absent.
  explicit StackedLayers(std::span<const int64_t> has) {
    valid_ = has.size() == kOperands - kNeeded;
    for (size_t i = 2; valid_ && i < kOperands; ++i) {
      const int64_t there = i < kNeeded ? 1 : has[i - kNeeded];
      valid_ = there == 0 || there == 1;
      if (there != 1) continue;
      place_[i] = per_layer_++;
    }
  }

  // False unless `has` is a 1 or a 0 for each of the operands.
  bool valid() const { return valid_; }
  size_t per_layer() const { return per_layer_; }  // how many operands each layer has
  // Returns the place of operand `operand` of fused.transformer_layer, 2 or more, for the layer
  // with this number, among the operands of all layers. Nullopt if the layers do not have it.
  // Requires valid().
  std::optional<size_t> PlaceOf(size_t layer, size_t operand) const {
    const std::optional<size_t> place = place_[operand];
    return place ? std::optional<size_t>(layer * per_layer_ + *place) : place;
  }

 private:
  bool valid_ = false;
  size_t per_layer_ = 0;
  std::array<std::optional<size_t>, kOperands> place_;
};

}  // namespace tenon

#endif  // TENON_IR_BASE_STACKED_LAYERS_H_
