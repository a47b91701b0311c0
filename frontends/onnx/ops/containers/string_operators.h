// The ONNX operators that accept tensors of strings. Internal to the importer and the exporter.
#ifndef TENON_FRONTENDS_ONNX_OPS_CONTAINERS_STRING_OPERATORS_H_
#define TENON_FRONTENDS_ONNX_OPS_CONTAINERS_STRING_OPERATORS_H_

#include <cstdint>
#include <string_view>

namespace tenon::onnx {

// What an operator does with strings.
enum class StringUse : uint8_t {
  kMoves,   // its outputs are elements of its inputs
  kCounts,  // it looks at shapes alone, and its outputs are numbers
  kReads,   // it looks at the strings; its outputs are numbers, or always strings
};

// An operator that accepts strings.
struct StringOperator {
  std::string_view name;  // without domain
  StringUse use = StringUse::kMoves;
  uint32_t inputs = 1;  // which may be strings, by bit; for kReads not used

  // True if input `i` may be a tensor of strings, for an operator that moves or counts.
  bool Accepts(unsigned i) const {
    return inputs == kAllInputs || (i < 32 && ((inputs >> i) & 1) != 0);
  }
  static constexpr uint32_t kAllInputs = ~uint32_t{0};
};

// Returns null for an operator that accepts no strings, and for control flow, which carries them.
const StringOperator* FindStringOperator(std::string_view name);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_OPS_CONTAINERS_STRING_OPERATORS_H_
