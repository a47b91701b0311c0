// Packed matrix products of every shape of tile, against plain loops in double precision.
#include "kernels/cpu/gemm/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "kernels/cpu/isa.h"
#include "kernels/reference/elementwise/activation.h"
#include "kernels/threads/thread_pool.h"

namespace tenon::kernels::cpu {
namespace {

using Buffer = std::vector<float>;

std::unique_ptr<float, void (*)(void*)> Allocate(size_t bytes) {
  return {static_cast<float*>(std::aligned_alloc(64, (bytes + 127) / 64 * 64)), std::free};
}

class GemmTest : public ::testing::Test {
 protected:
  Buffer Random(int64_t n) {
    std::uniform_real_distribution<float> values(-1, 1);
    Buffer buffer(static_cast<size_t>(n));
    for (float& v : buffer) v = values(random_);
    return buffer;
  }

  struct Options {
    bool transposed = false;
    bool pack_a = false;
    bool transposed_a = false;  // with pack_a
    bool in_place = false;      // b is not packed
    bool accumulate = false;
    bool bias = false;
    bool residual = false;
    bool shared_residual = false;  // one row for all
    bool residual_in_c = false;
    ActivationKind activation = ActivationKind::kNone;
  };

  void Check(int64_t m, int64_t n, int64_t k, const Options& o, int threads = 1) {
    SCOPED_TRACE(::testing::Message() << m << " x " << n << " x " << k << ", activation "
                                      << static_cast<int>(o.activation));
    const Buffer a = Random(m * k), b = Random(k * n), bias = Random(n);
    const int64_t c_row = n + 3;
    const Buffer start = Random(m * c_row);
    Buffer c = start;
    const Buffer residual = o.residual_in_c ? start : Random(m * c_row);
    const Activation activation = {o.activation, 0.2f, 0.6f};

    const GemmMatrix a_in = {a.data(), o.transposed_a ? 1 : k, o.transposed_a ? m : 1};
    const GemmMatrix b_in = {b.data(), o.transposed ? 1 : n, o.transposed ? k : 1};
    const auto packed_b = Allocate(PackedBytesOfB(k, n)), packed_a = Allocate(PackedBytesOfA(m, k));
    ThreadPool pool(threads);
    GemmArgs args = {.m = m, .n = n, .k = k, .a = a.data(), .a_row = k};
    if (o.pack_a) {
      PackA(a_in, m, k, packed_a.get(), pool);
      args.a = packed_a.get(), args.a_packed = true;
    }
    if (o.in_place) {
      args.b = b.data(), args.b_row = n;
    } else {
      PackB(b_in, k, n, packed_b.get(), pool);
      args.b = packed_b.get();
    }
    args.c = c.data(), args.c_row = c_row, args.accumulate = o.accumulate;
    args.epilogue.activation = activation;
    if (o.bias) args.epilogue.bias = bias.data();
    if (o.residual) {
      args.epilogue.residual = o.residual_in_c ? c.data() : residual.data();
      args.epilogue.residual_row = o.shared_residual ? 0 : c_row;
    }
    Gemm(args, pool);

    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < c_row; ++j) {
        const auto at = static_cast<size_t>(i * c_row + j);
        if (j >= n) {
          ASSERT_EQ(c[at], start[at]) << "written beyond column " << n;
          continue;
        }
        double sum = o.bias ? bias[static_cast<size_t>(j)] : 0;
        for (int64_t p = 0; p < k; ++p) {
          sum += double{a_in.data[i * a_in.row + p * a_in.col]} *
                 b_in.data[p * b_in.row + j * b_in.col];
        }
        if (o.accumulate) sum += start[at];
        sum = Activate(activation, sum);
        if (o.residual) sum += residual[o.shared_residual ? static_cast<size_t>(j) : at];
        ASSERT_NEAR(c[at], sum, 1e-6 * std::sqrt(static_cast<double>(k)) + 1e-5 * std::fabs(sum))
            << "row " << i << ", column " << j;
      }
    }
  }

  std::mt19937 random_{7};
};

TEST_F(GemmTest, EveryHeightAndWidth) {
  for (int64_t m = 1; m <= 30; ++m) {
    for (int64_t n : {1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 64, 97, 128, 131}) {
      Check(m, n, 5, {});
      Check(m, n, 3, {.pack_a = true});
    }
  }
}

TEST_F(GemmTest, Depths) {
  for (int64_t k : {1, 2, 17, 1024, 4097, 9000}) {
    Check(15, 33, k, {.bias = true});
    Check(2, 130, k, {.bias = true, .residual = true});
    Check(9, 20, k, {.pack_a = true, .residual = true, .residual_in_c = true});
    Check(9, 20, k, {.residual = true, .residual_in_c = true, .activation = ActivationKind::kRelu});
    Check(5, 16, k, {.accumulate = true});
  }
}

// Of more than a part, in either order, from any address: the same, and every element is read once.
TEST_F(GemmTest, PackingInParts) {
  const int64_t k = 1031, n = 2100, size = k * n;
  const Buffer values = Random(size);
  std::vector<std::byte> moved(values.size() * sizeof(float) + 1);
  for (const bool transposed : {false, true}) {
    for (const size_t offset : {size_t{0}, size_t{1}}) {
      std::memcpy(moved.data() + offset, values.data(), values.size() * sizeof(float));
      const GemmMatrix b = {reinterpret_cast<const float*>(moved.data() + offset),
                            transposed ? 1 : n, transposed ? k : 1};
      const auto whole = Allocate(PackedBytesOfB(k, n)), parts = Allocate(PackedBytesOfB(k, n));
      PackB(b, k, n, whole.get(), 0, GemmPanels(n));
      ThreadPool pool(2);
      int64_t read = 0, count = 0;
      PackB(b, k, n, parts.get(), pool, [&](int64_t first, int64_t last) {
        EXPECT_EQ(first, read);
        read = last;
        ++count;
        std::memset(moved.data() + offset + static_cast<size_t>(first) * sizeof(float), 0xff,
                    static_cast<size_t>(last - first) * sizeof(float));
      });
      EXPECT_EQ(read, size);
      EXPECT_GT(count, 1);
      EXPECT_EQ(std::memcmp(whole.get(), parts.get(), PackedBytesOfB(k, n)), 0) << transposed;
    }
  }
}

TEST_F(GemmTest, Operands) {
  for (int64_t k : {1, 15, 16, 50}) {
    Check(20, 77, k, {.transposed = true});
    Check(20, 77, k, {.pack_a = true, .transposed_a = true});
    Check(20, 3 * GemmPanel(), k, {.in_place = true});
    Check(1, 9 * GemmPanel(), k, {.in_place = true, .bias = true});
  }
}

TEST_F(GemmTest, Epilogues) {
  for (int kind = 0; kind < kNumActivations; ++kind) {
    const auto activation = static_cast<ActivationKind>(kind);
    Check(16, 50, 6, {.bias = true, .activation = activation});
    Check(3, 140, 6, {.bias = true, .residual = true, .activation = activation});
    Check(17, 50, 6, {.residual = true, .residual_in_c = true, .activation = activation});
    Check(17, 50, 6, {.residual = true, .shared_residual = true, .activation = activation});
  }
}

// More rows than stay in the cache: blocks of panels do, the last of them incomplete.
TEST_F(GemmTest, ManyRows) {
  Check(700, 300, 500, {.bias = true, .residual = true});
  Check(2600, 1100, 70, {.bias = true, .activation = ActivationKind::kGelu});
  Check(2600, 100, 70, {.pack_a = true}, 3);
}

// Rows a multiple of 4 KiB apart make lower tiles.
TEST_F(GemmTest, CollidingRows) {
  for (int64_t m : {1, 7, 12, 13, 14, 40}) Check(m, 70, 1024, {.bias = true});
}

TEST_F(GemmTest, GeluIsAccurate) {
  // Tables are more accurate than the quotient that takes their place elsewhere.
  const double near_zero = ActiveIsa() >= Isa::kAvx2 ? 4e-7 : 1.2e-6;
  constexpr int64_t kCount = 40001;
  Buffer x(kCount), b(static_cast<size_t>(GemmPanel()), 0.0f), y(kCount);
  for (int64_t i = 0; i < kCount; ++i) {
    x[static_cast<size_t>(i)] = -10 + 20 * static_cast<float>(i) / (kCount - 1);
  }
  b[0] = 1;
  Gemm({.m = kCount,
        .n = 1,
        .k = 1,
        .a = x.data(),
        .a_row = 1,
        .b = b.data(),
        .c = y.data(),
        .c_row = 1,
        .epilogue = {.activation = {ActivationKind::kGelu}}});
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = 0.5 * x[i] * std::erfc(-x[i] * std::sqrt(0.5));
    ASSERT_NEAR(y[i], expected, near_zero + 3e-7 * std::fabs(expected)) << "x = " << x[i];
  }
}

TEST_F(GemmTest, Threads) {
  for (int threads : {2, 3, 5}) {
    Check(100, 200, 300, {.bias = true, .activation = ActivationKind::kGelu}, threads);
    Check(500, 40, 300, {.transposed = true}, threads);
    Check(1, 3000, 300, {.residual = true}, threads);
    Check(300, 300, 64, {.pack_a = true}, threads);
  }
}

TEST_F(GemmTest, NanReachesTheResult) {
  const float nan = std::nanf("");
  for (int kind = 0; kind < kNumActivations; ++kind) {
    const Buffer a = {nan}, b(static_cast<size_t>(GemmPanel()), 1.0f);
    Buffer c(b.size());
    Gemm({.m = 1,
          .n = GemmPanel(),
          .k = 1,
          .a = a.data(),
          .a_row = 1,
          .b = b.data(),
          .c = c.data(),
          .c_row = GemmPanel(),
          .epilogue = {.activation = {static_cast<ActivationKind>(kind), 0.1f, 0.5f}}});
    for (float v : c) ASSERT_TRUE(std::isnan(v)) << "activation " << kind;
  }
}

}  // namespace
}  // namespace tenon::kernels::cpu
