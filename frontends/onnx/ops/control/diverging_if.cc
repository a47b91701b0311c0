#include "frontends/onnx/ops/control/diverging_if.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "frontends/onnx/held_diagnostics.h"
#include "frontends/onnx/node.h"
#include "frontends/onnx/ops/control/failing_branch.h"
#include "ir/base/check.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/ctl_ops.h"

namespace tenon::onnx {
namespace {

using onnxpb::NodeProto;
using State = Following::State;

constexpr std::string_view kBranches[] = {"then_branch", "else_branch"};

bool Intersects(const NameSet& a, const NameSet& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& name) { return b.contains(name); });
}

void AddOutputs(const NodeProto& node, NameSet& names) {
  for (const std::string& name : node.output()) {
    if (!name.empty()) names.insert(name);
  }
}

class DivergingIf {
 public:
  DivergingIf(Node& node, Scope& scope, OpBuilder& builder, const Frame& frame,
              const Following& following)
      : node_(node),
        importer_(node.importer()),
        scope_(scope),
        builder_(builder),
        frame_(frame),
        following_(following) {}

  absl::StatusOr<bool> Import();

 private:
  struct Dependent {
    int index = 0;
    NameSet reads;
  };
  void FindDependents();
  absl::Status ImportOthers();
  absl::StatusOr<bool> FillBranches(Operation& op);
  absl::Status TryInBranch(size_t branch, absl::FunctionRef<absl::Status()> import);
  Type Agreement(const std::string& name) const;
  absl::Status ImportIntoBranches(const Dependent& dependent);
  absl::Status Pull(const Dependent& dependent);
  void Note(const NodeProto& proto);
  absl::Status Finish(Operation& op);
  const NodeProto& proto(const Dependent& of) const { return following_.nodes[of.index]; }

  Node& node_;
  GraphImporter& importer_;
  Scope& scope_;
  OpBuilder& builder_;
  const Frame& frame_;
  const Following& following_;
  std::vector<Dependent> dependents_;  // that may become parts of the branches
  std::vector<Dependent> blocked_;     // that may not: another If has them
  std::vector<Dependent> outside_;     // dependents that are no parts so far, in order
  std::array<Scope, 2> scopes_;        // of the branches
  std::array<std::optional<OpBuilder>, 2> builders_;
  std::array<std::optional<BranchFailure>, 2> failures_;
  std::vector<std::string> defined_;  // names that the branches have
  NameSet differing_;                 // those of them on whose types the branches do not agree
};

void DivergingIf::FindDependents() {
  NameSet touched;
  AddOutputs(node_.proto(), touched);
  for (int index : following_.order) {
    const State state = following_.states[static_cast<size_t>(index)];
    if (state == State::kImported) continue;
    Dependent node{.index = index, .reads = ReadsOf(following_.nodes[index])};
    if (!Intersects(node.reads, touched)) continue;
    AddOutputs(following_.nodes[index], touched);
    (state == State::kBlocked ? blocked_ : dependents_).push_back(std::move(node));
  }
}

// Both branches may read what these define.
absl::Status DivergingIf::ImportOthers() {
  const auto mark = [&](State state) {
    for (const Dependent& dependent : dependents_) {
      following_.states[static_cast<size_t>(dependent.index)] = state;
    }
  };
  mark(State::kBlocked);
  for (size_t i = 0; i < following_.order.size(); ++i) {
    const int index = following_.order[i];
    State& state = following_.states[static_cast<size_t>(index)];
    if (state != State::kWaiting) continue;
    state = State::kImported;
    const Following rest{following_.nodes, following_.order.subspan(i + 1), following_.returned,
                         following_.states};
    TENON_RETURN_IF_ERROR(
        importer_.ImportNode(following_.nodes[index], scope_, builder_, frame_, &rest));
  }
  mark(State::kWaiting);
  return absl::OkStatus();
}

// The type on which both branches agree; null if there is none. A branch that fails agrees with the
// other one.
Type DivergingIf::Agreement(const std::string& name) const {
  Type types[2];
  for (size_t r = 0; r < 2; ++r) {
    if (failures_[r]) continue;
    const auto found = scopes_[r].values.find(name);
    if (found == scopes_[r].values.end()) return Type();
    types[r] = found->second.type();
  }
  if (failures_[0] || failures_[1]) types[failures_[0] ? 0 : 1] = types[failures_[0] ? 1 : 0];
  const Type joined = types[0] ? JoinTypes(types[0], types[1]) : Type();
  return joined && joined.is_tensor() ? joined : Type();
}

// Notes the outputs of a node that the branches have.
void DivergingIf::Note(const NodeProto& proto) {
  const Scope& scope = scopes_[failures_[0] ? 1 : 0];
  for (const std::string& name : proto.output()) {
    if (!scope.values.contains(name)) continue;
    defined_.push_back(name);
    if (!Agreement(name)) differing_.insert(name);
  }
}

// Imports something into a branch, unless that fails already. An error counts if the other branch
// fails, too.
absl::Status DivergingIf::TryInBranch(size_t branch, absl::FunctionRef<absl::Status()> import) {
  if (failures_[branch]) return absl::OkStatus();
  if (failures_[1 - branch]) return import();
  TENON_ASSIGN_OR_RETURN(failures_[branch], TryBranch(importer_, *scopes_[branch].block, import));
  if (!failures_[branch]) return absl::OkStatus();
  scopes_[branch].values.clear();
  scopes_[branch].last_weight = nullptr;
  builders_[branch]->SetInsertionPointToEnd(scopes_[branch].block);
  differing_.clear();
  for (const std::string& name : defined_) {
    if (!Agreement(name)) differing_.insert(name);
  }
  return absl::OkStatus();
}

absl::Status DivergingIf::ImportIntoBranches(const Dependent& dependent) {
  TENON_RETURN_IF_ERROR(importer_.CountRepeats(1, node_.location()));
  for (size_t r = 0; r < 2; ++r) {
    TENON_RETURN_IF_ERROR(TryInBranch(r, [&] {
      return importer_.ImportNode(proto(dependent), scopes_[r], *builders_[r], frame_, nullptr);
    }));
  }
  Note(proto(dependent));
  return absl::OkStatus();
}

// Imports a node into the branches, and first the nodes outside on which it depends.
absl::Status DivergingIf::Pull(const Dependent& dependent) {
  NameSet needed = dependent.reads;
  std::vector<Dependent> with, without;
  for (size_t i = outside_.size(); i-- > 0;) {
    NameSet outputs;
    AddOutputs(proto(outside_[i]), outputs);
    const bool is_needed = Intersects(outputs, needed);
    if (is_needed) needed.insert(outside_[i].reads.begin(), outside_[i].reads.end());
    (is_needed ? with : without).push_back(std::move(outside_[i]));
  }
  outside_.assign(without.rbegin(), without.rend());
  for (size_t i = with.size(); i-- > 0;) {
    TENON_RETURN_IF_ERROR(ImportIntoBranches(with[i]));
  }
  return ImportIntoBranches(dependent);
}

// False if the If cannot be imported in this way.
absl::StatusOr<bool> DivergingIf::FillBranches(Operation& op) {
  for (unsigned r = 0; r < 2; ++r) {
    Scope& scope = scopes_[r];
    scope.parent = &scope_;
    scope.used = scope_.used;
    scope.block = op.region(r).AddBlock();
    builders_[r] = OpBuilder::AtEnd(node_.context(), scope.block);
    TENON_ASSIGN_OR_RETURN(const onnxpb::GraphProto* graph, node_.Graph(kBranches[r]));
    const auto import = [&]() -> absl::Status {
      TENON_ASSIGN_OR_RETURN(const std::vector<Value> values,
                             node_.ImportGraph(*graph, {}, *builders_[r]));
      for (int i = 0; i < node_.num_outputs(); ++i) {
        const std::string& name = node_.proto().output(i);
        if (!name.empty()) scope.values.insert_or_assign(name, values[static_cast<size_t>(i)]);
      }
      return absl::OkStatus();
    };
    TENON_RETURN_IF_ERROR(TryInBranch(r, import));
  }
  Note(node_.proto());
  for (Dependent& dependent : dependents_) {
    if (Intersects(dependent.reads, differing_)) {
      TENON_RETURN_IF_ERROR(Pull(dependent));
    } else {
      outside_.push_back(std::move(dependent));
    }
  }
  const bool blocked = std::any_of(
      blocked_.begin(), blocked_.end(),
      [&](const Dependent& dependent) { return Intersects(dependent.reads, differing_); });
  return !blocked && !Intersects(differing_, following_.returned);
}

// Makes the If of the filled branches, with the results that somebody reads.
absl::Status DivergingIf::Finish(Operation& op) {
  NameSet read = following_.returned;
  for (const auto* list : {&outside_, &blocked_}) {
    for (const Dependent& dependent : *list) {
      read.insert(dependent.reads.begin(), dependent.reads.end());
    }
  }
  std::vector<std::string> names;
  for (const std::string& name : defined_) {
    if (read.contains(name)) names.push_back(name);
  }
  std::vector<Type> types;
  for (const std::string& name : names) types.push_back(Agreement(name));
  std::vector<Value> yielded[2];
  for (size_t r = 0; r < 2; ++r) {
    for (size_t i = 0; i < names.size(); ++i) {
      Value& value = yielded[r].emplace_back();
      if (!failures_[r]) {
        value = scopes_[r].values.at(names[i]);
      } else {
        TENON_ASSIGN_OR_RETURN(value,
                               FailInstead(importer_, *builders_[r], *failures_[r], types[i]));
      }
    }
    if (failures_[r]) {
      RemarkFailure(node_.context(), node_.location(), kBranches[r], *failures_[r]);
    }
  }
  TENON_ASSIGN_OR_RETURN(
      ctl::IfOp made,
      ctl::IfOp::Create(builder_, node_.location(), node_.input(0), std::span<const Type>(types)));
  for (unsigned r = 0; r < 2; ++r) {
    TENON_RETURN_IF_ERROR(
        ctl::YieldOp::Create(*builders_[r], node_.location(), yielded[r]).status());
    made->region(r).TakeBody(op.region(r));
  }
  importer_.Register(made.op());
  for (unsigned i = 0; i < names.size(); ++i) {
    scope_.values.insert_or_assign(names[i], made->result(i));
    importer_.CheckDeclared(scope_, names[i], made->result(i).type(), node_.location());
  }
  NameSet waiting;
  for (const Dependent& dependent : outside_) AddOutputs(proto(dependent), waiting);
  for (int index : following_.order) {
    State& state = following_.states[static_cast<size_t>(index)];
    const auto& outputs = following_.nodes[index].output();
    const bool in_branches = std::any_of(outputs.begin(), outputs.end(), [&](const auto& name) {
      return scopes_[failures_[0] ? 1 : 0].values.contains(name) && !waiting.contains(name);
    });
    if (state == State::kWaiting && in_branches) state = State::kImported;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> DivergingIf::Import() {
  FindDependents();
  TENON_RETURN_IF_ERROR(ImportOthers());
  HeldDiagnostics diagnostics(node_.context());
  TENON_ASSIGN_OR_RETURN(
      ctl::IfOp branches,
      ctl::IfOp::Create(builder_, node_.location(), node_.input(0), std::span<const Type>()));
  const absl::StatusOr<bool> filled = FillBranches(*branches.op());
  // What is wrong in one branch may be right in the model, which never takes it.
  const bool done = filled.ok() && *filled;
  if (done) {
    TENON_RETURN_IF_ERROR(Finish(*branches.op()));
  } else {
    diagnostics.Drop();
  }
  importer_.Erase(branches.op());
  return done;
}

}  // namespace

absl::StatusOr<bool> ImportDivergingIf(Node& node, Scope& scope, OpBuilder& builder,
                                       const Frame& frame, const Following& following) {
  return DivergingIf(node, scope, builder, frame, following).Import();
}

}  // namespace tenon::onnx
