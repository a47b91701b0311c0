// What the generated functions of operations are made of.
#ifndef TENON_EXECUTOR_EAGER_GENERATED_CALLS_H_
#define TENON_EXECUTOR_EAGER_GENERATED_CALLS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/eager/engine.h"
#include "executor/tensor.h"
#include "ir/core/attribute.h"

namespace tenon::eager {

// Returns the text of an enumerator as an attribute; null for a number that is none.
Attribute EnumAttribute(Context& context, int value, std::initializer_list<std::string_view> names);
// Returns extents as an attribute.
Attribute DimsAttribute(Context& context, std::span<const int64_t> dims);

// Calls the engine of `options`.
inline absl::StatusOr<Tensors> CallOf(const CallOptions& options, const OpEntry& op,
                                      std::span<const std::span<const Tensor>> operands,
                                      const void* attrs) {
  Engine& engine = options.engine != nullptr ? *options.engine : Engine::OfThread();
  return engine.Call(op, operands, attrs, options.report);
}

// Takes the only result.
inline absl::StatusOr<Tensor> OnlyOf(absl::StatusOr<Tensors> results) {
  if (!results.ok()) return std::move(results).status();
  return std::move(results->front());
}

// Takes `kCount` results.
template <size_t kCount>
absl::StatusOr<std::array<Tensor, kCount>> ArrayOf(absl::StatusOr<Tensors> results) {
  if (!results.ok()) return std::move(results).status();
  std::array<Tensor, kCount> made;
  for (size_t i = 0; i < kCount; ++i) made[i] = std::move((*results)[i]);
  return made;
}

// Returns the operations that can be called. Generated.
std::vector<const OpEntry*> AllEntries();

}  // namespace tenon::eager

#endif  // TENON_EXECUTOR_EAGER_GENERATED_CALLS_H_
