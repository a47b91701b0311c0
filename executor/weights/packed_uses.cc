#include "executor/weights/packed_uses.h"

#include <tuple>

namespace tenon {

void PackedUses::AddReaders(const void* constant, int count, bool only_packed) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Readers& readers = readers_[constant];
  readers.count += count;
  readers.only_packed &= only_packed;
}

void PackedUses::Add(SavedWeight use, const std::vector<Source>& from, const std::string& kind,
                     const FindOrders& find) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto known = orders_.find(kind);
  if (known == orders_.end()) known = orders_.emplace(kind, find()).first;
  for (size_t i = 0; i < from.size(); ++i) {
    const ElementOrder& order = known->second[i];
    if (order.parts.empty()) continue;
    Readers& readers = readers_[from[i].constant];
    const bool is_first =
        readers.packed.empty() || std::tie(use.instruction, use.name) <
                                      std::tie(readers.first.instruction, readers.first.name);
    if (is_first) readers.first = {use.instruction, use.name, order};
    readers.packed.emplace(use.instruction, from[i].input);
  }
  const std::pair<int, std::string> key(use.instruction, use.name);
  weights_.emplace(key, std::move(use));
}

std::vector<SavedWeight> PackedUses::weights() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<SavedWeight> weights;
  for (const auto& [key, weight] : weights_) weights.push_back(weight);
  return weights;
}

std::map<const void*, PackedUses::Replacement> PackedUses::replacements() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::map<const void*, Replacement> replacements;
  for (const auto& [constant, readers] : readers_) {
    if (readers.only_packed && !readers.packed.empty() &&
        readers.packed.size() == static_cast<size_t>(readers.count))
      replacements.emplace(constant, readers.first);
  }
  return replacements;
}

}  // namespace tenon
