#include "ir/core/constants/constant_bytes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/out_of_memory.h"
#include "ir/core/constants/blob_memory.h"

namespace tenon {
namespace {

// The bytes of a part from `begin` to `end`; null if there is no memory.
std::shared_ptr<const Blob> RangeOf(const ConstantBytes& part, size_t begin, size_t end) {
  if (part.stored() != nullptr || !part.in_pieces()) {
    const std::shared_ptr<const Blob> all = part.Bytes();
    if (all == nullptr) return nullptr;
    return Blob::Borrow(all->bytes().subspan(begin, end - begin), all);
  }
  const std::shared_ptr<void> memory = AllocateBlobMemory(end - begin);
  const std::span<std::byte> bytes(static_cast<std::byte*>(memory.get()), end - begin);
  if (memory == nullptr || !part.CopyRange(begin, bytes)) return nullptr;
  return Blob::Borrow(bytes, memory);
}

// Writes the bytes from `first` on of `parts` that are joined row by row.
bool FillJoined(size_t rows, size_t pitch, std::span<const ConstantBytes> parts, size_t first,
                std::span<std::byte> to) {
  if (to.empty()) return true;
  const size_t end = first + to.size(), first_row = first / pitch, last_row = (end - 1) / pitch;
  size_t column = 0;  // where the part begins in each row
  for (const ConstantBytes& part : parts) {
    const size_t run = part.size() / rows;
    // Where a place of the result is in a row of the part, or next to it.
    const auto in_run = [&](size_t at, size_t row) {
      const size_t begin = row * pitch + column;
      return std::min(run, at - std::min(at, begin));
    };
    const size_t part_begin = first_row * run + in_run(first, first_row);
    const size_t part_end = last_row * run + in_run(end, last_row);
    const size_t begin_of_part = column;
    column += run;
    if (part_begin >= part_end) continue;
    const std::shared_ptr<const Blob> bytes = RangeOf(part, part_begin, part_end);
    if (bytes == nullptr) return false;
    const std::byte* from = bytes->bytes().data();
    for (size_t at = part_begin; at < part_end;) {
      const size_t row = at / run, in_row = at % run;
      const size_t size = std::min(run - in_row, part_end - at);
      std::memcpy(to.data() + (row * pitch + begin_of_part + in_row - first), from, size);
      from += size;
      at += size;
    }
    if (part.stored() != nullptr) part.stored()->DropPages();
  }
  return true;
}

}  // namespace

ConstantBytes::ConstantBytes(std::shared_ptr<const Blob> stored) : stored_(std::move(stored)) {}

ConstantBytes::ConstantBytes(std::shared_ptr<const DeferredBlob> deferred)
    : deferred_(std::move(deferred)) {}

ConstantBytes::ConstantBytes(Attribute large) : deferred_(DeferredBlobOf(large)) {
  TENON_CHECK(IsLargeElements(large));
  if (deferred_ == nullptr) stored_ = large.blob();
}

bool ConstantBytes::of_files() const {
  if (stored_ != nullptr) return stored_->of_file();
  return std::ranges::all_of(deferred_->sources(),
                             [](const auto& blob) { return blob->of_file(); });
}

std::vector<std::shared_ptr<const Blob>> ConstantBytes::sources() const {
  if (stored_ != nullptr) return {stored_};
  return {deferred_->sources().begin(), deferred_->sources().end()};
}

std::string ConstantBytes::OfRecipe() const {
  return stored_ != nullptr ? std::string() : ", of " + deferred_->recipe();
}

std::shared_ptr<const Blob> ConstantBytes::Bytes() const {
  return stored_ != nullptr ? stored_ : deferred_->Bytes();
}

bool ConstantBytes::CopyRange(size_t first, std::span<std::byte> to) const {
  if (deferred_ != nullptr) return deferred_->CopyRange(first, to);
  std::ranges::copy(stored_->bytes().subspan(first, to.size()), to.begin());
  return true;
}

std::shared_ptr<const DeferredBlob> JoinBlobs(size_t rows, std::vector<ConstantBytes> parts) {
  TENON_CHECK(rows > 0);
  size_t size = 0;
  std::vector<std::shared_ptr<const Blob>> sources;
  std::string recipe = fmt::format("{} parts joined, {} rows", parts.size(), rows);
  for (size_t i = 0; i < parts.size(); ++i) {
    const ConstantBytes& part = parts[i];
    TENON_CHECK(part.size() % rows == 0);
    size += part.size();
    const std::vector<std::shared_ptr<const Blob>> of_part = part.sources();
    sources.insert(sources.end(), of_part.begin(), of_part.end());
    if (part.stored() != nullptr) continue;
    recipe += fmt::format("; part {} has {} bytes of {} sources{}", i, part.size(), of_part.size(),
                          part.OfRecipe());
  }
  const bool in_pieces = std::ranges::all_of(parts, &ConstantBytes::in_pieces);
  auto fill = [rows, size, parts = std::move(parts)](size_t first, std::span<std::byte> to) {
    return FillJoined(rows, size / rows, parts, first, to);
  };
  if (in_pieces) {
    return std::make_shared<const DeferredBlob>(std::move(recipe), std::move(sources), size,
                                                DeferredBlob::FillRange(std::move(fill)));
  }
  return std::make_shared<const DeferredBlob>(std::move(recipe), std::move(sources), size,
                                              [size, fill = std::move(fill)](std::byte* to) {
                                                return fill(0, {to, size});
                                              });
}

absl::Status ForEachPiece(Attribute elements,
                          absl::FunctionRef<absl::Status(std::span<const std::byte>)> use) {
  // Large writes get large pages of the system's cache, which are mapped faster.
  constexpr size_t kStoredPiece = size_t{64} << 20, kSplatPiece = size_t{1} << 20;
  const bool large = IsLargeElements(elements);
  if (const std::shared_ptr<const DeferredBlob> deferred =
          large ? DeferredBlobOf(elements) : nullptr) {
    absl::Status status;
    const bool done = deferred->ForEachPiece([&](std::span<const std::byte> piece) {
      status = use(piece);
      return status.ok();
    });
    if (done || !status.ok()) return status;
    return absl::ResourceExhaustedError(
        fmt::format("the bytes of a constant of {} do not fit the memory {}",
                    elements.type().text(), kMemoryLimit));
  }
  if (large) {
    const std::shared_ptr<const Blob> blob = elements.blob();
    for (size_t first = 0; first < blob->size(); first += kStoredPiece) {
      const size_t size = std::min(kStoredPiece, blob->size() - first);
      TENON_RETURN_IF_ERROR(use(blob->bytes().subspan(first, size)));
      blob->DropPages();
    }
    return absl::OkStatus();
  }
  const std::span<const std::byte> bytes = elements.raw_bytes();
  const auto count = static_cast<size_t>(elements.type().num_elements());
  if (!elements.is_splat() || count * bytes.size() == bytes.size())
    return bytes.empty() ? absl::OkStatus() : use(bytes);
  std::vector<std::byte> piece(std::min(kSplatPiece, count * bytes.size()));
  for (size_t at = 0; at < piece.size(); at += bytes.size())
    std::ranges::copy(bytes, piece.begin() + static_cast<ptrdiff_t>(at));
  for (size_t left = count * bytes.size(); left > 0;) {
    const size_t size = std::min(left, piece.size());
    TENON_RETURN_IF_ERROR(use(std::span(piece).first(size)));
    left -= size;
  }
  return absl::OkStatus();
}

}  // namespace tenon
