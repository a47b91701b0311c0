#include "executor/compile/program_versions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "executor/compile/place_constants.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/shown_text.h"
#include "ir/base/suggest.h"

namespace tenon {
namespace {

// Copies a program with all that belong to it: those of regions, and of functions.
class Copier {
 public:
  explicit Copier(const ValuesByName& values) : values_(values) {}

  absl::StatusOr<std::shared_ptr<const ProgramImpl>> Copy(const ProgramImpl& from) {
    const auto root = std::make_shared<ProgramImpl>(from);
    functions_[&from] = root.get();
    std::vector<ProgramImpl*> all = {root.get()};
    for (std::shared_ptr<const ProgramImpl>& function : root->functions) {
      const auto copy = std::make_shared<ProgramImpl>(*function);
      functions_[function.get()] = copy.get();
      all.push_back(copy.get());
      function = copy;
    }
    for (ProgramImpl* program : all) TENON_RETURN_IF_ERROR(Fill(*program));
    for (ProgramParameter& parameter : root->parameters) {
      const auto found = values_.find(parameter.spec.name);
      if (found != values_.end()) parameter.value = found->second;
    }
    return root;
  }

 private:
  absl::Status Fill(ProgramImpl& program) {
    TENON_RETURN_IF_ERROR(ReplaceConstants(program, values_));
    for (Instruction& instruction : program.instructions) {
      for (NestedProgram& nested : instruction.regions) {
        if (instruction.kind == Instruction::Kind::kInvoke) {
          // Calls own no program, as in the compiler.
          nested.program = {std::shared_ptr<const ProgramImpl>(),
                            functions_.at(nested.program.get())};
          continue;
        }
        const auto copy = std::make_shared<ProgramImpl>(*nested.program);
        TENON_RETURN_IF_ERROR(Fill(*copy));
        nested.program = copy;
      }
    }
    return absl::OkStatus();
  }

  const ValuesByName& values_;
  absl::flat_hash_map<const ProgramImpl*, ProgramImpl*> functions_;  // by the one copied
};

absl::StatusOr<ValuesByName> CheckedValues(std::span<const ProgramParameter> parameters,
                                           std::span<const ParameterValue> given) {
  ValuesByName values;
  for (const auto& [name, tensor] : given) {
    const auto found =
        std::find_if(parameters.begin(), parameters.end(),
                     [&name = name](const ProgramParameter& p) { return p.spec.name == name; });
    if (found == parameters.end()) {
      std::vector<std::string> names;
      for (const ProgramParameter& parameter : parameters) names.push_back(parameter.spec.name);
      return absl::NotFoundError(fmt::format(
          "'{}' is no replaceable parameter of the program (LoadOptions::replaceable names "
          "them){}",
          ShownName(name), DidYouMean(name, names)));
    }
    const Tensor& before = found->value;
    if (!tensor || tensor.dtype() != before.dtype() ||
        !std::equal(tensor.shape().begin(), tensor.shape().end(), before.shape().begin(),
                    before.shape().end())) {
      return absl::InvalidArgumentError(
          fmt::format("the value of parameter '{}' is {} (expected {})", ShownName(name),
                      tensor ? tensor.type_text() : "null", before.type_text()));
    }
    if (!values.emplace(name, tensor).second) {
      return absl::InvalidArgumentError(
          fmt::format("parameter '{}' is given two values", ShownName(name)));
    }
  }
  return values;
}

}  // namespace

ProgramVersions::ProgramVersions(std::shared_ptr<const ProgramImpl> first)
    : inputs_(first->inputs), outputs_(first->outputs), current_(std::move(first)) {
  for (const ProgramParameter& parameter : current_->parameters)
    parameters_.push_back(parameter.spec);
}

std::shared_ptr<const ProgramImpl> ProgramVersions::Current(uint64_t& number) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  number = number_.load(std::memory_order_relaxed);
  return current_;
}

std::shared_ptr<const ProgramImpl> ProgramVersions::Current() const {
  uint64_t number;
  return Current(number);
}

absl::Status ProgramVersions::Replace(std::span<const ParameterValue> values) {
  const std::lock_guard<std::mutex> replacing(replacing_);
  std::shared_ptr<const ProgramImpl> version = Current();
  TENON_ASSIGN_OR_RETURN(const ValuesByName checked, CheckedValues(version->parameters, values));
  if (checked.empty()) return absl::OkStatus();
  if (version->device_constants != nullptr) {
    return absl::UnimplementedError(
        "the program keeps its constants in memory of a GPU (expected a program for the CPU)");
  }
  TENON_ASSIGN_OR_RETURN(version, Copier(checked).Copy(*version));
  // The version before is freed behind the lock.
  const std::lock_guard<std::mutex> lock(mutex_);
  current_.swap(version);
  number_.fetch_add(1, std::memory_order_release);
  return absl::OkStatus();
}

}  // namespace tenon
