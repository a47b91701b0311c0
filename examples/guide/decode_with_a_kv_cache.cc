// Decodes greedily with a KV cache: docs/guide/decode-with-a-kv-cache.md explains this file.
//
//   decode_with_a_kv_cache [MODEL.onnx]
//
// The model's inputs are token ids, an attention mask, and the past key and value of each layer.
// Its outputs are the logits, and the present key and value of each layer in the same order.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "tenon/frontends/cpp/tenon.h"
#include "tenon/ir/base/check.h"

namespace {

using tenon::DType;
using tenon::IoBinding;
using tenon::Program;
using tenon::Session;
using tenon::Tensor;

// Inputs: ids, mask, past key of layer 0, past value of layer 0, past key of layer 1, ...
constexpr size_t kIds = 0, kMask = 1, kFirstPast = 2;
// Outputs: logits, present key of layer 0, present value of layer 0, ...
constexpr size_t kLogits = 0, kFirstPresent = 1;

// The token with the largest logit in the last row of [1, tokens, vocabulary].
int64_t MostLikely(const Tensor& logits) {
  const int64_t vocabulary = logits.shape()[2];
  const float* last = logits.as<float>() + logits.numel() - vocabulary;
  return std::max_element(last, last + vocabulary) - last;
}

Tensor IdsOf(std::span<const int64_t> tokens) {
  const int64_t shape[] = {1, static_cast<int64_t>(tokens.size())};
  return Tensor::Copy(DType::kI64, shape, tokens.data());
}

// The first value of a cache: one sequence without rows. The model must fix the other dimensions.
absl::StatusOr<Tensor> EmptyCache(const tenon::TensorSpec& spec) {
  int64_t heads = 0, head_size = 0;
  if (spec.dims.size() != 4 || !absl::SimpleAtoi(spec.dims[1], &heads) ||
      !absl::SimpleAtoi(spec.dims[3], &head_size)) {
    return absl::InvalidArgumentError(spec.name + ": expected [batch, heads, rows, head size]");
  }
  return Tensor::Make(spec.dtype, {1, heads, 0, head_size});
}

absl::StatusOr<std::vector<int64_t>> Decode(Session& session, IoBinding& binding,
                                            const Program& program, std::vector<int64_t> tokens,
                                            size_t new_tokens) {
  const auto longest = static_cast<int64_t>(tokens.size() + new_tokens);

  // The caches begin empty. After each run, every present becomes the past of the next run.
  const size_t caches = program.inputs().size() - kFirstPast;
  for (size_t i = 0; i < caches; ++i) {
    const size_t past = kFirstPast + i, present = kFirstPresent + i;
    TENON_ASSIGN_OR_RETURN(const Tensor empty, EmptyCache(program.inputs()[past]));
    TENON_RETURN_IF_ERROR(binding.BindInput(past, empty));
    TENON_RETURN_IF_ERROR(binding.Carry(present, past));
  }

  // One mask of ones for the longest sequence. Each step sees its first columns.
  Tensor mask = Tensor::Make(DType::kI64, {1, longest});
  std::fill_n(mask.as<int64_t>(), longest, 1);

  // The first step takes the whole prompt, every later step takes one token.
  size_t begin = 0;
  for (size_t step = 0; step < new_tokens; ++step) {
    const auto total = static_cast<int64_t>(tokens.size());
    const int64_t mask_shape[] = {1, total};
    mask.set_shape(mask_shape);
    TENON_RETURN_IF_ERROR(binding.BindInput(kMask, mask));
    TENON_RETURN_IF_ERROR(binding.BindInput(kIds, IdsOf(std::span(tokens).subspan(begin))));
    TENON_RETURN_IF_ERROR(session.Run(binding));
    TENON_ASSIGN_OR_RETURN(const Tensor logits, binding.output(kLogits));
    begin = tokens.size();
    tokens.push_back(MostLikely(logits));
  }
  return tokens;
}

// The same without a cache: every step computes the whole sequence again.
absl::StatusOr<std::vector<int64_t>> DecodeWithoutCache(const Program& program,
                                                        std::vector<int64_t> tokens,
                                                        size_t new_tokens) {
  for (size_t step = 0; step < new_tokens; ++step) {
    const std::vector<int64_t> ones(tokens.size(), 1);
    std::vector<Tensor> inputs = {IdsOf(tokens), IdsOf(ones)};
    for (size_t i = kFirstPast; i < program.inputs().size(); ++i) {
      TENON_ASSIGN_OR_RETURN(inputs.emplace_back(), EmptyCache(program.inputs()[i]));
    }
    TENON_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, program.Run(inputs));
    tokens.push_back(MostLikely(outputs[kLogits]));
  }
  return tokens;
}

void Print(const char* what, std::span<const int64_t> tokens) {
  std::printf("%s", what);
  for (int64_t token : tokens) std::printf(" %lld", static_cast<long long>(token));
  std::printf("\n");
}

absl::Status Run(const std::string& path) {
  TENON_ASSIGN_OR_RETURN(tenon::Model model, tenon::Load(path));
  TENON_RETURN_IF_ERROR(tenon::Optimize(model));
  TENON_ASSIGN_OR_RETURN(const Program program, tenon::Compile(std::move(model)));
  Session session = program.NewSession();
  IoBinding binding(program);
  for (const std::vector<int64_t>& prompt : {std::vector<int64_t>{41, 52, 7}, {3, 91}}) {
    TENON_ASSIGN_OR_RETURN(const auto tokens, Decode(session, binding, program, prompt, 6));
    TENON_ASSIGN_OR_RETURN(const auto expected, DecodeWithoutCache(program, prompt, 6));
    Print("tokens:", tokens);
    if (tokens != expected) return absl::InternalError("decoding without a cache differs");
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  // By default a model of this checkout.
  const std::filesystem::path checkout = std::filesystem::path(__FILE__).parent_path() / "../..";
  const std::string path =
      argc > 1 ? argv[1] : checkout / "tests/models/llama_past.sdpa.ts17/model.onnx";
  const absl::Status status = Run(path);
  if (status.ok()) return 0;
  std::fprintf(stderr, "decode_with_a_kv_cache: %s\n", status.ToString().c_str());
  return 1;
}
