// Runs whose inputs and outputs are where an IoBinding says.
#include <cstring>

#include "executor/run/runner.h"
#include "fmt/format.h"

namespace tenon {

using enum Prepared::Port;

namespace {

// Does the input become that result by new rows behind it? Only with the shapes of this run: with
// others another kernel might read it.
bool Grows(const Prepared* ready, size_t input, int partner) {
  if (ready == nullptr || ready->growing().empty()) return false;
  const Prepared::Growing& pair = ready->growing()[input];
  return pair.growth != nullptr && pair.output == partner;
}

bool MayBeOnDevice(const Prepared* ready, Prepared::Port port, size_t i) {
  return ready != nullptr && ready->MayBeOnDevice(port, i);
}

}  // namespace

void Runner::TellPlaces(Prepared& ready, const IoBinding* binding) const {
  for (const Prepared::Growing& pair : ready.growing()) {
    if (pair.growth == nullptr) continue;
    const auto input = static_cast<size_t>(&pair - ready.growing().data());
    pair.growth->from_pitch = binding == nullptr ? 0 : binding->inputs_[input].pitch;
    pair.growth->to_pitch = binding == nullptr ? 0 : binding->outputs_[pair.output].pitch;
  }
  for (size_t i = 0; i < program_.inputs.size(); ++i) {
    ready.SetOnDevice(kInput, i, binding != nullptr && binding->inputs_[i].on_device);
  }
  for (size_t i = 0; i < program_.outputs.size(); ++i) {
    ready.SetOnDevice(kOutput, i, binding != nullptr && binding->outputs_[i].on_device);
  }
}

absl::Status Runner::CheckDeviceTensors(const IoBinding& binding, const Prepared* ready) const {
  for (size_t i = 0; i < program_.inputs.size(); ++i) {
    const IoBinding::Port& input = binding.inputs_[i];
    // Memory of the binding's own is brought to the host.
    if (!input.on_device || input.capacity != 0 || MayBeOnDevice(ready, kInput, i)) continue;
    return absl::FailedPreconditionError(
        fmt::format("input '{}' is read on the host (expected a tensor in host memory)",
                    program_.inputs[i].name));
  }
  for (size_t i = 0; i < program_.outputs.size(); ++i) {
    const IoBinding::Port& output = binding.outputs_[i];
    if (!output.on_device || !output.fixed || MayBeOnDevice(ready, kOutput, i)) continue;
    return absl::FailedPreconditionError(fmt::format(
        "output '{}' is made on the host, or is another output too (expected a tensor in "
        "host memory)",
        program_.outputs[i].name));
  }
  return absl::OkStatus();
}

absl::Status Runner::RunBound(IoBinding& binding) {
  TENON_RETURN_IF_ERROR(binding.Check());
  binding.SetViews();
  TENON_ASSIGN_OR_RETURN(Prepared* const ready, Find(binding.input_views_, {}));
  TENON_RETURN_IF_ERROR(CheckDeviceTensors(binding, ready));
  for (size_t i = 0; i < program_.inputs.size(); ++i) {
    const IoBinding::Port& input = binding.inputs_[i];
    const bool keeps_pitch = input.pitch == 0 || Grows(ready, i, input.partner);
    if (keeps_pitch && (!input.on_device || MayBeOnDevice(ready, kInput, i))) continue;
    TENON_RETURN_IF_ERROR(binding.MakeDense(i));
    binding.SetViews();
  }
  if (ready == nullptr) return RunBoundDynamic(binding);
  for (size_t i = 0; i < program_.outputs.size(); ++i) {
    const std::span<const int64_t> shape = ready->output(i).shape;
    const int input = binding.outputs_[i].partner;
    const auto from = static_cast<size_t>(input);
    if (input != IoBinding::kNone && Grows(ready, from, static_cast<int>(i))) {
      TENON_RETURN_IF_ERROR(binding.Grow(from, i, shape));
    } else {
      const bool on_device = input != IoBinding::kNone && MayBeOnDevice(ready, kOutput, i) &&
                             MayBeOnDevice(ready, kInput, from);
      TENON_RETURN_IF_ERROR(binding.Fit(i, shape, on_device));
    }
    TENON_RETURN_IF_ERROR(CheckOutput(i, binding.outputs_[i].tensor.view(), shape));
  }
  binding.SetViews();
  TENON_RETURN_IF_ERROR(CheckPlaces(binding.input_views_, binding.output_views_));
  TellPlaces(*ready, &binding);
  const absl::Status status = Execute(*ready, binding.input_views_, binding.output_views_);
  TellPlaces(*ready, nullptr);
  TENON_RETURN_IF_ERROR(status);
  binding.CarryOver();
  return absl::OkStatus();
}

absl::Status Runner::RunBoundDynamic(IoBinding& binding) {
  TENON_RETURN_IF_ERROR(CheckPlaces(binding.input_views_, {}));
  TENON_ASSIGN_OR_RETURN(std::vector<Tensor> made,
                         RunDynamic(binding.input_views_, {}, {}, /*share=*/false));
  for (size_t i = 0; i < made.size(); ++i) {
    IoBinding::Port& port = binding.outputs_[i];
    if (!port.fixed) {
      port.Release();
      port.tensor = std::move(made[i]);
      continue;
    }
    TENON_RETURN_IF_ERROR(CheckOutput(i, port.tensor.view(), made[i].shape()));
    if (made[i].num_bytes() > 0)
      std::memcpy(port.tensor.data(), made[i].data(), made[i].num_bytes());
  }
  binding.CarryOver();
  return absl::OkStatus();
}

}  // namespace tenon
