// The types of strings in a lowered function.
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "fmt/format.h"
#include "frontends/onnx/export/strings/raise_strings.h"
#include "frontends/onnx/file/type_proto.h"
#include "frontends/onnx/onnx.pb.h"
#include "frontends/onnx/ops/containers/string_operators.h"
#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/context/diagnostic.h"

namespace tenon::onnx {
namespace {

bool MakesStrings(const Operation& op, std::string_view node) {
  const Attribute entries = op.slot(0);
  if (node == "Cast")
    return entries.Get("to") && entries.Get("to").int_value() == onnxpb::TensorProto::STRING;
  if (node == "Constant") {
    const Attribute value = entries.Get("value");
    return value && value.kind() == Attribute::Kind::kDictionary && value.Get("strings");
  }
  return node == "StringConcat" || node == "StringNormalizer" || node == "StringSplit";
}

class Typer {
 public:
  absl::Status Visit(Block& block) {
    for (Operation& op : block) {
      TENON_RETURN_IF_ERROR(Visit(op));
      if (op.name() == "onnx.Loop") EnterLoop(op);
      for (unsigned i = 0; i < op.num_regions(); ++i) {
        for (Block& inner : op.region(i)) TENON_RETURN_IF_ERROR(Visit(inner));
        LeaveRegion(op, op.region(i));
      }
    }
    return absl::OkStatus();
  }
  void Add(Value value) { strings_.insert(value.impl()); }
  bool empty() const { return strings_.empty(); }

  // Sets the types of all.
  void SetTypes(Block& block) {
    for (unsigned i = 0; i < block.num_arguments(); ++i) SetType(block.argument(i));
    for (Operation& op : block) {
      for (unsigned i = 0; i < op.num_results(); ++i) SetType(op.result(i));
      for (unsigned i = 0; i < op.num_regions(); ++i) {
        for (Block& inner : op.region(i)) SetTypes(inner);
      }
    }
  }

 private:
  void SetType(Value value) {
    if (value.type().is_any_tensor() && strings_.contains(value.impl()))
      value.set_type(StringsType(value.type()));
  }

  // The carried values of a Loop are its last inputs, and the arguments behind the iteration and
  // the condition.
  void EnterLoop(Operation& loop) {
    const Block& body = loop.region().front();
    const unsigned carried = body.num_arguments() - 2, first = loop.num_operands() - carried;
    for (unsigned i = 0; i < carried; ++i) {
      if (strings_.contains(loop.operand(first + i).impl())) Add(body.argument(2 + i));
    }
  }

  // Results of a node are what its graphs give back, behind the condition of a Loop.
  void LeaveRegion(Operation& op, const Region& region) {
    if (region.empty()) return;
    const Operation& yield = *region.front().back();
    const unsigned first = op.name() == "onnx.Loop" ? 1 : 0;
    for (unsigned i = first; i < yield.num_operands() && i - first < op.num_results(); ++i) {
      if (strings_.contains(yield.operand(i).impl())) Add(op.result(i - first));
    }
  }

  absl::Status Visit(Operation& op) {
    if (op.info().dialect() != "onnx" || op.info().is_registered() || op.name() == "onnx.yield")
      return absl::OkStatus();
    const std::string_view node = op.name().substr(std::string_view("onnx.").size());
    if (MakesStrings(op, node)) Add(op.result());
    const size_t domain = node.rfind('.');
    const StringOperator* const reader =
        FindStringOperator(domain == node.npos ? node : node.substr(domain + 1));
    for (unsigned i = 0; i < op.num_operands(); ++i) {
      if (!strings_.contains(op.operand(i).impl())) continue;
      const bool moves = reader != nullptr && reader->use == StringUse::kMoves;
      if (moves && reader->Accepts(i)) {
        for (unsigned k = 0; k < op.num_results(); ++k) Add(op.result(k));
      } else if ((reader == nullptr || moves) && op.num_regions() == 0) {
        const absl::Status error =
            EmitError(op.context(), op.location(),
                      fmt::format("{} has no ONNX form: it reads the spans of strings as numbers",
                                  op.name()));
        return absl::UnimplementedError(error.message());
      }
    }
    return absl::OkStatus();
  }

  absl::flat_hash_set<ValueImpl*> strings_;
};

}  // namespace

void UpdateFunctionType(Operation& function) {
  const Block& body = function.region().front();
  std::vector<Type> inputs, results;
  for (unsigned i = 0; i < body.num_arguments(); ++i) inputs.push_back(body.argument(i).type());
  for (const OpOperand& operand : body.back()->operands()) results.push_back(operand.get().type());
  Context& context = function.context();
  function.SetAttr("function_type",
                   Attribute::TypeAttr(context, Type::Function(context, inputs, results)));
}

absl::Status TypeStrings(Operation& function, const std::vector<Value>& arguments) {
  Typer typer;
  for (const Value argument : arguments) typer.Add(argument);
  Block& body = function.region().front();
  TENON_RETURN_IF_ERROR(typer.Visit(body));
  if (typer.empty()) return absl::OkStatus();
  typer.SetTypes(body);
  UpdateFunctionType(function);
  return absl::OkStatus();
}

}  // namespace tenon::onnx
