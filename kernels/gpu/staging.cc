#include "kernels/gpu/staging.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "kernels/checked_index.h"

namespace tenon::kernels::gpu {
namespace {

constexpr size_t kAlignment = 64;

std::string Describe(const DeviceError& error) {
  if (error.kind == DeviceError::kRange) {
    return std::string("ten.check_range: ") + error.what + " is " + std::to_string(error.value) +
           ExpectedRange(error.low, error.high);
  }
  const char* what = "ten.gather: index ";
  const char* of = " rows";
  if (error.kind == DeviceError::kEmbeddingIndex) what = "fused.embedding: index ";
  if (error.kind == DeviceError::kGatherElementsIndex) {
    what = "ten.gather_elements: index ";
    of = " elements";
  }
  if (error.kind == DeviceError::kPosition) {
    what = "nn.rotary_embedding: position ";
    of = " rows of the table";
  }
  const int64_t least = error.kind == DeviceError::kPosition ? 0 : -error.extent;
  return what + std::to_string(error.value) + " is out of range for " +
         std::to_string(error.extent) + of + ExpectedRange(least, error.extent - 1);
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
  KernelStatus status;
  for (size_t i = 0; i < halves_.size() && status.ok(); ++i) {
    status = queue_.NewEvent(&halves_[i].read);
    if (status.ok()) status = queue_.NewEvent(&arrived_[i]);
  }
  // Last, for with it everything is there.
  if (status.ok()) {
    status = queue_.AllocatePinned(4 * kHalfBytes + sizeof(DeviceError), &pinned_);
  }
  for (size_t i = 0; i < halves_.size() && status.ok(); ++i) {
    halves_[i].bytes = static_cast<std::byte*>(pinned_) + i * kHalfBytes;
  }
  return status;
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
  KernelStatus status = Prepare();
  for (size_t done = 0; status.ok() && done < bytes; done += kHalfBytes) {
    status = PieceToDevice(static_cast<std::byte*>(to) + done,
                           static_cast<const std::byte*>(from) + done,
                           std::min(bytes - done, kHalfBytes));
  }
  return status;
}

KernelStatus Staging::PieceToDevice(void* to, const void* from, size_t bytes) {
  if (halves_[current_].used + bytes > kHalfBytes) {
    if (KernelStatus status = Turn(); !status.ok()) return status;
  }
  Half& half = halves_[current_];
  std::byte* at = half.bytes + half.used;
  half.used = std::min(kHalfBytes, (half.used + bytes + kAlignment - 1) / kAlignment * kAlignment);
  std::memcpy(at, from, bytes);
  return queue_.CopyToDevice(to, at, bytes);
}

KernelStatus Staging::ToHost(void* to, const void* from, size_t bytes) {
  KernelStatus status = Prepare();
  if (!status.ok()) return status;
  unfinished_ = true;
  if (bytes == 0) return status;
  if (bytes > 2 * kHalfBytes - back_used_) {
    status = Finish();
    unfinished_ = true;
  }
  if (!status.ok()) return status;
  if (bytes > 2 * kHalfBytes) {
    return StreamToHost(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
  }
  waiting_.push_back({to, back_used_, bytes});
  back_used_ =
      std::min(2 * kHalfBytes, (back_used_ + bytes + kAlignment - 1) / kAlignment * kAlignment);
  return queue_.CopyToHost(back() + waiting_.back().at, from, bytes);
}

KernelStatus Staging::OnDevice(void* to, const void* from, size_t bytes) {
  KernelStatus status = Prepare();
  if (!status.ok()) return status;
  unfinished_ = true;
  return bytes == 0 ? std::move(status) : queue_.CopyOnDevice(to, from, bytes);
}

// In pieces of a half, of which one arrives while the other is taken.
KernelStatus Staging::StreamToHost(std::byte* to, const std::byte* from, size_t bytes) {
  const auto slot = [](size_t at) { return at / kHalfBytes % 2; };
  const auto piece = [&](size_t at) { return std::min(bytes - at, kHalfBytes); };
  size_t sent = 0;
  for (size_t taken = 0; taken < bytes; taken += piece(taken)) {
    for (; sent < bytes && sent < taken + 2 * kHalfBytes; sent += piece(sent)) {
      KernelStatus status =
          queue_.CopyToHost(back() + slot(sent) * kHalfBytes, from + sent, piece(sent));
      if (status.ok()) status = queue_.Record(*arrived_[slot(sent)]);
      if (!status.ok()) return status;
    }
    if (KernelStatus status = queue_.WaitFor(*arrived_[slot(taken)]); !status.ok()) return status;
    std::memcpy(to + taken, back() + slot(taken) * kHalfBytes, piece(taken));
  }
  return KernelStatus::Ok();
}

KernelStatus Staging::Finish() {
  if (!unfinished_) return KernelStatus::Ok();
  if (KernelStatus status = TakeReport(); !status.ok()) return status;
  for (const Waiting& copy : waiting_) std::memcpy(copy.to, back() + copy.at, copy.bytes);
  waiting_.clear();
  back_used_ = 0;
  unfinished_ = false;
  return KernelStatus::Ok();
}

// Waits for the queue.
KernelStatus Staging::TakeReport() {
  auto* error = reinterpret_cast<DeviceError*>(back() + 2 * kHalfBytes);
  KernelStatus status = queue_.CopyToHost(error, queue_.error_slot(), sizeof(DeviceError));
  if (status.ok()) status = queue_.Synchronize();
  if (!status.ok()) return status;
  for (Half& half : halves_) half.pending = false;
  halves_[current_].used = 0;
  if (error->kind == DeviceError::kNone) return status;
  const DeviceError none, found = *error;
  status = ToDevice(queue_.error_slot(), &none, sizeof(none));
  return status.ok() ? KernelStatus::Invalid(Describe(found)) : std::move(status);
}

void Staging::Abandon() {
  waiting_.clear();
  back_used_ = 0;
  unfinished_ = false;
  if (pinned_ == nullptr) {
    static_cast<void>(queue_.Synchronize());
  } else {
    static_cast<void>(TakeReport());
  }
}

}  // namespace tenon::kernels::gpu
