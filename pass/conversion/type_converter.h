// How a dialect conversion changes types, and how it makes values of one type of values of another.
#ifndef TENON_PASS_CONVERSION_TYPE_CONVERTER_H_
#define TENON_PASS_CONVERSION_TYPE_CONVERTER_H_

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/core/builder.h"

namespace tenon {

// Rules for types, and functions that bridge two types. Const functions are thread-safe if the
// rules are.
class TypeConverter {
 public:
  // Returns the type that `type` becomes, which is `type` itself for a legal one; a null type if it
  // cannot be converted; nullopt if the rule says nothing about it.
  using Rule = std::function<std::optional<Type>(Type type)>;
  // Makes a value of type `to` of `from` at the insertion point of `builder`. Returns a null value
  // if it cannot, and creates nothing then. An error must have been emitted (EmitError).
  using Materialization = std::function<absl::StatusOr<Value>(OpBuilder& builder, Type to,
                                                              Value from, Location location)>;

  // Adds a rule. Of several, the one added last that says something decides.
  void AddRule(Rule rule) { rules_.push_back(std::move(rule)); }
  // Adds a way back: from a converted value to the type that ops expect which are not converted.
  void AddSourceMaterialization(Materialization f) { source_.push_back(std::move(f)); }
  // Adds a way from a value that is not converted to the type that a converted op expects.
  void AddTargetMaterialization(Materialization f) { target_.push_back(std::move(f)); }
  // Adds a way back for the argument of a block whose type was converted. Without one, source
  // materializations make it.
  void AddArgumentMaterialization(Materialization f) { argument_.push_back(std::move(f)); }

  // Returns what `type` becomes; null if no rule converts it. A function type or a tuple that no
  // rule changes becomes that of its converted parts.
  Type Convert(Type type) const;
  // True for a type that stays as it is.
  bool IsLegal(Type type) const { return Convert(type) == type; }
  // True if the types of operands, results and block arguments of `op` are legal, and the function
  // types among its attributes.
  bool IsLegal(const Operation& op) const;

  // Why a value of another type is needed.
  enum class Need : uint8_t {
    kSource,    // an op that is not converted uses a converted value
    kTarget,    // a converted op uses a value that is not converted
    kArgument,  // an op that is not converted uses a converted block argument
  };
  // Makes a value of type `to` by the materializations for `need`, the one added last first. Null
  // if there is none. FailedPrecondition if one has made a value of another type.
  absl::StatusOr<Value> Materialize(Need need, OpBuilder& builder, Type to, Value from,
                                    Location location) const;

 private:
  std::vector<Rule> rules_;
  std::vector<Materialization> source_, target_, argument_;
};

}  // namespace tenon

#endif  // TENON_PASS_CONVERSION_TYPE_CONVERTER_H_
