// Values that decide shapes, positions, axes, lengths and counts are checked when a program runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <span>

#include "executor/prepare/run_time_shapes.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "frontends/cpp/tenon.h"
#include "tests/executor/run_util.h"
#include "tests/executor/value_cases.h"
#include "tests/sanitizers.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

// ---- every operand is in a table

bool MayHoldIntegers(const TypeConstraint& constraint) {
  if (constraint.any || constraint.scalar_i1) return true;
  for (DType dtype : {DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU8, DType::kU16,
                      DType::kU32, DType::kU64, DType::kBool}) {
    if ((constraint.dtypes >> static_cast<int>(dtype)) & 1) return true;
  }
  return false;
}

// Operands whose values could decide something: "ten.gather.indices".
std::set<std::string> DecidingCandidates(const Context& context) {
  std::set<std::string> candidates;
  for (const std::string& dialect : context.DialectNames()) {
    for (const OpInfo* info : context.OpsOf(dialect)) {
      if (info->Has(Trait::kElementwise)) continue;
      for (const OperandDef& operand : info->def().operands) {
        // Shapes may follow from floats, too.
        if (MayHoldIntegers(operand.constraint) || HasRunTimeShape(info->id())) {
          candidates.insert(fmt::format("{}.{}", info->name(), operand.name));
        }
      }
    }
  }
  return candidates;
}

void AddAll(const std::vector<DataOperands>& rows, std::map<std::string, int>& times) {
  for (const DataOperands& row : rows) {
    EXPECT_FALSE(row.reason.empty());
    for (std::string_view operand : row.operands) ++times[std::string(operand)];
  }
}

TEST(RunTimeValues, EveryOperandIsCheckedOrData) {
  const std::shared_ptr<Context> context = NewTestContext();
  std::map<std::string, int> times;
  std::set<std::string> executed;
  for (const ValueCase& c : ValueCases()) {
    for (const auto& rows : {c.wrong, c.defined}) {
      for (const OtherValues& other : rows) executed.insert(c.op + "." + other.operand);
    }
  }
  for (const std::string& operand : executed) ++times[operand];
  AddAll(DataOnlyOperands(), times);
  for (const std::string& operand : DecidingCandidates(*context)) {
    EXPECT_EQ(times[operand], 1)
        << operand << " must be in ValueCases() if its values decide a shape, position, axis, "
        << "length or count, with values that a run refuses, and in DataOnlyOperands() if not";
  }
  for (const auto& [operand, count] : times) {
    const size_t dot = operand.rfind('.');
    const OpInfo* info = context->FindOp(std::string_view(operand).substr(0, dot));
    ASSERT_NE(info, nullptr) << operand;
    EXPECT_TRUE(
        std::any_of(info->def().operands.begin(), info->def().operands.end(),
                    [&](const OperandDef& def) { return def.name == operand.substr(dot + 1); }))
        << operand;
  }
}

TEST(RunTimeValues, EveryDimensionAttributeIsCheckedOrData) {
  const std::shared_ptr<Context> context = NewTestContext();
  std::map<std::string, int> times;
  std::set<std::string> executed;
  for (const DimsCase& c : DimsCases()) executed.insert(c.op + "." + c.attr);
  for (const std::string& attr : executed) ++times[attr];
  AddAll(DataOnlyDims(), times);
  for (const std::string& dialect : context->DialectNames()) {
    for (const OpInfo* info : context->OpsOf(dialect)) {
      for (const AttrDef& attr : info->def().attrs) {
        if (attr.type != AttrType::kDims) continue;
        const std::string name = fmt::format("{}.{}", info->name(), attr.name);
        EXPECT_EQ(times[name], 1) << name << " must be in DimsCases() or in DataOnlyDims()";
      }
    }
  }
}

// ---- the tables hold

std::string TypeText(const Tensor& tensor) {
  return fmt::format("tensor<{}>", ShapeText(tensor.dtype(), tensor.shape()));
}

// The elements from `at` on, along the axes from `axis` on, as text.
std::string Elements(const Tensor& tensor, size_t axis, int64_t& at) {
  if (axis == tensor.shape().size()) {
    const std::byte* element = tensor.as<std::byte>() + at++ * SizeOf(tensor.dtype());
    if (!IsFloat(tensor.dtype())) return fmt::format("{}", LoadAsInt(tensor.dtype(), element));
    uint32_t bits;
    std::memcpy(&bits, element, sizeof(bits));
    return fmt::format("0x{:08X}", bits);
  }
  std::vector<std::string> parts;
  for (int64_t i = 0; i < tensor.shape()[axis]; ++i)
    parts.push_back(Elements(tensor, axis + 1, at));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string ConstantText(std::string_view name, const Tensor& tensor) {
  int64_t at = 0;
  const std::string type = TypeText(tensor);
  return fmt::format("  {} = core.constant() <{{value = dense<{}> : {}}}> : () -> {}\n", name,
                     tensor.numel() == 0 ? "" : Elements(tensor, 0, at), type, type);
}

struct OpText {
  std::string op, attrs, regions;
  std::vector<std::string> operand_types, results;
};

// The op on %a0, %a1, …, and the function's return. `type`: of its results.
std::string BodyText(const OpText& op, std::string& type) {
  std::vector<std::string> operands, values, types;
  for (size_t i = 0; i < op.operand_types.size(); ++i) operands.push_back(fmt::format("%a{}", i));
  for (size_t i = 0; i < op.results.size(); ++i) {
    values.push_back(op.results.size() == 1 ? "%r" : fmt::format("%r#{}", i));
    types.push_back(fmt::format("tensor<{}>", op.results[i]));
  }
  const std::string attrs = op.attrs.empty() ? "" : fmt::format(" <{{{}}}>", op.attrs);
  type = fmt::format("({})", fmt::join(types, ", "));
  return fmt::format(
      "  %r{} = {}({}){} {} : ({}) -> {} loc(\"the_node\")\n  func.return({}) : {} -> ()\n",
      op.results.size() == 1 ? "" : fmt::format(":{}", op.results.size()), op.op,
      fmt::join(operands, ", "), attrs, op.regions, fmt::join(op.operand_types, ", "), type,
      fmt::join(values, ", "), type);
}

// With segment sizes where the op has them.
std::string AttrsOf(const ValueCase& c, const OpInfo& info) {
  if (info.segment_slot() < 0) return c.attrs;
  std::vector<int> sizes;
  for (const OperandDef& def : info.def().operands) {
    sizes.push_back(static_cast<int>(
        std::count_if(c.operands.begin(), c.operands.end(),
                      [&](const NamedTensor& operand) { return operand.name == def.name; })));
  }
  return fmt::format("{}{}operandSegmentSizes = array<i32: {}>", c.attrs,
                     c.attrs.empty() ? "" : ", ", fmt::join(sizes, ", "));
}

struct How {
  int level = 0;
  bool reference = false;
  bool constant = false;  // the operand that has other values is a constant of the program
};

absl::Status RunText(const std::string& text, std::span<const Tensor> inputs, const How& how) {
  absl::StatusOr<Model> model = LoadFromBytes(text, "case.ir");
  if (!model.ok()) return model.status();
  absl::Status status = Optimize(*model, {.level = how.level});
  if (!status.ok()) return status;
  absl::StatusOr<Program> program =
      Compile(*model, {.threads = 1, .reference = how.reference, .limits = {.loop_trips = 1000}});
  if (!program.ok()) return program.status();
  return program->Run(inputs).status();
}

absl::Status RunCase(const ValueCase& c, size_t other, const Tensor& value, const How& how) {
  const std::shared_ptr<Context> context = NewTestContext();
  OpText op{.op = c.op,
            .attrs = AttrsOf(c, *context->FindOp(c.op)),
            .regions = c.regions,
            .operand_types = {},
            .results = c.results};
  std::vector<std::string> arguments, types;
  std::vector<Tensor> inputs;
  std::string constant;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    const Tensor& tensor = i == other ? value : c.operands[i].tensor;
    op.operand_types.push_back(TypeText(tensor));
    const std::string name = fmt::format("%a{}", i);
    if (i == other && how.constant) {
      constant = ConstantText(name, tensor);
      continue;
    }
    arguments.push_back(fmt::format("{}: {}", name, op.operand_types.back()));
    types.push_back(op.operand_types.back());
    inputs.push_back(tensor);
  }
  std::string result_type;
  const std::string body = constant + BodyText(op, result_type);
  const std::string type = fmt::format("({}) -> {}", fmt::join(types, ", "), result_type);
  return RunText(Function(fmt::format("{}", fmt::join(arguments, ", ")), type, body), inputs, how);
}

constexpr How kAllWays[] = {{0, true, false}, {2, false, false}, {2, false, true},
                            {2, true, false}, {0, false, false}, {0, false, true}};
// Under sanitizers each level, kind of kernels and kind of operand once.
constexpr std::span<const How> kWays(kAllWays, kUnderSanitizers ? 3 : std::size(kAllWays));

TEST(RunTimeValues, AllWaysAreRun) {
  if (kWays.size() < std::size(kAllWays))
    GTEST_SKIP() << kWays.size() << " of " << std::size(kAllWays)
                 << " ways to run a program: builds without sanitizers run the others";
}

// With a constant, an operation has its static form at every level, and the message that one's
// name.
std::string NameIn(const std::string& op, const How& how) {
  constexpr std::string_view kDynamic = "dynamic_";
  const size_t at = op.find(kDynamic);
  return !how.constant || at == std::string::npos ? op : op.substr(at + kDynamic.size());
}

void ExpectRefused(const absl::Status& status, const std::string& op, const std::string& about) {
  SCOPED_TRACE(about);
  ASSERT_FALSE(status.ok());
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr("the_node"));
  EXPECT_THAT(message, HasSubstr(op));
  EXPECT_THAT(message, HasSubstr("expected"));
  EXPECT_NE(status.code(), absl::StatusCode::kInternal) << message;
}

TEST(RunTimeValues, WrongOnesAreLocatedErrors) {
  for (const ValueCase& c : ValueCases()) {
    for (const How& how : kWays) {
      const std::string about =
          fmt::format("{} at -O{}{}{}", c.op, how.level, how.reference ? ", reference kernels" : "",
                      how.constant ? ", of a constant" : "");
      for (size_t i = 0; i < c.operands.size(); ++i) {
        const NamedTensor& right = c.operands[i];
        const absl::Status status = RunCase(c, i, right.tensor, how);
        EXPECT_TRUE(status.ok()) << about << " " << right.name << ": " << status;
        for (const OtherValues& other : c.wrong) {
          if (other.operand != right.name) continue;
          for (const Tensor& value : other.values) {
            // A variadic operand may hold several types.
            if (value.dtype() != right.tensor.dtype()) continue;
            int64_t at = 0;
            ExpectRefused(RunCase(c, i, value, how), NameIn(c.op, how),
                          fmt::format("{}: {} = {}", about, right.name, Elements(value, 0, at)));
          }
        }
        for (const OtherValues& other : c.defined) {
          if (other.operand != right.name) continue;
          for (const Tensor& value : other.values) {
            int64_t at = 0;
            const absl::Status defined = RunCase(c, i, value, how);
            EXPECT_TRUE(defined.ok()) << about << ": " << right.name << " = "
                                      << Elements(value, 0, at) << ": " << defined;
          }
        }
      }
    }
  }
}

TEST(RunTimeValues, DimensionAttributesAreChecked) {
  for (const DimsCase& c : DimsCases()) {
    const std::string x = "tensor<?x6xf32, [\"S\", \"\"]>";
    std::string result_type;
    const std::string body =
        BodyText({.op = c.op,
                  .attrs = c.attrs,
                  .regions = "",
                  .operand_types = c.has_operand ? std::vector{x} : std::vector<std::string>(),
                  .results = c.results},
                 result_type);
    const std::string text = Function("%a0: " + x, fmt::format("({}) -> {}", x, result_type), body);
    for (const How& how : kWays) {
      if (how.constant) continue;
      const std::string about = fmt::format("{} {} at -O{}", c.op, c.attrs, how.level);
      const absl::Status right = RunText(text, std::vector{Ramp({c.right, 6})}, how);
      EXPECT_TRUE(right.ok()) << about << ": " << right;
      if (c.wrong < 0) continue;
      ExpectRefused(RunText(text, std::vector{Ramp({c.wrong, 6})}, how), c.op, about);
    }
  }
}

// The count of elements is named by an attribute, and nothing reads the positions that have it.
TEST(RunTimeValues, ExtentsOfValuesThatNothingReads) {
  const std::string x = "tensor<?xf32, [\"n\"]>", y = "tensor<?xf32, [\"m\"]>";
  const std::string text = Function("%x: " + x, fmt::format("({}) -> {}", x, y), R"ir(
  %0 = ten.nonzero(%x) : (tensor<?xf32, ["n"]>) -> tensor<1x?xi64, ["", "m"]>
  %1 = core.constant() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %2 = ten.expand(%1) <{shape = #core.dims<"m">}> : (tensor<f32>) -> tensor<?xf32, ["m"]>
  func.return(%2) : (tensor<?xf32, ["m"]>) -> ()
)ir");
  for (const How& how : kWays) {
    if (how.constant) continue;
    const absl::Status status = RunText(text, std::vector{Ramp({5})}, how);
    EXPECT_TRUE(status.ok()) << "at -O" << how.level << ": " << status;
  }
}

// Bounds that doubles cannot tell apart.
TEST(RunTimeValues, RangesOfLargeIntegersAreExact) {
  absl::StatusOr<Program> program =
      CompileText(Function("%a: tensor<i64>, %b: tensor<i64>, %c: tensor<i64>",
                           "(tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>",
                           R"ir(
  %0 = ten.range(%a, %b, %c) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  func.return(%0) : (tensor<?xi64>) -> ()
)ir"));
  ASSERT_TRUE(program.ok()) << program.status();
  const int64_t big = int64_t{1} << 60;
  const auto out = program->Run(std::vector{Ints({}, {big}), Ints({}, {big + 3}), Ints({}, {1})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT(ValuesOf<int64_t>((*out)[0]), ::testing::ElementsAre(big, big + 1, big + 2));
}

}  // namespace
}  // namespace tenon
