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

// The type of an option of a pass.
typedef int32_t TenonPassOptionType;
enum {
  TENON_OPTION_BOOL = 0,   // true or false
  TENON_OPTION_INT = 1,    // an integer
  TENON_OPTION_COUNT = 2,  // an integer that is not negative
  TENON_OPTION_TEXT = 3,   // a text
  TENON_OPTION_TEXTS = 4   // any number of texts
};

// An option of a pass, which pipeline text gives as "acme-pass{limit=3}".
typedef struct TenonPassOption {
  TenonString name;            // such as "limit"
  TenonPassOptionType type;    // the type of its value
  TenonString default_text;    // the default, as pipeline text has it
  TenonString summary;         // one line
  const TenonString* choices;  // allowed texts; NULL: any
  size_t num_choices;          // length of `choices`
  bool required;               // the option must be given
} TenonPassOption;

// One run of a pass on one operation. Valid during the call.
typedef struct TenonPassCall TenonPassCall;
// The operation on which the pass runs.
TENON_C_API TenonOperation tenonPassCallOperation(const TenonPassCall* call);
// The number of texts of an option: 1, or any number for TENON_OPTION_TEXTS. 0 without such an
// option.
TENON_C_API size_t tenonPassCallNumTexts(const TenonPassCall* call, TenonString option);
// A text of an option, also of one of another type. Empty for an index that is out of range.
TENON_C_API TenonString tenonPassCallText(const TenonPassCall* call, TenonString option,
                                          size_t index);
// The value of an option of type TENON_OPTION_BOOL; false if there is none.
TENON_C_API bool tenonPassCallBool(const TenonPassCall* call, TenonString option);
// The value of an option of type TENON_OPTION_INT or TENON_OPTION_COUNT; 0 if there is none.
TENON_C_API int64_t tenonPassCallInt64(const TenonPassCall* call, TenonString option);
// Adds `n` to a counter of the pass, which --pass-statistics shows.
TENON_C_API TenonStatus* tenonPassCallCount(TenonPassCall* call, TenonString counter, int64_t n);
// As TenonPassFn, for a pass with options or counters.
typedef TenonStatus* (*TenonPassCallFn)(TenonPassCall* call, bool* changed, void* state);

// A pass. It runs where a pipeline names it: "O2,acme-pass".
typedef struct TenonPass {
  size_t struct_size;              // sizeof(TenonPass)
  TenonString name;                // letters, digits, '-', '_' and '.'
  TenonString summary;             // one line
  bool on_modules;                 // runs on modules; otherwise on functions
  bool thread_safe;                // several threads may run it on different functions
  TenonPassFn run;                 // NULL if `call` is given
  void* state;                     // passed to `run` or `call`
  void (*destroy)(void* state);    // destroys `state`; may be NULL
  TenonPassCallFn call;            // in place of `run`; NULL if `run` is given
  const TenonPassOption* options;  // copied
  size_t num_options;              // length of `options`
} TenonPass;

// Adds a pass. TENON_ALREADY_EXISTS for a name in use.
TENON_C_API TenonStatus* tenonExtensionAddPass(TenonExtension* extension, const TenonPass* pass);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_FRONTENDS_C_EXTENSIONS_H_
