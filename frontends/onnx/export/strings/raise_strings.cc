#include "frontends/onnx/export/strings/raise_strings.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "frontends/onnx/export/lowering.h"
#include "frontends/onnx/export/strings/string_values.h"
#include "frontends/onnx/file/tensor.h"
#include "frontends/onnx/file/type_proto.h"
#include "frontends/onnx/onnx.pb.h"
#include "ir/base/check.h"
#include "ir/core/context/diagnostic.h"
#include "ir/dialect/str_ops.h"

namespace tenon::onnx {
namespace {

// What stands for one value of ONNX among arguments or results: the ends of their names.
using Parts = std::span<const std::string_view>;
constexpr std::string_view kStringParts[] = {"#spans", "#text"};
constexpr std::string_view kMapsOfStringsParts[] = {"#keys#spans", "#keys#text", "#values"};
constexpr std::string_view kMapsParts[] = {"#keys", "#values"};

// The names of arguments or results: dictionaries with `core.name`.
class Names {
 public:
  Names(Operation& function, std::string_view attr) : function_(function), attr_(attr) {
    if (const Attribute names = function.attr(attr))
      entries_.assign(names.elements().begin(), names.elements().end());
  }
  // The name of the value that the entries from i on stand for; empty if they do not.
  std::string ValueAt(unsigned i, Parts parts) const {
    if (i + parts.size() > entries_.size()) return "";
    std::string found;
    for (const std::string_view part : parts) {
      std::string_view name = NameAt(i++);
      if (!name.ends_with(part)) return "";
      name.remove_suffix(part.size());
      if (part != parts.front() && name != found) return "";
      found = name;
    }
    return found;
  }
  // Makes `count` entries one.
  void Join(unsigned i, size_t count, const std::string& name) {
    Context& context = function_.context();
    const NamedAttribute entry[] = {{context.Intern("core.name"), Attribute::Str(context, name)}};
    entries_[i] = Attribute::Dictionary(context, entry);
    entries_.erase(entries_.begin() + i + 1, entries_.begin() + i + static_cast<int64_t>(count));
    function_.SetAttr(attr_, Attribute::Array(context, entries_));
  }

 private:
  std::string_view NameAt(unsigned i) const {
    const Attribute name = entries_[i].Get("core.name");
    return name ? name.str() : std::string_view();
  }

  Operation& function_;
  std::string_view attr_;
  std::vector<Attribute> entries_;
};

// Erases operations without an effect whose results nothing reads.
void EraseDead(Block& block) {
  for (Operation *op = block.back(), *before; op != nullptr; op = before) {
    before = op->prev();
    for (unsigned i = 0; i < op->num_regions(); ++i) {
      for (Block& inner : op->region(i)) EraseDead(inner);
    }
    const bool is_node = op->info().dialect() == "onnx" && op->num_results() > 0;
    if ((op->Has(Trait::kPure) || is_node) && op->num_regions() == 0 && !op->has_uses())
      op->Erase();
  }
}

// True for operations whose operands or results are spans and texts.
bool IsOnStrings(const Operation& op) {
  return op.info().dialect() == "str" && op.id() != str::CountNgramsOp::kId;
}

class Raiser {
 public:
  Raiser(Operation& function, int64_t opset) : function_(function), opset_(opset) {}

  absl::StatusOr<bool> Run(std::vector<Value>& arguments) {
    Block& body = function_.region().front();
    Names names(function_, "arg_attrs");
    std::vector<Value> texts;
    for (unsigned i = 0, at = 0; i + 1 < body.num_arguments(); ++i, ++at) {
      const std::string name = names.ValueAt(at, kStringParts);
      if (name.empty()) continue;
      strings_.Note(body.argument(i), body.argument(i + 1), body.argument(i));
      arguments.push_back(body.argument(i));
      texts.push_back(body.argument(++i));
      names.Join(at, std::size(kStringParts), name);
    }
    std::vector<Operation*> ops;
    function_.Walk([&](Operation* op) {
      if (IsOnStrings(*op)) ops.push_back(op);
    });
    for (Operation* op : ops) TENON_RETURN_IF_ERROR(Raise(*op));
    TENON_ASSIGN_OR_RETURN(const bool joined, JoinResults(*body.back()));
    if (Operation* const unknown = strings_.FindYielded(); unknown != nullptr)
      return Unknown(*unknown);
    if (ops.empty() && texts.empty() && !joined) return false;
    for (const auto& [spans, strings] : replaced_) {
      if (spans != strings) Value(spans).ReplaceAllUsesWith(strings);
    }
    for (bool dropped = true; dropped;) {
      EraseDead(body);
      TENON_ASSIGN_OR_RETURN(dropped, strings_.DropTexts());
    }
    if (const Operation* const reader = strings_.ReaderOfText(); reader != nullptr)
      return Unknown(const_cast<Operation&>(*reader));
    for (const Value text : texts) {
      if (text.has_uses()) return Unknown(*text.uses().begin()->owner());
      body.EraseArgument(text.argument_index());
    }
    absl::Status left;
    function_.Walk([&](Operation* op) {
      if (left.ok() && IsOnStrings(*op)) left = Unknown(*op);
    });
    TENON_RETURN_IF_ERROR(left);
    UpdateFunctionType(function_);
    return true;
  }

 private:
  absl::Status Unknown(Operation& op) {
    DimValues none;
    Lowering lowering(op, opset_, none);
    lowering.Fail("it is not known which strings its spans mean (expected spans and their text)");
    return lowering.status();
  }

  // Operands 2k and 2k + 1 as strings; null, after an error, if they are not known.
  Value Operand(Lowering& l, unsigned spans) {
    const Value strings = strings_.Of(l.operand(spans), l.operand(spans + 1));
    if (!strings) l.Fail("it is not known which strings its spans mean");
    return strings;
  }

  // Notes that `strings` are the results of the operation: spans and a text.
  void Results(Lowering& l, Value strings, Value text) {
    if (!l.ok()) return;
    strings.set_type(l.op().result().type());
    strings_.Note(l.op().result(), text, strings);
    replaced_.emplace_back(l.op().result(), strings);
  }
  // The same for a result of numbers.
  void Result(Lowering& l, unsigned i, Value value) {
    if (!l.ok()) return;
    value.set_type(l.op().result(i).type());
    l.op().result(i).ReplaceAllUsesWith(value);
  }

  absl::Status Raise(Operation& op);
  Value Find(Lowering& l, Value x);
  Value ChangeCase(Lowering& l, Value x);
  // A node that makes maps of a matrix; null where the keys are not constant.
  Value Maps(Operation& end, Value keys, Value values);
  // True if there are strings or maps among the results.
  absl::StatusOr<bool> JoinResults(Operation& end);

  Operation& function_;
  const int64_t opset_;
  StringValues strings_;
  std::vector<std::pair<Value, Value>> replaced_;
};

absl::Status Raiser::Raise(Operation& op) {
  DimValues none;
  Lowering l(op, opset_, none);
  if (op.id() == str::FromNumberOp::kId) {
    Results(l, l.Node("Cast", {op.operand(0)}, {{"to", l.Int(onnxpb::TensorProto::STRING)}}),
            op.result(1));
    return l.status();
  }
  const Value x = Operand(l, 0);
  if (!l.ok()) return l.status();
  switch (op.id()) {
    case str::EqualOp::kId: {
      const Value y = Operand(l, 2);
      if (l.ok() && l.Needs(19, "Equal of strings")) Result(l, 0, l.Node("Equal", {x, y}));
      break;
    }
    case str::FindOp::kId:
      Result(l, 0, Find(l, x));
      break;
    case str::ConcatOp::kId: {
      const Value y = Operand(l, 2);
      if (l.ok() && l.Needs(20, "StringConcat"))
        Results(l, l.Node("StringConcat", {x, y}), op.result(1));
      break;
    }
    case str::ChangeCaseOp::kId:
      Results(l, ChangeCase(l, x), op.result(1));
      break;
    case str::SplitOp::kId: {
      if (!l.Needs(20, "StringSplit")) break;
      const auto attrs = str::SplitOp(&op).attrs();
      Lowering::Attrs entries;
      if (!attrs.delimiter.empty()) entries.push_back({"delimiter", l.Str(attrs.delimiter)});
      if (attrs.maxsplit) entries.push_back({"maxsplit", l.Int(*attrs.maxsplit)});
      Operation* const node = l.Nodes("StringSplit", {x}, entries, 2);
      if (node == nullptr) break;
      Results(l, node->result(0), op.operand(1));
      Result(l, 1, node->result(1));
      break;
    }
    case str::MatchesOp::kId:
      if (l.Needs(20, "RegexFullMatch")) {
        Result(l, 0,
               l.Node("RegexFullMatch", {x}, {{"pattern", l.Str(str::MatchesOp(&op).pattern())}}));
      }
      break;
    case str::ToNumberOp::kId: {
      const DType to = op.result().type().dtype();
      Result(l, 0, l.Node("Cast", {x}, {{"to", l.Int(OnnxTypeOf(to))}}));
      break;
    }
    case str::PackOp::kId:
      strings_.Note(op.result(0), op.result(1), x);
      replaced_.emplace_back(op.result(0), x);
      break;
    default:
      l.Fail("no node computes it");
  }
  return l.status();
}

// The position of each string among the keys, -1 for what is none of them.
Value Raiser::Find(Lowering& l, Value x) {
  const Value spans = l.operand(2), text = l.operand(3);
  if (const auto words = strings_.Constants(spans, text)) {
    std::set<std::string> seen;
    std::vector<Attribute> keys;
    std::vector<int64_t> positions;
    for (size_t i = 0; i < words->size(); ++i) {
      if (!seen.insert((*words)[i]).second) continue;
      keys.push_back(l.Str((*words)[i]));
      positions.push_back(static_cast<int64_t>(i));
    }
    if (!keys.empty()) {
      return l.Node("ai.onnx.ml.LabelEncoder", {x},
                    {{"default_int64", l.Int(-1)},
                     {"keys_strings", Attribute::Array(l.context(), keys)},
                     {"values_int64s", l.IntList(positions)}});
    }
  }
  const Value keys = Operand(l, 2);
  if (!l.ok() || !l.Needs(19, "Equal of strings")) return Value();
  const Value column = l.Node("Unsqueeze", {x, l.Ints({-1})});
  const Value equal = l.Node("Cast", {l.Node("Equal", {column, keys})},
                             {{"to", l.Int(onnxpb::TensorProto::INT32)}});
  const Value any = l.Node("ReduceMax", {equal, l.Ints({-1})}, {{"keepdims", l.Int(0)}});
  const Value at = l.Node("ArgMax", {equal}, {{"axis", l.Int(-1)}, {"keepdims", l.Int(0)}});
  const Value found = l.Node("Cast", {any}, {{"to", l.Int(onnxpb::TensorProto::BOOL)}});
  return l.Node("Where", {found, at, l.Scalar(DType::kI64, -1)});
}

Value Raiser::ChangeCase(Lowering& l, Value x) {
  const Type type = x.type();
  const bool is_upper = str::ChangeCaseOp(&l.op()).to() == "upper";
  const auto changed = [&](Value vector) {
    return l.Node("StringNormalizer", {vector},
                  {{"case_change_action", l.Str(is_upper ? "UPPER" : "LOWER")},
                   {"is_case_sensitive", l.Int(1)},
                   {"locale", l.Str("C.UTF-8")}});
  };
  const bool is_vector = type.rank() == 1;
  if (is_vector && type.dim(0).is_constant() && type.dim(0).constant() > 0) return changed(x);
  // The node takes vectors, and makes one string of none: an empty string at the end keeps it from
  // that.
  const int64_t one = 1;
  const Value empty = MakeStrings(
      l.op(), Type::Tensor(l.context(), DType::kI64, std::span(&one, 1)), {std::string()});
  const Value flat = is_vector ? x : l.Node("Reshape", {x, l.Ints({-1})});
  const Value all = changed(l.Node("Concat", {flat, empty}, {{"axis", l.Int(0)}}));
  const Value left = l.Node("Slice", {all, l.Ints({0}), l.Ints({-1}), l.Ints({0})});
  return is_vector ? left : l.Node("Reshape", {left, l.Node("Shape", {x})});
}

// The labels that a ZipMap gives the columns of `values`, as its attribute; none if it cannot.
std::optional<NamedAttribute> LabelsOf(Value keys, Value values) {
  const Type type = values.type();
  if (!type.is_tensor() || type.rank() != 2 || type.dtype() != DType::kF32) return std::nullopt;
  Context& context = type.context();
  if (const Attribute constant = ConstantOf(keys)) {
    std::vector<int64_t> labels;
    for (int64_t i = 0; i < constant.type().num_elements(); ++i)
      labels.push_back(constant.ElementAsInt(i));
    return NamedAttribute{context.Intern("classlabels_int64s"), Attribute::I64s(context, labels)};
  }
  const Operation* node = keys.defining_op();
  if (node == nullptr || node->name() != "onnx.Constant") return std::nullopt;
  return NamedAttribute{context.Intern("classlabels_strings"),
                        node->slot(0).Get("value").Get("strings")};
}

absl::StatusOr<bool> Raiser::JoinResults(Operation& end) {
  Names names(function_, "res_attrs");
  bool joined = false;
  const auto join = [&](unsigned i, Parts parts, const std::string& name, Value value) {
    end.set_operand(i, value);
    for (size_t k = 1; k < parts.size(); ++k) end.EraseOperand(i + 1);
    names.Join(i, parts.size(), name);
    joined = true;
  };
  for (unsigned i = 0; i + 1 < end.num_operands(); ++i) {
    if (const std::string name = names.ValueAt(i, kMapsParts); !name.empty()) {
      if (const Value maps = Maps(end, end.operand(i), end.operand(i + 1)))
        join(i, kMapsParts, name, maps);
      continue;
    }
    const std::string name = names.ValueAt(i, kStringParts);
    if (name.empty()) continue;
    const Value strings = strings_.Of(end.operand(i), end.operand(i + 1));
    if (!strings) return Unknown(end);
    const std::string of_maps = names.ValueAt(i, kMapsOfStringsParts);
    const Value maps = of_maps.empty() ? Value() : Maps(end, strings, end.operand(i + 2));
    if (maps) {
      join(i, kMapsOfStringsParts, of_maps, maps);
    } else {
      join(i, kStringParts, name, strings);
    }
  }
  return joined;
}

Value Raiser::Maps(Operation& end, Value keys, Value values) {
  const auto labels = LabelsOf(keys, values);
  if (!labels) return Value();
  DimValues none;
  Lowering l(end, opset_, none);
  const Value maps = l.Node("ai.onnx.ml.ZipMap", {values}, {{labels->name.str(), labels->value}});
  maps.defining_op()->set_location(values.location());
  Value(maps).set_type(MapsType(end.context(), labels->name.str() == "classlabels_strings"));
  return maps;
}

}  // namespace

absl::StatusOr<bool> RaiseStrings(Operation& function, int64_t opset,
                                  std::vector<Value>& arguments) {
  return Raiser(function, opset).Run(arguments);
}

}  // namespace tenon::onnx
