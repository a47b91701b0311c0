// The common part of the main functions of the programs.
#ifndef TENON_TOOLS_COMMAND_LINE_PROGRAM_H_
#define TENON_TOOLS_COMMAND_LINE_PROGRAM_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace tenon::tools {

// Exit statuses of every program. Further statuses of a program begin at 5.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;       // a check found an error: a pass failed, outputs differ
inline constexpr int kBadInput = 2;     // the command line, or a file that is read or written
inline constexpr int kUnsupported = 3;  // the model uses something that Tenon lacks
inline constexpr int kNotThere = 4;     // the device or another engine is missing

// Runs a program and returns its exit status. `run` gets the arguments without the program's name,
// and returns a status. Signals that end the process first remove its temporary files.
//
// Prints an error if standard output or error did not take all text. A status of kDone then becomes
// kBadInput. If memory runs out where nothing expects it, prints that and returns kBadInput.
int RunMain(std::string_view program, int argc, const char* const* argv,
            absl::FunctionRef<int(const std::vector<std::string>&)> run);

// Prints text on standard output. Names from models cannot change the terminal (ShownText).
void PrintText(std::string_view text);
void PrintErrorText(std::string_view text);  // the same on standard error
void FlushText();                            // flushes standard output
// Prints a message as one line on standard error. Cuts it to the longest message (ShownMessage).
void PrintError(std::string_view message);
void SetLongestMessage(size_t bytes);  // the default is 4096

// Prints `errors` on standard error. Then prints the message of `status`, if none of them contains
// it. Returns kUnsupported, kNotThere or kBadInput.
int Fail(std::string_view program, const absl::Status& status,
         const std::vector<std::string>& errors = {});

// What a program can write.
enum class OutputFormat {
  kIrText,  // IR text, or a binary module where IsBinaryName
  kText,    // other text
  kJson     // JSON
};

// True if programs are written to a file of this name as binary modules (binary_module.h).
inline bool IsBinaryName(std::string_view file) { return file.ends_with(".tnb"); }

// Checks that an output can be written to `file`. Call it before a run that may take long. An empty
// name and "-" are OK. Refuses a name whose extension stands for another format.
absl::Status CheckReportFile(const std::string& file, OutputFormat format);
// Prints `text` on standard output and writes `json` to `json_file`, unless that name is empty. For
// "-" it prints only the JSON.
absl::Status PrintReport(std::string_view text, std::string_view json,
                         const std::string& json_file);

}  // namespace tenon::tools

#endif  // TENON_TOOLS_COMMAND_LINE_PROGRAM_H_
