#include "kernels/cpu/onednn.h"

#include <omp.h>

#include <cstdlib>
#include <string>

#include "kernels/cpu/onednn_library.h"  // TENON_ONEDNN_SONAME, TENON_ONEDNN_FILE
#include "kernels/shape.h"

// The functions of oneDNN's C API that dnnl.hpp calls for us. They load oneDNN, and what it needs
// in turn, at the first call: a program that runs no convolution starts without it. Where it cannot
// be loaded they fail, and dnnl.hpp throws.
#if defined(TENON_ONEDNN_SONAME)
#include <dlfcn.h>

namespace {

struct Onednn {
  void* library = nullptr;
  std::string error;  // why there is none
};

const Onednn& LoadedOnednn() {
  static const Onednn loaded = [] {
    Onednn onednn;
    // The second name is where it was at build time, if no search path leads there.
    for (const char* name : {TENON_ONEDNN_SONAME, TENON_ONEDNN_FILE}) {
      onednn.library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (onednn.library != nullptr) break;
      const char* error = dlerror();
      if (onednn.error.empty()) onednn.error = error != nullptr ? error : name;
    }
    return onednn;
  }();
  return loaded;
}

template <typename Function>
Function* FindInOnednn(const char* name) {
  void* const library = LoadedOnednn().library;
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

#define TENON_FORWARD(result, failure, name, parameters, arguments)    \
  extern "C" result DNNL_API name parameters {                         \
    static auto* const function = FindInOnednn<decltype(name)>(#name); \
    return function == nullptr ? failure : function arguments;         \
  }
#define TENON_STATUS(name, parameters, arguments) \
  TENON_FORWARD(dnnl_status_t, dnnl_runtime_error, name, parameters, arguments)

TENON_STATUS(dnnl_dilated_convolution_forward_desc_init,
             (dnnl_convolution_desc_t * desc, dnnl_prop_kind_t kind, dnnl_alg_kind_t algorithm,
              const dnnl_memory_desc_t* from, const dnnl_memory_desc_t* weights,
              const dnnl_memory_desc_t* bias, const dnnl_memory_desc_t* to,
              const dnnl_dims_t strides, const dnnl_dims_t dilates, const dnnl_dims_t left,
              const dnnl_dims_t right),
             (desc, kind, algorithm, from, weights, bias, to, strides, dilates, left, right))
TENON_STATUS(dnnl_engine_create, (dnnl_engine_t * engine, dnnl_engine_kind_t kind, size_t index),
             (engine, kind, index))
TENON_STATUS(dnnl_engine_destroy, (dnnl_engine_t engine), (engine))
TENON_STATUS(dnnl_memory_create,
             (dnnl_memory_t * memory, const dnnl_memory_desc_t* desc, dnnl_engine_t engine,
              void* handle),
             (memory, desc, engine, handle))
TENON_FORWARD(int, 0, dnnl_memory_desc_equal,
              (const dnnl_memory_desc_t* one, const dnnl_memory_desc_t* other), (one, other))
TENON_FORWARD(size_t, 0, dnnl_memory_desc_get_size, (const dnnl_memory_desc_t* desc), (desc))
TENON_STATUS(dnnl_memory_desc_init_by_strides,
             (dnnl_memory_desc_t * desc, int rank, const dnnl_dims_t dims, dnnl_data_type_t type,
              const dnnl_dims_t strides),
             (desc, rank, dims, type, strides))
TENON_STATUS(dnnl_memory_desc_init_by_tag,
             (dnnl_memory_desc_t * desc, int rank, const dnnl_dims_t dims, dnnl_data_type_t type,
              dnnl_format_tag_t tag),
             (desc, rank, dims, type, tag))
TENON_STATUS(dnnl_memory_destroy, (dnnl_memory_t memory), (memory))
TENON_STATUS(dnnl_memory_get_engine, (const_dnnl_memory_t memory, dnnl_engine_t* engine),
             (memory, engine))
TENON_STATUS(dnnl_memory_get_memory_desc,
             (const_dnnl_memory_t memory, const dnnl_memory_desc_t** desc), (memory, desc))
TENON_STATUS(dnnl_memory_set_data_handle_v2,
             (dnnl_memory_t memory, void* handle, dnnl_stream_t stream), (memory, handle, stream))
TENON_STATUS(dnnl_primitive_attr_create, (dnnl_primitive_attr_t * attr), (attr))
TENON_STATUS(dnnl_primitive_attr_destroy, (dnnl_primitive_attr_t attr), (attr))
TENON_STATUS(dnnl_primitive_attr_set_scratchpad_mode,
             (dnnl_primitive_attr_t attr, dnnl_scratchpad_mode_t mode), (attr, mode))
TENON_STATUS(dnnl_primitive_create,
             (dnnl_primitive_t * primitive, const_dnnl_primitive_desc_t desc), (primitive, desc))
TENON_STATUS(dnnl_primitive_desc_destroy, (dnnl_primitive_desc_t desc), (desc))
TENON_STATUS(dnnl_primitive_desc_iterator_create,
             (dnnl_primitive_desc_iterator_t * iterator, const_dnnl_op_desc_t desc,
              const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
              const_dnnl_primitive_desc_t hint),
             (iterator, desc, attr, engine, hint))
TENON_STATUS(dnnl_primitive_desc_iterator_destroy, (dnnl_primitive_desc_iterator_t iterator),
             (iterator))
TENON_FORWARD(dnnl_primitive_desc_t, nullptr, dnnl_primitive_desc_iterator_fetch,
              (const_dnnl_primitive_desc_iterator_t iterator), (iterator))
TENON_STATUS(dnnl_primitive_desc_query,
             (const_dnnl_primitive_desc_t desc, dnnl_query_t what, int index, void* result),
             (desc, what, index, result))
TENON_FORWARD(const dnnl_memory_desc_t*, nullptr, dnnl_primitive_desc_query_md,
              (const_dnnl_primitive_desc_t desc, dnnl_query_t what, int index), (desc, what, index))
TENON_STATUS(dnnl_primitive_destroy, (dnnl_primitive_t primitive), (primitive))
TENON_STATUS(dnnl_primitive_execute,
             (const_dnnl_primitive_t primitive, dnnl_stream_t stream, int count,
              const dnnl_exec_arg_t* arguments),
             (primitive, stream, count, arguments))
TENON_STATUS(dnnl_reorder_primitive_desc_create,
             (dnnl_primitive_desc_t * desc, const dnnl_memory_desc_t* from,
              dnnl_engine_t from_engine, const dnnl_memory_desc_t* to, dnnl_engine_t to_engine,
              const_dnnl_primitive_attr_t attr),
             (desc, from, from_engine, to, to_engine, attr))
TENON_STATUS(dnnl_set_max_cpu_isa, (dnnl_cpu_isa_t isa), (isa))
TENON_STATUS(dnnl_stream_create, (dnnl_stream_t * stream, dnnl_engine_t engine, unsigned flags),
             (stream, engine, flags))
TENON_STATUS(dnnl_stream_destroy, (dnnl_stream_t stream), (stream))
TENON_STATUS(dnnl_stream_wait, (dnnl_stream_t stream), (stream))
#undef TENON_STATUS
#undef TENON_FORWARD
#endif  // defined(TENON_ONEDNN_SONAME)

namespace tenon::kernels::cpu {

KernelStatus OnednnStatus() {
#if defined(TENON_ONEDNN_SONAME)
  if (LoadedOnednn().library == nullptr)
    return KernelStatus::Internal("oneDNN cannot be loaded: " + LoadedOnednn().error);
#endif
  return KernelStatus::Ok();
}

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
