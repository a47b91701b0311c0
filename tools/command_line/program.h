// What the main functions of the programs share.
#ifndef TENON_TOOLS_COMMAND_LINE_PROGRAM_H_
#define TENON_TOOLS_COMMAND_LINE_PROGRAM_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace tenon::tools {

// Exit statuses of every program; what more a program has begins at 5.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;       // something was found wrong: a pass failed, outputs differ
inline constexpr int kBadInput = 2;     // the command line, or a file that is read or written
inline constexpr int kUnsupported = 3;  // the model uses what Tenon does not have
inline constexpr int kNotThere = 4;     // the device, or another engine

// Runs a program: `run` gets the arguments and returns an exit status. Signals that end the process
// remove its temporary files before. If standard output or error could not take all that was
// written to them, says so on standard error, and a status of kDone becomes kBadInput. The status
// of memory that runs out where nothing expects it is kBadInput, with a message.
int RunMain(std::string_view program, int argc, const char* const* argv,
            absl::FunctionRef<int(const std::vector<std::string>&)> run);

// Text on standard output or error. Names from models cannot change the terminal (ShownText).
void PrintText(std::string_view text);
void PrintErrorText(std::string_view text);
void FlushText();  // of PrintText
// A message on standard error, as a line: ShownMessage with the length set last, or 4096 bytes.
void PrintError(std::string_view message);
void SetLongestMessage(size_t bytes);

// Prints diagnostics on standard error, and the Status behind them unless one of them says the
// same. Returns kUnsupported, kNotThere or kBadInput.
int Fail(std::string_view program, const absl::Status& status,
         const std::vector<std::string>& errors = {});

// What a program can write.
enum class OutputFormat { kIrText, kText, kJson };

// Can a report, or what else a run ends with, go there? Asked before the run, which may take long.
// An empty name and "-" are. A name whose extension promises another format is refused.
absl::Status CheckReportFile(const std::string& file, OutputFormat format);
// The text on standard output and the JSON in its file; the JSON alone where the file is "-". An
// empty name is none.
absl::Status PrintReport(std::string_view text, std::string_view json,
                         const std::string& json_file);

}  // namespace tenon::tools

#endif  // TENON_TOOLS_COMMAND_LINE_PROGRAM_H_
