#include "ir/base/narrow_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "ir/core/attribute.h"

namespace tenon {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr NarrowRounding kNearest = NarrowRounding::kNearest;
constexpr NarrowRounding kUp = NarrowRounding::kUp;
constexpr NarrowRounding kDown = NarrowRounding::kDown;

// FNV-1a, 64 bits.
class Hash {
 public:
  void Add(const void* data, size_t size) {
    for (size_t i = 0; i < size; ++i)
      value_ = (value_ ^ static_cast<const uint8_t*>(data)[i]) * 0x100000001b3u;
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325u;
};

// What tests/ir/narrow_values.py prints.
struct Row {
  DType dtype;
  uint64_t numbers, saturated, unsaturated;
};
constexpr Row kRows[] = {
    {DType::kF8E4M3FN, 0x9d09ddc37a47fa25u, 0xaf47090016b81063u, 0x7fa989f66c1f09e3u},
    {DType::kF8E4M3FNUZ, 0x6de51237e2c14355u, 0x8085b2e0380086e3u, 0xb967afb347c1efa5u},
    {DType::kF8E5M2, 0xc6d565e59341eaa5u, 0x26fad67d8c0b8573u, 0x61911f52756e0a25u},
    {DType::kF8E5M2FNUZ, 0x9f50e5ef83e0a7a5u, 0x0d13f62be652bd63u, 0x397d866a387ba9a5u},
    {DType::kF4E2M1FN, 0x2403bb76b85dfea5u, 0x1fb1dba66200138bu, 0x1fb1dba66200138bu},
    {DType::kI4, 0x610228d3d2cf9042u, 0x48972539ad7f2badu, 0x9b4a3ad3a10bc325u},
    {DType::kI2, 0x0a0a655ffeb0e385u, 0x633a6e5340a03d27u, 0xe340b942ce999f25u},
    {DType::kU4, 0x13fdf84d829c1708u, 0x6a8025e5d4daaf65u, 0x9b4a3ad3a10bc325u},
    {DType::kU2, 0x62552b9ea71e5908u, 0x4335db9151049625u, 0xe340b942ce999f25u},
};

TEST(NarrowNumber, NumbersOfAllElements) {
  for (const Row& row : kRows) {
    Hash hash;
    for (int element = 0; element < 1 << BitsOf(row.dtype); ++element) {
      const auto number =
          static_cast<float>(NarrowToDouble(row.dtype, static_cast<uint8_t>(element)));
      if (!std::isnan(number)) hash.Add(&number, sizeof(number));
    }
    EXPECT_EQ(hash.value(), row.numbers) << Name(row.dtype);
  }
}

TEST(NarrowNumber, ElementsOfAllHalves) {
  for (const Row& row : kRows) {
    const bool is_int = IsNarrowInt(row.dtype);
    for (const bool saturate : {true, false}) {
      Hash hash;
      for (uint32_t bits = 0; bits < 0x10000; ++bits) {
        const double number = HalfToDouble(static_cast<uint16_t>(bits));
        if (std::isnan(number) || (is_int && std::isinf(number))) continue;
        const NarrowRounding rounding = is_int && !saturate ? kDown : kNearest;
        uint8_t element = DoubleToNarrow(row.dtype, number, saturate, rounding);
        if (std::isnan(NarrowToDouble(row.dtype, element))) continue;
        element &= static_cast<uint8_t>((1u << BitsOf(row.dtype)) - 1);
        hash.Add(&element, 1);
      }
      EXPECT_EQ(hash.value(), saturate ? row.saturated : row.unsaturated)
          << Name(row.dtype) << " saturate " << saturate;
    }
  }
}

TEST(NarrowNumber, ElementsKeepTheirBits) {
  for (int d = static_cast<int>(DType::kF8E4M3FN); d < kNumDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    for (int bits = 0; bits < 1 << BitsOf(dtype); ++bits) {
      const uint8_t element = NarrowElement(dtype, static_cast<uint8_t>(bits));
      const double number = NarrowToDouble(dtype, element);
      for (const bool saturate : {true, false}) {
        for (const NarrowRounding rounding : {kNearest, kUp, kDown}) {
          const uint8_t again = DoubleToNarrow(dtype, number, saturate, rounding);
          if (std::isnan(number)) {
            EXPECT_TRUE(std::isnan(NarrowToDouble(dtype, again))) << Name(dtype) << " " << bits;
          } else if (std::isfinite(number) || !saturate) {
            EXPECT_EQ(again, element) << Name(dtype) << " " << bits;
          }
        }
      }
      std::byte stored{};
      StoreFromDouble(dtype, number, &stored);
      if (!std::isnan(number)) {
        EXPECT_EQ(std::to_integer<uint8_t>(stored), element) << Name(dtype);
      }
      EXPECT_EQ(NarrowToDouble(dtype, static_cast<uint8_t>(bits)) == number, !std::isnan(number));
    }
  }
}

// The rows of the two tables in the text of ONNX's Cast.
TEST(NarrowNumber, ValuesBeyondTheRange) {
  struct Case {
    DType dtype;
    uint8_t saturated, positive, negative, nan, minus_zero;
  };
  for (const Case& c : {Case{DType::kF8E4M3FN, 0x7e, 0x7f, 0xff, 0x7f, 0x80},
                        Case{DType::kF8E4M3FNUZ, 0x7f, 0x80, 0x80, 0x80, 0},
                        Case{DType::kF8E5M2, 0x7b, 0x7c, 0xfc, 0x7e, 0x80},
                        Case{DType::kF8E5M2FNUZ, 0x7f, 0x80, 0x80, 0x80, 0},
                        Case{DType::kF4E2M1FN, 0x7, 0x7, 0xf, 0x8, 0x8}}) {
    const uint8_t sign = c.dtype == DType::kF4E2M1FN ? 0x8 : 0x80;
    for (const double beyond : {1e6, kInf}) {
      EXPECT_EQ(DoubleToNarrow(c.dtype, beyond, true), c.saturated) << Name(c.dtype);
      EXPECT_EQ(DoubleToNarrow(c.dtype, -beyond, true), c.saturated | sign) << Name(c.dtype);
      EXPECT_EQ(DoubleToNarrow(c.dtype, beyond, false), c.positive) << Name(c.dtype);
      EXPECT_EQ(DoubleToNarrow(c.dtype, -beyond, false), c.negative) << Name(c.dtype);
    }
    for (const bool saturate : {true, false}) {
      EXPECT_EQ(DoubleToNarrow(c.dtype, std::nan(""), saturate), c.nan) << Name(c.dtype);
      EXPECT_EQ(DoubleToNarrow(c.dtype, -0.0, saturate), c.minus_zero) << Name(c.dtype);
      EXPECT_EQ(DoubleToNarrow(c.dtype, -1e-9, saturate), c.minus_zero) << Name(c.dtype);
      EXPECT_EQ(DoubleToNarrow(c.dtype, 0, saturate), 0) << Name(c.dtype);
    }
  }
}

TEST(NarrowNumber, PowersOfTwo) {
  const auto encode = [](double value, bool saturate, NarrowRounding rounding) {
    return static_cast<int>(DoubleToNarrow(DType::kF8E8M0FNU, value, saturate, rounding));
  };
  EXPECT_EQ(encode(0, true, kUp), 0);
  EXPECT_EQ(encode(0x1p-140, true, kUp), 0);
  EXPECT_EQ(encode(kInf, true, kUp), 254);
  EXPECT_EQ(encode(0x1p128, true, kUp), 254);
  EXPECT_EQ(encode(0x1.8p127, true, kUp), 254);
  EXPECT_EQ(encode(std::nan(""), true, kUp), 255);
  for (const double value : {0.0, 0x1p-140, 0x1p128, 0x1.8p127, kInf, -1.0})
    EXPECT_EQ(encode(value, false, kNearest), 255) << value;
  EXPECT_EQ(encode(-1, true, kUp), 255);
  EXPECT_EQ(encode(1.25, true, kUp), 128);
  EXPECT_EQ(encode(1.25, true, kDown), 127);
  EXPECT_EQ(encode(1.25, true, kNearest), 127);
  EXPECT_EQ(encode(1.5, true, kNearest), 128);
  EXPECT_EQ(encode(1.75, true, kDown), 127);
  EXPECT_EQ(encode(0x1p-127, false, kUp), 0);
  EXPECT_EQ(encode(0x1p127, false, kUp), 254);
}

TEST(NarrowNumber, DirectedRounding) {
  EXPECT_EQ(DoubleToNarrow(DType::kF8E4M3FN, 1.01, true, kDown), 0x38);
  EXPECT_EQ(DoubleToNarrow(DType::kF8E4M3FN, 1.01, true, kUp), 0x39);
  EXPECT_EQ(DoubleToNarrow(DType::kF8E4M3FN, -1.01, true, kUp), 0xb9);
  EXPECT_EQ(DoubleToNarrow(DType::kF8E4M3FN, 1e-9, true, kUp), 0x01);
  EXPECT_EQ(DoubleToNarrow(DType::kF8E4M3FN, 449, false, kDown), 0x7e);
  EXPECT_EQ(DoubleToNarrow(DType::kI4, -2.5, true, kNearest), 0xfe);
  EXPECT_EQ(DoubleToNarrow(DType::kI4, -2.5, true, kUp), 0xfd);
  EXPECT_EQ(DoubleToNarrow(DType::kI4, -2.5, true, kDown), 0xfe);
  EXPECT_EQ(DoubleToNarrow(DType::kU4, -1, true, kNearest), 0);
  EXPECT_EQ(DoubleToNarrow(DType::kU4, -1, false, kDown), 15);
  EXPECT_EQ(DoubleToNarrow(DType::kU2, 1e30, false, kDown), 3);
  EXPECT_EQ(DoubleToNarrow(DType::kI2, std::nan(""), true, kDown), 0);
}

TEST(NarrowNumber, BitsAboveTheTypeDoNotCount) {
  EXPECT_EQ(NarrowToDouble(DType::kI4, 0x5f), -1);
  EXPECT_EQ(NarrowToDouble(DType::kU2, 0xfd), 1);
  EXPECT_EQ(NarrowToDouble(DType::kF4E2M1FN, 0x72), 1);
  EXPECT_EQ(NarrowElement(DType::kI4, 0x0f), 0xff);
  EXPECT_EQ(NarrowElement(DType::kU4, 0xff), 0x0f);
  EXPECT_EQ(NarrowElement(DType::kF4E2M1FN, 0xff), 0x0f);
}

}  // namespace
}  // namespace tenon
