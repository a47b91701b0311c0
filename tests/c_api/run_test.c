// Passes, rules, programs, runs, threads and cancelling.
#include <stdlib.h>
#include <threads.h>
#include <time.h>

#include "check.h"

// gelu(x * w) of x: batch x 2.
static const char kLinear[] =
    "func.func() <{arg_attrs = [{core.name = \"x\"}], res_attrs = [{core.name = \"y\"}], "
    "function_type = (tensor<?x2xf32, [\"batch\", \"\"]>) -> tensor<?x3xf32, [\"batch\", \"\"]>, "
    "sym_name = \"main\"}> ({\n"
    "^bb0(%x: tensor<?x2xf32, [\"batch\", \"\"]>):\n"
    "  %w = core.constant() <{value = dense<[[1.0, 0.0, -1.0], [0.0, 1.0, 1.0]]> : "
    "tensor<2x3xf32>}> : () -> tensor<2x3xf32>\n"
    "  %0 = ten.matmul(%x, %w) : (tensor<?x2xf32, [\"batch\", \"\"]>, tensor<2x3xf32>) -> "
    "tensor<?x3xf32, [\"batch\", \"\"]>\n"
    "  %1 = ten.relu(%0) : (tensor<?x3xf32, [\"batch\", \"\"]>) -> tensor<?x3xf32, [\"batch\", "
    "\"\"]>\n"
    "  func.return(%1) : (tensor<?x3xf32, [\"batch\", \"\"]>) -> ()\n"
    "}) : () -> ()\n";

// A loop that runs as often as its input says.
static const char kLoop[] =
    "func.func() <{function_type = (tensor<i64>, tensor<f32>) -> tensor<f32>, sym_name = "
    "\"main\"}> ({\n"
    "^bb0(%n: tensor<i64>, %x: tensor<f32>):\n"
    "  %zero = core.constant() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>\n"
    "  %one = core.constant() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>\n"
    "  %0 = ctl.for(%zero, %n, %one, %x) ({\n"
    "  ^bb0(%i: tensor<i64>, %sum: tensor<f32>):\n"
    "    %1 = ten.add(%sum, %sum) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"
    "    ctl.yield(%1) : (tensor<f32>) -> ()\n"
    "  }) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<f32>) -> tensor<f32>\n"
    "  func.return(%0) : (tensor<f32>) -> ()\n"
    "}) : () -> ()\n";

static void NoteRule(TenonString rule, int64_t hits, void* state) {
  Append(rule, state);
  Append(tenonString(hits > 0 ? "+ " : "- "), state);
}

static void NotePass(TenonString pass, void* state) {
  Append(pass, state);
  Append(tenonString(" "), state);
}

static void CountPass(const TenonPassInfo* pass, void* state) {
  if (Is(pass->name, "cse") || Is(pass->name, "O2")) ++*(int*)state;
}

static void NoteDiagnostic(const TenonDiagnostic* diagnostic, void* state) {
  Append(diagnostic->severity == TENON_WARNING ? tenonString("W ") : tenonString("E "), state);
  Append(diagnostic->text, state);
}

static int destroyed = 0;
static void Destroyed(void* state) {
  (void)state;
  ++destroyed;
}

void TestPasses(void) {
  int found = 0;
  OK(tenonListPasses(NULL, CountPass, &found));
  CHECK(found == 2);

  Text messages = {.size = 0};
  const TenonLoadOptions load = {.struct_size = sizeof load,
                                 .on_diagnostic = NoteDiagnostic,
                                 .diagnostic_state = &messages,
                                 .destroy_diagnostic_state = Destroyed};
  TenonModel* model = ModelOf(kLinear, &load);
  Text rules = {.size = 0};
  TenonOptimizeOptions options = {
      .struct_size = sizeof options, .state = &rules, .on_rule = NoteRule, .verify_each = true};
  OK(tenonModelOptimize(model, &options));
  CHECK(strchr(rules.data, '+') != NULL);
  Text text = {.size = 0};
  PrintTo(tenonModelModule(model), &text);
  CHECK(strstr(text.data, "fused.linear") != NULL);
  // A pipeline, with progress.
  Text passes = {.size = 0};
  options = (TenonOptimizeOptions){.struct_size = sizeof options,
                                   .pipeline = tenonString("cse,dce"),
                                   .state = &passes,
                                   .on_pass = NotePass};
  OK(tenonModelOptimize(model, &options));
  CHECK(strcmp(passes.data, "cse dce ") == 0);
  options.pipeline = tenonString("cse,no-such-pass");
  FAILS(tenonModelOptimize(model, &options), TENON_INVALID_ARGUMENT, "no-such-pass");
  options = (TenonOptimizeOptions){.struct_size = sizeof options, .level = (TenonLevel)9};
  FAILS(tenonModelOptimize(model, &options), TENON_INVALID_ARGUMENT, "level");
  options = (TenonOptimizeOptions){.struct_size = sizeof options, .threads = -2};
  FAILS(tenonModelOptimize(model, &options), TENON_INVALID_ARGUMENT, "threads");
  options = (TenonOptimizeOptions){.struct_size = sizeof options, .num_disabled_rules = 1};
  FAILS(tenonModelOptimize(model, &options), TENON_INVALID_ARGUMENT, "null");
  FAILS(tenonModelOptimize(NULL, NULL), TENON_INVALID_ARGUMENT, "'model' is null");
  // A token that is cancelled already.
  TenonCancelToken* token = NULL;
  OK(tenonCancelTokenCreate(&token));
  OK(tenonCancelTokenCancel(token));
  options = (TenonOptimizeOptions){.struct_size = sizeof options, .cancel = token};
  FAILS(tenonModelOptimize(model, &options), TENON_CANCELLED, "cancelled");
  tenonCancelTokenDestroy(token);
  CHECK(messages.size == 0 && destroyed == 0);
  tenonModelDestroy(model);
  CHECK(destroyed == 1);

  // Rules in text.
  model = ModelOf(kLinear, NULL);
  const char* const good =
      "rule relu-abs {\n  summary \"another function\"\n  lowers ops(relu)\n"
      "  match relu(x)\n  replace abs(x)\n}\n";
  rules.size = 0;
  OK(tenonModelApplyRules(model, tenonString(good), tenonString("r.drr"), NoteRule, &rules));
  CHECK(strcmp(rules.data, "relu-abs+ ") == 0);
  Text location = {.size = 0};
  CHECK(IsError(tenonModelApplyRules(model, tenonString("rule x {\n  match nothing(y)\n}"),
                                     tenonString("r.drr"), NULL, NULL),
                TENON_INVALID_ARGUMENT, "nothing", &location));
  CHECK(strncmp(location.data, "r.drr:2:", 8) == 0);
  tenonModelDestroy(model);
}

static TenonProgram* ProgramOf(const char* text) {
  TenonModel* const model = ModelOf(text, NULL);
  TenonProgram* program = NULL;
  const TenonCompileOptions options = {.struct_size = sizeof options, .threads = 1};
  OK(tenonModelCompile(model, &options, &program));
  tenonModelDestroy(model);
  return program;
}

static void NoteShape(size_t output, const TenonTensorView* type, void* state) {
  CHECK(output == 0 && type->dtype == TENON_F32 && type->rank == 2 && type->data == NULL);
  memcpy(state, type->shape, 2 * sizeof(int64_t));
}

static void TestWrongRuns(TenonProgram* program) {
  float x[4] = {1, 2, 3, 4};
  const int64_t shape[] = {2, 2}, wrong_shape[] = {2, 3}, negative[] = {-1, 2};
  const int64_t huge[] = {INT64_MAX, 2};
  TenonTensor* y = NULL;
  TenonTensorView view = {x, TENON_F32, shape, 2};
  FAILS(tenonProgramRun(program, &view, 1, NULL, &y, 2), TENON_INVALID_ARGUMENT, "expected 1");
  FAILS(tenonProgramRun(program, &view, 0, NULL, &y, 1), TENON_INVALID_ARGUMENT, "0 inputs");
  FAILS(tenonProgramRun(program, NULL, 1, NULL, &y, 1), TENON_INVALID_ARGUMENT, "null");
  FAILS(tenonProgramRun(program, &view, 1, NULL, NULL, 1), TENON_INVALID_ARGUMENT, "null");
  FAILS(tenonProgramRun(NULL, &view, 1, NULL, &y, 1), TENON_INVALID_ARGUMENT, "'program' is null");
  view.dtype = TENON_F64;
  FAILS(tenonProgramRun(program, &view, 1, NULL, &y, 1), TENON_INVALID_ARGUMENT, "f64");
  view.dtype = (TenonDType)200;
  FAILS(tenonProgramRun(program, &view, 1, NULL, &y, 1), TENON_INVALID_ARGUMENT, "element type");
  view.dtype = TENON_F32;
  view.shape = wrong_shape;
  FAILS(tenonProgramRun(program, &view, 1, NULL, &y, 1), TENON_INVALID_ARGUMENT, "extent 3");
  view.shape = negative;
  FAILS(tenonProgramRun(program, &view, 1, NULL, &y, 1), TENON_INVALID_ARGUMENT, "extent -1");
  view.shape = huge;
  FAILS(tenonProgramRun(program, &view, 1, NULL, &y, 1), TENON_RESOURCE_EXHAUSTED, "");
  view.shape = NULL;
  FAILS(tenonProgramRun(program, &view, 1, NULL, &y, 1), TENON_INVALID_ARGUMENT, "no shape");
  view.shape = shape;
  view.data = NULL;
  FAILS(tenonProgramRun(program, &view, 1, NULL, &y, 1), TENON_INVALID_ARGUMENT, "no data");
  view.data = (char*)x + 1;
  FAILS(tenonProgramRun(program, &view, 1, NULL, &y, 1), TENON_INVALID_ARGUMENT, "not aligned");
  CHECK(y == NULL);
}

void TestRuns(void) {
  TenonProgram* const program = ProgramOf(kLinear);
  CHECK(tenonProgramNumInputs(program) == 1 && tenonProgramNumOutputs(program) == 1);
  const TenonPort* const port = tenonProgramInput(program, 0);
  CHECK(Is(port->name, "x") && port->dtype == TENON_F32 && port->rank == 2);
  CHECK(Is(port->dims[0], "batch") && Is(port->dims[1], "2"));
  CHECK(Is(tenonProgramOutput(program, 0)->name, "y"));
  CHECK(tenonProgramInput(program, 1) == NULL && tenonProgramNumInputs(NULL) == 0);

  float x[4] = {1, 2, 3, 4}, into[6];
  const int64_t shape[] = {2, 2};
  const float expected[] = {1, 2, 1, 3, 4, 1};
  const TenonTensorView view = {x, TENON_F32, shape, 2};
  TenonTensor* y = NULL;
  OK(tenonProgramRun(program, &view, 1, NULL, &y, 1));
  const TenonTensorView result = tenonTensorView(y);
  CHECK(result.rank == 2 && result.shape[0] == 2 && result.shape[1] == 3);
  CHECK(tenonTensorNumElements(y) == 6 && tenonTensorNumBytes(y) == sizeof expected);
  CHECK(memcmp(result.data, expected, sizeof expected) == 0);
  tenonTensorDestroy(y);
  tenonTensorDestroy(NULL);
  CHECK(tenonTensorView(NULL).data == NULL && tenonTensorNumElements(NULL) == 0);
  TestWrongRuns(program);

  TenonSession* session = NULL;
  OK(tenonSessionCreate(program, &session));
  OK(tenonSessionRun(session, &view, 1, NULL, &y, 1));
  tenonTensorDestroy(y);
  int64_t shape_of_y[2] = {0, 0};
  OK(tenonSessionOutputShapes(session, &view, 1, NoteShape, shape_of_y));
  CHECK(shape_of_y[0] == 2 && shape_of_y[1] == 3);
  const TenonTensorView out = {into, TENON_F32, shape_of_y, 2};
  OK(tenonSessionRunInto(session, &view, 1, NULL, &out, 1));
  CHECK(memcmp(into, expected, sizeof expected) == 0);
  const TenonTensorView too_small = {into, TENON_F32, shape, 2};
  FAILS(tenonSessionRunInto(session, &view, 1, NULL, &too_small, 1), TENON_INVALID_ARGUMENT,
        "expected 2x3xf32");
  FAILS(tenonSessionRunInto(NULL, &view, 1, NULL, &out, 1), TENON_INVALID_ARGUMENT, "null");

  TenonBinding* binding = NULL;
  OK(tenonBindingCreate(program, &binding));
  FAILS(tenonSessionRunBinding(session, binding, NULL), TENON_FAILED_PRECONDITION, "");
  FAILS(tenonBindingSetInput(binding, tenonString("z"), &view), TENON_NOT_FOUND, "z");
  OK(tenonBindingSetInput(binding, tenonString("x"), &view));
  memset(into, 0, sizeof into);
  OK(tenonBindingSetOutput(binding, tenonString("y"), &out));
  OK(tenonSessionRunBinding(session, binding, NULL));
  CHECK(memcmp(into, expected, sizeof expected) == 0);
  OK(tenonBindingSetOutput(binding, tenonString("y"), NULL));
  x[0] = 7;  // the bytes may change between runs
  OK(tenonSessionRunBinding(session, binding, NULL));
  OK(tenonBindingOutput(binding, tenonString("y"), &y));
  CHECK(((const float*)tenonTensorView(y).data)[0] == 7);
  tenonTensorDestroy(y);
  FAILS(tenonBindingCarry(binding, tenonString("y"), tenonString("z")), TENON_NOT_FOUND, "z");
  tenonProgramDestroy(program);  // sessions and bindings keep it alive
  OK(tenonSessionRunBinding(session, binding, NULL));
  tenonBindingDestroy(binding);
  tenonSessionDestroy(session);

  TenonModel* const model = ModelOf(kLinear, NULL);
  TenonProgram* none = NULL;
  TenonCompileOptions options = {.struct_size = sizeof options, .device = (TenonDevice)7};
  FAILS(tenonModelCompile(model, &options, &none), TENON_INVALID_ARGUMENT, "device");
  options = (TenonCompileOptions){.struct_size = sizeof options, .threads = -4};
  FAILS(tenonModelCompile(model, &options, &none), TENON_INVALID_ARGUMENT, "threads");
  FAILS(tenonModelCompile(model, NULL, NULL), TENON_INVALID_ARGUMENT, "'program' is null");
  FAILS(tenonModelCompile(NULL, NULL, &none), TENON_INVALID_ARGUMENT, "'model' is null");
  CHECK(none == NULL);
  tenonModelDestroy(model);
}

// x * scale, where scale is a parameter.
static const char kScale[] =
    "core.parameter() <{sym_name = \"scale\", type = f32, value = dense<2.0> : tensor<3xf32>}> : "
    "() -> ()\n"
    "func.func() <{function_type = (tensor<3xf32>) -> tensor<3xf32>, sym_name = \"main\"}> ({\n"
    "^bb0(%x: tensor<3xf32>):\n"
    "  %s = core.get_parameter() <{name = @scale}> : () -> tensor<3xf32>\n"
    "  %0 = ten.mul(%x, %s) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>\n"
    "  func.return(%0) : (tensor<3xf32>) -> ()\n"
    "}) : () -> ()\n";

void TestParameters(void) {
  const TenonString scale = tenonString("scale"), other = tenonString("other");
  const TenonLoadOptions load = {
      .struct_size = sizeof load, .replaceable = &scale, .num_replaceable = 1};
  TenonModel* const model = ModelOf(kScale, &load);
  TenonProgram* program = NULL;
  OK(tenonModelCompile(model, NULL, &program));
  tenonModelDestroy(model);
  CHECK(tenonProgramNumParameters(program) == 1);
  CHECK(Is(tenonProgramParameter(program, 0)->name, "scale"));
  CHECK(tenonProgramParameter(program, 1) == NULL && tenonProgramNumParameters(NULL) == 0);
  float x[] = {1, 2, 3};
  const int64_t shape[] = {3}, wrong_shape[] = {2};
  const TenonTensorView view = {x, TENON_F32, shape, 1};
  TenonTensor* y = NULL;
  OK(tenonProgramRun(program, &view, 1, NULL, &y, 1));
  CHECK(((const float*)tenonTensorView(y).data)[2] == 6);
  tenonTensorDestroy(y);
  TenonTensorView value = {x, TENON_F32, shape, 1};
  FAILS(tenonProgramReplaceParameters(program, &other, &value, 1), TENON_NOT_FOUND, "other");
  value.data = NULL;
  FAILS(tenonProgramReplaceParameters(program, &scale, &value, 1), TENON_INVALID_ARGUMENT, "data");
  value = (TenonTensorView){x, TENON_F32, wrong_shape, 1};
  FAILS(tenonProgramReplaceParameters(program, &scale, &value, 1), TENON_INVALID_ARGUMENT, "");
  FAILS(tenonProgramReplaceParameters(NULL, &scale, &value, 1), TENON_INVALID_ARGUMENT, "null");
  value = view;
  OK(tenonProgramReplaceParameters(program, &scale, &value, 1));  // copies x
  OK(tenonProgramRun(program, &view, 1, NULL, &y, 1));
  CHECK(((const float*)tenonTensorView(y).data)[2] == 9);
  tenonTensorDestroy(y);
  tenonProgramDestroy(program);
}

static int RunMany(void* state) {
  TenonProgram* const program = state;
  for (int run = 0; run < 50; ++run) {
    float x[4] = {(float)run, 2, 3, 4};
    const int64_t shape[] = {2, 2};
    const TenonTensorView view = {x, TENON_F32, shape, 2};
    TenonTensor* y = NULL;
    TenonStatus* const status = tenonProgramRun(program, &view, 1, NULL, &y, 1);
    const bool right = status == NULL && ((const float*)tenonTensorView(y).data)[0] == x[0];
    tenonTensorDestroy(y);
    tenonStatusDestroy(status);
    if (!right) return 1;
  }
  return 0;
}

static int CancelSoon(void* state) {
  const struct timespec moment = {.tv_nsec = 20 * 1000 * 1000};
  thrd_sleep(&moment, NULL);
  tenonStatusDestroy(tenonCancelTokenCancel(state));
  return 0;
}

void TestThreads(void) {
  TenonProgram* program = ProgramOf(kLinear);
  thrd_t threads[3];
  for (int i = 0; i < 3; ++i) CHECK(thrd_create(&threads[i], RunMany, program) == thrd_success);
  for (int i = 0; i < 3; ++i) {
    int wrong = 1;
    CHECK(thrd_join(threads[i], &wrong) == thrd_success && wrong == 0);
  }
  tenonProgramDestroy(program);

  program = ProgramOf(kLoop);
  TenonCancelToken* token = NULL;
  OK(tenonCancelTokenCreate(&token));
  int64_t trips = INT64_C(1) << 60;
  float start = 1;
  const TenonTensorView inputs[] = {{&trips, TENON_I64, NULL, 0}, {&start, TENON_F32, NULL, 0}};
  const TenonRunOptions options = {.struct_size = sizeof options, .cancel = token};
  TenonTensor* y = NULL;
  thrd_t other;
  CHECK(thrd_create(&other, CancelSoon, token) == thrd_success);
  FAILS(tenonProgramRun(program, inputs, 2, &options, &y, 1), TENON_CANCELLED, "cancelled");
  CHECK(thrd_join(other, NULL) == thrd_success && tenonCancelTokenIsCancelled(token));
  OK(tenonCancelTokenReset(token));
  trips = 3;
  OK(tenonProgramRun(program, inputs, 2, &options, &y, 1));
  CHECK(*(const float*)tenonTensorView(y).data == 8);
  tenonTensorDestroy(y);
  tenonCancelTokenDestroy(token);
  tenonProgramDestroy(program);
  FAILS(tenonCancelTokenCreate(NULL), TENON_INVALID_ARGUMENT, "null");
  FAILS(tenonCancelTokenCancel(NULL), TENON_INVALID_ARGUMENT, "null");
}
