#include "ir/core/verify/symbol_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/context/context.h"
#include "ir/core/text/parser.h"
#include "ir/dialect/dialects.h"

namespace tenon {
namespace {

// A module of so many functions f0, f1, …: more than are looked at one by one.
constexpr int kFunctions = 100;

class SymbolIndexTest : public testing::Test {
 protected:
  SymbolIndexTest() {
    RegisterAllDialects(context_);
    std::string text;
    for (int i = 0; i < kFunctions; ++i) {
      text += fmt::format(
          "func.func() <{{function_type = () -> (), sym_name = \"f{}\"}}> ({{\n"
          "  func.return() : () -> ()\n}}) : () -> ()\n",
          i);
    }
    module_ = *ParseModule(context_, text);
    for (Operation& op : module_->region(0).front()) functions_.push_back(&op);
  }

  Operation* Find(const std::string& name) { return LookupSymbol(module_.get(), name); }
  Attribute Name(const std::string& name) { return Attribute::Str(context_, name); }

  Context context_;
  OwnedOp module_;
  std::vector<Operation*> functions_;
};

TEST_F(SymbolIndexTest, FindsEverySymbol) {
  ASSERT_EQ(functions_.size(), static_cast<size_t>(kFunctions));
  for (int i = 0; i < kFunctions; ++i) EXPECT_EQ(Find(fmt::format("f{}", i)), functions_[i]);
  EXPECT_EQ(Find("f100"), nullptr);
}

TEST_F(SymbolIndexTest, FollowsRenaming) {
  Operation* last = functions_.back();
  ASSERT_EQ(Find("f99"), last);
  last->SetAttr("sym_name", Name("other"));
  EXPECT_EQ(Find("f99"), nullptr);
  EXPECT_EQ(Find("other"), last);
}

TEST_F(SymbolIndexTest, FollowsErasingAndInserting) {
  Operation* last = functions_.back();
  ASSERT_EQ(Find("f99"), last);
  functions_[98]->Erase();
  EXPECT_EQ(Find("f98"), nullptr);
  EXPECT_EQ(Find("f99"), last);
  functions_[97]->SetAttr("sym_name", Name("f98"));
  EXPECT_EQ(Find("f98"), functions_[97]);
}

TEST_F(SymbolIndexTest, FollowsBlocksThatMove) {
  ASSERT_NE(Find("f99"), nullptr);
  absl::StatusOr<OwnedOp> other = ParseModule(context_, "");
  ASSERT_TRUE(other.ok());
  (*other)->region(0).TakeBody(module_->region(0));
  EXPECT_EQ(Find("f99"), nullptr);
  module_->region(0).TakeBody((*other)->region(0));
  EXPECT_EQ(Find("f99"), functions_.back());
}

// Another module may get the memory of one that is gone.
TEST_F(SymbolIndexTest, ForgetsModulesThatAreGone) {
  for (int round = 0; round < 4; ++round) {
    ASSERT_NE(Find("f99"), nullptr);
    const std::string text = fmt::format(
        "func.func() <{{function_type = () -> (), sym_name = \"g{}\"}}> ({{\n"
        "  func.return() : () -> ()\n}}) : () -> ()\n",
        round);
    module_.reset();
    module_ = *ParseModule(context_, text);
    EXPECT_EQ(Find("f99"), nullptr);
    EXPECT_NE(Find(fmt::format("g{}", round)), nullptr);
    std::string many;
    for (int i = 0; i < kFunctions; ++i) {
      many += fmt::format(
          "func.func() <{{function_type = () -> (), sym_name = \"f{}\"}}> ({{\n"
          "  func.return() : () -> ()\n}}) : () -> ()\n",
          i);
    }
    module_ = *ParseModule(context_, many);
  }
}

}  // namespace
}  // namespace tenon
