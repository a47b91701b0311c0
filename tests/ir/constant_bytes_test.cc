// Bytes of large constants that are read in pieces.
#include "ir/core/constants/constant_bytes.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "ir/base/element_order.h"
#include "ir/core/constants/unpacked_blob.h"
#include "ir/core/context/context.h"
#include "ir/core/type.h"

namespace tenon {
namespace {

// Numbers from `first` on.
std::shared_ptr<const Blob> NumbersFrom(uint16_t first, size_t count) {
  std::vector<uint16_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return Blob::Copy(std::as_bytes(std::span(numbers)));
}

std::shared_ptr<const Blob> Repeated(uint16_t number, size_t count) {
  const std::vector<uint16_t> numbers(count, number);
  return Blob::Copy(std::as_bytes(std::span(numbers)));
}

// A matrix of `rows` x `columns` numbers that lies transposed in `packed`.
std::shared_ptr<const DeferredBlob> TransposedNumbers(int64_t rows, int64_t columns,
                                                      ConstantBytes packed) {
  ElementOrder order;
  order.element_bytes = sizeof(uint16_t);
  order.parts = {{.plain = 0,
                  .packed = 0,
                  .loops = {{.count = rows, .plain = columns, .packed = 1},
                            {.count = columns, .plain = 1, .packed = rows}}}};
  return UnpackedBlob(order, std::move(packed), static_cast<size_t>(rows * columns) * 2);
}

std::vector<uint16_t> AsNumbers(std::span<const std::byte> bytes) {
  std::vector<uint16_t> numbers(bytes.size() / 2);
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

// Reads each part of the bytes alone, and expects what it is in the whole.
void ExpectPieces(const DeferredBlob& deferred, const std::vector<uint16_t>& whole) {
  ASSERT_TRUE(deferred.in_pieces());
  ASSERT_EQ(deferred.size(), whole.size() * 2);
  EXPECT_EQ(AsNumbers(deferred.Bytes()->bytes()), whole);
  for (size_t first = 0; first < whole.size(); ++first) {
    for (size_t size = 0; first + size <= whole.size(); ++size) {
      std::vector<uint16_t> part(size);
      ASSERT_TRUE(deferred.CopyRange(first * 2, std::as_writable_bytes(std::span(part))));
      ASSERT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<int64_t>(first)))
          << first << " " << size;
    }
  }
}

TEST(ConstantBytesTest, JoinedAndTransposedPartsAreReadInPieces) {
  // 3 rows of 2 stored, 4 transposed and no numbers, and 1 of another one.
  const std::shared_ptr<const DeferredBlob> transposed =
      TransposedNumbers(3, 4, NumbersFrom(100, 12));
  ExpectPieces(*transposed, {100, 103, 106, 109, 101, 104, 107, 110, 102, 105, 108, 111});
  const std::shared_ptr<const DeferredBlob> joined =
      JoinBlobs(3, {NumbersFrom(0, 6), transposed, NumbersFrom(0, 0), NumbersFrom(200, 3)});
  ExpectPieces(*joined, {0, 1, 100, 103, 106, 109, 200,  //
                         2, 3, 101, 104, 107, 110, 201,  //
                         4, 5, 102, 105, 108, 111, 202});
  EXPECT_EQ(joined->sources().size(), 4u);
  // Another order of the same sources is another recipe.
  EXPECT_NE(joined->recipe(),
            JoinBlobs(3, {NumbersFrom(0, 6), TransposedNumbers(6, 2, NumbersFrom(100, 12)),
                          NumbersFrom(0, 0), NumbersFrom(200, 3)})
                ->recipe());
}

TEST(ConstantBytesTest, WhatNeedsAllBytesIsNotReadInPieces) {
  const std::shared_ptr<const DeferredBlob> joined =
      JoinBlobs(2, {NumbersFrom(0, 4), NumbersFrom(50, 2)});
  const std::shared_ptr<const DeferredBlob> turned = TransposedNumbers(3, 2, joined);
  EXPECT_FALSE(turned->in_pieces());
  const std::shared_ptr<const DeferredBlob> both = JoinBlobs(1, {turned, NumbersFrom(70, 1)});
  EXPECT_FALSE(both->in_pieces());
  EXPECT_EQ(AsNumbers(both->Bytes()->bytes()), (std::vector<uint16_t>{0, 2, 1, 3, 50, 51, 70}));
  std::vector<uint16_t> read;
  EXPECT_TRUE(both->ForEachPiece([&](std::span<const std::byte> piece) {
    const std::vector<uint16_t> numbers = AsNumbers(piece);
    read.insert(read.end(), numbers.begin(), numbers.end());
    return true;
  }));
  EXPECT_EQ(read, (std::vector<uint16_t>{0, 2, 1, 3, 50, 51, 70}));
  EXPECT_FALSE(joined->has_whole() || turned->has_whole() || both->has_whole());
}

TEST(ConstantBytesTest, EachKindOfConstantIsReadInOrder) {
  Context context;
  const auto read = [](Attribute constant) {
    std::vector<std::byte> bytes;
    EXPECT_TRUE(ForEachPiece(constant, [&](std::span<const std::byte> piece) {
                  bytes.insert(bytes.end(), piece.begin(), piece.end());
                  return absl::OkStatus();
                }).ok());
    return bytes;
  };
  const auto type = [&](int64_t count) {
    return Type::Tensor(context, DType::kU16, std::vector<int64_t>{count});
  };
  const auto stored = [&](int64_t count) {
    return Attribute::Elements(context, type(count), NumbersFrom(0, static_cast<size_t>(count)));
  };
  const uint16_t seven = 7;
  // More than a piece of deferred bytes.
  constexpr int64_t kMany = (int64_t{9} << 20) + 3;
  const Attribute joined = DeferredElements(
      context, type(kMany),
      JoinBlobs(1, {NumbersFrom(5, 1), NumbersFrom(0, static_cast<size_t>(kMany - 1))}));
  for (const Attribute constant :
       {stored(0), stored(1), stored(5), stored(1000), joined,
        Attribute::Splat(context, type(1'000'000), std::as_bytes(std::span(&seven, 1)))}) {
    const std::vector<std::byte> bytes = read(constant);
    EXPECT_TRUE(std::ranges::equal(bytes, constant.DenseBlob()->bytes())) << constant.type().text();
  }
}

TEST(ConstantBytesTest, SumsOfPiecesAreThoseOfTheWhole) {
  Context context;
  constexpr size_t kMany = (size_t{9} << 20) + 3;
  const auto deferred = [](uint16_t first, uint16_t rest) {
    return JoinBlobs(1, {Repeated(first, 1), Repeated(rest, kMany - 1)});
  };
  const std::shared_ptr<const DeferredBlob> equal = deferred(0x0102, 0x0102);
  EXPECT_EQ(equal->RepeatedElement(2).size(), 2u);
  EXPECT_TRUE(equal->RepeatedElement(1).empty());
  EXPECT_EQ(deferred(0x0101, 0x0101)->RepeatedElement(1).size(), 1u);
  EXPECT_TRUE(deferred(1, 2)->RepeatedElement(2).empty());
  EXPECT_EQ(deferred(1, 2)->content_hash(), deferred(1, 2)->Bytes()->content_hash());
  // The last number differs, in the second piece.
  const std::shared_ptr<const DeferredBlob> last =
      JoinBlobs(1, {Repeated(3, kMany - 1), NumbersFrom(4, 1)});
  EXPECT_TRUE(last->RepeatedElement(2).empty());
}

TEST(ConstantBytesTest, AReaderEndsTheReading) {
  Context context;
  const Type type = Type::Tensor(context, DType::kU16, std::vector<int64_t>{600});
  const Attribute joined =
      DeferredElements(context, type, JoinBlobs(1, {NumbersFrom(0, 300), NumbersFrom(0, 300)}));
  const absl::Status status = ForEachPiece(
      joined, [](std::span<const std::byte>) { return absl::DataLossError("a full disk"); });
  EXPECT_EQ(status, absl::DataLossError("a full disk"));
  const Attribute none = DeferredElements(
      context, type,
      std::make_shared<const DeferredBlob>("none", std::vector<std::shared_ptr<const Blob>>(), 1200,
                                           [](std::byte*) { return false; }));
  EXPECT_TRUE(absl::IsResourceExhausted(
      ForEachPiece(none, [](std::span<const std::byte>) { return absl::OkStatus(); })));
}

}  // namespace
}  // namespace tenon
