// What the main functions of the programs share.
#ifndef TENON_TOOLS_COMMAND_LINE_PROGRAM_H_
#define TENON_TOOLS_COMMAND_LINE_PROGRAM_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace tenon::tools {

// Exit statuses of every program; what more a program has begins at 5.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;       // something was found wrong: a pass failed, outputs differ
inline constexpr int kBadInput = 2;     // the command line or a file
inline constexpr int kUnsupported = 3;  // the model uses what Tenon does not have
inline constexpr int kNotThere = 4;     // the device, or another engine

// What `main` does: runs it with the arguments. The exit status of memory that runs out where
// nothing expects it is kBadInput, with a message.
int RunMain(std::string_view program, int argc, char** argv,
            int (*main)(const std::vector<std::string>& arguments));

void PrintText(std::string_view text);  // on standard output

// Prints diagnostics on standard error, and the Status behind them unless one of them says the
// same. Returns kUnsupported, kNotThere or kBadInput.
int Fail(std::string_view program, const absl::Status& status,
         const std::vector<std::string>& errors = {});

// Can a report, or what else a run ends with, go there? Asked before the run, which may take long.
// An empty name and "-" are.
absl::Status CheckReportFile(const std::string& file);
// The text on standard output and the JSON in its file; the JSON alone where the file is "-". An
// empty name is none.
absl::Status PrintReport(std::string_view text, std::string_view json,
                         const std::string& json_file);

}  // namespace tenon::tools

#endif  // TENON_TOOLS_COMMAND_LINE_PROGRAM_H_
