#include "tests/spellings/spelling.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "frontends/cpp/tenon.h"
#include "ir/core/block.h"
#include "ir/core/text/printer.h"
#include "kernels/half.h"
#include "tests/sanitizers.h"

namespace tenon::spellings {
namespace {

using Form = Style::Form;

constexpr Style kStyles[] = {
    {.name = "opset17", .opset = 17},
    {.name = "opset13_flipped", .opset = 13, .flip = true},
    {.name = "opset11_vectors", .opset = 11, .form = Form::kVector},
    {.name = "opset18_nodes", .opset = 18, .form = Form::kNode, .positive_axes = true},
    {.name = "opset20_matrices", .opset = 20, .form = Form::kMatrix, .flip = true},
    {.name = "opset14_computed", .opset = 14, .form = Form::kComputed},
    {.name = "opset17_f16", .opset = 17, .half = true},
};

// Does op only move the channels of an input of the function to the end, or those of a result back?
// Convolutions want them last, which says nothing about what has been fused.
bool MovesChannelsAtTheBorder(Operation& op) {
  if (op.name() != "ten.transpose" || op.result().type().rank() < 3) return false;
  const std::span<const int64_t> perm = op.attr("perm").ints();
  const auto rank = static_cast<int64_t>(perm.size());
  bool to_last = perm[0] == 0, to_first = perm[0] == 0;
  for (int64_t i = 1; i < rank; ++i) {
    to_last &= perm[static_cast<size_t>(i)] == (i + 1 < rank ? i + 1 : 1);
    to_first &= perm[static_cast<size_t>(i)] == (i == 1 ? rank - 1 : i - 1);
  }
  if (to_last && op.operand(0).is_block_argument()) return true;
  for (OpOperand& use : op.result().uses()) to_first &= use.owner()->name() == "func.return";
  return to_first;
}

std::vector<std::string> OpsOf(const Model& model) {
  std::vector<std::string> ops;
  for (Operation& op : model.main()->region(0).front()) {
    const std::string name(op.name());
    if (name == "core.constant" || name == "func.return" || MovesChannelsAtTheBorder(op)) continue;
    ops.push_back(name);
  }
  std::sort(ops.begin(), ops.end());
  return ops;
}

std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

double At(const Tensor& t, int64_t i) {
  switch (t.dtype()) {
    case DType::kF16:
      return static_cast<float>(t.as<kernels::Half>()[i]);
    case DType::kF32:
      return t.as<float>()[i];
    case DType::kF64:
      return t.as<double>()[i];
    case DType::kI64:
      return static_cast<double>(t.as<int64_t>()[i]);
    case DType::kBool:
      return t.as<uint8_t>()[i];
    default:
      ADD_FAILURE() << "outputs of " << t.type_text() << " are not compared";
      return 0;
  }
}

void ExpectNear(const std::vector<Tensor>& got, const std::vector<Tensor>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t o = 0; o < got.size(); ++o) {
    ASSERT_EQ(got[o].type_text(), want[o].type_text()) << "output " << o;
    if (want[o].dtype() == DType::kF16) tolerance = std::max(tolerance, 5e-3);
    double largest = 1;
    for (int64_t i = 0; i < want[o].numel(); ++i)
      largest = std::max(largest, std::abs(At(want[o], i)));
    for (int64_t i = 0; i < want[o].numel(); ++i) {
      const double a = At(got[o], i), b = At(want[o], i);
      ASSERT_FALSE(std::isnan(b)) << "output " << o << " at " << i;
      ASSERT_NEAR(a, b, tolerance * largest) << "output " << o << " at " << i;
    }
  }
}

absl::StatusOr<std::vector<Tensor>> Run(const Model& model, const std::vector<Tensor>& inputs,
                                        bool reference) {
  absl::StatusOr<Program> program = Compile(model, {.threads = 1, .reference = reference});
  if (!program.ok()) return program.status();
  return program->Run(inputs);
}

void CheckStyle(const Spelling& spelling, const Style& style) {
  Graph graph(style);
  spelling.build(graph);
  const std::string bytes = graph.Serialize();
  const std::string file = std::string(spelling.name) + "." + style.name + ".onnx";
  // For a look with ir-opt.
  if (const char* folder = std::getenv("TENON_SPELLINGS_DIR"))
    std::ofstream(std::string(folder) + "/" + file, std::ios::binary) << bytes;
  absl::StatusOr<Model> model = LoadFromBytes(bytes, file);
  ASSERT_TRUE(model.ok()) << model.status();
  Model optimized = model->Clone();
  ASSERT_EQ(Optimize(*model, {.level = 0}), absl::OkStatus());
  OptimizeOptions options{.level = 2, .verify_each = true};
  if (spelling.rules[0] != '\0')
    options.pipeline = std::string("O2,fuse{rules=") + spelling.rules + "},constant-fold,dce";
  ASSERT_EQ(Optimize(optimized, options), absl::OkStatus());

  const std::vector<std::string> ops = OpsOf(optimized);
  const std::string text = Print(*optimized.module(), {.elide_resources = true});
  if (spelling.ops[0] == '!') {
    for (const std::string& word : Words(spelling.ops + 1))
      EXPECT_EQ(std::count(ops.begin(), ops.end(), word), 0) << word << " in\n" << text;
  } else {
    EXPECT_EQ(Joined(ops), spelling.ops) << text;
  }

  auto want = Run(*model, graph.inputs(), true), plain = Run(*model, graph.inputs(), false),
       got = Run(optimized, graph.inputs(), false), slow = Run(optimized, graph.inputs(), true);
  ASSERT_TRUE(want.ok()) << want.status();
  ASSERT_TRUE(plain.ok()) << plain.status();
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_TRUE(slow.ok()) << slow.status();
  const double tolerance = style.half ? 1e-2 : 1e-5;
  ExpectNear(*plain, *want, tolerance);
  ExpectNear(*got, *want, tolerance);
  ExpectNear(*slow, *want, tolerance);
}

// Under sanitizers a spelling takes every third style. Its name says which one is the first, so
// that a family has all styles.
bool LeavesOut(std::string_view spelling, size_t style) {
  constexpr size_t kEvery = kUnderSanitizers ? 3 : 1;
  size_t first = 0;
  for (const char c : spelling) first += static_cast<unsigned char>(c);
  return (style + first) % kEvery != 0;
}

TEST(Styles, AreAllRun) {
  if (kUnderSanitizers)
    GTEST_SKIP() << "each spelling takes every third style: the others are the same programs with "
                    "other numbers and opsets, which builds without sanitizers run";
  for (size_t s = 0; s < std::size(kStyles); ++s) EXPECT_FALSE(LeavesOut("gelu", s));
}

}  // namespace

void Check(const Spelling& spelling) {
  for (size_t s = 0; s < std::size(kStyles); ++s) {
    Style style = kStyles[s];
    if (style.half && !spelling.f16) continue;
    if (LeavesOut(spelling.name, s)) continue;
    style.opset = std::max(style.opset, spelling.min_opset);
    SCOPED_TRACE(style.name);
    CheckStyle(spelling, style);
    if (::testing::Test::HasFailure()) return;  // the first one says enough
  }
}

}  // namespace tenon::spellings
