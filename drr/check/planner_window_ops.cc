// What pools, sorts, triangles and sums in index notation demand of their operands.
#include <map>

#include "drr/check/planner.h"

namespace tenon::drr {

bool Planner::PoolOperand(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const int rank = static_cast<int>(shape.size());
  if (rank < 3 || TextOf(n, "layout") == "nhwc") return false;
  const size_t axes = shape.size() - 2;
  I64s numbers[4];
  const char* names[] = {"kernel", "strides", "pads", "dilations"};
  for (size_t i = 0; i < 4; ++i) {
    const AttrValue value = AttrOf(n, names[i], rank);
    const I64s* list = std::get_if<I64s>(&value);
    if (list == nullptr || list->size() != (i == 2 ? 2 : 1) * axes) return false;
    numbers[i] = *list;
  }
  const auto& [kernel, strides, pads, dilations] = numbers;
  Shape x = {shape[0], shape[1]};
  for (size_t i = 0; i < axes; ++i) {
    if (kernel[i] < 1 || strides[i] < 1 || dilations[i] < 1) return false;
    const int64_t out = Value(shape[i + 2]);
    if (out < 1 || out > kMaxElements) return false;
    int64_t in = 0;
    if (__builtin_mul_overflow(out - 1, strides[i], &in) || in > kMaxElements ||
        kernel[i] > kMaxElements || dilations[i] > kMaxElements)
      return false;
    in += dilations[i] * (kernel[i] - 1) + 1;
    if (TextOf(n, "auto_pad") == "NOTSET") {
      in -= pads[i] + pads[i + axes];
      // Extents that the windows do not divide: the rest is left out, or belongs to the last one.
      const int64_t rest = Pick(0, static_cast<int>(std::min<int64_t>(strides[i] - 1, 8)));
      in += FlagOf(n, "ceil_mode") ? -rest : rest;
    }
    if (in < 1) return false;
    x.push_back(Number(in));
  }
  return Demand(node.operands[0][0], x);
}

bool Planner::ArgReduceOperand(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const bool keepdims = FlagOf(n, "keepdims");
  const int rank = static_cast<int>(shape.size()) + (keepdims ? 0 : 1);
  int64_t axis = IntOf(n, "axis", rank);
  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis >= rank) return false;
  Shape from = shape;
  const auto at = from.begin() + axis;
  if (keepdims && !Unify(*at, Number(1))) return false;
  // There is no largest one of none.
  const Unknown reduced = empty_ ? Number(Pick(1, 4)) : Fresh();
  if (keepdims) {
    *at = reduced;
  } else {
    from.insert(at, reduced);
  }
  return Demand(node.operands[0][0], from);
}

bool Planner::TopKOperand(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const int rank = static_cast<int>(shape.size());
  int64_t axis = IntOf(n, "axis", rank);
  axis += axis < 0 ? rank : 0;
  const AttrValue value = AttrOf(n, "k", rank);
  const I64s* k = std::get_if<I64s>(&value);
  if (axis < 0 || axis >= rank || k == nullptr || k->size() != 1) return false;
  if ((*k)[0] < 0 || (*k)[0] > kMaxElements) return false;
  if (!Unify(shape[static_cast<size_t>(axis)], Number((*k)[0]))) return false;
  Shape from = shape;
  from[static_cast<size_t>(axis)] = Number(std::max((*k)[0] + Pick(0, 3), Extent()));
  return Demand(node.operands[0][0], from);
}

bool Planner::TriangleOperand(uint16_t n, const Shape& shape) {
  return shape.size() >= 2 && Demand(rule_.nodes[n].operands[0][0], shape);
}

// Equations of single letters with an output.
bool Planner::EinsumOperands(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  DrawEquation(n, shape.size());
  std::string equation;
  for (const char c : TextOf(n, "equation"))
    if (c != ' ') equation += c;
  const size_t arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos) return false;
  std::map<char, Unknown> letters;
  const std::string output = equation.substr(arrow + 2);
  if (output.size() != shape.size()) return false;
  for (size_t i = 0; i < output.size(); ++i) letters[output[i]] = shape[i];
  std::vector<Shape> inputs(1);
  for (const char c : equation.substr(0, arrow)) {
    if (c == ',') {
      inputs.emplace_back();
      continue;
    }
    if (letters.count(c) == 0) letters[c] = Fresh();
    inputs.back().push_back(letters[c]);
  }
  if (node.operands[0].size() != inputs.size()) return false;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!Demand(node.operands[0][i], inputs[i])) return false;
  return true;
}

}  // namespace tenon::drr
