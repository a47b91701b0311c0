// The casts that stand for values of another type while a dialect conversion runs. Internal to
// pass/conversion.
#ifndef TENON_PASS_CONVERSION_CONVERSION_CASTS_H_
#define TENON_PASS_CONVERSION_CONVERSION_CASTS_H_

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "pass/conversion/type_converter.h"

namespace tenon {

// Casts are ops "builtin.unrealized_conversion_cast" directly behind the value that they cast. They
// exist until Realize, and no listener is told of them.
class ConversionCasts {
 public:
  explicit ConversionCasts(Context& context);

  // Returns `from` as a value of type `to`, by a cast that `converter`, which may be null, shall
  // materialize. Two calls for one value and type give the same cast.
  Value Cast(Value from, Type to, TypeConverter::Need need, const TypeConverter* converter);
  // Returns `value` as type `to` if it, or a value that it is a cast of, has the type; else null.
  Value Find(Value value, Type to) const;
  // Looks through all casts.
  Value Origin(Value value) const;
  bool IsCast(const Operation* op) const { return entries_.contains(op); }
  // Erases those casts of the results of `op` that have no uses.
  void EraseUnused(Operation* op);
  // Is told that an op is about to be erased.
  void Erasing(Operation* op);

  // Erases the casts that nothing needs, and materializes the others. `listener` is told of the ops
  // that materializations make. Returns an error, which is emitted, if a converter cannot make a
  // value; that cast and later ones stay then.
  absl::Status Realize(IrListener* listener);

 private:
  struct Entry {
    TypeConverter::Need need;
    const TypeConverter* converter;
    size_t number;  // in order_
  };
  using Key = std::pair<const ValueImpl*, const TypeStorage*>;
  void Erase(Operation* cast);
  absl::Status Materialize(Operation* cast, IrListener* listener);

  const OpInfo* info_;
  absl::flat_hash_map<const Operation*, Entry> entries_;
  absl::flat_hash_map<Key, Operation*> by_value_;
  std::vector<Operation*> order_;  // in the order of creation; null once erased
};

}  // namespace tenon

#endif  // TENON_PASS_CONVERSION_CONVERSION_CASTS_H_
