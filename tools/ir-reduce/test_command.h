// The test of a program: a command of the user.
#ifndef TENON_TOOLS_IR_REDUCE_TEST_COMMAND_H_
#define TENON_TOOLS_IR_REDUCE_TEST_COMMAND_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace tenon::ir_reduce {

// A command that is run on one file again and again.
class TestCommand {
 public:
  // How a run ended.
  struct Outcome {
    bool timed_out = false;
    int status = 0;  // exit status; 128 plus the signal that ended it
    bool Holds() const { return !timed_out && status == 0; }
  };

  // `command` is text for /bin/sh. Each {} in it stands for `file`; without one, `file` comes last.
  // What it prints goes to `output`.
  TestCommand(const std::string& command, const std::string& file, std::string output,
              int64_t timeout_seconds);

  // Runs it. Ends its processes when the time is over. Internal if no process can be made.
  absl::StatusOr<Outcome> Run() const;
  // The last line that it printed in its last run, for a message; empty if there is none.
  std::string LastLine() const;

 private:
  const std::string line_, output_;
  const int64_t timeout_seconds_;
};

}  // namespace tenon::ir_reduce

#endif  // TENON_TOOLS_IR_REDUCE_TEST_COMMAND_H_
