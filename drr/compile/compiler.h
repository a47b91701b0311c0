// The implementation of CompileRule; for drr/compile*.cc only.
#ifndef TENON_DRR_COMPILE_COMPILER_H_
#define TENON_DRR_COMPILE_COMPILER_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "drr/compile/compiled.h"
#include "drr/rule/term_kinds.h"
#include "fmt/format.h"

namespace tenon::drr {

// A set of indices of one rule; cheap to copy and to unite.
class IndexSet {
 public:
  // True if `i` is new.
  bool Insert(uint16_t i) {
    if (words_.size() <= i / 64u) words_.resize(i / 64u + 1, 0);
    uint64_t& word = words_[i / 64u];
    const uint64_t bit = uint64_t{1} << (i % 64u), before = word;
    word |= bit;
    return (before & bit) == 0;
  }
  bool Contains(uint16_t i) const {
    return i / 64u < words_.size() && ((words_[i / 64u] >> (i % 64u)) & 1) != 0;
  }
  void Add(const IndexSet& other) {
    if (words_.size() < other.words_.size()) words_.resize(other.words_.size(), 0);
    for (size_t w = 0; w < other.words_.size(); ++w) words_[w] |= other.words_[w];
  }
  // Keeps the indices that are in both.
  void Intersect(const IndexSet& other) {
    if (words_.size() > other.words_.size()) words_.resize(other.words_.size());
    for (size_t w = 0; w < words_.size(); ++w) words_[w] &= other.words_[w];
  }

 private:
  absl::InlinedVector<uint64_t, 4> words_;
};

// Node and attribute-variable indices.
struct Bound {
  IndexSet nodes, attrs;
  void Add(const Bound& other) {
    nodes.Add(other.nodes);
    attrs.Add(other.attrs);
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
  // Adds the node and refers to one of its results, which must exist.
  absl::StatusOr<Edge> AddEdge(const ValRef& val, bool in_source);
  // The same for a value that may be the rest of the results of an operation.
  absl::StatusOr<Edge> AddRest(const ValRef& val, bool in_source);
  absl::Status CheckHasResult(uint16_t index, const ValRef& val) const;
  absl::Status AddOp(const ValNode& node, bool in_source, Node& code);
  absl::Status AddMapped(const ValNode& node, bool in_source, Node& code);
  absl::StatusOr<AttrCode> AddAttr(const AttrRef& attr, AttrType type, std::string_view name,
                                   bool in_source, std::string_view where);
  // Refuses a value that is of no kind which the attribute takes; notes the kind of a variable that
  // the match binds.
  absl::Status CheckKind(const AttrNode& attr, AttrType type, std::string_view name, bool in_source,
                         std::string_view where);
  absl::StatusOr<std::vector<ArgCode>> AddArgs(const std::vector<ArgRef>& args);
  uint16_t AddDim(const DimRef& dim, bool in_source);
  void AddLeads(Node& code) const;
  absl::Status AddCoinciding();
  uint16_t AttrVariable(const AttrRef& attr);
  absl::Status AddConditions();
  absl::Status FindClimbs();
  absl::Status CheckVariables();
  absl::Status CheckCost();
  // Refuses a rule that wants element types which its operations never have.
  struct TypeReason;
  struct ElementTypes;
  static std::string WordsOf(const TypeReason& reason);
  absl::Status CheckElementTypes(const Bound& always);
  absl::Status CheckResult(uint16_t node, const Bound& always, IndexSet& seen);
  void FindRootOps(const Edge& edge, std::set<uint16_t>& ops) const;
  // What every match of a node binds. `known` caches results by node.
  const Bound& Always(uint16_t node, std::vector<std::optional<Bound>>& known) const;
  std::pair<int, int> CountOps(uint16_t node, IndexSet& seen);
  std::string NameOf(uint16_t node) const {
    const ValNode& source = *out_.nodes[node].source;
    return source.name.empty() ? ToString(ValRef{ValPtr(ValPtr(), &source), 0}) : source.name;
  }

  const Rule& rule_;
  Context& context_;
  CompiledRule out_;
  std::map<const ValNode*, uint16_t> node_index_;
  std::map<const AttrNode*, uint16_t> attr_index_;
  std::map<const AttrNode*, Kinds> attr_kinds_;  // of the variables that are bound so far
  std::map<const DimNode*, uint16_t> dim_index_, dim_variables_;
  std::set<uint16_t> bound_attrs_, used_attrs_, bound_dims_, used_dims_, used_nodes_;
  std::vector<int> mentions_;
  // Sizes of dimension expressions in terms, by expression and whether it is matched.
  std::map<std::pair<const DimNode*, bool>, int64_t> dim_sizes_;
  bool too_long_dim_ = false;
  static constexpr int64_t kMostDimTerms = 1000;
  // For CountOps: shared parts of alternatives are counted once per path.
  static constexpr int64_t kMostCounted = int64_t{1} << 18;
  int64_t counted_nodes_ = 0;
  bool in_each_ = false;  // compiling the pattern of an Each
};

}  // namespace tenon::drr

#endif  // TENON_DRR_COMPILE_COMPILER_H_
