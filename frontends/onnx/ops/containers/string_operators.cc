#include "frontends/onnx/ops/containers/string_operators.h"

#include <algorithm>
#include <iterator>

namespace tenon::onnx {
namespace {

using enum StringUse;

constexpr StringOperator kStringOperators[] = {
    {"ArrayFeatureExtractor"},
    {"Cast", kReads},
    {"CastLike", kReads},
    {"CategoryMapper", kReads},
    {"CenterCropPad"},
    {"Compress"},
    {"Concat", kMoves, StringOperator::kAllInputs},
    {"DepthToSpace"},
    {"Equal", kReads},
    {"Expand"},
    {"Flatten"},
    {"Gather"},
    {"GatherElements"},
    {"GatherND"},
    {"Identity"},
    {"LabelEncoder", kReads},
    {"OneHotEncoder", kReads},
    {"Pad", kMoves, 0b101},
    {"RegexFullMatch", kReads},
    {"Reshape"},
    {"ReverseSequence"},
    {"Scatter", kMoves, 0b101},
    {"ScatterElements", kMoves, 0b101},
    {"ScatterND", kMoves, 0b101},
    {"Shape", kCounts},
    {"Size", kCounts},
    {"Slice"},
    {"SpaceToDepth"},
    {"Split"},
    {"Squeeze"},
    {"StringConcat", kReads},
    {"StringNormalizer", kReads},
    {"StringSplit", kReads},
    {"TfIdfVectorizer", kReads},
    {"Tile"},
    {"Transpose"},
    {"Trilu"},
    {"Unsqueeze"},
    {"Where", kMoves, 0b110},
};

}  // namespace

const StringOperator* FindStringOperator(std::string_view name) {
  const auto* const found = std::ranges::find(kStringOperators, name, &StringOperator::name);
  return found == std::end(kStringOperators) ? nullptr : found;
}

}  // namespace tenon::onnx
