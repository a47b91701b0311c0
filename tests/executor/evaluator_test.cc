#include "executor/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "ir/core/constants/blob.h"
#include "ir/core/constants/deferred_blob.h"
#include "tests/executor/mapped_weights.h"
#include "tests/executor/run_util.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

class EvaluatorTest : public ::testing::Test {
 protected:
  // The first op of a function around `body` that is no constant.
  Operation* Parse(std::string_view body) {
    absl::StatusOr<OwnedOp> module =
        ParseModule(*context_, Function("%x: tensor<2x3xf32>, %n: tensor<?xf32, [\"N\"]>",
                                        "(tensor<2x3xf32>, tensor<?xf32, [\"N\"]>) -> ()",
                                        std::string(body) + "\n  func.return() : () -> ()\n"));
    EXPECT_TRUE(module.ok()) << module.status();
    if (!module.ok()) return nullptr;
    module_ = *std::move(module);
    return module_->region().front().front()->region().front().front();
  }
  Attribute Elements(std::string_view text) {
    absl::StatusOr<Attribute> attribute = ParseAttribute(*context_, text);
    EXPECT_TRUE(attribute.ok()) << attribute.status();
    return attribute.ok() ? *attribute : Attribute();
  }

  std::shared_ptr<Context> context_ = NewTestContext();
  OwnedOp module_;
  std::shared_ptr<const kernels::KernelRegistry> registry_ = MakeKernelRegistry();
  ReferenceEvaluator evaluator_{registry_};
};

TEST_F(EvaluatorTest, RunsAnOpOnConstants) {
  Operation* op = Parse(
      "%0 = ten.reduce_sum(%x) <{axes = array<i64: 1>, keepdims = false}> : (tensor<2x3xf32>) -> "
      "tensor<2xf32>");
  ASSERT_NE(op, nullptr);
  const Attribute x = Elements("dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>");
  absl::StatusOr<std::vector<Attribute>> result = evaluator_.Evaluate(*op, {&x, 1});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ((*result)[0].ElementAsDouble(0), 6);
  EXPECT_EQ((*result)[0].ElementAsDouble(1), 15);
}

// Four bytes of a file as a float, read apart from any mapping.
float ValueAt(const std::filesystem::path& path, std::streamoff offset) {
  std::ifstream in(path, std::ios::binary);
  in.seekg(offset);
  float value = 0;
  EXPECT_TRUE(in.read(reinterpret_cast<char*>(&value), sizeof(value)));
  return value;
}

// Weights at an odd place of a file: read there, and not left in memory; also by kernels that need
// them aligned.
TEST_F(EvaluatorTest, ReadsFilesWithoutKeepingThem) {
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) / ("evaluator_" + std::to_string(getpid()));
  WriteWeights(path, 1);
  {
    const MappedWeights mapped(path);
    // 200 x 400 elements of what is written from element 0 on, from its second byte on.
    const std::span<const std::byte> bytes(mapped.weights.as<const std::byte>() + 1, 320'000);
    const auto at = [&](int64_t row, int64_t column) {
      float value;
      std::memcpy(&value, bytes.data() + (row * 400 + column) * 4, sizeof(value));
      return value;
    };
    const Type type = Type::Tensor(*context_, DType::kF32, std::vector<int64_t>{200, 400});
    const Attribute w = Attribute::Elements(*context_, type, Blob::OfFile(bytes, nullptr));
    const auto run = [&](std::string_view text, size_t operands) {
      absl::StatusOr<OwnedOp> module =
          ParseModule(*context_, Function("%x: tensor<200x400xf32>", "(tensor<200x400xf32>) -> ()",
                                          std::string(text) + "\n  func.return() : () -> ()\n"));
      EXPECT_TRUE(module.ok()) << module.status();
      Operation* op = module->get()->region().front().front()->region().front().front();
      // An element that is read keeps its page, so that pages are there to be given up.
      EXPECT_EQ(at(1, 1), ValueAt(path, 64 + 1 + (1 * 400 + 1) * 4));
      EXPECT_GT(mapped.resident_pages(), 0u);
      absl::StatusOr<std::vector<Attribute>> result =
          evaluator_.Evaluate(*op, std::vector<Attribute>(operands, w));
      EXPECT_TRUE(result.ok()) << result.status();
      // Of 79 pages.
      EXPECT_LE(mapped.resident_pages(), 32u);
      return result.ok() ? (*result)[0] : Attribute();
    };
    const size_t live = context_->live_blob_bytes();
    const Attribute joined = run(
        "%0 = ten.concat(%x, %x) <{axis = 1 : i64}> : (tensor<200x400xf32>, tensor<200x400xf32>) "
        "-> tensor<200x800xf32>",
        2);
    // No copy before somebody asks for one element.
    EXPECT_EQ(context_->live_blob_bytes(), live);
    ASSERT_NE(DeferredBlobOf(joined), nullptr);
    EXPECT_EQ(DeferredBlobOf(joined)->recipe(), "2 parts joined, 200 rows");
    const Attribute turned =
        run("%0 = ten.transpose(%x) <{perm = array<i64: 1, 0>}> : (tensor<200x400xf32>) -> "
            "tensor<400x200xf32>",
            1);
    // Every second column, from behind.
    const Attribute columns =
        run("%0 = ten.slice(%x) <{axes = array<i64: 1>, starts = #core.dims<399>, ends = "
            "#core.dims<-401>, steps = array<i64: -2>}> : (tensor<200x400xf32>) -> "
            "tensor<200x200xf32>",
            1);
    EXPECT_NE(DeferredBlobOf(turned), nullptr);
    EXPECT_NE(DeferredBlobOf(columns), nullptr);
    EXPECT_EQ(context_->live_blob_bytes(), live);
    // Rows behind each other are those of the file.
    const Attribute rows =
        run("%0 = ten.slice(%x) <{axes = array<i64: 0>, starts = #core.dims<100>, ends = "
            "#core.dims<200>, steps = array<i64: 1>}> : (tensor<200x400xf32>) -> "
            "tensor<100x400xf32>",
            1);
    ASSERT_TRUE(IsLargeElements(rows));
    EXPECT_EQ(rows.raw_bytes().data(), bytes.data() + 160'000);
    const Attribute negated =
        run("%0 = ten.neg(%x) : (tensor<200x400xf32>) -> tensor<200x400xf32>", 1);
    for (int64_t i : {0, 7, 199}) {
      for (int64_t j : {0, 3, 399}) {
        EXPECT_EQ(joined.ElementAsDouble(i * 800 + 400 + j), at(i, j));
        EXPECT_EQ(turned.ElementAsDouble(j * 200 + i), at(i, j));
        EXPECT_EQ(columns.ElementAsDouble(i * 200 + j / 2), at(i, 399 - j / 2 * 2));
        EXPECT_EQ(rows.ElementAsDouble(i / 2 * 400 + j), at(100 + i / 2, j));
        EXPECT_EQ(negated.ElementAsDouble(i * 400 + j), -at(i, j));
      }
    }
  }
  std::filesystem::remove(path);
}

// Movement of weights of a file, which is deferred, gives what kernels make of the same weights in
// memory, also where one movement follows another.
TEST_F(EvaluatorTest, MovesWeightsOfFilesAsKernelsDo) {
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) / ("evaluator_" + std::to_string(getpid()));
  WriteWeights(path, 1, 3 * 40 * 700);
  const MappedWeights mapped(path);
  std::filesystem::remove(path);
  const std::span<const std::byte> bytes(mapped.weights.as<const std::byte>(),
                                         mapped.weights.num_bytes());
  const Type type = Type::Tensor(*context_, DType::kF32, std::vector<int64_t>{3, 40, 700});
  const Attribute of_file = Attribute::Elements(*context_, type, Blob::OfFile(bytes, nullptr));
  const Attribute in_memory = Attribute::Elements(*context_, type, Blob::Copy(bytes));
  absl::StatusOr<OwnedOp> module = ParseModule(
      *context_, Function("%x: tensor<3x40x700xf32>", "(tensor<3x40x700xf32>) -> ()", R"ir(
  %a = ten.transpose(%x) <{perm = array<i64: 2, 0, 1>}> : (tensor<3x40x700xf32>) -> tensor<700x3x40xf32>
  %b = ten.transpose(%x) <{perm = array<i64: 1, 0, 2>}> : (tensor<3x40x700xf32>) -> tensor<40x3x700xf32>
  %c0, %c1 = ten.split(%x) <{axis = 2 : i64, sizes = #core.dims<699, 1>}> : (tensor<3x40x700xf32>) -> (tensor<3x40x699xf32>, tensor<3x40x1xf32>)
  %d = ten.slice(%a) <{axes = array<i64: 0, 1>, starts = #core.dims<690, 0>, ends = #core.dims<10, 3>, steps = array<i64: -3, 2>}> : (tensor<700x3x40xf32>) -> tensor<227x2x40xf32>
  %e = ten.concat(%a, %a) <{axis = 1 : i64}> : (tensor<700x3x40xf32>, tensor<700x3x40xf32>) -> tensor<700x6x40xf32>
  %f = ten.transpose(%e) <{perm = array<i64: 2, 1, 0>}> : (tensor<700x6x40xf32>) -> tensor<40x6x700xf32>
  %g = ten.neg(%f) : (tensor<40x6x700xf32>) -> tensor<40x6x700xf32>
  func.return() : () -> ()
)ir"));
  ASSERT_TRUE(module.ok()) << module.status();
  auto& body = module->get()->region().front().front()->region().front();
  const auto evaluate = [&](Attribute x) {
    std::map<const ValueImpl*, Attribute> values = {{body.argument(0).impl(), x}};
    std::vector<Attribute> all;
    for (Operation& op : body) {
      if (op.num_results() == 0) continue;
      std::vector<Attribute> operands;
      for (unsigned i = 0; i < op.num_operands(); ++i)
        operands.push_back(values.at(op.operand(i).impl()));
      absl::StatusOr<std::vector<Attribute>> results = evaluator_.Evaluate(op, operands);
      EXPECT_TRUE(results.ok()) << op.name() << ": " << results.status();
      for (unsigned i = 0; results.ok() && i < op.num_results(); ++i) {
        values[op.result(i).impl()] = (*results)[i];
        all.push_back((*results)[i]);
      }
    }
    return all;
  };
  const std::vector<Attribute> moved = evaluate(of_file), computed = evaluate(in_memory);
  ASSERT_EQ(moved.size(), 8u);
  ASSERT_EQ(computed.size(), 8u);
  for (size_t i = 0; i < moved.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(moved[i].type(), computed[i].type());
    const std::shared_ptr<const DeferredBlob> deferred =
        IsLargeElements(moved[i]) ? DeferredBlobOf(moved[i]) : nullptr;
    // All but the column that is too small, and the negated numbers.
    EXPECT_EQ(deferred != nullptr, i != 3 && i != 7);
    EXPECT_FALSE(deferred != nullptr && deferred->has_whole());
    EXPECT_TRUE(SameElements(moved[i], computed[i]) || moved[i] == computed[i]);
  }
}

TEST_F(EvaluatorTest, BindsSymbols) {
  Operation* op =
      Parse("%0 = core.dims() <{dims = #core.dims<\"N + 1\", 7>}> : () -> tensor<2xi64>");
  ASSERT_NE(op, nullptr);
  absl::StatusOr<std::vector<Attribute>> result = evaluator_.Evaluate(
      *op, {},
      [](std::string_view s) { return s == "N" ? std::optional<int64_t>(4) : std::nullopt; });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ((*result)[0].text(), "dense<[5, 7]> : tensor<2xi64>");
  EXPECT_THAT(std::string(evaluator_.Evaluate(*op, {}).status().message()), HasSubstr("'N + 1'"));
}

TEST_F(EvaluatorTest, RefusesWhatKernelsRefuse) {
  Operation* op =
      Parse("%0 = ten.reshape(%x) <{shape = #core.dims<6>}> : (tensor<2x3xf32>) -> tensor<6xf32>");
  ASSERT_NE(op, nullptr);
  const Attribute wrong = Elements("dense<1.0> : tensor<2x2xf32>");
  EXPECT_FALSE(evaluator_.Evaluate(*op, {&wrong, 1}).ok());
  EXPECT_FALSE(evaluator_.Evaluate(*op, {}).ok());
}

TEST_F(EvaluatorTest, TargetKnowsItsKernels) {
  KernelTarget target(registry_);
  Operation* op =
      Parse("%0 = nn.softmax(%x) <{axis = 1 : i64}> : (tensor<2x3xf32>) -> tensor<2x3xf32>");
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(target.WhyNoKernel(*op), "");
  KernelTarget empty(std::make_shared<kernels::KernelRegistry>());
  EXPECT_THAT(empty.WhyNoKernel(*op), HasSubstr("nn.softmax"));
}

TEST_F(EvaluatorTest, LeavesLongProducts) {
  Operation* op = Parse(
      "%0 = ten.matmul(%x, %x) <{transpose_b = true}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> "
      "tensor<2x2xf32>");
  ASSERT_NE(op, nullptr);
  const Attribute x = Elements("dense<1.0> : tensor<2x3xf32>");
  const std::vector<Attribute> operands = {x, x};
  int remarks = 0;
  const ScopedDiagnosticHandler handler(*context_, [&](const Diagnostic& diagnostic) {
    ++remarks;
    EXPECT_EQ(diagnostic.severity, Severity::kRemark);
    EXPECT_THAT(diagnostic.message, HasSubstr("ten.matmul is not evaluated while compiling"));
  });
  // 2 x 2 x 3 multiplications with their additions.
  ReferenceEvaluator each(registry_, {.each = 23});
  EXPECT_TRUE(absl::IsResourceExhausted(each.Evaluate(*op, operands).status()));
  EXPECT_TRUE(absl::IsResourceExhausted(each.Evaluate(*op, operands).status()));
  EXPECT_EQ(remarks, 1);
  ReferenceEvaluator all(registry_, {.each = 24, .all = 50});
  EXPECT_TRUE(all.Evaluate(*op, operands).ok());
  EXPECT_TRUE(all.Evaluate(*op, operands).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(all.Evaluate(*op, operands).status()));
  EXPECT_EQ(remarks, 2);
}

}  // namespace
}  // namespace tenon
