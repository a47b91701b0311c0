#include "frontends/view/program.h"

#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "drr/match/matcher.h"
#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/verify/symbol_table.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/func_ops.h"

namespace tenon::view {
namespace {

constexpr size_t kLongestAttribute = 2000;

// "f32[2,S]" for tensors; MLIR's text for others.
std::string TypeText(Type type) {
  if (!type) return "";
  if (!type.is_any_tensor()) return type.text();
  std::string text(Name(type.dtype()));
  if (!type.is_tensor()) return text + "[...]";
  text += "[";
  for (size_t i = 0; i < type.dims().size(); ++i)
    text += (i == 0 ? "" : ",") + type.dims()[i].text();
  return text + "]";
}

// The first node name of a location; a position in a file has none.
std::string_view NodeName(const Context& context, Location location) {
  for (int depth = 0; depth < kMaxGroupDepth && !location.is_unknown(); ++depth) {
    const LocationData& data = Resolve(context, location);
    if (data.kind == Location::Kind::kName) return data.text;
    if (data.parts.empty()) return {};
    location = data.parts.front();
  }
  return {};
}

void AddAttribute(std::string_view name, Attribute value, std::string& lines) {
  if (!value) return;
  std::string text = value.kind() == Attribute::Kind::kElements
                         ? "constant " + TypeText(value.type())
                         : value.text();
  if (text.size() > kLongestAttribute) text = text.substr(0, kLongestAttribute) + " ...";
  lines += fmt::format("{}{} = {}", lines.empty() ? "" : "\n", name, text);
}

std::string AttributesOf(const Operation& op) {
  std::string lines;
  for (unsigned i = 0; i < op.num_slots(); ++i) {
    const int slot = static_cast<int>(i);
    if (!op.info().is_registered()) {
      AddAttribute("properties", op.slot(i), lines);
    } else if (op.slot(i) != op.info().default_value(slot) && slot != op.info().segment_slot()) {
      AddAttribute(op.info().slot_name(slot).str(), op.slot(i), lines);
    }
  }
  if (const Attribute others = op.discardable_attrs(); others) {
    for (const NamedAttribute& entry : others.entries())
      AddAttribute(entry.name.str(), entry.value, lines);
  }
  return lines;
}

class ProgramReader {
 public:
  Program Read(const Operation& module) {
    program_.groups.push_back({"program", -1, -1});
    const Operation* only = nullptr;
    int functions = 0;
    if (module.num_regions() > 0) {
      for (const Block& block : module.region()) {
        for (const Operation& op : block) {
          if (!Isa<func::FuncOp>(op) || op.region().empty()) continue;
          ++functions;
          only = &op;
        }
      }
    }
    if (functions == 1) {
      program_.groups[0].label = fmt::format("@{}", SymbolName(*only));
      ReadRegion(only->region(), 0, only);
    } else if (module.num_regions() > 0) {
      ReadRegion(module.region(), 0, nullptr);
    }
    AddInputs();
    DissolveSmallGroups();
    return std::move(program_);
  }

 private:
  int AddGroup(std::string label, int parent, int op = -1) {
    program_.groups.push_back({std::move(label), parent, op});
    depth_.push_back(depth_[static_cast<size_t>(parent)] + 1);
    return static_cast<int>(program_.groups.size()) - 1;
  }

  // The group for the parts of `node` before its last one; `label` becomes the rest.
  int GroupFor(std::string_view node, int group, std::string& label) {
    const int start = depth_[static_cast<size_t>(group)];
    while (depth_[static_cast<size_t>(group)] < start + kMaxGroupDepth) {
      while (node.starts_with('/')) node.remove_prefix(1);
      const size_t slash = node.find('/');
      if (slash == std::string_view::npos || slash + 1 == node.size()) break;
      const auto [at, added] = by_name_.try_emplace({group, std::string(node.substr(0, slash))}, 0);
      if (added) at->second = AddGroup(at->first.second, group);
      group = at->second;
      node.remove_prefix(slash + 1);
    }
    label = std::string(node);
    return group;
  }

  int AddOp(Op op) {
    program_.ops.push_back(std::move(op));
    sources_.push_back(nullptr);
    return static_cast<int>(program_.ops.size()) - 1;
  }

  void AddResult(Value value, int op) {
    Op& owner = program_.ops[static_cast<size_t>(op)];
    const int index = static_cast<int>(program_.values.size());
    values_[value.impl()] = index;
    program_.values.push_back({TypeText(value.type()), op, static_cast<int>(owner.results.size())});
    owner.results.push_back(index);
  }

  void AddArgument(Value value, int group, const Operation* function) {
    Op op;
    op.name = function != nullptr ? "input" : "argument";
    op.label = value.name();
    op.group = group;
    if (function != nullptr) {
      const Attribute list = function->attr("arg_attrs");
      const unsigned i = value.argument_index();
      if (list && list.kind() == Attribute::Kind::kArray && i < list.elements().size() &&
          list.elements()[i].kind() == Attribute::Kind::kDictionary) {
        const Attribute name = list.elements()[i].Get("core.name");
        if (name && name.kind() == Attribute::Kind::kString) op.label = std::string(name.str());
      }
    }
    AddResult(value, AddOp(std::move(op)));
  }

  void ReadRegion(Region& region, int group, const Operation* function) {
    for (Block& block : region) {
      for (unsigned i = 0; i < block.num_arguments(); ++i)
        AddArgument(block.argument(i), group, function);
      for (Operation& op : block) ReadOp(op, group);
    }
  }

  void ReadOp(Operation& op, int group) {
    if (op.Has(Trait::kConstantLike) || Isa<core::GetParameterOp>(op)) {
      for (std::string& node : drr::DescribeAllLocations(op.context(), op.location()))
        program_.folded.push_back(std::move(node));
      return;
    }
    const bool function = Isa<func::FuncOp>(op);
    if (function || op.name() == "builtin.module") {
      if (op.num_regions() == 0 || op.region().empty()) return;
      const std::string label =
          function ? fmt::format("@{}", SymbolName(op)) : std::string(op.name());
      return ReadRegion(op.region(), AddGroup(label, group), function ? &op : nullptr);
    }
    if (op.Has(Trait::kSymbol)) return;
    const std::string_view node = NodeName(op.context(), op.location());
    Op shown;
    shown.name = std::string(op.name());
    shown.node = DescribeLocation(op.context(), op.location());
    shown.group = op.Has(Trait::kTerminator) ? group : GroupFor(node, group, shown.label);
    shown.attributes = AttributesOf(op);
    shown.from = drr::DescribeAllLocations(op.context(), op.location());
    const int index = AddOp(std::move(shown));
    sources_[static_cast<size_t>(index)] = &op;
    for (unsigned r = 0; r < op.num_results(); ++r) AddResult(op.result(r), index);
    bool has_body = false;
    for (unsigned r = 0; r < op.num_regions(); ++r) has_body |= !op.region(r).empty();
    if (!has_body) return;
    Op& owner = program_.ops[static_cast<size_t>(index)];
    const std::string label =
        owner.label.empty() ? owner.name : fmt::format("{} {}", owner.name, owner.label);
    const int inner = AddGroup(label, owner.group, index);
    program_.ops[static_cast<size_t>(index)].inner = inner;
    for (unsigned r = 0; r < op.num_regions(); ++r) {
      const bool one = op.num_regions() == 1;
      ReadRegion(op.region(r), one ? inner : AddGroup(fmt::format("region {}", r), inner), nullptr);
    }
  }

  // When all values are known: those of later blocks may be used in earlier ones.
  void AddInputs() {
    for (size_t i = 0; i < program_.ops.size(); ++i) {
      const Operation* const op = sources_[i];
      if (op == nullptr) continue;
      std::vector<std::string> names = OperandNames(*op);
      for (unsigned k = 0; k < op->num_operands(); ++k) {
        const Value value = op->operand(k);
        if (!value) continue;
        Input input;
        input.name = std::move(names[k]);
        if (const auto at = values_.find(value.impl()); at != values_.end()) {
          input.value = at->second;
        } else {
          const Operation* const constant = value.defining_op();
          const bool parameter = constant != nullptr && Isa<core::GetParameterOp>(constant);
          input.constant =
              fmt::format("{} {}", parameter ? constant->attr("name").text() : "constant",
                          TypeText(value.type()));
        }
        program_.ops[i].inputs.push_back(std::move(input));
      }
    }
  }

  // By operand; empty where the definition says nothing.
  static std::vector<std::string> OperandNames(const Operation& op) {
    std::vector<std::string> names;
    const std::vector<OperandDef>& groups = op.info().def().operands;
    absl::InlinedVector<int32_t, 6> sizes;
    if (op.info().OperandSegments(static_cast<int>(op.num_operands()), op.slots(), sizes)) {
      for (size_t g = 0; g < groups.size() && g < sizes.size(); ++g) {
        for (int32_t i = 0; i < sizes[g]; ++i)
          names.push_back(sizes[g] == 1 ? groups[g].name : fmt::format("{} {}", groups[g].name, i));
      }
    }
    names.resize(op.num_operands());
    return names;
  }

  // From the innermost out. Functions and regions stay.
  void DissolveSmallGroups() {
    const size_t n = program_.groups.size();
    std::vector<std::vector<int>> ops(n), groups(n);
    for (size_t i = 0; i < program_.ops.size(); ++i) {
      if (program_.ops[i].inner < 0)
        ops[static_cast<size_t>(program_.ops[i].group)].push_back(static_cast<int>(i));
    }
    std::vector<bool> named(n, false), gone(n, false);
    for (const auto& [key, group] : by_name_) named[static_cast<size_t>(group)] = true;
    for (size_t g = n; g-- > 1;) {
      Group& group = program_.groups[g];
      const size_t parent = static_cast<size_t>(group.parent);
      if (named[g] && ops[g].size() + groups[g].size() == 1) {
        gone[g] = true;
        if (groups[g].empty()) {
          const int op = ops[g][0];
          Op& only = program_.ops[static_cast<size_t>(op)];
          only.label = group.label + "/" + only.label;
          only.group = group.parent;
          ops[parent].push_back(op);
        } else {
          const int inner = groups[g][0];
          Group& only = program_.groups[static_cast<size_t>(inner)];
          if (only.op < 0) only.label = group.label + "/" + only.label;
          if (only.op >= 0) program_.ops[static_cast<size_t>(only.op)].group = group.parent;
          only.parent = group.parent;
          groups[parent].push_back(inner);
        }
      } else {
        groups[parent].push_back(static_cast<int>(g));
      }
    }
    std::vector<int> number(n, -1);
    std::vector<Group> kept;
    for (size_t g = 0; g < n; ++g) {
      if (gone[g]) continue;
      number[g] = static_cast<int>(kept.size());
      kept.push_back(std::move(program_.groups[g]));
      Group& group = kept.back();
      if (group.parent >= 0) group.parent = number[static_cast<size_t>(group.parent)];
    }
    program_.groups = std::move(kept);
    for (Op& op : program_.ops) {
      op.group = number[static_cast<size_t>(op.group)];
      if (op.inner >= 0) op.inner = number[static_cast<size_t>(op.inner)];
    }
  }

  Program program_;
  std::vector<int> depth_ = {0};                        // by group
  std::map<std::pair<int, std::string>, int> by_name_;  // groups of node names
  std::unordered_map<const ValueImpl*, int> values_;    // looked up, never iterated
  std::vector<const Operation*> sources_;               // by op; null for arguments
};

}  // namespace

Program ReadProgram(const Operation& module) { return ProgramReader().Read(module); }

}  // namespace tenon::view
