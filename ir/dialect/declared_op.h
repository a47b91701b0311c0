// What declarations of ops in files share: names of element types, and the two shapes that a file
// can ask for.
#ifndef TENON_IR_DIALECT_DECLARED_OP_H_
#define TENON_IR_DIALECT_DECLARED_OP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "ir/core/context/context.h"

namespace tenon {

// The shape of the only result.
enum class DeclaredShape : uint8_t {
  kElementwise,  // the broadcast shape of the operands; the op gets the trait Elementwise
  kSameAsFirst,  // that of the first operand
};

// The element types that a word stands for, as bits of TypeConstraint::dtypes: "tensor" (all of
// them), "float", "int", "number", or the name of one, such as "f32". Nullopt for other words.
std::optional<uint32_t> DTypesNamed(std::string_view word);
// The words of a set, joined by " | ": one that DTypesNamed knows, or names of types.
std::string WordsOfDTypes(uint32_t dtypes);

// The word for a kind of attribute, such as "f32", "bool" or "string"; empty for kinds that files
// cannot declare. An enumeration has no word: its values are listed.
std::string_view WordOfKind(AttrType type);
// The kind with this word; nullopt if there is none.
std::optional<AttrType> KindNamed(std::string_view word);
std::vector<std::string> KindWords();  // all words, in the order of AttrType

// The trait with this word, such as "commutative"; nullopt if files cannot declare it. Pure and
// elementwise follow from the rest.
std::optional<Trait> TraitNamed(std::string_view word);
std::vector<std::string> TraitWords(uint32_t traits = ~0u);  // those of a set, in a fixed order

// Completes the definition and adds it by DeclareOp (ir/core/context/declared_ops.h), with its
// errors. `def` has name, operands, one result and attributes in any order; traits are added to. An
// op needs an operand that is always present, and no required one behind one that may be absent:
// InvalidArgument otherwise, also for a name that is given twice and for a trait that does not fit.
absl::Status DeclareOpOfShape(OpDef def, DeclaredShape shape, Context& context);
// The shape of an op that DeclareOpOfShape has added.
DeclaredShape ShapeOf(const OpDef& def);

}  // namespace tenon

#endif  // TENON_IR_DIALECT_DECLARED_OP_H_
