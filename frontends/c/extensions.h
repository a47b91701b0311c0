// Extensions: operations, kernels, rules and passes of the host, for tenonModelLoad.
//
//   TenonExtension* extension = NULL;
//   tenonExtensionCreate(&extension);
//   tenonExtensionAddOp(extension, &op);          // op_definitions.h
//   tenonExtensionAddKernel(extension, &kernel);  // kernels.h
//   options.extension = extension;
//
// A model copies the extension when it is loaded, so that it may be changed or destroyed then. The
// state of each part lives as long as the extension, and all models and programs that use it. All
// callbacks may be called by several threads at once, unless a comment says otherwise.
#ifndef TENON_FRONTENDS_C_EXTENSIONS_H_
#define TENON_FRONTENDS_C_EXTENSIONS_H_

#include "frontends/c/models.h"

#ifdef __cplusplus
extern "C" {
#endif

// Makes an empty extension, which the caller owns.
TENON_C_API TenonStatus* tenonExtensionCreate(TenonExtension** extension);
// Destroys an extension. Models that were loaded with it go on.
TENON_C_API void tenonExtensionDestroy(TenonExtension* extension);

// Adds a file that declares operations: JSON, or rules in text. It is read when a model is loaded.
TENON_C_API TenonStatus* tenonExtensionAddOpFile(TenonExtension* extension, TenonString path);

// Reads rules from text (docs/guide/write-a-rule.md); the operations that they name must have been
// added before. The levels O2 and O3 apply them. `name` stands for the file in messages.
TENON_C_API TenonStatus* tenonExtensionAddRules(TenonExtension* extension, TenonString rules,
                                                TenonString name);

// Changes `op`, a function or a module, and nothing outside of it. Sets `*changed` to true if it
// has changed something; it is false before. Equal input must give equal output.
typedef TenonStatus* (*TenonPassFn)(TenonOperation op, bool* changed, void* state);

// A pass. It runs where a pipeline names it: "O2,acme-pass".
typedef struct TenonPass {
  size_t struct_size;            // sizeof(TenonPass)
  TenonString name;              // letters, digits, '-', '_' and '.'
  TenonString summary;           // one line
  bool on_modules;               // runs on modules; otherwise on functions
  bool thread_safe;              // several threads may run it on different functions
  TenonPassFn run;               // not NULL
  void* state;                   // passed to `run`
  void (*destroy)(void* state);  // destroys `state`; may be NULL
} TenonPass;

// Adds a pass. TENON_ALREADY_EXISTS for a name in use.
TENON_C_API TenonStatus* tenonExtensionAddPass(TenonExtension* extension, const TenonPass* pass);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_FRONTENDS_C_EXTENSIONS_H_
