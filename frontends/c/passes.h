// Optimizing models: levels, pipelines of passes, and rules in text.
#ifndef TENON_FRONTENDS_C_PASSES_H_
#define TENON_FRONTENDS_C_PASSES_H_

#include "frontends/c/extensions.h"
#include "frontends/c/models.h"
#include "frontends/c/programs.h"

#ifdef __cplusplus
extern "C" {
#endif

// A level of optimization; docs/reference/passes.md says what each one does.
typedef int32_t TenonLevel;
enum {
  TENON_LEVEL_DEFAULT = 0,  // O2
  TENON_O0 = 1,
  TENON_O1 = 2,
  TENON_O2 = 3,
  TENON_O3 = 4
};

// How the weights of linear layers are stored and multiplied.
typedef int32_t TenonPrecision;
enum {
  TENON_PRECISION_FP32 = 0,  // as in the model
  TENON_PRECISION_BF16 = 1,  // rounded to bf16, if the CPU multiplies bf16
  TENON_PRECISION_INT8 = 2   // 8-bit weights with a factor for each 32 of a column
};

// In place of a number of threads: one for each core.
#define TENON_ALL_CORES (-1)

// Receives a rule that fired, and how often. Called in the order of the names.
typedef void (*TenonRuleFn)(TenonString rule, int64_t hits, void* state);
// Receives the entry of a pipeline that begins, such as "fuse{before=packing}", for each function
// or module on which it runs.
typedef void (*TenonProgressFn)(TenonString pass, void* state);

// How a model is optimized. `state` is passed to the callbacks, during the call only.
typedef struct TenonOptimizeOptions {
  size_t struct_size;  // sizeof(TenonOptimizeOptions)
  TenonLevel level;    // unless `pipeline` is given
  // Pipeline text in place of a level, such as "canonicalize,cse" or "O2,acme-pass".
  TenonString pipeline;
  TenonPrecision precision;       // of the weights of linear layers
  const TenonString* rule_files;  // rules in text (docs/guide/write-a-rule.md)
  size_t num_rule_files;          // length of `rule_files`
  // Names of rules, families or patterns such as "pack-*" that are not applied.
  const TenonString* disabled_rules;
  size_t num_disabled_rules;  // length of `disabled_rules`
  bool fast_math;             // also rules that may overflow or change infinities without a proof
  bool verify_each;           // verifies the IR after each pass
  int threads;  // 0: one; TENON_ALL_CORES. With on_pass or cancel one thread does all.
  // Makes no further changes once it is cancelled; the call returns TENON_CANCELLED then. The model
  // is valid, and optimized in part. May be NULL.
  const TenonCancelToken* cancel;
  void* state;              // passed to the callbacks
  TenonRuleFn on_rule;      // called at the end of a call that succeeds; may be NULL
  TenonProgressFn on_pass;  // called while passes run; may be NULL
} TenonOptimizeOptions;

// Verifies the model and optimizes it in place. `options` may be NULL. After TENON_INVALID_ARGUMENT
// for options or rule files the model is unchanged; after other errors it may be partly changed.
TENON_C_API TenonStatus* tenonModelOptimize(TenonModel* model, const TenonOptimizeOptions* options);

// Reads rules from text and applies them everywhere in the model until none fires. `name` stands
// for the file in messages: an error is located at "name:line:column". `on_rule` receives what
// fired; it may be NULL.
TENON_C_API TenonStatus* tenonModelApplyRules(TenonModel* model, TenonString rules,
                                              TenonString name, TenonRuleFn on_rule, void* state);

// A pass, or a pipeline with a name. Valid during the call.
typedef struct TenonPassInfo {
  TenonString name;                // of the pass or pipeline
  TenonString summary;             // what it does
  TenonString anchor;              // "func.func" or "builtin.module"; empty for a pipeline
  TenonString pipeline;            // the text that a pipeline stands for; empty for a pass
  const TenonPassOption* options;  // of a pass
  size_t num_options;              // length of `options`
} TenonPassInfo;
// Receives a pass or pipeline.
typedef void (*TenonPassInfoFn)(const TenonPassInfo* pass, void* state);

// Calls `visit` for each pass and then for each pipeline, in the order of their names. With those
// of `extension`, which may be NULL.
TENON_C_API TenonStatus* tenonListPasses(const TenonExtension* extension, TenonPassInfoFn visit,
                                         void* state);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_FRONTENDS_C_PASSES_H_
