#include "ir/core/context/release_unused.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/constants/keep_blobs.h"
#include "ir/core/context/dialect_types.h"
#include "ir/core/context/interned_roots.h"
#include "ir/core/operation.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/core/verify/verifier.h"
#include "ir/dialect/dialects.h"

namespace tenon {
namespace {

// A program with types, dimensions, attributes and locations of its own for each `number`.
std::string Program(int number) {
  const std::string type =
      fmt::format(R"x(tensor<?x{0}xf32, ["{0} * S{0} + min(T{0}, {0})", ""]>)x", 1000 + number);
  return fmt::format(R"x("builtin.module"() ({{
  "func.func"() <{{function_type = ({0}) -> {0}, sym_name = "f{1}"}}> ({{
  ^bb0(%x: {0} loc("x{1}")):
    %0 = "ten.exp"(%x) {{n = [{1} : i32, "s{1}", #core.dims<"U{1}">], t = tuple<{0}, f32>}} : ({0}) -> {0} loc(fused["a{1}", "b{1}"("f{1}":{1}:2)])
    %1 = "core.constant"() <{{value = dense<[{1}, 2]> : tensor<2xi32>}}> : () -> tensor<2xi32> loc(callsite("c{1}" at "d{1}"))
    "func.return"(%0) : ({0}) -> ()
  }}) : () -> ()
}}) : () -> ()
)x",
                     type, number);
}

class ReleaseUnusedTest : public testing::Test {
 protected:
  ReleaseUnusedTest() { RegisterAllDialects(context_); }
  OwnedOp Parse(int number) {
    absl::StatusOr<OwnedOp> module = ParseModule(context_, Program(number));
    EXPECT_TRUE(module.ok()) << module.status();
    return *std::move(module);
  }
  static std::string TextOf(const OwnedOp& module) {
    return Print(*module, {.generic = true, .locations = true});
  }
  ReleasedCounts Release(std::vector<Operation*> modules) {
    const absl::StatusOr<ReleasedCounts> released = ReleaseUnused(context_, modules);
    EXPECT_TRUE(released.ok()) << released.status();
    return released.value_or(ReleasedCounts());
  }
  Context context_;
};

TEST_F(ReleaseUnusedTest, FreesWhatAProgramLeaves) {
  Release({});
  const size_t before = InternedBytes(context_);
  { const OwnedOp module = Parse(1); }
  const ReleasedCounts released = Release({});
  EXPECT_GE(released.types, 3u);
  EXPECT_GE(released.attributes, 8u);
  EXPECT_GE(released.dims, 5u);
  EXPECT_GE(released.locations, 12u);
  EXPECT_LE(InternedBytes(context_), before + 4096);
  const ReleasedCounts again = Release({});
  EXPECT_EQ(again.types + again.attributes + again.dims + again.locations, 0u);
}

TEST_F(ReleaseUnusedTest, KeepsWhatModulesName) {
  const OwnedOp kept = Parse(1);
  const std::string text = TextOf(kept);
  { const OwnedOp other = Parse(2); }
  EXPECT_GT(Release({kept.get()}).attributes, 0u);
  // New data takes the freed places.
  const OwnedOp third = Parse(3);
  EXPECT_EQ(TextOf(kept), text);
  EXPECT_TRUE(Verify(kept.get()).ok());
  EXPECT_EQ(TextOf(Parse(1)), text);
  EXPECT_EQ(Release({kept.get(), third.get()}).types, 0u);
}

TEST_F(ReleaseUnusedTest, MemoryDoesNotGrowWithThePrograms) {
  size_t early = 0;
  for (int i = 0; i < 60; ++i) {
    { const OwnedOp module = Parse(i); }
    Release({});
    if (i == 10) early = InternedBytes(context_);
  }
  EXPECT_LE(InternedBytes(context_), early);
}

TEST_F(ReleaseUnusedTest, RefusesWhatItCannotSee) {
  const OwnedOp module = Parse(1), other = Parse(2);
  for (const std::vector<Operation*>& modules :
       {std::vector<Operation*>{}, {module.get()}, {module.get(), module.get(), other.get()}}) {
    EXPECT_EQ(ReleaseUnused(context_, modules).status().code(),
              absl::StatusCode::kFailedPrecondition);
  }
  {
    const KeepUnusedBlobs keep(context_);
    EXPECT_EQ(
        ReleaseUnused(context_, std::vector<Operation*>{module.get(), other.get()}).status().code(),
        absl::StatusCode::kFailedPrecondition);
  }
  Release({module.get(), other.get()});
}

// The bytes of an op that lost operands count as they were allocated.
TEST_F(ReleaseUnusedTest, KnowsOpsThatLostOperands) {
  const OwnedOp module = Parse(1);
  Operation* const function = &*module->region(0).front().begin();
  function->region(0).front().back()->EraseOperand(0);
  Release({module.get()});
}

TEST_F(ReleaseUnusedTest, RootsKeepHandles) {
  std::string text;
  {
    InternedRoots roots(context_);
    const int64_t sizes[] = {12345, 54321};
    const Type type = Type::Tensor(context_, DType::kF32, sizes);
    const Attribute inside[] = {Attribute::TypeAttr(context_, type),
                                Attribute::Str(context_, "kept")};
    const Attribute attribute = Attribute::Array(context_, inside);
    const DimExpr dim = *DimExpr::Parse(context_, "Kept * 7 + 1");
    const Location location = Location::Name(context_, "kept");
    roots.Add(attribute);
    roots.Add(dim);
    roots.Add(location);
    roots.Add(Type());
    roots.Add(Attribute());
    Attribute::Str(context_, "dropped");
    EXPECT_GE(Release({}).attributes, 1u);
    EXPECT_EQ(attribute.text(), R"([tensor<12345x54321xf32>, "kept"])");
    EXPECT_EQ(Attribute::Array(context_, inside), attribute);
    EXPECT_EQ(*DimExpr::Parse(context_, "Kept * 7 + 1"), dim);
    EXPECT_EQ(LocationText(context_, location), R"("kept")");
    EXPECT_EQ(Location::Name(context_, "kept"), location);
  }
  const ReleasedCounts released = Release({});
  EXPECT_GE(released.attributes, 3u);
  EXPECT_GE(released.dims, 3u);
  EXPECT_EQ(released.types, 1u);
  EXPECT_EQ(released.locations, 1u);
}

TEST_F(ReleaseUnusedTest, RootsMayOutliveTheirContext) {
  auto context = std::make_unique<Context>();
  InternedRoots roots(*context);
  roots.Add(Type::Index(*context));
  context.reset();
}

TEST_F(ReleaseUnusedTest, FreesLargeConstants) {
  std::vector<std::byte> bytes(4096);
  bytes[7] = std::byte{1};
  const int64_t size = 4096;
  Attribute::Elements(context_, Type::Tensor(context_, DType::kI8, std::span(&size, 1)),
                      Blob::Copy(bytes));
  EXPECT_EQ(context_.live_blob_bytes(), 4096u);
  EXPECT_EQ(Release({}).attributes, 1u);
  EXPECT_EQ(context_.live_blob_bytes(), 0u);
}

// Parameters of a dialect's type live as long as the type.
TEST_F(ReleaseUnusedTest, KeepsParametersOfDialectTypes) {
  Dialect dialect{"zoo", "", {}};
  ParametricDef def;
  def.name = "zoo.cage";
  def.parameters = {{"animal", AttrType::kStr, true, {}, {}}};
  dialect.types = {def};
  ASSERT_TRUE(context_.RegisterDialect(std::move(dialect)).ok());
  const Attribute animal[] = {Attribute::Str(context_, "okapi")};
  InternedRoots roots(context_);
  const Type cage = *MakeDialectType(context_, "zoo.cage", animal);
  roots.Add(cage);
  const Attribute lion[] = {Attribute::Str(context_, "lion")};
  ASSERT_TRUE(MakeDialectType(context_, "zoo.cage", lion).ok());
  EXPECT_EQ(Release({}).types, 1u);
  ASSERT_EQ(ParametersOf(cage).size(), 1u);
  EXPECT_EQ(ParametersOf(cage)[0].str(), "okapi");
}

}  // namespace
}  // namespace tenon
