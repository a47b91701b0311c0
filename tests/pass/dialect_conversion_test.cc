// Dialect conversion: legality, types, casts and errors. The dialect "old" is not registered; its
// numbers are of type !old.num, which becomes tensor<f32>.
#include "pass/conversion/dialect_conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <regex>
#include <string>

#include "drr/rewrite/driver.h"
#include "fmt/format.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/core/verify/verifier.h"
#include "ir/dialect/dialects.h"
#include "ir/dialect/func_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using Body =
    std::function<absl::StatusOr<bool>(Operation*, const ConvertedOperands&, ConversionRewriter&)>;

class FunctionPattern : public ConversionPattern {
 public:
  FunctionPattern(std::string name, std::string root, const TypeConverter* converter, Body body)
      : ConversionPattern(std::move(name), std::move(root), converter), body_(std::move(body)) {}
  absl::StatusOr<bool> Convert(Operation* op, const ConvertedOperands& operands,
                               ConversionRewriter& rewriter) const override {
    return body_(op, operands, rewriter);
  }

 private:
  Body body_;
};

class DialectConversionTest : public ::testing::Test {
 protected:
  DialectConversionTest() {
    RegisterAllDialects(context_);
    context_.AllowUnregisteredDialect("old");
    context_.AllowUnregisteredDialect("new");
    num_ = Type::Opaque(context_, "!old.num");
    tensor_ = Type::Tensor(context_, DType::kF32, std::span<const int64_t>());
    types_.AddRule([](Type type) { return type; });
    types_.AddRule([this](Type type) -> std::optional<Type> {
      if (type == num_) return tensor_;
      return std::nullopt;
    });
    target_.AddLegalDialect("ten");
    target_.AddLegalDialect("new");
    target_.AddIllegalDialect("old");
    for (const std::string_view op : {"func.func", "func.return", "cf.br"}) {
      target_.AddDynamicallyLegalOp(op, [this](const Operation& op) { return types_.IsLegal(op); });
    }
  }

  void AddStructure() {
    const std::string_view ops[] = {"func.func", "func.return", "cf.br"};
    AddTypeConversions(patterns_, types_, ops);
  }
  void Add(std::string name, std::string root, Body body, bool typed = true) {
    patterns_.Add(std::make_unique<const FunctionPattern>(std::move(name), std::move(root),
                                                          typed ? &types_ : nullptr, body));
  }
  void AddAdd() {
    Add("add", "old.add",
        [](Operation* op, const ConvertedOperands& x,
           ConversionRewriter& r) -> absl::StatusOr<bool> {
          const auto made = r.ReplaceWith<ten::AddOp>(op, x[0], x[1]);
          if (!made.ok()) return made.status();
          return true;
        });
  }
  // An op of an unregistered dialect, at the insertion point.
  static Operation* Make(OpBuilder& builder, std::string_view name, std::vector<Value> operands,
                         std::vector<Type> results) {
    OperationState state;
    state.info = builder.context().GetUnregisteredOp(name);
    state.operands.assign(operands.begin(), operands.end());
    state.result_types.assign(results.begin(), results.end());
    return builder.Create(state);
  }
  // Replaces ops `from` by ops `to` of the same operands and types.
  void AddRename(const std::string& from, const std::string& to) {
    Add(
        from + "-to-" + to, from,
        [to](Operation* op, const ConvertedOperands& x, ConversionRewriter& r) {
          std::vector<Type> types;
          for (unsigned i = 0; i < op->num_results(); ++i) types.push_back(op->result(i).type());
          r.ReplaceByResultsOf(op, Make(r, to, {x.all().begin(), x.all().end()}, types));
          return true;
        },
        /*typed=*/false);
  }
  static TypeConverter::Materialization By(const char* name) {
    return [name](OpBuilder& builder, Type to, Value from, Location) -> absl::StatusOr<Value> {
      return Make(builder, name, {from}, {to})->result();
    };
  }

  static std::string Function(const std::string& type, const std::string& body) {
    return "func.func() <{function_type = " + type + ", sym_name = \"f\"}> ({\n" + body +
           "}) : () -> ()\n";
  }
  // The converted program, or the error. Checks that the program is valid.
  std::string Convert(const std::string& text, bool full) {
    auto module = ParseModule(context_, text);
    if (!module.ok()) return "parse: " + std::string(module.status().message());
    PassContext services;
    services.rule_counts = &counts_;
    const auto result = full ? ApplyFullConversion(module->get(), target_, patterns_, services)
                             : ApplyPartialConversion(module->get(), target_, patterns_, services);
    if (!result.ok()) return "error: " + std::string(result.status().message());
    if (const absl::Status status = Verify(module->get()); !status.ok())
      return "invalid: " + std::string(status.message());
    const std::string printed = Print(**module);
    EXPECT_EQ(result->changed, printed != Print(**ParseModule(context_, text)));
    EXPECT_THAT(printed, Not(HasSubstr("unrealized")));
    return printed;
  }
  std::string Full(const std::string& text) { return Convert(text, true); }
  std::string Partial(const std::string& text) { return Convert(text, false); }

  Context context_;
  Type num_, tensor_;
  TypeConverter types_;
  ConversionTarget target_;
  PatternSet patterns_;
  std::map<std::string, int64_t, std::less<>> counts_;
};

constexpr char kAdd[] = R"(^bb0(%x: !old.num):
  %0 = old.add(%x, %x) : (!old.num, !old.num) -> !old.num
  %1 = old.add(%0, %x) : (!old.num, !old.num) -> !old.num
  func.return(%1) : (!old.num) -> ()
)";

TEST_F(DialectConversionTest, ConvertsAFunction) {
  AddStructure();
  AddAdd();
  target_.AddLegalOp("builtin.module");
  EXPECT_EQ(Full(Function("(!old.num) -> !old.num", kAdd)),
            R"(builtin.module() ({
  func.func() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "f"}> ({
  ^bb0(%x: tensor<f32>):
    %0 = ten.add(%x, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %1 = ten.add(%0, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    func.return(%1) : (tensor<f32>) -> ()
  }) : () -> ()
}) : () -> ()
)");
  EXPECT_EQ(counts_["add"], 2);
  EXPECT_EQ(counts_["convert-types-of-func.func"], 1);
}

TEST_F(DialectConversionTest, ConvertsBlocksAndJumps) {
  AddStructure();
  AddAdd();
  const std::string text = Partial(Function("(!old.num) -> !old.num", R"(^bb0(%x: !old.num):
  cf.br(%x)[^bb2] : (!old.num) -> ()
^bb1(%y: !old.num):
  func.return(%y) : (!old.num) -> ()
^bb2(%z: !old.num):
  %0 = old.add(%z, %x) : (!old.num, !old.num) -> !old.num
  cf.br(%0)[^bb1] : (!old.num) -> ()
)"));
  EXPECT_THAT(text, Not(HasSubstr("old.")));
  EXPECT_THAT(text, HasSubstr("(%z: tensor<f32>)"));
}

TEST_F(DialectConversionTest, LegalProgramsStay) {
  AddStructure();
  AddAdd();
  const std::string text = R"(builtin.module() ({
  func.func() <{function_type = (tensor<f32>) -> (), sym_name = "f"}> ({
  ^bb0(%x: tensor<f32>):
    %0 = ten.neg(%x) : (tensor<f32>) -> tensor<f32>
    func.return() : () -> ()
  }) : () -> ()
}) : () -> ()
)";
  EXPECT_EQ(Full(text), text);
  EXPECT_TRUE(counts_.empty());
}

TEST_F(DialectConversionTest, UsersThatStaySeeTheOldType) {
  AddAdd();
  target_.AddLegalOp("old.print");
  target_.AddLegalOp("old.read");
  types_.AddSourceMaterialization(By("new.back"));
  types_.AddTargetMaterialization(By("new.there"));
  const std::string program = Function("() -> ()", R"(  %x = old.read() : () -> !old.num
  %0 = old.add(%x, %x) : (!old.num, !old.num) -> !old.num
  %1 = old.add(%0, %x) : (!old.num, !old.num) -> !old.num
  old.print(%1) : (!old.num) -> ()
  old.print(%1) : (!old.num) -> ()
  func.return() : () -> ()
)");
  EXPECT_EQ(Partial(program), R"(builtin.module() ({
  func.func() <{function_type = () -> (), sym_name = "f"}> ({
    %x = old.read() : () -> !old.num
    %0 = new.there(%x) : (!old.num) -> tensor<f32>
    %1 = ten.add(%0, %0) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %2 = ten.add(%1, %0) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %3 = new.back(%2) : (tensor<f32>) -> !old.num
    old.print(%3) : (!old.num) -> ()
    old.print(%3) : (!old.num) -> ()
    func.return() : () -> ()
  }) : () -> ()
}) : () -> ()
)");
  // What materializations make must be legal.
  target_.AddIllegalOp("new.back");
  EXPECT_THAT(Partial(program), HasSubstr("'new.back' cannot be made legal"));
  AddRename("new.back", "new.home");
  EXPECT_THAT(Partial(program), HasSubstr("%3 = new.home(%2)"));
}

TEST_F(DialectConversionTest, ArgumentsHaveMaterializationsOfTheirOwn) {
  AddStructure();
  target_.AddLegalOp("old.print");
  types_.AddSourceMaterialization(By("new.back"));
  const std::string program = Function("(!old.num) -> ()", R"(^bb0(%x: !old.num):
  old.print(%x) : (!old.num) -> ()
  func.return() : () -> ()
)");
  EXPECT_THAT(Partial(program), HasSubstr("%0 = new.back(%x) : (tensor<f32>) -> !old.num"));
  types_.AddArgumentMaterialization(By("new.argument"));
  EXPECT_THAT(Partial(program), HasSubstr("%0 = new.argument(%x)"));
}

TEST_F(DialectConversionTest, MissingMaterializationsAreErrors) {
  AddAdd();
  target_.AddLegalOp("old.print");
  target_.AddLegalOp("old.read");
  const std::string program = Function("() -> ()", R"(  %x = old.read() : () -> !old.num
  %0 = old.add(%x, %x) : (!old.num, !old.num) -> !old.num
  old.print(%0) : (!old.num) -> ()
  func.return() : () -> ()
)");
  EXPECT_EQ(Partial(program),
            "error: <input>:3:8: 'ten.add' needs a value of type tensor<f32>, which is !old.num "
            "now, and no target materialization makes it");
  types_.AddTargetMaterialization(By("new.there"));
  EXPECT_EQ(Partial(program),
            "error: <input>:4:3: 'old.print' needs a value of type !old.num, which is tensor<f32> "
            "now, and no source materialization makes it");
  types_.AddSourceMaterialization(
      [](OpBuilder&, Type, Value from, Location) -> absl::StatusOr<Value> { return from; });
  EXPECT_THAT(Partial(program), HasSubstr("a materialization has made a value of type tensor<f32> "
                                          "(expected !old.num)"));
}

TEST_F(DialectConversionTest, ErrorsNameTheOpAndWhatItsPatternsSay) {
  const std::string program = Function("() -> ()", R"(  old.a() : () -> ()
  func.return() : () -> ()
)");
  EXPECT_EQ(Partial(program),
            "error: <input>:2:3: 'old.a' cannot be made legal: the target says that it is "
            "illegal, and there is no pattern for it");
  Add("first", "old.a", [](Operation*, const ConvertedOperands&, ConversionRewriter& r) {
    return r.Fail("the rate is unknown");
  });
  Add("second", "old.a",
      [](Operation*, const ConvertedOperands&, ConversionRewriter&) { return false; });
  EXPECT_EQ(Partial(program),
            "error: <input>:2:3: 'old.a' cannot be made legal: the target says that it is "
            "illegal; 'first': the rate is unknown; 'second' does not apply");
  target_.AddLegalDialect("old");
  EXPECT_THAT(Partial(program), StartsWith("builtin.module"));
}

TEST_F(DialectConversionTest, FullConversionWantsEveryOpLegal) {
  target_ = ConversionTarget();
  const std::string program = Function("() -> ()", "  func.return() : () -> ()\n");
  EXPECT_THAT(Partial(program), StartsWith("builtin.module"));
  EXPECT_EQ(Full(program),
            "error: <input>:1:1: 'func.func' cannot be made legal: the target does not say that it "
            "is legal, and there is no pattern for it");
  target_.SetUnknownDynamicallyLegal(
      [](const Operation& op) { return op.name() != "func.return"; });
  EXPECT_THAT(Full(program), HasSubstr("'func.return' cannot be made legal: the target says"));
}

TEST_F(DialectConversionTest, TypesWithoutConversion) {
  types_.AddRule([this](Type type) -> std::optional<Type> {
    if (type == num_) return Type();
    return std::nullopt;
  });
  AddStructure();
  AddAdd();
  EXPECT_THAT(Partial(Function("(!old.num) -> !old.num", kAdd)),
              HasSubstr("'func.func' cannot be made legal: the target says that it is illegal; "
                        "'convert-types-of-func.func': (!old.num) -> !old.num has no conversion"));
  target_.AddLegalOp("func.func");
  EXPECT_THAT(Partial(Function("(!old.num) -> !old.num", kAdd)),
              HasSubstr("'add': operand 0 is of type !old.num, which has no conversion"));
}

TEST_F(DialectConversionTest, WhatPatternsMakeIsConvertedToo) {
  AddRename("old.a", "old.b");
  AddRename("old.b", "old.c");
  AddRename("old.c", "new.d");
  const std::string program = Function("() -> ()", R"(  old.a() : () -> ()
  old.c() : () -> ()
  func.return() : () -> ()
)");
  EXPECT_THAT(Partial(program), HasSubstr("    new.d() : () -> ()\n    new.d() : () -> ()\n"));
  patterns_ = PatternSet();
  AddRename("old.a", "old.e");
  EXPECT_THAT(Partial(program), HasSubstr("'old.e' cannot be made legal: the target says that it "
                                          "is illegal, pattern 'old.a-to-old.e' has made it, and"));
  AddRename("old.e", "old.a");
  EXPECT_THAT(Partial(program), HasSubstr("the conversion does not end: pattern 'old.a-to-old.e' "
                                          "applies to 'old.a', which pattern 'old.e-to-old.a' has "
                                          "made, after 64 patterns in a row"));
}

TEST_F(DialectConversionTest, LegalityMayDependOnTheOp) {
  target_.AddDynamicallyLegalOp("old.a",
                                [](const Operation& op) { return op.attr("done") != Attribute(); });
  Add("mark", "old.a", [](Operation* op, const ConvertedOperands&, ConversionRewriter& r) {
    r.SetAttr(op, "done", Attribute::Unit(op->context()));
    return true;
  });
  EXPECT_THAT(Partial(Function("() -> ()", R"(  old.a() : () -> ()
  old.a() {done} : () -> ()
  func.return() : () -> ()
)")),
              HasSubstr("    old.a() {done} : () -> ()\n    old.a() {done} : () -> ()\n"));
  EXPECT_EQ(counts_["mark"], 1);
}

TEST_F(DialectConversionTest, WhatPatternsChangeIsLookedAtAgain) {
  target_.AddDynamicallyLegalOp("old.a",
                                [](const Operation& op) { return op.attr("bad") == Attribute(); });
  AddRename("old.a", "new.a");
  Add("spoil", "old.b", [](Operation* op, const ConvertedOperands&, ConversionRewriter& r) {
    r.SetAttr(op->prev(), "bad", Attribute::Unit(op->context()));
    r.Erase(op);
    return true;
  });
  EXPECT_THAT(Partial(Function("() -> ()", R"(  old.a() : () -> ()
  old.b() : () -> ()
  func.return() : () -> ()
)")),
              HasSubstr("new.a() : () -> ()"));
}

TEST_F(DialectConversionTest, CastsFollowTheirValues) {
  // Memory of erased ops is used again: a cast of an old value must not stand for a new one.
  target_.AddLegalOp("old.read");
  types_.AddTargetMaterialization(By("new.there"));
  Add("add", "old.add",
      [](Operation* op, const ConvertedOperands& x, ConversionRewriter& r) -> absl::StatusOr<bool> {
        Operation* read = op->operand(0).defining_op();
        if (r.Converted(op->operand(0)) != op->operand(0)) return false;
        const Type type = read->result().type();
        Operation* again = Make(r, "old.read", {}, {type});
        const auto made = r.ReplaceWith<ten::AddOp>(op, x[0], x[1]);
        if (!made.ok()) return made.status();
        r.MoveAfter(again, read);
        r.Replace(read, again->result());
        return true;
      });
  Add("neg", "old.neg",
      [](Operation* op, const ConvertedOperands& x, ConversionRewriter& r) -> absl::StatusOr<bool> {
        const auto made = r.ReplaceWith<ten::NegOp>(op, x[0]);
        if (!made.ok()) return made.status();
        return true;
      });
  std::string body;
  for (int i = 0; i < 8; ++i) {
    body += fmt::format(
        "  %a{0} = old.read() : () -> !old.num\n"
        "  %b{0} = old.add(%a{0}, %a{0}) : (!old.num, !old.num) -> !old.num\n"
        "  %c{0} = old.neg(%a{0}) : (!old.num) -> !old.num\n",
        i);
  }
  const std::string text = Partial(Function("() -> ()", body + "  func.return() : () -> ()\n"));
  for (int i = 0; i < 8; ++i) {
    const std::regex own(fmt::format(R"((%\d+) = new\.there\(%a{0}\)[^]*ten\.neg\(\1\))", i));
    EXPECT_TRUE(std::regex_search(text, own)) << i << ": " << text;
  }
}

TEST_F(DialectConversionTest, RecursivelyLegalOpsAreLeft) {
  target_.AddLegalOp("old.box");
  target_.SetRecursivelyLegal("old.box",
                              [](const Operation& op) { return op.attr("sealed") != Attribute(); });
  AddRename("old.a", "new.a");
  const auto program = [](const std::string& box) {
    return Function("() -> ()", "  old.box() ({\n    old.a() : () -> ()\n  }) " + box +
                                    " : () -> ()\n  func.return() : () -> ()\n");
  };
  EXPECT_THAT(Partial(program("{sealed}")), HasSubstr("old.a()"));
  EXPECT_THAT(Partial(program("")), HasSubstr("new.a()"));
}

TEST_F(DialectConversionTest, AnswersMustFitTheChanges) {
  const std::string program = Function("() -> ()", R"(  old.a() : () -> ()
  func.return() : () -> ()
)");
  Add("lies", "old.a",
      [](Operation*, const ConvertedOperands&, ConversionRewriter&) { return true; });
  EXPECT_EQ(Partial(program),
            "error: pattern 'lies' has returned true and told the rewriter of no change");
  patterns_ = PatternSet();
  Add("hides", "old.a", [](Operation* op, const ConvertedOperands&, ConversionRewriter& r) {
    r.Erase(op);
    return false;
  });
  EXPECT_EQ(Partial(program),
            "error: pattern 'hides' has changed the program and returned false (expected true)");
}

TEST_F(DialectConversionTest, PlainPatternsKeepTypes) {
  AddStructure();
  patterns_.Add("plain", "old.add", [](Operation* op, Rewriter& r) -> absl::StatusOr<bool> {
    r.Replace(op, op->operand(0));
    return true;
  });
  EXPECT_THAT(Partial(Function("(!old.num) -> !old.num", kAdd)),
              HasSubstr("func.return(%x) : (tensor<f32>) -> ()"));
  patterns_ = PatternSet();
  AddStructure();
  patterns_.Add("mixes", "old.add", [this](Operation* op, Rewriter& r) -> absl::StatusOr<bool> {
    r.ReplaceByResultsOf(op, Make(r, "new.a", {}, {tensor_}));
    return true;
  });
  EXPECT_EQ(Partial(Function("(!old.num) -> !old.num", kAdd)),
            "error: pattern 'mixes' replaces a value of type !old.num by one of type tensor<f32> "
            "(expected a ConversionPattern, whose rewriter makes casts)");
}

TEST_F(DialectConversionTest, OperandsThatNothingUsesNeedNoMaterialization) {
  target_.AddLegalOp("old.read");
  Add("drop", "old.print", [](Operation* op, const ConvertedOperands&, ConversionRewriter& r) {
    Operation* read = r.Converted(op->operand(0)).defining_op();
    r.Erase(op);
    r.Erase(read);  // whose result had a cast for the pattern
    return true;
  });
  EXPECT_THAT(Partial(Function("() -> ()", R"(  %x = old.read() : () -> !old.num
  old.print(%x) : (!old.num) -> ()
  func.return() : () -> ()
)")),
              Not(HasSubstr("old.")));
}

TEST_F(DialectConversionTest, DisabledPatternsDoNotApply) {
  AddRename("old.a", "new.a");
  auto module = *ParseModule(context_, Function("() -> ()", R"(  old.a() : () -> ()
  func.return() : () -> ()
)"));
  PassContext services;
  services.disabled_rules = {"old.a-to-new.a"};
  const auto result = ApplyPartialConversion(module.get(), target_, patterns_, services);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("there is no pattern for it"));
}

TEST_F(DialectConversionTest, TheDriverOfRulesRefusesThem) {
  AddAdd();
  auto module = *ParseModule(context_, Function("(!old.num) -> !old.num", kAdd));
  PassContext services;
  const auto result = drr::ApplyPatterns(patterns_, module.get(), services);
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr("pattern 'add' is one of a dialect conversion"));
}

}  // namespace
}  // namespace tenon
