#include "transforms/weights/compressed_constants.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "ir/base/bfloat16.h"
#include "ir/base/ceil_div.h"
#include "ir/base/check.h"
#include "ir/base/weight_group.h"
#include "ir/core/constants/blob.h"
#include "ir/core/constants/blob_memory.h"
#include "ir/core/constants/deferred_blob.h"
#include "transforms/weights/int8_factors.h"

namespace tenon {
namespace {

// Bytes of a model's file that are read before they leave the memory again.
constexpr int64_t kResidentBytes = int64_t{8} << 20;

// A constant's floats, of one blob or of several that something is made of.
class Source {
 public:
  explicit Source(Attribute value) : deferred_(DeferredBlobOf(value)) {
    if (deferred_ == nullptr) {
      blobs_ = {value.DenseBlob()};
    } else {
      blobs_.assign(deferred_->sources().begin(), deferred_->sources().end());
    }
  }

  const std::vector<std::shared_ptr<const Blob>>& blobs() const { return blobs_; }
  // What is made of it is in memory for as long as the result lives. Null: there is no memory.
  std::shared_ptr<const Blob> Bytes() const {
    return deferred_ != nullptr ? deferred_->Bytes() : blobs_.front();
  }
  std::string recipe() const {
    return deferred_ != nullptr ? ", of " + deferred_->recipe() : std::string();
  }

 private:
  std::shared_ptr<const DeferredBlob> deferred_;
  std::vector<std::shared_ptr<const Blob>> blobs_;
};

// Floats that are read once, in about the order in which they lie: their pages of a file do not
// stay in memory.
class Floats {
 public:
  explicit Floats(std::shared_ptr<const Blob> blob) : blob_(std::move(blob)) {}
  ~Floats() { blob_->DropPages(); }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;

  int64_t count() const { return static_cast<int64_t>(blob_->size() / sizeof(float)); }
  // At any address.
  const std::byte* at(int64_t i) const {
    return blob_->bytes().data() + static_cast<size_t>(i) * sizeof(float);
  }
  // Nobody reads so many of them again.
  void Read(int64_t elements) {
    read_ += elements * static_cast<int64_t>(sizeof(float));
    if (read_ < kResidentBytes) return;
    blob_->DropPages();
    read_ = 0;
  }
  // `use` is given the address of a few thousand at a time, how many they are, and which is first.
  void ForEachPiece(const std::function<void(const std::byte*, size_t, int64_t)>& use) {
    constexpr int64_t kPiece = 4096;
    for (int64_t first = 0; first < count(); first += kPiece) {
      const int64_t size = std::min(kPiece, count() - first);
      use(at(first), static_cast<size_t>(size), first);
      Read(size);
    }
  }

 private:
  std::shared_ptr<const Blob> blob_;
  int64_t read_ = 0;
};

bool AllFinite(const Source& source) {
  constexpr uint32_t kExponent = 0x7f800000u;
  uint32_t others = 0;
  for (const std::shared_ptr<const Blob>& blob : source.blobs()) {
    Floats(blob).ForEachPiece([&](const std::byte* piece, size_t size, int64_t) {
      uint32_t others_here = 0;
      for (size_t i = 0; i < size; ++i) {
        uint32_t bits;
        std::memcpy(&bits, piece + i * sizeof(bits), sizeof(bits));
        others_here |= uint32_t{(bits & kExponent) == kExponent};
      }
      others |= others_here;
    });
  }
  return others == 0;
}

// Elements that `fill` makes of `source`: when they are read if that is all in files, whose bytes
// are there again, else at once, after which nobody needs the source.
Attribute ElementsOf(const Source& source, Type type, std::string recipe,
                     std::function<bool(std::byte*)> fill) {
  Context& context = type.context();
  const auto size = static_cast<size_t>(type.num_elements()) * SizeOf(type.dtype());
  if (size <= Attribute::kInlineBytes ||
      !std::ranges::all_of(source.blobs(), [](const auto& blob) { return blob->of_file(); })) {
    return Attribute::Elements(context, type, Blob::Make(size, [&](std::byte* out) {
                                 if (!fill(out)) throw std::bad_alloc();
                               }));
  }
  return DeferredElements(context, type,
                          std::make_shared<const DeferredBlob>(
                              recipe + source.recipe(), source.blobs(), size, std::move(fill)));
}

// Some rows of up to 16 columns of a matrix, and where its element (p, j) lies: row * p + col * j.
// One of row and col is 1.
struct Strip {
  int64_t row, col, columns;
};

void Load(const Strip& strip, const std::byte* from, std::vector<Int8Columns>& rows) {
  constexpr size_t kSize = sizeof(float);
  if (strip.col == 1) {
    for (Int8Columns& to : rows) {
      std::memcpy(to.data(), from, static_cast<size_t>(strip.columns) * kSize);
      from += static_cast<size_t>(strip.row) * kSize;
    }
    return;
  }
  for (size_t j = 0; j < static_cast<size_t>(strip.columns); ++j) {
    for (size_t p = 0; p < rows.size(); ++p) std::memcpy(&rows[p][j], from + p * kSize, kSize);
    from += static_cast<size_t>(strip.col) * kSize;
  }
}

void Store(const Strip& strip, const std::vector<Int8Columns>& rows, const Int8Columns& inverse,
           std::byte* to) {
  std::array<int8_t, kInt8Columns> steps;
  for (const Int8Columns& from : rows) {
    for (size_t j = 0; j < kInt8Columns; ++j) {
      steps[j] = static_cast<int8_t>(static_cast<int32_t>(NearestInteger(from[j] * inverse[j])));
    }
    if (strip.col == 1) {
      std::memcpy(to, steps.data(), static_cast<size_t>(strip.columns));
    } else {
      for (int64_t j = 0; j < strip.columns; ++j) {
        to[strip.col * j] = static_cast<std::byte>(steps[static_cast<size_t>(j)]);
      }
    }
    to += strip.row;
  }
}

// A matrix of finite weights as integers and factors. The factors, which cost more, stay in memory
// once they are chosen. Thread-safe.
class Int8Matrix {
 public:
  Int8Matrix(Source source, int64_t k, int64_t n, bool transposed, int64_t group)
      : source_(std::move(source)),
        k_(k),
        n_(n),
        transposed_(transposed),
        each_(WeightsPerFactor(group, k)),
        groups_(FactorsPerColumn(group, k)) {}

  int64_t groups() const { return groups_; }
  std::string recipe() const {
    return fmt::format("int8 ({}) of {}x{}{}, groups of {}", kInt8FactorsVersion, k_, n_,
                       transposed_ ? " transposed" : "", each_);
  }
  // As the `fill` of a DeferredBlob.
  bool FillIntegers(std::byte* out) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return Visit(out);
  }
  bool FillFactors(std::byte* out) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (factors_ == nullptr && !Visit(nullptr)) return false;
    std::memcpy(out, factors_.get(), factor_bytes());
    return true;
  }

 private:
  size_t factor_bytes() const { return static_cast<size_t>(groups_ * n_) * sizeof(float); }
  // Chooses the factors unless that is done, and writes the integers unless `out` is null. False:
  // there is no memory for it.
  bool Visit(std::byte* out) {
    const std::shared_ptr<const Blob> bytes = source_.Bytes();
    if (bytes == nullptr) return false;
    const bool choose = factors_ == nullptr;
    if (choose) factors_ = AllocateBlobMemory(factor_bytes());
    if (factors_ == nullptr) return false;
    Floats floats(bytes);
    std::vector<Int8Columns> rows;
    // As the matrix lies, so that pages which have been read are not needed again.
    constexpr auto kColumns = static_cast<int64_t>(kInt8Columns);
    const int64_t strips = CeilDiv(n_, kColumns), inner = transposed_ ? groups_ : strips;
    for (int64_t i = 0; i < groups_ * strips; ++i) {
      const int64_t outer = i / inner, rest = i % inner;
      const int64_t g = transposed_ ? rest : outer;
      const int64_t first = (transposed_ ? outer : rest) * kColumns;
      const Strip strip = {transposed_ ? 1 : n_, transposed_ ? k_ : 1,
                           std::min(kColumns, n_ - first)};
      const int64_t begin = g * each_, at = begin * strip.row + first * strip.col;
      rows.assign(static_cast<size_t>(std::min(k_, begin + each_) - begin), Int8Columns{});
      Load(strip, floats.at(at), rows);
      Int8Columns factors = {};
      float* const kept = static_cast<float*>(factors_.get()) + g * n_ + first;
      if (choose) {
        factors = ChooseInt8Factors(rows);
        std::copy_n(factors.begin(), strip.columns, kept);
      } else {
        std::copy_n(kept, strip.columns, factors.begin());
      }
      if (out != nullptr) Store(strip, rows, InverseInt8Factors(factors), out + at);
      floats.Read(static_cast<int64_t>(rows.size()) * strip.columns);
    }
    return true;
  }

  const Source source_;
  const int64_t k_, n_;
  const bool transposed_;
  const int64_t each_, groups_;
  std::mutex mutex_;
  std::shared_ptr<void> factors_;  // floats, groups x n; null: not chosen
};

}  // namespace

CompressedConstant ToBf16(Attribute value) {
  const Source source(value);
  const Type type = Type::Tensor(value.context(), DType::kBF16, value.type().dims());
  auto fill = [source](std::byte* out) {
    const std::shared_ptr<const Blob> bytes = source.Bytes();
    if (bytes == nullptr) return false;
    Floats(bytes).ForEachPiece([&](const std::byte* piece, size_t size, int64_t first) {
      std::byte* const to = out + static_cast<size_t>(first) * sizeof(uint16_t);
      for (size_t i = 0; i < size; ++i) {
        float weight;
        std::memcpy(&weight, piece + i * sizeof(weight), sizeof(weight));
        const uint16_t bits = FloatToBFloat16(weight);
        std::memcpy(to + i * sizeof(bits), &bits, sizeof(bits));
      }
    });
    return true;
  };
  return {ElementsOf(source, type, "bf16", std::move(fill)), Attribute()};
}

CompressedConstant ToInt8(Attribute value, bool transposed, int64_t group) {
  const Source source(value);
  if (!AllFinite(source)) return {};
  const Type type = value.type();
  const int64_t k = type.dim(transposed ? 1 : 0).constant();
  const int64_t n = type.dim(transposed ? 0 : 1).constant();
  const auto matrix = std::make_shared<Int8Matrix>(source, k, n, transposed, group);
  Context& context = value.context();
  const int64_t extents[] = {matrix->groups(), n};
  // In this order: what is made at once has both from one reading.
  const Attribute w = ElementsOf(source, Type::Tensor(context, DType::kI8, type.dims()),
                                 matrix->recipe() + ", integers",
                                 [matrix](std::byte* out) { return matrix->FillIntegers(out); });
  return {w, ElementsOf(source, Type::Tensor(context, DType::kF32, extents),
                        matrix->recipe() + ", factors",
                        [matrix](std::byte* out) { return matrix->FillFactors(out); })};
}

}  // namespace tenon
