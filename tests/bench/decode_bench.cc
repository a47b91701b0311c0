// A decoder's loop as its users write it: one token a step, the past grows by one, what a step
// computes of keys and values is bound as the next step's past. decode_loop.py compares.
//
//   decode_bench MODEL PAST TOKENS [THREADS [cpu|cuda]]
//
// The model's inputs are token ids, masks over past and new positions, and pasts; an output
// "present*" becomes the input of that name with "past" or "past_key_values". Pasts are f32, all
// other inputs i64; a model with others is refused. Prints one JSON object a loop, of which there
// is one for each line of standard input: milliseconds of each step of the loop, from PAST
// positions on, and of as many runs whose lengths are all the last step's.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/cpp/tenon.h"

namespace {

using Clock = std::chrono::steady_clock;
using tenon::DType;
using tenon::Tensor;

double MsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The name of the input that an output becomes; empty: none.
std::string PastOf(std::string_view output, const tenon::Program& program) {
  constexpr std::string_view kPresent = "present";
  if (!output.starts_with(kPresent)) return {};
  for (const std::string_view past : {"past", "past_key_values"}) {
    std::string name = std::string(past) + std::string(output.substr(kPresent.size()));
    for (const tenon::TensorSpec& input : program.inputs()) {
      if (input.name == name) return name;
    }
  }
  return {};
}

struct Decoder {
  const tenon::Program& program;
  tenon::Session session;
  tenon::IoBinding binding;

  // An input of integers counts the new position, or, if its last axis is longer, all of them.
  absl::Status Bind(int64_t past, bool with_past) {
    for (const tenon::TensorSpec& input : program.inputs()) {
      if (input.dtype != DType::kF32 && input.dtype != DType::kI64) {
        return absl::UnimplementedError(fmt::format("input {} is {}; only f32 and i64 are fed",
                                                    input.name, tenon::Name(input.dtype)));
      }
      if (input.dtype == DType::kF32) {
        if (!with_past) continue;
        std::vector<int64_t> shape(input.dims.size());
        for (size_t i = 0; i < shape.size(); ++i) {
          const std::string& dim = input.dims[i];
          const auto [end, error] = std::from_chars(dim.data(), dim.data() + dim.size(), shape[i]);
          if (error == std::errc() && end == dim.data() + dim.size()) continue;
          shape[i] = i == 0 ? 1 : past;
        }
        const Tensor value = Tensor::Make(input.dtype, shape);
        for (int64_t i = 0; i < value.numel(); ++i)
          value.as<float>()[i] = static_cast<float>(i % 17 - 8) * 0.01f;
        TENON_RETURN_IF_ERROR(binding.BindInput(input.name, value));
      } else {
        const bool mask = input.name.find("mask") != std::string::npos;
        const bool position = input.name.find("position") != std::string::npos;
        const Tensor value =
            Tensor::Make(input.dtype, std::vector<int64_t>{1, mask ? past + 1 : 1});
        std::fill_n(value.as<int64_t>(), value.numel(), position ? past : 1);
        TENON_RETURN_IF_ERROR(binding.BindInput(input.name, value));
      }
    }
    return absl::OkStatus();
  }
};

absl::Status Main(const std::string& path, int64_t past, int64_t tokens, int64_t threads,
                  std::string_view device) {
  TENON_ASSIGN_OR_RETURN(tenon::Model model, tenon::Load(path));
  TENON_RETURN_IF_ERROR(tenon::Optimize(model));
  tenon::CompileOptions options = {.threads = static_cast<int>(threads)};
  if (device == "cuda") {
    TENON_ASSIGN_OR_RETURN(options.gpu, tenon::OpenCudaDevice());
  }
  TENON_ASSIGN_OR_RETURN(const tenon::Program program, tenon::Compile(std::move(model), options));
  Decoder decoder = {program, program.NewSession(), tenon::IoBinding(program)};
  size_t pasts = 0, presents = 0;
  for (const tenon::TensorSpec& input : program.inputs()) pasts += input.dtype == DType::kF32;
  for (const tenon::TensorSpec& output : program.outputs())
    presents += !PastOf(output.name, program).empty();
  if (pasts == 0 || pasts != presents) {
    return absl::InvalidArgumentError(
        fmt::format("{} inputs are f32, and {} outputs become one of them (expected an output "
                    "\"present.…\" for "
                    "each input \"past.…\")",
                    pasts, presents));
  }
  std::string line;
  while (std::getline(std::cin, line)) {
    std::vector<double> steps, fixed;
    for (const tenon::TensorSpec& output : program.outputs()) {
      const std::string to = PastOf(output.name, program);
      if (!to.empty()) TENON_RETURN_IF_ERROR(decoder.binding.Carry(output.name, to));
    }
    TENON_RETURN_IF_ERROR(decoder.Bind(past, true));
    for (int64_t i = 0; i < tokens; ++i) {
      TENON_RETURN_IF_ERROR(decoder.Bind(past + i, false));
      const Clock::time_point start = Clock::now();
      TENON_RETURN_IF_ERROR(decoder.session.Run(decoder.binding));
      steps.push_back(MsSince(start));
    }
    for (const tenon::TensorSpec& output : program.outputs())
      TENON_RETURN_IF_ERROR(decoder.binding.BindOutput(output.name));
    TENON_RETURN_IF_ERROR(decoder.Bind(past + tokens - 1, true));
    TENON_RETURN_IF_ERROR(decoder.session.Run(decoder.binding));
    for (int64_t i = 0; i < tokens; ++i) {
      const Clock::time_point start = Clock::now();
      TENON_RETURN_IF_ERROR(decoder.session.Run(decoder.binding));
      fixed.push_back(MsSince(start));
    }
    fmt::print("{{\"steps\": [{:.4f}], \"fixed\": [{:.4f}]}}\n", fmt::join(steps, ", "),
               fmt::join(fixed, ", "));
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

bool Number(std::string_view text, int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value > 0;
}

}  // namespace

int main(int argc, char** argv) {
  int64_t past = 0, tokens = 0, threads = 1;
  const std::string_view device = argc == 6 ? argv[5] : "cpu";
  if (argc < 4 || argc > 6 || !Number(argv[2], past) || !Number(argv[3], tokens) ||
      (argc >= 5 && !Number(argv[4], threads)) || (device != "cpu" && device != "cuda")) {
    fmt::print(stderr, "expected MODEL PAST TOKENS [THREADS [cpu|cuda]]\n");
    return 2;
  }
  const absl::Status status = Main(argv[1], past, tokens, threads, device);
  if (status.ok()) return 0;
  fmt::print(stderr, "{}\n", std::string(status.message()));
  return 1;
}
