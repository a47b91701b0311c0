// Results in files: what is there before and after.
#include "ir/base/write_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace tenon {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class WriteFileTest : public ::testing::Test {
 protected:
  WriteFileTest() {
    std::string name = ::testing::TempDir() + "write_file.XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~WriteFileTest() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  static mode_t ModeOf(const std::string& path) {
    struct stat info;
    return stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }
  size_t Files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(WriteFileTest, AFileThatIsReplacedKeepsItsModeAndItsReaders) {
  const std::string path = Path("a");
  ASSERT_TRUE(WriteFile(path, "old").ok());
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  std::ifstream reader(path);
  ASSERT_TRUE(WriteFile(path, "new text").ok());
  EXPECT_EQ(Read(path), "new text");
  EXPECT_EQ(ModeOf(path), 0640u);
  std::string seen;
  reader >> seen;
  EXPECT_EQ(seen, "old");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(WriteFileTest, ANewFileHasTheModeOfAnyOther) {
  std::ofstream(Path("other")) << "x";
  ASSERT_TRUE(WriteFile(Path("a"), "x").ok());
  EXPECT_EQ(ModeOf(Path("a")), ModeOf(Path("other")));
}

TEST_F(WriteFileTest, LinksStayAndWhatTheyNameIsReplaced) {
  fs::create_directory(folder_ / "in");
  fs::create_symlink("in/target", folder_ / "link");
  fs::create_symlink(folder_ / "link", folder_ / "outer");
  for (const char* text : {"first", "second"}) {  // the target is made, then replaced
    ASSERT_TRUE(WriteFile(Path("outer"), text).ok());
    EXPECT_TRUE(fs::is_symlink(folder_ / "outer"));
    EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
    EXPECT_EQ(Read(Path("in/target")), text);
  }
}

TEST_F(WriteFileTest, WhatIsNoRegularFileIsWrittenTo) {
  EXPECT_TRUE(WriteFile("/dev/null", "text").ok());
  const std::string pipe = Path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = Read(pipe); });
  EXPECT_TRUE(WriteFile(pipe, "through the pipe").ok());
  reader.join();
  EXPECT_EQ(read, "through the pipe");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(WriteFileTest, PiecesMakeOneFileOrNone) {
  const std::string path = Path("a");
  ASSERT_TRUE(WriteFile(path, [](TextSink sink) {
                const absl::Status first = sink("one, ");
                return first.ok() ? sink("two") : first;
              }).ok());
  EXPECT_EQ(Read(path), "one, two");
  const absl::Status failed = WriteFile(path, [](TextSink sink) {
    EXPECT_TRUE(sink("half of").ok());
    return absl::DataLossError("no more");
  });
  EXPECT_EQ(failed, absl::DataLossError("no more"));
  EXPECT_EQ(Read(path), "one, two");
  EXPECT_EQ(Files(), 1u);
  // A sink that cannot write says so, and who writes hands it on.
  EXPECT_THAT(std::string(WriteFile("/dev/full", "x").message()), HasSubstr("/dev/full"));
}

TEST_F(WriteFileTest, ErrorsNameThePath) {
  const absl::Status status = WriteFile(Path("none/a"), "x");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(Path("none/a")));
  fs::create_symlink("circle", folder_ / "circle");
  EXPECT_FALSE(WriteFile(folder_.string(), "x").ok());
  EXPECT_EQ(Files(), 1u);
}

}  // namespace
}  // namespace tenon
