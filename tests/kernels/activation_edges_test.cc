// Every activation of every op that has one, at the edges of numbers: fast kernels against
// reference kernels, in every element type that they take.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "ir/core/context/context.h"
#include "ir/dialect/dialects.h"
#include "kernels/op_attrs.h"
#include "tests/kernels/kernel_test_util.h"

namespace tenon::kernels::testing {
namespace {

// What the activations see. So many that vectors and their rests see each.
std::vector<double> EdgesOf(DType dtype) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  double largest = std::numeric_limits<float>::max(), smallest = 0x1p-126;
  if (dtype == DType::kF64) largest = std::numeric_limits<double>::max(), smallest = 0x1p-1022;
  if (dtype == DType::kF16) largest = 65504, smallest = 0x1p-14;
  if (dtype == DType::kBF16) largest = 0x1.fep127, smallest = 0x1p-126;
  const std::vector<double> positive = {kInfinite, 0,  largest, largest / 2, smallest, 0.25,
                                        1,         3,  6,       9,           11,       20,
                                        88,        89, 104,     709,         710,      745};
  std::vector<double> edges = {std::numeric_limits<double>::quiet_NaN()};
  for (const double edge : positive) {
    edges.push_back(edge);
    edges.push_back(-edge);
  }
  return edges;
}

void SetElement(const Tensor& tensor, int64_t at, double value) {
  switch (tensor.dtype) {
    case DType::kF64:
      tensor.data<double>()[at] = value;
      break;
    case DType::kF16:
      tensor.data<Half>()[at] = Half(static_cast<float>(value));
      break;
    case DType::kBF16:
      tensor.data<BFloat16>()[at] = BFloat16(static_cast<float>(value));
      break;
    case DType::kI8:
      tensor.data<int8_t>()[at] = static_cast<int8_t>(value);
      break;
    default:
      tensor.data<float>()[at] = static_cast<float>(value);
  }
}

double ElementOf(const Tensor& tensor, int64_t at) {
  switch (tensor.dtype) {
    case DType::kF64:
      return tensor.data<double>()[at];
    case DType::kF16:
      return static_cast<float>(tensor.data<Half>()[at]);
    case DType::kBF16:
      return static_cast<float>(tensor.data<BFloat16>()[at]);
    default:
      return tensor.data<float>()[at];
  }
}

Tensor Filled(DType dtype, Shape shape, const std::function<double(int64_t)>& value) {
  Tensor tensor(dtype, std::move(shape));
  for (int64_t i = 0; i < tensor.numel(); ++i) SetElement(tensor, i, value(i));
  return tensor;
}
Tensor Ones(DType dtype, Shape shape) {
  return Filled(dtype, std::move(shape), [](int64_t) { return 1.0; });
}
Tensor AtEdges(DType dtype, Shape shape, int64_t run = 1) {
  const std::vector<double> edges = EdgesOf(dtype);
  const auto count = static_cast<int64_t>(edges.size());
  return Filled(dtype, std::move(shape),
                [&](int64_t i) { return edges[static_cast<size_t>(i / run % count)]; });
}

constexpr int64_t kRows = 39, kColumns = 21;  // neither is a multiple of a vector

template <typename Attrs>
Attrs WithActivation(int activation) {
  Attrs attrs;
  using Enum = decltype(attrs.activation);
  attrs.activation = static_cast<Enum>(activation);
  if constexpr (requires { attrs.alpha; }) {
    attrs.alpha = attrs.activation == Enum::kClip ? -0.5f : 0.2f;
    attrs.beta = attrs.activation == Enum::kClip ? 0.7f : 0.4f;
  }
  return attrs;
}

Case MakeCall(std::vector<Tensor> inputs, std::vector<Tensor> outputs,
              std::shared_ptr<const void> attrs, std::vector<size_t> constant) {
  return {std::move(inputs), std::move(outputs), std::move(attrs), std::move(constant), 0};
}

// Calls in which the activation, by its number, sees the edges themselves.
using Calls = std::function<std::vector<Case>(DType, int)>;

// A product of depth one with a weight of ones hands on its rows.
template <typename Attrs, int64_t kWide = kColumns>
std::vector<Case> LinearCalls(DType dtype, int activation) {
  std::vector<Case> calls;
  for (const bool constant : {false, true}) {
    for (const int64_t rows : {int64_t{1}, kRows}) {
      for (int64_t first = 0; first < (rows == 1 ? kRows : 1); ++first) {
        const double edge = ElementOf(AtEdges(dtype, {kRows}), first);
        const Tensor x = rows == 1 ? Filled(dtype, {1, 1}, [&](int64_t) { return edge; })
                                   : AtEdges(dtype, {rows, 1});
        std::vector<Tensor> inputs = {x, Ones(dtype, {1, kWide})};
        std::vector<size_t> constants = constant ? std::vector<size_t>{1} : std::vector<size_t>();
        Attrs attrs = WithActivation<Attrs>(activation);
        std::vector<Tensor> outputs = {Tensor(dtype, {rows, kWide})};
        if constexpr (std::is_same_v<Attrs, fused::CompressedLinearAttrs>) {
          inputs[1] = Ones(constant ? DType::kI8 : DType::kBF16, {1, kWide});
          constants = constant ? std::vector<size_t>{1, 4} : std::vector<size_t>{1};
          inputs.resize(5);
          if (constant) inputs[4] = Ones(DType::kF32, {1, kWide});
        } else if constexpr (std::is_same_v<Attrs, fused::LinearChainAttrs>) {
          attrs.biased = false;
          attrs.activate_last = true;
          inputs = {x, Tensor(), inputs[1]};
          if (constant) constants = {2};
        } else if constexpr (std::is_same_v<Attrs, fused::NormLinearAttrs>) {
          // The bias alone, as the norm of a zero is zero.
          inputs = {Filled(dtype, {rows, 1}, [](int64_t) { return 0.0; }),
                    Ones(dtype, {1, kWide}),
                    AtEdges(dtype, {kWide}, 1),
                    Tensor(),
                    Tensor(),
                    Tensor()};
        } else {
          inputs.resize(std::is_same_v<Attrs, fused::LinearNormAttrs> ? 6 : 4);
          if constexpr (std::is_same_v<Attrs, fused::LinearNormAttrs>)
            outputs.push_back(outputs[0]);
        }
        calls.push_back(
            MakeCall(std::move(inputs), std::move(outputs), MakeAttrs(attrs), constants));
      }
    }
  }
  return calls;
}

// A window of one element and a weight of ones hand on the only channel.
template <typename Attrs>
std::vector<Case> ConvCalls(DType dtype, int activation) {
  std::vector<Case> calls;
  constexpr bool kTransposed = std::is_same_v<Attrs, fused::ConvTransposeAttrs>;
  for (const bool constant : {false, true}) {
    for (const int layout : {0, 1}) {
      for (const int64_t window : {1, 3}) {
        Attrs attrs = WithActivation<Attrs>(activation);
        attrs.layout = static_cast<decltype(attrs.layout)>(layout);
        attrs.strides = attrs.dilations = {1, 1};
        attrs.pads = {0, 0, 0, 0};
        if constexpr (kTransposed) attrs.output_padding = {0, 0};
        // Larger windows see one element each: the others are padding, which no sum reads.
        const Shape image = window == 1 ? Shape{5, 11} : Shape{1, 1};
        const int64_t images = window == 1 ? 1 : kRows;
        if (window > 1 && !kTransposed) attrs.pads = {1, 1, 1, 1};
        if (window > 1 && kTransposed) continue;
        const Shape x = layout == 0 ? Shape{images, 1, image[0], image[1]}
                                    : Shape{images, image[0], image[1], 1};
        Shape out = x;
        out[layout == 0 ? 1 : 3] = kColumns;
        const Shape w =
            kTransposed ? Shape{1, kColumns, window, window} : Shape{kColumns, 1, window, window};
        calls.push_back(MakeCall({AtEdges(dtype, x), Ones(dtype, w), Tensor(), Tensor()},
                                 {Tensor(dtype, out)}, MakeAttrs(attrs),
                                 constant ? std::vector<size_t>{1} : std::vector<size_t>()));
        if constexpr (kTransposed) calls.back().inputs.pop_back();
      }
    }
  }
  return calls;
}

// Images of zeros leave the bias of each channel, whatever the window and however it is computed.
std::vector<Case> FusedConvCalls(DType dtype, int activation) {
  std::vector<Case> calls = ConvCalls<fused::ConvAttrs>(dtype, activation);
  constexpr int64_t kChannels = 40;
  for (const bool each : {false, true}) {
    for (const int layout : {0, 1}) {
      auto attrs = WithActivation<fused::ConvAttrs>(activation);
      attrs.layout = static_cast<fused::ConvLayout>(layout);
      attrs.strides = attrs.dilations = {1, 1};
      attrs.pads = {1, 1, 1, 1};
      attrs.group = each ? kChannels : 1;
      const Shape x = layout == 0 ? Shape{1, kChannels, 12, 12} : Shape{1, 12, 12, kChannels};
      const Tensor zeros = Filled(dtype, x, [](int64_t) { return 0.0; });
      calls.push_back(MakeCall({zeros, Ones(dtype, {kChannels, each ? 1 : kChannels, 3, 3}),
                                AtEdges(dtype, {kChannels}), Tensor()},
                               {Tensor(dtype, x)}, MakeAttrs(attrs), {1, 2}));
    }
  }
  return calls;
}

std::vector<Case> GatedCalls(DType dtype, int activation) {
  std::vector<Case> calls;
  for (const bool second : {false, true}) {
    auto attrs = WithActivation<fused::GatedAttrs>(activation);
    attrs.second = second;
    const Shape shape = {3, kRows};
    calls.push_back(MakeCall({AtEdges(dtype, shape), Ones(dtype, shape)}, {Tensor(dtype, shape)},
                             MakeAttrs(attrs), {}));
    const Tensor edges = AtEdges(dtype, {kRows});
    const Tensor both = Filled(dtype, {3, 2 * kRows}, [&](int64_t i) {
      const int64_t at = i % (2 * kRows);
      return (at < kRows) != second ? ElementOf(edges, at % kRows) : 1.0;
    });
    calls.push_back(MakeCall({both, Tensor()}, {Tensor(dtype, shape)}, MakeAttrs(attrs), {}));
  }
  return calls;
}

// A scale of zero leaves the bias of each channel.
std::vector<Case> GroupNormCalls(DType dtype, int activation) {
  auto attrs = WithActivation<fused::GroupNormAttrs>(activation);
  attrs.groups = 3;
  const Shape shape = {2, kRows, 3, 7};
  const Tensor x = Filled(dtype, shape, [](int64_t i) { return static_cast<double>(i % 7); });
  const Tensor scale = Filled(dtype, {kRows}, [](int64_t) { return 0.0; });
  return {MakeCall({x, Tensor(), scale, AtEdges(dtype, {kRows})}, {Tensor(dtype, shape)},
                   MakeAttrs(attrs), {})};
}

// A state of zero leaves the input of each unit.
std::vector<Case> RecurrenceCalls(DType dtype, int activation) {
  std::vector<Case> calls;
  for (const bool constant : {false, true}) {
    auto attrs = WithActivation<nn::RecurrenceAttrs>(activation);
    attrs.cell = nn::RecurrenceCell::kRnn;
    const auto zeros = [&](Shape shape) {
      return Filled(dtype, std::move(shape), [](int64_t) { return 0.0; });
    };
    const Shape state = {2, kRows};
    calls.push_back(MakeCall({AtEdges(dtype, {1, 2, kRows}), zeros({kRows, kRows}), zeros(state),
                              Tensor(), Tensor(), Tensor(), Tensor()},
                             {Tensor(dtype, {1, 2, kRows}), Tensor(dtype, state)}, MakeAttrs(attrs),
                             constant ? std::vector<size_t>{1} : std::vector<size_t>()));
  }
  return calls;
}

struct Carrier {
  const char* op;
  Calls calls;
  size_t result = 0;      // the one that is compared
  const char* what = "";  // behind the name of the op, where it has several results
};

std::vector<Carrier> Carriers() {
  return {{"fused.compressed_linear", LinearCalls<fused::CompressedLinearAttrs>},
          {"fused.conv", FusedConvCalls},
          {"fused.conv_transpose", ConvCalls<fused::ConvTransposeAttrs>},
          {"fused.gated", GatedCalls},
          {"fused.group_norm", GroupNormCalls},
          {"fused.linear", LinearCalls<fused::LinearAttrs>},
          {"fused.linear_chain", LinearCalls<fused::LinearChainAttrs>},
          // The norm of rows whose mean has no rounding: they consist of a power of two of equals.
          {"fused.linear_norm", LinearCalls<fused::LinearNormAttrs, 32>, 0, "_norm"},
          {"fused.linear_norm", LinearCalls<fused::LinearNormAttrs>, 1, "_sum"},
          {"fused.norm_linear", LinearCalls<fused::NormLinearAttrs>},
          {"nn.recurrence", RecurrenceCalls}};
}

bool IsFastOnCpu(const Kernel& kernel) {
  return std::strncmp(kernel.name, "ref.", 4) != 0 && kernel.backend == Backend::kCpu;
}

// Layers are lowered as their parts, which have activations of their own.
TEST(ActivationEdges, EveryOpWithAFastKernelIsHere) {
  Context context;
  RegisterAllDialects(context);
  std::set<std::string> here, wanted;
  for (const Carrier& carrier : Carriers()) here.insert(carrier.op);
  for (const std::string& op : Registry().ops()) {
    const OpInfo* const info = context.FindOp(op);
    ASSERT_NE(info, nullptr) << op;
    const std::vector<AttrDef>& attrs = info->def().attrs;
    const bool carries = std::any_of(attrs.begin(), attrs.end(),
                                     [](const AttrDef& attr) { return attr.name == "activation"; });
    const auto kernels = Registry().Find(op);
    if (carries && std::any_of(kernels.begin(), kernels.end(), IsFastOnCpu)) wanted.insert(op);
  }
  EXPECT_EQ(here, wanted);
}

class ActivationEdgesTest : public ::testing::TestWithParam<Carrier> {};

TEST_P(ActivationEdgesTest, FastKernelsAgreeWithTheReference) {
  Context context;
  RegisterAllDialects(context);
  const std::string op = GetParam().op;
  const OpDef& def = context.FindOp(op)->def();
  std::vector<std::string> names;
  for (const AttrDef& attr : def.attrs) {
    if (attr.name == "activation") names = attr.enums;
  }
  ASSERT_FALSE(names.empty());
  const Kernel* reference = nullptr;
  for (const Kernel& kernel : Registry().Find(op)) {
    if (std::strncmp(kernel.name, "ref.", 4) == 0) reference = &kernel;
  }
  ASSERT_NE(reference, nullptr);
  std::set<std::string> run, all;
  for (const Kernel& kernel : Registry().Find(op)) {
    if (!IsFastOnCpu(kernel)) continue;
    all.insert(kernel.name);
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
      if ((def.operands[0].constraint.dtypes >> static_cast<int>(dtype) & 1) == 0) continue;
      for (size_t a = 0; a < names.size(); ++a) {
        const std::vector<Case> calls = GetParam().calls(dtype, static_cast<int>(a));
        for (size_t c = 0; c < calls.size(); ++c) {
          Case want = calls[c], got = calls[c];
          if (!WhyNot(kernel, want).empty() || !WhyNot(*reference, want).empty()) continue;
          run.insert(kernel.name);
          SCOPED_TRACE(fmt::format("{}, {}, {}, call {}", kernel.name, Name(dtype), names[a], c));
          ASSERT_TRUE(RunCase(*reference, want).ok());
          ASSERT_TRUE(RunCase(kernel, got).ok());
          const Tensor& right = want.outputs[GetParam().result];
          const Tensor& made = got.outputs[GetParam().result];
          for (int64_t i = 0; i < right.numel(); ++i) {
            const double expected = ElementOf(right, i), actual = ElementOf(made, i);
            if (std::isnan(expected) && std::isnan(actual)) continue;
            if (expected == actual) continue;
            ASSERT_LE(std::fabs(actual - expected), 2e-5 * std::fabs(expected) + 1e-6)
                << "element " << i << " is " << actual << ", expected " << expected;
          }
        }
      }
    }
  }
  EXPECT_EQ(run, all) << "kernels that no call reaches";
}

INSTANTIATE_TEST_SUITE_P(All, ActivationEdgesTest, ::testing::ValuesIn(Carriers()),
                         [](const auto& info) {
                           std::string name = std::string(info.param.op) + info.param.what;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace tenon::kernels::testing
