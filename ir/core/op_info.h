// What generic code knows about an operation: a table filled from YAML.
#ifndef TENON_IR_CORE_OP_INFO_H_
#define TENON_IR_CORE_OP_INFO_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "ir/core/attribute.h"
#include "ir/core/dtype.h"
#include "ir/core/location.h"
#include "ir/core/type.h"

namespace tenon {

class Operation;
class Value;

// 64-bit FNV-1a of the full op name. Collisions are refused at registration.
using OpId = uint64_t;
constexpr OpId HashOpName(std::string_view name) {
  OpId h = 0xcbf29ce484222325ull;
  for (char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return h;
}

enum class Trait : uint32_t {
  kPure = 1u << 0,         // no effect beyond its results
  kElementwise = 1u << 1,  // result shape = broadcast of operand shapes, element by element
  kCommutative = 1u << 2,  // the first two operands may be swapped
  kIdempotent = 1u << 3,   // f(f(x)) = f(x)
  kConstantLike = 1u << 4,
  kTerminator = 1u << 5,
  kIsolatedFromAbove = 1u << 6,
  kSymbol = 1u << 7,
  kSymbolTable = 1u << 8,
  kNoTerminator = 1u << 9,
  kSingleBlock = 1u << 10,
  kSameDtype = 1u << 11,         // all operands and results share one element type
  kSameOperandDtype = 1u << 12,  // all operands share one element type
  kView = 1u << 13,              // the result has operand 0's bytes
  kReadsMemory = 1u << 14,
  kWritesMemory = 1u << 15,
  kRandom = 1u << 16,
};

// Which types an operand or result may have.
struct TypeConstraint {
  bool any = false;         // any type at all
  uint32_t dtypes = 0;      // tensors of these element types: bit i = DType(i)
  bool scalar_i1 = false;   // the type i1 itself
  std::string description;  // for messages: "tensor of f16, bf16, f32 or f64"
  bool Accepts(Type type) const;
};

enum class Arity : uint8_t { kSingle, kOptional, kVariadic };

struct OperandDef {
  std::string name;
  Arity arity = Arity::kSingle;
  TypeConstraint constraint;
};

enum class AttrType : uint8_t {
  kAny,
  kUnit,
  kBool,
  kI64,
  kF32,
  kF64,
  kStr,
  kEnum,
  kI64s,
  kF32s,
  kDims,
  kType,
  kTypeAttr,
  kElements,
  kSymbol,
};

// One inherent attribute. kType holds an element type (`f32`), kTypeAttr any type.
struct AttrDef {
  std::string name;
  AttrType type = AttrType::kAny;
  bool required = true;            // no default, and must be present
  std::string default_text;        // MLIR text of the default; empty: absent when not given
  std::vector<std::string> enums;  // kEnum: allowed strings
};

struct SuccessorDef {
  std::string name;
  int operand_group = -1;  // operand group passed as the block's arguments
};

// Facts of one call from which result types follow. Absent optional operands are null types.
struct InferContext {
  Context& context;
  const class OpInfo& info;
  std::span<const Type> operands;     // one per operand value present
  std::span<const int32_t> segments;  // size of each operand group
  std::span<const Attribute> slots;   // inherent attributes by slot; defaults filled in
  Location location;

  // Type of operand group `group` (single or optional); null when absent.
  Type operand(int group) const;
  std::span<const Type> operand_group(int group) const;
  // InvalidArgument "<op>: <message>"; the caller adds the location.
  absl::Status Error(std::string_view message) const;
};

using ResultTypes = absl::InlinedVector<Type, 2>;
using InferFn = absl::Status (*)(const InferContext& context, ResultTypes& results);
// Checks beyond arity, kinds and traits. Emits nothing: returns the message without a location.
using VerifyFn = absl::Status (*)(Operation& op);
// Folds without constants at hand or with some: constants[i] is operand i's value or null. On
// success fills one Value or Attribute per result and returns true.
struct FoldResult;
using FoldFn = bool (*)(Operation& op, std::span<const Attribute> constants,
                        absl::InlinedVector<FoldResult, 2>& results);

// The definition of an operation as written in YAML.
struct OpDef {
  std::string name;  // "ten.matmul"
  std::string summary;
  std::vector<OperandDef> operands;
  std::vector<OperandDef> results;
  std::vector<AttrDef>
      attrs;  // sorted by name; slot order. With several optional or variadic operand
              // groups there is one more, "operandSegmentSizes", also in sort order
  std::vector<std::string> regions;
  std::vector<SuccessorDef> successors;
  uint32_t traits = 0;
  InferFn infer = nullptr;  // null: result types must be given
  VerifyFn verify = nullptr;
  FoldFn fold = nullptr;
};

// An OpDef registered in a Context. Immutable and shared by threads after registration.
class OpInfo {
 public:
  OpInfo(Context* context, OpDef def);
  // An operation of an unknown dialect or an opaque one: slot 0 holds all its properties as a
  // dictionary.
  static OpInfo* Unregistered(Context* context, std::string_view name);

  OpId id() const { return id_; }
  std::string_view name() const { return def_.name; }
  std::string_view dialect() const;  // text before the first dot
  const OpDef& def() const { return def_; }
  Context& context() const { return *context_; }
  bool is_registered() const { return registered_; }
  bool Has(Trait trait) const { return (def_.traits & static_cast<uint32_t>(trait)) != 0; }

  int num_slots() const { return static_cast<int>(slot_names_.size()); }
  Identifier slot_name(int slot) const { return slot_names_[slot]; }
  // Slot of an inherent attribute, or -1.
  int FindSlot(std::string_view name) const;
  int FindSlot(Identifier name) const;
  // Default of a slot; null if it has none.
  Attribute default_value(int slot) const { return defaults_[slot]; }
  // Slot of operandSegmentSizes, or -1 when group sizes follow from the operand count.
  int segment_slot() const { return segment_slot_; }

  // Sizes of the operand groups of an op with `num_operands` operands; false if they cannot be.
  bool OperandSegments(int num_operands, std::span<const Attribute> slots,
                       absl::InlinedVector<int32_t, 6>& sizes) const;

 private:
  Context* context_;
  OpDef def_;
  OpId id_;
  bool registered_ = true;
  int segment_slot_ = -1;
  std::vector<Identifier> slot_names_;
  std::vector<Attribute> defaults_;
};

// What an operation may do to the world. An op of an unknown dialect may do everything.
struct Effects {
  bool reads = false, writes = false, random = false;
  bool pure() const { return !reads && !writes && !random; }
};
Effects EffectsOf(const Operation& op);

}  // namespace tenon

#endif  // TENON_IR_CORE_OP_INFO_H_
