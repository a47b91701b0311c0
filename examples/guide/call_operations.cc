// Operations as functions that run at once: docs/guide/call-operations.md explains this file.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tenon/executor/eager/eager.h"
#include "tenon/ir/base/check.h"

namespace {

namespace eager = tenon::eager;
using tenon::DType;
using tenon::Tensor;

Tensor Floats(std::vector<int64_t> shape, const std::vector<float>& values) {
  return Tensor::Copy(DType::kF32, shape, values.data());
}

void Show(const char* name, const Tensor& tensor) {
  std::printf("%s: %s:", name, tensor.type_text().c_str());
  for (int64_t i = 0; i < tensor.numel(); ++i) std::printf(" %g", tensor.as<float>()[i]);
  std::printf("\n");
}

absl::Status Calls() {
  const Tensor x = Floats({2, 3}, {1, -2, 3, -4, 5, -6}), w = Floats({3, 2}, {1, 0, 0, 1, 1, 1});
  TENON_ASSIGN_OR_RETURN(const Tensor product, eager::Matmul(x, w));
  TENON_ASSIGN_OR_RETURN(const Tensor positive, eager::Relu(product));
  Show("relu(x * w)", positive);

  // Attributes are a struct. An optional operand that is absent is a null tensor.
  TENON_ASSIGN_OR_RETURN(const Tensor largest, eager::ReduceMax(x, {.axes = {1}}));
  Show("largest of each row", largest);
  TENON_ASSIGN_OR_RETURN(
      const Tensor fused,
      eager::fused::Linear(x, w, /*bias=*/Tensor(), /*residual=*/product,
                           {.activation = tenon::fused::LinearActivation::kRelu}));
  Show("relu(x * w) + residual", fused);

  // Several results are an array.
  const absl::StatusOr<std::array<Tensor, 2>> best = eager::Topk(x, {.k = {1}, .axis = 1});
  TENON_RETURN_IF_ERROR(best.status());
  Show("values", (*best)[0]);
  return absl::OkStatus();
}

absl::Status Reports() {
  eager::Engine engine({.threads = 2});
  eager::CallReport report;
  const Tensor x = Tensor::Make(DType::kF64, {2, 2});
  std::fill_n(x.as<double>(), 4, 1.0);
  TENON_RETURN_IF_ERROR(eager::Matmul(x, x, {}, {.engine = &engine, .report = &report}).status());
  std::printf("kernel: %s\n", report.kernel.c_str());
  for (const std::string& reason : report.why_not) std::printf("not %s\n", reason.c_str());
  return absl::OkStatus();
}

void Errors() {
  const Tensor x = Floats({2, 3}, {1, 2, 3, 4, 5, 6});
  std::printf("%s\n", std::string(eager::Matmul(x, x).status().message()).c_str());
  std::printf("%s\n", std::string(eager::Abs(Tensor()).status().message()).c_str());
}

}  // namespace

int main() {
  for (const absl::Status& status : {Calls(), Reports()}) {
    if (status.ok()) continue;
    std::printf("%s\n", status.ToString().c_str());
    return 1;
  }
  Errors();
  return 0;
}
