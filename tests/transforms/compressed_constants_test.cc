#include "transforms/weights/compressed_constants.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "ir/core/constants/constant_bytes.h"
#include "ir/core/constants/deferred_blob.h"
#include "ir/core/context/context.h"
#include "tests/executor/mapped_weights.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

// Numbers in a file, at odd addresses.
class FileOfFloats {
 public:
  explicit FileOfFloats(int64_t count) : floats_(static_cast<size_t>(count)) {
    for (size_t i = 0; i < floats_.size(); ++i) floats_[i] = std::sin(static_cast<float>(i));
  }
  void Set(int64_t i, float value) { floats_[static_cast<size_t>(i)] = value; }
  // REQUIRES: written.
  std::shared_ptr<const Blob> blob(size_t first, size_t size) const {
    return Blob::OfFile(mapped_->source.bytes.subspan(65 + first, size), mapped_);
  }
  const FileOfFloats& Write() {
    const fs::path path =
        fs::path(::testing::TempDir()) / fmt::format("compressed_constants_{}", getpid());
    std::ofstream out(path, std::ios::binary);
    out.write(std::string(65, 'h').data(), 65);
    out.write(reinterpret_cast<const char*>(floats_.data()), static_cast<std::streamsize>(size()));
    out.close();
    mapped_ = std::make_shared<const MappedWeights>(path);
    fs::remove(path);
    return *this;
  }
  size_t size() const { return floats_.size() * sizeof(float); }
  std::shared_ptr<const Blob> all() const { return blob(0, size()); }

 private:
  std::vector<float> floats_;
  std::shared_ptr<const MappedWeights> mapped_;
};

class CompressedConstants : public ::testing::Test {
 protected:
  Type Matrix(int64_t rows, int64_t columns, DType dtype = DType::kF32) {
    const int64_t extents[] = {rows, columns};
    return Type::Tensor(context_, dtype, extents);
  }
  void ExpectSame(const CompressedConstant& deferred, const CompressedConstant& made) {
    for (const auto& [a, b] : {std::pair(deferred.w, made.w), {deferred.scale, made.scale}}) {
      ASSERT_EQ(bool{a}, bool{b});
      if (!a) continue;
      ASSERT_NE(DeferredBlobOf(a), nullptr);
      EXPECT_FALSE(DeferredBlobOf(a)->has_whole());
      EXPECT_EQ(DeferredBlobOf(b), nullptr);
      EXPECT_EQ(a.type(), b.type());
      EXPECT_TRUE(SameElements(a, b));
      EXPECT_EQ(a.text(), b.text());
    }
  }

  Context context_;
};

TEST_F(CompressedConstants, OfAFileAreThoseOfTheHeap) {
  const FileOfFloats file = FileOfFloats(80 * 100).Write();
  const std::shared_ptr<const Blob> heap = Blob::Copy(file.all()->bytes());
  for (const bool transposed : {false, true}) {
    const Type type = Matrix(80, 100);
    const Attribute of_file = Attribute::Elements(context_, type, file.all());
    const Attribute of_heap = Attribute::Elements(context_, type, heap);
    for (const int64_t group : {0, 1, 16, 32, 1000}) {
      SCOPED_TRACE(group);
      const CompressedConstant compressed = ToInt8(of_file, transposed, group);
      ExpectSame(compressed, ToInt8(of_heap, transposed, group));
      // Whichever is read first.
      const CompressedConstant again = ToInt8(of_file, transposed, group);
      EXPECT_EQ(again.scale.text(), compressed.scale.text());
      EXPECT_EQ(again.w.text(), compressed.w.text());
      EXPECT_EQ(DeferredBlobOf(again.w)->recipe(), DeferredBlobOf(compressed.w)->recipe());
    }
    ExpectSame(ToBf16(of_file), ToBf16(of_heap));
  }
}

TEST_F(CompressedConstants, OfPartsAreThoseOfTheWhole) {
  const FileOfFloats file = FileOfFloats(80 * 100).Write();
  const size_t split = 80 * 30 * 4;
  const auto joined = JoinBlobs(80, {file.blob(0, split), file.blob(split, file.size() - split)});
  const Attribute parts = DeferredElements(context_, Matrix(80, 100), joined);
  const Attribute whole = Attribute::Elements(context_, Matrix(80, 100), joined->Bytes());
  ExpectSame(ToInt8(parts, false, 32), ToInt8(whole, false, 32));
  ExpectSame(ToInt8(parts, true, 32), ToInt8(whole, true, 32));
  ExpectSame(ToBf16(parts), ToBf16(whole));
  EXPECT_FALSE(joined->has_whole());
  EXPECT_EQ(DeferredBlobOf(ToBf16(parts).w)->sources().size(), 2u);
}

// A file of packed weights knows them by it.
TEST_F(CompressedConstants, RecipesTellOptionsApart) {
  const FileOfFloats file = FileOfFloats(64 * 64).Write();
  const auto of = [&](int64_t rows, int64_t columns) {
    return Attribute::Elements(context_, Matrix(rows, columns), file.all());
  };
  std::vector<std::string> recipes = {DeferredBlobOf(ToBf16(of(64, 64)).w)->recipe()};
  for (const CompressedConstant& c :
       {ToInt8(of(64, 64), false, 32), ToInt8(of(64, 64), true, 32), ToInt8(of(64, 64), false, 16),
        ToInt8(of(32, 128), false, 32), ToInt8(of(128, 32), false, 32)}) {
    recipes.push_back(DeferredBlobOf(c.w)->recipe());
    recipes.push_back(DeferredBlobOf(c.scale)->recipe());
  }
  const size_t all = recipes.size();
  std::sort(recipes.begin(), recipes.end());
  recipes.erase(std::unique(recipes.begin(), recipes.end()), recipes.end());
  EXPECT_EQ(recipes.size(), all);
  EXPECT_EQ(DeferredBlobOf(ToInt8(of(64, 64), false, 0).w)->recipe(),
            DeferredBlobOf(ToInt8(of(64, 64), false, 64).w)->recipe());
}

TEST_F(CompressedConstants, WeightsThatAreNotFiniteAreNotTurnedIntoIntegers) {
  for (const float value :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN()}) {
    for (const int64_t at : {0, 5000, 128 * 64 - 1}) {
      FileOfFloats file(128 * 64);
      file.Set(at, value);
      file.Write();
      const Attribute matrix = Attribute::Elements(context_, Matrix(128, 64), file.all());
      EXPECT_FALSE(ToInt8(matrix, false, 32).w);
      EXPECT_TRUE(ToBf16(matrix).w);
    }
  }
  // The largest one is.
  FileOfFloats file(128 * 64);
  file.Set(77, std::numeric_limits<float>::max());
  file.Set(78, std::numeric_limits<float>::lowest());
  file.Write();
  const CompressedConstant compressed =
      ToInt8(Attribute::Elements(context_, Matrix(128, 64), file.all()), false, 32);
  ASSERT_TRUE(compressed.w);
  for (int64_t i = 0; i < 128 / 32 * 64; ++i) {
    ASSERT_TRUE(std::isfinite(compressed.scale.ElementAsDouble(i))) << i;
  }
}

// The whole of which they are made needs memory of its own.
TEST_F(CompressedConstants, OfPartsMayLackMemory) {
  const FileOfFloats file = FileOfFloats(80 * 100).Write();
  bool memory = false;
  const auto joined = std::make_shared<const DeferredBlob>(
      "the file", std::vector{file.all()}, file.size(), [&](std::byte* to) {
        std::ranges::copy(file.all()->bytes(), to);
        return memory;
      });
  const Attribute matrix = DeferredElements(context_, Matrix(80, 100), joined);
  const CompressedConstant bf16 = ToBf16(matrix), int8 = ToInt8(matrix, false, 32);
  const Attribute made[] = {bf16.w, int8.w, int8.scale};
  for (const Attribute& elements : made) {
    EXPECT_EQ(DeferredBlobOf(elements)->Bytes(), nullptr) << elements.type().text();
  }
  memory = true;
  const Attribute of_file = Attribute::Elements(context_, Matrix(80, 100), file.all());
  const CompressedConstant int8_of_file = ToInt8(of_file, false, 32);
  EXPECT_TRUE(SameElements(bf16.w, ToBf16(of_file).w));
  EXPECT_TRUE(SameElements(int8.w, int8_of_file.w));
  EXPECT_TRUE(SameElements(int8.scale, int8_of_file.scale));
}

TEST_F(CompressedConstants, SmallOnesAreMadeAtOnce) {
  const FileOfFloats file = FileOfFloats(16 * 8).Write();
  const Attribute matrix = Attribute::Elements(context_, Matrix(16, 8), file.all());
  const CompressedConstant compressed = ToInt8(matrix, false, 0);
  EXPECT_EQ(DeferredBlobOf(compressed.w), nullptr);
  EXPECT_EQ(DeferredBlobOf(compressed.scale), nullptr);
  EXPECT_EQ(compressed.scale.type(), Matrix(1, 8));
  EXPECT_EQ(DeferredBlobOf(ToBf16(matrix).w), nullptr);
}

TEST_F(CompressedConstants, OfNoRowsHaveTheFactorsThatTheOperationExpects) {
  for (const bool transposed : {false, true}) {
    const Attribute empty = Attribute::Elements(
        context_, transposed ? Matrix(300, 0) : Matrix(0, 300), std::span<const std::byte>());
    EXPECT_EQ(ToInt8(empty, transposed, 0).scale.type(), Matrix(1, 300));
    EXPECT_EQ(ToInt8(empty, transposed, 32).scale.type(), Matrix(0, 300));
  }
}

}  // namespace
}  // namespace tenon
