// The first error of reading a binary module, and what reading may cost. Internal to ir/serialize.
#ifndef TENON_IR_SERIALIZE_FAILURE_H_
#define TENON_IR_SERIALIZE_FAILURE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "ir/core/context/context.h"
#include "ir/core/context/context_limits.h"

namespace tenon::binary {

// Functions that read return false behind an error, which is here. Emits the first one.
class Failure {
 public:
  Failure(Context& context, std::string_view file)
      : context_(context), location_(Location::Name(context, file)) {}

  Context& context() const { return context_; }
  const absl::Status& status() const { return status_; }
  // Lets a reader make much of few bytes in proportion to the file.
  void AllowFor(uint64_t file_size) { work_ = (uint64_t{1} << 24) + file_size * 256; }

  // What is wrong with the file as a whole, or with a program that it holds.
  bool Tell(std::string message) { return TellAt(location_, std::move(message)); }
  bool TellAt(Location location, std::string message) {
    if (status_.ok()) status_ = EmitError(context_, location, std::move(message));
    return false;
  }
  // Bytes that no writer writes.
  bool Damaged(uint64_t position, std::string_view what) {
    return Tell(fmt::format("the file is damaged at byte {}: {}", position, what));
  }
  // Keeps the status of a failed call that has emitted its error.
  bool Keep(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
    return false;
  }
  // Checks a depth of nesting.
  bool CheckDepth(int64_t depth) {
    const int64_t most = LimitsOf(context_).nesting;
    if (depth <= most) return true;
    Tell(fmt::format("nested deeper than {} levels (Limits::nesting or --max-nesting)", most));
    status_ = absl::ResourceExhaustedError(status_.message());
    return false;
  }
  // Counts parts that the text of the program would have, and characters that are hashed. Few bytes
  // can name many of them, each a sum of others.
  bool Spend(uint64_t parts) {
    if (parts <= work_) {
      work_ -= parts;
      return true;
    }
    Tell("the file names so many parts of types, attributes and locations that no text holds them");
    status_ = absl::ResourceExhaustedError(status_.message());
    return false;
  }

 private:
  Context& context_;
  const Location location_;
  absl::Status status_;
  uint64_t work_ = 0;
};

}  // namespace tenon::binary

#endif  // TENON_IR_SERIALIZE_FAILURE_H_
