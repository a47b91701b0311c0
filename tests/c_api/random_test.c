// Random changes to IR: whatever calls make of it, they end with a status.
#include <stdlib.h>

#include "check.h"

enum { kMost = 256, kSteps = 60, kModels = 400 };

// What a model has, found anew before each change.
typedef struct Parts {
  TenonOperation ops[kMost];
  size_t num_ops;
  TenonValue values[kMost];
  size_t num_values;
  TenonBlock blocks[kMost];
  size_t num_blocks;
} Parts;

static uint64_t random_state = 1;
static int num_verified = 0;

static size_t Below(size_t bound) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return bound == 0 ? 0 : (size_t)(random_state >> 33) % bound;
}

static const char kStart[] =
    "func.func() <{function_type = (tensor<2x3xf32>) -> tensor<2x3xf32>, sym_name = \"main\"}> ({\n"
    "^bb0(%x: tensor<2x3xf32>):\n"
    "  %c = core.constant() <{value = dense<1.0> : tensor<3xf32>}> : () -> tensor<3xf32>\n"
    "  %a = ten.add(%x, %c) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>\n"
    "  %b = ten.relu(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>\n"
    "  func.return(%b) : (tensor<2x3xf32>) -> ()\n"
    "}) : () -> ()\n";

static const char* const kNames[] = {
    "ten.add",   "ten.matmul",     "ten.transpose",   "ten.reshape", "ten.concat",
    "ten.split", "nn.gelu",        "core.constant",   "core.dims",   "fused.linear",
    "ctl.for",   "ctl.if",         "ctl.yield",       "func.return", "func.call",
    "func.func", "cf.br",          "cf.cond_br",      "kernel.call", "acme.strange",
    "ten.relu",  "builtin.module", "ten.gather",      "nn.conv",     "ten.slice",
    "ten.cast",  "fused.group",    "fused.attention", "q.quantize",  "ten.reduce_sum"};
static const char* const kAttributes[] = {"axis",
                                          "1 : i64",
                                          "perm",
                                          "array<i64: 1, 0>",
                                          "axes",
                                          "array<i64: 7, -1>",
                                          "value",
                                          "dense<[1.0, 2.0]> : tensor<2xf32>",
                                          "sym_name",
                                          "\"main\"",
                                          "callee",
                                          "@main",
                                          "shape",
                                          "#core.dims<\"B\", -1>",
                                          "to",
                                          "f16",
                                          "sizes",
                                          "array<i64: 1, 9223372036854775807>",
                                          "function_type",
                                          "() -> tensor<f32>",
                                          "operandSegmentSizes",
                                          "array<i32: 1, 0, -1>",
                                          "body",
                                          "\"yield add(%0, %9)\"",
                                          "core.name",
                                          "{a = [1, \"b\"]}"};
static const char* const kTypes[] = {"tensor<2x3xf32>",
                                     "tensor<?xf32>",
                                     "tensor<*xi64>",
                                     "f32",
                                     "tensor<i1>",
                                     "tensor<0x3xf64>",
                                     "tuple<f32, none>",
                                     "index",
                                     "!acme.money<1 : i64>",
                                     "(f32) -> f32",
                                     "tensor<?x?xf32, [\"B\", \"B + 1\"]>"};
#define COUNT(array) (sizeof(array) / sizeof *(array))

static TenonWalk Collect(TenonOperation op, void* state) {
  Parts* const parts = state;
  if (parts->num_ops == kMost) return TENON_WALK_STOP;
  parts->ops[parts->num_ops++] = op;
  for (size_t i = 0; i < tenonOperationNumResults(op) && parts->num_values < kMost; ++i)
    parts->values[parts->num_values++] = tenonOperationResult(op, i);
  for (size_t r = 0; r < tenonOperationNumRegions(op); ++r) {
    TenonBlock block = tenonRegionFirstBlock(tenonOperationRegion(op, r));
    for (; block.ptr != NULL && parts->num_blocks < kMost; block = tenonBlockNext(block)) {
      parts->blocks[parts->num_blocks++] = block;
      for (size_t i = 0; i < tenonBlockNumArguments(block) && parts->num_values < kMost; ++i)
        parts->values[parts->num_values++] = tenonBlockArgument(block, i);
    }
  }
  return TENON_WALK_ON;
}

static TenonOperation AnyOp(const Parts* parts) {
  return parts->num_ops == 0 ? (TenonOperation){NULL} : parts->ops[Below(parts->num_ops)];
}
static TenonValue AnyValue(const Parts* parts) {
  return parts->num_values == 0 ? (TenonValue){NULL} : parts->values[Below(parts->num_values)];
}
static TenonBlock AnyBlock(const Parts* parts) {
  return parts->num_blocks == 0 ? (TenonBlock){NULL} : parts->blocks[Below(parts->num_blocks)];
}
static TenonType AnyType(TenonContext context) {
  TenonType type = {NULL};
  OK(tenonTypeParse(context, tenonString(kTypes[Below(COUNT(kTypes))]), &type));
  return type;
}
static TenonNamedAttribute AnyAttribute(TenonContext context) {
  const size_t i = 2 * Below(COUNT(kAttributes) / 2);
  TenonNamedAttribute named = {.name = tenonString(kAttributes[i])};
  OK(tenonAttributeParse(context, tenonString(kAttributes[i + 1]), &named.attribute));
  return named;
}

// Inserts a detached operation somewhere, or destroys it.
static void Place(TenonOperation op, const Parts* parts) {
  TenonStatus* const status = Below(2) == 0 ? tenonBlockAppend(AnyBlock(parts), op)
                                            : tenonOperationInsertBefore(op, AnyOp(parts));
  if (status != NULL) OK(tenonOperationDestroy(op));
  tenonStatusDestroy(status);
}

static void Create(TenonContext context, const Parts* parts) {
  TenonValue operands[3];
  TenonType results[2];
  TenonNamedAttribute attributes[3];
  TenonBlock successor = AnyBlock(parts);
  for (int i = 0; i < 3; ++i) {
    operands[i] = AnyValue(parts);
    attributes[i] = AnyAttribute(context);
    if (i < 2) results[i] = AnyType(context);
  }
  const bool infer = Below(2) == 0;
  const TenonOperationState state = {.struct_size = sizeof state,
                                     .name = tenonString(kNames[Below(COUNT(kNames))]),
                                     .operands = operands,
                                     .num_operands = Below(4),
                                     .result_types = results,
                                     .num_result_types = infer ? 0 : Below(3),
                                     .infer_results = infer,
                                     .attributes = attributes,
                                     .num_attributes = Below(4),
                                     .successors = &successor,
                                     .num_successors = Below(8) == 0 ? 1 : 0,
                                     .num_regions = 0};
  TenonOperation op = {NULL};
  TenonStatus* const status = tenonOperationCreate(context, &state, &op);
  if (status == NULL) Place(op, parts);
  tenonStatusDestroy(status);
}

static void Change(TenonContext context, const Parts* parts) {
  const TenonOperation op = AnyOp(parts);
  const bool is_module = tenonOperationBlock(op).ptr == NULL;
  TenonOperation copy = {NULL};
  TenonBlock block = {NULL};
  TenonValue argument = {NULL};
  const TenonType type = AnyType(context);
  const TenonNamedAttribute named = AnyAttribute(context);
  TenonStatus* status = NULL;
  switch (Below(11)) {
    case 0:
      status = is_module ? NULL : tenonOperationErase(op);
      break;
    case 1:
      status = tenonOperationMoveBefore(op, AnyOp(parts));
      break;
    case 2:
      status = tenonOperationSetOperand(op, Below(3), AnyValue(parts));
      break;
    case 3:
      status = tenonOperationSetAttribute(op, named.name,
                                          Below(3) == 0 ? (TenonAttribute){NULL} : named.attribute);
      break;
    case 4:
      status = tenonValueSetType(AnyValue(parts), type);
      break;
    case 5:
      status = tenonValueReplaceAllUses(AnyValue(parts), AnyValue(parts));
      break;
    case 6:
      status = tenonRegionAddBlock(tenonOperationRegion(op, Below(2)), &type, Below(2), &block);
      break;
    case 7:
      status = tenonBlockAddArgument(AnyBlock(parts), type, &argument);
      break;
    case 8:
      OK(tenonOperationClone(op, &copy));
      Place(copy, parts);
      break;
    case 9:
      status = tenonValueSetName(AnyValue(parts), tenonString("a name\n%"));
      break;
    default:
      Create(context, parts);
      Create(context, parts);
  }
  tenonStatusDestroy(status);
}

static bool Drop(TenonString piece, void* state) {
  *(size_t*)state += piece.size;
  return true;
}

// Everything that reads a model.
static void Use(TenonModel* model) {
  const TenonOperation module = tenonModelModule(model);
  size_t size = 0;
  OK(tenonOperationPrint(module, NULL, Drop, &size));
  const TenonPrintOptions generic = {
      .struct_size = sizeof generic, .generic = true, .locations = true};
  OK(tenonOperationPrint(module, &generic, Drop, &size));
  CHECK(size > 0);
  tenonStatusDestroy(tenonOperationWriteBinary(module, Drop, &size));
  TenonStatus* status = tenonOperationVerify(module);
  const bool valid = status == NULL;
  num_verified += valid;
  tenonStatusDestroy(status);
  TenonProgram* program = NULL;
  status = tenonModelCompile(model, NULL, &program);
  CHECK(valid || status != NULL);
  tenonStatusDestroy(status);
  tenonProgramDestroy(program);
  status = tenonModelOptimize(model, NULL);
  CHECK(valid || status != NULL);
  tenonStatusDestroy(status);
}

void TestRandomChanges(void) {
  const TenonLoadOptions load = {.struct_size = sizeof load, .allow_unregistered_dialects = true};
  for (int i = 0; i < kModels; ++i) {
    random_state = (uint64_t)i;
    TenonModel* const model = ModelOf(kStart, &load);
    const size_t steps = Below(kSteps);
    for (size_t step = 0; step < steps; ++step) {
      Parts parts = {.num_ops = 0};
      OK(tenonOperationWalk(tenonModelModule(model), Collect, &parts));
      Change(tenonModelContext(model), &parts);
    }
    Use(model);
    tenonModelDestroy(model);
  }
  CHECK(num_verified > 0 && num_verified < kModels);
}
