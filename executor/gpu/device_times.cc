#include "executor/gpu/device_times.h"

namespace tenon {

using kernels::KernelStatus;

KernelStatus DeviceTimes::Before(kernels::gpu::Queue& queue) {
  queue_ = &queue;
  if (used_ == 0) first_ns_ = Profiler::Now();
  if (used_ == spans_.size()) {
    Span span;
    KernelStatus status = queue.NewEvent(&span.before, /*timed=*/true);
    if (status.ok()) status = queue.NewEvent(&span.after, /*timed=*/true);
    if (!status.ok()) return status;
    spans_.push_back(std::move(span));
  }
  return queue.Record(*spans_[used_].before);
}

KernelStatus DeviceTimes::After(int call) {
  Span& span = spans_[used_++];
  span.call = call;
  return queue_->Record(*span.after);
}

KernelStatus DeviceTimes::Report(Profiler& profiler) {
  if (used_ == 0) return KernelStatus::Ok();
  KernelStatus status = queue_->Synchronize();
  for (size_t i = 0; i < used_ && status.ok(); ++i) {
    int64_t begin = 0, took = 0;
    status = queue_->Elapsed(*spans_[0].before, *spans_[i].before, &begin);
    if (status.ok()) status = queue_->Elapsed(*spans_[i].before, *spans_[i].after, &took);
    if (status.ok()) {
      profiler.Record(spans_[i].call, first_ns_ + begin, first_ns_ + begin + took);
    }
  }
  used_ = 0;
  return status;
}

}  // namespace tenon
