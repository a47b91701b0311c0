#include "frontends/debug/compare_nodes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "fmt/format.h"
#include "frontends/cpp/files/sequences.h"
#include "frontends/onnx/file/model_info.h"
#include "ir/base/check.h"
#include "ir/core/block.h"

namespace tenon {
namespace {

// The outputs of the main function: where each is computed.
struct Origin {
  int64_t order = -1;  // of the operation in the block; -1: an input
  std::string node;
};

std::vector<Origin> OriginsOf(const Model& model) {
  Block& body = model.main()->region().front();
  std::map<const Operation*, int64_t> order;
  for (Operation& op : body) order.emplace(&op, static_cast<int64_t>(order.size()));
  std::vector<Origin> origins;
  const Operation* end = body.back();
  for (unsigned i = 0; i < end->num_operands(); ++i) {
    Origin& origin = origins.emplace_back();
    const Operation* op = end->operand(i).defining_op();
    if (op == nullptr) continue;
    origin.order = order.at(op);
    origin.node = DescribeLocation(model.context(), op->location());
  }
  return origins;
}

std::vector<int64_t> PositionOf(int64_t element, std::span<const int64_t> shape) {
  std::vector<int64_t> position(shape.size());
  if (element < 0) return {};
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 0) return {};
    position[axis] = element % shape[axis];
    element /= shape[axis];
  }
  return position;
}

}  // namespace

const ComparedValue* NodeComparison::first() const {
  const auto found = std::find_if(values.begin(), values.end(), [](const ComparedValue& value) {
    return !value.difference.pass;
  });
  return found == values.end() ? nullptr : &*found;
}

const ComparedValue* NodeComparison::largest() const {
  const ComparedValue* largest = nullptr;
  for (const ComparedValue& value : values) {
    if (!value.difference.pass) continue;
    if (largest == nullptr || value.difference.max_rel > largest->difference.max_rel)
      largest = &value;
  }
  return largest;
}

absl::StatusOr<NodeComparison> CompareNodes(const std::string& path, LoadOptions load,
                                            const CompileOptions& compile,
                                            std::span<const Tensor> inputs,
                                            const RunElsewhere& elsewhere,
                                            const CompareTensors& compare) {
  load.edit.expose_values = true;
  TENON_ASSIGN_OR_RETURN(Model model, Load(path, load));
  if (model.info() == nullptr || model.main() == nullptr)
    return absl::InvalidArgumentError(fmt::format("{}: not an ONNX model", path));
  const std::vector<std::string> exposed = model.info()->exposed;  // the model goes before they do
  const std::vector<Origin> origins = OriginsOf(model);
  const std::string more_outputs = onnx::OutputDeclarations(exposed);
  OptimizeOptions as_it_is;
  as_it_is.level = 0;
  TENON_RETURN_IF_ERROR(Optimize(model, as_it_is));
  TENON_ASSIGN_OR_RETURN(const Program program, Compile(std::move(model), compile));
  TENON_ASSIGN_OR_RETURN(const std::vector<Tensor> actual, program.Run(inputs));
  TENON_ASSIGN_OR_RETURN(std::vector<Tensor> expected, elsewhere(more_outputs));
  // A sequence is one value of the other engine, without numbers, and several outputs of ours.
  // Strings and maps are as many there.
  const std::set<std::string_view> names(exposed.begin(), exposed.end());
  const auto is_exposed = [&](const TensorSpec& output) {
    for (std::string_view name = output.name;; name = name.substr(0, name.rfind('#'))) {
      if (names.contains(name)) return true;
      if (name.find('#') == std::string_view::npos) return false;
    }
  };
  const auto num_exposed = static_cast<size_t>(
      std::count_if(program.outputs().begin(), program.outputs().end(), is_exposed));
  for (const SequencePorts& sequence : FindSequences(program.outputs())) {
    if (sequence.first < expected.size()) {
      expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(sequence.first),
                      sequence.count - 1, Tensor());
    }
  }
  if (expected.size() != actual.size()) {
    return absl::UnavailableError(fmt::format("the other engine has {} values (expected {})",
                                              expected.size(), actual.size()));
  }
  std::vector<size_t> sorted(actual.size());
  std::iota(sorted.begin(), sorted.end(), size_t{0});
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](size_t a, size_t b) { return origins[a].order < origins[b].order; });
  NodeComparison result;
  for (const size_t i : sorted) {
    const std::string& name = program.outputs()[i].name;
    if (!expected[i]) {
      result.skipped.push_back(name);
      continue;
    }
    // Engines in Python hand over the codes of types that NumPy lacks.
    if (IsNarrow(actual[i].dtype()) && SizeOf(expected[i].dtype()) == 1) {
      expected[i] = Tensor::Copy(actual[i].dtype(), expected[i].shape(), expected[i].data());
    }
    ComparedValue& value = result.values.emplace_back();
    value.value = name;
    value.node = origins[i].node.empty() ? name : origins[i].node;
    value.type = actual[i].type_text();
    value.difference = compare(actual[i], expected[i]);
    value.position = PositionOf(value.difference.element, actual[i].shape());
  }
  expected.resize(actual.size() - num_exposed);
  result.outputs = std::move(expected);
  return result;
}

}  // namespace tenon
