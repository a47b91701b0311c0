// Kernels that choose their calls, prepare, pack weights and use scratch memory; passes with options.
#include <stdlib.h>

#include "check.h"

// x * w of x: N x 3, in f32 or f64.
#define MODEL(type)                                                                              \
  "func.func() <{function_type = (tensor<?x3x" type ", [\"N\", \"\"]>) -> tensor<?x2x" type      \
  ", [\"N\", \"\"]>, sym_name = \"main\"}> ({\n"                                                 \
  "^bb0(%x: tensor<?x3x" type ", [\"N\", \"\"]>):\n"                                             \
  "  %w = core.constant() <{value = dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2x" \
  type ">}> : () -> tensor<3x2x" type ">\n"                                                      \
  "  %0 = ten.matmul(%x, %w) : (tensor<?x3x" type ", [\"N\", \"\"]>, tensor<3x2x" type           \
  ">) -> tensor<?x2x" type ", [\"N\", \"\"]>\n"                                                  \
  "  func.return(%0) : (tensor<?x2x" type ", [\"N\", \"\"]>) -> ()\n"                            \
  "}) : () -> ()\n"

typedef struct Counts {
  int asked, prepared, packed, ran, destroyed;
  bool fail;
} Counts;

// What a run needs of the preparation.
typedef struct Prepared {
  const float* transposed;  // 2 x 3
  Counts* counts;
} Prepared;

static void DestroyPrepared(void* prepared) {
  ++((Prepared*)prepared)->counts->destroyed;
  free(prepared);
}

static TenonStatus* SupportsMatmul(const TenonKernelCall* call, void* state) {
  ++((Counts*)state)->asked;
  CHECK(tenonKernelCallNumInputs(call) == 2 && tenonKernelCallNumOutputs(call) == 1);
  const TenonTensorView x = tenonKernelCallInput(call, 0), w = tenonKernelCallInput(call, 1);
  CHECK(x.data == NULL && x.rank == 2 && x.shape[0] == -1 && x.shape[1] == 3);
  CHECK(!tenonKernelCallIsConstant(call, 0) && !tenonKernelCallIsConstant(call, 2));
  CHECK(tenonKernelCallScratch(call) == NULL && tenonKernelCallPrepared(call) == NULL);
  FAILS(tenonKernelCallParallelFor(call, 1, 1, NULL, NULL), TENON_INVALID_ARGUMENT, "null");
  if (w.dtype != TENON_F32)
    return tenonStatusCreate(TENON_UNIMPLEMENTED, tenonString("needs f32"));
  if (!tenonKernelCallIsConstant(call, 1))
    return tenonStatusCreate(TENON_UNIMPLEMENTED, tenonString("needs constant weights"));
  return NULL;
}

typedef struct Fill {
  const TenonKernelCall* call;
  Counts* counts;
} Fill;

static void Transpose(void* bytes, void* state) {
  const Fill* const fill = state;
  ++fill->counts->packed;
  const float* const w = tenonKernelCallInput(fill->call, 1).data;
  float* const to = bytes;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 2; ++j) to[j * 3 + i] = w[i * 2 + j];
  }
}

static void PackWrong(TenonKernelCall* call, Fill* fill) {
  const size_t weight = 1, input = 0, none = 2, twice[] = {1, 1};
  const void* packed = NULL;
  const TenonString layout = tenonString("transposed");
  FAILS(tenonKernelCallPack(call, &input, 1, layout, 24, Transpose, fill, &packed),
        TENON_INVALID_ARGUMENT, "input 0 is not constant");
  FAILS(tenonKernelCallPack(call, &none, 1, layout, 24, Transpose, fill, &packed),
        TENON_INVALID_ARGUMENT, "no input 2");
  FAILS(tenonKernelCallPack(call, twice, 2, layout, 24, Transpose, fill, &packed),
        TENON_INVALID_ARGUMENT, "twice");
  FAILS(tenonKernelCallPack(call, &weight, 0, layout, 24, Transpose, fill, &packed),
        TENON_INVALID_ARGUMENT, "no inputs");
  FAILS(tenonKernelCallPack(call, &weight, 1, layout, 0, Transpose, fill, &packed),
        TENON_INVALID_ARGUMENT, "0 packed bytes");
  FAILS(tenonKernelCallPack(call, &weight, 1, layout, SIZE_MAX, Transpose, fill, &packed),
        TENON_INVALID_ARGUMENT, "packed bytes");
  FAILS(tenonKernelCallPack(call, &weight, 1, layout, 24, NULL, fill, &packed),
        TENON_INVALID_ARGUMENT, "fill");
  FAILS(tenonKernelCallPack(NULL, &weight, 1, layout, 24, Transpose, fill, &packed),
        TENON_INVALID_ARGUMENT, "null");
  FAILS(tenonKernelCallSetScratch(call, SIZE_MAX), TENON_INVALID_ARGUMENT, "scratch");
  FAILS(tenonKernelCallSetPrepared(call, NULL, NULL), TENON_INVALID_ARGUMENT, "null");
  CHECK(packed == NULL && fill->counts->packed == 0);
}

static TenonStatus* PrepareMatmul(TenonKernelCall* call, void* state) {
  Counts* const counts = state;
  ++counts->prepared;
  CHECK(tenonKernelCallInput(call, 0).data == NULL);
  CHECK(tenonKernelCallIsConstant(call, 1) && !tenonKernelCallIsConstant(call, 0));
  Fill fill = {call, counts};
  if (counts->packed == 0) PackWrong(call, &fill);
  Prepared* const prepared = malloc(sizeof *prepared);
  const size_t weight = 1;
  const void* packed = NULL;
  OK(tenonKernelCallPack(call, &weight, 1, tenonString("transposed"), 6 * sizeof(float), Transpose,
                         &fill, &packed));
  *prepared = (Prepared){packed, counts};
  OK(tenonKernelCallSetPrepared(call, prepared, DestroyPrepared));
  OK(tenonKernelCallSetScratch(call, 3 * sizeof(float)));
  Prepared* const second = malloc(sizeof *second);
  *second = *prepared;
  FAILS(tenonKernelCallSetPrepared(call, second, DestroyPrepared), TENON_ALREADY_EXISTS, "already");
  if (!counts->fail) return NULL;
  return tenonStatusCreate(TENON_INVALID_ARGUMENT, tenonString("cannot prepare"));
}

static TenonStatus* RunMatmul(const TenonKernelCall* call, void* state) {
  ++((Counts*)state)->ran;
  const Prepared* const prepared = tenonKernelCallPrepared(call);
  float* const row = tenonKernelCallScratch(call);
  if (prepared == NULL || row == NULL)
    return tenonStatusCreate(TENON_INTERNAL, tenonString("nothing is prepared"));
  FAILS(tenonKernelCallSetScratch((TenonKernelCall*)call, 1), TENON_FAILED_PRECONDITION, "prepare");
  const TenonTensorView x = tenonKernelCallInput(call, 0), y = tenonKernelCallOutput(call, 0);
  for (int64_t n = 0; n < x.shape[0]; ++n) {
    memcpy(row, (const float*)x.data + n * 3, 3 * sizeof(float));
    for (int j = 0; j < 2; ++j) {
      float sum = 0;
      for (int i = 0; i < 3; ++i) sum += row[i] * prepared->transposed[j * 3 + i];
      ((float*)y.data)[n * 2 + j] = sum;
    }
  }
  return NULL;
}

static TenonExtension* WithMatmul(Counts* counts) {
  TenonExtension* extension = NULL;
  OK(tenonExtensionCreate(&extension));
  TenonKernel kernel = {.struct_size = sizeof kernel,
                        .op = tenonString("ten.matmul"),
                        .name = tenonString("ref.acme.matmul"),
                        .priority = 1000,
                        .run = RunMatmul,
                        .state = counts,
                        .prepare = PrepareMatmul,
                        .supports = SupportsMatmul};
  FAILS(tenonExtensionAddKernel(extension, &kernel), TENON_INVALID_ARGUMENT, "supports");
  kernel.name = tenonString("acme.matmul");
  OK(tenonExtensionAddKernel(extension, &kernel));
  return extension;
}

static TenonProgram* Compiled(const char* text, const TenonExtension* extension) {
  const TenonLoadOptions load = {.struct_size = sizeof load, .extension = extension};
  TenonModel* const model = ModelOf(text, &load);
  TenonProgram* program = NULL;
  OK(tenonModelCompile(model, NULL, &program));
  tenonModelDestroy(model);
  return program;
}

static void TestPreparation(void) {
  Counts counts = {0};
  TenonExtension* const extension = WithMatmul(&counts);
  TenonProgram* program = Compiled(MODEL("f32"), extension);
  CHECK(counts.asked > 0);
  float x[] = {1, 2, 3, 4, 5, 6};
  const int64_t shape[] = {2, 3};
  const TenonTensorView view = {x, TENON_F32, shape, 2};
  TenonSession* session = NULL;
  OK(tenonSessionCreate(program, &session));
  for (int run = 0; run < 2; ++run) {
    TenonTensor* y = NULL;
    OK(tenonSessionRun(session, &view, 1, NULL, &y, 1));
    const float* const values = tenonTensorView(y).data;
    CHECK(values[0] == 22 && values[1] == 28 && values[2] == 49 && values[3] == 64);
    tenonTensorDestroy(y);
  }
  CHECK(counts.prepared == 1 && counts.packed == 1 && counts.ran == 2);
  CHECK(counts.destroyed == 1);  // the second one, which was refused
  tenonSessionDestroy(session);
  CHECK(counts.destroyed == 2);
  tenonProgramDestroy(program);

  // An error of the preparation has the place of the operation, and destroys what was prepared.
  counts = (Counts){.fail = true};
  program = Compiled(MODEL("f32"), extension);
  TenonTensor* none = NULL;
  Text location = {.size = 0};
  CHECK(IsError(tenonProgramRun(program, &view, 1, NULL, &none, 1), TENON_INVALID_ARGUMENT,
                "cannot prepare", &location));
  CHECK(strncmp(location.data, "m.mlir:4:", 9) == 0 && counts.destroyed == 2 && none == NULL);
  tenonProgramDestroy(program);

  // Tenon's own kernel runs what this one refuses.
  counts = (Counts){0};
  program = Compiled(MODEL("f64"), extension);
  double wide[] = {1, 2, 3};
  const int64_t one[] = {1, 3};
  const TenonTensorView in_f64 = {wide, TENON_F64, one, 2};
  TenonTensor* y = NULL;
  OK(tenonProgramRun(program, &in_f64, 1, NULL, &y, 1));
  CHECK(((const double*)tenonTensorView(y).data)[1] == 28);
  CHECK(counts.asked > 0 && counts.prepared == 0 && counts.ran == 0);
  tenonTensorDestroy(y);
  tenonProgramDestroy(program);
  tenonExtensionDestroy(extension);
}

// Notes the options of each call.
static TenonStatus* NoteOptions(TenonPassCall* call, bool* changed, void* state) {
  (void)changed;
  Text* const text = state;
  const TenonString limit = tenonString("limit"), names = tenonString("names");
  char line[64];
  snprintf(line, sizeof line, "%d %d %zu:", (int)tenonPassCallInt64(call, limit),
           tenonPassCallBool(call, tenonString("loud")), tenonPassCallNumTexts(call, names));
  Append(tenonString(line), text);
  for (size_t i = 0; i < tenonPassCallNumTexts(call, names); ++i) {
    Append(tenonPassCallText(call, names, i), text);
    Append(tenonString(","), text);
  }
  Append(tenonString(";"), text);
  CHECK(Is(tenonOperationName(tenonPassCallOperation(call)), "func.func"));
  CHECK(tenonPassCallText(call, names, 99).size == 0 && tenonPassCallText(call, limit, 1).size == 0);
  CHECK(tenonPassCallNumTexts(call, tenonString("none")) == 0);
  CHECK(tenonPassCallInt64(call, names) == 0 && !tenonPassCallBool(call, limit));
  OK(tenonPassCallCount(call, tenonString("calls"), 1));
  FAILS(tenonPassCallCount(call, tenonString(""), 1), TENON_INVALID_ARGUMENT, "no name");
  return NULL;
}

static void FindPass(const TenonPassInfo* pass, void* state) {
  if (!Is(pass->name, "acme-note")) return;
  *(bool*)state = pass->num_options == 3 && Is(pass->options[0].name, "limit") &&
                  pass->options[0].type == TENON_OPTION_COUNT &&
                  Is(pass->options[0].default_text, "7") && pass->options[1].num_choices == 0 &&
                  pass->options[2].num_choices == 2 && Is(pass->options[2].choices[1], "b");
}

static void TestPassOptions(void) {
  TenonExtension* extension = NULL;
  OK(tenonExtensionCreate(&extension));
  const TenonString choices[] = {{"a", 1}, {"b", 1}};
  TenonPassOption options[] = {
      {tenonString("limit"), TENON_OPTION_COUNT, tenonString("7"), {NULL, 0}, NULL, 0, false},
      {tenonString("loud"), TENON_OPTION_BOOL, tenonString("false"), {NULL, 0}, NULL, 0, false},
      {tenonString("names"), TENON_OPTION_TEXTS, {NULL, 0}, {NULL, 0}, choices, 2, false}};
  Text noted = {.size = 0};
  TenonPass pass = {.struct_size = sizeof pass,
                    .name = tenonString("acme-note"),
                    .state = &noted,
                    .call = NoteOptions,
                    .options = options,
                    .num_options = 3};
  OK(tenonExtensionAddPass(extension, &pass));
  bool listed = false;
  OK(tenonListPasses(extension, FindPass, &listed));
  CHECK(listed);
  const TenonLoadOptions load = {.struct_size = sizeof load, .extension = extension};
  TenonModel* const model = ModelOf(MODEL("f32"), &load);
  const TenonOptimizeOptions run = {
      .struct_size = sizeof run,
      .pipeline = tenonString("acme-note,acme-note{limit=3 loud=true names=b,a}")};
  OK(tenonModelOptimize(model, &run));
  CHECK(strcmp(noted.data, "7 0 0:;3 1 2:b,a,;") == 0);
  static const char* const wrong[] = {"acme-note{limit=-1}", "acme-note{names=c}",
                                      "acme-note{other=1}"};
  for (size_t i = 0; i < 3; ++i) {
    const TenonOptimizeOptions bad = {.struct_size = sizeof bad, .pipeline = tenonString(wrong[i])};
    FAILS(tenonModelOptimize(model, &bad), TENON_INVALID_ARGUMENT, "acme-note");
  }
  tenonModelDestroy(model);

  // Hostile definitions.
  pass.name = tenonString("acme-other");
  options[0].default_text = tenonString("many");
  FAILS(tenonExtensionAddPass(extension, &pass), TENON_INVALID_ARGUMENT, "limit");
  options[0].type = (TenonPassOptionType)9;
  FAILS(tenonExtensionAddPass(extension, &pass), TENON_INVALID_ARGUMENT, "type 9");
  pass.options = NULL;
  FAILS(tenonExtensionAddPass(extension, &pass), TENON_INVALID_ARGUMENT, "'options' is null");
  pass.num_options = 0;
  pass.call = NULL;
  FAILS(tenonExtensionAddPass(extension, &pass), TENON_INVALID_ARGUMENT, "'run' is null");
  tenonExtensionDestroy(extension);
}

void TestKernels(void) {
  TestPreparation();
  TestPassOptions();
}
