#include "frontends/onnx/ops/control/diverging_if.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "frontends/onnx/held_diagnostics.h"
#include "frontends/onnx/node.h"
#include "ir/base/check.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/ctl_ops.h"

namespace tenon::onnx {
namespace {

using onnxpb::NodeProto;
using State = Following::State;

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
  // A value on whose type both branches agree.
  struct Agreed {
    std::string name;
    Type type;
  };

  void FindDependents();
  absl::Status ImportOthers();
  absl::StatusOr<bool> FillBranches(Operation& op);
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
  NameSet differing_;
  std::vector<Agreed> agreed_;
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

// Says for each output of a node, which both branches have, whether they agree on its type.
void DivergingIf::Note(const NodeProto& proto) {
  for (const std::string& name : proto.output()) {
    const auto a = scopes_[0].values.find(name), b = scopes_[1].values.find(name);
    if (a == scopes_[0].values.end() || b == scopes_[1].values.end()) continue;
    const Type joined = JoinTypes(a->second.type(), b->second.type());
    if (joined && joined.is_tensor()) {
      agreed_.push_back({name, joined});
    } else {
      differing_.insert(name);
    }
  }
}

absl::Status DivergingIf::ImportIntoBranches(const Dependent& dependent) {
  TENON_RETURN_IF_ERROR(importer_.CountRepeats(1, node_.location()));
  for (size_t r = 0; r < 2; ++r) {
    TENON_RETURN_IF_ERROR(
        importer_.ImportNode(proto(dependent), scopes_[r], *builders_[r], frame_, nullptr));
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
  const char* const names[] = {"then_branch", "else_branch"};
  for (unsigned r = 0; r < 2; ++r) {
    Scope& scope = scopes_[r];
    scope.parent = &scope_;
    scope.used = scope_.used;
    scope.block = op.region(r).AddBlock();
    builders_[r] = OpBuilder::AtEnd(node_.context(), scope.block);
    TENON_ASSIGN_OR_RETURN(const onnxpb::GraphProto* graph, node_.Graph(names[r]));
    TENON_ASSIGN_OR_RETURN(const std::vector<Value> values,
                           node_.ImportGraph(*graph, {}, *builders_[r]));
    for (int i = 0; i < node_.num_outputs(); ++i) {
      const std::string& name = node_.proto().output(i);
      if (!name.empty()) scope.values.insert_or_assign(name, values[static_cast<size_t>(i)]);
    }
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
  std::erase_if(agreed_, [&](const Agreed& value) { return !read.contains(value.name); });
  std::vector<Type> types;
  std::vector<Value> yielded[2];
  for (const Agreed& value : agreed_) {
    types.push_back(value.type);
    for (size_t r = 0; r < 2; ++r) yielded[r].push_back(scopes_[r].values.at(value.name));
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
  for (unsigned i = 0; i < agreed_.size(); ++i) {
    scope_.values.insert_or_assign(agreed_[i].name, made->result(i));
    importer_.CheckDeclared(scope_, agreed_[i].name, made->result(i).type(), node_.location());
  }
  NameSet waiting;
  for (const Dependent& dependent : outside_) AddOutputs(proto(dependent), waiting);
  for (int index : following_.order) {
    State& state = following_.states[static_cast<size_t>(index)];
    const auto& outputs = following_.nodes[index].output();
    const bool in_branches = std::any_of(outputs.begin(), outputs.end(), [&](const auto& name) {
      return scopes_[0].values.contains(name) && !waiting.contains(name);
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
