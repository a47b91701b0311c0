// Classes of types and attributes that tools/codegen makes of tests/codegen/demo.yaml, and operands
// that take them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "demo_ops.h"
#include "ir/core/builder.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/core/verify/verifier.h"
#include "ir/dialect/dialects.h"

namespace tenon {

absl::Status CheckLedger(std::span<const Attribute> parameters) {
  if (parameters[0].str().size() == 3) return absl::OkStatus();
  return absl::InvalidArgumentError("a currency has three letters");
}

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class GeneratedTypesTest : public testing::Test {
 protected:
  GeneratedTypesTest() {
    RegisterAllDialects(context_);
    TENON_CHECK(context_.RegisterDialect(DemoDialect()).ok());
  }
  std::string Error(const std::string& text) {
    return std::string(ParseModule(context_, text).status().message());
  }
  Context context_;
};

TEST_F(GeneratedTypesTest, MakesAndReads) {
  const auto ledger = demo::LedgerType::Get(context_, {.currency = "EUR"});
  ASSERT_TRUE(ledger.ok()) << ledger.status();
  EXPECT_EQ(ledger->currency(), "EUR");
  EXPECT_EQ(ledger->limit(), 100);
  EXPECT_EQ(*ParseType(context_, "!demo.ledger<\"EUR\">"), *ledger);
  EXPECT_EQ(ledger->text(), "!demo.ledger<\"EUR\", 100 : i64>");
  EXPECT_EQ(demo::ClerkType::Get(context_)->text(), "!demo.clerk");
  EXPECT_EQ(demo::RateAttr::Get(context_)->factor(), 1.0);
  EXPECT_EQ(demo::RateAttr::Get(context_, {.factor = 2.0})->factor(), 2.0);
}

TEST_F(GeneratedTypesTest, KnowsItsClass) {
  const Type ledger = *ParseType(context_, "!demo.ledger<\"USD\", 7 : i64>");
  EXPECT_TRUE(Isa<demo::LedgerType>(ledger));
  EXPECT_FALSE(Isa<demo::ClerkType>(ledger));
  EXPECT_FALSE(Isa<demo::LedgerType>(Type()));
  EXPECT_FALSE(Isa<demo::LedgerType>(Type::Index(context_)));
  EXPECT_EQ(DynCast<demo::LedgerType>(ledger).limit(), 7);
  EXPECT_FALSE(DynCast<demo::ClerkType>(ledger));
  const Attribute rate = *ParseAttribute(context_, "#demo.rate<0.5>");
  EXPECT_TRUE(Isa<demo::RateAttr>(rate));
  EXPECT_EQ(DynCast<demo::RateAttr>(rate).factor(), 0.5);
  EXPECT_FALSE(DynCast<demo::RateAttr>(Attribute::I64(context_, 1)));
}

TEST_F(GeneratedTypesTest, EveryKindReadsBack) {
  const auto every = demo::EveryType::Get(
      context_, {.any = Attribute::Unit(context_),
                 .flag = true,
                 .elements = *ParseAttribute(context_, "dense<1.0> : tensor<2xf32>"),
                 .name = "main",
                 .other = Type::Index(context_),
                 .word = "usd"});
  ASSERT_TRUE(every.ok()) << every.status();
  EXPECT_EQ(every->any(), Attribute::Unit(context_));
  EXPECT_TRUE(every->flag());
  EXPECT_EQ(every->elements().kind(), Attribute::Kind::kElements);
  EXPECT_EQ(every->name(), "main");
  EXPECT_EQ(every->other(), Type::Index(context_));
  EXPECT_EQ(every->word(), "usd");
  EXPECT_EQ(every->element(), DType::kF32);
  EXPECT_EQ(every->f(), 0.5f);
  EXPECT_TRUE(std::isinf(every->d()));
  EXPECT_THAT(every->ints(), ElementsAre(1, 2));
  EXPECT_THAT(every->floats(), ElementsAre(0.5f));
  EXPECT_TRUE(every->extents().empty());
  EXPECT_EQ(*ParseType(context_, every->text()), *every) << every->text();
}

TEST_F(GeneratedTypesTest, WrongParametersAreErrors) {
  EXPECT_EQ(demo::LedgerType::Get(context_, {.currency = "Euro"}).status().message(),
            "demo.ledger: a currency has three letters");
  EXPECT_THAT(std::string(demo::EveryType::Get(context_, {}).status().message()),
              HasSubstr("parameter 'any' is missing"));
  EXPECT_THAT(Error("%0 = demo.open() : () -> !demo.ledger<\"E\">"),
              HasSubstr("demo.ledger: a currency has three letters"));
}

TEST_F(GeneratedTypesTest, OperandsTakeTheType) {
  const std::string head = R"(func.func() <{function_type = (tensor<f64>) -> (), sym_name = "f"}> ({
^bb0(%x: tensor<f64>):
  %0 = demo.open() : () -> !demo.ledger<"EUR">
)";
  const std::string tail = "  func.return() : () -> ()\n}) : () -> ()\n";
  const auto module = ParseModule(
      context_, head + "  demo.book(%0, %x) : (!demo.ledger<\"EUR\">, tensor<f64>) -> ()\n" + tail);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(Verify(module->get()).ok());
  EXPECT_EQ(Print(**ParseModule(context_, Print(**module))), Print(**module));
  const auto verified = [&](const std::string& line) {
    const auto parsed = ParseModule(context_, head + line + tail);
    const absl::Status status = parsed.ok() ? Verify(parsed->get()) : parsed.status();
    return std::string(status.message());
  };
  EXPECT_THAT(verified("  demo.book(%x, %x) : (tensor<f64>, tensor<f64>) -> ()\n"),
              HasSubstr("!demo.ledger"));
  EXPECT_THAT(verified("  demo.book(%0, %x, %0) : (!demo.ledger<\"EUR\">, tensor<f64>, "
                       "!demo.ledger<\"EUR\">) -> ()\n"),
              HasSubstr("!demo.clerk"));
}

}  // namespace
}  // namespace tenon
