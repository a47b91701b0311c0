// Which operations may be in a program after a dialect conversion.
#ifndef TENON_PASS_CONVERSION_CONVERSION_TARGET_H_
#define TENON_PASS_CONVERSION_CONVERSION_TARGET_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "ir/core/operation.h"

namespace tenon {

// What a target says of one op.
enum class Legality : uint8_t {
  kUnknown,  // nothing: a partial conversion leaves the op, a full one must replace it
  kLegal,    // it may stay
  kIllegal,  // it must go
};

// What is legal, by op and by dialect. What is said of an op counts before what is said of its
// dialect, and that before what is said of unknown ops. Later calls replace earlier ones. Const
// functions are thread-safe if the predicates are.
class ConversionTarget {
 public:
  // Returns true if the op is legal as it is, with its operands and attributes. It is also asked
  // for ops that patterns make, and must not change the IR.
  using Predicate = std::function<bool(const Operation& op)>;

  // The ops of a dialect, such as "acme", are legal.
  void AddLegalDialect(std::string_view name) {
    dialects_[std::string(name)] = {Legality::kLegal, {}};
  }
  // The ops of a dialect must be converted.
  void AddIllegalDialect(std::string_view name) {
    dialects_[std::string(name)] = {Legality::kIllegal, {}};
  }
  // The ops of a dialect for which `is_legal` returns true.
  void AddDynamicallyLegalDialect(std::string_view name, Predicate is_legal) {
    dialects_[std::string(name)] = {Legality::kLegal, std::move(is_legal)};
  }
  // `name` is the full name of an op, such as "acme.book".
  void AddLegalOp(std::string_view name) { ops_[HashOpName(name)] = {Legality::kLegal, {}}; }
  // The ops of this name must be converted.
  void AddIllegalOp(std::string_view name) { ops_[HashOpName(name)] = {Legality::kIllegal, {}}; }
  // The ops of this name for which `is_legal` returns true.
  void AddDynamicallyLegalOp(std::string_view name, Predicate is_legal) {
    ops_[HashOpName(name)] = {Legality::kLegal, std::move(is_legal)};
  }
  // Decides for all ops of which nothing else is said.
  void SetUnknownDynamicallyLegal(Predicate is_legal) {
    unknown_ = {Legality::kLegal, std::move(is_legal)};
  }
  // Everything inside of a legal op of this name is legal, too, if `applies` is null or returns
  // true for it.
  void SetRecursivelyLegal(std::string_view name, Predicate applies = nullptr) {
    recursive_[HashOpName(name)] = std::move(applies);
  }

  // What the target says of `op`.
  Legality Of(const Operation& op) const;
  // True if `op` is legal with everything inside.
  bool IsRecursivelyLegal(const Operation& op) const;
  // True if `op` lies in a recursively legal op inside of `top`.
  bool IsInsideLegal(const Operation& op, const Operation* top) const;

 private:
  struct Rule {
    Legality legality = Legality::kUnknown;
    Predicate is_legal;  // null: without a condition
    Legality Of(const Operation& op) const {
      return is_legal == nullptr || is_legal(op) ? legality : Legality::kIllegal;
    }
  };
  absl::flat_hash_map<OpId, Rule> ops_;
  std::map<std::string, Rule, std::less<>> dialects_;
  absl::flat_hash_map<OpId, Predicate> recursive_;
  Rule unknown_;
};

}  // namespace tenon

#endif  // TENON_PASS_CONVERSION_CONVERSION_TARGET_H_
