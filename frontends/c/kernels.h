// Kernels of the host: functions with a state that compute operations.
#ifndef TENON_FRONTENDS_C_KERNELS_H_
#define TENON_FRONTENDS_C_KERNELS_H_

#include "frontends/c/extensions.h"
#include "frontends/c/runs.h"

#ifdef __cplusplus
extern "C" {
#endif

// One call of a kernel: to choose it, to prepare it, or to run it. Valid during the call.
typedef struct TenonKernelCall TenonKernelCall;

// The number of inputs.
TENON_C_API size_t tenonKernelCallNumInputs(const TenonKernelCall* call);
// An input. TENON_DTYPE_INVALID for an absent one, and for an index that is out of range. Without
// data where a kernel is chosen; while it prepares, only constants have data. Where a kernel is
// chosen, extents that only a run knows are -1.
TENON_C_API TenonTensorView tenonKernelCallInput(const TenonKernelCall* call, size_t index);
// The number of outputs.
TENON_C_API size_t tenonKernelCallNumOutputs(const TenonKernelCall* call);
// An output, whose elements the kernel writes. Without data except in a run.
TENON_C_API TenonTensorView tenonKernelCallOutput(const TenonKernelCall* call, size_t index);

// Whether an input is a constant: its data is the same in all runs. False in a run.
TENON_C_API bool tenonKernelCallIsConstant(const TenonKernelCall* call, size_t index);

// These give the value of an attribute, with defaults filled in, and return true. They return false
// if there is none of the name and type, and always for operations of Tenon's own dialects.

// Of a bool.
TENON_C_API bool tenonKernelCallBool(const TenonKernelCall* call, TenonString name, bool* value);
// Of an integer.
TENON_C_API bool tenonKernelCallInt64(const TenonKernelCall* call, TenonString name,
                                      int64_t* value);
// Of a float.
TENON_C_API bool tenonKernelCallDouble(const TenonKernelCall* call, TenonString name,
                                       double* value);
// Of a string, which is valid during the call of the kernel.
TENON_C_API bool tenonKernelCallString(const TenonKernelCall* call, TenonString name,
                                       TenonString* value);
// Of a list of integers, which is valid during the call of the kernel.
TENON_C_API bool tenonKernelCallInt64s(const TenonKernelCall* call, TenonString name,
                                       const int64_t** values, size_t* count);

// Computes the elements [begin, end) of something.
typedef void (*TenonRangeFn)(int64_t begin, int64_t end, void* state);
// Calls `range` for disjoint ranges that cover [0, count), on the threads of the session. `grain`
// is the smallest range that is worth a thread. Not for use inside of `range`, and not where a
// kernel is chosen.
TENON_C_API TenonStatus* tenonKernelCallParallelFor(const TenonKernelCall* call, int64_t count,
                                                    int64_t grain, TenonRangeFn range, void* state);

// ---- preparation
// What a kernel does once for each set of shapes in a session, before the first run with them.

// Asks for `bytes` of memory for each run, at most 2^40. The memory plan includes them. Only while
// the kernel prepares, as the next two.
TENON_C_API TenonStatus* tenonKernelCallSetScratch(TenonKernelCall* call, size_t bytes);
// Keeps `prepared` for the runs of the session with these shapes. `destroy` destroys it after the
// last one, or at once if the call fails; it may be NULL. TENON_ALREADY_EXISTS at the second call.
TENON_C_API TenonStatus* tenonKernelCallSetPrepared(TenonKernelCall* call, void* prepared,
                                                    void (*destroy)(void* prepared));
// Computes packed bytes; `bytes` is aligned to 64.
typedef void (*TenonFillFn)(void* bytes, void* state);
// Packs constant inputs, such as weights, into `bytes` bytes that `fill` computes. `layout` names
// everything else on which they depend. `fill` is called during the call, and not at all for equal
// constants and layouts of a program, or if a saved program or a weight cache has the bytes. Where
// a program is saved, it is called again with other floats in the inputs, and only writes `bytes`.
// Only `fill` may read the inputs that it packs. `*packed` is valid while the kernel prepares and
// runs with these shapes. TENON_INVALID_ARGUMENT if an input is no constant or is named twice.
TENON_C_API TenonStatus* tenonKernelCallPack(TenonKernelCall* call, const size_t* inputs,
                                             size_t num_inputs, TenonString layout, size_t bytes,
                                             TenonFillFn fill, void* state, const void** packed);

// For a run: the memory that the kernel asked for, aligned to 64. NULL without any.
TENON_C_API void* tenonKernelCallScratch(const TenonKernelCall* call);
// For a run: what the kernel has prepared. NULL without any.
TENON_C_API void* tenonKernelCallPrepared(const TenonKernelCall* call);

// ---- kernels
// Computes the outputs. Several threads may call it at once, with different calls.
typedef TenonStatus* (*TenonKernelFn)(const TenonKernelCall* call, void* state);
// Prepares the kernel. Several threads may call it at once, with different calls.
typedef TenonStatus* (*TenonPrepareFn)(TenonKernelCall* call, void* state);
// Returns NULL if the kernel can run the call. The message of an error says why it cannot, such as
// "needs f32"; another kernel is used then.
typedef TenonStatus* (*TenonSupportsFn)(const TenonKernelCall* call, void* state);

// A kernel.
typedef struct TenonKernel {
  size_t struct_size;  // sizeof(TenonKernel)
  TenonString op;      // of the extension, or of Tenon: "acme.gelu"
  // "acme.gelu.fast". Kernels whose names begin with "ref." also evaluate constants, and check
  // rules; their results must not depend on the machine.
  TenonString name;
  int priority;  // of several kernels of an operation the highest is used
  // Inputs whose memory the first output may share: bit 1u << i. Set it if the kernel reads element
  // i before it writes it.
  uint32_t inplace_inputs;
  TenonKernelFn run;             // not NULL
  void* state;                   // passed to the functions
  void (*destroy)(void* state);  // destroys `state`; may be NULL
  TenonPrepareFn prepare;        // may be NULL
  // NULL: the kernel runs every call. Kernels whose names begin with "ref." must have none.
  TenonSupportsFn supports;
} TenonKernel;

// Adds a kernel for the CPU.
TENON_C_API TenonStatus* tenonExtensionAddKernel(TenonExtension* extension,
                                                 const TenonKernel* kernel);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_FRONTENDS_C_KERNELS_H_
