#include "frontends/onnx/ops/adapters.h"

#include <algorithm>

#include "frontends/onnx/node.h"
#include "frontends/onnx/ops/one_to_one.h"

namespace tenon::onnx {

#define TENON_ONNX_ADAPTER(Op) absl::Status Import##Op(Node& node);
#include "frontends/onnx/ops/op_adapters.def"
#undef TENON_ONNX_ADAPTER
#define TENON_MICROSOFT_ADAPTER(Op) absl::Status ImportMicrosoft##Op(Node& node);
#include "frontends/onnx/ops/microsoft_adapters.def"
#undef TENON_MICROSOFT_ADAPTER
#define TENON_PREVIEW_ADAPTER(Op) absl::Status ImportPreview##Op(Node& node);
#include "frontends/onnx/ops/preview_adapters.def"
#undef TENON_PREVIEW_ADAPTER
#define TENON_TRAINING_ADAPTER(Op) absl::Status ImportTraining##Op(Node& node);
#include "frontends/onnx/ops/training_adapters.def"
#undef TENON_TRAINING_ADAPTER
namespace ml {
#define TENON_ML_ADAPTER(Op) absl::Status ImportMl##Op(Node& node);
#include "frontends/onnx/ops/ml_adapters.def"
#undef TENON_ML_ADAPTER
}  // namespace ml

namespace {

struct Entry {
  std::string_view op_type;
  AdapterFn adapter;
};

constexpr Entry kAdapters[] = {
#define TENON_ONNX_ADAPTER(Op) {#Op, Import##Op},
#include "frontends/onnx/ops/op_adapters.def"
#undef TENON_ONNX_ADAPTER
};

constexpr Entry kMicrosoft[] = {
#define TENON_MICROSOFT_ADAPTER(Op) {#Op, ImportMicrosoft##Op},
#include "frontends/onnx/ops/microsoft_adapters.def"
#undef TENON_MICROSOFT_ADAPTER
};

constexpr Entry kPreview[] = {
#define TENON_PREVIEW_ADAPTER(Op) {#Op, ImportPreview##Op},
#include "frontends/onnx/ops/preview_adapters.def"
#undef TENON_PREVIEW_ADAPTER
};

constexpr Entry kTraining[] = {
#define TENON_TRAINING_ADAPTER(Op) {#Op, ImportTraining##Op},
#include "frontends/onnx/ops/training_adapters.def"
#undef TENON_TRAINING_ADAPTER
};

constexpr Entry kMl[] = {
#define TENON_ML_ADAPTER(Op) {#Op, ml::ImportMl##Op},
#include "frontends/onnx/ops/ml_adapters.def"
#undef TENON_ML_ADAPTER
};

constexpr Entry kOneToOne[] = {
#define TENON_ONNX_ONE_TO_ONE(Op, name) \
  {#Op, [](Node& node) { return ImportOneToOne(node, name); }},
#include "frontends/onnx/ops/one_to_one.inc"
#undef TENON_ONNX_ONE_TO_ONE
};

constexpr bool IsSorted(std::span<const Entry> entries) {
  for (size_t i = 1; i < entries.size(); ++i) {
    if (!(entries[i - 1].op_type < entries[i].op_type)) return false;
  }
  return true;
}
static_assert(IsSorted(kAdapters) && IsSorted(kMicrosoft) && IsSorted(kMl) && IsSorted(kOneToOne) &&
              IsSorted(kPreview) && IsSorted(kTraining));

// Domains other than the standard one.
struct Domain {
  std::string_view name;
  std::span<const Entry> entries;
};
constexpr Domain kDomains[] = {
    {"ai.onnx.ml", kMl},
    {"ai.onnx.preview", kPreview},
    {"ai.onnx.preview.training", kTraining},
    {kMicrosoftDomain, kMicrosoft},
};

const Domain* FindDomain(std::string_view name) {
  for (const Domain& domain : kDomains) {
    if (domain.name == name) return &domain;
  }
  return nullptr;
}

AdapterFn Find(std::span<const Entry> entries, std::string_view op_type) {
  const auto it = std::lower_bound(
      entries.begin(), entries.end(), op_type,
      [](const Entry& entry, std::string_view name) { return entry.op_type < name; });
  return it != entries.end() && it->op_type == op_type ? it->adapter : nullptr;
}

}  // namespace

AdapterFn FindAdapter(std::string_view op_type) {
  const AdapterFn adapter = Find(kAdapters, op_type);
  return adapter != nullptr ? adapter : Find(kOneToOne, op_type);
}

bool IsOfOnnxRuntime(std::string_view domain, std::string_view op_type) {
  return domain == kMicrosoftDomain ||
         (domain.empty() && op_type == "SimplifiedLayerNormalization");
}

bool HasAdapters(std::string_view domain) { return FindDomain(domain) != nullptr; }

AdapterFn FindAdapterOf(std::string_view domain, std::string_view op_type) {
  const Domain* found = FindDomain(domain);
  return found == nullptr ? nullptr : Find(found->entries, op_type);
}

int64_t MinOpset(std::string_view op_type) {
  static constexpr std::pair<std::string_view, int64_t> kSince[] = {
      {"Cast", 6},    {"Concat", 4}, {"GlobalLpPool", 2}, {"LpPool", 2},   {"Pad", 2},
      {"Reshape", 5}, {"Split", 2},  {"Tile", 6},         {"Upsample", 7},
  };
  for (const auto& [name, since] : kSince) {
    if (name == op_type) return since;
  }
  return 1;
}

std::vector<std::string_view> AdaptedOps() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kAdapters) names.push_back(entry.op_type);
  for (const Entry& entry : kOneToOne) names.push_back(entry.op_type);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tenon::onnx
