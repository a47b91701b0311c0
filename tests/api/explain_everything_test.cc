// Where every rule nearly matches is told for every model of tests/models, and no host ends of it.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "frontends/cpp/tenon.h"
#include "gtest/gtest.h"

namespace tenon {
namespace {

TEST(ExplainEverything, Models) {
  std::vector<std::string> models;
  for (const auto& entry : std::filesystem::directory_iterator(TENON_SOURCE_DIR "/tests/models")) {
    if (std::filesystem::exists(entry.path() / "model.onnx"))
      models.push_back((entry.path() / "model.onnx").string());
  }
  std::sort(models.begin(), models.end());
  ASSERT_GE(models.size(), 8u);
  for (const std::string& path : models) {
    for (const int level : {0, 2}) {
      absl::StatusOr<Model> model = Load(path);
      ASSERT_TRUE(model.ok()) << model.status();
      std::string told;
      const absl::Status status = Optimize(
          *model, {.level = level, .explain_rule = "*", .report = [&](std::string_view line) {
                     told += line;
                   }});
      EXPECT_TRUE(status.ok()) << path << ": " << status;
      EXPECT_NE(told, "") << path;
    }
  }
}

}  // namespace
}  // namespace tenon
