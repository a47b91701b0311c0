#include "kernels/gpu/staging.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace tenon::kernels::gpu {
namespace {

constexpr size_t kAlignment = 64;

std::string Describe(const DeviceError& error) {
  return (error.kind == DeviceError::kEmbeddingIndex ? "fused.embedding: index "
                                                     : "ten.gather: index ") +
         std::to_string(error.value) + " is out of range for " + std::to_string(error.extent) +
         " rows";
}

}  // namespace

Staging::~Staging() {
  if (pinned_ == nullptr) return;
  // The queue may still read it.
  static_cast<void>(queue_.Synchronize());
  queue_.FreePinned(pinned_);
}

KernelStatus Staging::Prepare() {
  if (pinned_ != nullptr) return KernelStatus::Ok();
  KernelStatus status = queue_.AllocatePinned(3 * kHalfBytes + sizeof(DeviceError), &pinned_);
  if (!status.ok()) return status;
  for (size_t i = 0; i < halves_.size(); ++i) {
    halves_[i].bytes = static_cast<std::byte*>(pinned_) + i * kHalfBytes;
    status = queue_.NewEvent(&halves_[i].read);
    if (!status.ok()) return status;
  }
  return KernelStatus::Ok();
}

KernelStatus Staging::Turn() {
  Half& full = halves_[current_];
  KernelStatus status = queue_.Record(*full.read);
  if (!status.ok()) return status;
  full.pending = true;
  current_ = 1 - current_;
  Half& next = halves_[current_];
  if (next.pending) status = queue_.WaitFor(*next.read);
  next.pending = false;
  next.used = 0;
  return status;
}

KernelStatus Staging::ToDevice(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return KernelStatus::Ok();
  if (bytes > kHalfBytes) return queue_.CopyToDevice(to, from, bytes);
  KernelStatus status = Prepare();
  if (status.ok() && halves_[current_].used + bytes > kHalfBytes) status = Turn();
  if (!status.ok()) return status;
  Half& half = halves_[current_];
  std::byte* at = half.bytes + half.used;
  half.used = std::min(kHalfBytes, (half.used + bytes + kAlignment - 1) / kAlignment * kAlignment);
  std::memcpy(at, from, bytes);
  return queue_.CopyToDevice(to, at, bytes);
}

KernelStatus Staging::ToHost(void* to, const void* from, size_t bytes) {
  KernelStatus status = Prepare();
  if (!status.ok()) return status;
  auto* pinned = static_cast<std::byte*>(pinned_) + 2 * kHalfBytes;
  auto* error = reinterpret_cast<DeviceError*>(pinned + kHalfBytes);
  const bool through = bytes <= kHalfBytes;
  if (bytes > 0) status = queue_.CopyToHost(through ? pinned : to, from, bytes);
  if (status.ok()) status = queue_.CopyToHost(error, queue_.error_slot(), sizeof(DeviceError));
  if (status.ok()) status = queue_.Synchronize();
  if (!status.ok()) return status;
  for (Half& half : halves_) half.pending = false;
  halves_[current_].used = 0;
  if (error->kind != DeviceError::kNone) {
    const DeviceError none, found = *error;
    status = ToDevice(queue_.error_slot(), &none, sizeof(none));
    return status.ok() ? KernelStatus::Invalid(Describe(found)) : std::move(status);
  }
  if (bytes > 0 && through) std::memcpy(to, pinned, bytes);
  return status;
}

}  // namespace tenon::kernels::gpu
