// Exported models: all of them import; those in the tree without any opaque op.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/onnx/model_builder.h"

namespace tenon::onnx {
namespace {

std::vector<std::string> ModelsIn(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::filesystem::path path = entry.path() / "model.onnx";
    if (std::filesystem::exists(path)) paths.push_back(path.string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

int CountOpaque(const Imported& result) {
  int count = 0;
  result.module->WalkPreOrder([&count](Operation* op) {
    if (op->info().dialect() == "onnx") ++count;
    return true;
  });
  return count;
}

TEST(Models, InTheTree) {
  const std::vector<std::string> paths = ModelsIn(TENON_SOURCE_DIR "/tests/models");
  ASSERT_GE(paths.size(), 8u);
  for (const std::string& path : paths) {
    const Imported result = ImportFile(path);
    ASSERT_TRUE(result.status.ok()) << path << ": " << result.status;
    EXPECT_EQ(CountOpaque(result), 0) << path;
    EXPECT_TRUE(result.diagnostics.empty()) << path << ": " << result.diagnostics[0];
    for (const char* dynamic : {"ten.dynamic_reshape", "ten.dynamic_expand", "ten.dynamic_slice"}) {
      EXPECT_TRUE(result.Find(dynamic).empty()) << path;
    }
    EXPECT_EQ(ImportFile(path).Text(), result.Text()) << path;
  }
}

// More models than the tree holds: the folder that TENON_SHARED_MODELS names, or shared/models
// beside the repository or beside the folder of its worktrees.
std::string SharedModels() {
  if (const char* folder = std::getenv("TENON_SHARED_MODELS"); folder != nullptr) return folder;
  for (const char* folder :
       {TENON_SOURCE_DIR "/../shared/models", TENON_SOURCE_DIR "/../../shared/models"}) {
    if (std::filesystem::is_directory(folder)) return folder;
  }
  return "";
}

TEST(Models, Shared) {
  const std::string folder = SharedModels();
  if (folder.empty()) {
    GTEST_SKIP() << "no shared/models beside the repository, and TENON_SHARED_MODELS is not set";
  }
  ASSERT_TRUE(std::filesystem::is_directory(folder)) << folder << " is no folder";
  const std::vector<std::string> paths = ModelsIn(folder);
  ASSERT_FALSE(paths.empty()) << folder << " holds no models";
  for (const std::string& path : paths) {
    const Imported result = ImportFile(path);
    ASSERT_TRUE(result.status.ok()) << path << ": " << result.status;
    EXPECT_EQ(CountOpaque(result), 0) << path;
    EXPECT_TRUE(result.diagnostics.empty()) << path << ": " << result.diagnostics[0];
    EXPECT_EQ(ImportFile(path).Text(), result.Text()) << path;
  }
}

// The whole text of one imported model. TENON_BLESS=1 writes it.
TEST(Models, Golden) {
  const std::string golden =
      TENON_SOURCE_DIR "/tests/golden/frontends/squeezenet_bn.eager.ts13.mlir";
  const Imported result =
      ImportFile(TENON_SOURCE_DIR "/tests/models/squeezenet_bn.eager.ts13/model.onnx");
  ASSERT_TRUE(result.status.ok()) << result.status;
  if (std::getenv("TENON_BLESS") != nullptr) std::ofstream(golden) << result.Text();
  std::ifstream in(golden);
  const std::string expected((std::istreambuf_iterator<char>(in)),
                             std::istreambuf_iterator<char>());
  EXPECT_EQ(result.Text(), expected) << "if the change is meant, run again with TENON_BLESS=1";
}

}  // namespace
}  // namespace tenon::onnx
