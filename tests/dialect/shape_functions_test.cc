// Shape functions, called as the builder and the verifier call them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "ir/core/builder.h"
#include "ir/core/context/context.h"
#include "ir/core/text/parser.h"
#include "ir/dialect/dialects.h"

namespace tenon {
namespace {

using Texts = std::vector<std::string>;
using Attrs = std::map<std::string, std::string>;

// A type written with extents only: "2xBx?xf32" stands for tensor<2x?x?xf32, ["", "B", ""]>.
std::string TypeText(const std::string& shorthand) {
  std::string dims, names;
  bool symbolic = false;
  size_t begin = 0;
  for (size_t x = shorthand.find('x'); x != std::string::npos; x = shorthand.find('x', begin)) {
    const std::string dim = shorthand.substr(begin, x - begin);
    const bool number = dim.find_first_not_of("0123456789") == std::string::npos;
    dims += (number ? dim : "?") + "x";
    names += std::string(names.empty() ? "" : ", ") +
             (number || dim == "?" ? "\"\"" : "\"" + dim + "\"");
    symbolic |= !number && dim != "?";
    begin = x + 1;
  }
  return "tensor<" + dims + shorthand.substr(begin) + (symbolic ? ", [" + names + "]" : "") + ">";
}

class ShapeFunctions : public ::testing::Test {
 protected:
  ShapeFunctions() { RegisterAllDialects(context_); }

  // Results in shorthand, separated by "; ", or the message of the error.
  std::string Infer(const std::string& name, const Texts& operands, const Attrs& attrs = {},
                    const std::vector<int>& segments = {}) {
    const OpInfo* info = context_.FindOp(name);
    if (info == nullptr) return "no op " + name;
    std::vector<Type> types;
    for (const std::string& text : operands) {
      const std::string full = text == "*" ? "tensor<*xf32>" : TypeText(text);
      absl::StatusOr<Type> type = ParseType(context_, full);
      if (!type.ok()) return std::string(type.status().message());
      types.push_back(*type);
    }
    std::vector<Attribute> slots(info->num_slots());
    for (const auto& [key, text] : attrs) {
      const int slot = info->FindSlot(key);
      if (slot < 0) return "no attribute " + key;
      absl::StatusOr<Attribute> attr = ParseAttribute(context_, text);
      if (!attr.ok()) return std::string(attr.status().message());
      slots[slot] = *attr;
    }
    if (info->segment_slot() >= 0) {
      std::vector<int64_t> sizes(segments.begin(), segments.end());
      for (size_t i = sizes.size(); i < info->def().operands.size(); ++i) {
        sizes.push_back(i < operands.size() ? 1 : 0);
      }
      slots[info->segment_slot()] = Attribute::Ints(context_, DType::kI32, sizes);
    }
    ResultTypes results;
    const auto filled = FillDefaults(*info, slots);
    const absl::Status status =
        InferResultTypes(*info, Location(), std::span<const Type>(types), filled, results);
    if (!status.ok()) return std::string(status.message());
    std::string text;
    for (Type type : results) {
      if (!text.empty()) text += "; ";
      if (!type.is_tensor()) {
        text += type.text();
        continue;
      }
      for (DimExpr d : type.dims()) text += d.text() + "x";
      text += Name(type.dtype());
    }
    return text;
  }

  Context context_;
};

TEST_F(ShapeFunctions, ElementwiseBroadcasts) {
  EXPECT_EQ(Infer("ten.add", {"2x3xf32", "3xf32"}), "2x3xf32");
  EXPECT_EQ(Infer("ten.add", {"2x1xf32", "1x3xf32"}), "2x3xf32");
  EXPECT_EQ(Infer("ten.add", {"BxSx768xf32", "768xf32"}), "BxSx768xf32");
  EXPECT_EQ(Infer("ten.add", {"Bx1xf32", "1xSxf32"}), "BxSxf32");
  EXPECT_EQ(Infer("ten.add", {"Bxf32", "4xf32"}), "4xf32");
  EXPECT_EQ(Infer("ten.add", {"Bxf32", "Sxf32"}), "broadcast(B, S)xf32");
  EXPECT_EQ(Infer("ten.add", {"?xf32", "?xf32"}), "?xf32");
  EXPECT_EQ(Infer("ten.add", {"f32", "0xf32"}), "0xf32");
  EXPECT_EQ(Infer("ten.add", {"*", "3xf32"}), "tensor<*xf32>");
  EXPECT_EQ(Infer("ten.equal", {"2xi64", "i64"}), "2xi1");
  EXPECT_EQ(Infer("ten.where", {"2x1xi1", "3xf16", "f16"}), "2x3xf16");
  EXPECT_EQ(Infer("ten.fma", {"2x1xf32", "3xf32", "f32"}), "2x3xf32");
  EXPECT_EQ(Infer("ten.cast", {"Bxi64"}, {{"to", "f32"}}), "Bxf32");
  EXPECT_EQ(Infer("ten.add", {"2xf32", "3xf32"}),
            "ten.add: operands of shapes [2] and [3] cannot be broadcast together, expected equal "
            "extents or 1");
  EXPECT_EQ(Infer("ten.where", {"i1", "f32", "f16"}),
            "ten.where: operands a and b must have one element type, not f32 and f16");
}

TEST_F(ShapeFunctions, MatMul) {
  EXPECT_EQ(Infer("ten.matmul", {"2x3xf32", "3x4xf32"}), "2x4xf32");
  EXPECT_EQ(Infer("ten.matmul", {"BxSx768xf32", "768x64xf32"}), "BxSx64xf32");
  EXPECT_EQ(Infer("ten.matmul", {"5x1x2x3xf32", "7x3x4xf32"}), "5x7x2x4xf32");
  EXPECT_EQ(Infer("ten.matmul", {"3xf32", "3xf32"}), "f32");
  EXPECT_EQ(Infer("ten.matmul", {"3xf32", "2x3x4xf32"}), "2x4xf32");
  EXPECT_EQ(Infer("ten.matmul", {"2x5x3xf32", "3xf32"}), "2x5xf32");
  EXPECT_EQ(Infer("ten.matmul", {"3x2xf32", "4x3xf32"},
                  {{"transpose_a", "true"}, {"transpose_b", "true"}}),
            "2x4xf32");
  EXPECT_EQ(Infer("ten.matmul", {"2x0xf32", "0x4xf32"}), "2x4xf32");
  EXPECT_EQ(Infer("ten.matmul", {"2x3xf32", "4x5xf32"}),
            "ten.matmul: the inner extents must agree, but a has 3 and b has 4 (shapes [2, 3] and "
            "[4, 5])");
  EXPECT_EQ(Infer("ten.matmul", {"f32", "4x5xf32"}),
            "ten.matmul: operands must have rank 1 or more, not 0");
}

TEST_F(ShapeFunctions, Einsum) {
  EXPECT_EQ(Infer("ten.einsum", {"BxSx8xf32", "8x4xf32"}, {{"equation", "\"bij,jk->bik\""}}),
            "BxSx4xf32");
  EXPECT_EQ(Infer("ten.einsum", {"2x3xf32", "3x4xf32"}, {{"equation", "\"ij,jk\""}}), "2x4xf32");
  EXPECT_EQ(Infer("ten.einsum", {"3x3xf32"}, {{"equation", "\"ii->i\""}}), "3xf32");
  EXPECT_EQ(
      Infer("ten.einsum", {"5x2x3xf32", "1x3x4xf32"}, {{"equation", "\"...ij, ...jk -> ...ik\""}}),
      "5x2x4xf32");
  EXPECT_EQ(Infer("ten.einsum", {"2x3xf32"}, {{"equation", "\"ij->ik\""}}),
            "ten.einsum: equation's output names 'k', which no input has");
  EXPECT_EQ(Infer("ten.einsum", {"2x3xf32", "4x5xf32"}, {{"equation", "\"ij,jk->ik\""}}),
            "ten.einsum: the extent of 'j' differs: 3 against 4");
}

TEST_F(ShapeFunctions, Reductions) {
  EXPECT_EQ(Infer("ten.reduce_mean", {"BxSx768xf32"}, {{"axes", "array<i64: 2>"}}), "BxSx1xf32");
  EXPECT_EQ(
      Infer("ten.reduce_sum", {"2x3x4xf32"}, {{"axes", "array<i64: 0, 2>"}, {"keepdims", "false"}}),
      "3xf32");
  EXPECT_EQ(Infer("ten.reduce_sum", {"2x3xf32"}, {{"axes", "array<i64>"}}), "2x3xf32");
  EXPECT_EQ(Infer("ten.reduce_sum", {"2x3xf32"}, {{"axes", "array<i64: -1>"}}),
            "ten.reduce_sum: axes holds -1, expected axes in [0, 2)");
  EXPECT_EQ(Infer("nn.softmax", {"2x3xf32"}, {{"axis", "2 : i64"}}),
            "nn.softmax: axis is 2, expected 0 <= axis < 2");
}

TEST_F(ShapeFunctions, Reshapes) {
  EXPECT_EQ(Infer("ten.reshape", {"BxSx768xf32"}, {{"shape", "#core.dims<\"B\", \"S\", 12, 64>"}}),
            "BxSx12x64xf32");
  EXPECT_EQ(Infer("ten.reshape", {"2x3xf32"}, {{"shape", "#core.dims<7>"}}),
            "ten.reshape: [2, 3] and [7] differ in their number of elements, expected the same");
  EXPECT_EQ(Infer("ten.dynamic_reshape", {"2x3xf32", "3xi64"}), "?x?x?xf32");
  EXPECT_EQ(Infer("ten.dynamic_reshape", {"2x3xf32", "?xi64"}), "tensor<*xf32>");
  EXPECT_EQ(Infer("ten.expand", {"3x1xf32"}, {{"shape", "#core.dims<\"B\", 1, \"S\">"}}),
            "Bx3xSxf32");
  EXPECT_EQ(Infer("ten.dynamic_expand", {"3x1xf32", "3xi64"}), "?x3x?xf32");
  EXPECT_EQ(Infer("ten.shape", {"BxSx768xf32"}, {{"start", "1 : i64"}, {"end", "3 : i64"}}),
            "2xi64");
  EXPECT_EQ(Infer("ten.transpose", {"BxSx12x64xf32"}, {{"perm", "array<i64: 0, 2, 1, 3>"}}),
            "Bx12xSx64xf32");
  EXPECT_EQ(Infer("ten.transpose", {"2x3xf32"}, {{"perm", "array<i64: 1, 1>"}}),
            "ten.transpose: perm must be a permutation of 0..1, but holds 1 twice");
  EXPECT_EQ(Infer("core.dims", {}, {{"dims", "#core.dims<\"B\", 4>"}}), "2xi64");
  EXPECT_EQ(Infer("core.dims", {}, {{"dims", "#core.dims<\"B\">"}, {"scalar", "true"}}), "i64");
}

TEST_F(ShapeFunctions, ConcatAndSplit) {
  EXPECT_EQ(Infer("ten.concat", {"Bx3xf32", "Bx4xf32"}, {{"axis", "1 : i64"}}), "Bx7xf32");
  EXPECT_EQ(Infer("ten.concat", {"Pxf32", "Sxf32"}, {{"axis", "0 : i64"}}), "P + Sxf32");
  // Of equal extents the plainer name stays.
  EXPECT_EQ(Infer("ten.concat", {"T * 2x3xf32", "Sx3xf32"}, {{"axis", "1 : i64"}}), "Sx6xf32");
  EXPECT_EQ(Infer("ten.concat", {"Sx3xf32", "T * 2x3xf32"}, {{"axis", "1 : i64"}}), "Sx6xf32");
  EXPECT_EQ(Infer("ten.concat", {"2x3xf32", "4x3xf32"}, {{"axis", "1 : i64"}}),
            "ten.concat: extent 0 of operand 1 differs: 2 against 4");
  EXPECT_EQ(Infer("ten.split", {"Bx6xf32"}, {{"axis", "1 : i64"}, {"sizes", "#core.dims<2, 4>"}}),
            "Bx2xf32; Bx4xf32");
  EXPECT_EQ(Infer("ten.split", {"Bx6xf32"}, {{"axis", "1 : i64"}, {"sizes", "#core.dims<2, 3>"}}),
            "ten.split: sizes [2, 3] add up to 5, but axis 1 has 6 elements, expected all");
}

TEST_F(ShapeFunctions, Slices) {
  const auto slice = [&](const std::string& x, const std::string& start, const std::string& end,
                         const std::string& step = "1") {
    return Infer("ten.slice", {x},
                 {{"axes", "array<i64: 0>"},
                  {"starts", "#core.dims<" + start + ">"},
                  {"ends", "#core.dims<" + end + ">"},
                  {"steps", "array<i64: " + step + ">"}});
  };
  const std::string max = "9223372036854775807", min = "-9223372036854775808";
  // Every window of a constant extent, against a loop.
  for (int64_t start : {-12, -10, -3, -1, 0, 1, 4, 9, 10, 15}) {
    for (int64_t end : {-12, -10, -3, -1, 0, 1, 4, 9, 10, 15}) {
      for (int64_t step : {-7, -2, -1, 1, 2, 3}) {
        const auto clamp = [&](int64_t b) {
          if (b < 0) b += 10;
          return step > 0 ? std::clamp<int64_t>(b, 0, 10) : std::clamp<int64_t>(b, -1, 9);
        };
        // ONNX clamps the start to an element.
        const int64_t first = step > 0 ? clamp(start) : std::max<int64_t>(clamp(start), 0);
        int64_t count = 0;
        for (int64_t i = first; step > 0 ? i < clamp(end) : i > clamp(end); i += step) ++count;
        EXPECT_EQ(slice("10xf32", std::to_string(start), std::to_string(end), std::to_string(step)),
                  std::to_string(count) + "xf32")
            << start << ":" << end << ":" << step;
      }
    }
  }
  EXPECT_EQ(slice("10xf32", "-1", min, "-1"), "10xf32");
  EXPECT_EQ(slice("10xf32", "2", max, "3"), "3xf32");
  EXPECT_EQ(slice("Sxf32", "0", max), "Sxf32");
  EXPECT_EQ(slice("Sxf32", "0", "2147483647"), "Sxf32");
  EXPECT_EQ(slice("Sxf32", "-1", min, "-1"), "Sxf32");
  EXPECT_EQ(slice("Sxf32", "0", "\"S\""), "Sxf32");
  EXPECT_EQ(slice("512xf32", "0", "\"S\""), "min(512, S)xf32");
  EXPECT_EQ(slice("Sxf32", "0", "-1"), "S - min(1, S)xf32");
  EXPECT_EQ(slice("Sxf32", "1", max), "S - min(1, S)xf32");
  EXPECT_EQ(slice("Sxf32", "-1", max), "min(1, S)xf32");
  EXPECT_EQ(slice("Sxf32", "0", max, "2"), "(S + 1) floordiv 2xf32");
  EXPECT_EQ(slice("P + Sxf32", "\"P\"", "\"P + S\""), "Sxf32");
  EXPECT_EQ(slice("?xf32", "0", "3"), "?xf32");
  EXPECT_EQ(slice("3xf32", "0", "3", "0"), "ten.slice: steps holds 0, expected steps other than 0");
}

TEST_F(ShapeFunctions, Gathers) {
  EXPECT_EQ(Infer("ten.gather", {"30522x768xf32", "BxSxi64"}, {{"axis", "0 : i64"}}),
            "BxSx768xf32");
  EXPECT_EQ(Infer("ten.gather", {"4xi64", "i64"}), "i64");
  EXPECT_EQ(Infer("ten.gather_elements", {"4x5xf32", "4x2xi64"}, {{"axis", "1 : i64"}}), "4x2xf32");
  EXPECT_EQ(Infer("ten.gather_nd", {"2x3x4xf32", "7x2xi64"}), "7x4xf32");
  EXPECT_EQ(Infer("ten.gather_nd", {"2x3x4xf32", "2x7x1xi64"}, {{"batch_dims", "1 : i64"}}),
            "2x7x4xf32");
  EXPECT_EQ(Infer("ten.gather_nd", {"2x3xf32", "7x3xi64"}),
            "ten.gather_nd: the last extent of indices is 3, expected 1 to 2");
  EXPECT_EQ(Infer("ten.scatter_nd", {"2x3x4xf32", "7x2xi64", "7x4xf32"}), "2x3x4xf32");
  EXPECT_EQ(Infer("ten.scatter_nd", {"2x3x4xf32", "7x2xi64", "7x5xf32"}),
            "ten.scatter_nd: extent 1 of updates differs: 5 against 4");
}

TEST_F(ShapeFunctions, PadTileRangeResize) {
  EXPECT_EQ(Infer("ten.pad", {"BxSxf32"}, {{"pads", "#core.dims<0, 1, 0, \"P\">"}}),
            "BxP + S + 1xf32");
  EXPECT_EQ(Infer("ten.pad", {"2xf32"}, {{"pads", "#core.dims<-2, -1>"}}),
            "ten.pad: pads crop more from axis 0 than its 2 elements (expected less)");
  EXPECT_EQ(Infer("ten.tile", {"Bx3xf32"}, {{"repeats", "#core.dims<2, \"N\">"}}),
            "2 * Bx3 * Nxf32");
  EXPECT_EQ(Infer("ten.range", {"i64", "i64", "i64"}), "?xi64");
  EXPECT_EQ(Infer("ten.resize", {"1x3x8x8xf32"}, {{"sizes", "#core.dims<1, 3, 16, 16>"}}),
            "1x3x16x16xf32");
}

TEST_F(ShapeFunctions, ScalesAndRegionOfResize) {
  const auto resize = [&](const char* x, const char* sizes, const std::string& scales,
                          const char* roi) {
    return Infer("ten.resize", {x}, {{"sizes", sizes}, {"scales", scales}, {"roi", roi}});
  };
  const char *none = "array<f32>", *two = "#core.dims<2, 4>";
  EXPECT_EQ(resize("2x7xf32", two, "array<f32: 1.0, 0.6>", none), "2x4xf32");  // 4.2, floor
  EXPECT_EQ(resize("2x7xf32", "#core.dims<2, 5>", "array<f32: 1.0, 0.65>", none),
            "2x5xf32");  // 4.55, rounded
  EXPECT_EQ(resize("Bx7xf32", two, "array<f32: 1.0, 0.6>", "array<f32: 0.0, 0.1, 1.0, 0.9>"),
            "2x4xf32");
  EXPECT_EQ(resize("2x7xf32", two, "array<f32: 0.6>", none),
            "ten.resize: scales has 1 elements, expected 2");
  for (const auto& [scale, text] : std::map<std::string, std::string>{
           {"0.0", "0"}, {"-1.0", "-1"}, {"0x7F800000", "inf"}, {"0x7FC00000", "nan"}}) {
    EXPECT_EQ(resize("2x7xf32", two, "array<f32: 1.0, " + scale + ">", none),
              "ten.resize: scales holds " + text + ", expected finite numbers > 0");
  }
  EXPECT_EQ(resize("2x7xf32", two, "array<f32: 1.0, 0.25>", none),
            "ten.resize: axis 1 of 7 elements, scaled by 0.25, cannot have 4 elements");
  EXPECT_EQ(resize("2x7xf32", two, none, "array<f32: 0.0, 1.0>"),
            "ten.resize: roi has 2 elements, expected 4");
}

TEST_F(ShapeFunctions, Convolution) {
  const Attrs same = {{"strides", "array<i64: 2, 2>"},
                      {"pads", "array<i64: 3, 3, 3, 3>"},
                      {"dilations", "array<i64: 1, 1>"}};
  EXPECT_EQ(Infer("nn.conv", {"1x3x224x224xf32", "64x3x7x7xf32", "64xf32"}, same),
            "1x64x112x112xf32");
  EXPECT_EQ(Infer("nn.conv", {"Bx3xHxWxf32", "64x3x7x7xf32"}, same, {1, 1, 0}),
            "Bx64x(H + 1) floordiv 2x(W + 1) floordiv 2xf32");
  Attrs upper = same;
  upper["auto_pad"] = "\"SAME_UPPER\"";
  EXPECT_EQ(Infer("nn.conv", {"1x3x225x224xf32", "64x3x7x7xf32"}, upper, {1, 1, 0}),
            "1x64x113x112xf32");
  EXPECT_EQ(Infer("nn.conv", {"1x4x8x8xf32", "64x3x7x7xf32"}, same, {1, 1, 0}),
            "nn.conv: x has 4 channels, but w has 3 for each of 1 groups");
  EXPECT_EQ(Infer("nn.conv", {"1x3x8x8xf32", "64x3x7x7xf32", "32xf32"}, same),
            "nn.conv: bias must be of shape [64], not [32]");
  EXPECT_EQ(Infer("nn.conv", {"1x3x0x8xf32", "64x3x7x7xf32"}, same, {1, 1, 0}),
            "nn.conv: the window of 7 elements does not fit spatial axis 0 of 0 elements padded by "
            "3 and 3");
  Attrs last = same;
  last["layout"] = "\"nhwc\"";
  EXPECT_EQ(Infer("nn.conv", {"Bx224xWx3xf32", "64x3x7x7xf32", "64xf32"}, last),
            "Bx112x(W + 1) floordiv 2x64xf32");
  EXPECT_EQ(Infer("nn.conv", {"1x3x8x8xf32", "64x3x7x7xf32"}, last, {1, 1, 0}),
            "nn.conv: x has 8 channels, but w has 3 for each of 1 groups");
}

TEST_F(ShapeFunctions, Pooling) {
  Attrs attrs = {{"kernel", "array<i64: 3, 3>"},
                 {"strides", "array<i64: 2, 2>"},
                 {"pads", "array<i64: 0, 0, 0, 0>"},
                 {"dilations", "array<i64: 1, 1>"}};
  EXPECT_EQ(Infer("nn.max_pool", {"1x64x112x111xf32"}, attrs), "1x64x55x55xf32");
  attrs["ceil_mode"] = "true";
  EXPECT_EQ(Infer("nn.max_pool", {"1x64x112x111xf32"}, attrs), "1x64x56x55xf32");
  // The last window would start in the end padding.
  attrs["kernel"] = "array<i64: 1, 1>";
  attrs["pads"] = "array<i64: 0, 0, 1, 1>";
  EXPECT_EQ(Infer("nn.max_pool", {"1x1x4x4xf32"}, attrs), "1x1x2x2xf32");
  attrs["layout"] = "\"nhwc\"";
  EXPECT_EQ(Infer("nn.max_pool", {"1x4x4x7xf32"}, attrs), "1x2x2x7xf32");
}

TEST_F(ShapeFunctions, Norms) {
  EXPECT_EQ(Infer("nn.layer_norm", {"BxSx768xf32", "768xf32", "768xf32"}, {{"axis", "2 : i64"}}),
            "BxSx768xf32");
  EXPECT_EQ(Infer("nn.layer_norm", {"BxSx768xf32", "512xf32", "768xf32"}, {{"axis", "2 : i64"}}),
            "nn.layer_norm: scale of shape [512] must broadcast to [B, S, 768]");
  EXPECT_EQ(Infer("nn.batch_norm", {"1x8x4xf32", "8xf32", "8xf32", "8xf32", "7xf32"}),
            "nn.batch_norm: var must be of shape [8], not [7]");
  EXPECT_EQ(Infer("fused.skip_layer_norm", {"BxSx8xf32", "Sx8xf32", "8xf32", "8xf32"},
                  {{"axis", "2 : i64"}}),
            "BxSx8xf32; BxSx8xf32");
}

TEST_F(ShapeFunctions, Attention) {
  EXPECT_EQ(Infer("nn.attention", {"Bx8xQx64xf32", "Bx2xKx64xf32", "Bx2xKx32xf32"}, {}),
            "Bx8xQx32xf32");
  EXPECT_EQ(Infer("nn.attention", {"BxQx512xf32", "BxKx128xf32", "BxKx128xf32"},
                  {{"q_num_heads", "8 : i64"}, {"kv_num_heads", "2 : i64"}}),
            "BxQx512xf32");
  const Attrs heads = {
      {"num_heads", "12 : i64"}, {"kv_num_heads", "12 : i64"}, {"scale", "0.125 : f32"}};
  EXPECT_EQ(
      Infer("fused.attention", {"BxSx768xf32", "BxSx768xf32", "BxSx768xf32", "Bx1x1xSxf32"}, heads),
      "BxSx768xf32");
  Attrs mixed = heads;
  mixed["q_layout"] = "\"bhsd\"";
  mixed["k_layout"] = "\"bhds\"";
  mixed["v_layout"] = "\"bshd\"";
  EXPECT_EQ(Infer("fused.attention", {"Bx12xSx64xf32", "Bx12x64xTxf32", "BxTx12x64xf32"}, mixed),
            "BxSx768xf32");
  mixed["out_layout"] = "\"bhsd\"";
  EXPECT_EQ(Infer("fused.attention", {"Bx12xSx64xf32", "Bx12x64xTxf32", "BxTx12x64xf32"}, mixed),
            "Bx12xSx64xf32");
  EXPECT_EQ(Infer("fused.attention", {"BxSx768xf32", "BxSx700xf32", "BxSx768xf32"}, heads),
            "fused.attention: the last extent 700 of k cannot be divided into 12 heads");
  EXPECT_EQ(
      Infer("fused.attention", {"2x4x768xf32", "2x5x768xf32", "2x5x768xf32", "2x1x4x4xf32"}, heads),
      "fused.attention: mask of shape [2, 1, 4, 4] must broadcast to [2, 12, 4, 5]");
  Attrs window = heads;
  window["window"] = "-1 : i64";
  EXPECT_EQ(Infer("fused.attention", {"2x4x768xf32", "2x5x768xf32", "2x5x768xf32"}, window),
            "fused.attention: window is -1, expected 0 or more keys");
}

TEST_F(ShapeFunctions, AttentionBehindPast) {
  Attrs attrs = {{"num_heads", "12 : i64"}, {"kv_num_heads", "4 : i64"}, {"scale", "0.125 : f32"}};
  const auto infer = [&](const Texts& past, const Texts& keys = {"BxSx256xf32", "BxSx128xf32"}) {
    Texts operands = {"BxSx768xf32"};
    operands.insert(operands.end(), keys.begin(), keys.end());
    operands.insert(operands.end(), past.begin(), past.end());
    return Infer("fused.attention", operands, attrs,
                 {1, 1, 1, 0, 0, 0, 1, past.size() > 1 ? 1 : 0});
  };
  EXPECT_EQ(infer({"Bx4xPx64xf32", "Bx4xPx32xf32"}),
            "BxSx384xf32; Bx4xP + Sx64xf32; Bx4xP + Sx32xf32");
  attrs["k_layout"] = attrs["out_layout"] = "\"bhsd\"";
  EXPECT_EQ(infer({"Bx4xPx64xf32", "Bx4xPx32xf32"}, {"Bx4xSx64xf32", "BxSx128xf32"}),
            "Bx12xSx32xf32; Bx4xP + Sx64xf32; Bx4xP + Sx32xf32");
  EXPECT_EQ(infer({"Bx4xPx64xf32", "*"}, {"Bx4xSx64xf32", "BxSx128xf32"}),
            "tensor<*xf32>; tensor<*xf32>; tensor<*xf32>");
  attrs["k_layout"] = "\"bsh\"";
  EXPECT_EQ(infer({"Bx4xPx64xf32"}),
            "fused.attention: past_key and past_value must be given together");
  EXPECT_EQ(infer({"Bx12xPx64xf32", "Bx4xPx32xf32"}),
            "fused.attention: the number of heads of past_key differs: 12 against 4");
  EXPECT_EQ(infer({"Bx4xPx64xf32", "Bx4xPx64xf32"}),
            "fused.attention: the head size of past_value differs: 32 against 64");
  EXPECT_EQ(infer({"Bx4x6x64xf32", "Bx4x7x32xf32"}, {"Bx3x256xf32", "Bx3x128xf32"}),
            "fused.attention: the sequence of k and v differs: 9 against 10");
  EXPECT_EQ(infer({"Bx4xPx64xf16", "Bx4xPx32xf32"}),
            "fused.attention: past_key must have the element type f32 of q, not f16");
  EXPECT_EQ(infer({"BxPx256xf32", "Bx4xPx32xf32"}),
            "fused.attention: past_key must be of rank 4, not 3");
}

TEST_F(ShapeFunctions, Rotary) {
  EXPECT_EQ(Infer("fused.rotary", {"Bx4xSx8xf32", "Sx8xf32", "Bx1xSx8xf32"}), "Bx4xSx8xf32");
  const Attrs part = {{"rotary_dim", "6 : i64"}};
  EXPECT_EQ(Infer("fused.rotary", {"Bx4xSx8xf32", "Sx6xf32", "Sx6xf32"}, part), "Bx4xSx8xf32");
  EXPECT_EQ(Infer("fused.rotary", {"Bx4xSx7xf32", "Sx7xf32", "Sx7xf32"}),
            "fused.rotary: 7 elements cannot be rotated in pairs");
  EXPECT_EQ(Infer("fused.rotary", {"2x4xf32", "4xf32", "4xf32"}, part),
            "fused.rotary: rotary_dim is 6, but x has 4 elements");
}

TEST_F(ShapeFunctions, Linear) {
  EXPECT_EQ(Infer("fused.linear", {"BxSx8xf32", "8x4xf32", "4xf32", "BxSx4xf32"}), "BxSx4xf32");
  EXPECT_EQ(Infer("fused.linear", {"BxSx8xf32", "4x8xf32"}, {{"transpose_w", "true"}}),
            "BxSx4xf32");
  EXPECT_EQ(Infer("fused.linear", {"BxSx8xf32", "4x8xf32"}),
            "fused.linear: the last extent of x is 8, but w of shape [4, 8] takes 4");
}

TEST_F(ShapeFunctions, Embedding) {
  const auto infer = [&](const Texts& operands, const std::vector<int>& segments) {
    return Infer("fused.embedding", operands, {}, segments);
  };
  const std::string kBoth = "BxSx8xf32; BxSx8xf32";
  EXPECT_EQ(infer({"BxSxi64", "9x8xf32"}, {0, 0, 0, 2}), kBoth);
  EXPECT_EQ(
      infer({"8xf32", "BxSxi64", "9x8xf32", "Sxi32", "7x8xf32", "1xi64", "2x8xf32"}, {0, 1, 0, 6}),
      kBoth);
  EXPECT_EQ(infer({"BxSxi64", "9x8xf32", "Sxi32"}, {0, 0, 0, 3}),
            "fused.embedding: ids and tables come in pairs");
  EXPECT_EQ(infer({"BxSxi64", "9x8xf32", "Sxi32", "7x8xf16"}, {0, 0, 0, 4}),
            "fused.embedding: the tables have several element types");
  EXPECT_EQ(infer({"8xf16", "BxSxi64", "9x8xf32"}, {0, 0, 1, 2}),
            "fused.embedding: added, scale and bias must have the element type of the tables");
  EXPECT_EQ(infer({"Sxi8", "9x8xf32"}, {0, 0, 0, 2}),
            "fused.embedding: ids must be i32 or i64, not i8");
  EXPECT_EQ(infer({"Sxi64", "9x8xi32"}, {0, 0, 0, 2}),
            "fused.embedding: a table must hold floats, not i32");
}

TEST_F(ShapeFunctions, LinearsInARow) {
  EXPECT_EQ(Infer("fused.linear_chain", {"BxSx8xf32", "8x4xf32", "4xf32", "4x2xf32", "2xf32"}, {},
                  {1, 0, 4}),
            "BxSx2xf32");
  EXPECT_EQ(Infer("fused.linear_chain", {"BxSx8xf32", "8x4xf32"}, {}, {1, 0, 1}),
            "fused.linear_chain: matrices and biases come in pairs");
  EXPECT_EQ(Infer("fused.linear_chain", {"BxSx8xf32"}, {{"biased", "false"}}, {1, 0, 0}),
            "fused.linear_chain: there must be at least one layer");
  EXPECT_EQ(Infer("fused.linear_chain", {"3x8xf32", "8x4xf32", "4xf32", "3x2xf32", "2xf32"}, {},
                  {1, 0, 4}),
            "fused.linear_chain: the number of columns that layer 1 takes differs: 4 against 3");
  EXPECT_EQ(Infer("fused.linear_chain", {"BxSx8xf32", "2xf32", "8x4xf32", "4x2xf32"},
                  {{"biased", "false"}}, {1, 1, 2}),
            "BxSx2xf32");
  EXPECT_EQ(Infer("fused.linear_chain", {"2x8xf32", "3xf32", "8x4xf32", "4x2xf32"},
                  {{"biased", "false"}}, {1, 1, 2}),
            "fused.linear_chain: residual of shape [3] must broadcast to [2, 2]");
  EXPECT_EQ(Infer("fused.linear_norm", {"BxSx8xf32", "8x4xf32", "4xf32"}, {}, {1, 1, 0, 0, 1, 0}),
            "BxSx4xf32; BxSx4xf32");
  EXPECT_EQ(Infer("fused.norm_linear", {"BxSx8xf32", "8x4xf32", "8xf32", "8xf32"},
                  {{"norm", "\"rms\""}}, {1, 1, 0, 0, 1, 1}),
            "fused.norm_linear: only a layer norm has a bias");
}

TEST_F(ShapeFunctions, LayersOfTransformers) {
  const Attrs heads = {{"num_heads", "4 : i64"}, {"kv_num_heads", "2 : i64"}};
  const std::vector<int> separate = {1, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  // Values may have heads of another size.
  EXPECT_EQ(Infer("fused.attention_block",
                  {"BxSx8xf32", "BxSx8xf32", "8x16xf32", "20x8xf32", "8x8xf32", "8x10xf32"}, heads,
                  separate),
            "BxSx8xf32; BxSx8xf32");
  EXPECT_EQ(Infer("fused.attention_block",
                  {"BxSx8xf32", "BxSx8xf32", "8x16xf32", "20x8xf32", "8x6xf32", "8x10xf32"}, heads,
                  separate),
            "fused.attention_block: the head size of queries and keys differs: 4 against 3");
  EXPECT_EQ(Infer("fused.attention_block",
                  {"BxSx8xf32", "BxSx8xf32", "8x15xf32", "20x8xf32", "8x8xf32", "8x10xf32"}, heads,
                  separate),
            "fused.attention_block: the 15 columns of the queries cannot be divided into 4 heads");
  Attrs packed = heads;
  packed.insert({{"head_dim", "4 : i64"},
                 {"v_head_dim", "4 : i64"},
                 {"k_offset", "16 : i64"},
                 {"v_offset", "24 : i64"}});
  std::vector<int> past = {1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0};
  EXPECT_EQ(Infer("fused.attention_block",
                  {"BxSx8xf32", "BxSx8xf32", "8x32xf32", "16x8xf32", "Bx2xPx4xf32", "Bx2xPx4xf32"},
                  packed, past),
            "BxSx8xf32; BxSx8xf32; Bx2xP + Sx4xf32; Bx2xP + Sx4xf32");
  EXPECT_EQ(Infer("fused.attention_block",
                  {"BxSx8xf32", "BxSx8xf32", "8x31xf32", "16x8xf32", "Bx2xPx4xf32", "Bx2xPx4xf32"},
                  packed, past),
            "fused.attention_block: 2 heads of size 4 from column 24 do not fit 31 columns of the "
            "values");
  past[16] = 0;
  EXPECT_EQ(Infer("fused.attention_block",
                  {"BxSx8xf32", "BxSx8xf32", "8x32xf32", "16x8xf32", "Bx2xPx4xf32"}, packed, past),
            "fused.attention_block: past_key and past_value must be given together");

  EXPECT_EQ(Infer("fused.feed_forward", {"BxSx8xf32", "BxSx6xf32", "8x16xf32", "16x6xf32"}, {},
                  {1, 1, 1, 1, 0, 0, 0, 0, 0, 0}),
            "BxSx6xf32; BxSx6xf32");
  EXPECT_EQ(Infer("fused.feed_forward", {"BxSx8xf32", "BxSx6xf32", "8x16xf32", "8x6xf32"}, {},
                  {1, 1, 1, 1, 0, 0, 0, 0, 0, 0}),
            "fused.feed_forward: the number of columns that wd takes differs: 16 against 8");
}

TEST_F(ShapeFunctions, StacksOfLayers) {
  std::string has = "array<i64";
  for (int i = 0; i < 21; ++i)
    has += (i == 0 ? ": " : ", ") + std::string(i == 11 || i == 12 ? "1" : "0");
  Attrs attrs = {{"num_heads", "2 : i64"},  {"kv_num_heads", "2 : i64"}, {"head_dim", "4 : i64"},
                 {"v_head_dim", "4 : i64"}, {"k_offset", "8 : i64"},     {"v_offset", "16 : i64"},
                 {"has", has + ">"}};
  const auto infer = [&](const std::vector<std::vector<std::string>>& layers) {
    std::vector<std::string> types = {"BxSx8xf32", "BxSx8xf32"};
    for (const auto& layer : layers) types.insert(types.end(), layer.begin(), layer.end());
    return Infer("fused.transformer_stack", types, attrs);
  };
  const auto layer = [](const std::string& past) {
    return std::vector<std::string>{"8x24xf32", "8x8xf32", "8x32xf32", "32x8xf32", past, past};
  };
  const std::vector<std::string> first = layer("Bx2xPx4xf32"), second = layer("Bx2xQx4xf32");
  EXPECT_EQ(infer({first, second}),
            "BxSx8xf32; BxSx8xf32; Bx2xP + Sx4xf32; Bx2xP + Sx4xf32; Bx2xQ + Sx4xf32; Bx2xQ + "
            "Sx4xf32");
  EXPECT_EQ(infer({}),
            "fused.transformer_stack: layers has 0 operands, expected a positive multiple of 6");
  EXPECT_EQ(infer({first, layer("Bx2xPx4xf16")}),
            "fused.transformer_stack: residual and layers must have the element type of x");
  EXPECT_EQ(infer({first, layer("Bx3xPx4xf32")}),
            "fused.transformer_stack: an extent of the past differs: 2 against 3");
  attrs["has"] = "array<i64: 1, 2>";
  EXPECT_EQ(infer({first}), "fused.transformer_stack: has must be 21 numbers, each 0 or 1");
}

TEST_F(ShapeFunctions, Moves) {
  const Attrs perm = {{"perm", "array<i64: 1, 0, 2>"}};
  EXPECT_EQ(Infer("fused.moved_norm", {"BxSx8xf32"}, perm, {1, 0, 0, 0, 0, 0}), "SxBx8xf32");
  EXPECT_EQ(Infer("fused.moved_norm", {"BxSx8xf32", "BxSx8xf32"}, perm, {1, 0, 1, 0, 0, 0}),
            "SxBx8xf32; BxSx8xf32");
  EXPECT_EQ(
      Infer("fused.moved_norm", {"BxSx8xf32", "3xi64"}, {{"axis", "1 : i64"}}, {1, 1, 0, 0, 0, 0}),
      "Bx3x8xf32");
  EXPECT_EQ(Infer("fused.moved_norm", {"BxSx8xf32", "3xi64"}, perm, {1, 1, 0, 0, 0, 0}),
            "fused.moved_norm: expected an index or perm, and not both");
  EXPECT_EQ(Infer("fused.moved_norm", {"BxSx8xf32"}, {{"perm", "array<i64: 0, 2, 1>"}},
                  {1, 0, 0, 0, 0, 0}),
            "fused.moved_norm: perm moves the last axis");
  EXPECT_EQ(Infer("fused.add_transpose", {"BxSx8xf32", "8xf32"}, perm), "SxBx8xf32");
  EXPECT_EQ(Infer("fused.transpose_concat", {"Bx4x8xf32", "Bx2x8xf32"},
                  {{"perm", "array<i64: 0, 2, 1>"}, {"axis", "1 : i64"}}),
            "Bx48xf32");
  EXPECT_EQ(Infer("fused.group_norm", {"Bx4xSxf32"}, {{"groups", "3 : i64"}}, {1, 0, 0, 0}),
            "fused.group_norm: 4 channels are not 3 equal groups");
}

// Operands of floats share one element type, or the kernels read each in its own.
TEST_F(ShapeFunctions, FloatsOfSeveralTypesAreRefusedWhereKernelsMistakeThem) {
  const std::map<std::string, std::string> kOwnType = {
      {"nn.grid_sample", "the grid is read as doubles"},
      {"nn.attention mask", "read as doubles"},
      {"fused.attention mask", "read as doubles"},
      {"fused.attention bias", "read as doubles"},
      {"fused.attention_block mask", "read as doubles"},
      {"fused.attention_block bias", "read as doubles"},
      {"fused.transformer_layer mask", "read as doubles"},
      {"fused.transformer_layer bias", "read as doubles"},
      {"fused.transformer_stack layers", "see the test StacksOfLayers"},
      {"ten.pow b", "the exponent is read in its own type"},
      {"ten.dynamic_resize", "scales are numbers of their own"},
      {"fused.embedding", "lookups come in pairs: see the test Embedding"},
      {"fused.group", "its parts have their types"}};
  const auto own = [&](const std::string& name) {
    return std::any_of(kOwnType.begin(), kOwnType.end(),
                       [&](const auto& known) { return name.starts_with(known.first); });
  };
  int checked = 0;
  std::vector<const OpInfo*> ops;
  for (const char* dialect : {"ten", "nn", "fused", "q"}) {
    const std::vector<const OpInfo*> more = context_.OpsOf(dialect);
    ops.insert(ops.end(), more.begin(), more.end());
  }
  for (const OpInfo* info : ops) {
    const std::vector<OperandDef>& groups = info->def().operands;
    if (info->Has(Trait::kSameDtype) || info->Has(Trait::kSameOperandDtype)) continue;
    std::string first;
    for (size_t g = 0; g < groups.size(); ++g) {
      const TypeConstraint& may = groups[g].constraint;
      if (!may.Accepts(Type::Unranked(context_, DType::kF32)) ||
          !may.Accepts(Type::Unranked(context_, DType::kF16)))
        continue;
      if (first.empty()) {
        first = groups[g].name;
        continue;
      }
      const std::string what = std::string(info->name()) + " " + groups[g].name;
      if (own(what)) continue;
      // All operands are there, of f32 or a type that they accept, but for this one.
      std::vector<Type> types;
      for (size_t i = 0; i < groups.size(); ++i) {
        for (const DType dtype :
             {DType::kF32, DType::kI64, DType::kBool, DType::kI32, DType::kI8, DType::kU8}) {
          const Type type = Type::Unranked(context_, i == g ? DType::kF16 : dtype);
          if (!groups[i].constraint.Accepts(type)) continue;
          types.push_back(type);
          break;
        }
      }
      ASSERT_EQ(types.size(), groups.size()) << what;
      std::vector<Attribute> slots(info->num_slots());
      if (info->segment_slot() >= 0) {
        slots[info->segment_slot()] =
            Attribute::Ints(context_, DType::kI32, std::vector<int64_t>(groups.size(), 1));
      }
      ResultTypes results;
      const absl::Status status = InferResultTypes(*info, Location(), std::span<const Type>(types),
                                                   FillDefaults(*info, slots), results);
      EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("element type")) << what;
      ++checked;
    }
  }
  EXPECT_GT(checked, 10);
}

}  // namespace
}  // namespace tenon
