// Models: modules with their context, read from files and texts or built by calls.
#ifndef TENON_FRONTENDS_C_MODELS_H_
#define TENON_FRONTENDS_C_MODELS_H_

#include "frontends/c/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

// A module and a share of its context. Any number of threads may read and compile one; one thread
// may change it, while nobody else uses it. Models that share a context may be used by other
// threads at the same time.
typedef struct TenonModel TenonModel;
// Operations, kernels, rules and passes of the host (extensions.h).
typedef struct TenonExtension TenonExtension;

// How serious a message is.
typedef int32_t TenonSeverity;
enum {
  TENON_ERROR = 0,    // the input cannot be used
  TENON_WARNING = 1,  // it is probably not as intended
  TENON_REMARK = 2    // information
};

// A message about the model. Valid during the call of the handler. Later versions may add members.
typedef struct TenonDiagnostic {
  TenonSeverity severity;  // how serious it is
  TenonString message;     // without its place
  TenonString location;    // a node, or "model.mlir:3:4"; empty if unknown
  TenonString text;        // all of it, with notes and the line of the text
} TenonDiagnostic;
// Receives messages. One thread calls it at a time, possibly not the one that made the call.
typedef void (*TenonDiagnosticFn)(const TenonDiagnostic* diagnostic, void* state);

// Limits of reading, compiling and running; 0 is the default. TENON_RESOURCE_EXHAUSTED beyond them.
typedef struct TenonLimits {
  int64_t stream_bytes;   // of an input that is no regular file; 4 GiB
  int64_t loop_trips;     // iterations of all loops in a run; no limit
  int64_t memory_bytes;   // that one program holds at a time; no limit
  int64_t nesting;        // levels of regions and of nested text, at most 256; 256
  int64_t message_bytes;  // of one line of a message; 4096
} TenonLimits;

// How models are read and made.
typedef struct TenonLoadOptions {
  size_t struct_size;  // sizeof(TenonLoadOptions)
  // A model whose context the new one shares, with its extension, handler and limits: operations
  // can move between the two, and the other members of this struct that are about the context must
  // be 0. NULL: a context of its own.
  const TenonModel* context_of;
  const TenonExtension* extension;  // copied; NULL for none
  // Receives errors, warnings and remarks of everything done with the context; may be NULL.
  TenonDiagnosticFn on_diagnostic;
  void* diagnostic_state;  // passed to `on_diagnostic`; kept as long as the context
  void (*destroy_diagnostic_state)(void* state);  // destroys `diagnostic_state`; may be NULL
  // Accepts operations of unknown dialects.
  bool allow_unregistered_dialects;
  // The folder of external data of an ONNX model; empty: that of the file.
  TenonString external_data_root;
  // Accepts links as external data.
  bool allow_external_data_links;
  // Files in the format safetensors with values of parameters and named constants.
  const TenonString* parameter_files;
  size_t num_parameter_files;  // length of `parameter_files`
  TenonLimits limits;          // of the context
  // Names of parameters and named constants, or patterns such as "*.weight", that
  // tenonProgramReplaceParameters may give other values.
  const TenonString* replaceable;
  size_t num_replaceable;  // length of `replaceable`
} TenonLoadOptions;

// Reads an ONNX model, IR text or a binary module; "-" is standard input. `options` may be NULL.
// The file must not be truncated while the model or a program uses it. The module is verified.
//
// TENON_NOT_FOUND if the file cannot be read, TENON_UNIMPLEMENTED if the model uses something that
// Tenon cannot represent, TENON_INVALID_ARGUMENT for a wrong file or extension.
TENON_C_API TenonStatus* tenonModelLoad(TenonString path, const TenonLoadOptions* options,
                                        TenonModel** model);
// The same for a model in memory, which is copied. Messages call it `name`.
TENON_C_API TenonStatus* tenonModelLoadBytes(const void* bytes, size_t size, TenonString name,
                                             const TenonLoadOptions* options, TenonModel** model);
// Makes a model with an empty module.
TENON_C_API TenonStatus* tenonModelCreate(const TenonLoadOptions* options, TenonModel** model);
// Makes a copy that shares the context.
TENON_C_API TenonStatus* tenonModelClone(const TenonModel* model, TenonModel** copy);
// Destroys the module, and the context with the last model or program that uses it.
TENON_C_API void tenonModelDestroy(TenonModel* model);

// The context of the model.
TENON_C_API TenonContext tenonModelContext(const TenonModel* model);
// The builtin.module, which belongs to the model: never destroy or insert it.
TENON_C_API TenonOperation tenonModelModule(const TenonModel* model);
// The function that Compile compiles: @main, or the only one with a body. Null if there is none.
TENON_C_API TenonOperation tenonModelMain(const TenonModel* model);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_FRONTENDS_C_MODELS_H_
