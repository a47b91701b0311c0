// How much text a location stands for, and locations of text that is read. Locations share their
// parts, so that a few of them, each made of the one before twice, would have a text that no memory
// holds.
#ifndef TENON_IR_CORE_LOCATION_EXTENT_H_
#define TENON_IR_CORE_LOCATION_EXTENT_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "ir/core/location.h"

namespace tenon {

// The most locations that the text of one writes out, itself included. The functions of Location
// leave out what would be beyond that, or nested deeper than kMaxNesting: parts of a fused
// location, the caller of a call site, the location inside a name.
inline constexpr uint32_t kMaxLocationParts = 4096;

// True if a location with these ones inside keeps them all. A fused location may keep them though
// this is false, as it takes over the parts of fused ones instead of themselves. Thread-safe.
bool LocationsFit(const Context& context, std::span<const Location> parts);

// The position of something that is read from text. Each call may make a new location, which is
// cheaper than looking for an equal one. Thread-safe.
Location PositionInText(Context& context, std::string_view file, uint32_t line, uint32_t col);

}  // namespace tenon

#endif  // TENON_IR_CORE_LOCATION_EXTENT_H_
