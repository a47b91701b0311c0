// Values of dimension symbols during one run.
#ifndef TENON_EXECUTOR_BINDINGS_H_
#define TENON_EXECUTOR_BINDINGS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "executor/concrete_shapes.h"
#include "executor/program_impl.h"

namespace tenon {

// A handful of symbols: a list is faster than a map. Names belong to the Context.
class Bindings {
 public:
  std::optional<int64_t> Find(std::string_view symbol) const {
    for (const auto& [name, value] : values_) {
      if (name == symbol) return value;
    }
    return std::nullopt;
  }
  void Bind(std::string_view symbol, int64_t value) { values_.emplace_back(symbol, value); }
  SymbolLookup lookup() const {
    return [this](std::string_view symbol) { return Find(symbol); };
  }
  const std::vector<std::pair<std::string_view, int64_t>>& values() const { return values_; }

  // Makes `dim` stand for `extent`: binds its symbol if it is one without a value, or solves for
  // the only symbol without a value in a linear expression. False if dim has another value. Several
  // unknown symbols say nothing, and are fine.
  bool Unify(DimExpr dim, int64_t extent);

 private:
  std::vector<std::pair<std::string_view, int64_t>> values_;
};

// Checks dtypes, ranks, extents and alignment of a call's inputs against the program, and binds the
// symbols. The error names the input and the dimension.
absl::Status BindInputs(const ProgramImpl& program, std::span<const kernels::TensorView> inputs,
                        Bindings& bindings);

}  // namespace tenon

#endif  // TENON_EXECUTOR_BINDINGS_H_
