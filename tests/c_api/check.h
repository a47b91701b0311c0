// What the tests of the C API check with. They are C11.
#ifndef TENON_TESTS_C_API_CHECK_H_
#define TENON_TESTS_C_API_CHECK_H_

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tenon/frontends/c/tenon_c.h"

// A line of text that grows no further than its room.
typedef struct Text {
  char data[1 << 14];
  size_t size;
} Text;

void NoteFailure(const char* file, int line, const char* what, TenonString detail);
int NumFailures(void);
// Takes `status`, which must be an error of this code with this part in its message.
bool IsError(TenonStatus* status, TenonStatusCode code, const char* part, Text* location);
// Appends a piece to the Text `state`.
bool Append(TenonString piece, void* state);
// True if `text` is `expected`.
bool Is(TenonString text, const char* expected);
// Reads a model from text.
TenonModel* ModelOf(const char* text, const TenonLoadOptions* options);
// The text of an operation.
void PrintTo(TenonOperation op, Text* text);

#define CHECK(condition)                                                              \
  do {                                                                                \
    if (!(condition)) NoteFailure(__FILE__, __LINE__, #condition, tenonString(NULL)); \
  } while (0)

// The call succeeds.
#define OK(call)                                                                                  \
  do {                                                                                            \
    TenonStatus* const ok_status = (call);                                                        \
    if (ok_status != NULL) NoteFailure(__FILE__, __LINE__, #call, tenonStatusMessage(ok_status)); \
    tenonStatusDestroy(ok_status);                                                                \
  } while (0)

// The call is an error of this code, whose message has this part.
#define FAILS(call, code, part) CHECK(IsError((call), (code), (part), NULL))

// The parts of the test.
void TestStatus(void);
void TestIr(void);
void TestBuild(void);
void TestPasses(void);
void TestRuns(void);
void TestParameters(void);
void TestThreads(void);
void TestExtension(void);
void TestKernels(void);
void TestSaved(void);
void TestRandomChanges(void);

#endif  // TENON_TESTS_C_API_CHECK_H_
