// Interfaces: what an op can answer about itself, beyond its traits.
#ifndef TENON_IR_CORE_INTERFACES_INTERFACE_H_
#define TENON_IR_CORE_INTERFACES_INTERFACE_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon {

// The implementations of interfaces by one op, a part of its definition (OpDef::interfaces).
//
// An interface is an abstract class with a unique name:
//   class Counted {
//    public:
//     static constexpr std::string_view kInterface = "acme.counted";
//     virtual ~Counted() = default;
//     virtual int64_t Count(const Operation& op) const = 0;
//   };
// An implementation derives from it. Its functions get the op that they are about. They must be
// thread-safe. Any library can define interfaces, and implement those of others for its own ops.
class InterfaceMap {
 public:
  // Adds an implementation of `Interface`, in place of an earlier one. All ops that copy the
  // definition share it.
  template <typename Interface>
  void Add(std::shared_ptr<const Interface> implementation) {
    AddRaw(Interface::kInterface, std::move(implementation));
  }
  // The same for an implementation that needs no arguments: Add<EffectsInterface, MyEffects>().
  template <typename Interface, typename Implementation>
  void Add() {
    Add<Interface>(std::make_shared<const Implementation>());
  }
  // Returns the implementation of `Interface`; null if there is none.
  template <typename Interface>
  const Interface* Find() const {
    return entries_.empty() ? nullptr
                            : static_cast<const Interface*>(FindRaw(Interface::kInterface));
  }
  bool empty() const { return entries_.empty(); }        // true without any implementation
  std::vector<std::string_view> Names() const;           // of the interfaces, sorted
  bool operator==(const InterfaceMap&) const = default;  // the same objects implement the same

 private:
  void AddRaw(std::string_view name, std::shared_ptr<const void> implementation);
  const void* FindRaw(std::string_view name) const;

  // Names are literals: they live as long as the program.
  std::vector<std::pair<std::string_view, std::shared_ptr<const void>>> entries_;
};

}  // namespace tenon

#endif  // TENON_IR_CORE_INTERFACES_INTERFACE_H_
