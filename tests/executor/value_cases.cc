#include "tests/executor/value_cases.h"

#include <cstdint>
#include <limits>
#include <string_view>

#include "tests/executor/run_util.h"

namespace tenon {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Tensor I32s(std::vector<int64_t> shape, const std::vector<int32_t>& values) {
  return MakeTensor(DType::kI32, std::move(shape), values);
}
// Vectors and scalars.
Tensor V(const std::vector<int64_t>& values) {
  return Ints({static_cast<int64_t>(values.size())}, values);
}
Tensor S(int64_t value) { return Ints({}, {value}); }
Tensor F(const std::vector<float>& values) {
  return Floats({static_cast<int64_t>(values.size())}, values);
}
Tensor FloatNumber(float value) { return Floats({}, {value}); }

std::vector<ValueCase> Indices() {
  const Tensor x = Ramp({3, 2});
  const Tensor pair = Ints({1, 2}, {2, -1}), update = Ramp({1, 2});
  return {
      {"ten.gather",
       "axis = 0 : i64",
       {{"x", x}, {"indices", V({0, -3})}},
       {"2x2xf32"},
       {{"indices", {V({0, 3}), V({-4, 0}), V({kMax, 0}), V({0, kMin})}}},
       {}},
      {"ten.gather",
       "axis = 1 : i64",
       {{"x", x}, {"indices", I32s({1}, {1})}},
       {"3x1xf32"},
       {{"indices", {I32s({1}, {2}), I32s({1}, {INT32_MIN}), I32s({1}, {INT32_MAX})}}},
       {}},
      {"ten.gather",  // rows of no bytes
       "axis = 0 : i64",
       {{"x", Ramp({3, 0})}, {"indices", V({0, -3})}},
       {"2x0xf32"},
       {{"indices", {V({0, 3})}}},
       {}},
      {"ten.gather_elements",
       "axis = 0 : i64",
       {{"x", x}, {"indices", pair}},
       {"1x2xf32"},
       {{"indices", {Ints({1, 2}, {0, 3}), Ints({1, 2}, {-4, 0}), Ints({1, 2}, {kMin, kMax})}}},
       {}},
      {"ten.gather_nd",
       "",
       {{"x", x}, {"indices", pair}},
       {"1xf32"},
       {{"indices", {Ints({1, 2}, {0, 2}), Ints({1, 2}, {-4, 0}), Ints({1, 2}, {kMin, kMax})}}},
       {}},
      {"ten.scatter_nd",
       "",
       {{"x", x}, {"indices", pair}, {"updates", Ramp({1})}},
       {"3x2xf32"},
       {{"indices", {Ints({1, 2}, {3, 0}), Ints({1, 2}, {0, -3}), Ints({1, 2}, {kMin, kMax})}}},
       {}},
      {"ten.scatter_elements",
       "axis = 0 : i64",
       {{"x", x}, {"indices", pair}, {"updates", update}},
       {"3x2xf32"},
       {{"indices", {Ints({1, 2}, {3, 0}), Ints({1, 2}, {0, -4}), Ints({1, 2}, {kMin, kMax})}}},
       {}},
      {"fused.expert_linear",
       "",
       {{"x", Ramp({3, 2})}, {"w", Ramp({2, 2, 4})}, {"index", V({0, 1, -2})}},
       {"3x4xf32"},
       {{"index", {V({0, 2, 0}), V({0, 0, -3}), V({kMin, 0, kMax})}}},
       {}},
      {"fused.embedding",
       "",
       {{"lookups", V({0, -3})},
        {"lookups", Ramp({3, 4})},
        {"lookups", V({1, 0})},
        {"lookups", Ramp({2, 4})},
        {"lookups", V({0, -1})},
        {"lookups", Ramp({1, 4})}},
       {"2x4xf32", "2x4xf32"},
       {{"lookups", {V({0, 3}), V({-4, 0}), V({kMin, kMax})}}},
       {}},
      {"fused.embedding_pool",
       "axis = 0 : i64",
       {{"ids", V({0, -3})}, {"table", Ramp({3, 4})}},
       {"4xf32"},
       {{"ids", {V({0, 3}), V({-4, 0}), V({kMin, kMax})}}},
       {}},
      {"fused.moved_norm",
       "axis = 0 : i64",
       {{"x", Ramp({3, 2})}, {"index", V({0, -3})}},
       {"2x2xf32"},
       {{"index", {V({0, 3}), V({-4, 0}), V({kMax, 0}), V({0, kMin})}}},
       {}},
      {"nn.rotary_embedding",
       "",
       {{"x", Ramp({1, 1, 2, 4})},
        {"cos", Ramp({3, 2})},
        {"sin", Ramp({3, 2})},
        {"position_ids", Ints({1, 2}, {0, 2})}},
       {"1x1x2x4xf32"},
       {{"position_ids",
         {Ints({1, 2}, {0, 3}), Ints({1, 2}, {-1, 0}), Ints({1, 2}, {kMin, kMax})}}},
       {}},
      {"nn.grid_sample",
       "",
       {{"x", Ramp({1, 1, 3, 3})}, {"grid", Ramp({1, 1, 2, 2})}},
       {"1x1x1x2xf32"},
       {},
       {{"grid",
         {Floats({1, 1, 2, 2}, {kNaN, kInf, -kInf, 0}),
          Floats({1, 1, 2, 2}, {1e30f, -1e30f, 2, -2}),
          Floats({1, 1, 2, 2}, {kInf, kInf, kNaN, kNaN})}}}},
  };
}

std::vector<ValueCase> Regions() {
  const auto region = [](float left, float right) { return Floats({1, 4}, {left, 0, right, 2}); };
  const auto boxes = [](float corner) { return Floats({1, 2, 4}, {0, 0, 1, corner, 0, 0, 1, 1}); };
  const auto scores = [](float first) { return Floats({1, 1, 2}, {first, 0.5f}); };
  return {
      {"nn.roi_align",
       "output_width = 2 : i64",
       {{"x", Ramp({2, 1, 3, 3})}, {"rois", region(0, 2)}, {"batch_indices", V({1})}},
       {"1x1x1x2xf32"},
       {{"batch_indices", {V({2}), V({-1}), V({kMin}), V({kMax})}},
        {"rois", {region(0, kNaN), region(-kInf, 2), region(0, 1e30f)}}},
       {{"rois", {region(0, 0), region(2, -2), region(-1e9f, 1e9f)}}}},
      {"nn.non_max_suppression",
       "",
       {{"boxes", boxes(1)},
        {"scores", scores(1)},
        {"max_output", S(2)},
        {"iou_threshold", FloatNumber(0.5f)},
        {"score_threshold", FloatNumber(0)}},
       {"?x3xi64"},
       {{"iou_threshold", {FloatNumber(-0.5f), FloatNumber(1.5f), FloatNumber(kNaN)}}},
       {{"boxes", {boxes(kNaN), boxes(kInf), boxes(-kInf)}},
        {"scores", {scores(kNaN), scores(kInf), scores(-kInf)}},
        {"max_output", {S(0), S(kMin), S(kMax)}},
        {"score_threshold", {FloatNumber(kNaN), FloatNumber(kInf), FloatNumber(-kInf)}}}},
  };
}

std::vector<ValueCase> Trees() {
  const auto branch = [](const std::vector<int64_t>& numbers) { return Ints({1, 5}, numbers); };
  return {
      {"nn.tree_ensemble",
       "num_targets = 2 : i64",
       {{"x", Ramp({3, 2})},
        {"branches", branch({1, 0, 0, 1, 2})},
        {"splits", F({1})},
        {"leaves", V({0, 1, 2})},
        {"targets", V({0, 1})},
        {"weights", F({1, 2})},
        {"roots", V({0, 0})}},
       {"3x2xf32"},
       {{"branches",
         {branch({2, 0, 0, 1, 2}), branch({-1, 0, 0, 1, 2}), branch({kMax, 0, 0, 1, 2}),
          branch({1, 6, 0, 1, 2}), branch({1, -1, 0, 1, 2}), branch({1, 0, 2, 1, 2}),
          branch({1, 0, 0, 3, 2}), branch({1, 0, 0, 1, kMin}), branch({1, 0, 0, 0, 2})}},
        {"leaves", {V({0, 3, 2}), V({-1, 1, 2}), V({0, 2, 1}), V({0, kMax, kMax})}},
        {"targets", {V({0, 2}), V({-1, 0}), V({kMin, kMax})}},
        {"roots", {V({0, 3}), V({-1, 0}), V({kMin, kMax})}}},
       {{"x", {Floats({3, 2}, {kNaN, kInf, -kInf, kNaN, 0, -0.0f})}},
        {"splits", {F({kNaN}), F({kInf}), F({-kInf})}}}},
  };
}

std::vector<ValueCase> Lengths() {
  return {
      {"nn.recurrence",
       "cell = \"rnn\"",
       {{"x", Ramp({5, 2, 3})}, {"r", Ramp({3, 3})}, {"h", Ramp({2, 3})}, {"lengths", V({5, 0})}},
       {"5x2x3xf32", "2x3xf32"},
       {{"lengths", {V({6, 0}), V({5, -1}), V({kMin, kMax})}}},
       {}},
      {"ten.reverse_sequence",
       "batch_axis = 0 : i64, time_axis = 1 : i64",
       {{"x", Ramp({2, 3})}, {"lengths", V({3, 1})}},
       {"2x3xf32"},
       {{"lengths", {V({4, 1}), V({3, -1}), V({kMin, kMax})}}},
       {}},
      {"ten.check_range",
       "what = \"a thing\"",
       {{"x", V({0, 5})}, {"low", S(0)}, {"high", V({4, 5})}},
       {"2xi64"},
       {{"x", {V({-1, 5}), V({0, 6}), V({5, 5}), V({kMin, kMax})}},
        {"low", {S(1), S(kMax)}},
        {"high", {V({4, 4}), V({kMin, kMin})}}},
       {}},
      {"ten.check_range",
       "what = \"a thing\"",
       {{"x", F({0, kInf})}, {"low", FloatNumber(-kInf)}, {"high", FloatNumber(kInf)}},
       {"2xf32"},
       {{"x", {F({0, kNaN})}},
        {"low", {FloatNumber(kNaN), FloatNumber(1)}},
        {"high", {FloatNumber(kNaN)}}},
       {}},
      {"ctl.for",
       "",
       {{"lb", S(0)}, {"ub", S(3)}, {"step", S(1)}, {"inits", Ramp({2})}},
       {"2xf32"},
       {{"ub", {S(kMax), S(1001)}}, {"lb", {S(kMin), S(-998)}}, {"step", {S(0)}}},
       {{"ub", {S(kMin), S(0), S(1)}},
        {"lb", {S(kMax), S(3)}},
        {"step", {S(kMin), S(-1), S(kMax)}}},
       "({\n^bb0(%i: tensor<i64>, %c: tensor<2xf32>):\n  %n = ten.neg(%c) : (tensor<2xf32>) -> "
       "tensor<2xf32>\n  ctl.yield(%n) : (tensor<2xf32>) -> ()\n})"},
  };
}

std::vector<ValueCase> Axes() {
  const Tensor x = Ramp({2, 3}), ones = Ramp({1, 3, 1});
  return {
      {"ten.dynamic_reduce",
       "kind = \"sum\"",
       {{"x", x}, {"axes", V({-1})}},
       {"?x?xf32"},
       {{"axes", {V({2}), V({-3}), V({kMax}), V({kMin})}}},
       {}},
      {"ten.dynamic_reduce",  // the type says the result's shape
       "keepdims = false, kind = \"sum\"",
       {{"x", x}, {"axes", V({0, 1})}},
       {"f32"},
       {{"axes", {V({0, 0}), V({1, -1}), V({0, 2}), V({kMin, kMax})}}},
       {}},
      {"ten.cumulate",
       "",
       {{"x", x}, {"axis", S(-2)}},
       {"2x3xf32"},
       {{"axis", {S(2), S(-3), S(kMax), S(kMin)}}},
       {}},
      {"ten.dynamic_squeeze",
       "",
       {{"x", ones}, {"axes", V({0, -1})}},
       {"?xf32"},
       {{"axes", {V({0, 0}), V({0, 1}), V({3, 0}), V({0, -4}), V({kMin, kMax})}}},
       {}},
      {"ten.dynamic_squeeze",  // the type says the result's shape
       "",
       {{"x", Ramp({1, 1})}, {"axes", V({0, -1})}},
       {"f32"},
       {{"axes", {V({0, 0}), V({2, 0}), V({kMin, kMax})}}},
       {}},
      {"ten.dynamic_unsqueeze",
       "",
       {{"x", x}, {"axes", V({0, -1})}},
       {"?x?x?x?xf32"},
       {{"axes", {V({0, 0}), V({0, -4}), V({4, 0}), V({0, -5}), V({kMin, kMax})}}},
       {}},
      {"ten.dynamic_trilu",
       "",
       {{"x", x}, {"diagonal", S(1)}},
       {"2x3xf32"},
       {},
       {{"diagonal", {S(kMax), S(kMin), S(-7), S(7)}}}},
  };
}

std::vector<ValueCase> Sizes() {
  const Tensor x = Ramp({2, 3});
  return {
      {"ten.dynamic_dft",
       "",
       {{"x", Ramp({2, 3, 1})}, {"axis", S(1)}, {"length", S(4)}},
       {"?x?x2xf32"},
       {{"axis", {S(2), S(-1), S(3), S(-4), S(kMax), S(kMin)}},
        {"length", {S(0), S(-1), S(kMax), S(kMin)}}},
       {{"axis", {S(0), S(-2)}}, {"length", {S(1), S(9)}}}},
      {"ten.dynamic_dft",  // the type says the result's shape
       "inverse = true, onesided = true",
       {{"x", Ramp({1, 3, 2})}, {"axis", S(1)}},
       {"1x4x1xf32"},
       {{"axis", {S(0), S(2), S(-1), S(kMax), S(kMin)}}},
       {}},
      {"ten.dynamic_topk",
       "axis = 1 : i64",
       {{"x", x}, {"k", V({2})}},
       {"2x?xf32", "2x?xi64"},
       {{"k", {V({4}), V({-1}), V({kMax}), V({kMin})}}},
       {{"k", {V({0}), V({3})}}}},
      {"ten.dynamic_reshape",
       "",
       {{"x", x}, {"shape", V({3, 2})}},
       {"?x?xf32"},
       {{"shape",
         {V({3, 3}), V({-1, -1}), V({-2, -3}), V({4, -1}), V({kMax, kMax}), V({kMin, -1}),
          V({int64_t{1} << 32, int64_t{1} << 32})}}},
       {{"shape", {V({-1, 2}), V({0, 3}), V({6, -1})}}}},
      {"ten.dynamic_reshape",
       "allow_zero = true",
       {{"x", Ramp({2, 0})}, {"shape", V({0, 5})}},
       {"?x?xf32"},
       {{"shape", {V({0, -1}), V({0, -2}), V({0, kMin}), V({1, 1})}}},
       {}},
      {"ten.dynamic_expand",
       "",
       {{"x", Ramp({2, 1})}, {"shape", V({2, 3})}},
       {"2x?xf32"},
       {{"shape", {V({2, -1}), V({3, 3}), V({2, kMax}), V({2, kMin}), V({0, 3})}}},
       {{"shape", {V({1, 1}), V({2, 0})}}}},
      {"ten.dynamic_expand",  // the type says the result's shape
       "",
       {{"x", x}, {"shape", V({1, 3})}},
       {"2x3xf32"},
       {{"shape", {V({1, 4}), V({-1, 3}), V({0, 3}), V({kMin, kMax})}}},
       {{"shape", {V({2, 3}), V({2, 1})}}}},
      {"ten.dynamic_slice",
       "",
       {{"x", x}, {"starts", V({1})}, {"ends", V({3})}, {"axes", V({1})}, {"steps", V({1})}},
       {"?x?xf32"},
       {{"axes", {V({2}), V({-3}), V({kMax}), V({kMin})}}, {"steps", {V({0})}}},
       {{"starts", {V({kMin}), V({kMax}), V({-1})}},
        {"ends", {V({kMin}), V({kMax}), V({-1})}},
        {"steps", {V({kMin}), V({kMax}), V({-1})}}}},
      {"ten.dynamic_pad",
       "",
       {{"x", x}, {"pads", V({1, -1})}, {"axes", V({-1})}},
       {"?x?xf32"},
       {{"pads", {V({-2, -2}), V({kMax, kMax}), V({kMin, 0}), V({int64_t{1} << 46, 0})}},
        {"axes", {V({2}), V({-3}), V({kMax}), V({kMin})}}},
       {}},
      {"ten.dynamic_pad",
       "mode = \"reflect\"",
       {{"x", Ramp({0})}, {"pads", V({0, 0})}},
       {"?xf32"},
       {{"pads", {V({1, 0}), V({0, -1})}}},
       {}},
      {"ten.dynamic_tile",
       "",
       {{"x", x}, {"repeats", V({2, 1})}},
       {"?x?xf32"},
       {{"repeats", {V({-1, 1}), V({kMax, 1}), V({kMin, 1}), V({1 << 30, 1 << 30})}}},
       {{"repeats", {V({0, 1})}}}},
      {"ten.range",
       "",
       {{"start", S(0)}, {"limit", S(5)}, {"delta", S(2)}},
       {"?xi64"},
       {{"start", {S(kMin)}}, {"limit", {S(kMax), S(int64_t{1} << 50)}}, {"delta", {S(0)}}},
       {{"start", {S(kMax), S(5)}}, {"limit", {S(kMin), S(-1)}}, {"delta", {S(kMin), S(kMax)}}}},
      {"ten.range",
       "",
       {{"start", FloatNumber(0)}, {"limit", FloatNumber(5)}, {"delta", FloatNumber(2)}},
       {"?xf32"},
       {{"start", {FloatNumber(kNaN), FloatNumber(kInf), FloatNumber(-kInf), FloatNumber(-3e38f)}},
        {"limit", {FloatNumber(kNaN), FloatNumber(kInf), FloatNumber(3e38f)}},
        {"delta", {FloatNumber(0), FloatNumber(kNaN), FloatNumber(1e-38f)}}},
       {{"delta", {FloatNumber(-1), FloatNumber(kInf)}}}},
      {"ten.dynamic_resize",
       "axes = array<i64: 1>",
       {{"x", x}, {"sizes", V({4})}},
       {"2x?xf32"},
       {{"sizes", {V({-1}), V({kMax}), V({kMin}), V({int64_t{1} << 49})}}},
       {{"sizes", {V({0}), V({1})}}}},
      {"ten.dynamic_resize",
       "axes = array<i64: 1>, policy = \"not_larger\"",
       {{"x", x}, {"sizes", V({4})}},
       {"2x?xf32"},
       {{"sizes", {V({-1}), V({kMax}), V({kMin})}}},
       {}},
      {"ten.dynamic_resize",
       "axes = array<i64: 1>, coordinate_mode = \"tf_crop_and_resize\", mode = \"linear\"",
       {{"x", x}, {"roi", F({0, 1})}, {"scales", F({2})}},
       {"2x?xf32"},
       {{"scales", {F({0}), F({-1}), F({kNaN}), F({kInf}), F({1e30f})}},
        {"roi", {F({kNaN, 1}), F({0, kInf})}}},
       {{"roi", {F({-1e30f, 1e30f}), F({1, 0})}}}},
  };
}

// The result's shape follows from the values, and all have one.
std::vector<ValueCase> Counted() {
  return {
      {"ten.nonzero",
       "",
       {{"x", V({0, 1, 2})}},
       {"1x?xi64"},
       {},
       {{"x", {V({0, 0, 0}), V({kMin, kMax, -1})}}}},
      {"ten.unique",
       "flat = true",
       {{"x", F({0, 1, 1})}},
       {"?xf32", "?xi64", "?xi64", "?xi64"},
       {},
       {{"x", {F({kNaN, kNaN, kInf}), F({0, 0, 0})}}}},
  };
}

Tensor Bytes(std::string_view text) {
  const std::vector<uint8_t> bytes(text.begin(), text.end());
  return MakeTensor(DType::kU8, {static_cast<int64_t>(bytes.size())}, bytes);
}

// Spans must lie in their text, and images must be whole.
std::vector<ValueCase> Spans() {
  constexpr int64_t kByte = int64_t{1} << 31;  // a span that begins one byte later
  const Tensor x = V({2, kByte + 2}), text = Bytes("12345");
  const std::vector<Tensor> outside = {
      V({6, 0}), V({-1, 0}), V({0, kMax}), V({kMin, 0}), V({0, 5 * kByte + 1}), V({0, 6 * kByte})};
  const std::vector<Tensor> inside = {V({0, 0}), V({5, 5 * kByte}), V({4 * kByte + 1, 0})};
  const auto of_x = [&](const std::string& op, const std::string& attrs,
                        const std::vector<std::string>& results) {
    return ValueCase{op, attrs, {{"x", x}, {"text", text}}, results, {{"x", outside}}, {}};
  };
  std::vector<ValueCase> cases = {
      of_x("str.change_case", "to = \"upper\"", {"2xi64", "?xui8"}),
      of_x("str.split", "", {"2x?xi64", "2xi64"}),
      of_x("str.matches", "pattern = \"1.*\"", {"2xi1"}),
      of_x("str.to_number", "to = i64", {"2xi64"}),
      of_x("str.pack", "", {"2xi64", "?xui8"}),
      {"str.find",
       "",
       {{"x", x}, {"text", text}, {"keys", x}, {"keys_text", text}},
       {"2xi64"},
       {{"x", outside}, {"keys", outside}},
       {{"x", inside}, {"keys", inside}}},
  };
  for (const std::string op : {"str.equal", "str.concat"}) {
    cases.push_back({op,
                     "",
                     {{"a", x}, {"a_text", text}, {"b", x}, {"b_text", text}},
                     {"2xi64", "?xui8"},
                     {{"a", outside}, {"b", outside}},
                     {{"a", inside}, {"b", inside}}});
  }
  cases[cases.size() - 2].results = {"2xi1"};
  cases.push_back({"image.decode",
                   "",
                   {{"x", Bytes("P2 2 1 9 0 9")}},
                   {"?x?x3xui8"},
                   {{"x",
                     {Bytes("P2 2 1 9 0 x"), Bytes("P2 2 0 9 0 9"), Bytes("P2 2 1 9 0  "),
                      Bytes("Q2 2 1 9 0 9"), Bytes("P2 99999999 ")}}},
                   {{"x", {Bytes("P2 1 2 9 0 9")}}}});
  return cases;
}

}  // namespace

std::vector<ValueCase> ValueCases() {
  std::vector<ValueCase> all;
  for (const auto& cases :
       {Indices(), Regions(), Trees(), Lengths(), Axes(), Sizes(), Counted(), Spans()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

std::vector<DimsCase> DimsCases() {
  return {
      {"ten.reshape", "shape", "shape = #core.dims<\"S - 3\", 12>", {"?x12xf32"}, 6, 2},
      {"ten.expand", "shape", "shape = #core.dims<\"S - 1\", 6>", {"?x6xf32"}, 2, 3},
      {"ten.split",
       "sizes",
       "axis = 0 : i64, sizes = #core.dims<\"S - 3\", 3>",
       {"?x6xf32", "3x6xf32"},
       4,
       2},
      {"ten.split",
       "sizes",
       "axis = 1 : i64, sizes = #core.dims<\"S\", 3>",
       {"?x?xf32", "?x3xf32"},
       3,
       4},
      {"ten.pad", "pads", "pads = #core.dims<\"S - 4\", 0, 0, 0>", {"?x6xf32"}, 2, 1},
      {"ten.tile", "repeats", "repeats = #core.dims<\"S - 3\", 1>", {"?x6xf32"}, 4, 2},
      {"ten.topk", "k", "axis = 1 : i64, k = #core.dims<\"S - 3\">", {"?x?xf32", "?x?xi64"}, 4, 2},
      {"ten.topk", "k", "axis = 1 : i64, k = #core.dims<\"S\">", {"?x?xf32", "?x?xi64"}, 6, 7},
      {"ten.resize", "sizes", "sizes = #core.dims<\"S\", \"S - 3\">", {"?x?xf32"}, 4, 2},
      {"ten.slice",
       "starts",
       "axes = array<i64: 0>, ends = #core.dims<3>, starts = #core.dims<\"S\">, steps = "
       "array<i64: 1>",
       {"?x6xf32"},
       2,
       -1},
      {"ten.slice",
       "ends",
       "axes = array<i64: 0>, ends = #core.dims<\"S\">, starts = #core.dims<1>, steps = "
       "array<i64: 1>",
       {"?x6xf32"},
       2,
       -1},
      {"random.uniform",
       "shape",
       "shape = #core.dims<\"S - 3\", 6>, to = f32",
       {"?x6xf32"},
       4,
       2,
       false},
      {"random.normal",
       "shape",
       "shape = #core.dims<\"S - 3\", 6>, to = f32",
       {"?x6xf32"},
       4,
       2,
       false},
  };
}

std::vector<DataOperands> DataOnlyDims() {
  return {
      {"a value that others read, and check", {"core.dims.dims", "kernel.dims.dims"}},
      {"of a result that is never made", {"ctl.fail.shape"}},
      {"every offset is a mask, of which rows may see nothing", {"nn.attention.causal_offset"}},
  };
}

}  // namespace tenon
