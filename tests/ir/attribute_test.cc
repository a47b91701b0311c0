#include "ir/core/attribute.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "ir/core/constants/constant_bytes.h"
#include "ir/core/constants/deferred_blob.h"
#include "ir/core/constants/keep_blobs.h"
#include "ir/core/context/context.h"
#include "ir/core/text/parser.h"

namespace tenon {
namespace {

Type TensorOf(Context& context, DType dtype, std::vector<int64_t> dims) {
  return Type::Tensor(context, dtype, std::span<const int64_t>(dims));
}

template <typename T>
std::span<const std::byte> Bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

TEST(AttributeTest, EqualAttributesAreOne) {
  Context context;
  EXPECT_EQ(Attribute::I64(context, 3), Attribute::I64(context, 3));
  EXPECT_NE(Attribute::I64(context, 3),
            Attribute::Int(context, 3, Type::Scalar(context, DType::kI32)));
  EXPECT_NE(Attribute::Str(context, "f"), Attribute::SymbolRef(context, "f"));
  EXPECT_EQ(Attribute::F32(context, 0.1f), Attribute::Float(context, 0.1, DType::kF32));
  EXPECT_NE(Attribute::F32(context, 0.0f), Attribute::F32(context, -0.0f));
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Attribute::F64(context, nan), Attribute::F64(context, nan));
  EXPECT_NE(Attribute::I64s(context, {}), Attribute::F32s(context, {}));
  EXPECT_EQ(Attribute::Bool(context, true), Attribute::Bool(context, true));
}

TEST(AttributeTest, FloatsAreRounded) {
  Context context;
  EXPECT_EQ(Attribute::Float(context, 0.1, DType::kF32).float_value(), static_cast<double>(0.1f));
  EXPECT_EQ(Attribute::Float(context, 1.0 / 3, DType::kF16).float_value(), 0.333251953125);
  EXPECT_EQ(Attribute::Float(context, 1e6, DType::kF16).float_value(),
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(Attribute::Float(context, 1.00390625, DType::kBF16).float_value(),
            1.0);  // a tie goes to even
}

TEST(AttributeTest, ArraysOfFloatsAreRoundedToTheirType) {
  Context context;
  const double values[] = {0.1, 2};
  const Attribute array = Attribute::Floats(context, DType::kF32, values);
  EXPECT_EQ(array.floats()[0], static_cast<double>(0.1f));
  EXPECT_EQ(array, Attribute::F32s(context, std::vector<float>{0.1f, 2}));
  const absl::StatusOr<Attribute> read = ParseAttribute(context, array.text());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, array);
}

TEST(AttributeTest, DictionariesAreSorted) {
  Context context;
  NamedAttribute entries[] = {{context.Intern("b"), Attribute::I64(context, 1)},
                              {context.Intern("a"), Attribute::Unit(context)}};
  Attribute dictionary = Attribute::Dictionary(context, entries);
  EXPECT_EQ(dictionary.text(), "{a, b = 1 : i64}");
  EXPECT_EQ(dictionary.Get("b"), Attribute::I64(context, 1));
  EXPECT_FALSE(dictionary.Get("c"));
  std::swap(entries[0], entries[1]);
  EXPECT_EQ(dictionary, Attribute::Dictionary(context, entries));
}

TEST(AttributeTest, EqualElementsBecomeASplat) {
  Context context;
  std::vector<float> values(6, 1.5f);
  Type type = TensorOf(context, DType::kF32, {2, 3});
  Attribute splat = Attribute::Elements(context, type, Bytes(values));
  EXPECT_TRUE(splat.is_splat());
  EXPECT_EQ(splat.raw_bytes().size(), 4u);
  EXPECT_EQ(splat, Attribute::Splat(context, type, Bytes(values).first(4)));
  EXPECT_EQ(splat.ElementAsDouble(5), 1.5);
  std::shared_ptr<const Blob> dense = splat.DenseBlob();
  ASSERT_EQ(dense->size(), 24u);
  EXPECT_EQ(std::memcmp(dense->bytes().data(), values.data(), 24), 0);
  values[5] = 2;
  Attribute other = Attribute::Elements(context, type, Bytes(values));
  EXPECT_FALSE(other.is_splat());
  EXPECT_EQ(other.ElementAsDouble(5), 2.0);
}

TEST(AttributeTest, LargeElementsShareABlob) {
  Context context;
  std::vector<int32_t> values(1000);
  for (int i = 0; i < 1000; ++i) values[i] = i;
  Type type = TensorOf(context, DType::kI32, {1000});
  std::shared_ptr<const Blob> blob = Blob::Copy(Bytes(values));
  Attribute a = Attribute::Elements(context, type, blob);
  EXPECT_EQ(a.blob(), blob);
  EXPECT_EQ(a.raw_bytes().data(), blob->bytes().data());
  EXPECT_EQ(a.ElementAsInt(999), 999);
  Attribute b = Attribute::Elements(context, type, Bytes(values));
  EXPECT_NE(a, b);
  EXPECT_TRUE(SameElements(a, b));
  EXPECT_EQ(a.text(), b.text());
  values[0] = 7;
  EXPECT_FALSE(SameElements(a, Attribute::Elements(context, type, Bytes(values))));
}

TEST(AttributeTest, JoinedElementsAreAsIfTheyWereWhole) {
  Context context;
  // 0 … 899 in rows of 20 and 10.
  std::vector<int32_t> left, right, whole(900);
  for (int32_t i = 0; i < 900; ++i) {
    whole[static_cast<size_t>(i)] = i;
    (i % 30 < 20 ? left : right).push_back(i);
  }
  const Type type = TensorOf(context, DType::kI32, {30, 30});
  const auto join = [&] {
    return JoinBlobs(30, {Blob::Copy(Bytes(left)), Blob::Copy(Bytes(right))});
  };
  const std::shared_ptr<const DeferredBlob> joined = join();
  const Attribute a = DeferredElements(context, type, joined);
  EXPECT_EQ(DeferredBlobOf(a), joined);
  EXPECT_TRUE(IsLargeElements(a));
  EXPECT_EQ(StoredBytes(a), 3600u);
  // Equal parts are compared, text names the contents, and nothing is put together.
  const std::string text = a.text();
  EXPECT_TRUE(SameElements(a, DeferredElements(context, type, join())));
  std::swap(left[0], left[1]);
  EXPECT_FALSE(SameElements(a, DeferredElements(context, type, join())));
  EXPECT_FALSE(joined->has_whole());
  EXPECT_EQ(context.live_blob_bytes(), 0u);
  const Attribute b = Attribute::Elements(context, type, Bytes(whole));
  EXPECT_EQ(DeferredBlobOf(b), nullptr);
  EXPECT_TRUE(SameElements(a, b));
  EXPECT_FALSE(joined->has_whole());
  EXPECT_EQ(context.live_blob_bytes(), 3600u);
  EXPECT_FALSE(a.is_splat());
  EXPECT_EQ(a.ElementAsInt(31), 31);
  EXPECT_TRUE(joined->has_whole());
  EXPECT_EQ(context.live_blob_bytes(), 7200u);
  EXPECT_EQ(text, b.text());
  EXPECT_EQ(a.text(), text);
  EXPECT_EQ(a.blob(), a.DenseBlob());
  EXPECT_EQ(std::memcmp(a.raw_bytes().data(), whole.data(), 3600), 0);
  context.ReleaseUnusedBlobs();
  EXPECT_EQ(context.live_blob_bytes(), 0u);
  EXPECT_FALSE(IsLargeElements(a));
}

TEST(AttributeTest, DeferredElementsAreMadeForWhoReadsThem) {
  Context context;
  std::vector<int32_t> numbers(900);
  for (int32_t i = 0; i < 900; ++i) numbers[static_cast<size_t>(i)] = i;
  int made = 0;
  const auto times = [&](int32_t factor, const std::shared_ptr<const Blob>& source) {
    return std::make_shared<const DeferredBlob>(
        "times " + std::to_string(factor), std::vector{source}, source->size(),
        [&made, factor, source](std::byte* to) {
          ++made;
          for (size_t i = 0; i < source->size() / 4; ++i) {
            int32_t x;
            std::memcpy(&x, source->bytes().data() + 4 * i, 4);
            x *= factor;
            std::memcpy(to + 4 * i, &x, 4);
          }
          return true;
        });
  };
  const Type type = TensorOf(context, DType::kI32, {30, 30});
  const std::shared_ptr<const Blob> source = Blob::Copy(Bytes(numbers));
  const std::shared_ptr<const DeferredBlob> twice = times(2, source);
  const Attribute a = DeferredElements(context, type, twice);
  // Known by how they are made.
  EXPECT_TRUE(SameElements(a, DeferredElements(context, type, times(2, source))));
  EXPECT_TRUE(
      SameElements(a, DeferredElements(context, type, times(2, Blob::Copy(Bytes(numbers))))));
  EXPECT_EQ(made, 0);
  // Other recipes and sources may make the same.
  EXPECT_FALSE(SameElements(a, DeferredElements(context, type, times(3, source))));
  for (int32_t& x : numbers) x *= 2;
  EXPECT_TRUE(
      SameElements(a, DeferredElements(context, type, times(1, Blob::Copy(Bytes(numbers))))));
  EXPECT_EQ(made, 3);
  const std::shared_ptr<const Blob> bytes = twice->Bytes();
  EXPECT_EQ(std::memcmp(bytes->bytes().data(), numbers.data(), 3600), 0);
  std::vector<int32_t> copy(900);
  EXPECT_TRUE(twice->CopyTo(reinterpret_cast<std::byte*>(copy.data())));
  EXPECT_EQ(copy, numbers);
  EXPECT_EQ(made, 5);
  // Kept from here on.
  EXPECT_EQ(a.ElementAsInt(7), 14);
  EXPECT_EQ(twice->Bytes(), twice->Whole());
  EXPECT_TRUE(twice->CopyTo(reinterpret_cast<std::byte*>(copy.data())));
  EXPECT_EQ(copy, numbers);
  EXPECT_EQ(made, 6);

  // Copies of one element have the text of a splat, and no resource.
  const Attribute zeros = DeferredElements(context, type, times(0, source));
  EXPECT_EQ(zeros.text(), "dense<0> : tensor<30x30xi32>");
  EXPECT_EQ(RepeatedElement(zeros).size(), 4u);
  EXPECT_TRUE(RepeatedElement(a).empty());
  EXPECT_TRUE(RepeatedElement(Attribute::Elements(context, type, Bytes(numbers))).empty());
}

TEST(AttributeTest, DeferredElementsMayLackMemory) {
  const DeferredBlob none("none", {}, 1000, [](std::byte*) { return false; });
  std::vector<std::byte> bytes(1000);
  EXPECT_FALSE(none.CopyTo(bytes.data()));
  EXPECT_EQ(none.Bytes(), nullptr);
  EXPECT_FALSE(none.has_whole());
  // More than there are addresses.
  const DeferredBlob huge("huge", {}, size_t{1} << 62, [](std::byte*) { return true; });
  EXPECT_EQ(huge.Bytes(), nullptr);
}

TEST(AttributeTest, EmptyTensors) {
  Context context;
  Type type = TensorOf(context, DType::kF32, {0, 3});
  Attribute empty = Attribute::Elements(context, type, std::span<const std::byte>());
  EXPECT_EQ(empty.text(), "dense<> : tensor<0x3xf32>");
  EXPECT_EQ(empty.DenseBlob()->size(), 0u);
}

TEST(AttributeTest, ElementAccessOfEveryDtype) {
  for (int i = 1; i < kNumDTypes; ++i) {
    auto dtype = static_cast<DType>(i);
    std::byte element[9] = {};
    // An address without alignment.
    StoreFromDouble(dtype, 1.0, element + 1);
    EXPECT_EQ(LoadAsDouble(dtype, element + 1), 1.0) << Name(dtype);
    if (!HoldsFloats(dtype)) {
      EXPECT_EQ(LoadAsInt(dtype, element + 1), 1) << Name(dtype);
    }
    if (HoldsSigned(dtype) || (HoldsFloats(dtype) && dtype != DType::kF8E8M0FNU)) {
      StoreFromDouble(dtype, -2.0, element + 1);
      EXPECT_EQ(LoadAsDouble(dtype, element + 1), -2.0) << Name(dtype);
    }
  }
}

TEST(AttributeTest, HalfPrecisionRoundTrips) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto h = static_cast<uint16_t>(bits);
    double half = HalfToDouble(h), brain = BFloat16ToDouble(h);
    if (!std::isnan(half)) {
      ASSERT_EQ(DoubleToHalf(half), h);
    } else {
      ASSERT_TRUE(std::isnan(HalfToDouble(DoubleToHalf(half))));
    }
    if (!std::isnan(brain)) {
      ASSERT_EQ(DoubleToBFloat16(brain), h);
    }
  }
  EXPECT_EQ(HalfToDouble(DoubleToHalf(65519.9)), 65504.0);
  EXPECT_TRUE(std::isinf(HalfToDouble(DoubleToHalf(65520.0))));
  EXPECT_EQ(HalfToDouble(DoubleToHalf(0x1p-25)), 0.0);  // tie to even
  EXPECT_EQ(HalfToDouble(DoubleToHalf(0x1.8p-25)), 0x1p-24);
}

TEST(AttributeTest, TextReadsBack) {
  Context context;
  context.set_allow_unregistered_dialects(true);
  for (const char* text : {"unit",
                           "true",
                           "false",
                           "3 : i64",
                           "-128 : i8",
                           "255 : ui8",
                           "7 : index",
                           "1.500000e+00 : f32",
                           "0x7F800000 : f32",
                           "0xFFF0000000000000 : f64",
                           "\"a\\22\\\\\\0A\"",
                           "[1, 2.000000e+00, [unit], 3 : i32]",
                           "array<i64>",
                           "array<i64: 1, -2>",
                           "array<f32: 1.000000e-01>",
                           "array<i1: true, false>",
                           "f32",
                           "() -> ()",
                           "@f",
                           "@f::@g",
                           "@\"a b\"",
                           "{}",
                           "{\"a b\" = 1 : i64, c}",
                           "dense<> : tensor<0xf32>",
                           "dense<1> : tensor<4xi64>",
                           "dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>",
                           "dense<[true, false]> : tensor<2xi1>",
                           "#core.dims<\"B\", 768, \"?\">",
                           "#onnx.x<[\"]\"]>"}) {
    absl::StatusOr<Attribute> attribute = ParseAttribute(context, text);
    ASSERT_TRUE(attribute.ok()) << text << ": " << attribute.status();
    EXPECT_EQ(attribute->text(), text);
  }
}

TEST(AttributeTest, UnusedBlobsAreReleased) {
  Context context;
  context.set_allow_unregistered_dialects(true);
  size_t before = context.live_blob_bytes();
  Type type = TensorOf(context, DType::kI8, {1000});
  std::vector<int8_t> values(1000);
  values[1] = 1;
  const OpInfo* info = context.GetUnregisteredOp("x.a");
  Operation* op = Operation::Create(*info, Location(), {}, {}, {});
  (void)Attribute::Elements(context, type, Bytes(values));
  EXPECT_EQ(context.live_blob_bytes(), before + 1000);
  context.ReleaseUnusedBlobs();
  EXPECT_EQ(context.live_blob_bytes(), before);
  Attribute held = Attribute::Elements(context, type, Bytes(values));
  op->set_slot(0, held);
  context.ReleaseUnusedBlobs();
  EXPECT_EQ(context.live_blob_bytes(), before + 1000);
  op->set_slot(0, Attribute());
  context.ReleaseUnusedBlobs();
  EXPECT_EQ(context.live_blob_bytes(), before);
  op->Destroy();
}

TEST(AttributeTest, UnusedBlobsStayAsLongAsSomebodyKeepsThem) {
  Context context;
  const Type type = TensorOf(context, DType::kI8, {1000});
  std::vector<int8_t> values(1000);
  values[1] = 1;
  {
    const KeepUnusedBlobs outer(context);
    const Attribute unheld = Attribute::Elements(context, type, Bytes(values));
    {
      const KeepUnusedBlobs inner(context);
      context.ReleaseUnusedBlobs();
    }
    EXPECT_EQ(unheld.ElementAsInt(1), 1);
    EXPECT_EQ(context.live_blob_bytes(), 1000u);
  }
  EXPECT_EQ(context.live_blob_bytes(), 0u);  // the last one has done what was asked for
  (void)Attribute::Elements(context, type, Bytes(values));
  { const KeepUnusedBlobs keep(context); }
  EXPECT_EQ(context.live_blob_bytes(), 1000u);  // nobody asked
}

// Threads that work without a pause keep no constant that was dropped before they began.
TEST(AttributeTest, UnusedBlobsGoBetweenKeepersThatOverlap) {
  Context context;
  const Type type = TensorOf(context, DType::kI8, {1000});
  std::vector<int8_t> values(1000);
  values[1] = 1;
  std::optional<KeepUnusedBlobs> first(context), second, third;
  (void)Attribute::Elements(context, type, Bytes(values));
  context.ReleaseUnusedBlobs();
  EXPECT_EQ(context.live_blob_bytes(), 1000u);
  second.emplace(context);
  first.reset();
  EXPECT_EQ(context.live_blob_bytes(), 0u);
  const Attribute unheld = Attribute::Elements(context, type, Bytes(values));
  context.ReleaseUnusedBlobs();
  third.emplace(context);
  context.ReleaseUnusedBlobs();
  third.reset();
  EXPECT_EQ(unheld.ElementAsInt(1), 1);  // the second may have it
  second.reset();
  EXPECT_EQ(context.live_blob_bytes(), 0u);
}

}  // namespace
}  // namespace tenon
