// The format of tests/golden/**/*.ir.
#ifndef TENON_TESTS_FILETEST_GOLDEN_FILE_H_
#define TENON_TESTS_FILETEST_GOLDEN_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tenon::filetest {

// A paragraph of the file: comments that explain, code, and the expected text as comments right
// under it.
struct Case {
  std::vector<std::string> before;  // explaining comments and blank lines, kept as they are
  std::vector<std::string> code;
  std::vector<std::string> expected;  // without "// "
  size_t first_line = 0;              // of the code, from 1
};

// `// error: text` at the end of a line of code.
struct ExpectedError {
  size_t line = 0;
  std::string text;
};

struct GoldenFile {
  std::string kind;                  // "roundtrip", "verify", "opt", "run", …
  std::string argument;              // the rest of the first line: a pipeline
  std::vector<std::string> options;  // words of a second line "// options: …"
  std::vector<std::string> header;   // those lines
  std::vector<Case> cases;
  std::vector<std::string> after;  // lines behind the last case

  bool Has(std::string_view option) const;
  // The values of options `name=value`, in order.
  std::vector<std::string> Values(std::string_view name) const;
};

absl::StatusOr<GoldenFile> ParseGoldenFile(std::string_view text);
std::string WriteGoldenFile(const GoldenFile& file);
// Code of a case, preceded by empty lines so that positions are those in the file.
std::string CodeText(const Case& c);
std::vector<ExpectedError> ExpectedErrors(const Case& c);

std::vector<std::string> SplitLines(std::string_view text);
// Lines that differ, in unified format with three lines of context.
std::string UnifiedDiff(const std::vector<std::string>& expected,
                        const std::vector<std::string>& actual);

}  // namespace tenon::filetest

#endif  // TENON_TESTS_FILETEST_GOLDEN_FILE_H_
