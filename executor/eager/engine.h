// Operations as functions that run at once: tensors in, tensors out. No program is built.
#ifndef TENON_EXECUTOR_EAGER_ENGINE_H_
#define TENON_EXECUTOR_EAGER_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "executor/tensor.h"
#include "ir/core/attribute.h"
#include "kernels/registry.h"

namespace tenon::eager {

// The results of an operation, in its order.
using Tensors = absl::InlinedVector<Tensor, 2>;

// What one call did.
struct CallReport {
  // The kernel that ran. Empty if none did: the result shares bytes with the first operand, or says
  // its shape.
  std::string kernel;
  // "name: reason" for each kernel that is faster and does not support the call.
  std::vector<std::string> why_not;
  // True if an earlier call had the same operation, attributes, element types and shapes. Then
  // nothing was checked and chosen anew.
  bool repeated = false;
};

// How an engine runs calls.
struct EngineOptions {
  int threads = 1;              // threads of a kernel; 0: all of the process's threads
  uint64_t seed = 0;            // of random operations; each of their calls draws other numbers
  bool reference_only = false;  // run the reference kernels, which are slow and plain
  // The number of different calls that are remembered. The call that exceeds it forgets them all.
  size_t max_signatures = 4096;
  // The kernels to choose from. Null: those of Tenon for the CPU.
  std::shared_ptr<const kernels::KernelRegistry> registry = nullptr;
};

// An operation that can be called. The code generator makes them from the definitions.
struct OpEntry {
  std::string_view name;  // such as "ten.matmul"
  // Puts the fields of the attribute struct (kernels/op_attrs.h) into the slots of the operation;
  // null if it has no attributes. So are the next two.
  void (*write)(Context& context, const void* attrs, std::span<Attribute> slots);
  bool (*equal)(const void* left, const void* right);      // compares two such structs
  std::shared_ptr<const void> (*copy)(const void* attrs);  // copies such a struct
};

// Returns the operations that can be called, sorted by dialect.
std::span<const OpEntry* const> AllOps();
// Returns an operation by its name, such as "ten.matmul"; null if it cannot be called.
const OpEntry* FindOp(std::string_view name);

// Runs calls, and remembers for each operation, attributes, element types and shapes which kernel
// was chosen, its state and the shapes of the results. Not thread-safe: one thread at a time.
class Engine {
 public:
  // Makes an engine without any signatures.
  explicit Engine(EngineOptions options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // The engine of the calling thread, with default options. It is made by the first call, and
  // destroyed with the thread.
  static Engine& OfThread();

  // Runs an operation. `operands` has one entry for each operand of its definition: one tensor, a
  // null tensor for one that is optional and absent, or any number of tensors for a variadic one.
  // `attrs` is the attribute struct of the operation, and null if it has none. Operands may share
  // bytes. Results own their bytes, except for those of reshapes, which share those of the operand.
  //
  // InvalidArgument if operands or attributes do not fit the operation, or values of operands are
  // out of range. Unimplemented if no kernel supports the call; the message has the reasons.
  // ResourceExhausted if memory is refused. Every message begins with the name of the operation.
  absl::StatusOr<Tensors> Call(const OpEntry& op, std::span<const std::span<const Tensor>> operands,
                               const void* attrs = nullptr, CallReport* report = nullptr);

  // The number of different calls that are remembered.
  size_t num_signatures() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The last parameter of every function of an operation.
struct CallOptions {
  Engine* engine = nullptr;      // null: that of the calling thread
  CallReport* report = nullptr;  // filled unless null, also if the call fails
};

}  // namespace tenon::eager

#endif  // TENON_EXECUTOR_EAGER_ENGINE_H_
