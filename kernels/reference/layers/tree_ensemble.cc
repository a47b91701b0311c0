// The reference kernel of ensembles of decision trees: row by row and tree by tree, in double.
#include <algorithm>
#include <vector>

#include "kernels/calls/tree_call.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"

namespace tenon::kernels {
namespace {

bool Passes(int64_t test, double value, double split) {
  switch (test) {
    case TreeCall::kLessEqual:
      return value <= split;
    case TreeCall::kLess:
      return value < split;
    case TreeCall::kGreaterEqual:
      return value >= split;
    case TreeCall::kGreater:
      return value > split;
    case TreeCall::kEqual:
      return value == split;
    default:
      return value != split;
  }
}

// The results of one row.
struct Totals {
  explicit Totals(int64_t targets)
      : value(static_cast<size_t>(targets)), has_value(static_cast<size_t>(targets)) {}

  void Add(nn::TreeEnsembleAggregate aggregate, size_t target, double weight) {
    double& total = value[target];
    if (!has_value[target]) {
      total = weight;
    } else if (aggregate == nn::TreeEnsembleAggregate::kMin) {
      total = std::min(total, weight);
    } else if (aggregate == nn::TreeEnsembleAggregate::kMax) {
      total = std::max(total, weight);
    } else {
      total += weight;
    }
    has_value[target] = true;
  }

  std::vector<double> value;
  std::vector<bool> has_value;
};

template <typename T>
void RunRow(const TreeCall& call, const nn::TreeEnsembleAttrs& attrs, const T* x, T* out) {
  const T* splits = call.inputs[TreeCall::kSplits].as<T>();
  const T* weights = call.inputs[TreeCall::kWeights].as<T>();
  Totals totals(attrs.num_targets);
  for (int64_t tree = 0; tree < call.num_roots; ++tree) {
    int64_t node = call.roots[tree];
    while (node < call.num_branches) {
      const TreeCall::Branch& branch = call.branches[node];
      const auto value = static_cast<double>(x[branch.feature]);
      const bool yes = Passes(branch.test, value, static_cast<double>(splits[node])) ||
                       (value != value && branch.nan_is_yes != 0);
      node = yes ? branch.yes : branch.no;
    }
    const int64_t leaf = node - call.num_branches;
    Totals of_leaf(attrs.num_targets);
    for (int64_t i = call.leaves[leaf]; i < call.leaves[leaf + 1]; ++i) {
      of_leaf.Add(nn::TreeEnsembleAggregate::kSum, static_cast<size_t>(call.targets[i]),
                  static_cast<double>(weights[i]));
    }
    for (size_t t = 0; t < of_leaf.value.size(); ++t) {
      if (of_leaf.has_value[t]) totals.Add(attrs.aggregate, t, of_leaf.value[t]);
    }
  }
  const bool is_average = attrs.aggregate == nn::TreeEnsembleAggregate::kAverage;
  for (int64_t t = 0; t < attrs.num_targets; ++t) {
    double total = totals.value[static_cast<size_t>(t)];
    if (is_average && call.num_roots > 0) total /= static_cast<double>(call.num_roots);
    out[t] = static_cast<T>(total);
  }
}

KernelStatus TreeEnsemble(const RunArgs& args) {
  const auto& attrs = args.get<nn::TreeEnsembleAttrs>();
  const TreeCall call(args.inputs);
  const TensorView &x = args.inputs[TreeCall::kX], &out = args.outputs[0];
  const int64_t features = x.shape[1];
  std::vector<int64_t> order;
  if (KernelStatus status = call.Check(features, attrs.num_targets, order); !status.ok())
    return status;
  return DispatchFloat(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t row = 0; row < x.shape[0]; ++row) {
      RunRow<T>(call, attrs, x.as<T>() + row * features, out.as<T>() + row * attrs.num_targets);
    }
    return KernelStatus::Ok();
  });
}

}  // namespace

Kernel RefTreeEnsemble() {
  return {.op = "nn.tree_ensemble", .name = "ref.tree_ensemble", .run = TreeEnsemble};
}

}  // namespace tenon::kernels
