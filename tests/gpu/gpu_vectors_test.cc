// GPU kernels that take several elements a thread, or leave products to the library, on calls that
// reach each of their ways.
#include <gtest/gtest.h>

#include <cstring>

#include "ir/base/pointwise.h"
#include "kernels/gpu/launch.h"
#include "kernels/half.h"
#include "kernels/op_attrs.h"
#include "tests/gpu/emulated_device.h"
#include "tests/gpu/on_device.h"

namespace tenon::kernels::testing {
namespace {

// x times weights of i8 or bf16, transposed or not, against the reference.
struct CompressedSize {
  int64_t rows, k, n, group;
};
void CompareCompressed(gpu::Device& device, const CompressedSize& s, bool transpose, bool int8) {
  SCOPED_TRACE(std::to_string(s.rows) + " x " + std::to_string(s.k) + " x " + std::to_string(s.n) +
               (transpose ? " transposed" : "") + (int8 ? " i8" : ""));
  Random random(11);
  const Shape shape = transpose ? Shape{s.n, s.k} : Shape{s.k, s.n};
  const Tensor values = random.Floats(shape, -1, 1);
  Tensor w(int8 ? DType::kI8 : DType::kBF16, shape), scale;
  for (int64_t i = 0; i < w.numel(); ++i) {
    if (int8) {
      w.data<int8_t>()[i] = static_cast<int8_t>(127 * values.data<float>()[i]);
    } else {
      w.data<BFloat16>()[i] = BFloat16(values.data<float>()[i]);
    }
  }
  fused::CompressedLinearAttrs attrs;
  attrs.transpose_w = transpose;
  if (int8) {
    attrs.group = s.group;
    scale = random.Floats({s.group == 0 ? 1 : (s.k + s.group - 1) / s.group, s.n}, 0.5f, 1);
  }
  Case c;
  c.inputs = {random.Floats({s.rows, s.k}, -1, 1), w, random.Floats({s.n}), Tensor(), scale};
  c.outputs = {Tensor(DType::kF32, {s.rows, s.n})};
  c.attrs = MakeAttrs(attrs);
  ASSERT_TRUE(RunCase(*ReferenceOf("fused.compressed_linear"), c).ok());
  OnDevice run(device, GpuRegistry().Find("fused.compressed_linear")[0], c);
  ASSERT_TRUE(run.Run().ok());
  EXPECT_TRUE(Same(run.results()[0], c.outputs[0]));
}

// Few rows times many weights: whole vectors of them, ends that are none, factors that change
// within a vector. More rows than one task has.
TEST(GpuVectorsTest, CompressedWeightsOfFewRowsMayBeDeep) {
  for (const CompressedSize& s : {CompressedSize{1, 700, 36, 32},
                                  {1, 701, 33, 7},
                                  {3, 260, 40, 0},
                                  {4, 517, 70, 50},
                                  {9, 132, 68, 32},
                                  {16, 131, 5, 40}}) {
    for (const bool transpose : {false, true}) {
      for (const bool int8 : {true, false}) {
        gpu::testing::EmulatedDevice device;
        CompareCompressed(device, s, transpose, int8);
        EXPECT_EQ(device.log().Launches("ThinProduct"), int8 || s.rows <= 4 ? 1 : 0);
      }
    }
  }
}

TEST(GpuVectorsTest, CompressedWeightsOfManyRowsAreOperandsOfTheLibrary) {
  for (const CompressedSize& s :
       {CompressedSize{17, 64, 36, 32}, {40, 61, 33, 7}, {19, 12, 8, 0}}) {
    for (const bool transpose : {false, true}) {
      for (const bool int8 : {true, false}) {
        gpu::testing::EmulatedDevice device;
        CompareCompressed(device, s, transpose, int8);
        EXPECT_EQ(device.log().Kernels(),
                  (std::vector<std::string>{int8 ? "Widen" : "Cast", "MatMul"}));
      }
    }
  }
}

// More columns than are widened at once.
TEST(GpuVectorsTest, CompressedWeightsAreWidenedInParts) {
  for (const bool transpose : {false, true}) {
    gpu::testing::EmulatedDevice device;
    CompareCompressed(device, {17, 1 << 17, 68, 32}, transpose, true);
    EXPECT_EQ(device.log().Kernels(),
              (std::vector<std::string>{"Widen", "MatMul", "Widen", "MatMul"}));
  }
}

// Few rows and many, tasks and tiles that are whole and not, whole words and memory that begins
// between them; sums that wrap around.
TEST(GpuVectorsTest, ProductsOfBytesAreExact) {
  struct Size {
    int64_t rows, k, n;
    bool extreme;  // all bytes are as far from their zero points as they can be
  };
  for (const Size& s : {Size{1, 700, 36, false},
                        {1, 701, 33, false},
                        {1, 40000, 4, true},
                        {3, 264, 40, false},
                        {9, 131, 70, false},
                        {16, 12, 5, false},
                        {17, 8, 4, false},
                        {70, 200, 132, false},
                        {65, 63, 67, false},
                        {17, 40000, 4, true}}) {
    for (const DType x_type : {DType::kU8, DType::kI8}) {
      for (const DType w_type : {DType::kU8, DType::kI8}) {
        for (const int64_t shift : {0, 1}) {
          if (s.extreme && x_type != w_type) continue;
          SCOPED_TRACE(std::to_string(s.rows) + " x " + std::to_string(s.k) + " x " +
                       std::to_string(s.n) + " " + Name(x_type) + " " + Name(w_type));
          Random random(19);
          const DType to = shift == 0 ? DType::kI32 : DType::kF32;
          Case c;
          c.inputs = {random.Bytes(x_type, {s.rows, s.k}), random.Bytes(w_type, {s.k, s.n}),
                      random.Bytes(x_type, {}), random.Bytes(w_type, {shift == 0 ? s.n : 1})};
          const int least[] = {x_type == DType::kI8 ? 0x80 : 0, w_type == DType::kI8 ? 0x80 : 0};
          for (size_t i = 0; i < 4 && s.extreme; ++i) {
            const int byte = i < 2 ? least[i] ^ 0xff : least[i - 2];
            std::memset(c.inputs[i].data<void>(), byte, c.inputs[i].bytes);
          }
          c.outputs = {Tensor(to, {s.rows, s.n})};
          c.attrs = MakeAttrs(q::LinearAttrs{to});
          ASSERT_TRUE(RunCase(*ReferenceOf("q.linear"), c).ok());
          gpu::testing::EmulatedDevice device;
          OnDevice run(device, GpuRegistry().Find("q.linear")[0], c, shift);
          ASSERT_TRUE(run.Run().ok());
          EXPECT_EQ(std::memcmp(run.results()[0].data<void>(), c.outputs[0].data<void>(),
                                c.outputs[0].bytes),
                    0);
        }
      }
    }
  }
}

// Rows of whole vectors, and of none; biases of columns and of rows; residuals that are dense, or
// repeat along or across rows.
TEST(GpuVectorsTest, EpiloguesTakeNeighboursAtOnce) {
  gpu::testing::EmulatedDevice device;
  const auto compare = [&](const char* op, Case c, DType dtype, int64_t shift) {
    c = WithElements(c, dtype);
    ASSERT_TRUE(RunCase(*ReferenceOf(op), c).ok());
    OnDevice run(device, GpuRegistry().Find(op)[0], c, shift);
    ASSERT_TRUE(run.Run().ok());
    EXPECT_TRUE(Same(run.results()[0], c.outputs[0]));
  };
  Random random(3);
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const int64_t n : {24, 21}) {
      for (const Shape& residual : {Shape{5, n}, Shape{n}, Shape{5, 1}, Shape{}}) {
        for (const int64_t shift : {0, 1}) {
          SCOPED_TRACE(std::string(Name(dtype)) + " " + std::to_string(n) + " residual of " +
                       std::to_string(Tensor(DType::kF32, residual).numel()));
          Case c;
          c.inputs = {random.Floats({5, 3}), random.Floats({3, n}), random.Floats({n}),
                      random.Floats(residual)};
          c.outputs = {Tensor(DType::kF32, {5, n})};
          fused::LinearAttrs attrs;
          attrs.activation = fused::LinearActivation::kGelu;
          c.attrs = MakeAttrs(attrs);
          compare("fused.linear", c, dtype, shift);
        }
      }
      for (const bool halves : {false, true}) {
        SCOPED_TRACE(std::string(Name(dtype)) + " gated, " + std::to_string(n));
        Case c;
        c.inputs = {random.Floats({5, halves ? 2 * n : n}),
                    halves ? Tensor() : random.Floats({5, n})};
        c.outputs = {Tensor(DType::kF32, {5, n})};
        c.attrs = MakeAttrs(fused::GatedAttrs{.activation = fused::GatedActivation::kSilu});
        compare("fused.gated", c, dtype, 0);
      }
      SCOPED_TRACE(std::string(Name(dtype)) + " convolution of rows of " + std::to_string(n));
      Case c;
      c.inputs = {random.Floats({2, 3, n}), random.Floats({4, 3, 1}), random.Floats({4}), Tensor()};
      c.outputs = {Tensor(DType::kF32, {2, 4, n})};
      fused::ConvAttrs attrs;
      attrs.strides = attrs.dilations = {1};
      attrs.pads = {0, 0};
      attrs.activation = fused::ConvActivation::kSilu;
      c.attrs = MakeAttrs(attrs);
      compare("fused.conv", c, dtype, 0);
    }
  }
}

// Rows that threads hold in one vector, in some, and not at all; tables and terms in any number.
TEST(GpuVectorsTest, NormsAndEmbeddingsKeepRowsInRegisters) {
  gpu::testing::EmulatedDevice device;
  Random random(8);
  const auto compare = [&](const char* op, const Case& made, DType dtype, int64_t shift) {
    Case c = WithElements(made, dtype);
    ASSERT_TRUE(RunCase(*ReferenceOf(op), c).ok());
    OnDevice run(device, GpuRegistry().Find(op)[0], c, shift);
    ASSERT_TRUE(run.Run().ok());
    for (size_t i = 0; i < c.outputs.size(); ++i) {
      EXPECT_TRUE(Same(run.results()[i], c.outputs[i])) << op << ", result " << i;
    }
  };
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const int64_t n : {8, 200, 2048, 4096, 8192, 8200, 45}) {
      for (const int64_t shift : {0, 1}) {
        SCOPED_TRACE(std::string(Name(dtype)) + " " + std::to_string(n) +
                     (shift ? " shifted" : ""));
        const auto row = [&] { return random.Floats({n}); };
        Case skip;
        skip.inputs = {random.Floats({3, 2, n}), random.Floats({2, n}), row(), row(), Tensor()};
        skip.outputs = {Tensor(DType::kF32, {3, 2, n}), Tensor(DType::kF32, {3, 2, n})};
        skip.attrs = MakeAttrs(fused::SkipLayerNormAttrs{.axis = 2});
        compare("fused.skip_layer_norm", skip, dtype, shift);
        Case rms;
        rms.inputs = {random.Floats({3, n}), row()};
        rms.outputs = {Tensor(DType::kF32, {3, n})};
        rms.attrs = MakeAttrs(nn::RmsNormAttrs{.axis = 1});
        compare("nn.rms_norm", rms, dtype, shift);
        for (const int tables : {1, 3}) {
          Case embedding;
          embedding.inputs = {tables == 1 ? Tensor() : random.Floats({1, 3, n}), row(), row()};
          for (int k = 0; k < tables; ++k) {
            embedding.inputs.push_back(random.Ints(k == 1 ? Shape{3} : Shape{2, 3}, -5, 4));
            embedding.inputs.push_back(random.Floats({5, n}));
          }
          embedding.outputs = {Tensor(DType::kF32, {2, 3, n}), Tensor(DType::kF32, {2, 3, n})};
          fused::EmbeddingAttrs attrs;
          attrs.norm = tables == 1 ? fused::EmbeddingNorm::kNone : fused::EmbeddingNorm::kLayer;
          embedding.attrs = MakeAttrs(attrs);
          compare("fused.embedding", embedding, dtype, shift);
        }
      }
    }
  }
}

// Operands along rows of whole fours and of others, dense and not, and bodies of 32 and of 64 bits
// with as many values as there may be.
TEST(GpuVectorsTest, GroupsTakeFourElementsAtOnce) {
  gpu::testing::EmulatedDevice device;
  Random random(9);
  for (const bool wide : {false, true}) {
    for (const int64_t columns : {1, 12, 13}) {
      for (const int64_t shift : {0, 1}) {
        SCOPED_TRACE(std::string(wide ? "64 bits, " : "32 bits, ") + std::to_string(columns));
        const Shape shape = {3, 7, columns};
        PointwiseBody body;
        body.inputs.assign(wide ? 7 : 8, DType::kF32);
        if (wide) body.inputs.push_back(DType::kI64);
        body.constants = {{.dtype = DType::kF32, .real = 0.5}};
        const auto add = [&](PointwiseOp op, DType dtype, int a, int b = -1, double parameter = 0) {
          body.steps.push_back({op, dtype, {a, b, -1}, {parameter}});
          return body.num_values() - 1;
        };
        // All sums are there until the last step has been made.
        std::vector<int> sums;
        int integers = -1;
        if (wide) integers = add(PointwiseOp::kAdd, DType::kI64, 7, 7);
        for (int k = 0; body.num_values() < 30; ++k) {
          sums.push_back(add(PointwiseOp::kAdd, DType::kF32, k % 7, k == 0 ? 8 : (k + 1) % 7));
        }
        int total = sums[0];
        for (size_t i = 1; body.num_values() < 40; ++i) {
          total = add(PointwiseOp::kMul, DType::kF32, total, sums[sums.size() - i]);
        }
        body.results = {total, sums[1]};
        if (wide) body.results.push_back(integers);
        Case c;
        for (const Shape& s : {shape, Shape{columns}, Shape{3, 1, columns}, Shape{7, 1}, Shape{1},
                               Shape{3, 7, 1}, shape, shape}) {
          c.inputs.push_back(random.Floats(s, 0.5f, 1.5f));
        }
        if (wide) c.inputs[7] = WithElements(c.inputs[7], DType::kI64);
        for (int result : body.results) c.outputs.emplace_back(body.dtype(result), shape);
        c.attrs = MakeAttrs(fused::GroupAttrs{PointwiseText(body)});
        ASSERT_TRUE(RunCase(*ReferenceOf("fused.group"), c).ok());
        OnDevice run(device, GpuRegistry().Find("fused.group")[0], c, shift);
        const KernelStatus status = run.Run();
        ASSERT_TRUE(status.ok()) << status.message();
        for (size_t i = 0; i < c.outputs.size(); ++i) {
          EXPECT_TRUE(Same(run.results()[i], c.outputs[i])) << i;
        }
      }
    }
  }
}

// The kernel for products that the library does not do, against the loops of the emulated device.
TEST(MatMulTest, AgreesWithLoops) {
  gpu::testing::EmulatedDevice device;
  std::unique_ptr<gpu::Queue> queue;
  ASSERT_TRUE(device.NewQueue(&queue).ok());
  gpu::Staging staging(*queue);
  for (uint32_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    gpu::MatMulParams p = {};
    p.dtype = seed % 3 == 0 ? DType::kF32 : seed % 3 == 1 ? DType::kF16 : DType::kBF16;
    p.out_dtype = seed % 6 == 5 ? DType::kF32 : p.dtype;
    p.transpose_a = random.Chance(50);
    p.transpose_b = random.Chance(50);
    p.m = random.Int(1, 130);
    p.n = random.Int(1, 130);
    p.k = random.Int(1, 40);
    p.batch = random.Int(1, 3);
    p.a_stride = random.Chance(50) ? p.m * p.k : 0;
    p.b_stride = random.Chance(50) ? p.k * p.n : 0;
    p.out_pitch = random.Chance(50) ? 0 : p.n + random.Int(0, 9);
    p.out_stride = p.m * p.pitch();
    p.activation = random.Chance(50) ? ActivationKind::kRelu : ActivationKind::kNone;
    std::vector<void*> memory;
    const auto make = [&](int64_t n, DType dtype) {
      const Tensor t = WithElements(random.Floats({n}), dtype);
      memory.push_back(nullptr);
      EXPECT_TRUE(queue->Allocate(t.bytes, &memory.back()).ok());
      EXPECT_TRUE(staging.ToDevice(memory.back(), t.data<void>(), t.bytes).ok());
      return memory.back();
    };
    p.a = make(p.batch * p.m * p.k, p.dtype);
    p.b = make(p.batch * p.k * p.n, p.dtype);
    const Tensor before = WithElements(random.Floats({p.batch * p.out_stride}), p.out_dtype);
    const auto make_out = [&] {
      void* const out = make(p.batch * p.out_stride, p.out_dtype);
      EXPECT_TRUE(staging.ToDevice(out, before.data<void>(), before.bytes).ok());
      return out;
    };
    p.out = make_out();
    if (random.Chance(50)) p.bias = make(p.n, p.out_dtype);
    if (random.Chance(50)) p.residual = make(p.batch * p.out_stride, p.out_dtype);
    ASSERT_TRUE(queue->Launch(p).ok());
    Tensor expected(p.out_dtype, before.shape), actual(p.out_dtype, before.shape);
    ASSERT_TRUE(staging.ToHost(expected.data<void>(), p.out, expected.bytes).ok());
    ASSERT_TRUE(staging.Finish().ok());
    p.out = make_out();
    gpu::LaunchOn(nullptr, p);
    ASSERT_TRUE(staging.ToHost(actual.data<void>(), p.out, actual.bytes).ok());
    ASSERT_TRUE(staging.Finish().ok());
    EXPECT_TRUE(Same(actual, expected));
    for (void* at : memory) queue->Free(at);
  }
}

}  // namespace
}  // namespace tenon::kernels::testing
