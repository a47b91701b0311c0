#include "frontends/cpp/parameters/weight_axes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/core/block.h"
#include "ir/core/walk.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/fused_ops.h"
#include "ir/dialect/replaceable.h"
#include "ir/dialect/ten_ops.h"

namespace tenon {
namespace {

// What the readers of a matrix show.
struct Shown {
  bool inputs_first = false, outputs_first = false, other = false;

  void Add(bool first) { (first ? inputs_first : outputs_first) = true; }
};

bool KeepsElements(const Operation& op, Value matrix) {
  return op.Has(Trait::kElementwise) && op.num_results() == 1 &&
         std::ranges::equal(op.result(0).type().dims(), matrix.type().dims());
}

// `flipped`: the parameter is the transpose of `matrix`.
void Follow(Value matrix, bool flipped, std::set<std::pair<Operation*, bool>>& seen, Shown& shown) {
  for (const OpOperand& use : matrix.uses()) {
    Operation* const op = use.owner();
    const auto product = DynCast<ten::MatmulOp>(op);
    const auto linear = DynCast<fused::LinearOp>(op);
    if (product) {
      // A product is [rows, inputs] by [inputs, outputs].
      if (product.a() == matrix) shown.Add(product.transpose_a() != flipped);
      if (product.b() == matrix) shown.Add(product.transpose_b() == flipped);
    } else if (linear && linear.w() == matrix && linear.x() != matrix) {
      shown.Add(linear.transpose_w() == flipped);
    } else if (Isa<ten::GatherOp>(op) || Isa<ten::ShapeOp>(op)) {
      continue;
    } else if (const auto transpose = DynCast<ten::TransposeOp>(op)) {
      if (!seen.emplace(op, flipped).second) continue;
      const auto perm = transpose.perm();
      Follow(transpose.out(), flipped != (perm[0] == 1), seen, shown);
    } else if (KeepsElements(*op, matrix)) {
      if (seen.emplace(op, flipped).second) Follow(op->result(0), flipped, seen, shown);
    } else {
      shown.other = true;
    }
  }
}

}  // namespace

void NoteWeightAxes(Operation& module) {
  std::map<std::string_view, core::ParameterOp> parameters;
  for (Operation& op : module.region().front()) {
    const auto parameter = DynCast<core::ParameterOp>(&op);
    if (!parameter || !op.attr(kReplaceable) || !parameter.value()) continue;
    if (parameter.value().type().rank() == 2) parameters[parameter.sym_name()] = parameter;
  }
  if (parameters.empty()) return;
  std::map<std::string_view, std::vector<core::GetParameterOp>> readers;
  WalkOps(&module, [&](Operation* op) {
    // Modules inside have parameters of their own.
    if (op != &module && op->Has(Trait::kSymbolTable)) return WalkResult::kSkip;
    if (const auto get = DynCast<core::GetParameterOp>(op)) readers[get.name()].push_back(get);
    return WalkResult::kAdvance;
  });
  for (auto& [name, parameter] : parameters) {
    const auto found = readers.find(name);
    if (found == readers.end()) continue;
    Shown shown;
    std::set<std::pair<Operation*, bool>> seen;
    for (const core::GetParameterOp get : found->second) Follow(get.out(), false, seen, shown);
    const bool told = !shown.other && shown.inputs_first != shown.outputs_first;
    parameter->SetAttr(kInputsFirst,
                       told ? Attribute::Bool(module.context(), shown.inputs_first) : Attribute());
  }
}

}  // namespace tenon
