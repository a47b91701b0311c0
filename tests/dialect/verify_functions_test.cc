// What the verifier says about functions and structured control flow.
#include "ir/dialect/verify/verify_functions.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/core/context/context.h"
#include "ir/core/text/parser.h"
#include "ir/dialect/dialects.h"

namespace tenon {
namespace {

class VerifyFunctions : public ::testing::Test {
 protected:
  VerifyFunctions() { RegisterAllDialects(context_); }

  // "ok", or the message.
  std::string Verify(const std::string& text) {
    absl::StatusOr<OwnedOp> module = ParseModule(context_, text);
    return module.ok() ? "ok" : std::string(module.status().message());
  }

  // A function (i1, tensor<4xf32>, tensor<i1>) -> tensor<4xf32> around `body`, whose arguments are
  // %c, %x, %t.
  std::string VerifyBody(const std::string& body) {
    return Verify(
        "func.func() <{function_type = (i1, tensor<4xf32>, tensor<i1>) -> tensor<4xf32>, sym_name "
        "= \"f\"}> ({\n"
        "^bb0(%c: i1, %x: tensor<4xf32>, %t: tensor<i1>):\n" +
        body + "\n}) : () -> ()\n");
  }

  Context context_;
};

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(VerifyFunctions, TypesThatMayStandForEachOther) {
  const auto compatible = [&](const char* a, const char* b) {
    return CompatibleTypes(ParseType(context_, a).value(), ParseType(context_, b).value());
  };
  EXPECT_TRUE(compatible("tensor<2x?xf32, [\"\", \"S\"]>", "tensor<?x?xf32>"));
  EXPECT_TRUE(compatible("tensor<2x3xf32>", "tensor<*xf32>"));
  EXPECT_TRUE(compatible("i1", "i1"));
  EXPECT_FALSE(compatible("tensor<2x3xf32>", "tensor<2x4xf32>"));
  EXPECT_FALSE(compatible("tensor<2xf32>", "tensor<2xf16>"));
  EXPECT_FALSE(compatible("tensor<2xf32>", "tensor<2x1xf32>"));
  EXPECT_FALSE(compatible("i1", "tensor<i1>"));
  EXPECT_FALSE(compatible("tensor<?xf32, [\"S\"]>", "tensor<?xf32, [\"S + 1\"]>"));
}

TEST_F(VerifyFunctions, Function) {
  EXPECT_EQ(VerifyBody("func.return(%x) : (tensor<4xf32>) -> ()"), "ok");
  EXPECT_HAS(VerifyBody("func.return() : () -> ()"),
             "returns 0 values, but the function type has 1 results");
  EXPECT_HAS(
      VerifyBody("func.return(%t) : (tensor<i1>) -> ()"),
      "operand 0 is of type tensor<i1>, but the function's result 0 is of type tensor<4xf32>");
  EXPECT_HAS(
      Verify(R"(func.func() <{function_type = (tensor<2xf32>) -> (), sym_name = "f"}> ({
    ^bb0(%x: tensor<3xf32>):
      func.return() : () -> ()
    }) : () -> ())"),
      "entry block argument 0 is of type tensor<3xf32>, but the function type says tensor<2xf32>");
  EXPECT_HAS(
      Verify(
          R"(func.func() <{arg_attrs = [{}, {}], function_type = (tensor<2xf32>) -> (), sym_name = "f"}> ({
    ^bb0(%x: tensor<2xf32>):
      func.return() : () -> ()
    }) : () -> ())"),
      "arg_attrs must be an array of 1 dictionaries");
}

TEST_F(VerifyFunctions, Call) {
  const std::string callee =
      R"(func.func() <{function_type = (tensor<?xf32>) -> tensor<?xf32>, sym_name = "g"}> ({
    ^bb0(%x: tensor<?xf32>):
      func.return(%x) : (tensor<?xf32>) -> ()
    }) : () -> ()
    func.func() <{function_type = (tensor<4xf32>, tensor<i1>) -> (), sym_name = "f"}> ({
    ^bb0(%x: tensor<4xf32>, %t: tensor<i1>):
    )";
  const std::string end = "\nfunc.return() : () -> ()\n}) : () -> ()";
  EXPECT_EQ(Verify(callee +
                   "%r = func.call(%x) <{callee = @g}> : (tensor<4xf32>) -> tensor<4xf32>" + end),
            "ok");
  EXPECT_HAS(Verify(callee +
                    "%r = func.call(%x) <{callee = @h}> : (tensor<4xf32>) -> tensor<4xf32>" + end),
             "callee @h is not a function of this module");
  EXPECT_HAS(
      Verify(callee + "%r = func.call(%t) <{callee = @g}> : (tensor<i1>) -> tensor<4xf32>" + end),
      "operand 0 is of type tensor<i1>, but @g takes tensor<?xf32>");
  EXPECT_HAS(Verify(callee + "func.call(%x) <{callee = @g}> : (tensor<4xf32>) -> ()" + end),
             "has 1 operands and 0 results, but @g has 1 and 1");
}

TEST_F(VerifyFunctions, If) {
  EXPECT_EQ(VerifyBody(R"(%r = ctl.if(%t) ({
      ctl.yield(%x) : (tensor<4xf32>) -> ()
    }, {
      ctl.yield(%x) : (tensor<4xf32>) -> ()
    }) : (tensor<i1>) -> tensor<4xf32>
    func.return(%r) : (tensor<4xf32>) -> ())"),
            "ok");
  EXPECT_HAS(VerifyBody(R"(%r = ctl.if(%t) ({
      ctl.yield(%x) : (tensor<4xf32>) -> ()
    }, {
      ctl.yield() : () -> ()
    }) : (tensor<i1>) -> tensor<4xf32>
    func.return(%r) : (tensor<4xf32>) -> ())"),
             "has 0 values yielded by else, but 1 results");
}

TEST_F(VerifyFunctions, Loops) {
  const auto loop = [&](const std::string& counter, const std::string& yielded) {
    return VerifyBody(R"(%i = core.constant() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
    %r = ctl.for(%i, %i, %i, %x) ({
    ^bb0(%k: )" + counter +
                      R"(, %y: tensor<4xf32>):
      ctl.yield)" + yielded +
                      R"( -> ()
    }) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
    func.return(%r) : (tensor<4xf32>) -> ())");
  };
  EXPECT_EQ(loop("tensor<i64>", "(%y) : (tensor<4xf32>)"), "ok");
  EXPECT_HAS(loop("tensor<i32>", "(%y) : (tensor<4xf32>)"),
             "the counter must be of type tensor<i64>, not tensor<i32>");
  EXPECT_HAS(loop("tensor<i64>", "(%k) : (tensor<i64>)"),
             "values yielded by body: number 0 is of type tensor<i64>");
  const auto whole = [&](const std::string& passed) {
    return VerifyBody(R"(%r = ctl.while(%x) ({
    ^bb0(%a: tensor<4xf32>):
      ctl.condition)" +
                      passed + R"( -> ()
    }, {
    ^bb0(%b: tensor<4xf32>):
      ctl.yield(%b) : (tensor<4xf32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    func.return(%r) : (tensor<4xf32>) -> ())");
  };
  EXPECT_EQ(whole("(%t, %a) : (tensor<i1>, tensor<4xf32>)"), "ok");
  EXPECT_HAS(whole("(%t) : (tensor<i1>)"),
             "has 0 values passed on by ctl.condition, but 1 arguments of after");
}

}  // namespace
}  // namespace tenon
