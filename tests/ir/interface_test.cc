// Hooks with state, interfaces and constants of dialects that Tenon does not know.
#include "ir/core/interfaces/interface.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "ir/core/block.h"
#include "ir/core/constants/constant.h"
#include "ir/core/interfaces/hook.h"
#include "ir/core/interfaces/op_interfaces.h"
#include "ir/core/verify/verifier.h"
#include "tests/ir/test_ir.h"

namespace tenon {
namespace {

using test::TestIr;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

int Twice(int x) { return 2 * x; }

TEST(HookTest, HoldsFunctionsAndState) {
  using IntHook = Hook<int(int)>;
  const IntHook none;
  EXPECT_TRUE(none == nullptr);
  EXPECT_FALSE(none);
  const IntHook plain = Twice, lambda = [](int x) { return x + 1; };
  EXPECT_EQ(plain(4), 8);
  EXPECT_EQ(lambda(4), 5);
  EXPECT_TRUE(plain == &Twice);
  EXPECT_FALSE(plain == lambda);
  const auto offset = std::make_shared<int>(10);
  const IntHook stateful = [offset](int x) { return x + *offset; };
  const IntHook copy = stateful;
  *offset = 20;
  EXPECT_EQ(copy(1), 21);
  EXPECT_TRUE(copy == stateful);
  EXPECT_FALSE(copy == IntHook([offset](int x) { return x; }));
  EXPECT_EQ(offset.use_count(), 2);
}

// An interface of a library outside of Tenon.
class Counted {
 public:
  static constexpr std::string_view kInterface = "acme.counted";
  virtual ~Counted() = default;
  virtual int64_t Count(const Operation& op) const = 0;
};
class CountsOperands : public Counted {
 public:
  explicit CountsOperands(int64_t more) : more_(more) {}
  int64_t Count(const Operation& op) const override { return op.num_operands() + more_; }

 private:
  int64_t more_;
};

class NotesEffects : public EffectsInterface {
 public:
  Effects EffectsOf(const Operation& op) const override {
    return op.attr("quiet") ? Effects() : Effects{.writes = true};
  }
};

OperandDef Any(std::string name, Arity arity = Arity::kSingle) {
  OperandDef def;
  def.name = std::move(name);
  def.arity = arity;
  def.constraint.any = true;
  def.constraint.description = "anything";
  return def;
}

// a.number () {number} -> any, a.half (any) -> any, a.note (any...).
Dialect Acme(std::shared_ptr<int> most) {
  Dialect dialect{"a", "", {}};
  OpDef number;
  number.name = "a.number";
  number.results = {Any("out")};
  number.attrs = {{"label", AttrType::kStr, false, {}, {}},
                  {"value", AttrType::kI64, true, {}, {}}};
  number.traits = static_cast<uint32_t>(Trait::kPure) | static_cast<uint32_t>(Trait::kConstantLike);
  OpDef half;
  half.name = "a.half";
  half.operands = {Any("x")};
  half.results = {Any("out")};
  half.traits = static_cast<uint32_t>(Trait::kPure);
  half.infer = [most](const InferContext& infer, ResultTypes& results) {
    if (*most == 0) return infer.Error("no more of it");
    results.push_back(infer.operands[0]);
    return absl::OkStatus();
  };
  half.verify = [most](Operation& op) {
    const Attribute x = ConstantValueOf(op.operand(0));
    return x && x.int_value() > *most ? absl::InvalidArgumentError("too large") : absl::OkStatus();
  };
  half.fold = [most](Operation& op, std::span<const Attribute> constants, FoldResults& results) {
    if (!constants[0] || constants[0].int_value() > *most) return false;
    results.push_back({{}, Attribute::I64(op.context(), constants[0].int_value() / 2)});
    return true;
  };
  half.interfaces.Add<Counted>(std::make_shared<const CountsOperands>(7));
  OpDef note;
  note.name = "a.note";
  note.operands = {Any("values", Arity::kVariadic)};
  note.attrs = {{"quiet", AttrType::kUnit, false, {}, {}}};
  note.interfaces.Add<EffectsInterface, NotesEffects>();
  dialect.ops = {number, half, note};
  dialect.make_constant = [](OpBuilder& builder, Attribute value, Type type,
                             Location location) -> Operation* {
    if (value.kind() != Attribute::Kind::kInteger) return nullptr;
    const OpInfo* info = builder.context().FindOp("a.number");
    const Attribute slots[] = {Attribute(), value};
    return builder.Insert(Operation::Create(*info, location, {&type, 1}, {}, slots));
  };
  return dialect;
}

class InterfaceTest : public ::testing::Test {
 protected:
  InterfaceTest() { TENON_CHECK(ir_.context.RegisterDialect(Acme(most_)).ok()); }
  Operation* Number(int64_t value) {
    Operation* op = ir_.Add(ir_.body, "a.number", {}, {ir_.f32()});
    op->SetAttr("value", Attribute::I64(ir_.context, value));
    return op;
  }
  std::shared_ptr<int> most_ = std::make_shared<int>(100);
  TestIr ir_;
};

TEST_F(InterfaceTest, HooksSeeTheirState) {
  const Value x = Number(200)->result();
  OpBuilder builder = OpBuilder::AtEnd(ir_.context, ir_.body);
  const OpInfo& half = *ir_.context.FindOp("a.half");
  ASSERT_TRUE(builder.CreateInferred(half, Location(), {&x, 1}, {}).ok());
  EXPECT_THAT(std::string(Verify(ir_.module.get()).message()), HasSubstr("too large"));
  *most_ = 300;
  EXPECT_TRUE(Verify(ir_.module.get()).ok());
  *most_ = 0;
  EXPECT_THAT(std::string(builder.CreateInferred(half, Location(), {&x, 1}, {}).status().message()),
              HasSubstr("no more of it"));
}

TEST_F(InterfaceTest, FoldsMakeConstantsOfTheirDialect) {
  Operation* half = ir_.Add(ir_.body, "a.half", {Number(8)->result()}, {ir_.f32()});
  EXPECT_EQ(ConstantValueOf(half->operand(0)), Attribute::I64(ir_.context, 8));
  EXPECT_FALSE(ConstantElementsOf(half->operand(0)));
  EXPECT_FALSE(ConstantValueOf(half));
  FoldResults results;
  ASSERT_TRUE(Fold(*half, results));
  OpBuilder builder = OpBuilder::Before(half);
  const auto values = MakeFolded(builder, *half, results);
  ASSERT_THAT(values, SizeIs(1));
  EXPECT_EQ(values[0].defining_op()->name(), "a.number");
  EXPECT_EQ(ConstantValueOf(values[0]), Attribute::I64(ir_.context, 4));
  EXPECT_EQ(values[0].type(), half->result().type());
}

TEST_F(InterfaceTest, AConstantThatNoDialectHasIsNotMade) {
  OpBuilder builder = OpBuilder::AtEnd(ir_.context, ir_.body);
  const OpInfo& info = *ir_.context.FindOp("a.half");
  const Attribute text = Attribute::Str(ir_.context, "x");
  EXPECT_EQ(MakeConstant(builder, info, text, ir_.f32(), Location()), nullptr);
  EXPECT_TRUE(ir_.body->empty());
}

TEST_F(InterfaceTest, AConstantNeedsAnAttributeAndAResult) {
  OpDef wrong;
  wrong.name = "b.number";
  wrong.traits = static_cast<uint32_t>(Trait::kConstantLike);
  EXPECT_THAT(std::string(ir_.context.RegisterDialect({"b", "", {wrong}}).message()),
              HasSubstr("ConstantLike with 0 attributes and 0 results"));
}

TEST_F(InterfaceTest, InterfacesOfOthersAreFound) {
  const Operation* half = ir_.Add(ir_.body, "a.half", {Number(8)->result()}, {ir_.f32()});
  const Counted* counted = half->info().Find<Counted>();
  ASSERT_NE(counted, nullptr);
  EXPECT_EQ(counted->Count(*half), 8);
  EXPECT_EQ(half->info().Find<LoopInterface>(), nullptr);
  EXPECT_THAT(half->info().def().interfaces.Names(), ElementsAre("acme.counted"));
  EXPECT_THAT(half->operand(0).defining_op()->info().def().interfaces.Names(), IsEmpty());
}

TEST_F(InterfaceTest, EffectsMayDependOnTheOp) {
  Operation* note = ir_.Add(ir_.body, "a.note", {}, {});
  EXPECT_TRUE(EffectsOf(*note).writes);
  note->SetAttr("quiet", Attribute::Unit(ir_.context));
  EXPECT_TRUE(EffectsOf(*note).pure());
}

TEST_F(InterfaceTest, SuccessorOperandsFollowFromTheDefinition) {
  Operation* region = ir_.Add(ir_.body, "t.region", {}, {}, 1);
  Block* block = region->region().AddBlock();
  Block* next = region->region().AddBlock();
  const Value x = Number(1)->result();
  Operation* branch = ir_.Add(block, "t.branch", {x}, {}, 0, {next});
  EXPECT_THAT(SuccessorOperands(*branch, 0).vec(), ElementsAre(x));
  EXPECT_DEATH(SuccessorOperands(*branch, 1), "num_successors");
}

}  // namespace
}  // namespace tenon
