#include "ir/core/location.h"

#include <algorithm>
#include <vector>

#include "fmt/format.h"
#include "ir/base/limits.h"
#include "ir/core/context/context_impl.h"
#include "ir/core/location_extent.h"

namespace tenon {

bool LocationsFit(const Context& context, std::span<const Location> parts) {
  const LocationTable::Extent extent = ImplOf(context).locations.ExtentOf(parts);
  return extent.size <= kMaxLocationParts && extent.depth <= kMaxNesting;
}

namespace {

// The location of a new number. Says once that the table is full.
Location Added(Context& context, uint32_t id) {
  if (id == 0 && ImplOf(context).locations.TakeOverflow()) {
    Diagnostic full;
    full.message = "the Context has no room for more locations: further ones are unknown";
    context.diagnostics().Emit(full);
  }
  return Location(id);
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
  return Added(context, ImplOf(context).locations.AddPosition(file, line, col, true));
}

Location PositionInText(Context& context, std::string_view file, uint32_t line, uint32_t col) {
  return Added(context, ImplOf(context).locations.AddPosition(file, line, col, false));
}

Location Location::Name(Context& context, std::string_view name, Location child) {
  if (!LocationsFit(context, {&child, 1})) child = Location();
  return Added(context, ImplOf(context).locations.AddName(name, child));
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
  return Added(context, ImplOf(context).locations.AddFused(parts));
}

Location Location::CallSite(Context& context, Location callee, Location caller) {
  const Location both[] = {callee, caller};
  if (!LocationsFit(context, both)) return callee;
  return Added(context, ImplOf(context).locations.AddCallSite(callee, caller));
}

const LocationData& Resolve(const Context& context, Location location) {
  return ImplOf(context).locations.Get(location);
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
