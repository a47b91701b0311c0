#include "frontends/onnx/export/schema_versions.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "fmt/format.h"
#include "ir/base/check.h"

namespace tenon::onnx {
namespace {

struct Schema {
  std::string_view op;
  std::string_view versions;  // increasing; "=": means what the one before does, "!": deprecated
};
constexpr Schema kSchemas[] = {
#include "frontends/onnx/export/schema_versions.inc"
};

struct Version {
  int64_t since = 0;
  char mark = ' ';
};

// Takes the first version off the text.
Version NextVersion(std::string_view& text) {
  Version version;
  const char* const end = text.data() + text.size();
  const char* next = std::from_chars(text.data(), end, version.since).ptr;
  if (next != end && *next != ' ') version.mark = *next++;
  if (next != end) ++next;
  text.remove_prefix(static_cast<size_t>(next - text.data()));
  return version;
}

}  // namespace

bool MeansTheSame(std::string_view op, int64_t from, int64_t to) {
  if (from == to) return true;
  const auto* found = std::find_if(std::begin(kSchemas), std::end(kSchemas),
                                   [&](const Schema& schema) { return schema.op == op; });
  if (found == std::end(kSchemas)) return false;
  // A version between the two makes a difference. In an older opset, one that only allows more
  // does too.
  const int64_t low = std::min(from, to), high = std::max(from, to);
  std::string_view versions = found->versions;
  bool known = false;
  while (!versions.empty()) {
    const Version version = NextVersion(versions);
    if (version.since <= low) known = version.mark != '!';
    const bool between = version.since > low && version.since <= high;
    if (between && (to < from || version.mark != '=')) return false;
  }
  return known;
}

ModelNode NodeOf(const Operation& op) {
  ModelNode node;
  node.type = op.name();
  node.type.remove_prefix(std::string_view("onnx.").size());
  const Attribute entries = op.slot(0);
  if (!entries) return node;
  if (const Attribute domain = entries.Get("domain")) {
    node.domain = domain.str();
    node.type.remove_prefix(std::min(node.type.size(), node.domain.size() + 1));
  }
  if (const Attribute opset = entries.Get("opset")) node.opset = opset.int_value();
  return node;
}

int64_t OpsetForNodes(const Operation& function, int64_t preferred, int64_t least, int64_t newest) {
  std::vector<ModelNode> nodes;
  const_cast<Operation&>(function).Walk([&](const Operation* op) {
    if (op->info().dialect() != "onnx" || op->info().is_registered()) return;
    const ModelNode node = NodeOf(*op);
    if (node.domain.empty() && node.opset) nodes.push_back(node);
  });
  const auto fits = [&](int64_t opset) {
    return std::all_of(nodes.begin(), nodes.end(), [&](const ModelNode& node) {
      return MeansTheSame(node.type, *node.opset, opset);
    });
  };
  for (int64_t opset = preferred; opset <= newest; ++opset) {
    if (fits(opset)) return opset;
  }
  for (int64_t opset = preferred - 1; opset >= least; --opset) {
    if (fits(opset)) return opset;
  }
  return preferred;
}

}  // namespace tenon::onnx
