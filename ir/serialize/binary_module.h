// Modules as binary files: memory-mapped, versioned, and read many times as fast as text.
#ifndef TENON_IR_SERIALIZE_BINARY_MODULE_H_
#define TENON_IR_SERIALIZE_BINARY_MODULE_H_

#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/base/text_sink.h"
#include "ir/core/operation.h"

namespace tenon {

class Context;

// True if `bytes` begin as a binary module of any version does.
bool LooksLikeBinaryModule(std::string_view bytes);

// How ReadBinaryModule reads.
struct ReadBinaryOptions {
  // The name of the file in messages.
  std::string_view file_name = "<input>";
  // Whether to call Verify on the result.
  bool verify = true;
  // Keeps the bytes of the file, which large constants then share. Null: they are copied.
  std::shared_ptr<const void> owner{};
  // Whether the bytes are a read-only mapping of a file, which `owner` keeps. The file must not be
  // truncated meanwhile. The bytes of large constants stay on disk until something reads them,
  // except those of i1 and of types of fewer than 8 bits, which are checked.
  bool mapped = false;
};

// Reads the module that WriteBinaryModule wrote, of this version of the format or an older one. The
// caller owns the result. `bytes` are the whole file.
//
// An error is emitted and returned. InvalidArgument: a newer version (the message names both), a
// damaged file, an op or attribute that the Context does not know, or a program that does not
// verify. ResourceExhausted beyond Limits::nesting. No bytes, however wrong, end the process.
// Thread-safe within one Context.
absl::StatusOr<OwnedOp> ReadBinaryModule(Context& context, std::string_view bytes,
                                         const ReadBinaryOptions& options = {});

// Passes a builtin.module as a binary file to `sink`, in pieces. Equal IR gives equal bytes. The
// file holds everything that text holds: reading it gives the same text, with its locations.
//
// Returns the first error of the sink. InvalidArgument, located at an op, if the IR uses values,
// blocks or nesting that text has no form for either. ResourceExhausted if there is no memory for
// a deferred constant. Several threads may write IR that nobody changes.
absl::Status WriteBinaryModule(const Operation& module, TextSink sink);

}  // namespace tenon

#endif  // TENON_IR_SERIALIZE_BINARY_MODULE_H_
