// The part of oneDNN's C++ API that kernels need. Tenon allocates nothing in runs.
#ifndef TENON_KERNELS_CPU_ONEDNN_H_
#define TENON_KERNELS_CPU_ONEDNN_H_

#include <memory>
#include <string>
#include <vector>

#include "dnnl.hpp"
#include "kernels/kernel.h"

namespace tenon::kernels::cpu {

// Loads oneDNN if it is a shared library. Fails with the reason if it cannot be loaded; its
// functions fail then, too.
KernelStatus OnednnStatus();

// Makes oneDNN use so many threads while it lives. oneDNN asks OpenMP for their number when it
// makes a primitive and when it runs one. Both must agree.
class OnednnThreads {
 public:
  // Sets the number of threads; the destructor restores the old one.
  explicit OnednnThreads(int num_threads);
  ~OnednnThreads();
  OnednnThreads(const OnednnThreads&) = delete;
  OnednnThreads& operator=(const OnednnThreads&) = delete;

 private:
  int previous_;
};

// A primitive with its memory arguments. Pointers are bound before each execution.
class OnednnCall {
 public:
  OnednnCall() = default;
  OnednnCall(const dnnl::engine& engine, const dnnl::primitive& primitive);

  // Adds an argument (DNNL_ARG_SRC, …) and returns its slot for Bind.
  int Add(int argument, const dnnl::memory::desc& desc);
  // Points an argument at its data. Where the layout pads channels, oneDNN writes zeros there.
  void Bind(int slot, const void* data);
  KernelStatus Execute(dnnl::stream& stream);  // runs the primitive

 private:
  dnnl::engine engine_;
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

// Rounds bytes up to whole cache lines, so that parts of the scratch memory stay aligned.
inline size_t Align64(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Returns the description of an f32 tensor.
dnnl::memory::desc PlainDesc(const std::vector<int64_t>& dims, const std::vector<int64_t>& strides);
dnnl::memory::desc PlainDesc(const std::vector<int64_t>& dims);  // row-major

// Returns attributes with the scratchpad in user mode.
dnnl::primitive_attr UserScratchpad();

// Returns the constant input `input`, reordered from layout `from` to `to`. Null if there is no
// memory.
PackedBytes PackWeights(const PrepareArgs& args, int input, const dnnl::engine& engine,
                        const dnnl::stream& stream, const dnnl::memory::desc& from,
                        const dnnl::memory::desc& to);

// Calls f. Returns exceptions of oneDNN as statuses.
template <typename F>
KernelStatus GuardOnednn(F&& f) {
  try {
    return f();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory)
      return KernelStatus::OutOfMemory("oneDNN has no memory");
    return KernelStatus::Internal(std::string("oneDNN: ") + error.what());
  }
}

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_ONEDNN_H_
