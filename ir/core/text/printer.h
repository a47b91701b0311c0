// Writing IR as MLIR-compatible text.
#ifndef TENON_IR_CORE_TEXT_PRINTER_H_
#define TENON_IR_CORE_TEXT_PRINTER_H_

#include <string>

#include "ir/base/text_sink.h"
#include "ir/core/operation.h"

namespace tenon {

// The form of the text.
struct PrintOptions {
  // True: the text of mlir-opt --mlir-print-op-generic, with op names in quotes. False: a shorter
  // form, such as `%sum = ten.add(%x, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>`. It
  // shows names of values, names optional operands in place of operandSegmentSizes, and leaves out
  // attributes at their default.
  bool generic = false;
  // Adds loc(...) to ops and block arguments.
  bool locations = false;
  // Leaves out the bytes of large constants; such text cannot be read back.
  bool elide_resources = false;
};

// Returns the text of `op` and all in it. Equal IR with equal names gives equal bytes. Values
// without a name are numbered %0, %1, … and %arg0, … within a function. In the generic form, as in
// MLIR, all are numbered, within the whole text. Throws
// std::bad_alloc if there is no memory for a deferred constant. Several threads may print IR that
// nobody changes.
std::string Print(const Operation& op, const PrintOptions& options = {});
// Passes the same text to `sink` in pieces, so that the bytes of large constants are never in
// memory together. Returns the first error of the sink, or ResourceExhausted if there is no memory
// for a deferred constant.
absl::Status Print(const Operation& op, const PrintOptions& options, TextSink sink);

}  // namespace tenon

#endif  // TENON_IR_CORE_TEXT_PRINTER_H_
