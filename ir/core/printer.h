// IR to MLIR-compatible text.
#ifndef TENON_IR_CORE_PRINTER_H_
#define TENON_IR_CORE_PRINTER_H_

#include <string>

#include "ir/core/operation.h"
#include "ir/core/text_sink.h"

namespace tenon {

struct PrintOptions {
  // Op names in quotes and everything as mlir-opt --mlir-print-op-generic prints it. Off: the same
  // without the quotes: `%2 = ten.add(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>`.
  bool generic = false;
  bool locations = false;        // trailing loc(...)
  bool elide_resources = false;  // no resource section: the bytes of large constants are left out
};

// The same IR gives the same bytes. Values are numbered %0, %1, … and %arg0, … within a function;
// in the generic form, as in MLIR, within the whole text.
std::string Print(const Operation& op, const PrintOptions& options = {});
// The same text in pieces. The bytes of large constants come a few at a time, and those of a mapped
// file leave the memory when they are written. Errors are those of the sink.
absl::Status Print(const Operation& op, const PrintOptions& options, TextSink sink);

}  // namespace tenon

#endif  // TENON_IR_CORE_PRINTER_H_
