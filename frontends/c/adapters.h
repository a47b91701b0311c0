// Low-rank adapters (LoRA) on programs, and parameters of models as files of safetensors.
#ifndef TENON_FRONTENDS_C_ADAPTERS_H_
#define TENON_FRONTENDS_C_ADAPTERS_H_

#include "frontends/c/programs.h"

#ifdef __cplusplus
extern "C" {
#endif

// How an adapter is read.
typedef struct TenonAdapterOptions {
  size_t struct_size;  // sizeof(TenonAdapterOptions)
  // Overrides lora_alpha of the settings. 0: that of the settings, or the rank without any.
  double alpha;
  // The file of settings; empty: adapter_config.json beside the adapter, if it is there.
  TenonString config;
  TenonLimits limits;  // of the files
} TenonAdapterOptions;

// The weights that an adapter has changed, as they were before. It does not keep the program alive.
typedef struct TenonAppliedAdapter TenonAppliedAdapter;

// Adds an adapter, as PEFT saves it, to the weights of a program: parameters that may be replaced
// (TenonLoadOptions). `*applied`, which the caller owns, takes it off again; `applied` may be NULL.
// `options` may be NULL. Sessions may run meanwhile; parameters must not be replaced.
//
// TENON_NOT_FOUND if the file or a weight is not there, TENON_INVALID_ARGUMENT if shapes or
// settings do not fit, TENON_UNIMPLEMENTED for adapters of other kinds. Nothing is changed then.
TENON_C_API TenonStatus* tenonProgramApplyAdapter(TenonProgram* program, TenonString path,
                                                  const TenonAdapterOptions* options,
                                                  TenonAppliedAdapter** applied);
// Gives the weights of `program` the bytes that they had before. Take off several adapters in
// reverse order.
TENON_C_API TenonStatus* tenonProgramRemoveAdapter(TenonProgram* program,
                                                   const TenonAppliedAdapter* applied);
// Destroys the bytes that were kept.
TENON_C_API void tenonAppliedAdapterDestroy(TenonAppliedAdapter* applied);

// Writes the values of all parameters (core.parameter) of a model as a file of safetensors, which
// TenonLoadOptions::parameter_files reads. The pass unfold-parameters makes parameters of large
// constants. TENON_FAILED_PRECONDITION for a model without parameters.
TENON_C_API TenonStatus* tenonModelSaveParameters(const TenonModel* model, TenonString path);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_FRONTENDS_C_ADAPTERS_H_
