// Attributes of operations that a host has registered, as their kernels see them.
#ifndef TENON_KERNELS_ATTR_MAP_H_
#define TENON_KERNELS_ATTR_MAP_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/core/dtype.h"

namespace tenon::kernels {

// Attributes by name, defaults filled in. `attrs` of PrepareArgs, RunArgs and CallSignature points
// to one where the operation has no struct in kernels/op_attrs.h; it is null if there are no
// attributes. Floats of any width are doubles, dimensions integers, enumerators text. Attributes of
// other kinds (tensors, dictionaries) are not in it: give a kernel tensors as operands.
class AttrMap {
 public:
  using Value = std::variant<bool, int64_t, double, std::string, DType, std::vector<int64_t>,
                             std::vector<float>>;

  // REQUIRES: no value of this name.
  void Add(std::string_view name, Value value) { entries_.emplace_back(name, std::move(value)); }
  bool empty() const { return entries_.empty(); }

  // Null if the attribute is absent or of another type.
  template <typename T>
  const T* Find(std::string_view name) const {
    for (const auto& [key, value] : entries_) {
      if (key == name) return std::get_if<T>(&value);
    }
    return nullptr;
  }

 private:
  std::vector<std::pair<std::string, Value>> entries_;  // few: searched one by one
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_ATTR_MAP_H_
