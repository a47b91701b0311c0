// Where an operation came from. Survives every rewrite, so that messages speak of the user's model.
#ifndef TENON_IR_CORE_LOCATION_H_
#define TENON_IR_CORE_LOCATION_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tenon {

class Context;

// A 32-bit handle to a location kept by a Context; 0 is "unknown".
class Location {
 public:
  enum class Kind : uint8_t { kUnknown, kFileLineCol, kName, kFused, kCallSite };

  Location() = default;
  explicit Location(uint32_t id) : id_(id) {}

  static Location Unknown() { return Location(); }
  static Location FileLineCol(Context& context, std::string_view file, uint32_t line, uint32_t col);
  // A model node or value name, optionally inside another location.
  static Location Name(Context& context, std::string_view name, Location child);
  static Location Name(Context& context, std::string_view name);
  // Flattens, drops unknowns and repeats, keeps the first kMaxFused parts; one part is itself.
  static Location Fused(Context& context, std::span<const Location> parts);
  static Location CallSite(Context& context, Location callee, Location caller);
  static constexpr size_t kMaxFused = 16;

  uint32_t id() const { return id_; }
  bool is_unknown() const { return id_ == 0; }
  bool operator==(const Location&) const = default;

 private:
  uint32_t id_ = 0;
};

// What a Location stands for; owned by the Context.
struct LocationData {
  Location::Kind kind = Location::Kind::kUnknown;
  std::string_view text;  // file or name
  uint32_t line = 0, col = 0;
  std::span<const Location> parts;  // fused: parts; name: child; call site: callee, caller
};

const LocationData& Resolve(const Context& context, Location location);
// MLIR's text without the enclosing loc( ): `unknown`, `"f.mlir":3:4`, `"name"("f":1:2)`,
// `fused[...]`.
std::string LocationText(const Context& context, Location location);
// For messages: the first model node name or file position, "f.mlir:3:4" or "/encoder/Add"; empty
// if none.
std::string DescribeLocation(const Context& context, Location location);

}  // namespace tenon

#endif  // TENON_IR_CORE_LOCATION_H_
