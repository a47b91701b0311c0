#include "kernels/cpu/onednn.h"

#include <omp.h>

#include <cstdlib>

#include "kernels/shape.h"

namespace tenon::kernels::cpu {

OnednnThreads::OnednnThreads(int num_threads) : previous_(omp_get_max_threads()) {
  if (previous_ != num_threads) omp_set_num_threads(num_threads);
}

OnednnThreads::~OnednnThreads() {
  if (omp_get_max_threads() != previous_) omp_set_num_threads(previous_);
}

OnednnCall::OnednnCall(const dnnl::engine& engine, const dnnl::primitive& primitive)
    : engine_(engine), primitive_(primitive) {}

int OnednnCall::Add(int argument, const dnnl::memory::desc& desc) {
  memories_.emplace_back(desc, engine_, nullptr);
  arguments_.push_back({argument, memories_.back().get()});
  return static_cast<int>(arguments_.size()) - 1;
}

void OnednnCall::Bind(int slot, const void* data) {
  dnnl_memory_set_data_handle_v2(arguments_[static_cast<size_t>(slot)].memory,
                                 const_cast<void*>(data), nullptr);
}

KernelStatus OnednnCall::Execute(dnnl::stream& stream) {
  const dnnl_status_t status = dnnl_primitive_execute(
      primitive_.get(), stream.get(), static_cast<int>(arguments_.size()), arguments_.data());
  if (status == dnnl_success) return KernelStatus::Ok();
  if (status == dnnl_out_of_memory) return KernelStatus::OutOfMemory("oneDNN has no memory");
  return KernelStatus::Internal("oneDNN failed to execute a primitive (status " +
                                std::to_string(static_cast<int>(status)) + ")");
}

dnnl::memory::desc PlainDesc(const std::vector<int64_t>& dims,
                             const std::vector<int64_t>& strides) {
  return {dims, dnnl::memory::data_type::f32, strides};
}

dnnl::memory::desc PlainDesc(const std::vector<int64_t>& dims) {
  const Dims strides = RowMajorStrides(dims);
  return PlainDesc(dims, std::vector<int64_t>(strides.begin(), strides.end()));
}

dnnl::primitive_attr UserScratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

PackedBytes PackWeights(const PrepareArgs& args, int input, const dnnl::engine& engine,
                        const dnnl::stream& stream, const dnnl::memory::desc& from,
                        const dnnl::memory::desc& to) {
  // The descriptor's bytes are its name: oneDNN fills all of them.
  const std::string layout =
      "onednn:" + std::string(reinterpret_cast<const char*>(&to.data), sizeof(to.data));
  const int inputs[] = {input};
  return args.Pack(inputs, layout, to.get_size(), [&](std::byte* bytes) {
    dnnl::memory source(from, engine, args.inputs[static_cast<size_t>(input)].data);
    dnnl::memory target(to, engine, bytes);
    dnnl::stream mutable_stream = stream;
    dnnl::reorder(source, target).execute(mutable_stream, source, target);
    mutable_stream.wait();
  });
}

}  // namespace tenon::kernels::cpu
