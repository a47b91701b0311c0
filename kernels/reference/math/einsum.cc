// Reference kernel of ten.einsum.
#include <cstring>
#include <string>

#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

// Index labels are characters; the axes of an ellipsis get the labels below, aligned at the right.
constexpr char kFirstEllipsisLabel = 1;
constexpr int kMaxEllipsis = 16;
using Labels = absl::InlinedVector<char, 8>;

struct Equation {
  absl::InlinedVector<Labels, 4> inputs;
  Labels output;
  int ellipsis_rank = 0;
};

// The labels of one term for an operand of `rank` axes (rank -1: the output, whose ellipsis has
// `ellipsis_rank` axes).
bool ParseTerm(std::string_view term, int rank, int ellipsis_rank, Labels& labels, int& ellipsis) {
  int letters = 0;
  bool has_ellipsis = false;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] == '.') {
      if (has_ellipsis || term.substr(i, 3) != "...") return false;
      has_ellipsis = true;
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
      ++letters;
    } else if (term[i] != ' ') {
      return false;
    }
  }
  ellipsis = rank < 0 ? ellipsis_rank : rank - letters;
  if (!has_ellipsis && rank >= 0 && ellipsis != 0) return false;
  if (ellipsis < 0 || ellipsis > kMaxEllipsis) return false;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] == '.') {
      for (int e = ellipsis; e-- > 0;) labels.push_back(static_cast<char>(kFirstEllipsisLabel + e));
      i += 2;
    } else if (term[i] != ' ') {
      labels.push_back(term[i]);
    }
  }
  if (!has_ellipsis) ellipsis = 0;
  return true;
}

bool Parse(std::string_view text, std::span<const TensorView> inputs, Equation& equation) {
  const size_t arrow = text.find("->");
  std::string_view left = text.substr(0, arrow);
  std::array<int, 128> uses = {};
  for (size_t k = 0; k < inputs.size(); ++k) {
    const size_t comma = left.find(',');
    if ((comma == std::string_view::npos) != (k + 1 == inputs.size())) return false;
    Labels labels;
    int ellipsis = 0;
    if (!ParseTerm(left.substr(0, comma), inputs[k].rank(), 0, labels, ellipsis)) return false;
    equation.ellipsis_rank = std::max(equation.ellipsis_rank, ellipsis);
    for (char label : labels) ++uses[static_cast<size_t>(label)];
    equation.inputs.push_back(labels);
    if (comma != std::string_view::npos) left.remove_prefix(comma + 1);
  }
  if (arrow != std::string_view::npos) {
    int ellipsis = 0;
    return ParseTerm(text.substr(arrow + 2), -1, equation.ellipsis_rank, equation.output, ellipsis);
  }
  // Implicit output: the ellipsis, then the labels used once, in alphabetical order.
  for (int e = equation.ellipsis_rank; e-- > 0;) {
    equation.output.push_back(static_cast<char>(kFirstEllipsisLabel + e));
  }
  for (int label = 'A'; label <= 'z'; ++label) {
    if (uses[static_cast<size_t>(label)] == 1) equation.output.push_back(static_cast<char>(label));
  }
  return true;
}

KernelStatus Einsum(const RunArgs& args) {
  const std::string& text = args.get<ten::EinsumAttrs>().equation;
  Equation equation;
  if (!Parse(text, args.inputs, equation)) {
    return KernelStatus::Invalid("equation '" + text + "' does not fit the operands' ranks");
  }
  // The index space: output labels first, then the summed ones in order of appearance.
  std::array<int64_t, 128> extent;
  extent.fill(-1);
  Labels space = equation.output;
  for (size_t k = 0; k < args.inputs.size(); ++k) {
    for (size_t axis = 0; axis < equation.inputs[k].size(); ++axis) {
      const char label = equation.inputs[k][axis];
      int64_t& known = extent[static_cast<size_t>(label)];
      const int64_t d = args.inputs[k].shape[axis];
      if (known == -1 && std::find(space.begin(), space.end(), label) == space.end()) {
        space.push_back(label);
      }
      if (known > 1 && d > 1 && known != d) {
        return KernelStatus::Invalid("equation '" + text + "': index " + std::string(1, label) +
                                     " has extents " + std::to_string(known) + " and " +
                                     std::to_string(d));
      }
      if (known == -1 || known == 1) known = d;
    }
  }
  Dims out_shape, sum_shape;
  for (size_t i = 0; i < space.size(); ++i) {
    const int64_t d = extent[static_cast<size_t>(space[i])];
    if (d < 0) {
      return KernelStatus::Invalid("equation '" + text + "': an output index is in no operand");
    }
    (i < equation.output.size() ? out_shape : sum_shape).push_back(d);
  }
  // Strides of every operand over the whole space; a repeated label adds up (a diagonal).
  absl::InlinedVector<Dims, 4> strides;
  for (size_t k = 0; k < args.inputs.size(); ++k) {
    const Dims row_major = RowMajorStrides(args.inputs[k].shape);
    Dims by_space(space.size(), 0);
    for (size_t axis = 0; axis < equation.inputs[k].size(); ++axis) {
      if (args.inputs[k].shape[axis] == 1) continue;
      for (size_t i = 0; i < space.size(); ++i) {
        if (space[i] == equation.inputs[k][axis]) by_space[i] += row_major[axis];
      }
    }
    strides.push_back(std::move(by_space));
  }
  const size_t out_rank = out_shape.size();
  const int64_t results = Product(View(out_shape)), terms = Product(View(sum_shape));
  return DispatchNumber(args.outputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    StridedWalk<0> outer(View(out_shape), {});
    for (int64_t i = 0; i < results; ++i, outer.Next()) {
      Accumulate<T> sum = 0;
      StridedWalk<0> inner(View(sum_shape), {});
      for (int64_t t = 0; t < terms; ++t, inner.Next()) {
        Accumulate<T> product = 1;
        for (size_t k = 0; k < args.inputs.size(); ++k) {
          int64_t at = 0;
          for (size_t d = 0; d < out_rank; ++d) at += strides[k][d] * outer.index()[d];
          for (size_t d = out_rank; d < space.size(); ++d) {
            at += strides[k][d] * inner.index()[d - out_rank];
          }
          product *=
              static_cast<Accumulate<T>>(static_cast<Compute<T>>(args.inputs[k].as<T>()[at]));
        }
        sum += product;
      }
      args.outputs[0].as<T>()[i] = static_cast<T>(sum);
    }
    return KernelStatus::Ok();
  });
}

}  // namespace

Kernel RefEinsum() { return {.op = "ten.einsum", .name = "ref.einsum", .run = Einsum}; }

}  // namespace tenon::kernels
