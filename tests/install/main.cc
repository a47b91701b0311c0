// Loads a model, optimises it, runs it on inputs of ones.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "frontends/api/tenon.h"

int Run(const char* path) {
  auto model = tenon::Load(path);
  if (!model.ok()) return std::puts(model.status().ToString().c_str()), 2;
  if (auto status = tenon::Optimize(*model); !status.ok()) return 3;
  auto program = tenon::Compile(*model);
  if (!program.ok()) return std::puts(program.status().ToString().c_str()), 3;

  std::vector<tenon::Tensor> inputs;
  for (const tenon::TensorSpec& input : program->inputs()) {  // the model's are i64, of batch x seq
    inputs.push_back(tenon::Tensor::Make(input.dtype, std::vector<int64_t>{1, 8}));
    std::fill_n(inputs.back().as<int64_t>(), 8, 1);
  }
  auto outputs = program->Run(inputs);
  if (!outputs.ok()) return std::puts(outputs.status().ToString().c_str()), 3;
  const tenon::Tensor& out = outputs->front();
  std::printf("%s, first value %f\n", out.type_text().c_str(), out.as<float>()[0]);
  return std::isfinite(out.as<float>()[0]) ? 0 : 1;
}

int main(int argc, char** argv) { return argc == 2 ? Run(argv[1]) : 2; }
