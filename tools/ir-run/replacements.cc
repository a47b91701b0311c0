#include "tools/ir-run/replacements.h"

#include <utility>

#include "fmt/format.h"
#include "frontends/cpp/parameters/safetensors.h"
#include "ir/base/check.h"

namespace tenon::ir_run {

absl::StatusOr<Replacements> Replacements::Read(const Options& options) {
  Replacements read;
  for (const std::string& file : options.replaced_params) {
    TENON_ASSIGN_OR_RETURN(const SafeTensors tensors,
                           ReadSafeTensors(file, options.limits.library));
    for (const SafeTensor& tensor : tensors.tensors) {
      // Nobody writes to it.
      auto* const bytes = const_cast<std::byte*>(tensor.bytes->bytes().data());
      read.values_.push_back(
          {tensor.name, Tensor::Borrow(tensor.dtype, tensor.dims, bytes, tensor.bytes)});
    }
    read.notes_.push_back(fmt::format("replaced {} parameters by those of {}, without compiling",
                                      tensors.tensors.size(), file));
  }
  AdapterOptions of_adapters;
  of_adapters.limits = options.limits.library;
  for (const std::string& file : options.adapters) {
    TENON_ASSIGN_OR_RETURN(Adapter adapter, ReadAdapter(file, of_adapters));
    read.notes_.push_back(fmt::format("added the adapter {} to {} weights, without compiling", file,
                                      adapter.updates.size()));
    read.adapters_.push_back(std::move(adapter));
  }
  read.weights_ = options.adapter_weights;
  for (const auto& [module, weight] : read.weights_) {
    bool used = false;
    for (const Adapter& adapter : read.adapters_) {
      for (const LowRankUpdate& update : adapter.updates) used |= update.module == module;
    }
    if (!used) {
      return absl::InvalidArgumentError(
          fmt::format("--adapter-weight: no adapter has a module '{}'", module));
    }
  }
  return read;
}

std::vector<std::string> Replacements::Names() const {
  std::vector<std::string> names;
  for (const ParameterValue& value : values_) names.push_back(value.name);
  for (const Adapter& adapter : adapters_) {
    for (const LowRankUpdate& update : adapter.updates) {
      const auto given = weights_.find(update.module);
      names.push_back(given == weights_.end() ? fmt::format("*{}.weight", update.module)
                                              : given->second.parameter);
    }
  }
  return names;
}

ApplyOptions Replacements::OptionsFor(const Adapter& adapter) const {
  ApplyOptions options;
  for (const LowRankUpdate& update : adapter.updates) {
    const auto given = weights_.find(update.module);
    if (given != weights_.end()) options.weights.insert(*given);
  }
  return options;
}

absl::Status Replacements::Apply(Program& program) const {
  if (!values_.empty()) TENON_RETURN_IF_ERROR(program.ReplaceParameters(values_));
  for (const Adapter& adapter : adapters_)
    TENON_RETURN_IF_ERROR(ApplyAdapter(program, adapter, OptionsFor(adapter)).status());
  return absl::OkStatus();
}

}  // namespace tenon::ir_run
