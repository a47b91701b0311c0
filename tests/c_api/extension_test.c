// Operations, kernels, rules and passes of a host in C, with states that are destroyed.
#include <stdlib.h>

#include "check.h"

static const char kModel[] =
    "func.func() <{function_type = (tensor<?xf32, [\"N\"]>) -> tensor<?xf32, [\"N\"]>, sym_name = "
    "\"main\"}> ({\n"
    "^bb0(%x: tensor<?xf32, [\"N\"]>):\n"
    "  %0 = acme.scale(%x) <{factor = 2.0 : f32}> : (tensor<?xf32, [\"N\"]>) -> tensor<?xf32, "
    "[\"N\"]>\n"
    "  func.return(%0) : (tensor<?xf32, [\"N\"]>) -> ()\n"
    "}) : () -> ()\n";

static const char kConstant[] =
    "func.func() <{function_type = () -> tensor<2xf32>, sym_name = \"main\"}> ({\n"
    "  %c = core.constant() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> "
    "tensor<2xf32>\n"
    "  %0 = acme.scale(%c) <{factor = 1.0 : f32}> : (tensor<2xf32>) -> tensor<2xf32>\n"
    "  func.return(%0) : (tensor<2xf32>) -> ()\n"
    "}) : () -> ()\n";

typedef struct Counts {
  int inferred, verified, folded, ran, passes, destroyed;
} Counts;

static void CountDestroyed(void* state) { ++((Counts*)state)->destroyed; }

static TenonStatus* InferScale(TenonInferCall* call, void* state) {
  ++((Counts*)state)->inferred;
  CHECK(tenonInferCallNumOperands(call) == 1 && tenonInferCallOperand(call, 1).ptr == NULL);
  const TenonAttribute factor = tenonInferCallAttribute(call, tenonString("factor"));
  if (tenonAttributeFloatValue(factor) == 0)
    return tenonStatusCreate(TENON_INVALID_ARGUMENT, tenonString("a factor of 0"));
  return tenonInferCallAddResult(call, tenonInferCallOperand(call, 0));
}

static TenonStatus* VerifyScale(TenonOperation op, void* state) {
  ++((Counts*)state)->verified;
  const TenonAttribute factor = tenonOperationAttribute(op, tenonString("factor"));
  if (tenonAttributeFloatValue(factor) < 0)
    return tenonStatusCreate(TENON_INVALID_ARGUMENT, tenonString("a negative factor"));
  return NULL;
}

// x * 1 = x
static void FoldScale(TenonFoldCall* call, void* state) {
  ++((Counts*)state)->folded;
  const TenonOperation op = tenonFoldCallOperation(call);
  FAILS(tenonFoldCallSetValue(call, 1, tenonOperationOperand(op, 0)), TENON_INVALID_ARGUMENT,
        "no result 1");
  const TenonAttribute factor = tenonOperationAttribute(op, tenonString("factor"));
  if (tenonAttributeFloatValue(factor) == 1)
    OK(tenonFoldCallSetValue(call, 0, tenonOperationOperand(op, 0)));
}

typedef struct Scale {
  const float* from;
  float* to;
  double factor;
} Scale;

static void ScaleRange(int64_t begin, int64_t end, void* state) {
  const Scale* const scale = state;
  for (int64_t i = begin; i < end; ++i) scale->to[i] = (float)(scale->from[i] * scale->factor);
}

static TenonStatus* RunScale(const TenonKernelCall* call, void* state) {
  ++((Counts*)state)->ran;
  const TenonTensorView x = tenonKernelCallInput(call, 0);
  CHECK(tenonKernelCallNumInputs(call) == 1 && tenonKernelCallNumOutputs(call) == 1);
  CHECK(tenonKernelCallInput(call, 1).dtype == TENON_DTYPE_INVALID);
  Scale scale = {x.data, tenonKernelCallOutput(call, 0).data, 0};
  int64_t none = 0;
  CHECK(!tenonKernelCallInt64(call, tenonString("factor"), &none));
  if (!tenonKernelCallDouble(call, tenonString("factor"), &scale.factor))
    return tenonStatusCreate(TENON_INTERNAL, tenonString("no factor"));
  if (x.shape[0] == 13) return tenonStatusCreate(TENON_INVALID_ARGUMENT, tenonString("13"));
  return tenonKernelCallParallelFor(call, x.shape[0], 1 << 12, ScaleRange, &scale);
}

// Doubles the factor of each acme.scale.
static TenonWalk DoubleFactor(TenonOperation op, void* state) {
  if (!Is(tenonOperationName(op), "acme.scale")) return TENON_WALK_ON;
  const double factor =
      tenonAttributeFloatValue(tenonOperationAttribute(op, tenonString("factor")));
  TenonAttribute twice = {NULL};
  OK(tenonAttributeFloat(tenonOperationContext(op), TENON_F32, 2 * factor, &twice));
  OK(tenonOperationSetAttribute(op, tenonString("factor"), twice));
  *(bool*)state = true;
  return TENON_WALK_ON;
}

static TenonStatus* RunDouble(TenonOperation op, bool* changed, void* state) {
  ++((Counts*)state)->passes;
  return tenonOperationWalk(op, DoubleFactor, changed);
}

static TenonStatus* RunFailing(TenonOperation op, bool* changed, void* state) {
  (void)op, (void)changed, (void)state;
  return tenonStatusCreate(TENON_UNIMPLEMENTED, tenonString("this pass always fails"));
}

static TenonOpDef ScaleDef(Counts* counts) {
  static const TenonValueDef value = {{"x", 1}, TENON_SINGLE, 1u << TENON_F32};
  static const TenonAttributeDef factor = {{"factor", 6}, TENON_TAKES_F32, false, {NULL, 0}};
  const TenonOpDef def = {.struct_size = sizeof def,
                          .name = tenonString("acme.scale"),
                          .summary = tenonString("x * factor"),
                          .operands = &value,
                          .num_operands = 1,
                          .results = &value,
                          .num_results = 1,
                          .attributes = &factor,
                          .num_attributes = 1,
                          .traits = TENON_TRAIT_PURE,
                          .infer_kind = TENON_INFER_CALL,
                          .infer = InferScale,
                          .verify = VerifyScale,
                          .fold = FoldScale,
                          .state = counts,
                          .destroy = CountDestroyed};
  return def;
}

static TenonExtension* MakeExtension(Counts* counts) {
  TenonExtension* extension = NULL;
  OK(tenonExtensionCreate(&extension));
  const TenonOpDef def = ScaleDef(counts);
  OK(tenonExtensionAddOp(extension, &def));
  const TenonKernel kernel = {.struct_size = sizeof kernel,
                              .op = tenonString("acme.scale"),
                              .name = tenonString("ref.acme.scale"),
                              .inplace_inputs = 1,
                              .run = RunScale,
                              .state = counts,
                              .destroy = CountDestroyed};
  OK(tenonExtensionAddKernel(extension, &kernel));
  TenonPass pass = {.struct_size = sizeof pass,
                    .name = tenonString("acme-double"),
                    .summary = tenonString("doubles factors"),
                    .run = RunDouble,
                    .state = counts,
                    .destroy = CountDestroyed};
  OK(tenonExtensionAddPass(extension, &pass));
  FAILS(tenonExtensionAddPass(extension, &pass), TENON_ALREADY_EXISTS, "acme-double");
  CHECK(counts->destroyed == 1);  // of the pass that was refused
  pass =
      (TenonPass){.struct_size = sizeof pass, .name = tenonString("acme-fail"), .run = RunFailing};
  OK(tenonExtensionAddPass(extension, &pass));
  OK(tenonExtensionAddRules(extension,
                            tenonString("rule acme-abs {\n  summary \"|x| by scale\"\n"
                                        "  lowers ops(abs)\n  match abs(x)\n"
                                        "  where dtype(x) == f32\n"
                                        "  replace acme.scale(x) {factor = 3.0}\n}\n"),
                            tenonString("acme.drr")));
  return extension;
}

static void TestWrongParts(TenonExtension* extension, Counts* counts) {
  const int before = counts->destroyed;
  TenonOpDef def = ScaleDef(counts);
  FAILS(tenonExtensionAddOp(extension, &def), TENON_ALREADY_EXISTS, "acme.scale");
  def.name = tenonString("ten.scale");
  FAILS(tenonExtensionAddOp(extension, &def), TENON_ALREADY_EXISTS, "dialect of Tenon");
  def.name = tenonString("scale");
  FAILS(tenonExtensionAddOp(extension, &def), TENON_INVALID_ARGUMENT, "dialect.name");
  def.name = tenonString("acme.other");
  def.infer = NULL;
  FAILS(tenonExtensionAddOp(extension, &def), TENON_INVALID_ARGUMENT, "'infer' is null");
  def.infer_kind = (TenonInferKind)8;
  FAILS(tenonExtensionAddOp(extension, &def), TENON_INVALID_ARGUMENT, "infer");
  def.traits = 1u << 30;
  FAILS(tenonExtensionAddOp(extension, &def), TENON_INVALID_ARGUMENT, "traits");
  CHECK(counts->destroyed == before + 6);
  FAILS(tenonExtensionAddOp(extension, NULL), TENON_INVALID_ARGUMENT, "null");
  TenonKernel kernel = {.struct_size = sizeof kernel,
                        .op = tenonString("acme.scale"),
                        .name = tenonString("ref.acme.scale")};
  FAILS(tenonExtensionAddKernel(extension, &kernel), TENON_INVALID_ARGUMENT, "'run' is null");
  kernel.run = RunScale;
  FAILS(tenonExtensionAddKernel(extension, &kernel), TENON_ALREADY_EXISTS, "ref.acme.scale");
  FAILS(tenonExtensionAddKernel(NULL, &kernel), TENON_INVALID_ARGUMENT, "null");
  FAILS(tenonExtensionAddRules(extension, tenonString("rule"), tenonString("w.drr")),
        TENON_INVALID_ARGUMENT, "w.drr:1:");
  FAILS(tenonExtensionCreate(NULL), TENON_INVALID_ARGUMENT, "null");
  tenonExtensionDestroy(NULL);
}

static void TestOwnProgram(TenonModel* model, Counts* counts) {
  const TenonOptimizeOptions twice = {.struct_size = sizeof twice,
                                      .pipeline = tenonString("acme-double,acme-double")};
  OK(tenonModelOptimize(model, &twice));
  CHECK(counts->passes == 2);
  Text location = {.size = 0};
  const TenonOptimizeOptions fail = {.struct_size = sizeof fail,
                                     .pipeline = tenonString("acme-fail")};
  FAILS(tenonModelOptimize(model, &fail), TENON_UNIMPLEMENTED, "always fails");
  TenonProgram* program = NULL;
  OK(tenonModelCompile(model, NULL, &program));
  tenonModelDestroy(model);
  CHECK(counts->destroyed == 2);  // of the pass; the program keeps the others
  float x[13] = {1, 2, 3};
  int64_t extent = 3;
  const TenonTensorView view = {x, TENON_F32, &extent, 1};
  TenonTensor* y = NULL;
  OK(tenonProgramRun(program, &view, 1, NULL, &y, 1));
  CHECK(((const float*)tenonTensorView(y).data)[2] == 24);
  tenonTensorDestroy(y);
  extent = 13;
  CHECK(IsError(tenonProgramRun(program, &view, 1, NULL, &y, 1), TENON_INVALID_ARGUMENT, "13",
                &location));
  CHECK(strncmp(location.data, "m.mlir:3:", 9) == 0);
  tenonProgramDestroy(program);
}

void TestExtension(void) {
  Counts counts = {0};
  TenonExtension* extension = MakeExtension(&counts);
  const TenonLoadOptions load = {.struct_size = sizeof load, .extension = extension};
  TenonModel* model = ModelOf(kModel, &load);
  CHECK(counts.verified > 0 && counts.inferred > 0);
  tenonExtensionDestroy(extension);  // models keep a copy
  CHECK(counts.destroyed == 1);
  TestOwnProgram(model, &counts);
  CHECK(counts.destroyed == 4 && counts.ran == 2);

  counts = (Counts){0};
  extension = MakeExtension(&counts);
  TestWrongParts(extension, &counts);
  const TenonLoadOptions again = {.struct_size = sizeof again, .extension = extension};
  // Errors of the functions have a place.
  Text location = {.size = 0};
  char wrong[sizeof kModel];
  memcpy(wrong, kModel, sizeof kModel);
  *strstr(wrong, "2.0 : f32") = '0';
  CHECK(IsError(tenonModelLoadBytes(wrong, strlen(wrong), tenonString("w.mlir"), &again, &model),
                TENON_INVALID_ARGUMENT, "a factor of 0", &location));
  CHECK(strncmp(location.data, "w.mlir:3:", 9) == 0);
  // A fold, by canonicalize.
  model = ModelOf(kConstant, &again);
  const TenonOptimizeOptions fold = {.struct_size = sizeof fold,
                                     .pipeline = tenonString("canonicalize")};
  OK(tenonModelOptimize(model, &fold));
  Text text = {.size = 0};
  PrintTo(tenonModelModule(model), &text);
  CHECK(counts.folded > 0 && strstr(text.data, "acme.scale") == NULL);
  tenonModelDestroy(model);
  // The rule, by O2.
  char rule[sizeof kModel];
  memcpy(rule, kModel, sizeof kModel);
  memcpy(strstr(rule, "acme.scale(%x) <{factor = 2.0 : f32}>"),
         "ten.abs(%x)                          ", 37);
  model = ModelOf(rule, &again);
  OK(tenonModelOptimize(model, NULL));
  PrintTo(tenonModelModule(model), &text);
  CHECK(strstr(text.data, "acme.scale") != NULL);
  tenonModelDestroy(model);
  tenonExtensionDestroy(extension);
}
