// Where long text goes, piece by piece, so that it is never in memory as a whole.
#ifndef TENON_IR_CORE_TEXT_SINK_H_
#define TENON_IR_CORE_TEXT_SINK_H_

#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace tenon {

// Takes the next piece, which is gone when it returns. Who writes stops at the first error and
// hands it on.
using TextSink = absl::FunctionRef<absl::Status(std::string_view)>;

}  // namespace tenon

#endif  // TENON_IR_CORE_TEXT_SINK_H_
