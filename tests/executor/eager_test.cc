// Operations called at once, each on the example of its page, against a program of reference
// kernels.
#include "executor/eager/eager.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <string>

#include "absl/strings/str_split.h"
#include "executor/attr_decode.h"
#include "executor/lowering/lowered_op.h"
#include "executor/prepare/concrete_shapes.h"
#include "ir/base/string_span.h"
#include "tests/executor/run_util.h"

namespace tenon {
namespace {

using eager::CallReport;
using eager::Engine;
using eager::OpEntry;
using eager::Tensors;

// The examples of docs/reference/ops as modules.
std::vector<std::string> Examples() {
  const std::string root = TENON_SOURCE_DIR;
  const std::string command =
      "python3 -B -c \"import sys, glob; sys.path[:0] = ['" + root + "/tools/codegen', '" + root +
      "/tools/docs']; import loader, op_examples; "
      "print('// -----'.join(op_examples.as_module(op_examples.example_of(op)) "
      "for dialect in loader.load(sorted(glob.glob('" +
      root + "/ir/dialect/*.yaml'))) for op in dialect.ops if op_examples.example_of(op)))\"";
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  char buffer[4096];
  while (const size_t read = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, read);
  EXPECT_EQ(pclose(pipe), 0);
  return absl::StrSplit(text, "// -----");
}

Tensor RandomTensor(Type type, std::mt19937& random) {
  std::vector<int64_t> shape;
  for (const DimExpr dim : type.dims()) shape.push_back(dim.is_constant() ? dim.constant() : 3);
  Tensor tensor = Tensor::Make(type.dtype(), shape);
  std::uniform_real_distribution<float> real(-1, 1);
  for (size_t i = 0; i < tensor.num_bytes(); ++i) tensor.as<uint8_t>()[i] = 0;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    switch (type.dtype()) {
      case DType::kF32:
        tensor.as<float>()[i] = real(random);
        break;
      case DType::kF64:
        tensor.as<double>()[i] = real(random);
        break;
      case DType::kF16:
        tensor.as<uint16_t>()[i] = 0x3c00;
        break;
      case DType::kBF16:
        tensor.as<uint16_t>()[i] = 0x3f80;
        break;
      default:
        tensor.as<uint8_t>()[i * SizeOf(type.dtype())] = random() % 2;
    }
  }
  return tensor;
}

// Gives values to operands for which chance finds none that an operation takes.
void GiveMeaning(std::string_view example, std::vector<Tensor>& inputs) {
  const auto is = [example](std::string_view op) {
    return example.find(op) != std::string_view::npos;
  };
  const auto bytes = [](std::string_view text) {
    return Tensor::Copy(DType::kU8, std::vector<int64_t>{static_cast<int64_t>(text.size())},
                        text.data());
  };
  if (is("image.decode(")) inputs[0] = bytes("P6\n1 1\n255\nabc");
  if (is("nn.roi_align(")) inputs[2] = Ints({5}, {0, 0, 0, 0, 0});
  if (is("nn.tree_ensemble(")) {  // feature 2 against a split: leaf 0 or 1
    inputs[1] = Ints({1, 5}, {2, 0, 0, 1, 2});
    inputs[3] = Ints({3}, {0, 1, 2});
    inputs[4] = Ints({2}, {0, 0});
  }
  if (is("str.to_number(")) {
    inputs[0] = Ints({2, 3}, std::vector<int64_t>(6, MakeSpan(0, 1)));
    inputs[1] = bytes("7");
  }
  if (is("ten.dynamic_reshape(")) inputs[1] = Ints({3}, {2, 2, 3});
  if (is("ten.dynamic_squeeze(")) inputs[1] = Ints({1}, {0});
}

// The operands of an operation by group, from the tensors of its values.
absl::StatusOr<std::vector<std::vector<Tensor>>> GroupsOf(const Operation& op,
                                                          const std::function<Tensor&(Value)>& at) {
  absl::InlinedVector<int32_t, 6> segments;
  if (!op.info().OperandSegments(static_cast<int>(op.num_operands()), op.slots(), segments))
    return absl::InternalError("segments");
  std::vector<std::vector<Tensor>> groups;
  unsigned next = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    groups.emplace_back();
    for (int j = 0; j < segments[i]; ++j) groups.back().push_back(at(op.operand(next++)));
    if (segments[i] == 0 && op.info().def().operands[i].arity == Arity::kOptional)
      groups.back().emplace_back();
  }
  return groups;
}

// Runs the operations of a function one after the other. Unimplemented for those that cannot be
// called.
absl::StatusOr<std::vector<Tensor>> Interpret(Engine& engine, Operation& function,
                                              std::span<const Tensor> inputs,
                                              std::set<std::string>& called) {
  std::vector<std::pair<Value, Tensor>> known;
  const auto at = [&known](Value value) -> Tensor& {
    for (auto& [other, tensor] : known) {
      if (other == value) return tensor;
    }
    known.emplace_back(value, Tensor());
    return known.back().second;
  };
  auto& block = function.region(0).front();
  for (unsigned i = 0; i < inputs.size(); ++i) at(block.argument(i)) = inputs[i];
  for (Operation* op = block.front(); op != nullptr; op = op->next()) {
    if (op->name() == "func.return") {
      std::vector<Tensor> results;
      for (unsigned i = 0; i < op->num_operands(); ++i) results.push_back(at(op->operand(i)));
      return results;
    }
    if (op->name() == "core.constant") {
      TENON_ASSIGN_OR_RETURN(at(op->result(0)), Tensor::FromAttribute(op->attr("value")));
      continue;
    }
    const OpEntry* entry = eager::FindOp(op->name());
    if (entry == nullptr) return absl::UnimplementedError(std::string(op->name()));
    TENON_ASSIGN_OR_RETURN(const Slots slots,
                           ConcreteSlots(op->info(), op->slots(), [](std::string_view) {
                             return std::optional<int64_t>(3);
                           }));
    TENON_ASSIGN_OR_RETURN(
        const std::shared_ptr<const void> attrs,
        DecodeAttrs(op->info(), std::span<const Attribute>(slots.data(), slots.size())));
    TENON_ASSIGN_OR_RETURN(const auto groups, GroupsOf(*op, at));
    const std::vector<std::span<const Tensor>> operands(groups.begin(), groups.end());
    CallReport first, second;
    TENON_ASSIGN_OR_RETURN(Tensors results, engine.Call(*entry, operands, attrs.get(), &first));
    EXPECT_EQ(results.size(), op->num_results());
    // The second call finds what the first one has kept.
    TENON_ASSIGN_OR_RETURN(const Tensors again,
                           engine.Call(*entry, operands, attrs.get(), &second));
    EXPECT_EQ(again.size(), results.size());
    EXPECT_TRUE(second.repeated) << op->name();
    EXPECT_EQ(first.kernel, second.kernel);
    called.insert(std::string(op->name()));
    for (unsigned i = 0; i < op->num_results(); ++i) at(op->result(i)) = std::move(results[i]);
  }
  return absl::InternalError("no func.return");
}

void ExpectNear(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.type_text(), expected.type_text());
  if (expected.dtype() == DType::kF32) {
    for (int64_t i = 0; i < expected.numel(); ++i) {
      const float a = actual.as<float>()[i], e = expected.as<float>()[i];
      if (std::isnan(a) && std::isnan(e)) continue;
      if (a == e) continue;
      ASSERT_NEAR(a, e, 1e-5f + 1e-4f * std::fabs(e)) << "element " << i;
    }
    return;
  }
  if (expected.num_bytes() == 0 || expected.dtype() == DType::kF16 ||
      expected.dtype() == DType::kBF16)
    return;
  EXPECT_EQ(std::memcmp(actual.data(), expected.data(), expected.num_bytes()), 0);
}

TEST(EagerTest, EveryOperationAgreesWithItsReference) {
  std::set<std::string> called;
  for (const std::string& example : Examples()) {
    SCOPED_TRACE(example);
    auto context = NewTestContext();
    absl::StatusOr<OwnedOp> module = ParseModule(*context, example);
    ASSERT_TRUE(module.ok()) << module.status();
    Operation* function = (*module)->region().front().front();
    if (function->name() != "func.func") continue;
    std::mt19937 random(7);
    std::vector<Tensor> inputs;
    bool tensors = true;
    auto& block = function->region(0).front();
    for (unsigned i = 0; i < block.num_arguments(); ++i) {
      const Type type = block.argument(i).type();
      tensors = tensors && type.is_tensor();
      if (tensors) inputs.push_back(RandomTensor(type, random));
    }
    if (!tensors) continue;
    GiveMeaning(example, inputs);
    Engine engine;
    absl::StatusOr<std::vector<Tensor>> actual = Interpret(engine, *function, inputs, called);
    if (!actual.ok() && actual.status().code() == absl::StatusCode::kUnimplemented) continue;
    // As the executor sees it: the same error, or results that agree.
    absl::StatusOr<Program> program = CompileText(example);
    ASSERT_TRUE(program.ok()) << program.status();
    absl::StatusOr<std::vector<Tensor>> expected = program->NewSession().Run(inputs);
    // An extent that no operand tells: a call is given a number, a program has none.
    if (expected.status().code() == absl::StatusCode::kFailedPrecondition) continue;
    ASSERT_EQ(actual.ok(), expected.ok()) << actual.status() << "\n" << expected.status();
    if (!expected.ok()) continue;
    ASSERT_EQ(actual->size(), expected->size());
    for (size_t i = 0; i < actual->size(); ++i) {
      SCOPED_TRACE(i);
      ExpectNear((*actual)[i], (*expected)[i]);
    }
  }
  std::vector<std::string> missing;
  for (const OpEntry* entry : eager::AllOps()) {
    if (!called.contains(std::string(entry->name))) missing.emplace_back(entry->name);
  }
  EXPECT_EQ(missing, std::vector<std::string>{});
}

TEST(EagerTest, GeneratedFunctions) {
  const Tensor x = Floats({2, 3}, {1, -2, 3, -4, 5, -6}), w = Floats({3, 1}, {1, 1, 1});
  absl::StatusOr<Tensor> y = eager::Matmul(x, w);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(ValuesOf<float>(*y), (std::vector<float>{2, -5}));
  y = eager::Relu(x);
  ASSERT_TRUE(y.ok());
  EXPECT_EQ(ValuesOf<float>(*y), (std::vector<float>{1, 0, 3, 0, 5, 0}));
  // Attributes, optional operands, several results, and lists on both sides.
  ten::TransposeAttrs turned;
  turned.perm = {1, 0};
  y = eager::Transpose(x, turned);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(ShapeOf(*y), (std::vector<int64_t>{3, 2}));
  absl::StatusOr<std::array<Tensor, 2>> best = eager::Topk(x, {.k = {1}, .axis = 1});
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_EQ(ValuesOf<float>((*best)[0]), (std::vector<float>{3, 5}));
  EXPECT_EQ(ValuesOf<int64_t>((*best)[1]), (std::vector<int64_t>{2, 1}));
  const Tensor bias = Floats({1}, {10});
  y = eager::fused::Linear(x, w, bias, Tensor(),
                           {.activation = ::tenon::fused::LinearActivation::kRelu});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(ValuesOf<float>(*y), (std::vector<float>{12, 5}));
  const Tensor both[] = {x, x};
  y = eager::Concat(both, {.axis = 0});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(ShapeOf(*y), (std::vector<int64_t>{4, 3}));
  y = eager::Cast(x, {.to = DType::kI64});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(ValuesOf<int64_t>(*y), (std::vector<int64_t>{1, -2, 3, -4, 5, -6}));
}

TEST(EagerTest, ViewsShareBytesAndShapesDependOnValues) {
  const Tensor x = Floats({2, 3}, {1, 0, 3, 0, 5, 0});
  absl::StatusOr<Tensor> y = eager::Reshape(x, {.shape = {3, 2}});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->data(), x.data());
  EXPECT_EQ(ShapeOf(*y), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(ShapeOf(x), (std::vector<int64_t>{2, 3}));
  Engine engine;
  CallReport report;
  y = eager::Nonzero(x, {.engine = &engine, .report = &report});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(ShapeOf(*y), (std::vector<int64_t>{2, 3}));
  y = eager::Nonzero(Floats({2, 3}, {1, 0, 0, 0, 0, 0}), {.engine = &engine, .report = &report});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_TRUE(report.repeated);
  EXPECT_EQ(ShapeOf(*y), (std::vector<int64_t>{2, 1}));
}

TEST(EagerTest, ReportsTellTheKernel) {
  Engine engine;
  CallReport report;
  const Tensor a = Tensor::Make(DType::kF64, {2, 2}), f = Floats({2, 2}, {1, 2, 3, 4});
  std::fill_n(a.as<double>(), 4, 1.0);
  ASSERT_TRUE(eager::Matmul(a, a, {}, {.engine = &engine, .report = &report}).ok());
  EXPECT_EQ(report.kernel, "ref.matmul");
  EXPECT_FALSE(report.why_not.empty());
  EXPECT_FALSE(report.repeated);
  ASSERT_TRUE(eager::Matmul(f, f, {}, {.engine = &engine, .report = &report}).ok());
  EXPECT_EQ(report.kernel, "cpu.matmul");
  EXPECT_FALSE(report.repeated);
  ASSERT_TRUE(eager::Matmul(f, f, {}, {.engine = &engine, .report = &report}).ok());
  EXPECT_TRUE(report.repeated);
  EXPECT_EQ(engine.num_signatures(), 2u);
  Engine plain({.reference_only = true});
  ASSERT_TRUE(eager::Matmul(f, f, {}, {.engine = &plain, .report = &report}).ok());
  EXPECT_EQ(report.kernel, "ref.matmul");
}

// A kernel that prepares and runs with a state of its own, as those of other languages do.
TEST(EagerTest, KernelsOfTheHostSeeTheirData) {
  static constexpr auto kValueOf = [](const void* data) {
    return data == nullptr ? -1 : *static_cast<const float*>(data);
  };
  kernels::Kernel kernel = {.op = "ten.relu", .name = "host.relu"};
  kernel.priority = 1000;
  kernel.prepare = [](kernels::PrepareArgs& args, std::shared_ptr<kernels::KernelState>&) {
    args.scratch_bytes = sizeof(float);
    return kValueOf(args.data) == 7 ? kernels::KernelStatus::Ok()
                                    : kernels::KernelStatus::Internal("no data");
  };
  kernel.run = [](const kernels::RunArgs& args) {
    *static_cast<float*>(args.scratch) = kValueOf(args.data);
    for (int64_t i = 0; i < args.outputs[0].numel(); ++i)
      args.outputs[0].as<float>()[i] = *static_cast<const float*>(args.scratch);
    return kernels::KernelStatus::Ok();
  };
  kernel.data = std::make_shared<const float>(7.0f);
  const auto registry = std::make_shared<kernels::KernelRegistry>();
  kernels::RegisterCpuKernels(*registry);
  registry->Add(kernel);
  Engine engine({.registry = registry});
  const Tensor x = Floats({2}, {1, 2});
  const std::span<const Tensor> operand(&x, 1);
  CallReport report;
  const absl::StatusOr<Tensors> results =
      engine.Call(*eager::FindOp("ten.relu"), {&operand, 1}, nullptr, &report);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(report.kernel, "host.relu");
  EXPECT_EQ(results->front().as<float>()[1], 7);
}

TEST(EagerTest, AttributesTellCallsApart) {
  Engine engine;
  const Tensor x = Floats({2, 2}, {1, 2, 3, 4});
  CallReport report;
  for (const int64_t axis : {0, 1, 0, 1}) {
    ten::ReduceSumAttrs attrs;
    attrs.axes = {axis};
    absl::StatusOr<Tensor> y = eager::ReduceSum(x, attrs, {.engine = &engine, .report = &report});
    ASSERT_TRUE(y.ok()) << y.status();
    EXPECT_EQ(y->as<float>()[0], axis == 0 ? 4 : 3);
  }
  EXPECT_TRUE(report.repeated);
  EXPECT_EQ(engine.num_signatures(), 2u);
}

TEST(EagerTest, ForgetsWhatIsTooMuch) {
  Engine engine({.max_signatures = 3});
  for (int64_t n = 1; n <= 10; ++n) {
    const Tensor x = Tensor::Make(DType::kF32, {n});
    std::fill_n(x.as<float>(), n, -1.f);
    absl::StatusOr<Tensor> y = eager::Abs(x, {.engine = &engine});
    ASSERT_TRUE(y.ok()) << y.status();
    EXPECT_EQ(y->as<float>()[n - 1], 1);
    EXPECT_LE(engine.num_signatures(), 3u);
  }
}

TEST(EagerTest, RandomOperationsDrawOtherNumbersEachTime) {
  Engine first({.seed = 5}), again({.seed = 5});
  const ::tenon::random::UniformAttrs attrs = {.shape = {8}, .to = DType::kF32};
  const auto draw = [&](Engine& engine) {
    absl::StatusOr<Tensor> y = eager::random::Uniform(attrs, {.engine = &engine});
    EXPECT_TRUE(y.ok()) << y.status();
    return y.ok() ? ValuesOf<float>(*y) : std::vector<float>();
  };
  const std::vector<float> a = draw(first), b = draw(first);
  EXPECT_NE(a, b);
  EXPECT_EQ(a, draw(again));
  EXPECT_EQ(b, draw(again));
}

TEST(EagerTest, UnalignedOperandsAreCopied) {
  std::vector<float> values = {0, 1, 2, 3, 4};
  char* odd = reinterpret_cast<char*>(values.data()) + 1;
  const float want[] = {-1, 2};
  std::memmove(odd, want, sizeof want);
  const Tensor x = Tensor::Borrow(DType::kF32, std::vector<int64_t>{2}, odd, nullptr);
  absl::StatusOr<Tensor> y = eager::Abs(x);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(ValuesOf<float>(*y), (std::vector<float>{1, 2}));
}

TEST(EagerTest, WrongCallsAreErrors) {
  const Tensor x = Floats({2, 3}, {1, 2, 3, 4, 5, 6}), flag = Tensor::Make(DType::kBool, {2, 3});
  const auto message = [](const auto& result) { return std::string(result.status().message()); };
  EXPECT_EQ(message(eager::Abs(Tensor())),
            "ten.abs: operand 'x' is a null tensor (only optional ones may be)");
  for (const absl::StatusOr<Tensor>& wrong :
       {eager::Matmul(x, x), eager::Exp(flag), eager::Add(x, flag), eager::Cast(x, {}),
        eager::Transpose(x, {.perm = {0, 0}}), eager::Reshape(x, {.shape = {4}}),
        eager::Concat({}, {.axis = 0}), eager::ReduceSum(x, {.axes = {7}})}) {
    EXPECT_FALSE(wrong.ok());
    EXPECT_EQ(wrong.status().code(), absl::StatusCode::kInvalidArgument) << wrong.status();
    EXPECT_TRUE(message(wrong).starts_with("ten.")) << message(wrong);
  }
  // Values out of range are found when the kernel runs.
  const absl::StatusOr<Tensor> far = eager::Gather(x, Ints({1}, {9}), {.axis = 0});
  EXPECT_EQ(far.status().code(), absl::StatusCode::kInvalidArgument) << far.status();
  // No operation ends the process, whatever it is given.
  const OpEntry* matmul = eager::FindOp("ten.matmul");
  ASSERT_NE(matmul, nullptr);
  EXPECT_EQ(eager::FindOp("core.constant"), nullptr);
  const std::span<const Tensor> one[] = {{&x, 1}};
  EXPECT_FALSE(Engine::OfThread().Call(*matmul, one).ok());
  EXPECT_FALSE(Engine::OfThread().Call(*matmul, {}).ok());
}

// Every operation with wrong numbers, types and ranks of operands: an error, or a result.
TEST(EagerTest, NothingEndsTheProcess) {
  std::mt19937 random(3);
  Engine engine;
  const Tensor choices[] = {Tensor(),
                            Floats({}, {1}),
                            Floats({0}, {}),
                            Floats({2, 3}, {1, 2, 3, 4, 5, 6}),
                            Ints({3}, {2, -1, 1000000}),
                            Ints({2, 3}, {0, 1, 2, 0, 1, 2}),
                            Tensor::Copy(DType::kBool, std::vector<int64_t>{2}, "\0\1"),
                            Tensor::Copy(DType::kU8, std::vector<int64_t>{4}, "abcd")};
  auto context = NewTestContext();
  int ran = 0;
  for (const OpEntry* entry : eager::AllOps()) {
    const OpInfo& info = *context->FindOp(entry->name);
    // The attributes at their defaults.
    const Slots slots(FillDefaults(info, {}));
    const absl::StatusOr<std::shared_ptr<const void>> attrs =
        DecodeAttrs(info, std::span<const Attribute>(slots.data(), slots.size()));
    ASSERT_TRUE(attrs.ok()) << entry->name << attrs.status();
    for (int i = 0; i < 40; ++i) {
      std::vector<std::vector<Tensor>> groups;
      for (const OperandDef& operand : info.def().operands) {
        groups.emplace_back(operand.arity == Arity::kVariadic ? random() % 3 : 1);
        for (Tensor& tensor : groups.back()) tensor = choices[random() % std::size(choices)];
      }
      const std::vector<std::span<const Tensor>> operands(groups.begin(), groups.end());
      const absl::StatusOr<Tensors> results = engine.Call(*entry, operands, attrs->get());
      ran += results.ok();
      if (!results.ok()) {
        EXPECT_TRUE(std::string(results.status().message()).starts_with(entry->name))
            << results.status();
      }
    }
  }
  EXPECT_GT(ran, 100);
}

}  // namespace
}  // namespace tenon
