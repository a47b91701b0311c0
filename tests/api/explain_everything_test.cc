// Where every rule nearly matches is told for every model of tests/models, and no host ends of it.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "frontends/cpp/tenon.h"
#include "gtest/gtest.h"
#include "tests/sanitizers.h"

namespace tenon {
namespace {

TEST(ExplainEverything, AllLevelsAreRun) {
  if (kUnderSanitizers)
    GTEST_SKIP() << "each model at one of two levels: builds without sanitizers run both";
}

TEST(ExplainEverything, Models) {
  std::vector<std::string> models;
  for (const auto& entry : std::filesystem::directory_iterator(TENON_SOURCE_DIR "/tests/models")) {
    if (std::filesystem::exists(entry.path() / "model.onnx"))
      models.push_back((entry.path() / "model.onnx").string());
  }
  std::sort(models.begin(), models.end());
  ASSERT_GE(models.size(), 8u);
  for (size_t i = 0; i < models.size(); ++i) {
    const std::string& path = models[i];
    for (const int level : {0, 2}) {
      // Under sanitizers each model has one of them.
      if (kUnderSanitizers && (level == 2) != (i % 2 == 0)) continue;
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
