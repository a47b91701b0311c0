#include "frontends/cpp/files/replaced_constants.h"

#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "fmt/format.h"
#include "ir/base/out_of_memory.h"
#include "ir/core/constants/deferred_blob.h"
#include "ir/dialect/core_ops.h"

namespace tenon {
namespace {

// Whether `packed` has exactly the bytes of a constant, in this order.
absl::StatusOr<bool> HasBytesOf(const SavedWeight& packed, const ElementOrder& order,
                                Attribute constant) {
  const size_t size = StoredBytes(constant);
  if (!Fits(order, size, packed.bytes)) return false;
  const std::shared_ptr<const DeferredBlob> deferred = DeferredBlobOf(constant);
  const std::shared_ptr<const Blob> bytes = deferred != nullptr ? deferred->Bytes() : nullptr;
  if (deferred != nullptr && bytes == nullptr) {
    return absl::ResourceExhaustedError(fmt::format("a constant of {} does not fit the memory {}",
                                                    constant.type().text(), kMemoryLimit));
  }
  std::vector<std::byte> unpacked(size);
  Unpack(order, packed.data.get(), unpacked.data(), size);
  const std::span<const std::byte> plain = bytes != nullptr ? bytes->bytes() : constant.raw_bytes();
  return std::memcmp(unpacked.data(), plain.data(), size) == 0;
}

}  // namespace

absl::StatusOr<std::vector<BinaryProgram::Packed>> ReplacedConstants(
    Operation& lowered, const PackedUses& uses, const std::vector<SavedWeight>& weights) {
  const std::map<const void*, PackedUses::Replacement> replacements = uses.replacements();
  std::map<std::pair<int, std::string_view>, size_t> numbers;
  for (size_t i = 0; i < weights.size(); ++i)
    numbers.emplace(std::pair(weights[i].instruction, std::string_view(weights[i].name)), i);
  // Equal constants are one in the file: each of them must be replaced.
  struct Found {
    Attribute constant;
    const PackedUses::Replacement* by = nullptr;  // null: some reader needs the bytes
  };
  std::map<std::pair<size_t, std::string>, Found> constants;
  std::vector<const Found*> in_order;
  lowered.Walk([&](Operation* op) {
    const auto constant = DynCast<core::ConstantOp>(op);
    if (!constant || !IsLargeElements(constant.value()) ||
        BitsOf(constant.value().type().dtype()) < 8)
      return;
    const Attribute value = constant.value();
    const std::shared_ptr<const DeferredBlob> deferred = DeferredBlobOf(value);
    const void* const address =
        deferred != nullptr ? static_cast<const void*>(deferred.get()) : value.raw_bytes().data();
    const auto found = replacements.find(address);
    const PackedUses::Replacement* const by =
        found == replacements.end() ? nullptr : &found->second;
    const auto [entry, is_new] =
        constants.try_emplace({StoredBytes(value), ContentHash(value)}, Found{value, by});
    if (is_new) in_order.push_back(&entry->second);
    if (by == nullptr) entry->second.by = nullptr;
  });
  std::vector<BinaryProgram::Packed> packed;
  for (const Found* const found : in_order) {
    if (found->by == nullptr) continue;
    const size_t number = numbers.at({found->by->instruction, found->by->name});
    TENON_ASSIGN_OR_RETURN(const bool same,
                           HasBytesOf(weights[number], found->by->order, found->constant));
    if (same) packed.push_back({found->constant, number, found->by->order});
  }
  return packed;
}

}  // namespace tenon
