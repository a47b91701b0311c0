// Values of dimension symbols in one run.
#ifndef TENON_EXECUTOR_PREPARE_BINDINGS_H_
#define TENON_EXECUTOR_PREPARE_BINDINGS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "executor/prepare/concrete_shapes.h"
#include "executor/program_impl.h"

namespace tenon {

// A short list of symbols, which is faster than a map. The Context owns the names.
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

  // Makes `dim` equal to `extent`. Binds a symbol without a value, or solves a linear expression
  // for its only such symbol. Returns false if `dim` has another value. Returns true, without
  // effect, if several symbols have no value.
  bool Unify(DimExpr dim, int64_t extent);

 private:
  std::vector<std::pair<std::string_view, int64_t>> values_;
};

// Checks number, dtypes, ranks and extents of the inputs of a run, and binds the symbols.
// InvalidArgument names the input and the dimension.
absl::Status BindInputs(const ProgramImpl& program, std::span<const kernels::TensorView> inputs,
                        Bindings& bindings);

}  // namespace tenon

#endif  // TENON_EXECUTOR_PREPARE_BINDINGS_H_
