// Kernels of the host: functions with a state that compute operations.
#ifndef TENON_FRONTENDS_C_KERNELS_H_
#define TENON_FRONTENDS_C_KERNELS_H_

#include "frontends/c/extensions.h"
#include "frontends/c/runs.h"

#ifdef __cplusplus
extern "C" {
#endif

// One call of a kernel. Valid during the call.
typedef struct TenonKernelCall TenonKernelCall;

// The number of inputs.
TENON_C_API size_t tenonKernelCallNumInputs(const TenonKernelCall* call);
// An input. TENON_DTYPE_INVALID for an absent one, and for an index that is out of range.
TENON_C_API TenonTensorView tenonKernelCallInput(const TenonKernelCall* call, size_t index);
// The number of outputs.
TENON_C_API size_t tenonKernelCallNumOutputs(const TenonKernelCall* call);
// An output, whose elements the kernel writes.
TENON_C_API TenonTensorView tenonKernelCallOutput(const TenonKernelCall* call, size_t index);

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
// is the smallest range that is worth a thread. Not for use inside of `range`.
TENON_C_API TenonStatus* tenonKernelCallParallelFor(const TenonKernelCall* call, int64_t count,
                                                    int64_t grain, TenonRangeFn range, void* state);

// Computes the outputs. Several threads may call it at once, with different calls.
typedef TenonStatus* (*TenonKernelFn)(const TenonKernelCall* call, void* state);

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
  void* state;                   // passed to `run`
  void (*destroy)(void* state);  // destroys `state`; may be NULL
} TenonKernel;

// Adds a kernel for the CPU.
TENON_C_API TenonStatus* tenonExtensionAddKernel(TenonExtension* extension,
                                                 const TenonKernel* kernel);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_FRONTENDS_C_KERNELS_H_
