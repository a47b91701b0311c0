#include "ir/core/text/printer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "ir/base/float_text.h"
#include "ir/core/block.h"
#include "ir/core/text/asm_text.h"
#include "ir/core/verify/symbol_table.h"
#include "tests/ir/test_ir.h"

namespace tenon {
namespace {

using test::TestIr;

std::string FloatText(DType dtype, double value) {
  std::string out;
  AppendFloat(out, dtype, value);
  return out;
}

// What mlir-opt 22 prints for the same bits.
TEST(FloatTextTest, AsMlir) {
  EXPECT_EQ(FloatText(DType::kF32, 1.0), "1.000000e+00");
  EXPECT_EQ(FloatText(DType::kF32, -0.0), "-0.000000e+00");
  EXPECT_EQ(FloatText(DType::kF32, 0.1f), "1.000000e-01");
  EXPECT_EQ(FloatText(DType::kF32, 0.7f), "0.699999988");
  EXPECT_EQ(FloatText(DType::kF32, 1e-5f), "9.99999974E-6");
  EXPECT_EQ(FloatText(DType::kF32, 3.14159274f), "3.14159274");
  EXPECT_EQ(FloatText(DType::kF32, 16777216.0), "0x4B800000");
  EXPECT_EQ(FloatText(DType::kF32, 1e30f), "1.000000e+30");
  EXPECT_EQ(FloatText(DType::kF64, 0.1), "1.000000e-01");
  EXPECT_EQ(FloatText(DType::kF64, 1.0 / 3), "0.33333333333333331");
  EXPECT_EQ(FloatText(DType::kF64, -1e-12 * 1.0000000001), "-1.0000000001E-12");
  EXPECT_EQ(FloatText(DType::kF16, 0.7001953125), "7.001950e-01");
  EXPECT_EQ(FloatText(DType::kBF16, 0.10009765625), "1.000980e-01");
  EXPECT_EQ(FloatText(DType::kF32, INFINITY), "0x7F800000");
  EXPECT_EQ(FloatText(DType::kF64, -INFINITY), "0xFFF0000000000000");
  EXPECT_EQ(FloatText(DType::kF16, NAN), "0x7E00");
}

TEST(FloatTextTest, ReadsBackAsTheSameNumber) {
  Context context;
  std::mt19937_64 random(3);
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    for (int i = 0; i < 2000; ++i) {
      uint64_t bits = random();
      std::byte bytes[8];
      std::memcpy(bytes, &bits, 8);
      Attribute value = Attribute::Float(context, LoadAsDouble(dtype, bytes), dtype);
      absl::StatusOr<Attribute> again = ParseAttribute(context, value.text());
      ASSERT_TRUE(again.ok()) << value.text();
      ASSERT_EQ(*again, value) << value.text() << " and " << again->text();
    }
  }
}

TEST(AsmTextTest, NamesAndStrings) {
  std::string out;
  AppendQuoted(out, "a\"b\\c\n\x01\xff");
  EXPECT_EQ(out, "\"a\\22b\\\\c\\0A\\01\\FF\"");
  out.clear();
  AppendSymbol(out, "f::@a b");
  EXPECT_EQ(out, "@f::@\"a b\"");
}

TEST(PrinterTest, BothForms) {
  TestIr ir;
  Value v = ir.Add(ir.body, "t.source", {}, {ir.f32()})->result();
  ir.Add(ir.body, "t.binary", {v, v}, {ir.f32()});
  EXPECT_EQ(Print(*ir.module),
            "builtin.module() ({\n  %0 = t.source() : () -> f32\n  %1 = t.binary(%0, %0) : (f32, "
            "f32) -> f32\n}) : () -> ()\n");
  EXPECT_EQ(Print(*ir.module, {.generic = true}),
            "\"builtin.module\"() ({\n  %0 = \"t.source\"() : () -> f32\n  %1 = \"t.binary\"(%0, "
            "%0) : (f32, f32) -> f32\n"
            "}) : () -> ()\n");
}

TEST(PrinterTest, UnfinishedIrPrints) {
  TestIr ir;
  Operation* detached = ir.Make("t.binary", {Value(), Value()}, {ir.f32()});
  EXPECT_EQ(detached->text(),
            "%0 = \"t.binary\"(%<<NULL VALUE>>, %<<NULL VALUE>>) : (<<NULL TYPE>>, <<NULL TYPE>>) "
            "-> f32");
  Operation* user = ir.Make("x.use", {detached->result()}, {});
  EXPECT_EQ(user->text(), "\"x.use\"(%<<UNKNOWN RESULT>>) : (f32) -> ()");
  user->Destroy();
  detached->Destroy();
}

TEST(PrinterTest, ResourcesAreWrittenOnceAndMayBeLeftOut) {
  TestIr ir;
  std::vector<int64_t> values(100);
  values[3] = 1;
  Attribute weights = Attribute::Elements(ir.context, ir.tensor({100}, DType::kI64),
                                          std::as_bytes(std::span<const int64_t>(values)));
  Operation* a = ir.Add(ir.body, "t.tagged", {}, {});
  a->SetAttr("tag", weights);
  Attribute both[] = {weights, weights};
  a->SetAttr("x.more", Attribute::Array(ir.context, both));
  std::string text = Print(*ir.module);
  std::string key = "blob_" + weights.blob()->content_hash();
  size_t first = text.find("      " + key + ": \"0x40000000");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find(key + ": ", first + 20), std::string::npos);
  EXPECT_EQ(Print(*ir.module, {.elide_resources = true}).find("{-#"), std::string::npos);
  absl::StatusOr<OwnedOp> again = ParseModule(ir.context, text, {.verify = false});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(SameElements((*again)->region().front().front()->attr("tag"), weights));
}

TEST(PrinterTest, LargeConstantsAreWrittenInPieces) {
  TestIr ir;
  constexpr int64_t kElements = 100000;
  std::vector<int64_t> values(kElements);
  for (int64_t i = 0; i < kElements; ++i) values[static_cast<size_t>(i)] = i * i;
  ir.Add(ir.body, "t.tagged", {}, {})
      ->SetAttr("tag", Attribute::Elements(ir.context, ir.tensor({kElements}, DType::kI64),
                                           std::as_bytes(std::span<const int64_t>(values))));
  std::string text;
  size_t longest = 0, pieces = 0;
  const absl::Status status = Print(*ir.module, {}, [&](std::string_view piece) {
    text += piece;
    longest = std::max(longest, piece.size());
    ++pieces;
    return absl::OkStatus();
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(text, Print(*ir.module));
  EXPECT_LT(longest, text.size() / 8);
  // The first error ends it.
  size_t taken = 0;
  const absl::Status full = Print(*ir.module, {}, [&](std::string_view) {
    return ++taken < 3 ? absl::OkStatus() : absl::ResourceExhaustedError("full");
  });
  EXPECT_EQ(full, absl::ResourceExhaustedError("full"));
  EXPECT_EQ(taken, 3u);
  EXPECT_GT(pieces, taken);
}

TEST(PrinterTest, GivesManyOpsInPieces) {
  TestIr ir;
  for (int i = 0; i < 5000; ++i) {
    Operation* op = ir.Add(ir.body, "t.symbol", {}, {});
    op->SetAttr("sym_name", Attribute::Str(ir.context, "a" + std::to_string(i)));
  }
  std::string text;
  size_t pieces = 0, longest = 0;
  const auto take = [&](std::string_view piece) {
    text += piece;
    longest = std::max(longest, piece.size());
    ++pieces;
    return absl::OkStatus();
  };
  ASSERT_TRUE(Print(*ir.module, {}, take).ok());
  EXPECT_EQ(text, Print(*ir.module, {}));
  EXPECT_GT(pieces, 2u);
  EXPECT_LT(longest, text.size() / 2);
  size_t taken = 0;
  const absl::Status full = Print(*ir.module, {}, [&](std::string_view) {
    ++taken;
    return absl::ResourceExhaustedError("full");
  });
  EXPECT_EQ(full, absl::ResourceExhaustedError("full"));
  EXPECT_EQ(taken, 1u);
}

TEST(SymbolTableTest, Lookup) {
  TestIr ir;
  Operation* a = ir.Add(ir.body, "t.symbol", {}, {});
  a->SetAttr("sym_name", Attribute::Str(ir.context, "a"));
  Operation* b = ir.Add(ir.body, "t.symbol", {}, {});
  b->SetAttr("sym_name", Attribute::Str(ir.context, "b"));
  SymbolTable table(ir.module.get());
  EXPECT_EQ(table.Lookup("b"), b);
  EXPECT_EQ(table.Lookup("c"), nullptr);
  EXPECT_EQ(LookupSymbol(ir.module.get(), "a"), a);
  EXPECT_EQ(LookupSymbol(ir.module.get(), "c"), nullptr);
  EXPECT_EQ(SymbolName(*a), "a");
  EXPECT_EQ(SymbolName(*ir.module), "");
}

}  // namespace
}  // namespace tenon
