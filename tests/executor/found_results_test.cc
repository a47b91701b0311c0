// A kernel receives what the size of its results was found with.
#include "kernels/calls/found_results.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "frontends/cpp/extension.h"
#include "frontends/cpp/tenon.h"
#include "kernels/calls/unique_slices.h"
#include "tests/executor/run_util.h"

namespace tenon {
namespace {

kernels::KernelStatus WriteKept(const kernels::RunArgs& args) {
  const auto* const kept = kernels::KeptOf<kernels::UniqueSlices>(args);
  if (kept == nullptr) return kernels::KernelStatus::Internal("nothing was kept");
  for (size_t i = 0; i < kept->first.size(); ++i)
    args.outputs[0].as<int64_t>()[i] = args.inputs[0].as<int64_t>()[kept->first[i]];
  const std::vector<int64_t>* lists[] = {&kept->first, &kept->inverse, &kept->counts};
  for (size_t i = 0; i < 3; ++i)
    std::copy(lists[i]->begin(), lists[i]->end(), args.outputs[i + 1].as<int64_t>());
  return kernels::KernelStatus::Ok();
}

TEST(FoundResultsTest, KernelsTakeThem) {
  auto extension = std::make_shared<Extension>();
  extension->kernels = {
      {.op = "ten.unique", .name = "test.unique", .priority = 99, .run = WriteKept}};
  LoadOptions load;
  load.extension = extension;
  absl::StatusOr<Model> model = LoadFromBytes(
      Function("%x: tensor<5xi64>", "(tensor<5xi64>) -> tensor<?xi64>",
               "  %0, %1, %2, %3 = ten.unique(%x) <{flat = true}> : (tensor<5xi64>) -> "
               "(tensor<?xi64>, tensor<?xi64>, tensor<5xi64>, "
               "tensor<?xi64>)\n"
               "  func.return(%0) : (tensor<?xi64>) -> ()\n"),
      "case.mlir", load);
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Program> program = Compile(*model, {.threads = 1, .check_memory = true});
  ASSERT_TRUE(program.ok()) << program.status();
  const int64_t shape[] = {5}, numbers[] = {7, 2, 7, 9, 2};
  const Tensor x = Tensor::Copy(DType::kI64, shape, numbers);
  for (int run = 0; run < 2; ++run) {
    const absl::StatusOr<std::vector<Tensor>> made = program->Run(std::span(&x, 1));
    ASSERT_TRUE(made.ok()) << made.status();
    const int64_t* distinct = (*made)[0].as<int64_t>();
    EXPECT_EQ(std::vector<int64_t>(distinct, distinct + (*made)[0].numel()),
              (std::vector<int64_t>{2, 7, 9}));
  }
}

}  // namespace
}  // namespace tenon
