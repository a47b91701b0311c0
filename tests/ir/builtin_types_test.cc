// Types and attributes of MLIR that are kept as text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/core/text/printer.h"
#include "tests/ir/test_ir.h"

namespace tenon {
namespace {

using test::TestIr;
using ::testing::HasSubstr;

class BuiltinTypesTest : public ::testing::Test {
 protected:
  BuiltinTypesTest() { ir_.context.AllowUnregisteredDialect("x"); }
  // The generic text of one op of the unregistered dialect x, or the message.
  std::string Read(const std::string& aliases, const std::string& op) {
    const auto module =
        ParseModule(ir_.context, aliases + "\n\"x.a\"() " + op, {.file_name = "f.ir"});
    if (!module.ok()) return std::string(module.status().message());
    const std::string text = Print(**module, {.generic = true});
    const auto again = ParseModule(ir_.context, text);
    if (!again.ok() || Print(**again, {.generic = true}) != text) return "does not read back";
    const size_t begin = text.find("\"x.a\"() ") + 8;
    return text.substr(begin, text.find('\n', begin) - begin);
  }
  TestIr ir_;
};

TEST_F(BuiltinTypesTest, AreReadAndPrinted) {
  for (const char* type :
       {"vector<4x[8]xf32>", "vector<f32>", "memref<?x4xf32, strided<[4, 1], offset: ?>, 3>",
        "memref<*xf32>", "complex<f64>", "memref<4xvector<2xf32>>",
        "memref<4xf32, affine_map<(d0) -> (d0 floordiv 2)>>"}) {
    EXPECT_EQ(Read("", std::string("{t = ") + type + "} : () -> ()"),
              std::string("{t = ") + type + "} : () -> ()");
  }
  for (const char* attribute :
       {"affine_map<(d0, d1)[s0] -> (d0 + s0, -d1)>", "affine_set<(d0) : (d0 - 3 >= 0, d0 <= 9)>",
        "affine_map<() -> ()>"}) {
    EXPECT_EQ(Read("", std::string("{m = ") + attribute + "} : () -> ()"),
              std::string("{m = ") + attribute + "} : () -> ()");
  }
}

TEST_F(BuiltinTypesTest, AliasesInsideAreWrittenOut) {
  EXPECT_EQ(
      Read("#map = affine_map<(d0) -> (d0)>\n!buffer = memref<4xf32, #map>",
           "{a = !buffer, b = memref<2x\n   f32, #map>, c = #x.y<#map, \"#map\">} : () -> ()"),
      "{a = memref<4xf32, affine_map<(d0) -> (d0)>>, b = memref<2x f32, affine_map<(d0) -> "
      "(d0)>>, c = #x.y<affine_map<(d0) -> (d0)>, \"#map\">} : () -> ()");
  EXPECT_THAT(Read("", "{a = memref<4xf32, #gone>} : () -> ()"),
              HasSubstr("undefined alias '#gone'"));
}

TEST_F(BuiltinTypesTest, AliasesOfAliasesAreBounded) {
  std::string aliases = "#a0 = affine_map<(d0) -> (d0)>\n";
  for (int i = 1; i < 40; ++i) {
    aliases += "#a" + std::to_string(i) + " = #x.pair<#a" + std::to_string(i - 1) + ", #a" +
               std::to_string(i - 1) + ">\n";
  }
  EXPECT_THAT(Read(aliases, "{a = #a39} : () -> ()"), HasSubstr("characters"));
}

TEST_F(BuiltinTypesTest, LocationAliasesThatDoubleAreBounded) {
  std::string aliases = "#l0 = loc(\"x\")\n";
  for (int i = 1; i < 27; ++i) {
    const std::string last = "#l" + std::to_string(i - 1);
    aliases += "#l" + std::to_string(i) + " = loc(callsite(" + last + " at " + last + "))\n";
  }
  EXPECT_THAT(Read(aliases, "{} : () -> () loc(#l26)"),
              HasSubstr("a location has more than 4096 parts"));
}

TEST_F(BuiltinTypesTest, MistakesHaveTheirPlace) {
  EXPECT_THAT(Read("", "{a = vector} : () -> ()"), HasSubstr("expected '<' after 'vector'"));
  EXPECT_THAT(Read("", "{a = vector<4} : () -> ()"), HasSubstr("unbalanced"));
  EXPECT_THAT(Read("", "{a = memref<4xf32)>} : () -> ()"), HasSubstr("f.ir:2:"));
}

}  // namespace
}  // namespace tenon
