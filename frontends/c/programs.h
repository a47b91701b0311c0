// Programs: compiled models that any number of threads run.
#ifndef TENON_FRONTENDS_C_PROGRAMS_H_
#define TENON_FRONTENDS_C_PROGRAMS_H_

#include "frontends/c/models.h"
#include "frontends/c/types.h"

#ifdef __cplusplus
extern "C" {
#endif

// A compiled model. All functions that take a const TenonProgram* may run in several threads at
// once. It does not need its model.
typedef struct TenonProgram TenonProgram;

// Where a program runs.
typedef int32_t TenonDevice;
enum {
  TENON_DEVICE_CPU = 0,
  TENON_DEVICE_CUDA = 1  // with the plugin that TENON_CUDA_PLUGIN names, or that is installed
};

// Receives a line of text, valid during the call.
typedef void (*TenonLineFn)(TenonString line, void* state);

// How a model is compiled. tenonModelOptimize chooses the precision of its weights.
typedef struct TenonCompileOptions {
  size_t struct_size;        // sizeof(TenonCompileOptions)
  int threads;               // for each session, with the caller's own; 0: one for each core
  bool reference;            // with reference kernels only
  TenonDevice device;        // TENON_UNAVAILABLE if there is none
  int device_number;         // of several GPUs
  TenonString weight_cache;  // folder that keeps packed weights; empty: TENON_WEIGHT_CACHE, if set
  bool verify_weights;       // checks the kept weights again
  TenonLimits limits;        // for each run
  // Receives a line for each kind of operation that has no fast kernel; may be NULL. Used
  // during the call only.
  TenonLineFn on_fallback;
  void* fallback_state;  // passed to `on_fallback`
} TenonCompileOptions;

// Verifies the main function of a model and compiles a copy of it. `options` may be NULL.
// TENON_UNIMPLEMENTED, located at the node, if no kernel supports an operation.
TENON_C_API TenonStatus* tenonModelCompile(const TenonModel* model,
                                           const TenonCompileOptions* options,
                                           TenonProgram** program);
// Destroys a program; sessions and bindings keep what they need of it.
TENON_C_API void tenonProgramDestroy(TenonProgram* program);

// An input or output, as the function declares it. Valid as long as the program. Later versions may
// add members.
typedef struct TenonPort {
  TenonString name;         // "input_ids"; or "arg0", "result0" without a name in the model
  TenonDType dtype;         // the element type
  size_t rank;              // the number of dimensions
  const TenonString* dims;  // `rank` texts: "768", "batch", "past + S"; "?" for an unknown extent
} TenonPort;

// The number of inputs.
TENON_C_API size_t tenonProgramNumInputs(const TenonProgram* program);
// An input; NULL for an index that is out of range.
TENON_C_API const TenonPort* tenonProgramInput(const TenonProgram* program, size_t index);
// The number of outputs.
TENON_C_API size_t tenonProgramNumOutputs(const TenonProgram* program);
// An output; NULL for an index that is out of range.
TENON_C_API const TenonPort* tenonProgramOutput(const TenonProgram* program, size_t index);

// Ends what it was given to, from any thread: runs and optimization. All functions may run in
// several threads at once, except destroy, which comes after all that uses the token.
typedef struct TenonCancelToken TenonCancelToken;

// Makes a token that is not cancelled, which the caller owns.
TENON_C_API TenonStatus* tenonCancelTokenCreate(TenonCancelToken** token);
// Destroys a token that nothing uses any more.
TENON_C_API void tenonCancelTokenDestroy(TenonCancelToken* token);
// Cancels what uses the token, which stays cancelled until it is reset.
TENON_C_API TenonStatus* tenonCancelTokenCancel(TenonCancelToken* token);
// Makes the token as new.
TENON_C_API TenonStatus* tenonCancelTokenReset(TenonCancelToken* token);
// False for NULL.
TENON_C_API bool tenonCancelTokenIsCancelled(const TenonCancelToken* token);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_FRONTENDS_C_PROGRAMS_H_
