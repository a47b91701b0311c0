#include "executor/weights/packed_weights.h"

#include <chrono>
#include <cstring>

#include "executor/memory/lasting_memory.h"
#include "executor/weights/find_order.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "ir/base/check.h"
#include "ir/base/inline_xxhash.h"
#include "ir/base/out_of_memory.h"
#include "kernels/trusted_layout.h"

namespace tenon {
namespace {

std::span<const std::byte> BytesOf(const Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.data()), tensor.num_bytes()};
}

Tensor AsTensor(const std::shared_ptr<const Blob>& blob) {
  const auto size = static_cast<int64_t>(blob->size());
  return Tensor::Borrow(DType::kU8, std::span(&size, 1),
                        const_cast<std::byte*>(blob->bytes().data()), blob);
}

// Of a few places of the constants: equal ones have equal hashes, and others seldom.
uint64_t SampleHash(std::span<const Tensor> from, std::string_view layout, size_t bytes) {
  constexpr size_t kSample = 64, kSamples = 32;
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, layout.data(), layout.size());
  XXH3_64bits_update(&state, &bytes, sizeof(bytes));
  for (const Tensor& tensor : from) {
    const std::span<const std::byte> all = BytesOf(tensor);
    const size_t size = all.size();
    XXH3_64bits_update(&state, &size, sizeof(size));
    if (size <= kSample * kSamples) {
      XXH3_64bits_update(&state, all.data(), size);
      continue;
    }
    for (size_t i = 0; i < kSamples; ++i) {
      XXH3_64bits_update(&state, all.data() + (size - kSample) / (kSamples - 1) * i, kSample);
    }
  }
  return XXH3_64bits_digest(&state);
}

}  // namespace

PackedWeights::PackedWeights(Options options)
    : options_([&] {
        if (!options.warn) options.warn = [](const std::string&) {};
        return std::move(options);
      }()),
      contents_(options_.files.size()) {
  if (options_.cache_folder.empty()) return;
  absl::StatusOr<std::shared_ptr<const CacheFolder>> folder =
      CacheFolder::Open(options_.cache_folder);
  if (folder.ok()) {
    cache_options_ = {*std::move(folder), options_.warn, options_.verify_weights};
  } else {
    options_.warn(fmt::format("packed weights are not kept on disk: {}",
                              std::string(folder.status().message())));
  }
}

const WeightKey& PackedWeights::ContentOfFile(size_t file) {
  std::optional<WeightKey>& content = contents_[file];
  if (!content) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    content = ContentOf(options_.files[file], cache_options_,
                        std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  }
  return *content;
}

const SourceFile* PackedWeights::FileOf(std::span<const std::byte> bytes) const {
  for (const SourceFile& file : options_.files) {
    if (bytes.data() >= file.bytes.data() &&
        bytes.data() + bytes.size() <= file.bytes.data() + file.bytes.size())
      return &file;
  }
  return nullptr;
}

kernels::PackedBytes PackedWeights::FindInMemory(uint64_t hash, std::span<const Tensor> from,
                                                 std::string_view layout, size_t bytes) {
  for (auto [it, end] = known_.equal_range(hash); it != end;) {
    const Known& known = it->second;
    kernels::PackedBytes packed = known.packed.lock();
    if (packed == nullptr) {
      it = known_.erase(it);
      continue;
    }
    bool equal = known.layout == layout && known.bytes == bytes && known.from.size() == from.size();
    for (size_t i = 0; equal && i < from.size(); ++i) {
      const Known::Source& source = known.from[i];
      const std::shared_ptr<const void> alive = source.owner.lock();
      // The store keeps its files mapped, also when no constant lies there any more.
      const std::span<const std::byte> place(static_cast<const std::byte*>(source.data),
                                             source.bytes);
      equal = (alive != nullptr || FileOf(place) != nullptr) &&
              source.bytes == from[i].num_bytes() &&
              (source.data == from[i].data() ||
               std::memcmp(source.data, from[i].data(), source.bytes) == 0);
    }
    if (equal) return packed;
    ++it;
  }
  return nullptr;
}

WeightKey PackedWeights::KeyOf(std::span<const Tensor> from, std::string_view layout,
                               size_t bytes) {
  std::string text(layout);
  text += fmt::format("\n{}", bytes);
  for (const Tensor& tensor : from) {
    const SourceFile* file = FileOf(BytesOf(tensor));
    if (file == nullptr) {
      text += fmt::format("\n{} {}", tensor.num_bytes(), Hex(HashOf(BytesOf(tensor))));
      continue;
    }
    const WeightKey& content = ContentOfFile(static_cast<size_t>(file - &options_.files[0]));
    text += fmt::format("\n{} {}+{}", tensor.num_bytes(), Hex(content),
                        tensor.as<const std::byte>() - file->bytes.data());
  }
  return HashOf(std::as_bytes(std::span(text)));
}

// Of programs without source files the first constant says which cache file is theirs.
WeightCacheFile& PackedWeights::CacheFor(const WeightKey& first) {
  if (cache_) return *cache_;
  WeightKey name = first;
  if (!options_.files.empty()) {
    std::string text;
    for (size_t i = 0; i < options_.files.size(); ++i) text += Hex(ContentOfFile(i)) + "\n";
    name = HashOf(std::as_bytes(std::span(text)));
  }
  return cache_.emplace(Hex(name) + ".weights", cache_options_);
}

kernels::PackedBytes PackedWeights::Pack(std::span<const Tensor> from, std::string_view layout,
                                         size_t bytes, const std::function<bool(std::byte*)>& fill,
                                         absl::Status* why, bool on_disk) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::optional<WeightKey> key;
  if (on_disk && cache_options_.folder != nullptr) {
    // By place, so that a start with a cache reads nothing of the constants.
    key = KeyOf(from, layout, bytes);
    if (kernels::PackedBytes found = CacheFor(*key).Find(*key, bytes)) {
      if (used_.emplace(*key, WeightCacheFile::Entry{bytes, found}).second) {
        ++stats_.from_disk;
        stats_.from_disk_bytes += bytes;
      }
      return found;
    }
  }
  const uint64_t hash = SampleHash(from, layout, bytes);
  if (kernels::PackedBytes found = FindInMemory(hash, from, layout, bytes)) {
    ++stats_.shared;
    if (key) Use(*key, bytes, found);
    return found;
  }
  absl::StatusOr<std::shared_ptr<std::byte>> memory = AllocateLasting(bytes);
  if (!memory.ok()) {
    if (why != nullptr) *why = memory.status();
    return nullptr;
  }
  // Around each place that has been sampled the system may have mapped a megabyte or two.
  constexpr size_t kLarge = size_t{8} << 20;
  for (const Tensor& tensor : from) {
    if (tensor.num_bytes() >= kLarge) Release(BytesOf(tensor));
  }
  if (!fill(memory->get())) return nullptr;
  const kernels::PackedBytes packed = *std::move(memory);
  ++stats_.packed;
  stats_.packed_bytes += bytes;
  Known known{std::string(layout), bytes, {}, packed};
  for (const Tensor& tensor : from) {
    known.from.push_back({tensor.data(), tensor.num_bytes(), tensor.owner()});
    Release(BytesOf(tensor));
  }
  known_.emplace(hash, std::move(known));
  if (key) Use(*key, bytes, packed);
  return packed;
}

kernels::PackedBytes PackedWeights::FindSaved(int instruction, std::string_view name,
                                              size_t bytes) {
  const SavedWeight* const saved =
      options_.saved == nullptr ? nullptr : options_.saved->Find(instruction, name);
  if (saved == nullptr) return nullptr;
  if (saved->bytes != bytes) {
    options_.warn(fmt::format(
        "packed weights of the file have {} bytes, and the kernel expects {}: they are packed anew",
        saved->bytes, bytes));
    return nullptr;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  ++stats_.from_disk;
  stats_.from_disk_bytes += bytes;
  return saved->data;
}

void PackedWeights::Release(std::span<const std::byte> bytes) const {
  if (FileOf(bytes) != nullptr) DropPages(bytes);
}

void PackedWeights::Use(const WeightKey& key, size_t bytes, kernels::PackedBytes packed) {
  if (used_.emplace(key, WeightCacheFile::Entry{bytes, std::move(packed)}).second) unsaved_ = true;
}

void PackedWeights::Save() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!unsaved_) return;
  unsaved_ = false;
  size_t used = 0, others = 0;
  for (const auto& [key, entry] : used_) used += entry.bytes;
  // What other ways to run the model have packed stays, up to the same size.
  std::map<WeightKey, WeightCacheFile::Entry> entries = used_;
  for (const auto& [key, entry] : cache_->entries()) {
    if (!used_.contains(key) && others + entry.bytes <= used) {
      entries.emplace(key, entry);
      others += entry.bytes;
    }
  }
  const absl::Status written = cache_->Write(entries);
  if (!written.ok()) options_.warn(std::string(written.message()));
}

PackedWeights::Stats PackedWeights::stats() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

kernels::PackedBytes InstructionWeights::Pack(
    std::span<const int> from, std::string_view layout, size_t bytes,
    const std::function<bool(std::byte*, std::span<const std::shared_ptr<const DeferredBlob>>)>&
        fill,
    absl::Status* why, const std::string& kind, const PackedUses::FindOrders& find) {
  std::string name(layout);
  for (int input : from) name += fmt::format("\n{}", input);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto found = packed_.find(name); found != packed_.end()) return found->second;
  const bool on_disk = instruction_ != kNoNumber;
  const bool in_file = on_disk && !layout.starts_with(kernels::kTrustedLayout);
  if (in_file) {
    kernels::PackedBytes saved = store_->FindSaved(instruction_, name, bytes);
    if (saved != nullptr) return packed_.emplace(std::move(name), std::move(saved)).first->second;
  }
  // What is made when it is read is known by what it is made of, and how.
  std::vector<Tensor> constants;
  std::vector<std::shared_ptr<const DeferredBlob>> deferred;
  std::string full_layout(layout);
  for (int input : from) {
    TENON_CHECK(static_cast<size_t>(input) < constants_.size());
    const Constant& constant = constants_[static_cast<size_t>(input)];
    deferred.push_back(constant.large != nullptr ? constant.large->HoldDeferred() : nullptr);
    if (const DeferredBlob* const blob = deferred.back().get()) {
      full_layout += fmt::format("\nof {}: {}", blob->sources().size(), blob->recipe());
      for (const std::shared_ptr<const Blob>& source : blob->sources())
        constants.push_back(AsTensor(source));
      continue;
    }
    constants.push_back(constant.large != nullptr ? constant.large->Hold() : constant.tensor);
    TENON_CHECK_MSG(constants.back(), "a kernel packs what is not constant, or not once");
  }
  kernels::PackedBytes packed = store_->Pack(
      constants, full_layout, bytes, [&](std::byte* out) { return fill(out, deferred); }, why,
      on_disk);
  if (packed == nullptr) return packed;
  if (PackedUses* const uses = store_->uses(); in_file && uses != nullptr) {
    std::vector<PackedUses::Source> sources;
    for (int input : from)
      sources.push_back({input, constants_[static_cast<size_t>(input)].address});
    uses->Add({instruction_, name, bytes, packed}, sources, kind, find);
  }
  packed_.emplace(std::move(name), packed);
  return packed;
}

void InstructionWeights::Done(int input) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Constant& constant = constants_[static_cast<size_t>(input)];
  if (constant.large == nullptr) return;
  // It borrows the bytes, which may go.
  constant.tensor = Tensor();
  std::exchange(constant.large, nullptr)->Done();
}

kernels::PackedBytes PrepareWeights::Pack(std::span<const int> from, std::string_view layout,
                                          size_t bytes,
                                          const std::function<void(std::byte*)>& fill) {
  for (int input : from) packed_[static_cast<size_t>(input)] = true;
  using Deferred = std::span<const std::shared_ptr<const DeferredBlob>>;
  const auto fill_from_inputs = [&](std::byte* out, Deferred deferred) {
    bool memory = true;
    std::vector<std::shared_ptr<std::byte>> copies;
    std::vector<std::pair<kernels::TensorView*, void*>> replaced;
    for (size_t i = 0; i < from.size(); ++i) {
      const auto input = static_cast<size_t>(from[i]);
      kernels::TensorView& view = inputs_[input];
      if (deferred[i] == nullptr &&
          (kernel_.reads_unaligned(input) ||
           reinterpret_cast<uintptr_t>(view.data) % SizeOf(view.dtype) == 0)) {
        continue;
      }
      absl::StatusOr<std::shared_ptr<std::byte>> copy =
          AllocatePassing(static_cast<size_t>(view.bytes()));
      memory = copy.ok();
      if (!memory) {
        refused_ = copy.status();
        break;
      }
      if (deferred[i] != nullptr) {
        memory = deferred[i]->CopyTo(copy->get());
        if (!memory) {
          refused_ = absl::ResourceExhaustedError(fmt::format(
              "a constant of {} bytes cannot be computed {}", view.bytes(), kMemoryLimit));
          break;
        }
      } else {
        std::memcpy(copy->get(), view.data, static_cast<size_t>(view.bytes()));
      }
      replaced.emplace_back(&view, view.data);
      view.data = copy->get();
      copies.push_back(*std::move(copy));
    }
    if (memory) fill(out);
    for (const auto& [view, data] : replaced) view->data = data;
    return memory;
  };
  if (weights_.store().uses() == nullptr)
    return weights_.Pack(from, layout, bytes, fill_from_inputs, &refused_);
  // The layout names everything but the inputs.
  std::string kind(layout);
  for (int input : from) {
    const kernels::TensorView& view = inputs_[static_cast<size_t>(input)];
    kind += fmt::format("\n{} {}", Name(view.dtype), fmt::join(view.shape, "x"));
  }
  return weights_.Pack(from, layout, bytes, fill_from_inputs, &refused_, kind,
                       [&] { return ProbeOrders(inputs_, from, bytes, fill); });
}

void PrepareWeights::Release(int input, size_t begin, size_t end) {
  // Of the view: of what has been copied the copy, which is in no file.
  const auto* data = static_cast<const std::byte*>(inputs_[static_cast<size_t>(input)].data);
  weights_.store().Release({data + begin, end - begin});
}

}  // namespace tenon
