// Attributes of ops without a generated struct, as their kernels see them.
#ifndef TENON_KERNELS_ATTR_MAP_H_
#define TENON_KERNELS_ATTR_MAP_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/base/dtype.h"

namespace tenon::kernels {

// Attributes by name, with defaults filled in. `attrs` of PrepareArgs, RunArgs and CallSignature
// points to an AttrMap if the op has no struct in kernels/op_attrs.h; it is null for an op without
// attributes. Floats of all widths are double, dimensions are integers, and enumerators are text.
// Tensors and dictionaries are left out: pass tensors as operands. Read-only access is thread-safe.
class AttrMap {
 public:
  // The value of an attribute.
  using Value = std::variant<bool, int64_t, double, std::string, DType, std::vector<int64_t>,
                             std::vector<float>>;

  // Requires that there is no attribute of this name.
  void Add(std::string_view name, Value value) { entries_.emplace_back(name, std::move(value)); }
  bool empty() const { return entries_.empty(); }  // true without attributes

  // Returns the attribute; null if it is absent or of another type. Valid as long as the map.
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
