// Receiving long text in pieces.
#ifndef TENON_IR_BASE_TEXT_SINK_H_
#define TENON_IR_BASE_TEXT_SINK_H_

#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace tenon {

// Takes the next piece of a text, which is valid during the call only. The writer stops at the
// first error and returns it.
using TextSink = absl::FunctionRef<absl::Status(std::string_view)>;

}  // namespace tenon

#endif  // TENON_IR_BASE_TEXT_SINK_H_
