// Definitions of operations, as generic code sees them.
#ifndef TENON_IR_CORE_CONTEXT_OP_INFO_H_
#define TENON_IR_CORE_CONTEXT_OP_INFO_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "ir/base/dtype.h"
#include "ir/core/attribute.h"
#include "ir/core/interfaces/hook.h"
#include "ir/core/interfaces/interface.h"
#include "ir/core/location.h"
#include "ir/core/type.h"

namespace tenon {

class Operation;
class Value;

// The identity of an op: the 64-bit FNV-1a hash of its full name. Registration refuses collisions.
using OpId = uint64_t;
// Returns the OpId of a full op name, such as "ten.add".
constexpr OpId HashOpName(std::string_view name) {
  OpId h = 0xcbf29ce484222325ull;
  for (char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return h;
}

// Properties of an op on which generic code relies. An op without a memory trait or kPure may have
// any effect (EffectsOf).
enum class Trait : uint32_t {
  kPure = 1u << 0,               // no effect beyond its results
  kElementwise = 1u << 1,        // result shape = broadcast of operand shapes, element by element
  kCommutative = 1u << 2,        // the first two operands may be swapped
  kIdempotent = 1u << 3,         // f(f(x)) = f(x)
  kConstantLike = 1u << 4,       // its result is the constant in OpInfo::constant_slot
  kTerminator = 1u << 5,         // ends its block
  kIsolatedFromAbove = 1u << 6,  // its regions use no values from outside
  kSymbol = 1u << 7,             // has a name in the attribute `sym_name`
  kSymbolTable = 1u << 8,        // its regions hold symbols of distinct names
  kNoTerminator = 1u << 9,       // blocks of its regions need no terminator
  kSingleBlock = 1u << 10,       // each region has at most one block
  kSameDtype = 1u << 11,         // all operands and results share one element type
  kSameOperandDtype = 1u << 12,  // all operands share one element type
  kView = 1u << 13,              // the result shares the bytes of operand 0
  kReadsMemory = 1u << 14,       // reads memory that others may write
  kWritesMemory = 1u << 15,      // writes memory that others may read
  kRandom = 1u << 16,            // the results differ from run to run
};

// The types that an operand or result may have.
struct TypeConstraint {
  bool any = false;               // any type
  uint32_t dtypes = 0;            // tensors of these element types: bit i stands for DType(i)
  bool scalar_i1 = false;         // only the scalar type i1
  std::string dialect_type = {};  // only this type of a dialect: "acme.money"; empty: none
  std::string description;        // for messages, such as "tensor of f16, bf16, f32 or f64"
  // True for a type that fits. `dtypes` also accepts unranked tensors.
  bool Accepts(Type type) const;
};

// How many values an operand or result group has.
enum class Arity : uint8_t {
  kSingle,    // one
  kOptional,  // at most one
  kVariadic   // any number
};

// One group of operands or results.
struct OperandDef {
  std::string name;              // for messages and generated code
  Arity arity = Arity::kSingle;  // how many values the group has
  TypeConstraint constraint;     // on the type of each value
};

// The kind of value that an inherent attribute takes, with an example of its text.
enum class AttrType : uint8_t {
  kAny,       // any attribute
  kUnit,      // unit
  kBool,      // true or false
  kI64,       // 3 : i64
  kF32,       // 1.0 : f32
  kF64,       // 1.0 : f64
  kStr,       // "text"
  kEnum,      // a string of AttrDef::enums
  kI64s,      // array<i64: 1, 2>
  kF32s,      // array<f32: 1.0>
  kDims,      // #core.dims<"B", 768>
  kType,      // an element type: f32
  kTypeAttr,  // any type
  kElements,  // contents of a tensor
  kSymbol,    // @name
};

// One inherent attribute.
struct AttrDef {
  std::string name;                // as in the text of IR
  AttrType type = AttrType::kAny;  // the values that it takes
  bool required = true;            // the op cannot exist without it
  std::string default_text;        // MLIR text; empty: no default
  std::vector<std::string> enums;  // for kEnum: the allowed strings
};

// One successor of a terminator.
struct SuccessorDef {
  std::string name;        // for messages and generated code
  int operand_group = -1;  // the operands passed to the block; -1: none
};

// The input of a shape function: one op without its results.
struct InferContext {
  Context& context;                   // owns the types
  const class OpInfo& info;           // the definition of the op
  std::span<const Type> operands;     // types of all operands that are present
  std::span<const int32_t> segments;  // size of each operand group
  std::span<const Attribute> slots;   // inherent attributes by slot, with defaults filled in
  Location location;                  // of the op

  // The type of the only operand of group `group`; null if it is absent.
  Type operand(int group) const;
  // The types of the operands of group `group`, which may be none.
  std::span<const Type> operand_group(int group) const;
  // Returns InvalidArgument with the text "<op>: <message>". The caller adds the location.
  absl::Status Error(std::string_view message) const;
};

// The types of the results of one op.
using ResultTypes = absl::InlinedVector<Type, 2>;
// A shape function: appends the type of each result to `results`, or returns an error. It must work
// for symbolic dimensions and must be thread-safe.
using InferFn = Hook<absl::Status(const InferContext& context, ResultTypes& results)>;
// Checks an op beyond operand counts, types and traits. Emits no diagnostic; returns an error whose
// message has neither op name nor location.
using VerifyFn = Hook<absl::Status(Operation& op)>;
struct FoldResult;
// Folds an op. `constants[i]` is the value of operand i if it is a constant, null otherwise.
// Returns true if it has filled `results` with one Value or Attribute per result of the op.
using FoldFn = Hook<bool(Operation& op, std::span<const Attribute> constants,
                         absl::InlinedVector<FoldResult, 2>& results)>;

// The definition of an op: written in YAML for Tenon's dialects, filled by hand in others.
struct OpDef {
  std::string name;                  // with its dialect: "ten.matmul"
  std::string summary;               // one sentence for people
  std::vector<OperandDef> operands;  // operand groups in order
  std::vector<OperandDef> results;   // result groups; only the last may be optional or variadic
  // Sorted by name; this is also the order of the slots. If several operand groups are optional or
  // variadic, one is "operandSegmentSizes".
  std::vector<AttrDef> attrs;
  std::vector<std::string> regions;      // one name per region
  std::vector<SuccessorDef> successors;  // in the order of Operation::successor
  uint32_t traits = 0;                   // bits of Trait
  InferFn infer = nullptr;               // null: result types must be given
  VerifyFn verify = nullptr;             // null: nothing more to check
  FoldFn fold = nullptr;                 // null: no fold
  InterfaceMap interfaces;               // what the op implements beyond its traits
};

// An OpDef registered in a Context, which owns it. Immutable and thread-safe.
class OpInfo {
 public:
  // Requires a valid definition, which Context::RegisterDialect checks.
  OpInfo(Context* context, OpDef def);
  // Makes the info of an op of an unregistered dialect, or of an opaque op. Its slot 0 holds all
  // properties as a dictionary. The caller owns it.
  static OpInfo* Unregistered(Context* context, std::string_view name);

  OpId id() const { return id_; }                      // the hash of its name
  std::string_view name() const { return def_.name; }  // with its dialect: "ten.matmul"
  std::string_view dialect() const;                    // the text before the first dot
  const OpDef& def() const { return def_; }            // only a name if it is not registered
  Context& context() const { return *context_; }       // the owner
  bool is_registered() const { return registered_; }   // false for Unregistered()
  // True if the definition has `trait`; false for all unregistered ops.
  bool Has(Trait trait) const { return (def_.traits & static_cast<uint32_t>(trait)) != 0; }

  // The implementation of `Interface` (interface.h); null if the op has none.
  template <typename Interface>
  const Interface* Find() const {
    return def_.interfaces.Find<Interface>();
  }

  // The number of slots for inherent attributes. It is 1 for unregistered ops.
  int num_slots() const { return static_cast<int>(slot_names_.size()); }
  // The attribute name of a slot. Null for the slot of unregistered ops.
  Identifier slot_name(int slot) const { return slot_names_[slot]; }
  // The slot of an inherent attribute; -1 if there is none.
  int FindSlot(std::string_view name) const;
  int FindSlot(Identifier name) const;
  // The default of a slot; null if there is none.
  Attribute default_value(int slot) const { return defaults_[slot]; }
  // The slot of operandSegmentSizes; -1 if group sizes follow from the operand count.
  int segment_slot() const { return segment_slot_; }
  // The slot with the constant of an op with the trait kConstantLike: the attribute "value", or
  // else the first one. -1 for other ops.
  int constant_slot() const { return constant_slot_; }

  // Computes the sizes of the operand groups for `num_operands` operands. False if they do not fit.
  bool OperandSegments(int num_operands, std::span<const Attribute> slots,
                       absl::InlinedVector<int32_t, 6>& sizes) const;

 private:
  Context* context_;
  OpDef def_;
  OpId id_;
  bool registered_ = true;
  int segment_slot_ = -1;
  int constant_slot_ = -1;
  std::vector<Identifier> slot_names_;
  std::vector<Attribute> defaults_;
};

// The effects that an op may have beyond its results.
struct Effects {
  bool reads = false,                                         // memory that others may write
      writes = false,                                         // memory that others may read
      random = false;                                         // results differ from run to run
  bool pure() const { return !reads && !writes && !random; }  // true without any effect
};
// Returns the declared effects of `op`; those of an op with regions are the union over the ops
// inside. An unregistered op, and one that declares nothing, may have all effects.
Effects EffectsOf(const Operation& op);

}  // namespace tenon

#endif  // TENON_IR_CORE_CONTEXT_OP_INFO_H_
