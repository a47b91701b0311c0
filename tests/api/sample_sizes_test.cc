// Sizes that operations do not contradict.
#include "frontends/cpp/samples/sample_sizes.h"

#include "frontends/cpp/tenon.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tenon {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using Sizes = std::map<std::string, int64_t>;

// Scores of keys P + S, plus a mask over `total` keys.
constexpr std::string_view kDecoder = R"ir(
func.func() <{function_type = (tensor<?x4xf32, ["P", ""]>, tensor<?x4xf32, ["S", ""]>, tensor<?x4xf32, ["T", ""]>) -> tensor<?x4xf32, ["T", ""]>, sym_name = "main"}> ({
^bb0(%past: tensor<?x4xf32, ["P", ""]>, %x: tensor<?x4xf32, ["S", ""]>, %mask: tensor<?x4xf32, ["T", ""]>):
  %keys = ten.concat(%past, %x) <{axis = 0 : i64}> : (tensor<?x4xf32, ["P", ""]>, tensor<?x4xf32, ["S", ""]>) -> tensor<?x4xf32, ["P + S", ""]>
  %out = ten.add(%keys, %mask) : (tensor<?x4xf32, ["P + S", ""]>, tensor<?x4xf32, ["T", ""]>) -> tensor<?x4xf32, ["broadcast(T, P + S)", ""]>
  func.return(%out) : (tensor<?x4xf32, ["broadcast(T, P + S)", ""]>) -> ()
}) : () -> ()
)ir";

// As kDecoder, but the mask is cut to the keys, and its length has the name that Optimum gives it.
constexpr std::string_view kNamed = R"ir(
func.func() <{function_type = (tensor<?x4xf32, ["P", ""]>, tensor<?x4xf32, ["S", ""]>, tensor<?x4xf32, ["`P + 1`", ""]>) -> tensor<?x4xf32, ["P + S", ""]>, sym_name = "main"}> ({
^bb0(%past: tensor<?x4xf32, ["P", ""]>, %x: tensor<?x4xf32, ["S", ""]>, %mask: tensor<?x4xf32, ["`P + 1`", ""]>):
  %keys = ten.concat(%past, %x) <{axis = 0 : i64}> : (tensor<?x4xf32, ["P", ""]>, tensor<?x4xf32, ["S", ""]>) -> tensor<?x4xf32, ["P + S", ""]>
  %cut = ten.slice(%mask) <{axes = array<i64: 0>, starts = #core.dims<0>, ends = #core.dims<"P + S">, steps = array<i64: 1>}> : (tensor<?x4xf32, ["`P + 1`", ""]>) -> tensor<?x4xf32, ["min(`P + 1`, P + S)", ""]>
  %out = ten.add(%keys, %cut) : (tensor<?x4xf32, ["P + S", ""]>, tensor<?x4xf32, ["min(`P + 1`, P + S)", ""]>) -> tensor<?x4xf32, ["P + S", ""]>
  func.return(%out) : (tensor<?x4xf32, ["P + S", ""]>) -> ()
}) : () -> ()
)ir";

// Flags of B sequences of length T, looked up at positions 0 … P - 1 of each.
constexpr std::string_view kLookup = R"ir(
func.func() <{function_type = (tensor<?xf32, ["B * T"]>, tensor<?xf32, ["B"]>, tensor<?xf32, ["T"]>, tensor<?xf32, ["P"]>) -> tensor<?x?xf32, ["B", "P"]>, sym_name = "main"}> ({
^bb0(%flags: tensor<?xf32, ["B * T"]>, %b: tensor<?xf32, ["B"]>, %t: tensor<?xf32, ["T"]>, %p: tensor<?xf32, ["P"]>):
  %zero = core.constant() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
  %one = core.constant() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
  %nb = core.dims() <{dims = #core.dims<"B">, scalar = true}> : () -> tensor<i64>
  %np = core.dims() <{dims = #core.dims<"P">, scalar = true}> : () -> tensor<i64>
  %nt = core.dims() <{dims = #core.dims<"T">, scalar = true}> : () -> tensor<i64>
  %i = ten.range(%zero, %nb, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64, ["B"]>
  %row = ten.mul(%i, %nt) : (tensor<?xi64, ["B"]>, tensor<i64>) -> tensor<?xi64, ["B"]>
  %rows = ten.reshape(%row) <{shape = #core.dims<"B", 1>}> : (tensor<?xi64, ["B"]>) -> tensor<?x1xi64, ["B", ""]>
  %j = ten.range(%zero, %np, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64, ["P"]>
  %at = ten.add(%rows, %j) : (tensor<?x1xi64, ["B", ""]>, tensor<?xi64, ["P"]>) -> tensor<?x?xi64, ["B", "P"]>
  %out = ten.gather(%flags, %at) <{axis = 0 : i64}> : (tensor<?xf32, ["B * T"]>, tensor<?x?xi64, ["B", "P"]>) -> tensor<?x?xf32, ["B", "P"]>
  func.return(%out) : (tensor<?x?xf32, ["B", "P"]>) -> ()
}) : () -> ()
)ir";

// The first S rows of a table of 40.
constexpr std::string_view kTable = R"ir(
func.func() <{function_type = (tensor<?xf32, ["S"]>) -> tensor<?xf32, ["S"]>, sym_name = "main"}> ({
^bb0(%x: tensor<?xf32, ["S"]>):
  %table = core.constant() <{value = dense<1.0> : tensor<40xf32>}> : () -> tensor<40xf32>
  %cut = ten.slice(%table) <{axes = array<i64: 0>, starts = #core.dims<0>, ends = #core.dims<"S">, steps = array<i64: 1>}> : (tensor<40xf32>) -> tensor<?xf32, ["S"]>
  %out = ten.add(%x, %cut) : (tensor<?xf32, ["S"]>, tensor<?xf32, ["S"]>) -> tensor<?xf32, ["S"]>
  func.return(%out) : (tensor<?xf32, ["S"]>) -> ()
}) : () -> ()
)ir";

// Two convolutions whose windows must fit.
constexpr std::string_view kWindows = R"ir(
func.func() <{function_type = (tensor<1x1x?xf32, ["", "", "N"]>, tensor<1x1x10xf32>, tensor<1x1x7xf32>) -> tensor<1x1x?xf32, ["", "", "(N - 10) floordiv 5 - 5"]>, sym_name = "main"}> ({
^bb0(%x: tensor<1x1x?xf32, ["", "", "N"]>, %u: tensor<1x1x10xf32>, %w: tensor<1x1x7xf32>):
  %a = nn.conv(%x, %u) <{strides = array<i64: 5>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1 : i64, auto_pad = "NOTSET", layout = "nchw"}> : (tensor<1x1x?xf32, ["", "", "N"]>, tensor<1x1x10xf32>) -> tensor<1x1x?xf32, ["", "", "(N - 10) floordiv 5 + 1"]>
  %b = nn.conv(%a, %w) <{strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1 : i64, auto_pad = "NOTSET", layout = "nchw"}> : (tensor<1x1x?xf32, ["", "", "(N - 10) floordiv 5 + 1"]>, tensor<1x1x7xf32>) -> tensor<1x1x?xf32, ["", "", "(N - 10) floordiv 5 - 5"]>
  func.return(%b) : (tensor<1x1x?xf32, ["", "", "(N - 10) floordiv 5 - 5"]>) -> ()
}) : () -> ()
)ir";

// Bytes of so many columns as the weights have rows.
constexpr std::string_view kBytes = R"ir(
func.func() <{function_type = (tensor<?x?xui8, ["A", "K"]>) -> tensor<?x4xi32, ["A", ""]>, sym_name = "main"}> ({
^bb0(%x: tensor<?x?xui8, ["A", "K"]>):
  %w = core.constant() <{value = dense<3> : tensor<3x4xi8>}> : () -> tensor<3x4xi8>
  %x_zero = core.constant() <{value = dense<2> : tensor<ui8>}> : () -> tensor<ui8>
  %w_zero = core.constant() <{value = dense<1> : tensor<i8>}> : () -> tensor<i8>
  %0 = q.linear(%x, %w, %x_zero, %w_zero) <{to = i32}> : (tensor<?x?xui8, ["A", "K"]>, tensor<3x4xi8>, tensor<ui8>, tensor<i8>) -> tensor<?x4xi32, ["A", ""]>
  func.return(%0) : (tensor<?x4xi32, ["A", ""]>) -> ()
}) : () -> ()
)ir";

Sizes Choose(std::string_view text, const Sizes& given = {}, int64_t start = 8) {
  absl::StatusOr<Model> model = LoadFromBytes(text, "t");
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return {};
  return ChooseSizes(model->main(), given, [&](std::string_view, size_t) { return start; });
}

TEST(SampleSizesTest, ASumFollowsItsParts) {
  EXPECT_THAT(Choose(kDecoder), UnorderedElementsAre(Pair("P", 8), Pair("S", 8), Pair("T", 16)));
  EXPECT_THAT(Choose(kDecoder, {{"P", 100}, {"S", 30}}),
              UnorderedElementsAre(Pair("P", 100), Pair("S", 30), Pair("T", 130)));
}

TEST(SampleSizesTest, GivenSizesStay) {
  EXPECT_THAT(Choose(kDecoder, {{"T", 12}, {"P", 9}}),
              UnorderedElementsAre(Pair("P", 9), Pair("S", 3), Pair("T", 12)));
  // Nothing fits: what was given is kept nevertheless.
  const Sizes impossible = Choose(kDecoder, {{"T", 5}, {"P", 9}, {"S", 2}});
  EXPECT_THAT(impossible, UnorderedElementsAre(Pair("P", 9), Pair("S", 2), Pair("T", 5)));
}

TEST(SampleSizesTest, NamesSayHowSizesDepend) {
  EXPECT_THAT(Choose(kNamed), UnorderedElementsAre(Pair("P", 8), Pair("S", 1), Pair("P + 1", 9)));
  // Another sequence length contradicts the name, which is a hint only.
  const Sizes longer = Choose(kNamed, {{"S", 4}});
  EXPECT_GE(longer.at("P + 1"), longer.at("P") + 4);
}

TEST(SampleSizesTest, NoPastIfNothingElseFits) {
  EXPECT_THAT(Choose(kDecoder, {{"T", 4}, {"S", 4}}),
              UnorderedElementsAre(Pair("P", 0), Pair("S", 4), Pair("T", 4)));
}

TEST(SampleSizesTest, IndicesStayInTheirTable) {
  EXPECT_THAT(Choose(kLookup, {{"P", 20}}),
              UnorderedElementsAre(Pair("B", 8), Pair("T", 20), Pair("P", 20)));
}

TEST(SampleSizesTest, PartsOfTablesAreNoLongerThanThese) {
  EXPECT_EQ(Choose(kTable, {}, 30).at("S"), 30);
  EXPECT_EQ(Choose(kTable, {}, 128).at("S"), 40);
}

TEST(SampleSizesTest, ColumnsAreThoseThatWeightsTake) {
  EXPECT_THAT(Choose(kBytes), UnorderedElementsAre(Pair("A", 8), Pair("K", 3)));
}

TEST(SampleSizesTest, WindowsFit) {
  const int64_t n = Choose(kWindows).at("N");
  EXPECT_GE((n - 10) / 5 + 1, 7);
  EXPECT_LE(n, 64);
}

}  // namespace
}  // namespace tenon
