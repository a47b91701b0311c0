// The order of packed elements, found from what kernels do with numbers.
#include "executor/weights/find_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tenon {
namespace {

using kernels::TensorView;

// The sources of a matrix [k, n] in panels of columns, each with all rows; 0: padding.
std::vector<uint32_t> Panels(int64_t k, int64_t n, int64_t panel, bool transposed,
                             int64_t first = 0) {
  std::vector<uint32_t> sources;
  for (int64_t begin = 0; begin < n; begin += panel) {
    for (int64_t row = 0; row < k; ++row) {
      for (int64_t j = begin; j < begin + panel; ++j) {
        const int64_t plain = transposed ? j * k + row : row * n + j;
        sources.push_back(j < n ? static_cast<uint32_t>(first + plain + 1) : 0);
      }
    }
  }
  return sources;
}

// Unpacks numbers that are packed as `sources` says, and expects them in order.
void ExpectInOrder(const ElementOrder& found, const std::vector<uint32_t>& sources,
                   size_t elements) {
  ElementOrder order = found;
  order.element_bytes = sizeof(uint32_t);
  const size_t bytes = elements * sizeof(uint32_t);
  ASSERT_TRUE(Fits(order, bytes, sources.size() * sizeof(uint32_t)));
  std::vector<uint32_t> plain(elements);
  Unpack(order, reinterpret_cast<const std::byte*>(sources.data()),
         reinterpret_cast<std::byte*>(plain.data()), bytes);
  for (size_t i = 0; i < elements; ++i) ASSERT_EQ(plain[i], i + 1);
}

TEST(FindOrderTest, PanelsAreFewParts) {
  for (const bool transposed : {false, true}) {
    for (const int64_t k : {1, 2, 37}) {
      for (const int64_t n : {1, 15, 16, 17, 33, 160}) {
        SCOPED_TRACE(testing::Message() << k << "x" << n << (transposed ? " transposed" : ""));
        const std::vector<uint32_t> sources = Panels(k, n, 16, transposed);
        const std::optional<ElementOrder> order = FindOrder(sources, static_cast<size_t>(k * n));
        ASSERT_TRUE(order.has_value());
        EXPECT_LE(order->parts.size(), 4u) << order->Text();
        ExpectInOrder(*order, sources, static_cast<size_t>(k * n));
      }
    }
  }
}

// The last panel of each matrix has another form than those before it.
TEST(FindOrderTest, MatricesBehindEachOtherAreFewParts) {
  std::vector<uint32_t> sources;
  for (int64_t i = 0; i < 100; ++i) {
    const std::vector<uint32_t> one = Panels(5, 40, 16, false, i * 200);
    sources.insert(sources.end(), one.begin(), one.end());
  }
  const std::optional<ElementOrder> order = FindOrder(sources, 20000);
  ASSERT_TRUE(order.has_value());
  EXPECT_LE(order->parts.size(), 4u) << order->Text();
  ExpectInOrder(*order, sources, 20000);
}

TEST(FindOrderTest, MissingElementsAndDisorderHaveNone) {
  std::vector<uint32_t> sources = Panels(5, 40, 16, false);
  sources[7] = 0;
  EXPECT_FALSE(FindOrder(sources, 200).has_value());
  // The powers of all residues modulo a prime: each residue once, in no order.
  constexpr uint32_t kPrime = 20011;
  std::vector<uint32_t> mixed;
  for (uint64_t i = 1; i < kPrime; ++i) {
    uint64_t power = 1;
    for (int k = 0; k < 7; ++k) power = power * i % kPrime;
    mixed.push_back(static_cast<uint32_t>(power));
  }
  EXPECT_FALSE(FindOrder(mixed, kPrime - 1).has_value());
}

template <typename Element>
ElementOrder Probe(DType dtype, std::span<const int64_t> shape,
                   const std::function<void(const Element*, Element*)>& pack, size_t packed) {
  std::vector<TensorView> views = {{}, {nullptr, dtype, shape}};
  constexpr int kFrom[] = {1};
  std::vector<ElementOrder> orders = ProbeOrders(
      views, kFrom, packed * sizeof(Element),
      [&](std::byte* out) { pack(views[1].as<const Element>(), reinterpret_cast<Element*>(out)); });
  EXPECT_EQ(views[1].data, nullptr);
  return orders.at(0);
}

TEST(ProbeOrdersTest, FindsAReversedOrderOfEachWidth) {
  const auto expect = [&]<typename Element>(DType dtype, Element) {
    constexpr int64_t kSize = 70000;  // more than 16 bits can count
    const int64_t shape[] = {kSize};
    const ElementOrder order = Probe<Element>(
        dtype, shape,
        [](const Element* from, Element* to) {
          for (int64_t i = 0; i < kSize; ++i) to[kSize - i] = from[i];
        },
        kSize + 1);
    ASSERT_EQ(order.parts.size(), 1u) << Name(dtype);
    EXPECT_EQ(order.element_bytes, sizeof(Element));
    ASSERT_EQ(order.parts[0].loops.size(), 1u);
    EXPECT_EQ(order.parts[0].loops[0], (ElementOrder::Loop{kSize, -1, 1}));
  };
  expect(DType::kF16, uint16_t{});
  expect(DType::kBF16, uint16_t{});
  expect(DType::kF32, uint32_t{});
  expect(DType::kF64, uint64_t{});
}

TEST(ProbeOrdersTest, TwoInputsAreFoundInOnePacking) {
  const int64_t w_shape[] = {4, 3}, b_shape[] = {3};
  std::vector<TensorView> views = {{nullptr, DType::kF32, w_shape},
                                   {nullptr, DType::kF32, b_shape}};
  constexpr int kFrom[] = {0, 1};
  const std::vector<ElementOrder> orders =
      ProbeOrders(views, kFrom, 16 * sizeof(float), [&](std::byte* out) {
        std::memcpy(out, views[1].data, 12);
        std::memcpy(out + 16, views[0].data, 48);
      });
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_EQ(orders[0].Text(), "4 bytes; 0 from 4 x 12 +1 from +1");
  EXPECT_EQ(orders[1].Text(), "4 bytes; 0 from 0 x 3 +1 from +1");
}

TEST(ProbeOrdersTest, ComputedWeightsHaveNoOrder) {
  const int64_t shape[] = {64};
  const ElementOrder sums = Probe<float>(
      DType::kF32, shape,
      [](const float* from, float* to) {
        for (int i = 0; i < 64; ++i) to[i] = from[i] + from[(i + 1) % 64];
      },
      64);
  EXPECT_TRUE(sums.parts.empty());
}

// Integers may be positions, which a kernel follows.
TEST(ProbeOrdersTest, IntegersAreNotProbed) {
  const int64_t shape[] = {8};
  int calls = 0;
  const ElementOrder order = Probe<int32_t>(
      DType::kI32, shape, [&](const int32_t*, int32_t*) { ++calls; }, 8);
  EXPECT_TRUE(order.parts.empty());
  EXPECT_EQ(calls, 0);
}

TEST(ElementOrderTest, OnlyCopiesInsideOfBothSidesFit) {
  const auto order = [](std::vector<ElementOrder::Part> parts) {
    return ElementOrder{4, std::move(parts)};
  };
  EXPECT_TRUE(Fits(order({{0, 0, {{4, 1, 1}}}}), 16, 16));
  EXPECT_TRUE(Fits(order({{3, 0, {{4, -1, 1}}}}), 16, 16));
  EXPECT_TRUE(Fits(order({{0, 0, {{2, 1, 1}, {2, 2, 2}}}}), 16, 16));
  EXPECT_TRUE(Fits(order({{0, 1, {}}, {1, 0, {}}}), 8, 8));
  EXPECT_FALSE(Fits(order({{0, 0, {{5, 1, 1}}}}), 16, 20));            // too many
  EXPECT_FALSE(Fits(order({{0, 0, {{3, 1, 1}}}}), 16, 16));            // too few
  EXPECT_FALSE(Fits(order({{1, 0, {{4, 1, 1}}}}), 16, 16));            // behind the end
  EXPECT_FALSE(Fits(order({{0, 0, {{4, 1, 2}}}}), 16, 16));            // also of the packed bytes
  EXPECT_FALSE(Fits(order({{0, -1, {{4, 1, 1}}}}), 16, 16));           // before the begin
  EXPECT_FALSE(Fits(order({{0, 0, {{4, -1, 1}}}}), 16, 16));           // in the other direction
  EXPECT_FALSE(Fits(order({{0, 0, {{4, 1, 1}}}}), 16, 12));            // of fewer bytes
  EXPECT_FALSE(Fits(order({{0, 0, {{0, 1, 1}}}}), 0, 16));             // no step
  EXPECT_FALSE(Fits(order({{0, 0, {{-4, 1, 1}}}}), 16, 16));           // a negative number of steps
  EXPECT_FALSE(Fits(ElementOrder{3, {{0, 0, {{4, 1, 1}}}}}, 12, 12));  // no width
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(Fits(order({{0, 0, {{kMost, 1, 1}, {kMost, 1, 1}}}}), 16, 16));
  EXPECT_FALSE(Fits(order({{0, 0, {{4, kMost, 1}}}}), 16, 16));
  EXPECT_FALSE(Fits(order({{kMost, 0, {{4, 1, 1}}}}), 16, 16));
  EXPECT_FALSE(Fits(order({{0, 0, std::vector<ElementOrder::Loop>(9, {1, 0, 0})}}), 4, 4));
}

// Loops in any order, of steps back and forth, and several parts: a part of the tensor is what it
// is in the whole.
TEST(ElementOrderTest, PartsOfTheTensorAreUnpackedAlone) {
  const auto expect = [](const ElementOrder& order, size_t count) {
    std::vector<uint16_t> packed(count);
    std::iota(packed.begin(), packed.end(), uint16_t{1});
    const auto* const from = reinterpret_cast<const std::byte*>(packed.data());
    ASSERT_TRUE(Fits(order, count * 2, count * 2));
    // One element after the other, as the loops say.
    std::vector<uint16_t> whole(count);
    for (const ElementOrder::Part& part : order.parts) {
      std::vector<std::pair<int64_t, int64_t>> places = {{part.plain, part.packed}};
      for (const ElementOrder::Loop& loop : part.loops) {
        std::vector<std::pair<int64_t, int64_t>> more;
        for (const auto& [plain, at] : places) {
          for (int64_t i = 0; i < loop.count; ++i)
            more.emplace_back(plain + i * loop.plain, at + i * loop.packed);
        }
        places = std::move(more);
      }
      for (const auto& [plain, at] : places)
        whole[static_cast<size_t>(plain)] = packed[static_cast<size_t>(at)];
    }
    for (size_t first = 0; first < count; ++first) {
      for (size_t size = 0; first + size <= count; ++size) {
        std::vector<uint16_t> part(size);
        UnpackRange(order, from, first * 2, std::as_writable_bytes(std::span(part)));
        ASSERT_TRUE(
            std::equal(part.begin(), part.end(), whole.begin() + static_cast<int64_t>(first)))
            << order.Text() << ": " << size << " from " << first;
      }
    }
  };
  const auto order = [](std::vector<ElementOrder::Part> parts) {
    return ElementOrder{.element_bytes = 2, .parts = std::move(parts)};
  };
  // A transposed matrix of more than a square of cache lines.
  expect(order({{.loops = {{37, 1, 3}, {3, 37, 1}}}}), 111);
  expect(order({{.loops = {{3, 37, 1}, {37, 1, 3}}}}), 111);
  // Matrices whose axes are in every order.
  expect(order({{.loops = {{4, 15, 1}, {5, 3, 4}, {3, 1, 20}}}}), 60);
  expect(order({{.loops = {{4, 15, 5}, {5, 3, 1}, {3, 1, 20}}}}), 60);
  expect(order({{.loops = {{4, 15, 15}, {5, 3, 1}, {3, 1, 5}}}}), 60);
  // From behind, on either side.
  expect(order({{.plain = 0, .packed = 59, .loops = {{60, 1, -1}}}}), 60);
  expect(order({{.plain = 59, .packed = 0, .loops = {{6, -1, 1}, {10, -6, 6}}}}), 60);
  // Parts, one of which is one element.
  expect(order({{.plain = 1, .packed = 0, .loops = {{8, 1, 1}}}, {.plain = 0, .packed = 8}}), 9);
}

TEST(ElementOrderTest, WhatNoCopyWritesIsZero) {
  // A damaged order may write one element twice.
  const ElementOrder twice = {4, {{0, 0, {}}, {0, 0, {}}}};
  const uint32_t packed[] = {7, 8};
  uint32_t plain[] = {1, 1};
  ASSERT_TRUE(Fits(twice, 8, 8));
  Unpack(twice, reinterpret_cast<const std::byte*>(packed), reinterpret_cast<std::byte*>(plain), 8);
  EXPECT_EQ(plain[0], 7u);
  EXPECT_EQ(plain[1], 0u);
}

}  // namespace
}  // namespace tenon
