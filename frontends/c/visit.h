// Walking, printing and verifying IR.
#ifndef TENON_FRONTENDS_C_VISIT_H_
#define TENON_FRONTENDS_C_VISIT_H_

#include "frontends/c/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

// How a walk goes on.
typedef int32_t TenonWalk;
enum {
  TENON_WALK_ON = 0,    // with what lies inside, then with the next operation
  TENON_WALK_SKIP = 1,  // without what lies inside; the same as ON when walking inside first
  TENON_WALK_STOP = 2   // ends the walk
};
// Receives an operation of a walk, and says how it goes on.
typedef TenonWalk (*TenonWalkFn)(TenonOperation op, void* state);

// Calls `visit` for `op` and all in it, each before what lies inside of it. `visit` must not erase
// the operation that it gets, nor the next one. A walk that is stopped is a success.
TENON_C_API TenonStatus* tenonOperationWalk(TenonOperation op, TenonWalkFn visit, void* state);
// The same with what lies inside first. `visit` may erase or move the operation that it gets, and
// insert others before it.
TENON_C_API TenonStatus* tenonOperationWalkInsideFirst(TenonOperation op, TenonWalkFn visit,
                                                       void* state);

// How operations are printed.
typedef struct TenonPrintOptions {
  size_t struct_size;    // sizeof(TenonPrintOptions)
  bool generic;          // the text of mlir-opt, with names in quotes
  bool locations;        // with loc(...)
  bool elide_resources;  // without the bytes of large constants; nothing can read this back
} TenonPrintOptions;

// Passes the text of `op` and all in it to `sink`, in pieces. `options` may be NULL. Several
// threads may print IR that nobody changes.
TENON_C_API TenonStatus* tenonOperationPrint(TenonOperation op, const TenonPrintOptions* options,
                                             TenonTextFn sink, void* state);
// Passes the module `op` as a binary file to `sink`, in pieces (docs/guide/binary-module.md).
TENON_C_API TenonStatus* tenonOperationWriteBinary(TenonOperation op, TenonTextFn sink,
                                                   void* state);
// Checks `op` and everything in it. The error is the first defect. Diagnostics have all, at most
// 20. Nobody else may read or change `op` meanwhile.
TENON_C_API TenonStatus* tenonOperationVerify(TenonOperation op);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_FRONTENDS_C_VISIT_H_
