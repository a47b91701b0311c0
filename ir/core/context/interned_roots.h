// Handles that live outside of operations, so that Context::ReleaseUnused keeps what they name.
#ifndef TENON_IR_CORE_CONTEXT_INTERNED_ROOTS_H_
#define TENON_IR_CORE_CONTEXT_INTERNED_ROOTS_H_

#include <memory>
#include <mutex>
#include <vector>

#include "ir/core/attribute.h"
#include "ir/core/dims/dim_expr.h"
#include "ir/core/location.h"
#include "ir/core/type.h"

namespace tenon {

// Keeps interned data of a Context that no operation uses: what is added stays as long as this
// object, or a copy of it, lives. What an attribute or a type consists of stays with it. It may
// outlive its Context. Add is thread-safe.
class InternedRoots {
 public:
  // The handles of one object and its copies.
  struct Handles {
    mutable std::mutex mutex;           // guards the rest
    std::vector<Type> types;            // in the order of Add, as are the next ones
    std::vector<Attribute> attributes;  // without null
    std::vector<DimExpr> dims;          // without null
    std::vector<Location> locations;    // without unknown ones
  };

  // Keeps nothing yet. Requires that `context` exists while it is made.
  explicit InternedRoots(Context& context);

  void Add(Type type);            // Null is allowed and adds nothing.
  void Add(Attribute attribute);  // The same.
  void Add(DimExpr dim);          // The same.
  void Add(Location location);    // Unknown adds nothing.

 private:
  std::shared_ptr<Handles> handles_;
};

}  // namespace tenon

#endif  // TENON_IR_CORE_CONTEXT_INTERNED_ROOTS_H_
