// Files that go with the process.
#include "ir/base/temporary_path.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace tenon {
namespace {

namespace fs = std::filesystem;

class TemporaryPathTest : public ::testing::Test {
 protected:
  TemporaryPathTest() {
    std::string name = ::testing::TempDir() + "temporary_path.XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~TemporaryPathTest() override { fs::remove_all(folder_); }
  std::string Make(const std::string& name) const {
    std::ofstream(folder_ / name) << "x";
    return (folder_ / name).string();
  }
  fs::path folder_;
};

TEST_F(TemporaryPathTest, FilesAndFoldersThatAreNamedGo) {
  const std::string file = Make("file"), other = Make("other"), done = Make("done");
  fs::create_directory(folder_ / "sub");
  for (int i = 0; i < 300; ++i) Make("sub/a_file_of_the_folder_" + std::to_string(i));
  const TemporaryPath named(file), sub((folder_ / "sub").string());
  std::optional<TemporaryPath> renamed(done);
  renamed.reset();
  RemoveTemporaryPaths();
  EXPECT_FALSE(fs::exists(file));
  EXPECT_FALSE(fs::exists(folder_ / "sub"));
  EXPECT_TRUE(fs::exists(other));
  EXPECT_TRUE(fs::exists(done));
}

TEST_F(TemporaryPathTest, ChildrenLeaveTheFilesOfTheirParent) {
  const std::string file = Make("file");
  const TemporaryPath named(file);
  const pid_t child = fork();
  if (child == 0) {
    RemoveTemporaryPaths();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(fs::exists(file));
}

TEST_F(TemporaryPathTest, MorePathsThanThereIsRoomFor) {
  std::vector<TemporaryPath> many;
  for (int i = 0; i < 1000; ++i) many.emplace_back("/nowhere/" + std::to_string(i));
  many.clear();
  const std::string file = Make("file");
  const TemporaryPath named(file);
  RemoveTemporaryPaths();
  EXPECT_FALSE(fs::exists(file));
}

}  // namespace
}  // namespace tenon
