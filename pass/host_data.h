// What a host shares with its passes.
#ifndef TENON_PASS_HOST_DATA_H_
#define TENON_PASS_HOST_DATA_H_

#include <memory>
#include <utility>
#include <vector>

#include "pass/preserved_analyses.h"

namespace tenon {

// At most one object of each type. Copies share the objects. Passes may run in several threads, so
// an object that they change must be thread-safe.
class HostData {
 public:
  // Shares `object`, in place of an earlier one of its type. Null takes that away.
  template <typename T>
  void Set(std::shared_ptr<T> object) {
    std::erase_if(objects_, [](const auto& entry) { return entry.first == TypeIdOf<T>(); });
    if (object != nullptr) objects_.emplace_back(TypeIdOf<T>(), std::move(object));
  }
  // Returns the object of this type; null if there is none.
  template <typename T>
  T* Get() const {
    for (const auto& [type, object] : objects_) {
      if (type == TypeIdOf<T>()) return static_cast<T*>(object.get());
    }
    return nullptr;
  }

 private:
  std::vector<std::pair<TypeId, std::shared_ptr<void>>> objects_;
};

}  // namespace tenon

#endif  // TENON_PASS_HOST_DATA_H_
