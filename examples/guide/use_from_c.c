// A C11 program that uses Tenon: docs/guide/use-from-c.md explains this file.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/frontends/c/tenon_c.h"

// Ends the program with the message of an error.
static void Require(TenonStatus* status) {
  if (status == NULL) return;
  const TenonString message = tenonStatusMessage(status);
  fprintf(stderr, "%.*s\n", (int)message.size, message.data);
  tenonStatusDestroy(status);
  exit(1);
}

static bool Print(TenonString piece, void* state) {
  (void)state;
  return fwrite(piece.data, 1, piece.size, stdout) == piece.size;
}

static void PrintRule(TenonString rule, int64_t hits, void* state) {
  (void)state;
  printf("rule %.*s fired %d times\n", (int)rule.size, rule.data, (int)hits);
}

// ---- a model by calls: y = relu(x * w)

static TenonValue Append(TenonBlock block, const char* name, const TenonValue* operands,
                         size_t num_operands, const TenonNamedAttribute* attribute) {
  const TenonOperationState state = {.struct_size = sizeof state,
                                     .name = tenonString(name),
                                     .operands = operands,
                                     .num_operands = num_operands,
                                     .attributes = attribute,
                                     .num_attributes = attribute == NULL ? 0 : 1,
                                     .infer_results = true};
  TenonOperation op;
  const TenonOperation parent = tenonRegionParent(tenonBlockRegion(block));
  Require(tenonOperationCreate(tenonOperationContext(parent), &state, &op));
  Require(tenonBlockAppend(block, op));
  return tenonOperationResult(op, 0);
}

static void BuildModel(TenonModel* model) {
  const TenonContext context = tenonModelContext(model);
  const TenonString in[] = {tenonString("batch"), tenonString("2")};
  const TenonString out[] = {tenonString("batch"), tenonString("3")};
  TenonType x_type, y_type, type;
  Require(tenonTypeSymbolicTensor(context, TENON_F32, in, 2, &x_type));
  Require(tenonTypeSymbolicTensor(context, TENON_F32, out, 2, &y_type));
  Require(tenonTypeFunction(context, &x_type, 1, &y_type, 1, &type));
  TenonOperation function;
  Require(tenonFunctionCreate(tenonModelModule(model), tenonString("main"), type, &function));
  const TenonBlock body = tenonRegionFirstBlock(tenonOperationRegion(function, 0));

  const float numbers[] = {1, 0, -1, 0, 1, 1};
  TenonNamedAttribute value = {.name = tenonString("value")};
  Require(tenonTypeParse(context, tenonString("tensor<2x3xf32>"), &type));
  Require(tenonAttributeElements(context, type, numbers, sizeof numbers, &value.attribute));
  const TenonValue w = Append(body, "core.constant", NULL, 0, &value);
  const TenonValue factors[] = {tenonBlockArgument(body, 0), w};
  const TenonValue product = Append(body, "ten.matmul", factors, 2, NULL);
  const TenonValue y = Append(body, "ten.relu", &product, 1, NULL);
  Append(body, "func.return", &y, 1, NULL);
}

// ---- optimize, compile, run

static void RunProgram(const TenonProgram* program) {
  const TenonPort* const port = tenonProgramInput(program, 0);
  printf("input %.*s has %zu dimensions\n", (int)port->name.size, port->name.data, port->rank);

  float x[] = {1, 2, 3, 4};  // the program reads it in place
  const int64_t shape[] = {2, 2};
  const TenonTensorView input = {x, TENON_F32, shape, 2};
  TenonTensor* output = NULL;
  Require(tenonProgramRun(program, &input, 1, NULL, &output, 1));
  const TenonTensorView y = tenonTensorView(output);
  for (int64_t i = 0; i < tenonTensorNumElements(output); ++i)
    printf("%g ", ((const float*)y.data)[i]);
  printf("\n");
  tenonTensorDestroy(output);
}

static void ShowAnError(const TenonProgram* program) {
  double x[] = {1, 2};
  const int64_t shape[] = {1, 2};
  const TenonTensorView input = {x, TENON_F64, shape, 2};
  TenonTensor* output = NULL;
  TenonStatus* const status = tenonProgramRun(program, &input, 1, NULL, &output, 1);
  const TenonString message = tenonStatusMessage(status);
  printf("error %d: %.*s\n", (int)tenonStatusCode(status), (int)message.size, message.data);
  tenonStatusDestroy(status);
}

// ---- an operation of our own, with its kernel

static TenonStatus* RunClip(const TenonKernelCall* call, void* state) {
  const float limit = *(const float*)state;
  const TenonTensorView x = tenonKernelCallInput(call, 0), y = tenonKernelCallOutput(call, 0);
  const float* const from = x.data;
  float* const to = y.data;
  for (int64_t i = 0; i < x.shape[0]; ++i) to[i] = from[i] < limit ? from[i] : limit;
  return NULL;
}

static TenonExtension* MakeExtension(void) {
  TenonExtension* extension = NULL;
  Require(tenonExtensionCreate(&extension));
  const TenonValueDef value = {tenonString("x"), TENON_SINGLE, 1u << TENON_F32};
  const TenonOpDef op = {.struct_size = sizeof op,
                         .name = tenonString("acme.clip"),
                         .operands = &value,
                         .num_operands = 1,
                         .results = &value,
                         .num_results = 1,
                         .traits = TENON_TRAIT_PURE | TENON_TRAIT_ELEMENTWISE};
  Require(tenonExtensionAddOp(extension, &op));
  float* const limit = malloc(sizeof *limit);
  if (limit == NULL) exit(1);
  *limit = 2;
  const TenonKernel kernel = {.struct_size = sizeof kernel,
                              .op = tenonString("acme.clip"),
                              .name = tenonString("ref.acme.clip"),
                              .run = RunClip,
                              .state = limit,
                              .destroy = free};
  Require(tenonExtensionAddKernel(extension, &kernel));
  const char* const rules =
      "rule acme-clip {\n"
      "  summary \"relu is clip here\"\n"
      "  lowers  ops(relu)\n"
      "  match   relu(x)\n"
      "  replace acme.clip(x)\n"
      "}\n";
  Require(tenonExtensionAddRules(extension, tenonString(rules), tenonString("acme.drr")));
  return extension;
}

static const char kOwn[] =
    "func.func() <{function_type = (tensor<3xf32>) -> tensor<3xf32>, sym_name = \"main\"}> ({\n"
    "^bb0(%x: tensor<3xf32>):\n"
    "  %0 = ten.relu(%x) : (tensor<3xf32>) -> tensor<3xf32>\n"
    "  func.return(%0) : (tensor<3xf32>) -> ()\n"
    "}) : () -> ()\n";

static void RunOwnOperation(void) {
  TenonExtension* const extension = MakeExtension();
  const TenonLoadOptions load = {.struct_size = sizeof load, .extension = extension};
  TenonModel* model = NULL;
  Require(tenonModelLoadBytes(kOwn, strlen(kOwn), tenonString("own.mlir"), &load, &model));
  tenonExtensionDestroy(extension);
  const TenonOptimizeOptions optimize = {.struct_size = sizeof optimize, .on_rule = PrintRule};
  Require(tenonModelOptimize(model, &optimize));
  TenonProgram* program = NULL;
  Require(tenonModelCompile(model, NULL, &program));
  tenonModelDestroy(model);
  float x[] = {1, 2, 3};
  const int64_t shape[] = {3};
  const TenonTensorView input = {x, TENON_F32, shape, 1};
  TenonTensor* output = NULL;
  Require(tenonProgramRun(program, &input, 1, NULL, &output, 1));
  const float* const y = tenonTensorView(output).data;
  printf("%g %g %g\n", y[0], y[1], y[2]);
  tenonTensorDestroy(output);
  tenonProgramDestroy(program);
}

int main(void) {
  TenonModel* model = NULL;
  Require(tenonModelCreate(NULL, &model));
  BuildModel(model);
  const TenonOptimizeOptions optimize = {
      .struct_size = sizeof optimize, .level = TENON_O2, .on_rule = PrintRule};
  Require(tenonModelOptimize(model, &optimize));
  Require(tenonOperationPrint(tenonModelMain(model), NULL, Print, NULL));
  printf("\n");
  const TenonCompileOptions compile = {.struct_size = sizeof compile, .threads = 2};
  TenonProgram* program = NULL;
  Require(tenonModelCompile(model, &compile, &program));
  tenonModelDestroy(model);  // the program does not need it
  RunProgram(program);
  ShowAnError(program);
  tenonProgramDestroy(program);
  RunOwnOperation();
  return 0;
}
