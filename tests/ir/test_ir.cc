#include "tests/ir/test_ir.h"

#include "ir/core/block.h"

namespace tenon::test {
namespace {

OperandDef Any(std::string name, Arity arity = Arity::kSingle) {
  OperandDef def;
  def.name = std::move(name);
  def.arity = arity;
  def.constraint.any = true;
  def.constraint.description = "anything";
  return def;
}

AttrDef Attr(std::string name, AttrType type, bool required = true, std::string default_text = {}) {
  AttrDef def;
  def.name = std::move(name);
  def.type = type;
  def.required = required;
  def.default_text = std::move(default_text);
  return def;
}

OpDef Op(std::string name, std::vector<OperandDef> operands, std::vector<OperandDef> results,
         uint32_t traits = 0) {
  OpDef def;
  def.name = std::move(name);
  def.operands = std::move(operands);
  def.results = std::move(results);
  def.traits = traits;
  return def;
}

uint32_t Bits(std::initializer_list<Trait> traits) {
  uint32_t bits = 0;
  for (Trait t : traits) bits |= static_cast<uint32_t>(t);
  return bits;
}

absl::Status SameAsFirst(const InferContext& infer, ResultTypes& results) {
  results.push_back(infer.operands[0]);
  return absl::OkStatus();
}

}  // namespace

void RegisterTestDialect(Context& context) {
  Dialect builtin{"builtin", "", {}};
  OpDef module = Op("builtin.module", {}, {},
                    Bits({Trait::kIsolatedFromAbove, Trait::kSymbolTable, Trait::kNoTerminator,
                          Trait::kSingleBlock}));
  module.attrs = {Attr("sym_name", AttrType::kStr, false),
                  Attr("sym_visibility", AttrType::kStr, false)};
  module.regions = {"body"};
  builtin.ops.push_back(std::move(module));
  TENON_CHECK(context.RegisterDialect(std::move(builtin)).ok());

  Dialect t{"t", "", {}};
  t.ops.push_back(Op("t.source", {}, {Any("out")}, Bits({Trait::kPure})));
  t.ops.push_back(
      Op("t.binary", {Any("a"), Any("b")}, {Any("out")}, Bits({Trait::kPure, Trait::kSameDtype})));
  t.ops.back().infer = SameAsFirst;
  OpDef tagged = Op("t.tagged", {}, {});
  tagged.attrs = {Attr("axis", AttrType::kI64), Attr("kind", AttrType::kEnum, false, "\"a\""),
                  Attr("scale", AttrType::kF32, false, "1.0 : f32"),
                  Attr("tag", AttrType::kAny, false)};
  tagged.attrs[1].enums = {"a", "b"};
  t.ops.push_back(std::move(tagged));
  OpDef groups =
      Op("t.groups", {Any("first"), Any("maybe", Arity::kOptional), Any("rest", Arity::kVariadic)},
         {});
  groups.attrs = {Attr("operandSegmentSizes", AttrType::kAny)};
  t.ops.push_back(std::move(groups));
  t.ops.push_back(
      Op("t.tail", {Any("first"), Any("rest", Arity::kVariadic)}, {Any("outs", Arity::kVariadic)}));
  OpDef region = Op("t.region", {}, {});
  region.regions = {"body"};
  t.ops.push_back(std::move(region));
  OpDef isolated = Op("t.isolated", {}, {}, Bits({Trait::kIsolatedFromAbove}));
  isolated.regions = {"body"};
  t.ops.push_back(std::move(isolated));
  t.ops.push_back(Op("t.end", {Any("values", Arity::kVariadic)}, {}, Bits({Trait::kTerminator})));
  OpDef branch = Op("t.branch", {Any("args", Arity::kVariadic)}, {}, Bits({Trait::kTerminator}));
  branch.successors = {{"dest", 0}};
  t.ops.push_back(std::move(branch));
  OpDef fork = Op("t.fork", {}, {}, Bits({Trait::kTerminator}));
  fork.successors = {{"left", -1}, {"right", -1}};
  t.ops.push_back(std::move(fork));
  OpDef symbol = Op("t.symbol", {}, {}, Bits({Trait::kSymbol}));
  symbol.attrs = {Attr("sym_name", AttrType::kStr)};
  t.ops.push_back(std::move(symbol));
  TENON_CHECK(context.RegisterDialect(std::move(t)).ok());
}

TestIr::TestIr() {
  RegisterTestDialect(context);
  context.diagnostics().SetHandler(
      [this](const Diagnostic& d) { messages.push_back(FormatDiagnostic(context, d)); });
  module = CreateModule(context);
  body = &module->region().front();
}

TestIr::~TestIr() { module.reset(); }

Type TestIr::tensor(std::initializer_list<int64_t> dims, DType dtype) {
  return Type::Tensor(context, dtype, std::span<const int64_t>(dims.begin(), dims.size()));
}

Operation* TestIr::Make(std::string_view name, std::vector<Value> operands,
                        std::vector<Type> results, unsigned regions,
                        std::vector<Block*> successors) {
  const OpInfo* info = context.FindOp(name);
  if (info == nullptr) info = context.GetUnregisteredOp(name);
  return Operation::Create(*info, Location(), results, operands, {}, successors, regions);
}

Operation* TestIr::Add(Block* block, std::string_view name, std::vector<Value> operands,
                       std::vector<Type> results, unsigned regions,
                       std::vector<Block*> successors) {
  Operation* op =
      Make(name, std::move(operands), std::move(results), regions, std::move(successors));
  block->Append(op);
  return op;
}

}  // namespace tenon::test
