// Files that repeat a run of passes: --pass-pipeline-crash-reproducer, --run-reproducer.
#ifndef TENON_TOOLS_IR_OPT_REPRODUCER_H_
#define TENON_TOOLS_IR_OPT_REPRODUCER_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/base/limits.h"
#include "ir/core/operation.h"

namespace tenon::ir_opt {

// A file that is there only after a run that did not end well. It is written before passes run, so
// that it also tells of runs that end by a signal, or that are killed. One at a time in a process.
class Reproducer {
 public:
  // `arguments` are options of ir-opt, beside the pipeline.
  Reproducer(std::string file, std::vector<std::string> arguments);
  ~Reproducer();
  Reproducer(const Reproducer&) = delete;
  Reproducer& operator=(const Reproducer&) = delete;

  // Writes the file: the IR as text with its places and constants, and the pipeline and options as
  // the resource that mlir-opt has for them. From here on a fatal signal names the file on standard
  // error. Errors are those of WriteFile.
  absl::Status Write(const std::string& pipeline, const Operation& module);
  // Removes the file, at the end of links to it. Without this, it stays.
  void Remove();
  // What tells the user of the file.
  std::string Note() const;

 private:
  const std::string file_;
  const std::vector<std::string> arguments_;
};

// Checks that a reproducer can be written to `file`, which is removed after a run that ends well:
// a regular file that is not `input`, or none yet. Its name promises IR text. InvalidArgument if
// not.
absl::Status CheckReproducerFile(const std::string& file, const std::string& input);

// Returns the arguments that a reproducer holds: its pipeline as --pass-pipeline, and the options.
// InvalidArgument if the file has no such resource. Other errors are those of ReadInput.
absl::StatusOr<std::vector<std::string>> ReproducerArguments(const std::string& file,
                                                             const Limits& limits);

}  // namespace tenon::ir_opt

#endif  // TENON_TOOLS_IR_OPT_REPRODUCER_H_
