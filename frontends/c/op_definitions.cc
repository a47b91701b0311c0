#include "frontends/c/op_definitions.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontends/c/convert.h"
#include "frontends/c/convert_types.h"
#include "frontends/c/objects.h"
#include "ir/core/context/context.h"
#include "ir/core/context/op_info.h"
#include "ir/dialect/dialects.h"
#include "ir/dialect/shapes/shape_functions.h"

namespace c = tenon::c;

using tenon::AttrDef;
using tenon::Attribute;
using tenon::AttrType;
using tenon::FoldResult;
using tenon::InferContext;
using tenon::OpDef;
using tenon::OperandDef;
using tenon::Operation;
using tenon::ResultTypes;
using tenon::Trait;

struct TenonInferCall {
  const InferContext& context;
  ResultTypes& results;
};

struct TenonFoldCall {
  Operation& op;
  std::span<const Attribute> constants;
  absl::InlinedVector<FoldResult, 2>& results;
};

// The numbers are the same in both languages, and stay what they are.
static_assert(static_cast<int>(AttrType::kStr) == TENON_TAKES_STRING);
static_assert(static_cast<int>(AttrType::kI64s) == TENON_TAKES_I64S);
static_assert(static_cast<int>(AttrType::kElements) == TENON_TAKES_ELEMENTS);
static_assert(static_cast<uint32_t>(Trait::kPure) == TENON_TRAIT_PURE);
static_assert(static_cast<uint32_t>(Trait::kIdempotent) == TENON_TRAIT_IDEMPOTENT);
static_assert(static_cast<uint32_t>(Trait::kTerminator) == TENON_TRAIT_TERMINATOR);
static_assert(static_cast<uint32_t>(Trait::kSameDtype) == TENON_TRAIT_SAME_DTYPE);
static_assert(static_cast<uint32_t>(Trait::kReadsMemory) == TENON_TRAIT_READS_MEMORY);
static_assert(static_cast<uint32_t>(Trait::kRandom) == TENON_TRAIT_RANDOM);

namespace {

constexpr uint32_t kKnownTraits =
    TENON_TRAIT_PURE | TENON_TRAIT_ELEMENTWISE | TENON_TRAIT_COMMUTATIVE | TENON_TRAIT_IDEMPOTENT |
    TENON_TRAIT_TERMINATOR | TENON_TRAIT_SAME_DTYPE | TENON_TRAIT_READS_MEMORY |
    TENON_TRAIT_WRITES_MEMORY | TENON_TRAIT_RANDOM;
constexpr const char* kSegments = "operandSegmentSizes";

// Tensors of the element types of these bits.
absl::Status ReadConstraint(uint32_t dtypes, tenon::TypeConstraint& constraint) {
  constraint.any = dtypes == 0;
  constraint.dtypes = dtypes;
  constraint.description = dtypes == 0 ? "any type" : "a tensor of ";
  if ((dtypes & 1u) != 0 || (dtypes >> tenon::kNumDTypes) != 0)
    return c::Wrong("{:#x} are no element types (expected bits 1u << TENON_F32 and so on)", dtypes);
  bool first = true;
  for (int i = 1; i < tenon::kNumDTypes; ++i) {
    if (((dtypes >> i) & 1u) == 0) continue;
    if (!first) constraint.description += (dtypes >> i) == 1 ? " or " : ", ";
    constraint.description += tenon::Name(static_cast<tenon::DType>(i));
    first = false;
  }
  return absl::OkStatus();
}

absl::Status ReadValueDefs(const TenonValueDef* given, size_t count, std::string_view what,
                           std::vector<OperandDef>& defs) {
  if (count > 0) TENON_RETURN_IF_ERROR(c::NotNull(given, what));
  for (size_t i = 0; i < count; ++i) {
    OperandDef def;
    std::string_view name;
    TENON_RETURN_IF_ERROR(c::ReadText(given[i].name, what, name));
    def.name = name;
    if (given[i].arity < TENON_SINGLE || given[i].arity > TENON_VARIADIC)
      return c::Wrong("{}[{}] has no arity", what, i);
    def.arity = static_cast<tenon::Arity>(given[i].arity);
    TENON_RETURN_IF_ERROR(ReadConstraint(given[i].dtypes, def.constraint));
    defs.push_back(std::move(def));
  }
  return absl::OkStatus();
}

absl::Status ReadAttributeDefs(const TenonOpDef& given, OpDef& def) {
  if (given.num_attributes > 0) TENON_RETURN_IF_ERROR(c::NotNull(given.attributes, "attributes"));
  for (size_t i = 0; i < given.num_attributes; ++i) {
    const TenonAttributeDef& from = given.attributes[i];
    AttrDef attr;
    std::string_view name, otherwise;
    TENON_RETURN_IF_ERROR(c::ReadText(from.name, "name", name));
    TENON_RETURN_IF_ERROR(c::ReadText(from.default_text, "default_text", otherwise));
    const int type = static_cast<int>(from.type);
    if (type < TENON_TAKES_ANY || type > TENON_TAKES_ELEMENTS || type == TENON_TAKES_STRING + 1)
      return c::Wrong("attributes[{}] has no type", i);
    attr.name = name;
    attr.type = static_cast<AttrType>(type);
    attr.required = !from.optional && otherwise.empty();
    attr.default_text = otherwise;
    def.attrs.push_back(std::move(attr));
  }
  const auto is_flexible = [](const OperandDef& group) {
    return group.arity != tenon::Arity::kSingle;
  };
  if (std::count_if(def.operands.begin(), def.operands.end(), is_flexible) > 1)
    def.attrs.push_back({kSegments, AttrType::kAny, false, "", {}});
  std::sort(def.attrs.begin(), def.attrs.end(),
            [](const AttrDef& a, const AttrDef& b) { return a.name < b.name; });
  return absl::OkStatus();
}

absl::Status CallInfer(TenonInferFn infer, void* state, const InferContext& context,
                       ResultTypes& results) {
  TenonInferCall call = {context, results};
  const absl::Status status = c::TakeStatus(infer(&call, state));
  if (status.ok()) return status;
  const absl::Status named = context.Error(std::string(status.message()));
  return absl::Status(status.code(), named.message());
}

bool CallFold(TenonFoldFn fold, void* state, Operation& op, std::span<const Attribute> constants,
              absl::InlinedVector<FoldResult, 2>& results) {
  results.assign(op.num_results(), FoldResult());
  TenonFoldCall call = {op, constants, results};
  fold(&call, state);
  const bool all = std::all_of(results.begin(), results.end(), [](const FoldResult& result) {
    return static_cast<bool>(result.value) || static_cast<bool>(result.attribute);
  });
  if (!all || results.empty()) results.clear();
  return all && !results.empty();
}

absl::Status ReadHooks(const TenonOpDef& given, const std::shared_ptr<void>& state, OpDef& def) {
  switch (given.infer_kind) {
    case TENON_INFER_FIRST:
      if (def.operands.empty() && !def.results.empty())
        return c::Wrong("{}: TENON_INFER_FIRST without an operand", def.name);
      def.infer = tenon::InferSameAsFirst;
      if (def.results.empty())
        def.infer = [](const InferContext&, ResultTypes&) { return absl::OkStatus(); };
      break;
    case TENON_INFER_ELEMENTWISE:
      if (def.operands.empty() || def.results.size() != 1)
        return c::Wrong("{}: TENON_INFER_ELEMENTWISE needs operands and one result", def.name);
      def.infer = tenon::InferElementwise;
      break;
    case TENON_INFER_CALL:
      TENON_RETURN_IF_ERROR(c::NotNull(given.infer, "infer"));
      def.infer = [infer = given.infer, state](const InferContext& context, ResultTypes& results) {
        return CallInfer(infer, state.get(), context, results);
      };
      break;
    default:
      return c::Wrong("{}: there is no way {} to infer types", def.name,
                      static_cast<int>(given.infer_kind));
  }
  if (given.verify != nullptr) {
    def.verify = [verify = given.verify, state](Operation& op) {
      return c::TakeStatus(verify(c::ToC(&op), state.get()));
    };
  }
  if (given.fold != nullptr) {
    def.fold = [fold = given.fold, state](Operation& op, std::span<const Attribute> constants,
                                          absl::InlinedVector<FoldResult, 2>& results) {
      return CallFold(fold, state.get(), op, constants, results);
    };
  }
  return absl::OkStatus();
}

// The dialect of the operation, which is added if there is none yet.
absl::Status AddToDialect(tenon::Extension& extension, OpDef def) {
  const size_t dot = def.name.find('.');
  if (dot == 0 || dot == std::string::npos || dot + 1 == def.name.size())
    return c::Wrong("'{}' is no name of an operation (expected dialect.name)", def.name);
  const std::string name = def.name.substr(0, dot);
  tenon::Context context;
  tenon::RegisterAllDialects(context);
  if (context.HasDialect(name))
    return absl::AlreadyExistsError(fmt::format("'{}' is a dialect of Tenon", name));
  const auto of_name = [&](const tenon::Dialect& dialect) { return dialect.name == name; };
  const auto found = std::find_if(extension.dialects.begin(), extension.dialects.end(), of_name);
  tenon::Dialect dialect = {name, "", {}};
  if (found != extension.dialects.end()) dialect = *found;
  dialect.ops.push_back(std::move(def));
  TENON_RETURN_IF_ERROR(context.RegisterDialect(dialect));  // says what is wrong with it
  if (found != extension.dialects.end()) {
    *found = std::move(dialect);
  } else {
    extension.dialects.push_back(std::move(dialect));
  }
  return absl::OkStatus();
}

absl::Status AddOp(tenon::Extension& extension, const TenonOpDef& given,
                   const std::shared_ptr<void>& state) {
  OpDef def;
  std::string_view name, summary;
  TENON_RETURN_IF_ERROR(c::ReadText(given.name, "name", name));
  TENON_RETURN_IF_ERROR(c::ReadText(given.summary, "summary", summary));
  def.name = name;
  def.summary = summary;
  TENON_RETURN_IF_ERROR(
      ReadValueDefs(given.operands, given.num_operands, "operands", def.operands));
  TENON_RETURN_IF_ERROR(ReadValueDefs(given.results, given.num_results, "results", def.results));
  TENON_RETURN_IF_ERROR(ReadAttributeDefs(given, def));
  TENON_RETURN_IF_ERROR(c::ReadTexts(given.regions, given.num_regions, "regions", def.regions));
  if ((given.traits & ~kKnownTraits) != 0)
    return c::Wrong("{}: {:#x} are no traits", name, given.traits & ~kKnownTraits);
  def.traits = given.traits;
  TENON_RETURN_IF_ERROR(ReadHooks(given, state, def));
  return AddToDialect(extension, std::move(def));
}

absl::Status CheckResult(const TenonFoldCall* call, size_t result) {
  TENON_RETURN_IF_ERROR(c::NotNull(call, "call"));
  return c::IndexBelow(result, call->results.size(), "result");
}

}  // namespace

TenonStatus* tenonExtensionAddOp(TenonExtension* extension, const TenonOpDef* op) {
  return c::Answer("adding an operation", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(op, "op"));
    TenonOpDef given;
    TENON_RETURN_IF_ERROR(c::ReadOptions(op, "op", given));
    const std::shared_ptr<void> state = c::OwnState(given.state, given.destroy);
    TENON_RETURN_IF_ERROR(c::NotNull(extension, "extension"));
    return AddOp(extension->extension, given, state);
  });
}

TenonContext tenonInferCallContext(const TenonInferCall* call) {
  return call == nullptr ? TenonContext{nullptr} : c::ToC(call->context.context);
}

size_t tenonInferCallNumOperands(const TenonInferCall* call) {
  return call == nullptr ? 0 : call->context.operands.size();
}

TenonType tenonInferCallOperand(const TenonInferCall* call, size_t index) {
  if (index >= tenonInferCallNumOperands(call)) return {nullptr};
  return c::ToC(call->context.operands[index]);
}

TenonAttribute tenonInferCallAttribute(const TenonInferCall* call, TenonString name) {
  if (call == nullptr) return {nullptr};
  const int slot = call->context.info.FindSlot(c::FromC(name));
  if (slot < 0 || static_cast<size_t>(slot) >= call->context.slots.size()) return {nullptr};
  return c::ToC(call->context.slots[static_cast<size_t>(slot)]);
}

TenonStatus* tenonInferCallAddResult(TenonInferCall* call, TenonType type) {
  return c::Answer("adding a result", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(call, "call"));
    TENON_RETURN_IF_ERROR(c::Belongs(c::FromC(type), call->context.context, "type"));
    call->results.push_back(c::FromC(type));
    return absl::OkStatus();
  });
}

TenonOperation tenonFoldCallOperation(const TenonFoldCall* call) {
  return call == nullptr ? TenonOperation{nullptr} : c::ToC(&call->op);
}

TenonAttribute tenonFoldCallConstant(const TenonFoldCall* call, size_t operand) {
  if (call == nullptr || operand >= call->constants.size()) return {nullptr};
  return c::ToC(call->constants[operand]);
}

TenonStatus* tenonFoldCallSetValue(TenonFoldCall* call, size_t result, TenonValue value) {
  return c::Answer("folding", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(CheckResult(call, result));
    TENON_RETURN_IF_ERROR(c::Belongs(c::FromC(value), call->op.context(), "value"));
    if (c::FromC(value).defining_op() == &call->op)
      return c::Wrong("an operation cannot be replaced by its own result");
    call->results[result] = {c::FromC(value), Attribute()};
    return absl::OkStatus();
  });
}

TenonStatus* tenonFoldCallSetConstant(TenonFoldCall* call, size_t result, TenonAttribute constant) {
  return c::Answer("folding", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(CheckResult(call, result));
    TENON_RETURN_IF_ERROR(c::Belongs(c::FromC(constant), call->op.context(), "constant"));
    call->results[result] = {tenon::Value(), c::FromC(constant)};
    return absl::OkStatus();
  });
}
