// The C API of Tenon: versions, texts, errors. tenon_c.h includes all of it.
//
// Rules for all headers of frontends/c:
//
// - A call that can fail returns a TenonStatus*. NULL means success. Otherwise the caller destroys
//   it, and outputs have not been set. Null pointers and null handles, wrong indexes and wrong
//   sizes are errors of code TENON_INVALID_ARGUMENT, unless a comment allows them.
// - A question returns its answer. It answers 0, false, a null handle or an empty text for a null
//   handle and for an index that is out of range.
// - A type ending in * that a call creates belongs to the caller, who destroys it once with the
//   destroy function of its type; all of these accept NULL. Handles passed by value, such as
//   TenonOperation, own nothing. Using any of them after their owner is gone is undefined, and so
//   is destroying twice.
// - A callback must not throw or jump out of the call. With its `state` comes a `destroy` function,
//   which may be NULL; it is called once, when nothing can use the state any more. It is also
//   called if the call that received it fails.
// - Structs with options begin with their size: TenonLoadOptions options = {sizeof options}, or
//   {.struct_size = sizeof options}. Everything that is 0 has its default.
// - Enumerations are numbers of 32 bits, so that each may hold a number that it does not name. Such
//   an argument is an error.
// - Without another word about threads, a call may run beside calls with other objects, and one
//   thread at a time uses one object.
#ifndef TENON_FRONTENDS_C_STATUS_H_
#define TENON_FRONTENDS_C_STATUS_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Before each function of the C API.
#define TENON_C_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

// ---- versions
// Changes with every release that takes something away or changes it (docs/compatibility.md).
#define TENON_C_API_MAJOR 1
// Changes with every release that adds something.
#define TENON_C_API_MINOR 1

// The major version of the C API in the library that runs, which may be newer than the headers. A
// major version keeps all functions that it ever had, and is not that of Tenon.
TENON_C_API int tenonCApiMajor(void);
// The minor version of the C API in the library that runs.
TENON_C_API int tenonCApiMinor(void);
// The version of Tenon, such as "0.2.0". Lives as long as the process.
TENON_C_API const char* tenonVersion(void);

// ---- texts
// A text of `size` bytes, which need not end with a null byte. An empty one may have null data.
typedef struct TenonString {
  const char* data;  // not owned
  size_t size;       // bytes
} TenonString;

// The text of a C string; NULL is an empty text.
static inline TenonString tenonString(const char* text) {
  TenonString string;
  string.data = text;
  string.size = text == NULL ? 0 : strlen(text);
  return string;
}

// Receives the next piece of a text, which is valid during the call. False ends the writing with
// TENON_ABORTED.
typedef bool (*TenonTextFn)(TenonString piece, void* state);

// ---- errors
// The kind of an error.
typedef int32_t TenonStatusCode;
enum {
  TENON_OK = 0,
  TENON_CANCELLED = 1,            // a token was cancelled
  TENON_UNKNOWN = 2,              // an error of a callback that says no more
  TENON_INVALID_ARGUMENT = 3,     // a wrong argument, model, tensor or option
  TENON_NOT_FOUND = 5,            // a file that cannot be read, or a name that is not there
  TENON_ALREADY_EXISTS = 6,       // a name in use
  TENON_RESOURCE_EXHAUSTED = 8,   // memory or a limit
  TENON_FAILED_PRECONDITION = 9,  // not in this state of an object
  TENON_ABORTED = 10,             // a callback ended the call
  TENON_UNIMPLEMENTED = 12,       // a model uses something that Tenon does not have
  TENON_INTERNAL = 13,            // a failure of Tenon or of a device
  TENON_UNAVAILABLE = 14          // no device, or no plugin
};

// An error; immutable, so that any number of threads may read it.
typedef struct TenonStatus TenonStatus;

// The code; TENON_OK for NULL.
TENON_C_API TenonStatusCode tenonStatusCode(const TenonStatus* status);
// What is wrong, and what was expected. Begins with the place. Valid as long as the status.
TENON_C_API TenonString tenonStatusMessage(const TenonStatus* status);
// The place alone: a node of the model such as "/encoder/Add", or "model.mlir:3:4". Empty if the
// error has none. Valid as long as the status.
TENON_C_API TenonString tenonStatusLocation(const TenonStatus* status);
// Makes an error for a callback to return; the library destroys it. TENON_OK counts as
// TENON_UNKNOWN. Never returns NULL: without memory it is an error that says so.
TENON_C_API TenonStatus* tenonStatusCreate(TenonStatusCode code, TenonString message);
// Destroys an error.
TENON_C_API void tenonStatusDestroy(TenonStatus* status);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_FRONTENDS_C_STATUS_H_
