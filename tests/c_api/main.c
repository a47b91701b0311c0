// The C API, called from C11.
#include "check.h"

static int failures = 0;

void NoteFailure(const char* file, int line, const char* what, TenonString detail) {
  ++failures;
  fprintf(stderr, "%s:%d: %s: %.*s\n", file, line, what, (int)detail.size,
          detail.size == 0 ? "" : detail.data);
}

int NumFailures(void) { return failures; }

bool Append(TenonString piece, void* state) {
  Text* const text = state;
  const size_t room = sizeof text->data - text->size - 1;
  const size_t size = piece.size < room ? piece.size : room;
  if (size > 0) memcpy(text->data + text->size, piece.data, size);
  text->size += size;
  text->data[text->size] = '\0';
  return true;
}

bool Is(TenonString text, const char* expected) {
  return text.size == strlen(expected) &&
         (text.size == 0 || memcmp(text.data, expected, text.size) == 0);
}

bool IsError(TenonStatus* status, TenonStatusCode code, const char* part, Text* location) {
  Text message = {.size = 0};
  Append(tenonStatusMessage(status), &message);
  if (location != NULL) Append(tenonStatusLocation(status), location);
  const bool is = tenonStatusCode(status) == code && strstr(message.data, part) != NULL;
  if (!is) fprintf(stderr, "status %d: %s\n", (int)tenonStatusCode(status), message.data);
  tenonStatusDestroy(status);
  return is;
}

TenonModel* ModelOf(const char* text, const TenonLoadOptions* options) {
  TenonModel* model = NULL;
  OK(tenonModelLoadBytes(text, strlen(text), tenonString("m.mlir"), options, &model));
  return model;
}

void PrintTo(TenonOperation op, Text* text) {
  text->size = 0;
  OK(tenonOperationPrint(op, NULL, Append, text));
}

int main(void) {
  TestStatus();
  TestIr();
  TestBuild();
  TestPasses();
  TestRuns();
  TestParameters();
  TestThreads();
  TestExtension();
  TestKernels();
  TestSaved();
  TestRandomChanges();
  if (NumFailures() == 0) printf("all parts of the C API\n");
  return NumFailures() == 0 ? 0 : 1;
}
