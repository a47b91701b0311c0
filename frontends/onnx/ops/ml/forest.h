// The decision trees of a node of ai.onnx.ml.
#ifndef TENON_FRONTENDS_ONNX_OPS_ML_FOREST_H_
#define TENON_FRONTENDS_ONNX_OPS_ML_FOREST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontends/onnx/node.h"

namespace tenon::onnx::ml {

// Trees of one array of nodes. Every index in it is valid, and no path from a root has a cycle.
struct Forest {
  // How a node compares a feature with its split: feature <= split, and so on.
  enum class Mode : uint8_t { kLessEqual, kLess, kGreaterEqual, kGreater, kEqual, kNotEqual };
  enum class Aggregate : uint8_t { kSum, kAverage, kMin, kMax };

  struct Branch {
    int64_t feature = 0;
    double split = 0;
    Mode mode = Mode::kLessEqual;
    bool missing_is_true = false;  // a NaN takes the true side
    int64_t yes = 0, no = 0;       // nodes
  };
  struct Weight {
    int64_t target = 0;
    double value = 0;
  };
  struct Node {
    bool is_leaf = false;
    Branch branch;                // unless it is a leaf
    std::vector<Weight> weights;  // of a leaf
  };

  std::vector<Node> nodes;
  std::vector<int64_t> roots;  // one a tree
  int64_t targets = 0;
  int64_t features = 0;  // one more than the largest feature that is compared
  Aggregate aggregate = Aggregate::kSum;
};

// `node` below is the node of the model; a Forest::Node is one of a tree.

// Reads the attributes of TreeEnsembleRegressor, or of TreeEnsembleClassifier with `targets`
// classes. Errors name what is wrong with them.
absl::StatusOr<Forest> ReadOldForest(const Node& node, bool classifier, int64_t targets);
// Reads the attributes of TreeEnsemble.
absl::StatusOr<Forest> ReadForest(const Node& node);

}  // namespace tenon::onnx::ml

#endif  // TENON_FRONTENDS_ONNX_OPS_ML_FOREST_H_
