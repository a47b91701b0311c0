// What a program packs, for the file that it is saved in.
#ifndef TENON_EXECUTOR_WEIGHTS_PACKED_USES_H_
#define TENON_EXECUTOR_WEIGHTS_PACKED_USES_H_

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "executor/weights/saved_weights.h"
#include "ir/base/element_order.h"

namespace tenon {

// The packed weights of one program by the instruction that packs them, and which constants they
// can replace. A constant is known by an address that only it has: that of its bytes, or of the
// object that makes them. Thread-safe.
class PackedUses {
 public:
  // A constant that an instruction packs.
  struct Source {
    int input = 0;                   // of the kernel
    const void* constant = nullptr;  // its address
  };
  // Returns where the elements of each source lie in the packed bytes (ProbeOrders).
  using FindOrders = std::function<std::vector<ElementOrder>()>;

  // So many kernel inputs have this constant, and kernels with Kernel::packs_once read it there;
  // other than that, `only_packed` is false.
  void AddReaders(const void* constant, int count, bool only_packed);
  // An instruction has packed `from`. `kind` is the same for the same order: `find` is called for
  // one use of each.
  void Add(SavedWeight use, const std::vector<Source>& from, const std::string& kind,
           const FindOrders& find);

  // Returns the packed weights, by instruction and name.
  std::vector<SavedWeight> weights() const;
  // Packed bytes in which all elements of a constant lie.
  struct Replacement {
    int instruction = 0;  // whose weight
    std::string name;     // which of its weights
    ElementOrder order;   // of the constant in it, which nobody has compared with the constant
  };
  // Returns by constant what replaces it for all of its readers.
  std::map<const void*, Replacement> replacements() const;

 private:
  struct Readers {
    int count = 0;
    bool only_packed = true;
    std::set<std::pair<int, int>> packed{};  // instruction and input, with an order
    Replacement first{};                     // of the instruction with the lowest number
  };

  mutable std::mutex mutex_;
  std::map<std::pair<int, std::string>, SavedWeight> weights_;
  std::map<std::string, std::vector<ElementOrder>> orders_;  // by kind
  std::map<const void*, Readers> readers_;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_WEIGHTS_PACKED_USES_H_
