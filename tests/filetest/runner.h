// Runs one golden file.
#ifndef TENON_TESTS_FILETEST_RUNNER_H_
#define TENON_TESTS_FILETEST_RUNNER_H_

#include <string>
#include <vector>

namespace tenon::filetest {

// Rewrites expectations instead of comparing with them: --bless, or TENON_BLESS=1.
void set_bless(bool bless);
bool bless();

// All golden files below `root`, sorted, as paths relative to it.
std::vector<std::string> ListGoldenFiles(const std::string& root);
// "roundtrip/types.ir" -> "roundtrip_types".
std::string TestName(const std::string& relative_path);
// Reports failures to GoogleTest.
void RunGoldenFile(const std::string& root, const std::string& relative_path);

}  // namespace tenon::filetest

#endif  // TENON_TESTS_FILETEST_RUNNER_H_
