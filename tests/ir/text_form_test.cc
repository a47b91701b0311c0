// The default form of text: names of values, operands by name, no defaults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/clone.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "tests/ir/test_ir.h"

namespace tenon {
namespace {

using test::TestIr;
using testing::HasSubstr;

constexpr ParseOptions kNoPlaces = {.locate_by_text = false};

// The default form of a text, without the module. Checks that all forms read back as what they
// show: the same bytes, and the same IR.
std::string FormOf(std::string_view text) {
  TestIr ir;
  ir.context.set_allow_unregistered_dialects(true);
  absl::StatusOr<OwnedOp> module = ParseModule(ir.context, text, kNoPlaces);
  EXPECT_TRUE(module.ok()) << module.status() << "\n" << text;
  if (!module.ok()) return "";
  const std::string generic = Print(**module, {.generic = true});
  const std::string form = Print(**module);
  for (const std::string& shown : {form, generic}) {
    absl::StatusOr<OwnedOp> again = ParseModule(ir.context, shown, kNoPlaces);
    EXPECT_TRUE(again.ok()) << again.status() << "\n" << shown;
    if (!again.ok()) continue;
    EXPECT_EQ(Print(**again, {.generic = true}), generic);
    if (shown == form) {
      EXPECT_EQ(Print(**again), form);
    }
  }
  EXPECT_EQ(Print(*OwnedOp(Clone(**module))), form);
  // Without the lines of the module, and two spaces less.
  std::string body;
  for (std::string_view rest = form; !rest.empty();) {
    const size_t end = rest.find('\n');
    if (rest.starts_with("  ")) body += std::string(rest.substr(2, end - 2)) + "\n";
    rest.remove_prefix(end + 1);
  }
  return body;
}

std::string ErrorOf(std::string_view text) {
  TestIr ir;
  absl::StatusOr<OwnedOp> module = ParseModule(ir.context, text, {.file_name = "f.ir"});
  return module.ok() ? "" : std::string(module.status().message());
}

std::string BodyOf(std::string_view text) {
  const std::string source = "%x = t.source() : () -> f32\n";
  return FormOf(source + std::string(text)).substr(source.size());
}

TEST(OperandFormTest, GroupsOfAnySizeHaveNames) {
  const std::string all =
      "t.groups(%x, maybe = %x, rest = [%x, %x]) : (f32, f32, f32, f32) -> ()\n";
  EXPECT_EQ(BodyOf(all), all);
  EXPECT_EQ(BodyOf("t.groups(%x, %x, %x, %x) <{operandSegmentSizes = array<i32: 1, 1, 2>}> : "
                   "(f32, f32, f32, f32) -> ()"),
            all);
  const std::string one = "t.groups(%x) : (f32) -> ()\n";
  EXPECT_EQ(BodyOf(one), one);
  EXPECT_EQ(BodyOf("t.groups(rest = [], first = %x) : (f32) -> ()"), one);
  EXPECT_EQ(BodyOf("t.tail(%x, %x, %x) : (f32, f32, f32) -> ()"),
            "t.tail(%x, %x, %x) : (f32, f32, f32) -> ()\n");
  EXPECT_EQ(BodyOf("t.tail(rest = [%x, %x], %x) : (f32, f32, f32) -> ()"),
            "t.tail(%x, %x, %x) : (f32, f32, f32) -> ()\n");
}

TEST(OperandFormTest, TypesStandInTheOrderOfTheText) {
  EXPECT_EQ(FormOf("%a = t.source() : () -> i1\n%b = t.source() : () -> i8\n"
                   "t.groups(rest = [%b], %a) : (i8, i1) -> ()\n"),
            "%a = t.source() : () -> i1\n%b = t.source() : () -> i8\n"
            "t.groups(%a, rest = [%b]) : (i1, i8) -> ()\n");
}

TEST(OperandFormTest, WhatDoesNotFitIsAnError) {
  const std::string x = "%x = t.source() : () -> f32\n";
  EXPECT_THAT(ErrorOf(x + "t.groups(%x, %x) : (f32, f32) -> ()"),
              HasSubstr("f.ir:2:1: op 't.groups' takes 1 operand without a name (first), got 2 "
                        "(expected others by name, like `maybe = %x`)"));
  EXPECT_THAT(ErrorOf(x + "t.groups(%x, mabye = %x) : (f32, f32) -> ()"),
              HasSubstr("f.ir:2:14: op 't.groups' has no operand 'mabye'; did you mean 'maybe'?"));
  EXPECT_THAT(ErrorOf(x + "t.groups(%x, maybe = %x, maybe = %x) : (f32, f32, f32) -> ()"),
              HasSubstr("f.ir:2:26: operand 'maybe' is given twice"));
  EXPECT_THAT(ErrorOf(x + "t.groups(%x, maybe = [%x, %x]) : (f32, f32, f32) -> ()"),
              HasSubstr("operand 'maybe' of op 't.groups' is one value, got 2"));
  EXPECT_THAT(ErrorOf(x + "t.groups(maybe = %x) : (f32) -> ()"),
              HasSubstr("takes 1 operand without a name (first), got 0"));
  EXPECT_THAT(ErrorOf(x + "t.groups(%x, maybe = %x) <{operandSegmentSizes = array<i32: 1, 1, 0>}> "
                          ": (f32, f32) -> ()"),
              HasSubstr("f.ir:2:14: operandSegmentSizes leaves operands no names"));
  EXPECT_THAT(ErrorOf(x + "t.groups(%x, maybe %x) : (f32, f32) -> ()"),
              HasSubstr("expected '=' after the name of an operand"));
}

TEST(OperandFormTest, DefaultsAreLeftOut) {
  EXPECT_EQ(FormOf("t.tagged() <{axis = 1, kind = \"a\", scale = 1.0 : f32}> : () -> ()"),
            "t.tagged() <{axis = 1 : i64}> : () -> ()\n");
  EXPECT_EQ(FormOf("t.tagged() <{axis = 1, kind = \"b\", scale = 1.5 : f32}> : () -> ()"),
            "t.tagged() <{axis = 1 : i64, kind = \"b\", scale = 1.500000e+00 : f32}> : () -> ()\n");
}

TEST(ValueNameTest, NamesAreKept) {
  const std::string text =
      "%scores = t.source() : () -> f32\n"
      "%0 = t.source() : () -> f32\n"
      "%a.b-c$1, %1:2, %d = t.tail(%scores, %0) : (f32, f32) -> (f32, f32, f32, f32)\n"
      "t.tail(%a.b-c$1, %1#0, %1#1, %d) : (f32, f32, f32, f32) -> ()\n";
  TestIr ir;
  absl::StatusOr<OwnedOp> module = ParseModule(ir.context, text);
  ASSERT_TRUE(module.ok()) << module.status();
  Operation* tail = (*module)->region().front().front()->next()->next();
  EXPECT_EQ(tail->result(0).name(), "a.b-c$1");
  EXPECT_FALSE(tail->result(1).has_name());
  EXPECT_EQ(tail->result(3).name(), "d");
  // A group begins at a name, so that results without one belong to the group before them.
  EXPECT_EQ(FormOf(text),
            "%scores = t.source() : () -> f32\n"
            "%0 = t.source() : () -> f32\n"
            "%a.b-c$1:3, %d = t.tail(%scores, %0) : (f32, f32) -> (f32, f32, f32, f32)\n"
            "t.tail(%a.b-c$1#0, %a.b-c$1#1, %a.b-c$1#2, %d) : (f32, f32, f32, f32) -> ()\n");
}

TEST(ValueNameTest, RegionsShareNamesWithOthersOnly) {
  EXPECT_EQ(
      FormOf(
          "%x = t.source() : () -> f32\n"
          "t.region() ({\n  %y = t.source() : () -> f32\n  t.end(%y) : (f32) -> ()\n}) : () -> ()\n"
          "t.region() ({\n^bb0(%y: f32, %arg1: f32):\n  t.end(%y, %x) : (f32, f32) -> ()\n}) : () "
          "-> ()\n"
          "%y = t.source() : () -> f32\n"),
      "%x = t.source() : () -> f32\n"
      "t.region() ({\n  %y_0 = t.source() : () -> f32\n  t.end(%y_0) : (f32) -> ()\n}) : () -> ()\n"
      "t.region() ({\n^bb0(%y_0: f32, %arg1: f32):\n  t.end(%y_0, %x) : (f32, f32) -> ()\n}) : () "
      "-> ()\n"
      "%y = t.source() : () -> f32\n");
  EXPECT_EQ(
      FormOf("%y = t.source() : () -> f32\n"
             "t.isolated() ({\n  %y = t.source() : () -> f32\n  t.end(%y) : (f32) -> ()\n}) : () "
             "-> ()\n"),
      "%y = t.source() : () -> f32\n"
      "t.isolated() ({\n  %y = t.source() : () -> f32\n  t.end(%y) : (f32) -> ()\n}) : () -> ()\n");
}

TEST(ValueNameTest, EqualNamesGetNumbers) {
  TestIr ir;
  const auto add = [&](std::string_view name) {
    Value value = ir.Add(ir.body, "t.source", {}, {ir.f32()})->result();
    value.set_name(name);
    return value;
  };
  for (const char* name : {"y", "y_0", "y", "1/x y", "arg3", "12", "", "y-"}) add(name);
  const std::string text = Print(*ir.module);
  for (const char* name :
       {"%y = ", "%y_0 = ", "%y_1 = ", "%_1_x_y = ", "%0 = ", "%1 = ", "%2 = ", "%y_ = "}) {
    EXPECT_THAT(text, HasSubstr(name));
  }
  EXPECT_EQ(Print(*ir.module, {.generic = true}).find("%y"), std::string::npos);
}

TEST(ValueNameTest, NamesLiveAsLongAsTheirValues) {
  TestIr ir;
  Operation* source = ir.Add(ir.body, "t.source", {}, {ir.f32()});
  Operation* other = ir.Add(ir.body, "t.source", {}, {ir.f32()});
  source->result().set_name("x");
  ir.Add(ir.body, "t.end", {source->result()}, {});
  source->result().ReplaceAllUsesWith(other->result());
  EXPECT_EQ(other->result().name(), "x");
  other->result().set_name("y");
  source->Erase();
  Operation* again = ir.Add(ir.body, "t.source", {}, {ir.f32()});  // perhaps the same memory
  EXPECT_FALSE(again->result().has_name());
  Block block;
  Value argument = block.AddArgument(ir.f32());
  argument.set_name("a");
  EXPECT_EQ(argument.name(), "a");
  argument.set_name("");
  EXPECT_FALSE(argument.has_name());
  argument.set_name("b");
  block.EraseArgument(0);
  EXPECT_FALSE(block.AddArgument(ir.f32()).has_name());
}

TEST(ValueNameTest, NamesMayBeLeftOut) {
  TestIr ir;
  absl::StatusOr<OwnedOp> module =
      ParseModule(ir.context, "%x = t.source() : () -> f32", {.keep_names = false});
  ASSERT_TRUE(module.ok());
  EXPECT_THAT(Print(**module), HasSubstr("%0 = t.source"));
}

// Programs with names that collide, groups, blocks and regions, by chance.
std::string RandomBody(std::mt19937& random, int depth, std::vector<std::string> visible) {
  const auto pick = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  const std::string indent(2 * static_cast<size_t>(depth), ' ');
  std::string text;
  for (size_t i = 0, n = 2 + pick(6); i < n; ++i) {
    const std::string use = visible.empty() ? "" : visible[pick(visible.size())];
    const std::string name =
        pick(3) == 0
            ? fmt::format("%{}", 1000 * static_cast<size_t>(depth) + 10 * i + pick(10))
            : fmt::format("%{}{}_{}", "xyz"[pick(3)], pick(2), depth * 10 + static_cast<int>(i));
    switch (use.empty() ? 0 : pick(6)) {
      case 0:
        text += fmt::format("{}{} = t.source() : () -> f32\n", indent, name);
        visible.push_back(name);
        break;
      case 1:
        text += fmt::format("{}{}:2, %g{}_{} = t.tail({}) : (f32) -> (f32, f32, f32)\n", indent,
                            name, depth, i, use);
        visible.push_back(name + "#1");
        visible.push_back(fmt::format("%g{}_{}", depth, i));
        break;
      case 2:
        text += fmt::format("{}t.groups({}, rest = [{}, {}]) : (f32, f32, f32) -> ()\n", indent,
                            use, use, use);
        break;
      case 3:
        text += fmt::format("{}t.groups(maybe = {}, {}) : (f32, f32) -> ()\n", indent, use, use);
        break;
      case 4:
        text += fmt::format("{}t.tagged() <{{axis = {}, kind = \"{}\"}}> : () -> ()\n", indent,
                            pick(3), "ab"[pick(2)]);
        break;
      default:
        if (depth == 4) break;
        text += fmt::format("{}t.region() ({{\n{}  t.end({}) : (f32) -> ()\n{}}}) : () -> ()\n",
                            indent, RandomBody(random, depth + 1, visible) + indent, use, indent);
    }
  }
  return text;
}

TEST(TextFormTest, RandomProgramsReadBack) {
  std::mt19937 random(7);
  for (int i = 0; i < 300 && !testing::Test::HasFailure(); ++i) FormOf(RandomBody(random, 0, {}));
}

}  // namespace
}  // namespace tenon
