#include "kernels/cpu/pointwise/byte_table.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/pointwise/pointwise_program.h"

namespace tenon::kernels::cpu {
namespace {

constexpr int64_t kTableGrain = 1 << 16;  // bytes worth a thread
constexpr int64_t kTableBlock = 4096;     // bytes that several tables read together

bool IsByteType(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }

void LookUpEach(const uint8_t* table, const uint8_t* x, uint8_t* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = table[x[i]];
}

LookUpBytes ChooseLookUp() {
#if defined(__x86_64__)
  if (ActiveIsa() >= Isa::kAvx512Vnni) {
    if (const LookUpBytes vectors = LookUpBytesAvx512Vnni()) return vectors;
  }
#endif
  return &LookUpEach;
}

}  // namespace

LookUpBytes ActiveLookUpBytes() {
  static const LookUpBytes look_up = ChooseLookUp();
  return look_up;
}

std::unique_ptr<const ByteTables> ByteTables::Make(const PointwiseBody& body,
                                                   const PrepareArgs& args) {
  const bool fits =
      args.inputs.size() == 1 && IsByteType(args.inputs[0].dtype) &&
      std::all_of(args.outputs.begin(), args.outputs.end(), [&](const TensorView& out) {
        return IsByteType(out.dtype) && out.numel() == args.inputs[0].numel();
      });
  if (!fits) return nullptr;
  auto made = std::make_unique<ByteTables>();
  made->tables_.resize(args.outputs.size());
  Table all;
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint8_t>(i);
  constexpr int64_t kShape[] = {256};
  const TensorView input = {all.data(), args.inputs[0].dtype, kShape};
  std::vector<TensorView> results;
  for (size_t i = 0; i < args.outputs.size(); ++i) {
    results.push_back({made->tables_[i].data(), args.outputs[i].dtype, kShape});
  }
  const PointwiseProgram program(body, {&input, 1}, kShape);
  program.Run({.inputs = {&input, 1}, .outputs = results, .device = args.device});
  return made;
}

void ByteTables::Run(const RunArgs& args) const {
  const int64_t n = args.inputs[0].numel();
  if (n <= kTableGrain) return RunRange(args, 0, n);
  (*args.device->parallel)(n, kTableGrain,
                           [&](int64_t begin, int64_t end) { RunRange(args, begin, end); });
}

void ByteTables::RunRange(const RunArgs& args, int64_t begin, int64_t end) const {
  const LookUpBytes look_up = ActiveLookUpBytes();
  const uint8_t* x = args.inputs[0].as<const uint8_t>();
  // The first result may lie where the input does, and is written last.
  for (int64_t at = begin; at < end; at += kTableBlock) {
    const int64_t n = std::min(kTableBlock, end - at);
    for (size_t i = tables_.size(); i-- > 0;) {
      look_up(tables_[i].data(), x + at, args.outputs[i].as<uint8_t>() + at, n);
    }
  }
}

}  // namespace tenon::kernels::cpu
