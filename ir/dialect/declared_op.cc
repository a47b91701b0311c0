#include "ir/dialect/declared_op.h"

#include <algorithm>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "ir/base/dtype.h"
#include "ir/core/context/declared_ops.h"
#include "ir/dialect/shapes/shape_functions.h"

namespace tenon {
namespace {

constexpr uint32_t SetOf(std::initializer_list<DType> dtypes) {
  uint32_t bits = 0;
  for (const DType dtype : dtypes) bits |= 1u << static_cast<uint8_t>(dtype);
  return bits;
}

constexpr uint32_t kFloats = SetOf({DType::kF16, DType::kBF16, DType::kF32, DType::kF64});
constexpr uint32_t kInts = SetOf({DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU8,
                                  DType::kU16, DType::kU32, DType::kU64});
constexpr uint32_t kAll = (1u << kNumDTypes) - 2;  // all but kInvalid

constexpr struct {
  std::string_view word;
  uint32_t dtypes;
} kSets[] = {{"tensor", kAll}, {"float", kFloats}, {"int", kInts}, {"number", kFloats | kInts}};

constexpr std::pair<std::string_view, AttrType> kKinds[] = {
    {"bool", AttrType::kBool}, {"i64", AttrType::kI64},    {"f32", AttrType::kF32},
    {"f64", AttrType::kF64},   {"string", AttrType::kStr}, {"i64s", AttrType::kI64s},
    {"f32s", AttrType::kF32s}, {"dims", AttrType::kDims},  {"type", AttrType::kType}};

constexpr std::pair<std::string_view, Trait> kTraits[] = {
    {"commutative", Trait::kCommutative},
    {"idempotent", Trait::kIdempotent},
    {"same_dtype", Trait::kSameDtype},
    {"same_operand_dtype", Trait::kSameOperandDtype}};

absl::Status Wrong(std::string_view name, std::string_view why) {
  return absl::InvalidArgumentError(fmt::format("op '{}' {}", name, why));
}

absl::Status CheckNames(const OpDef& def) {
  std::set<std::string_view> names;
  for (const OperandDef& operand : def.operands) {
    if (!names.insert(operand.name).second)
      return Wrong(def.name, fmt::format("has two parts '{}'", operand.name));
  }
  for (const AttrDef& attr : def.attrs) {
    if (!names.insert(attr.name).second)
      return Wrong(def.name, fmt::format("has two parts '{}'", attr.name));
    if (attr.name == "operandSegmentSizes")
      return Wrong(def.name, "declares operandSegmentSizes, which is added where it is needed");
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<uint32_t> DTypesNamed(std::string_view word) {
  for (const auto& set : kSets)
    if (set.word == word) return set.dtypes;
  for (int d = 1; d < kNumDTypes; ++d)
    if (Name(static_cast<DType>(d)) == word) return 1u << d;
  return std::nullopt;
}

std::string WordsOfDTypes(uint32_t dtypes) {
  for (const auto& set : kSets)
    if (set.dtypes == dtypes) return std::string(set.word);
  std::string words;
  for (int d = 1; d < kNumDTypes; ++d) {
    if (((dtypes >> d) & 1) == 0) continue;
    words += fmt::format("{}{}", words.empty() ? "" : " | ", Name(static_cast<DType>(d)));
  }
  return words;
}

std::string_view WordOfKind(AttrType type) {
  for (const auto& [word, kind] : kKinds)
    if (kind == type) return word;
  return "";
}

std::optional<AttrType> KindNamed(std::string_view word) {
  for (const auto& [known, kind] : kKinds)
    if (known == word) return kind;
  return std::nullopt;
}

std::vector<std::string> KindWords() {
  std::vector<std::string> words;
  for (const auto& [word, kind] : kKinds) words.emplace_back(word);
  return words;
}

std::optional<Trait> TraitNamed(std::string_view word) {
  for (const auto& [known, trait] : kTraits)
    if (known == word) return trait;
  return std::nullopt;
}

std::vector<std::string> TraitWords(uint32_t traits) {
  std::vector<std::string> words;
  for (const auto& [word, trait] : kTraits)
    if ((traits & static_cast<uint32_t>(trait)) != 0) words.emplace_back(word);
  return words;
}

absl::Status DeclareOpOfShape(OpDef def, DeclaredShape shape, Context& context) {
  if (def.operands.empty() || def.operands[0].arity != Arity::kSingle)
    return Wrong(def.name, "has no first operand that is always present");
  const OperandDef* loose = nullptr;
  int flexible = 0;
  for (const OperandDef& operand : def.operands) {
    if (operand.arity == Arity::kSingle && loose != nullptr) {
      return Wrong(def.name, fmt::format("requires operand '{}' behind '{}', which may be absent",
                                         operand.name, loose->name));
    }
    if (operand.arity == Arity::kSingle) continue;
    loose = &operand;
    ++flexible;
  }
  if (absl::Status status = CheckNames(def); !status.ok()) return status;
  const auto has = [&](Trait trait) { return (def.traits & static_cast<uint32_t>(trait)) != 0; };
  if (has(Trait::kCommutative) &&
      (def.operands.size() < 2 || def.operands[1].arity != Arity::kSingle))
    return Wrong(def.name, "is commutative without two operands that are always present");
  if (has(Trait::kIdempotent) && def.operands.size() != 1)
    return Wrong(def.name, "is idempotent and has more than one operand");
  if (flexible > 1) {
    AttrDef& sizes = def.attrs.emplace_back();
    sizes.name = "operandSegmentSizes";
    sizes.required = false;
  }
  std::sort(def.attrs.begin(), def.attrs.end(),
            [](const AttrDef& a, const AttrDef& b) { return a.name < b.name; });
  for (std::vector<OperandDef>* groups : {&def.operands, &def.results}) {
    for (OperandDef& group : *groups) {
      TypeConstraint& types = group.constraint;
      if (!types.dialect_type.empty()) {
        if (shape == DeclaredShape::kElementwise) {
          return Wrong(def.name, fmt::format("is elementwise, but '{}' is no tensor (expected the "
                                             "shape of the first operand)",
                                             group.name));
        }
        types.description = fmt::format("!{}", types.dialect_type);
        continue;
      }
      const std::string words = WordsOfDTypes(types.dtypes);
      types.description = words == "tensor" ? "a tensor" : fmt::format("a tensor of {}", words);
    }
  }
  def.traits |= static_cast<uint32_t>(Trait::kPure);
  if (shape == DeclaredShape::kElementwise)
    def.traits |= static_cast<uint32_t>(Trait::kElementwise);
  def.infer = shape == DeclaredShape::kElementwise ? &InferElementwise : &InferSameAsFirst;
  return DeclareOp(std::move(def), context);
}

DeclaredShape ShapeOf(const OpDef& def) {
  return def.infer == &InferElementwise ? DeclaredShape::kElementwise : DeclaredShape::kSameAsFirst;
}

}  // namespace tenon
