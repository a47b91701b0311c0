// Every operator that the importer reads is read by some test of this folder.
//
// Tests run in processes of their own, so this one counts only where all of them run in one: the
// test onnx.importers runs the whole executable with TENON_CHECK_IMPORTERS set.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "frontends/onnx/ops/adapters.h"
#include "tests/onnx/model_builder.h"

namespace tenon::onnx {
namespace {

// Operators outside of the standard domain.
constexpr const char* kOthers[] = {
#define TENON_MICROSOFT_ADAPTER(Op) "com.microsoft." #Op,
#include "frontends/onnx/ops/microsoft_adapters.def"
#undef TENON_MICROSOFT_ADAPTER
#define TENON_PREVIEW_ADAPTER(Op) "ai.onnx.preview." #Op,
#include "frontends/onnx/ops/preview_adapters.def"
#undef TENON_PREVIEW_ADAPTER
#define TENON_TRAINING_ADAPTER(Op) "ai.onnx.preview.training." #Op,
#include "frontends/onnx/ops/training_adapters.def"
#undef TENON_TRAINING_ADAPTER
};

constexpr const char* kMl[] = {
#define TENON_ML_ADAPTER(Op) #Op,
#include "frontends/onnx/ops/ml_adapters.def"
#undef TENON_ML_ADAPTER
};

class Importers : public ::testing::Environment {
 public:
  void TearDown() override {
    if (std::getenv("TENON_CHECK_IMPORTERS") == nullptr) return;
    ASSERT_GT(AdaptedOps().size(), 100u);
    for (const std::string_view op : AdaptedOps()) {
      EXPECT_TRUE(ImportedOps().contains(std::string(op))) << "no test imports the operator " << op;
    }
    for (const char* op : kOthers) {
      EXPECT_TRUE(ImportedOps().contains(op)) << "no test imports the operator " << op;
    }
    for (const std::string_view op : kMl) {
      EXPECT_TRUE(ImportedOps().contains("ai.onnx.ml." + std::string(op)))
          << "no test imports the operator ai.onnx.ml." << op;
    }
  }
};

[[maybe_unused]] ::testing::Environment* const kImporters =
    ::testing::AddGlobalTestEnvironment(new Importers);

}  // namespace
}  // namespace tenon::onnx
