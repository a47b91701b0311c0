// The rules of planted/: the check finds the wrong ones and accuses no right one.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "drr/check.h"
#include "drr/text.h"
#include "executor/evaluator.h"
#include "executor/passes.h"
#include "gtest/gtest.h"
#include "ir/dialect/dialects.h"

namespace tenon::drr {
namespace {

// Wrong rules that the check does not find. The test fails for one that it does find: take it out.
const std::set<std::string> kMissed = {
    "argmax_of_softmax",
    "attention_from_parts",
    "average_pools_that_overlap",
    "bias_of_any_shape",
    "diagonal_forgotten",
    "difference_below_zero",
    "divisor_as_factor",
    "divisors_as_one",
    "double_and_half",
    "einsum_with_output_swapped",
    "equal_after_cast",
    "equal_from_difference",
    "exclusive_sum_of_floats",
    "exp_of_triangle",
    "expand_under_sum",
    "factors_as_one",
    "gather_of_gather",
    "gathered_terms",
    "groups_forgotten",
    "infinite_from_nan",
    "integers_through_f32",
    "inverse_root_from_power",
    "kept_axes_forgotten",
    "largest_forgotten",
    "last_index_forgotten",
    "magnitude_of_square",
    "max_of_sums",
    "mean_of_means_of_integers",
    "negated_max_of_negated",
    "padding_under_average_pool",
    "padding_under_max_pool",
    "product_before_quotient",
    "product_under_select",
    "product_under_triangle",
    "products_regrouped",
    "quotient_as_product",
    "quotient_of_quotient",
    "relu_before_average_pool",
    "relu_of_difference",
    "root_from_half_power",
    "select_of_equal",
    "select_of_one_value",
    "shift_of_rows",
    "square_apart",
    "sum_in_f16",
    "sum_less_term",
    "through_f16",
    "weights_added",
    "zero_points_swapped",
    "zero_under_reciprocal",
};

// Right rules that the check accuses, or cannot check.
const std::set<std::string> kAccused = {
    "layer_norm_from_parts", "max_pools_that_overlap", "padding_counted_by_average_pool",
    "relu_behind_max_pool",  "zero_points_in_order",
};

std::string Folder(const std::string& kind) {
  return std::string(TENON_SOURCE_DIR) + "/tests/rules/planted/" + kind;
}

std::vector<std::string> NamesIn(const std::string& kind) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(Folder(kind)))
    if (entry.path().extension() == ".drr") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

CheckReport Check(const std::string& kind, const std::string& name) {
  std::ifstream file(Folder(kind) + "/" + name + ".drr");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Context context;
  RegisterAllDialects(context);
  const auto rules = ParseRules(text, name + ".drr", context);
  EXPECT_TRUE(rules.ok()) << rules.status();
  if (!rules.ok() || rules->size() != 1) return {};
  ReferenceEvaluator evaluator(MakeKernelRegistry());
  return CheckRule((*rules)[0], context, evaluator);
}

class PlantedWrong : public ::testing::TestWithParam<std::string> {};
class PlantedRight : public ::testing::TestWithParam<std::string> {};

TEST_P(PlantedWrong, IsFound) {
  const CheckReport report = Check("wrong", GetParam());
  EXPECT_EQ(report.wrong(), kMissed.count(GetParam()) == 0) << report.status();
}

TEST_P(PlantedRight, IsNotAccused) {
  const CheckReport report = Check("right", GetParam());
  EXPECT_EQ(report.ok(), kAccused.count(GetParam()) == 0) << report.status();
}

INSTANTIATE_TEST_SUITE_P(All, PlantedWrong, ::testing::ValuesIn(NamesIn("wrong")),
                         [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(All, PlantedRight, ::testing::ValuesIn(NamesIn("right")),
                         [](const auto& info) { return info.param; });

// Names of rules that there are not would go unnoticed.
TEST(Planted, ListsNameRules) {
  const std::vector<std::string> wrong = NamesIn("wrong"), right = NamesIn("right");
  EXPECT_GE(wrong.size(), 60u);
  EXPECT_GE(right.size(), 30u);
  EXPECT_TRUE(std::includes(wrong.begin(), wrong.end(), kMissed.begin(), kMissed.end()));
  EXPECT_TRUE(std::includes(right.begin(), right.end(), kAccused.begin(), kAccused.end()));
}

}  // namespace
}  // namespace tenon::drr
