// Where an operation comes from. Rewrites keep locations, so that messages name nodes of the model.
#ifndef TENON_IR_CORE_LOCATION_H_
#define TENON_IR_CORE_LOCATION_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tenon {

class Context;

// A 32-bit handle to a location that a Context keeps; 0 stands for an unknown one. The static
// functions are thread-safe. A Context holds up to 2^32 - 1 locations. The first one beyond that is
// an error diagnostic; it and all further ones are unknown.
class Location {
 public:
  // The kind of a location, with an example of its text.
  enum class Kind : uint8_t {
    kUnknown,      // unknown
    kFileLineCol,  // "f.mlir":3:4
    kName,         // "name"("f.mlir":3:4)
    kFused,        // fused["a", "b"]
    kCallSite      // callsite("f" at "g")
  };

  Location() = default;
  explicit Location(uint32_t id) : id_(id) {}  // The location of this id().

  static Location Unknown() { return Location(); }  // The same as Location().
  // Line and column count from 1.
  static Location FileLineCol(Context& context, std::string_view file, uint32_t line, uint32_t col);
  // The name of a model node or value, optionally with another location inside.
  static Location Name(Context& context, std::string_view name, Location child);
  static Location Name(Context& context, std::string_view name);
  // Combines the locations of several ops into one. Flattens fused parts, drops unknown and
  // repeated ones, and keeps the first kMaxFused. A single part is returned itself; no part gives
  // unknown.
  static Location Fused(Context& context, std::span<const Location> parts);
  // A call: the location of the callee and that of its caller.
  static Location CallSite(Context& context, Location callee, Location caller);
  static constexpr size_t kMaxFused = 16;  // Parts that Fused keeps.

  uint32_t id() const { return id_; }           // Its number in the Context.
  bool is_unknown() const { return id_ == 0; }  // True for Location().
  bool operator==(const Location&) const = default;

 private:
  uint32_t id_ = 0;
};

// The contents of a Location; the Context owns them.
struct LocationData {
  Location::Kind kind = Location::Kind::kUnknown;  // decides which members are set
  std::string_view text;                           // file or name
  uint32_t line = 0,                               // from 1; only of kFileLineCol
      col = 0;                                     // the same
  std::span<const Location> parts;  // fused: parts; name: child; call site: callee, caller
};

// Returns the contents of `location`, which must belong to `context`.
const LocationData& Resolve(const Context& context, Location location);
// Returns MLIR's text without the enclosing loc( ): `unknown`, `"f.mlir":3:4`, `"name"("f":1:2)`,
// `fused[...]`.
std::string LocationText(const Context& context, Location location);
// Returns a short text for messages: the first model node or file position, such as "/encoder/Add"
// or "f.mlir:3:4". Empty if there is none.
std::string DescribeLocation(const Context& context, Location location);

}  // namespace tenon

#endif  // TENON_IR_CORE_LOCATION_H_
