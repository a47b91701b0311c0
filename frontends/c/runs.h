// Running programs: tensors, sessions, and bindings that stay from run to run.
#ifndef TENON_FRONTENDS_C_RUNS_H_
#define TENON_FRONTENDS_C_RUNS_H_

#include "frontends/c/programs.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- tensors
// A dense row-major tensor in memory of the caller. `data` is aligned to the element type, and may
// be NULL without elements; `shape` may be NULL for rank 0. Calls copy the shape and no element.
typedef struct TenonTensorView {
  void* data;            // row-major elements; not owned
  TenonDType dtype;      // the element type
  const int64_t* shape;  // `rank` extents
  size_t rank;           // the number of dimensions
} TenonTensorView;

// A tensor that a run has made. Several threads may read it.
typedef struct TenonTensor TenonTensor;
// Its bytes and shape, which are valid until it is destroyed; all 0 for NULL.
TENON_C_API TenonTensorView tenonTensorView(const TenonTensor* tensor);
// The number of elements; 0 for NULL.
TENON_C_API int64_t tenonTensorNumElements(const TenonTensor* tensor);
// The number of bytes of all elements; 0 for NULL.
TENON_C_API size_t tenonTensorNumBytes(const TenonTensor* tensor);
// Destroys a tensor.
TENON_C_API void tenonTensorDestroy(TenonTensor* tensor);

// ---- runs
// How a program runs.
typedef struct TenonRunOptions {
  size_t struct_size;  // sizeof(TenonRunOptions)
  // Once it is cancelled, the run ends soon with TENON_CANCELLED. May be NULL.
  const TenonCancelToken* cancel;
  uint64_t seed;  // of the random numbers
} TenonRunOptions;

// Runs the program. `inputs` are in the order of tenonProgramInput. `outputs` is an array of
// `num_outputs` pointers, one for each output of the program, which receive tensors that the caller
// destroys. Any number of threads may call it. `options` may be NULL.
//
// TENON_INVALID_ARGUMENT for inputs that do not fit: their number, an element type, a shape, no
// data, or data that is not aligned. tenonStatusLocation is the node whose kernel failed.
TENON_C_API TenonStatus* tenonProgramRun(const TenonProgram* program, const TenonTensorView* inputs,
                                         size_t num_inputs, const TenonRunOptions* options,
                                         TenonTensor** outputs, size_t num_outputs);

// A session of one thread. It stays prepared for the shapes that it has seen, and keeps the program
// alive. TENON_FAILED_PRECONDITION for a call during another call of the session.
typedef struct TenonSession TenonSession;

// Makes a session, which the caller owns.
TENON_C_API TenonStatus* tenonSessionCreate(const TenonProgram* program, TenonSession** session);
// Destroys a session.
TENON_C_API void tenonSessionDestroy(TenonSession* session);
// As tenonProgramRun.
TENON_C_API TenonStatus* tenonSessionRun(TenonSession* session, const TenonTensorView* inputs,
                                         size_t num_inputs, const TenonRunOptions* options,
                                         TenonTensor** outputs, size_t num_outputs);
// The same with results in memory of the caller, of the shapes of tenonSessionOutputShapes. They
// must not overlap the inputs or each other.
TENON_C_API TenonStatus* tenonSessionRunInto(TenonSession* session, const TenonTensorView* inputs,
                                             size_t num_inputs, const TenonRunOptions* options,
                                             const TenonTensorView* outputs, size_t num_outputs);
// Receives the type of an output, without data; valid during the call.
typedef void (*TenonShapeFn)(size_t output, const TenonTensorView* type, void* state);
// Calls `visit` with the type of each output for these inputs. The data of inputs may be NULL
// where shapes do not depend on it; otherwise the program runs.
TENON_C_API TenonStatus* tenonSessionOutputShapes(TenonSession* session,
                                                  const TenonTensorView* inputs, size_t num_inputs,
                                                  TenonShapeFn visit, void* state);

// ---- parameters
// The number of parameters that may be replaced.
TENON_C_API size_t tenonProgramNumParameters(const TenonProgram* program);
// A parameter that may be replaced (TenonLoadOptions); NULL for an index that is out of range.
TENON_C_API const TenonPort* tenonProgramParameter(const TenonProgram* program, size_t index);
// Gives parameters new values, which are copied, also while sessions run: a run that begins later
// has all of them. TENON_NOT_FOUND for another name, TENON_INVALID_ARGUMENT for another type, and
// TENON_UNIMPLEMENTED on a GPU. Nothing is replaced then.
TENON_C_API TenonStatus* tenonProgramReplaceParameters(TenonProgram* program,
                                                       const TenonString* names,
                                                       const TenonTensorView* values, size_t count);

// ---- bindings
// Inputs and outputs that stay bound from run to run, for one thread at a time. Outputs are in
// memory of the binding until they are bound. It keeps the program alive.
typedef struct TenonBinding TenonBinding;

// Makes a binding without inputs, which the caller owns.
TENON_C_API TenonStatus* tenonBindingCreate(const TenonProgram* program, TenonBinding** binding);
// Destroys a binding.
TENON_C_API void tenonBindingDestroy(TenonBinding* binding);
// Every run reads this memory, whose contents may change between runs. It must outlive the binding,
// or be replaced first. TENON_NOT_FOUND for another name, and TENON_INVALID_ARGUMENT for another
// element type; the run checks shapes.
TENON_C_API TenonStatus* tenonBindingSetInput(TenonBinding* binding, TenonString name,
                                              const TenonTensorView* tensor);
// Every run writes to this memory, which must have the shape of the result and overlap nothing
// else. NULL: to memory of the binding.
TENON_C_API TenonStatus* tenonBindingSetOutput(TenonBinding* binding, TenonString name,
                                               const TenonTensorView* tensor);
// After each run the output becomes the input of the next one, as for a KV cache.
TENON_C_API TenonStatus* tenonBindingCarry(TenonBinding* binding, TenonString output,
                                           TenonString input);
// Runs the program with what is bound. `options` may be NULL.
TENON_C_API TenonStatus* tenonSessionRunBinding(TenonSession* session, TenonBinding* binding,
                                                const TenonRunOptions* options);
// Gives the output of the last run, which the next run overwrites. TENON_FAILED_PRECONDITION before
// the first run.
TENON_C_API TenonStatus* tenonBindingOutput(const TenonBinding* binding, TenonString name,
                                            TenonTensor** tensor);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_FRONTENDS_C_RUNS_H_
