#include "ir/core/context/dialect_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/core/text/printer.h"
#include "ir/core/verify/verifier.h"
#include "tests/ir/test_ir.h"

namespace tenon {
namespace {

using test::TestIr;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// !a.money<currency, digits = 2>, #a.rate<from, factor>, a.pay(!a.money).
Dialect Acme() {
  Dialect dialect{"a", "", {}};
  ParametricDef money;
  money.name = "a.money";
  money.parameters = {{"currency", AttrType::kStr, true, {}, {}},
                      {"digits", AttrType::kI64, false, "2 : i64", {}}};
  money.verify = [](std::span<const Attribute> parameters) {
    return parameters[0].str().size() == 3
               ? absl::OkStatus()
               : absl::InvalidArgumentError("a currency has three letters");
  };
  dialect.types = {money};
  ParametricDef list;
  list.name = "a.list";
  list.parameters = {{"element", AttrType::kTypeAttr, true, {}, {}}};
  dialect.types.push_back(list);
  ParametricDef rate;
  rate.name = "a.rate";
  rate.parameters = {{"factor", AttrType::kF64, true, {}, {}}};
  dialect.attributes = {rate};
  OpDef pay;
  pay.name = "a.pay";
  OperandDef x;
  x.name = "x";
  x.constraint.dialect_type = "a.money";
  x.constraint.description = "!a.money";
  pay.operands = {x};
  dialect.ops = {pay};
  return dialect;
}

class DialectTypesTest : public ::testing::Test {
 protected:
  DialectTypesTest() {
    TENON_CHECK(ir_.context.RegisterDialect(Acme()).ok());
    ir_.context.AllowUnregisteredDialect("x");
  }
  std::string Error(const std::string& type) {
    const auto module = ParseModule(ir_.context, "%0 = x.a() : () -> " + type);
    return std::string(module.status().message());
  }
  Attribute Str(std::string_view text) { return Attribute::Str(ir_.context, text); }
  TestIr ir_;
};

TEST_F(DialectTypesTest, AreUniquedAndReadBack) {
  const Type euro = *MakeDialectType(ir_.context, "a.money", {{Str("EUR")}});
  EXPECT_EQ(euro.text(), "!a.money<\"EUR\", 2 : i64>");
  EXPECT_EQ(DialectNameOf(euro), "a.money");
  EXPECT_THAT(ParametersOf(euro), ElementsAre(Str("EUR"), Attribute::I64(ir_.context, 2)));
  const auto module = ParseModule(ir_.context,
                                  "!e = !a.money<\"EUR\">\n"
                                  "%0 = x.a() {r = #a.rate<0.5>} : () -> !a.money<\"EUR\",2>\n"
                                  "a.pay(%0) : (!e) -> ()\n"
                                  "%1 = x.a() : () -> !a.list<!a.list<!a.money<\"JPY\", 0>>>\n");
  ASSERT_TRUE(module.ok()) << module.status();
  Operation* first = (*module)->region().front().front();
  EXPECT_EQ(first->result().type(), euro);
  EXPECT_EQ(DialectNameOf(first->attr("r")), "a.rate");
  EXPECT_THAT(ParametersOf(first->attr("r")), ElementsAre(Attribute::F64(ir_.context, 0.5)));
  const std::string text = Print(**module, {.generic = true});
  const auto again = ParseModule(ir_.context, text);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(Print(**again, {.generic = true}), text);
  EXPECT_THAT(text, HasSubstr("!a.list<!a.list<!a.money<\"JPY\", 0 : i64>>>"));
}

TEST_F(DialectTypesTest, WrongParametersAreRefused) {
  EXPECT_THAT(Error("!a.money"), HasSubstr("a.money: parameter 'currency' is missing"));
  EXPECT_THAT(Error("!a.money<1>"), HasSubstr("attribute 'currency' must be"));
  EXPECT_THAT(Error("!a.money<\"EURO\">"),
              HasSubstr(":1:20: a.money: a currency has three letters"));
  EXPECT_THAT(Error("!a.money<\"EUR\", 2, 3>"), HasSubstr("3 parameters (expected at most 2)"));
  EXPECT_THAT(Error("!a.money<\"EUR\" 2>"), HasSubstr("',' or '>'"));
  EXPECT_THAT(Error("!a.cash"), HasSubstr("dialect 'a' has no type '!a.cash'"));
  EXPECT_EQ(MakeDialectType(ir_.context, "a.cash", {}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(DialectTypesTest, AnOperandCanDemandOne) {
  const Type euro = *MakeDialectType(ir_.context, "a.money", {{Str("EUR")}});
  const Type list =
      *MakeDialectType(ir_.context, "a.list", {{Attribute::TypeAttr(ir_.context, euro)}});
  for (const Type type : {euro, list}) {
    const Value x = ir_.Add(ir_.body, "x.a", {}, {type})->result();
    Operation* pay = ir_.Add(ir_.body, "a.pay", {x}, {});
    const absl::Status status = Verify(pay);
    if (type == euro) {
      EXPECT_TRUE(status.ok()) << status;
    } else {
      EXPECT_THAT(std::string(status.message()), HasSubstr("must be !a.money, got !a.list"));
    }
  }
}

TEST_F(DialectTypesTest, OthersHaveNoParameters) {
  EXPECT_EQ(DialectNameOf(Type()), "");
  EXPECT_EQ(DialectNameOf(ir_.f32()), "");
  EXPECT_THAT(ParametersOf(Type::Opaque(ir_.context, "!x.y<1>")), IsEmpty());
  EXPECT_THAT(ParametersOf(Str("a")), IsEmpty());
}

TEST_F(DialectTypesTest, WrongDefinitionsAreRefused) {
  const auto with = [](std::string name, std::vector<AttrDef> parameters) {
    Dialect dialect{"b", "", {}};
    dialect.types.push_back({std::move(name), "", std::move(parameters)});
    return dialect;
  };
  Context& context = ir_.context;
  EXPECT_THAT(std::string(context.RegisterDialect(with("c.t", {})).message()),
              HasSubstr("does not belong"));
  EXPECT_THAT(
      std::string(
          context.RegisterDialect(with("b.t", {{"p", AttrType::kI64, false, "x", {}}})).message()),
      HasSubstr("does not fit: x"));
  EXPECT_THAT(
      std::string(context
                      .RegisterDialect(with("b.t", {{"p", AttrType::kI64, false, "1 : i64", {}},
                                                    {"q", AttrType::kI64, true, {}, {}}}))
                      .message()),
      HasSubstr("'q' of 'b.t' has no default"));
  Dialect twice = with("b.t", {});
  twice.types.push_back(twice.types[0]);
  EXPECT_EQ(context.RegisterDialect(twice).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(context.RegisterDialect(with("b.t", {})).ok());
}

}  // namespace
}  // namespace tenon
