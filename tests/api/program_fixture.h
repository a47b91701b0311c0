// Tests that run a program as a user does, in a folder of their own.
#ifndef TENON_TESTS_API_PROGRAM_FIXTURE_H_
#define TENON_TESTS_API_PROGRAM_FIXTURE_H_

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace tenon {

class ProgramFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "program_test.XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Runs "<environment> bin/<line>" and keeps what it prints. Returns its exit status; -1 for a
  // signal.
  int RunProgram(const std::string& line, const std::string& environment = "") {
    const std::string command = environment + " " TENON_BINARY_DIR "/bin/" + line + " > " +
                                (folder_ / "out").string() + " 2> " + (folder_ / "err").string();
    const int status = std::system(command.c_str());
    out_ = ReadFile(folder_ / "out");
    err_ = ReadFile(folder_ / "err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  static std::string ReadFile(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  std::string Write(const std::string& name, std::string_view text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }

  std::filesystem::path folder_;
  std::string out_, err_;
};

}  // namespace tenon

#endif  // TENON_TESTS_API_PROGRAM_FIXTURE_H_
