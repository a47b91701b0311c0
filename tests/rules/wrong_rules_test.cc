// Rules that are wrong in one way each: the check must find all of them.
#include <string>
#include <vector>

#include "drr/check/check.h"
#include "drr/text/text.h"
#include "executor/evaluator.h"
#include "executor/passes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/core/text/parser.h"
#include "ir/dialect/dialects.h"

namespace tenon::drr {
namespace {

struct Planted {
  const char* name;
  const char* body;
};

void PrintTo(const Planted& planted, std::ostream* os) { *os << planted.name; }

constexpr Planted kWrong[] = {
    // Swapped operands, lost signs.
    {"neg_of_sub", "match neg(sub(x, y)) replace sub(x, y)"},
    {"sub_of_neg", "match sub(x, neg(y)) replace sub(x, y)"},
    {"reciprocal_of_div", "match reciprocal(div(x, y)) replace div(x, y)"},
    {"three_negations", "match neg(neg(neg(x))) replace x"},
    {"where_of_not", "match where(not(c), x, y) replace where(c, x, y)"},
    {"distributed", "match add(mul(x, y), z) replace mul(x, add(y, z)) lowers \"sums\""},
    {"odd_function", "match erf(neg(x)) replace erf(x)"},
    {"sigmoid_of_neg", "match sigmoid(neg(x)) replace neg(sigmoid(x)) lowers \"signs inside\""},
    // Only for some values: negative, large, zero, NaN, equal ones.
    {"root_of_square", "match sqrt(mul(x, x)) replace x"},
    {"root_of_power", "match sqrt(pow(x, splat(2))) replace x"},
    {"relu_of_abs", "match relu(abs(x)) replace x"},
    {"max_of_neg", "match max(x, neg(x)) replace x"},
    {"exp_of_log", "match exp(log(x)) replace x"},
    {"clip_above", "match clip(relu(x)) {min = 0, max = 6} replace relu(x)"},
    {"clip_below", "match clip(x) {min = -7, max = 7} replace x"},
    {"min_of_max", "match min(max(x, y), y) replace x"},
    {"not_less", "match not(less(x, y)) replace greater(x, y)"},
    {"guard_lost", "match where(is_nan(x), _z, x) replace x"},
    {"not_less_of_nan", "match not(less(x, y)) replace greater_equal(x, y)"},
    {"self_quotient", "match mul(div(x, x), y) replace y"},
    // Constants.
    {"gelu_tanh_constant",
     "match mul(mul(x, add(tanh(mul(add(x, mul(pow(x, splat(3)), splat(0.044715))), "
     "splat(0.7978))), splat(1))), splat(0.5)) replace gelu(x) {approximate = \"tanh\"}"},
    {"silu_for_gelu", "match mul(x, sigmoid(x)) replace gelu(x)"},
    {"quarter", "match div(x, splat(4)) replace mul(x, splat(0.5)) lowers \"quotients\""},
    {"relu_from_half", "match max(x, splat(0.5)) replace relu(x) lowers \"spellings\""},
    {"cube", "match pow(x, splat(3)) replace mul(x, x) lowers \"powers\""},
    {"epsilon",
     "match layer_norm(x, w, b) {axis = -1, epsilon = 0.001} replace layer_norm(x, w, b) "
     "{axis = -1, epsilon = 0.002} lowers \"epsilons\""},
    // Axes, permutations, attributes.
    {"softmax_axis", "match relu(softmax(x) {axis = -1}) replace softmax(x) {axis = 0}"},
    {"log_softmax", "match log(softmax(x) {axis = -1}) replace softmax(x) {axis = -1}"},
    {"mean_of_two",
     "match mul(reduce_mean(x) {axes = a, keepdims = true}, splat(2)) replace reduce_sum(x) "
     "{axes = a, keepdims = true}"},
    {"sum_for_mean",
     "match neg(reduce_mean(x) {axes = a, keepdims = true}) replace reduce_sum(neg(x)) "
     "{axes = a, keepdims = true} lowers \"means\""},
    {"permutation",
     "match transpose(transpose(x) {perm = {0, 2, 1}}) {perm = {1, 0, 2}} replace transpose(x) "
     "{perm = {1, 0, 2}}"},
    {"inverse_permutation",
     "match relu(transpose(x) {perm = {1, 2, 0}}) replace transpose(relu(x)) {perm = {2, 0, 1}} "
     "lowers \"transposes\""},
    {"transposed_by_reshape",
     "match reshape(transpose(x) {perm = {1, 0}}) {shape = {A, B}} where shape(x) == {A, B} "
     "replace x"},
    {"concat_order",
     "match concat(concat(x, y) {axis = 0}, z) {axis = 0} replace concat(y, x, z) {axis = 0}"},
    {"transpose_flag",
     "match relu(matmul(x, y) {transpose_b = true}) replace relu(matmul(x, y)) lowers \"flags\" "
     "where shape(y) == {N, N}"},
    {"cumsum_axis", "match relu(cumsum(x) {axis = -1}) replace cumsum(x) {axis = -1}"},
    // Only for one kind of shape or element type.
    {"broadcast_sum",
     "match reduce_sum(add(x, y)) {axes = {-1}, keepdims = true} replace "
     "add(reduce_sum(x) {axes = {-1}, keepdims = true}, reduce_sum(y) {axes = {-1}, keepdims = "
     "true}) lowers \"sums\" where rank(x) == 2 && rank(y) == 2"},
    {"size_one",
     "match reduce_mean(x) {axes = {-1}, keepdims = true} where dim(x, -1) == 1 replace neg(x) "
     "lowers \"means\""},
    {"size_zero",
     "match reduce_sum(mul(reduce_mean(x) {axes = {-1}, keepdims = true}, splat(0))) {axes = "
     "{-1}, keepdims = true} where rank(x) == 2 replace mul(reduce_sum(x) {axes = {-1}, keepdims "
     "= true}, splat(0)) lowers \"means\""},
    {"rank_three", "match relu(relu(x)) where rank(x) == 3 replace tanh(x)"},
    {"half_precision", "match relu(neg(x)) where dtype(x) == f16 replace relu(x)"},
    {"integers", "match mul(div(x, splat(2)), splat(2)) replace x"},
    // One alternative of several.
    {"second_alternative",
     "match any(relu(neg(neg(x))) | neg(neg(relu(x))) | tanh(neg(neg(x)))) replace relu(x)"},
};

class WrongRule : public ::testing::TestWithParam<Planted> {};

TEST_P(WrongRule, IsFound) {
  Context context;
  RegisterAllDialects(context);
  const std::string text = std::string("rule wrong { ") + GetParam().body + " }";
  auto rules = ParseRules(text, "wrong.drr", context);
  ASSERT_TRUE(rules.ok()) << rules.status();
  ReferenceEvaluator evaluator(MakeKernelRegistry());
  const CheckReport report = CheckRule((*rules)[0], context, evaluator);
  EXPECT_TRUE(report.wrong()) << (report.ok() ? "it passes" : report.failures[0]);
  if (report.wrong()) {
    const std::string& failure = report.failures[0];
    const size_t begin = failure.find(":\n");
    ASSERT_NE(begin, std::string::npos) << failure;
    // What a result of another shape would be is not printed.
    const size_t end = std::min(failure.find("\nbecomes\n"), failure.size());
    // Whoever looks for the mistake runs the program that is printed.
    absl::StatusOr<OwnedOp> module =
        ParseModule(context, failure.substr(begin + 2, end - begin - 2));
    ASSERT_TRUE(module.ok()) << module.status() << "\n" << failure;
  }
}

INSTANTIATE_TEST_SUITE_P(All, WrongRule, ::testing::ValuesIn(kWrong),
                         [](const auto& info) { return std::string(info.param.name); });

// Numbers that no program can have: the check says that nothing matches, and neither stops the
// program nor makes tensors without end.
TEST(ExtremeRule, IsNotChecked) {
  for (const char* body : {
           "match neg(neg(x)) where rank(x) == 200 replace x",
           "match neg(neg(x)) where shape(x) == {9223372036854775807, 2} replace x",
           "match neg(neg(x)) where shape(x) == {A, 4611686018427387904 * 4} replace x",
           "match neg(neg(x)) where shape(x) == {1000, 1000, 1000} replace x",
           "match neg(neg(x)) where shape(x) == {-7} replace x",
           "match reshape(neg(x)) {shape = {A * 99999999999999}} replace neg(reshape(x) {shape = "
           "{A * "
           "99999999999999}})",
           "match transpose(x) {perm = {5, 4, 3, 2, 1, 0, 99}} replace x",
           "match transpose(x) {perm = {0, 0}} replace x",
           "match transpose(x) {perm = {-7, 0}} replace x",
           "match slice(x) {axes = {0}, starts = {1}, ends = {0}, steps = {0}} replace x",
           "match slice(x) {axes = {9}, starts = {0}, ends = {1}, steps = {1}} replace x",
           "match slice(x) {axes = {0, 1}, starts = {0}, ends = {1}, steps = {1}} replace x",
           "match neg(reduce_sum(x) {axes = {-99}, keepdims = false}) replace x",
           "match neg(reduce_sum(x) {axes = {99}, keepdims = true}) replace x",
           "match neg(group_norm(x, w, b) {groups = 0, epsilon = 1}) replace group_norm(x, w, b) "
           "{groups = 0, epsilon = 1}",
           "match neg(conv(x, w, none) {group = 0, strides = {1, 1}, dilations = {1, 1}, pads = "
           "{0, 0, 0, 0}}) replace conv(x, w, none) {group = 1, strides = {1, 1}, dilations = {1, "
           "1}, pads = {0, 0, 0, 0}}",
           "match neg(conv(x, w, none) {strides = {0, 0}, dilations = {1, 1}, pads = {0, 0, 0, "
           "0}}) replace conv(x, w, none) {strides = {1, 1}, dilations = {1, 1}, pads = {0, 0, 0, "
           "0}}",
       }) {
    Context context;
    RegisterAllDialects(context);
    auto rules = ParseRules(std::string("rule odd { ") + body + " }", "odd.drr", context);
    ASSERT_TRUE(rules.ok()) << rules.status();
    ReferenceEvaluator evaluator(MakeKernelRegistry());
    CheckOptions options;
    options.attempts = 200;
    const CheckReport report = CheckRule((*rules)[0], context, evaluator, options);
    ASSERT_FALSE(report.ok()) << body;
    EXPECT_FALSE(report.wrong()) << body << ": " << report.failures[0];
  }
}

}  // namespace
}  // namespace tenon::drr
