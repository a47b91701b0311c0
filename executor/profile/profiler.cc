#include "executor/profile/profiler.h"

#include <chrono>

#include "executor/prepare/concrete_shapes.h"
#include "executor/program_impl.h"
#include "ir/core/context/context.h"

namespace tenon {

int64_t Profiler::Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int Profiler::Add(ProfiledCall call) {
  calls_.push_back(std::move(call));
  return static_cast<int>(calls_.size()) - 1;
}

int Profiler::Find(ProfiledCall call) {
  std::string key = call.kernel + '\n' + call.node + '\n' + call.shapes;
  const auto [at, is_new] = found_.try_emplace(std::move(key), 0);
  if (is_new) at->second = Add(std::move(call));
  return at->second;
}

void Profiler::RecordChunk(int64_t begin_ns) {
  const int64_t end_ns = Now();
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto thread = threads_.try_emplace(std::this_thread::get_id(), threads_.size()).first;
  // The event of the kernel that runs is recorded next.
  chunks_.push_back({static_cast<int>(events_.size()), thread->second, begin_ns, end_ns});
}

void Profiler::EndRun() {
  runs_.back().end_ns = Now();
  const std::lock_guard<std::mutex> lock(mutex_);
  // The caller's thread takes part in all work that is shared, and first.
  threads_.try_emplace(std::this_thread::get_id(), threads_.size());
  const int caller = threads_.at(std::this_thread::get_id());
  for (; resolved_ < chunks_.size(); ++resolved_) {
    Event& chunk = chunks_[resolved_];
    const auto event = static_cast<size_t>(chunk.call);
    chunk.call = event < events_.size() ? events_[event].call : -1;
    if (chunk.thread == caller) {
      chunk.thread = 0;
    } else if (chunk.thread < caller) {
      ++chunk.thread;
    }
  }
}

ProfiledCall DescribeCall(const ProgramImpl& program, const Instruction& instruction,
                          std::span<const kernels::TensorView> inputs,
                          std::span<const kernels::TensorView> outputs, const void* attrs) {
  ProfiledCall call;
  call.node = DescribeLocation(*program.context, instruction.location);
  call.fallback = instruction.fallback;
  const auto add = [&](std::span<const kernels::TensorView> views) {
    for (size_t i = 0; i < views.size(); ++i) {
      if (i > 0) call.shapes += ", ";
      call.shapes += views[i].present() ? ShapeText(views[i].dtype, views[i].shape) : "-";
    }
  };
  add(inputs);
  call.shapes += " -> ";
  add(outputs);
  if (instruction.source == nullptr) {
    call.op = call.kernel = "control flow";
    return call;
  }
  call.op = std::string(instruction.source->name());
  call.kernel = instruction.kernel.name;
  call.cost = kernels::CostOf(call.op, inputs, outputs, attrs);
  return call;
}

}  // namespace tenon
