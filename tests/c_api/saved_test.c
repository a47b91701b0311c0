// Saved programs, adapters, parameters as files, and devices that are not there.
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

// x * w of x: N x 128 with weights that a kernel packs.
static const char kModel[] =
    "core.parameter() <{sym_name = \"w\", type = f32, value = dense<0.5> : tensor<128x160xf32>}> : "
    "() -> ()\n"
    "func.func() <{function_type = (tensor<?x128xf32, [\"N\", \"\"]>) -> tensor<?x160xf32, "
    "[\"N\", \"\"]>, sym_name = \"main\"}> ({\n"
    "^bb0(%x: tensor<?x128xf32, [\"N\", \"\"]>):\n"
    "  %w = core.get_parameter() <{name = @w}> : () -> tensor<128x160xf32>\n"
    "  %0 = ten.matmul(%x, %w) : (tensor<?x128xf32, [\"N\", \"\"]>, tensor<128x160xf32>) -> "
    "tensor<?x160xf32, [\"N\", \"\"]>\n"
    "  func.return(%0) : (tensor<?x160xf32, [\"N\", \"\"]>) -> ()\n"
    "}) : () -> ()\n";

enum { kRows = 4, kInputs = 128, kOutputs = 160 };
static char folder[64];

static TenonString PathOf(const char* name) {
  static char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return tenonString(path);
}

static void WriteFile(const char* name, const void* bytes, size_t size) {
  FILE* const file = fopen(PathOf(name).data, "wb");
  CHECK(file != NULL);
  if (file == NULL) return;
  CHECK(fwrite(bytes, 1, size, file) == size);
  fclose(file);
}

static TenonTensorView Ramp(void) {
  static float x[kRows * kInputs];
  static const int64_t shape[] = {kRows, kInputs};
  for (int i = 0; i < kRows * kInputs; ++i) x[i] = (float)(i % 7 - 3);
  const TenonTensorView view = {x, TENON_F32, shape, 2};
  return view;
}

// The sum of all results of a run.
static double SumOf(const TenonProgram* program) {
  const TenonTensorView x = Ramp();
  TenonTensor* y = NULL;
  OK(tenonProgramRun(program, &x, 1, NULL, &y, 1));
  const float* const values = tenonTensorView(y).data;
  double sum = 0;
  for (int64_t i = 0; i < tenonTensorNumElements(y); ++i) sum += values[i] * (double)(i % 5 + 1);
  tenonTensorDestroy(y);
  return sum;
}

static void Count(void* state) { ++*(int*)state; }

static void NoteDiagnostic(const TenonDiagnostic* diagnostic, void* state) {
  (void)diagnostic, (void)state;
}

static TenonModel* Replaceable(void) {
  static const TenonString w = {"w", 1};
  const TenonLoadOptions load = {
      .struct_size = sizeof load, .replaceable = &w, .num_replaceable = 1};
  return ModelOf(kModel, &load);
}

static void TestSaveAndLoad(void) {
  TenonModel* const model = Replaceable();
  OK(tenonModelOptimize(model, NULL));
  TenonProgram* compiled = NULL;
  OK(tenonModelCompile(model, NULL, &compiled));
  const double expected = SumOf(compiled);
  const TenonTensorView x = Ramp();
  const TenonSaveProgramOptions save = {
      .struct_size = sizeof save, .inputs = &x, .num_inputs = 1, .num_runs = 1, .threads = 1};
  OK(tenonModelSaveProgram(model, PathOf("a.tnp"), &save));
  OK(tenonModelSaveProgram(model, PathOf("plain.tnp"), NULL));
  int destroyed = 0;
  bool lowered_again = true;
  TenonProgram* loaded = NULL;
  const TenonLoadProgramOptions load = {.struct_size = sizeof load,
                                        .threads = 1,
                                        .verify_weights = true,
                                        .on_diagnostic = NoteDiagnostic,
                                        .diagnostic_state = &destroyed,
                                        .destroy_diagnostic_state = Count,
                                        .lowered_again = &lowered_again};
  OK(tenonProgramLoad(PathOf("a.tnp"), &load, &loaded));
  CHECK(!lowered_again && SumOf(loaded) == expected);
  CHECK(tenonProgramNumParameters(loaded) == 1 && tenonProgramInput(loaded, 0)->rank == 2);
  CHECK(destroyed == 0);
  tenonProgramDestroy(loaded);
  CHECK(destroyed == 1);
  OK(tenonProgramLoad(PathOf("plain.tnp"), NULL, &loaded));
  CHECK(SumOf(loaded) == expected);
  tenonProgramDestroy(loaded);
  tenonProgramDestroy(compiled);

  // Hostile calls.
  FAILS(tenonModelSaveProgram(NULL, PathOf("b.tnp"), NULL), TENON_INVALID_ARGUMENT, "null");
  FAILS(tenonModelSaveProgram(model, PathOf("no/folder"), NULL), TENON_INVALID_ARGUMENT, "folder");
  const TenonString zero = {"a\0b", 3};
  FAILS(tenonModelSaveProgram(model, zero, NULL), TENON_INVALID_ARGUMENT, "null byte");
  TenonSaveProgramOptions wrong = save;
  wrong.inputs = NULL;
  FAILS(tenonModelSaveProgram(model, PathOf("b.tnp"), &wrong), TENON_INVALID_ARGUMENT, "null");
  wrong.num_inputs = SIZE_MAX;
  wrong.num_runs = SIZE_MAX;
  FAILS(tenonModelSaveProgram(model, PathOf("b.tnp"), &wrong), TENON_INVALID_ARGUMENT, "runs");
  wrong = save;
  wrong.num_inputs = 0;
  FAILS(tenonModelSaveProgram(model, PathOf("b.tnp"), &wrong), TENON_INVALID_ARGUMENT, "input");
  FAILS(tenonProgramLoad(PathOf("b.tnp"), &load, &loaded), TENON_NOT_FOUND, "b.tnp");
  CHECK(destroyed == 2);  // the state, also if the call fails
  FAILS(tenonProgramLoad(PathOf("a.tnp"), &load, NULL), TENON_INVALID_ARGUMENT, "program");
  CHECK(destroyed == 3);
  WriteFile("text.tnp", kModel, sizeof kModel - 1);
  FAILS(tenonProgramLoad(PathOf("text.tnp"), NULL, &loaded), TENON_INVALID_ARGUMENT,
        "holds no program");
  tenonModelDestroy(model);
}

// A file of safetensors: an adapter of rank 1 that adds 2 * b a to w.
static void WriteAdapter(void) {
  static const char header[] =
      "{\"w.lora_A.weight\":{\"dtype\":\"F32\",\"shape\":[1,128],\"data_offsets\":[0,512]},"
      "\"w.lora_B.weight\":{\"dtype\":\"F32\",\"shape\":[160,1],\"data_offsets\":[512,1152]}}";
  static char bytes[8 + sizeof header - 1 + 1152];
  const uint64_t size = sizeof header - 1;
  memcpy(bytes, &size, 8);
  memcpy(bytes + 8, header, size);
  float values[288];
  for (int i = 0; i < 288; ++i) values[i] = 1;
  memcpy(bytes + 8 + size, values, sizeof values);
  WriteFile("adapter.safetensors", bytes, sizeof bytes);
}

static void TestAdapters(void) {
  TenonModel* const model = Replaceable();
  TenonProgram* program = NULL;
  OK(tenonModelCompile(model, NULL, &program));
  const double before = SumOf(program);
  WriteAdapter();
  const TenonAdapterOptions options = {.struct_size = sizeof options, .alpha = 2};
  TenonAppliedAdapter* applied = NULL;
  TenonStatus* const status =
      tenonProgramApplyAdapter(program, PathOf("adapter.safetensors"), &options, &applied);
  // The module of the adapter is "w", and the weight "w.weight" or a name that ends so.
  FAILS(status, TENON_NOT_FOUND, "w");
  CHECK(applied == NULL && SumOf(program) == before);
  FAILS(tenonProgramApplyAdapter(NULL, PathOf("adapter.safetensors"), NULL, NULL),
        TENON_INVALID_ARGUMENT, "null");
  FAILS(tenonProgramApplyAdapter(program, PathOf("none"), NULL, NULL), TENON_NOT_FOUND, "none");
  FAILS(tenonProgramRemoveAdapter(program, NULL), TENON_INVALID_ARGUMENT, "null");
  tenonAppliedAdapterDestroy(NULL);
  tenonProgramDestroy(program);
  tenonModelDestroy(model);

  // The same parameter by the name of a module.
  char named[sizeof kModel + 32];
  const char* const name = strstr(kModel, "\"w\"");
  const char* const use = strstr(kModel, "@w}");
  snprintf(named, sizeof named, "%.*s\"w.weight\"%.*s@\"w.weight\"}%s", (int)(name - kModel),
           kModel, (int)(use - name - 3), name + 3, use + 3);
  const TenonString all = tenonString("*");
  const TenonLoadOptions load = {
      .struct_size = sizeof load, .replaceable = &all, .num_replaceable = 1};
  TenonModel* const with_name = ModelOf(named, &load);
  OK(tenonModelCompile(with_name, NULL, &program));
  CHECK(SumOf(program) == before);
  OK(tenonProgramApplyAdapter(program, PathOf("adapter.safetensors"), &options, &applied));
  CHECK(SumOf(program) == 5 * before);  // every weight is 0.5 + 2
  OK(tenonProgramRemoveAdapter(program, applied));
  CHECK(SumOf(program) == before);
  tenonAppliedAdapterDestroy(applied);
  tenonProgramDestroy(program);

  // The values as a file, and back.
  OK(tenonModelSaveParameters(with_name, PathOf("w.safetensors")));
  const TenonString file = PathOf("w.safetensors");
  const TenonLoadOptions again = {
      .struct_size = sizeof again, .parameter_files = &file, .num_parameter_files = 1};
  TenonModel* const read = ModelOf(named, &again);
  OK(tenonModelCompile(read, NULL, &program));
  CHECK(SumOf(program) == before);
  tenonProgramDestroy(program);
  tenonModelDestroy(read);
  tenonModelDestroy(with_name);
  TenonModel* empty = NULL;
  OK(tenonModelCreate(NULL, &empty));
  FAILS(tenonModelSaveParameters(empty, PathOf("none.safetensors")), TENON_FAILED_PRECONDITION, "");
  tenonModelDestroy(empty);
}

// Without the plugin there is no device, whatever the machine has.
static void TestNoDevice(void) {
  setenv("TENON_CUDA_PLUGIN", PathOf("no_plugin.so").data, 1);
  TenonModel* const model = ModelOf(kModel, NULL);
  TenonProgram* program = NULL;
  const TenonCompileOptions cuda = {
      .struct_size = sizeof cuda, .device = TENON_DEVICE_CUDA, .device_number = 3};
  FAILS(tenonModelCompile(model, &cuda, &program), TENON_UNAVAILABLE, "no_plugin.so");
  CHECK(program == NULL);
  tenonModelDestroy(model);
  unsetenv("TENON_CUDA_PLUGIN");
}

void TestSaved(void) {
  snprintf(folder, sizeof folder, "/tmp/tenon_c_api_XXXXXX");
  CHECK(mkdtemp(folder) != NULL);
  TestSaveAndLoad();
  TestAdapters();
  TestNoDevice();
  static const char* const files[] = {"a.tnp", "plain.tnp", "text.tnp", "adapter.safetensors",
                                      "w.safetensors"};
  for (size_t i = 0; i < sizeof files / sizeof files[0]; ++i) remove(PathOf(files[i]).data);
  CHECK(rmdir(folder) == 0);
}
