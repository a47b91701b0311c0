// Programs as files, which start without ONNX, passes and packing (docs/guide/save-a-program.md).
#ifndef TENON_FRONTENDS_C_SAVED_PROGRAMS_H_
#define TENON_FRONTENDS_C_SAVED_PROGRAMS_H_

#include "frontends/c/programs.h"
#include "frontends/c/runs.h"

#ifdef __cplusplus
extern "C" {
#endif

// How a program is saved.
typedef struct TenonSaveProgramOptions {
  size_t struct_size;  // sizeof(TenonSaveProgramOptions)
  // Inputs of runs that are made while the program is saved: the file holds the weights that they
  // pack. `num_runs` times `num_inputs` tensors, one run behind the other. Without runs, a loaded
  // program packs in its first run.
  const TenonTensorView* inputs;
  size_t num_inputs;   // of one run
  size_t num_runs;     // 0: no runs
  int threads;         // of these runs, with the caller's own; 0: one for each core
  TenonLimits limits;  // of these runs
  // TENON_DEVICE_CUDA lowers for a GPU, and makes the runs on it. TENON_UNAVAILABLE if there is
  // none. The file has no copy of what lies in its memory.
  TenonDevice device;
  int device_number;  // of several GPUs
} TenonSaveProgramOptions;

// Lowers a copy of an optimized model, makes the runs and writes one file. The file
// replaces `path` once it is whole. Values of tenonProgramReplaceParameters are not in it.
// `options` may be NULL. Errors are those of tenonModelCompile and tenonProgramRun, and
// TENON_INVALID_ARGUMENT if the file cannot be written.
TENON_C_API TenonStatus* tenonModelSaveProgram(const TenonModel* model, TenonString path,
                                               const TenonSaveProgramOptions* options);

// How a saved program is loaded.
typedef struct TenonLoadProgramOptions {
  size_t struct_size;   // sizeof(TenonLoadProgramOptions)
  int threads;          // for each session, with the caller's own; 0: one for each core
  bool verify_weights;  // compares all weights of the file with their checksums
  TenonLimits limits;   // of the file and of each run
  // The extension with which the model was loaded, which is copied; NULL for none.
  const TenonExtension* extension;
  // Receives errors, warnings and remarks of everything done with the program; may be NULL. A
  // warning says why a program is lowered again.
  TenonDiagnosticFn on_diagnostic;
  void* diagnostic_state;  // passed to `on_diagnostic`; kept as long as the program
  void (*destroy_diagnostic_state)(void* state);  // destroys `diagnostic_state`; may be NULL
  // As in TenonCompileOptions.
  TenonLineFn on_fallback;
  void* fallback_state;  // passed to `on_fallback`
  // Receives true if the program was lowered again, because it was saved for another instruction
  // set, by another build or with other kernels. May be NULL.
  bool* lowered_again;
  // Where the program runs. One that was saved for another device is lowered again.
  TenonDevice device;
  int device_number;  // of several GPUs
} TenonLoadProgramOptions;

// Loads the program of a file, which is mapped: do not truncate it while the program is used.
// `options` may be NULL. TENON_INVALID_ARGUMENT for a file that is damaged or holds no program,
// TENON_NOT_FOUND if it cannot be read.
TENON_C_API TenonStatus* tenonProgramLoad(TenonString path, const TenonLoadProgramOptions* options,
                                          TenonProgram** program);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_FRONTENDS_C_SAVED_PROGRAMS_H_
