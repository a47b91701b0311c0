// Statuses, reading IR, building IR.
#include "check.h"

static const char kModel[] =
    "func.func() <{function_type = (tensor<?x2xf32, [\"B\", \"\"]>) -> tensor<?x2xf32, [\"B\", "
    "\"\"]>, sym_name = \"main\"}> ({\n"
    "^bb0(%x: tensor<?x2xf32, [\"B\", \"\"]>):\n"
    "  %a = ten.abs(%x) : (tensor<?x2xf32, [\"B\", \"\"]>) -> tensor<?x2xf32, [\"B\", \"\"]>\n"
    "  %b = ten.add(%a, %a) : (tensor<?x2xf32, [\"B\", \"\"]>, tensor<?x2xf32, [\"B\", \"\"]>) -> "
    "tensor<?x2xf32, [\"B\", \"\"]>\n"
    "  func.return(%b) : (tensor<?x2xf32, [\"B\", \"\"]>) -> ()\n"
    "}) : () -> ()\n";

static bool Stop(TenonString piece, void* state) {
  (void)piece, (void)state;
  return false;
}

void TestStatus(void) {
  CHECK(tenonCApiMajor() == TENON_C_API_MAJOR && tenonCApiMinor() >= TENON_C_API_MINOR);
  CHECK(strchr(tenonVersion(), '.') != NULL);
  CHECK(tenonStatusCode(NULL) == TENON_OK && tenonStatusMessage(NULL).size == 0);
  CHECK(tenonStatusLocation(NULL).size == 0);
  tenonStatusDestroy(NULL);
  TenonStatus* made = tenonStatusCreate(TENON_NOT_FOUND, tenonString("nobody"));
  CHECK(tenonStatusCode(made) == TENON_NOT_FOUND && Is(tenonStatusMessage(made), "nobody"));
  tenonStatusDestroy(made);
  made = tenonStatusCreate(TENON_OK, tenonString(NULL));
  CHECK(tenonStatusCode(made) == TENON_UNKNOWN);
  tenonStatusDestroy(made);

  TenonModel* model = NULL;
  Text location = {.size = 0};
  FAILS(tenonModelLoad(tenonString("no/such.onnx"), NULL, &model), TENON_NOT_FOUND, "no/such.onnx");
  FAILS(tenonModelLoad(tenonString("x"), NULL, NULL), TENON_INVALID_ARGUMENT, "'model' is null");
  FAILS(tenonModelLoad((TenonString){NULL, 3}, NULL, &model), TENON_INVALID_ARGUMENT, "no data");
  CHECK(IsError(tenonModelLoadBytes("what?", 5, tenonString("w.mlir"), NULL, &model),
                TENON_INVALID_ARGUMENT, "w.mlir:1:", &location));
  CHECK(strncmp(location.data, "w.mlir:1:", 9) == 0);
  FAILS(tenonModelLoadBytes(NULL, 0, tenonString("e"), NULL, &model), TENON_INVALID_ARGUMENT,
        "empty");
  // Structs of other versions.
  TenonLoadOptions wrong = {.struct_size = 3};
  FAILS(tenonModelCreate(&wrong, &model), TENON_INVALID_ARGUMENT, "struct_size");
  struct {
    TenonLoadOptions options;
    uint64_t later;
  } newer = {.options = {.struct_size = sizeof newer}, .later = 0};
  OK(tenonModelCreate(&newer.options, &model));
  tenonModelDestroy(model);
  newer.later = 1;
  FAILS(tenonModelCreate(&newer.options, &model), TENON_UNIMPLEMENTED, "does not know");
  TenonLoadOptions older = {.struct_size = sizeof(size_t)};
  OK(tenonModelCreate(&older, &model));
  tenonModelDestroy(model);
  tenonModelDestroy(NULL);
}

static TenonWalk Count(TenonOperation op, void* state) {
  (void)op;
  ++*(int*)state;
  return TENON_WALK_ON;
}

static TenonWalk SkipFunctions(TenonOperation op, void* state) {
  ++*(int*)state;
  return Is(tenonOperationName(op), "func.func") ? TENON_WALK_SKIP : TENON_WALK_ON;
}

static TenonWalk StopAtOnce(TenonOperation op, void* state) {
  (void)op;
  ++*(int*)state;
  return TENON_WALK_STOP;
}

static void ReadFunction(TenonOperation function) {
  CHECK(Is(tenonAttributeText(tenonOperationAttribute(function, tenonString("sym_name"))), "main"));
  const TenonBlock entry = tenonRegionFirstBlock(tenonOperationRegion(function, 0));
  CHECK(tenonBlockNumArguments(entry) == 1 && tenonBlockNext(entry).ptr == NULL);
  CHECK(tenonRegionParent(tenonBlockRegion(entry)).ptr == function.ptr);
  const TenonValue x = tenonBlockArgument(entry, 0);
  CHECK(tenonBlockArgument(entry, 1).ptr == NULL);
  CHECK(tenonValueArgumentBlock(x).ptr == entry.ptr && tenonValueIndex(x) == 0);
  CHECK(tenonValueDefiningOperation(x).ptr == NULL);
  const TenonOperation abs = tenonBlockFirstOperation(entry);
  const TenonOperation add = tenonOperationNext(abs);
  CHECK(Is(tenonOperationName(abs), "ten.abs") && Is(tenonOperationName(add), "ten.add"));
  CHECK(tenonOperationPrevious(add).ptr == abs.ptr && tenonOperationIsRegistered(add));
  CHECK(tenonOperationBlock(add).ptr == entry.ptr && tenonOperationParent(add).ptr == function.ptr);
  CHECK(tenonBlockLastOperation(entry).ptr == tenonOperationNext(add).ptr);
  CHECK(tenonOperationNumOperands(add) == 2 && tenonOperationNumResults(add) == 1);
  CHECK(tenonOperationOperand(abs, 0).ptr == x.ptr && tenonOperationOperand(abs, 1).ptr == NULL);
  const TenonValue a = tenonOperationResult(abs, 0);
  CHECK(tenonValueDefiningOperation(a).ptr == abs.ptr);
  int uses = 0;
  for (TenonUse use = tenonValueFirstUse(a); use.ptr != NULL; use = tenonUseNext(use)) {
    CHECK(tenonUseOperation(use).ptr == add.ptr && tenonUseIndex(use) < 2);
    ++uses;
  }
  CHECK(uses == 2);
  Text name = {.size = 0};
  OK(tenonValueName(a, Append, &name));
  CHECK(strcmp(name.data, "a") == 0);

  const TenonType type = tenonValueType(a);
  CHECK(tenonTypeGetKind(type) == TENON_TYPE_TENSOR && tenonTypeGetDType(type) == TENON_F32);
  CHECK(tenonTypeRank(type) == 2 && tenonTypeExtent(type, 0) == TENON_DYNAMIC);
  CHECK(tenonTypeExtent(type, 1) == 2 && Is(tenonTypeExtentText(type, 0), "B"));
  CHECK(tenonTypeExtentText(type, 9).size == 0);
}

void TestIr(void) {
  TenonModel* const model = ModelOf(kModel, NULL);
  const TenonOperation module = tenonModelModule(model);
  CHECK(Is(tenonOperationName(module), "builtin.module"));
  CHECK(tenonOperationContext(module).ptr == tenonModelContext(model).ptr);
  ReadFunction(tenonModelMain(model));
  int count = 0;
  OK(tenonOperationWalk(module, Count, &count));
  CHECK(count == 5);
  count = 0;
  OK(tenonOperationWalkInsideFirst(module, Count, &count));
  CHECK(count == 5);
  count = 0;
  OK(tenonOperationWalk(module, SkipFunctions, &count));
  CHECK(count == 2);
  count = 0;
  OK(tenonOperationWalk(module, StopAtOnce, &count));
  CHECK(count == 1);
  FAILS(tenonOperationWalk(module, NULL, NULL), TENON_INVALID_ARGUMENT, "'visit' is null");
  OK(tenonOperationVerify(module));

  Text text = {.size = 0}, again = {.size = 0};
  PrintTo(module, &text);
  CHECK(strstr(text.data, "ten.add(%a, %a)") != NULL);
  FAILS(tenonOperationPrint(module, NULL, Stop, NULL), TENON_ABORTED, "callback");
  FAILS(tenonOperationPrint(module, NULL, NULL, NULL), TENON_INVALID_ARGUMENT, "'sink' is null");
  const TenonPrintOptions generic = {.struct_size = sizeof generic, .generic = true};
  OK(tenonOperationPrint(module, &generic, Append, &again));
  CHECK(strstr(again.data, "\"ten.add\"(%") != NULL);

  // Binary, and a copy.
  Text binary = {.size = 0};
  OK(tenonOperationWriteBinary(module, Append, &binary));
  FAILS(tenonOperationWriteBinary(tenonModelMain(model), Append, &binary), TENON_INVALID_ARGUMENT,
        "no module");
  TenonModel *read = NULL, *copy = NULL;
  OK(tenonModelLoadBytes(binary.data, binary.size, tenonString("b.tnb"), NULL, &read));
  PrintTo(tenonModelModule(read), &again);
  CHECK(strcmp(text.data, again.data) == 0);
  OK(tenonModelClone(model, &copy));
  CHECK(tenonModelContext(copy).ptr == tenonModelContext(model).ptr);
  tenonModelDestroy(model);  // the copy keeps the context
  PrintTo(tenonModelModule(copy), &again);
  CHECK(strcmp(text.data, again.data) == 0);
  tenonModelDestroy(read);
  tenonModelDestroy(copy);

  // Null handles.
  const TenonOperation no_op = {NULL};
  const TenonValue no_value = {NULL};
  CHECK(tenonOperationName(no_op).size == 0 && tenonOperationNumOperands(no_op) == 0);
  CHECK(tenonOperationNext(no_op).ptr == NULL && tenonOperationSlot(no_op, 0).ptr == NULL);
  CHECK(tenonValueType(no_value).ptr == NULL && tenonValueFirstUse(no_value).ptr == NULL);
  CHECK(tenonTypeRank((TenonType){NULL}) == -1);
  CHECK(tenonAttributeGetKind((TenonAttribute){NULL}) == TENON_ATTRIBUTE_NULL);
  CHECK(tenonModelModule(NULL).ptr == NULL && tenonModelContext(NULL).ptr == NULL);
  FAILS(tenonOperationVerify(no_op), TENON_INVALID_ARGUMENT, "'op' is null");
  FAILS(tenonValueName(no_value, Append, &text), TENON_INVALID_ARGUMENT, "'value' is null");
}

static void TestAttributes(TenonContext context) {
  TenonAttribute made = {NULL};
  OK(tenonAttributeInt64(context, -7, &made));
  CHECK(tenonAttributeGetKind(made) == TENON_ATTRIBUTE_INTEGER &&
        tenonAttributeIntValue(made) == -7);
  CHECK(tenonAttributeText(made).size == 0 && tenonAttributeFloatValue(made) == 0);
  OK(tenonAttributeFloat(context, TENON_F32, 0.5, &made));
  CHECK(tenonAttributeFloatValue(made) == 0.5);
  FAILS(tenonAttributeFloat(context, TENON_I8, 1, &made), TENON_INVALID_ARGUMENT, "no float type");
  FAILS(tenonAttributeFloat(context, (TenonDType)99, 1, &made), TENON_INVALID_ARGUMENT,
        "no element type");
  const int64_t numbers[] = {4, 5};
  OK(tenonAttributeInt64s(context, numbers, 2, &made));
  CHECK(tenonAttributeSize(made) == 2 && tenonAttributeInts(made)[1] == 5);
  CHECK(tenonAttributeFloats(made) == NULL);
  FAILS(tenonAttributeInt64s(context, NULL, 2, &made), TENON_INVALID_ARGUMENT, "'values' is null");
  OK(tenonAttributeParse(context, tenonString("{b = 2 : i64, a = \"t\"}"), &made));
  CHECK(tenonAttributeSize(made) == 2 && Is(tenonAttributeEntryName(made, 0), "a"));
  CHECK(tenonAttributeIntValue(tenonAttributeFind(made, tenonString("b"))) == 2);
  CHECK(Is(tenonAttributeText(tenonAttributeElement(made, 0)), "t"));
  FAILS(tenonAttributeParse(context, tenonString("{b ="), &made), TENON_INVALID_ARGUMENT, "");
  FAILS(tenonAttributeParse((TenonContext){NULL}, tenonString("1"), &made), TENON_INVALID_ARGUMENT,
        "'context' is null");

  TenonType type = {NULL};
  const int64_t extents[] = {2, 1}, dynamic[] = {TENON_DYNAMIC}, wrong[] = {-5};
  OK(tenonTypeTensor(context, TENON_F32, extents, 2, &type));
  const float elements[] = {1, 2};
  OK(tenonAttributeElements(context, type, elements, sizeof elements, &made));
  const void* bytes = NULL;
  size_t size = 0;
  OK(tenonAttributeBytes(made, &bytes, &size));
  CHECK(size == sizeof elements && memcmp(bytes, elements, size) == 0);
  CHECK(!tenonAttributeIsSplat(made) && tenonAttributeGetType(made).ptr == type.ptr);
  FAILS(tenonAttributeElements(context, type, elements, 7, &made), TENON_INVALID_ARGUMENT,
        "expected 2 elements");
  FAILS(tenonTypeTensor(context, TENON_F32, wrong, 1, &type), TENON_INVALID_ARGUMENT, "extent 0");
  FAILS(tenonTypeTensor(context, TENON_F32, NULL, 1, &type), TENON_INVALID_ARGUMENT, "null");
  FAILS(tenonTypeTensor(context, TENON_F32, extents, 100000, &type), TENON_INVALID_ARGUMENT,
        "dimensions");
  OK(tenonTypeTensor(context, TENON_BOOL, dynamic, 1, &type));
  FAILS(tenonAttributeElements(context, type, "\2", 1, &made), TENON_INVALID_ARGUMENT, "extents");
  OK(tenonTypeTensor(context, TENON_BOOL, extents, 2, &type));
  FAILS(tenonAttributeElements(context, type, "\1\2", 2, &made), TENON_INVALID_ARGUMENT,
        "no element of i1");
  FAILS(tenonTypeParse(context, tenonString("tensor<"), &type), TENON_INVALID_ARGUMENT, "");
  CHECK(tenonDTypeSize(TENON_BF16) == 2 && tenonDTypeSize((TenonDType)77) == 0);
  CHECK(Is(tenonDTypeName(TENON_U8), "ui8"));
}

// func @main(x) { return gelu(x) } by calls.
static TenonOperation BuildFunction(TenonModel* model) {
  const TenonContext context = tenonModelContext(model);
  TenonType type = {NULL}, function_type = {NULL};
  const TenonString extents[] = {tenonString("batch"), tenonString("3")};
  OK(tenonTypeSymbolicTensor(context, TENON_F32, extents, 2, &type));
  OK(tenonTypeFunction(context, &type, 1, &type, 1, &function_type));
  TenonOperation function = {NULL}, gelu = {NULL}, ret = {NULL};
  OK(tenonFunctionCreate(tenonModelModule(model), tenonString("main"), function_type, &function));
  const TenonBlock entry = tenonRegionFirstBlock(tenonOperationRegion(function, 0));
  const TenonValue x = tenonBlockArgument(entry, 0);
  TenonLocation location = {NULL, 0};
  OK(tenonLocationName(context, tenonString("/act/Gelu"), &location));
  const TenonOperationState state = {.struct_size = sizeof state,
                                     .name = tenonString("nn.gelu"),
                                     .location = location,
                                     .operands = &x,
                                     .num_operands = 1,
                                     .infer_results = true};
  OK(tenonOperationCreate(context, &state, &gelu));
  CHECK(tenonOperationBlock(gelu).ptr == NULL);
  OK(tenonBlockAppend(entry, gelu));
  const TenonValue result = tenonOperationResult(gelu, 0);
  OK(tenonValueSetName(result, tenonString("active")));
  const TenonOperationState last = {.struct_size = sizeof last,
                                    .name = tenonString("func.return"),
                                    .operands = &result,
                                    .num_operands = 1};
  OK(tenonOperationCreate(context, &last, &ret));
  OK(tenonBlockAppend(entry, ret));
  return gelu;
}

static void TestChanges(TenonModel* model, TenonOperation gelu) {
  const TenonContext context = tenonModelContext(model);
  TenonOperation copy = {NULL};
  OK(tenonOperationClone(gelu, &copy));
  FAILS(tenonOperationErase(copy), TENON_FAILED_PRECONDITION, "in no block");
  OK(tenonOperationInsertBefore(copy, gelu));
  FAILS(tenonOperationInsertBefore(copy, gelu), TENON_FAILED_PRECONDITION, "in a block");
  FAILS(tenonOperationDestroy(copy), TENON_FAILED_PRECONDITION, "in a block");
  FAILS(tenonOperationErase(gelu), TENON_FAILED_PRECONDITION, "still used");
  OK(tenonValueReplaceAllUses(tenonOperationResult(gelu, 0), tenonOperationResult(copy, 0)));
  OK(tenonOperationErase(gelu));
  OK(tenonOperationVerify(tenonModelModule(model)));
  FAILS(tenonOperationSetOperand(copy, 1, tenonOperationResult(copy, 0)), TENON_INVALID_ARGUMENT,
        "no operand 1");
  FAILS(tenonOperationSetOperand(copy, 0, (TenonValue){NULL}), TENON_INVALID_ARGUMENT, "null");
  TenonAttribute text = {NULL}, number = {NULL};
  OK(tenonAttributeString(context, tenonString("none"), &text));
  OK(tenonAttributeInt64(context, 1, &number));
  OK(tenonOperationSetAttribute(copy, tenonString("acme.note"), number));
  CHECK(tenonAttributeSize(tenonOperationDiscardableAttributes(copy)) == 1);
  for (size_t i = 0; i < tenonOperationNumSlots(copy); ++i)
    CHECK(tenonOperationSlotName(copy, i).size > 0);
  OK(tenonOperationSetAttribute(copy, tenonString("acme.note"), (TenonAttribute){NULL}));
  CHECK(tenonOperationAttribute(copy, tenonString("acme.note")).ptr == NULL);
  FAILS(tenonOperationSetAttribute(tenonModelMain(model), tenonString("sym_name"), number),
        TENON_INVALID_ARGUMENT, "sym_name");
  // Into itself, and of another context.
  const TenonOperation function = tenonModelMain(model);
  OK(tenonOperationDetach(function));
  FAILS(tenonBlockAppend(tenonRegionFirstBlock(tenonOperationRegion(function, 0)), function),
        TENON_INVALID_ARGUMENT, "inside");
  FAILS(tenonOperationInsertBefore(function, copy), TENON_INVALID_ARGUMENT, "inside");
  TenonModel* other = NULL;
  OK(tenonModelCreate(NULL, &other));
  const TenonBlock elsewhere =
      tenonRegionFirstBlock(tenonOperationRegion(tenonModelModule(other), 0));
  FAILS(tenonBlockAppend(elsewhere, function), TENON_INVALID_ARGUMENT, "another context");
  TenonAttribute strange = {NULL};
  OK(tenonAttributeInt64(tenonModelContext(other), 1, &strange));
  FAILS(tenonOperationSetAttribute(copy, tenonString("n"), strange), TENON_INVALID_ARGUMENT,
        "another context");
  TenonLocation far = {NULL, 0};
  OK(tenonLocationFile(tenonModelContext(other), tenonString("f.c"), 3, 1, &far));
  FAILS(tenonOperationSetLocation(copy, far), TENON_INVALID_ARGUMENT, "another context");
  Text place = {.size = 0};
  OK(tenonLocationPrint(tenonModelContext(other), far, Append, &place));
  CHECK(strcmp(place.data, "f.c:3:1") == 0);
  OK(tenonOperationSetLocation(copy, tenonOperationLocation(copy)));
  tenonModelDestroy(other);
  OK(tenonBlockAppend(tenonRegionFirstBlock(tenonOperationRegion(tenonModelModule(model), 0)),
                      function));
  // What does not verify is named by its place.
  Text location = {.size = 0};
  TenonType wrong = {NULL};
  OK(tenonTypeTensor(context, TENON_F64, NULL, 0, &wrong));
  OK(tenonValueSetType(tenonOperationResult(copy, 0), wrong));
  CHECK(IsError(tenonOperationVerify(tenonModelModule(model)), TENON_INVALID_ARGUMENT, "nn.gelu",
                &location));
  CHECK(strcmp(location.data, "/act/Gelu") == 0);
  FAILS(tenonModelOptimize(model, NULL), TENON_INVALID_ARGUMENT, "nn.gelu");
  TenonProgram* program = NULL;
  FAILS(tenonModelCompile(model, NULL, &program), TENON_INVALID_ARGUMENT, "nn.gelu");
}

static void TestWrongOperations(TenonModel* model) {
  const TenonContext context = tenonModelContext(model);
  TenonOperation made = {NULL};
  TenonOperationState state = {.struct_size = sizeof state, .name = tenonString("ten.nothing")};
  FAILS(tenonOperationCreate(context, &state, &made), TENON_NOT_FOUND, "ten.nothing");
  state.name = tenonString("acme.nothing");
  FAILS(tenonOperationCreate(context, &state, &made), TENON_NOT_FOUND, "no dialect");
  state.name = tenonString("nothing");
  FAILS(tenonOperationCreate(context, &state, &made), TENON_INVALID_ARGUMENT, "dialect.name");
  state.name = tenonString("ten.add");
  state.infer_results = true;
  FAILS(tenonOperationCreate(context, &state, &made), TENON_INVALID_ARGUMENT, "operands");
  state.num_operands = 2;
  FAILS(tenonOperationCreate(context, &state, &made), TENON_INVALID_ARGUMENT, "'operands' is null");
  FAILS(tenonOperationCreate(context, NULL, &made), TENON_INVALID_ARGUMENT, "'state' is null");
  FAILS(tenonBlockAppend((TenonBlock){NULL}, made), TENON_INVALID_ARGUMENT, "'block' is null");
  OK(tenonOperationDestroy((TenonOperation){NULL}));
  // An operation with a region, whose block has an argument.
  TenonOperationState module = {.struct_size = sizeof module,
                                .name = tenonString("builtin.module")};
  OK(tenonOperationCreate(context, &module, &made));
  TenonBlock block = {NULL};
  TenonType type = {NULL};
  TenonValue argument = {NULL};
  OK(tenonTypeScalar(context, TENON_F32, &type));
  OK(tenonRegionAddBlock(tenonOperationRegion(made, 0), &type, 1, &block));
  OK(tenonBlockAddArgument(block, type, &argument));
  CHECK(tenonBlockNumArguments(block) == 2 && tenonValueIndex(argument) == 1);
  FAILS(tenonRegionAddBlock(tenonOperationRegion(made, 1), &type, 1, &block),
        TENON_INVALID_ARGUMENT, "'region' is null");
  OK(tenonOperationDestroy(made));
  module.num_regions = 3;
  FAILS(tenonOperationCreate(context, &module, &made), TENON_INVALID_ARGUMENT, "expected 1");
}

void TestBuild(void) {
  TenonModel* model = NULL;
  OK(tenonModelCreate(NULL, &model));
  CHECK(tenonModelMain(model).ptr == NULL);
  TestAttributes(tenonModelContext(model));
  const TenonOperation gelu = BuildFunction(model);
  OK(tenonOperationVerify(tenonModelModule(model)));
  Text text = {.size = 0};
  PrintTo(tenonModelModule(model), &text);
  CHECK(strstr(text.data, "%active = nn.gelu(%") != NULL);
  TestWrongOperations(model);
  // Operations move between models of one context.
  const TenonLoadOptions share = {.struct_size = sizeof share, .context_of = model};
  TenonModel* second = NULL;
  OK(tenonModelCreate(&share, &second));
  TenonOperation copy = {NULL};
  OK(tenonOperationClone(tenonModelMain(model), &copy));
  OK(tenonBlockAppend(tenonRegionFirstBlock(tenonOperationRegion(tenonModelModule(second), 0)),
                      copy));
  TestChanges(model, gelu);
  tenonModelDestroy(model);
  OK(tenonOperationVerify(tenonModelModule(second)));
  tenonModelDestroy(second);
}
