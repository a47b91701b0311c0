// fused.group with row ops at the edges: no rows, no elements, one element, long rows, fewer rows
// than threads, results with one element for each row.
#include "kernels/cpu/pointwise/row_program.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/op_attrs.h"
#include "kernels/shape.h"
#include "tests/kernels/kernel_test_util.h"

namespace tenon::kernels::testing {
namespace {

Tensor Wave(const Shape& shape, float step) {
  Tensor t(DType::kF32, shape);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.data<float>()[i] = 2 * std::sin(step * static_cast<float>(i));
  return t;
}

// Runs `text` by the fast and by the reference kernel, in place of input 0 as well.
void Check(const std::string& text, const std::vector<Tensor>& inputs) {
  SCOPED_TRACE(text);
  Case want;
  std::vector<DType> dtypes;
  Dims shape;
  for (const Tensor& input : inputs) {
    dtypes.push_back(input.dtype);
    shape = BroadcastShape(View(shape), input.shape);
  }
  SCOPED_TRACE("rows of " + std::to_string(shape.back()));
  PointwiseBody body;
  std::string error;
  ASSERT_TRUE(ParsePointwise(text, dtypes, body, error)) << error;
  const std::vector<bool> one_per_row = OnePerRow(body);
  want.inputs = inputs;
  want.attrs = MakeAttrs(fused::GroupAttrs{text});
  for (const int result : body.results) {
    Shape of(shape.begin(), shape.end());
    if (one_per_row[static_cast<size_t>(result)]) of.back() = 1;
    want.outputs.emplace_back(body.dtype(result), of);
  }
  ASSERT_TRUE(RunCase(*Registry().FindByName("ref.group"), want).ok());
  const bool in_place = inputs[0].bytes == want.outputs[0].bytes;
  for (const int threads : {1, 2, 5}) {
    for (const int share : {-1, 0}) {
      if (share == 0 && !in_place) continue;
      Case got = want;
      for (Tensor& t : got.outputs)
        std::fill(t.storage.begin(), t.storage.end(), 0x7f7f7f7f7f7f7f7f);
      ASSERT_TRUE(RunCase(*Registry().FindByName("cpu.group"), got, threads, share).ok());
      for (size_t r = 0; r < got.outputs.size(); ++r) {
        if (share == 0 && r > 0) continue;
        for (int64_t i = 0; i < want.outputs[r].numel(); ++i) {
          const float a = got.outputs[r].data<float>()[i], b = want.outputs[r].data<float>()[i];
          if (std::isnan(a) && std::isnan(b)) continue;
          if (a == b) continue;
          ASSERT_NEAR(a, b, 2e-5f * std::fabs(b) + 2e-5f)
              << "result " << r << ", element " << i << ", " << threads << " threads";
        }
      }
    }
  }
}

constexpr const char* kTexts[] = {
    // Softmax and a norm, as they are and spelled out, with something in front and behind.
    "%2 = ten.add %0, %1; %3 = nn.softmax %2; %4 = ten.mul %3, 2.0; yield %4",
    "%2 = ten.mul %0, 0.125; %3 = ten.reduce_max %2; %4 = ten.sub %2, %3; %5 = ten.exp %4; "
    "%6 = ten.reduce_sum %5; %7 = ten.div %5, %6; %8 = ten.mul %7, %1; yield %8",
    "%2 = ten.add %0, %1; %3 = nn.layer_norm %2 {epsilon = 1e-05}; %4 = ten.add %1, 1.0; "
    "%5 = ten.mul %3, %4; %6 = nn.silu %5; yield %6, %2",
    "%2 = ten.reduce_mean %0; %3 = ten.sub %0, %2; %4 = ten.mul %3, %3; %5 = ten.reduce_mean %4; "
    "%6 = ten.add %5, 1e-05; %7 = ten.sqrt %6; %8 = ten.div %3, %7; %9 = ten.add %8, %1; yield %9",
    "%2 = nn.rms_norm %0 {epsilon = 1e-06}; %3 = ten.mul %2, %1; yield %3",
    "%2 = nn.log_softmax %0; %3 = ten.mul %2, %1; %4 = ten.reduce_mean %3; yield %4",
    // Reductions alone, of rows as they lie in memory and of rows that repeat.
    "%2 = ten.reduce_max %0; %3 = ten.reduce_min %1; %4 = ten.sub %2, %3; yield %4",
    "%2 = ten.reduce_sum %1; %3 = ten.reduce_l2 %0; %4 = ten.mul %0, %3; yield %2, %3, %4",
    // The first result is known before the last unit reads the input in whose place it may be.
    "%2 = ten.neg %0; %3 = nn.softmax %2; %4 = ten.add %3, %0; yield %2, %4",
    // Steps that nothing reads.
    "%2 = ten.exp %1; %3 = ten.reduce_sum %2; %4 = ten.neg %3; %5 = ten.neg %0; yield %5",
    // A row op of numbers that no input has.
    "%2 = ten.add 1.0, 2.0; %3 = ten.reduce_sum %2; %4 = ten.add %0, %3; yield %4"};

TEST(RowProgramTest, RowsOfAllLengths) {
  for (const char* text : kTexts) {
    for (const int64_t n : {1, 3, 15, 16, 17, 64, 100, 769}) {
      Check(text, {Wave({3, 7, n}, 0.7f), Wave({n}, 0.3f)});
      Check(text, {Wave({3, 7, n}, 0.7f), Wave({3, 1, 1}, 0.3f)});
      Check(text, {Wave({1, n}, 0.7f), Wave({n, 1}, 0.3f)});
    }
  }
}

TEST(RowProgramTest, EmptyTensors) {
  for (const char* text : kTexts) {
    Check(text, {Wave({0, 5}, 1), Wave({5}, 1)});
    Check(text, {Wave({4, 0}, 1), Wave({1}, 1)});
    Check(text, {Wave({0}, 1), Wave({1}, 1)});
  }
}

TEST(RowProgramTest, LongRows) {
  for (const char* text : kTexts) {
    Check(text, {Wave({2, 20001}, 0.01f), Wave({20001}, 0.02f)});
    Check(text, {Wave({1, 40000}, 0.01f), Wave({1}, 0.5f)});
  }
}

}  // namespace
}  // namespace tenon::kernels::testing
