// The kernels of random numbers. Numbers depend on the seed, the stream, the call within the run
// and the position of the element, and on nothing else.
#include <bit>
#include <cmath>
#include <numbers>

#include "kernels/draws.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/philox.h"
#include "kernels/reference/dispatch.h"

namespace tenon::kernels {
namespace {

// Elements that are worth a thread.
constexpr int64_t kGrain = 4096;

// The words of one call. Element i takes `per_element` words, 1, 2 or 4.
class Words {
 public:
  template <typename Attrs>
  Words(const Attrs& attrs, DeviceContext& device) {
    const uint32_t call = device.draws == nullptr ? 0 : device.draws->Next(attrs.stream);
    const uint64_t seed = device.draws == nullptr ? 0 : device.draws->seed();
    key_ = KeyOf(seed);
    high_ = {call, static_cast<uint32_t>(attrs.stream + 1)};
    if (!attrs.seed) return;
    // A node with a seed is a generator of its own, which no stream has.
    key_ = KeyOf(std::bit_cast<uint64_t>(*attrs.seed));
    high_[1] = 0;
  }
  // Calls f(i, words) for each element in [begin, end); `words` points to its words.
  template <typename F>
  void Each(int64_t begin, int64_t end, int64_t per_element, F&& f) const {
    PhiloxBlock block{};
    int64_t made = -1;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t word = i * per_element;
      if (word / 4 != made) {
        made = word / 4;
        block = Philox(key_, {static_cast<uint32_t>(made), static_cast<uint32_t>(made >> 32),
                              high_[0], high_[1]});
      }
      f(i, block.data() + word % 4);
    }
  }

 private:
  static PhiloxKey KeyOf(uint64_t seed) {
    return {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  }

  PhiloxKey key_;
  std::array<uint32_t, 2> high_;
};

// A number in [0, 1) of `bits` random bits. More than 32 bits take two words.
double Unit(const uint32_t* words, int bits) {
  uint64_t all = uint64_t{words[0]} << 32;
  if (bits > 32) all |= words[1];
  return static_cast<double>(all >> (64 - bits)) * std::ldexp(1.0, -bits);
}

// Writes f(words) to each element of the output.
template <typename F>
KernelStatus Fill(const RunArgs& args, const Words& words, int64_t per_element, F&& f) {
  const TensorView& out = args.outputs[0];
  return DispatchFloat(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = out.as<T>();
    (*args.device->parallel)(out.numel(), kGrain, [&](int64_t begin, int64_t end) {
      words.Each(begin, end, per_element,
                 [&](int64_t i, const uint32_t* of) { to[i] = static_cast<T>(f(of)); });
    });
    return KernelStatus::Ok();
  });
}

KernelStatus Uniform(const RunArgs& args) {
  const auto& attrs = args.get<random::UniformAttrs>();
  // So many random bits are exact in the type.
  const int bits = SignificandBits(args.outputs[0].dtype);
  const double low = attrs.low, width = static_cast<double>(attrs.high) - low;
  return Fill(args, Words(attrs, *args.device), bits > 32 ? 2 : 1,
              [=](const uint32_t* words) { return low + width * Unit(words, bits); });
}

KernelStatus Normal(const RunArgs& args) {
  const auto& attrs = args.get<random::NormalAttrs>();
  // Numbers of 53 bits take four words, so that also f64 has the tails that it can hold.
  const int bits = args.outputs[0].dtype == DType::kF64 ? 53 : 32;
  const int words_of_one = bits > 32 ? 2 : 1;
  const double mean = attrs.mean, scale = attrs.scale;
  return Fill(args, Words(attrs, *args.device), 2 * words_of_one, [=](const uint32_t* words) {
    // 1 - u is in (0, 1], so that its logarithm is finite.
    const double radius = std::sqrt(-2 * std::log(1 - Unit(words, bits)));
    const double angle = 2 * std::numbers::pi * Unit(words + words_of_one, bits);
    return mean + scale * radius * std::cos(angle);
  });
}

}  // namespace

Kernel RefRandomNormal() {
  return {.op = "random.normal", .name = "ref.random_normal", .run = Normal};
}
Kernel RefRandomUniform() {
  return {.op = "random.uniform", .name = "ref.random_uniform", .run = Uniform};
}

}  // namespace tenon::kernels
