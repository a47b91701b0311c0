// The work of CompileRule; for drr/compile*.cc alone.
#ifndef TENON_DRR_COMPILER_H_
#define TENON_DRR_COMPILER_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "drr/compiled.h"
#include "fmt/format.h"

namespace tenon::drr {

// Node and attribute-variable indices.
struct Bound {
  std::set<uint16_t> nodes, attrs;
  void Add(const Bound& other) {
    nodes.insert(other.nodes.begin(), other.nodes.end());
    attrs.insert(other.attrs.begin(), other.attrs.end());
  }
};

class Compiler {
 public:
  Compiler(const Rule& rule, Context& context) : rule_(rule), context_(context) {
    out_.rule = &rule;
  }

  absl::StatusOr<CompiledRule> Run();

 private:
  absl::Status Error(const std::string& message) const {
    return absl::InvalidArgumentError(
        fmt::format("{}: rule '{}': {}", rule_.place(), rule_.name(), message));
  }
  absl::StatusOr<uint16_t> AddNode(const ValPtr& node, bool in_source);
  absl::Status AddOp(const ValNode& node, bool in_source, Node& code);
  absl::StatusOr<AttrCode> AddAttr(const AttrRef& attr, AttrType type, std::string_view name,
                                   bool in_source, std::string_view where);
  absl::StatusOr<std::vector<ArgCode>> AddArgs(const std::vector<ArgRef>& args);
  uint16_t AddDim(const DimRef& dim, bool in_source);
  uint16_t AttrVariable(const AttrRef& attr);
  absl::Status AddConditions();
  absl::Status FindClimbs();
  absl::Status CheckVariables();
  absl::Status CheckCost();
  absl::Status CheckResult(uint16_t node, std::set<uint16_t>& seen);
  void FindRootOps(const Edge& edge, std::set<uint16_t>& ops) const;
  Bound Always(uint16_t node) const;
  std::pair<int, int> CountOps(uint16_t node, std::set<uint16_t>& seen) const;
  std::string NameOf(uint16_t node) const {
    const ValNode& source = *out_.nodes[node].source;
    return source.name.empty() ? ToString(ValRef{ValPtr(ValPtr(), &source), 0}) : source.name;
  }

  const Rule& rule_;
  Context& context_;
  CompiledRule out_;
  std::map<const ValNode*, uint16_t> node_index_;
  std::map<const AttrNode*, uint16_t> attr_index_;
  std::map<const DimNode*, uint16_t> dim_index_, dim_variables_;
  std::set<uint16_t> bound_attrs_, used_attrs_, bound_dims_, used_dims_, used_nodes_;
  std::vector<int> mentions_;
};

}  // namespace tenon::drr

#endif  // TENON_DRR_COMPILER_H_
