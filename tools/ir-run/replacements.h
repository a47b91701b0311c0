// Values that weights get once programs are compiled.
#ifndef TENON_TOOLS_IR_RUN_REPLACEMENTS_H_
#define TENON_TOOLS_IR_RUN_REPLACEMENTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/cpp/parameters/lora.h"
#include "frontends/cpp/tenon.h"
#include "tools/ir-run/options.h"

namespace tenon::ir_run {

// The files of --replace-params and --adapter.
class Replacements {
 public:
  // Reads all of them. Errors are those of ReadSafeTensors and ReadAdapter.
  static absl::StatusOr<Replacements> Read(const Options& options);

  // The names for LoadOptions::replaceable.
  std::vector<std::string> Names() const;
  // Replaces the values, then applies the adapters in order. Errors are those of
  // Program::ReplaceParameters and ApplyAdapter.
  absl::Status Apply(Program& program) const;
  // What was done, for people: a line for each file.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  // The weights of an adapter that the command line names.
  ApplyOptions OptionsFor(const Adapter& adapter) const;

  std::vector<ParameterValue> values_;
  std::vector<Adapter> adapters_;
  std::map<std::string, AdapterWeight, std::less<>> weights_;  // by module
  std::vector<std::string> notes_;
};

}  // namespace tenon::ir_run

#endif  // TENON_TOOLS_IR_RUN_REPLACEMENTS_H_
