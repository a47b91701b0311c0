#include "ir/core/location.h"

#include <algorithm>
#include <vector>

#include "fmt/format.h"
#include "ir/base/limits.h"
#include "ir/core/context/context_impl.h"
#include "ir/core/location_extent.h"

namespace tenon {

LocationTable::LocationTable() : chunks_(new std::atomic<LocationData*>[kMaxChunks]()) {
  Add(LocationData{});
}

LocationTable::~LocationTable() {
  for (uint32_t i = 0; i < kMaxChunks && chunks_[i]; ++i) delete[] chunks_[i].load();
}

uint32_t LocationTable::Add(const LocationData& data) {
  uint32_t id = size_;
  uint32_t chunk = id >> kChunkBits;
  if (chunk >= kMaxChunks) return 0;  // more than 67 million locations: the rest are unknown
  if (chunks_[chunk].load(std::memory_order_relaxed) == nullptr) {
    chunks_[chunk].store(new LocationData[kChunkMask + 1], std::memory_order_release);
  }
  chunks_[chunk].load(std::memory_order_relaxed)[id & kChunkMask] = data;
  ++size_;
  return id;
}

LocationTable::Extent LocationTable::ExtentOf(std::span<const Location> inside) const {
  Extent whole;
  for (const Location part : inside) {
    const auto found = extents.find(part.id());
    const Extent extent = found == extents.end() ? Extent{} : found->second;
    whole.size += extent.size;
    whole.depth = std::max(whole.depth, extent.depth + 1);
  }
  return whole;
}

bool LocationsFit(const Context& context, std::span<const Location> parts) {
  const LocationTable& table = ImplOf(context).locations;
  std::lock_guard<std::mutex> lock(table.mutex);
  const LocationTable::Extent extent = table.ExtentOf(parts);
  return extent.size <= kMaxLocationParts && extent.depth <= kMaxNesting;
}

namespace {

Location AddKeyed(Context& context, std::string key, Location::Kind kind, std::string_view text,
                  std::vector<Location> parts) {
  LocationTable& table = ImplOf(context).locations;
  std::string_view interned = text.empty() ? std::string_view() : context.Intern(text).str();
  std::lock_guard<std::mutex> lock(table.mutex);
  auto [it, inserted] = table.by_key.try_emplace(std::move(key), 0);
  if (inserted) {
    LocationData data;
    data.kind = kind;
    data.text = interned;
    if (!parts.empty()) {
      table.parts.push_back(std::move(parts));
      data.parts = table.parts.back();
    }
    it->second = table.Add(data);
    if (!data.parts.empty()) table.extents.emplace(it->second, table.ExtentOf(data.parts));
  }
  return Location(it->second);
}

std::string Quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += fmt::format("\\{:02X}", static_cast<unsigned char>(c));
    } else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) {
      out += fmt::format("\\{:02X}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace

Location Location::FileLineCol(Context& context, std::string_view file, uint32_t line,
                               uint32_t col) {
  LocationTable& table = ImplOf(context).locations;
  std::string_view interned = context.Intern(file).str();
  std::lock_guard<std::mutex> lock(table.mutex);
  if (table.last_file_id != 0 && table.last_file.text.data() == interned.data() &&
      table.last_file.line == line && table.last_file.col == col) {
    return Location(table.last_file_id);
  }
  LocationData data;
  data.kind = Kind::kFileLineCol;
  data.text = interned;
  data.line = line;
  data.col = col;
  table.last_file = data;
  table.last_file_id = table.Add(data);
  return Location(table.last_file_id);
}

Location Location::Name(Context& context, std::string_view name, Location child) {
  std::vector<Location> parts;
  if (!LocationsFit(context, {&child, 1})) child = Location();
  if (!child.is_unknown()) parts.push_back(child);
  return AddKeyed(context, fmt::format("n{}:{}", child.id(), name), Kind::kName, name,
                  std::move(parts));
}

Location Location::Name(Context& context, std::string_view name) {
  return Name(context, name, Location());
}

Location Location::Fused(Context& context, std::span<const Location> locations) {
  std::vector<Location> parts;
  auto add = [&](Location location) {
    if (location.is_unknown() || parts.size() >= kMaxFused) return;
    if (std::find(parts.begin(), parts.end(), location) != parts.end()) return;
    parts.push_back(location);
    if (parts.size() > 1 && !LocationsFit(context, parts)) parts.pop_back();
  };
  for (Location location : locations) {
    const LocationData& data = Resolve(context, location);
    if (data.kind == Kind::kFused) {
      for (Location part : data.parts) add(part);
    } else {
      add(location);
    }
  }
  if (parts.empty()) return Location();
  if (parts.size() == 1) return parts[0];
  std::string key = "f";
  for (Location part : parts) key += fmt::format("{},", part.id());
  return AddKeyed(context, std::move(key), Kind::kFused, {}, std::move(parts));
}

Location Location::CallSite(Context& context, Location callee, Location caller) {
  const Location both[] = {callee, caller};
  if (!LocationsFit(context, both)) return callee;
  return AddKeyed(context, fmt::format("c{},{}", callee.id(), caller.id()), Kind::kCallSite, {},
                  {callee, caller});
}

const LocationData& Resolve(const Context& context, Location location) {
  return ImplOf(context).locations.Get(location.id());
}

std::string LocationText(const Context& context, Location location) {
  const LocationData& data = Resolve(context, location);
  switch (data.kind) {
    case Location::Kind::kUnknown:
      return "unknown";
    case Location::Kind::kFileLineCol:
      return fmt::format("{}:{}:{}", Quote(data.text), data.line, data.col);
    case Location::Kind::kName:
      return data.parts.empty()
                 ? Quote(data.text)
                 : fmt::format("{}({})", Quote(data.text), LocationText(context, data.parts[0]));
    case Location::Kind::kFused: {
      std::string out = "fused[";
      for (size_t i = 0; i < data.parts.size(); ++i) {
        if (i > 0) out += ", ";
        out += LocationText(context, data.parts[i]);
      }
      return out + "]";
    }
    case Location::Kind::kCallSite:
      return fmt::format("callsite({} at {})", LocationText(context, data.parts[0]),
                         LocationText(context, data.parts[1]));
  }
  return "unknown";
}

std::string DescribeLocation(const Context& context, Location location) {
  const LocationData& data = Resolve(context, location);
  switch (data.kind) {
    case Location::Kind::kUnknown:
      return "";
    case Location::Kind::kFileLineCol:
      return fmt::format("{}:{}:{}", data.text, data.line, data.col);
    case Location::Kind::kName:
      return std::string(data.text);
    case Location::Kind::kFused:
    case Location::Kind::kCallSite:
      for (Location part : data.parts) {
        if (std::string text = DescribeLocation(context, part); !text.empty()) return text;
      }
      return "";
  }
  return "";
}

}  // namespace tenon
