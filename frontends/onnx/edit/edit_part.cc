// A part of a graph, between values or nodes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "frontends/onnx/edit/edit_model.h"
#include "ir/base/check.h"
#include "ir/base/suggest.h"
#include "ir/core/context/diagnostic.h"

namespace tenon::onnx {
namespace {

using onnxpb::GraphProto;
using onnxpb::NodeProto;
using onnxpb::TypeProto;
using onnxpb::ValueInfoProto;
using Names = std::vector<std::string>;

template <typename Map>
void Append(const Map& values, Names& names) {
  for (const auto& value : values) names.push_back(value.name());
}

// True if the declaration says all that an import can use.
bool IsComplete(const TypeProto& type) {
  if (type.value_case() != TypeProto::kTensorType) return type.value_case() != 0;
  const auto& shape = type.tensor_type();
  if (shape.elem_type() == 0 || !shape.has_shape()) return false;
  return std::all_of(shape.shape().dim().begin(), shape.shape().dim().end(),
                     [](const auto& dim) { return dim.value_case() != 0; });
}

// True if `part` has the name between its ends, colons and commas.
bool IsNamedIn(std::string_view part, const std::string& name) {
  const auto separates = [&](size_t at) {
    return at >= part.size() || part[at] == ':' || part[at] == ',';
  };
  if (name.empty()) return false;
  for (size_t at = part.find(name); at != std::string_view::npos; at = part.find(name, at + 1)) {
    if ((at == 0 || separates(at - 1)) && separates(at + name.size())) return true;
  }
  return false;
}

// Copies graphs inside of nodes to the main graph, as if they ran there: those of whose values and
// nodes `part` names one that the main graph lacks, with the graphs around them. Inputs of such a
// graph become inputs of the model.
class GraphRaiser {
 public:
  GraphRaiser(std::string_view part, GraphProto& main) : part_(part), main_(main) {
    AddNames(main);
  }

  void Run() {
    // The list grows: copied nodes have their graphs, too.
    for (int i = 0; i < main_.node_size(); ++i) {
      const NodeProto node = main_.node(i);
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) Visit(attribute.g());
        for (const GraphProto& graph : attribute.graphs()) Visit(graph);
      }
    }
  }

 private:
  void AddNames(const GraphProto& graph) {
    for (const NodeProto& node : graph.node()) {
      known_.insert(NodeName(node));
      known_.insert(node.output().begin(), node.output().end());
    }
  }

  bool IsMissing(const std::string& name) const {
    return !known_.contains(name) && IsNamedIn(part_, name);
  }

  bool HasMissing(const GraphProto& graph) const {
    const auto in_graph = [this](const GraphProto& inner) { return HasMissing(inner); };
    const auto in_attribute = [&](const onnxpb::AttributeProto& attribute) {
      return (attribute.has_g() && HasMissing(attribute.g())) ||
             std::any_of(attribute.graphs().begin(), attribute.graphs().end(), in_graph);
    };
    return std::any_of(graph.node().begin(), graph.node().end(), [&](const NodeProto& node) {
      return IsMissing(NodeName(node)) ||
             std::any_of(node.output().begin(), node.output().end(),
                         [this](const std::string& name) { return IsMissing(name); }) ||
             std::any_of(node.attribute().begin(), node.attribute().end(), in_attribute);
    });
  }

  void Visit(const GraphProto& graph) {
    if (!HasMissing(graph)) return;
    AddNames(graph);
    main_.mutable_node()->MergeFrom(graph.node());
    main_.mutable_initializer()->MergeFrom(graph.initializer());
    main_.mutable_sparse_initializer()->MergeFrom(graph.sparse_initializer());
    for (const auto* infos : {&graph.value_info(), &graph.output()}) {
      main_.mutable_value_info()->MergeFrom(*infos);
    }
    main_.mutable_input()->MergeFrom(graph.input());
  }

  const std::string_view part_;
  GraphProto& main_;
  NameSet known_;
};

class PartCutter {
 public:
  PartCutter(Context& context, GraphProto& graph) : context_(context), graph_(graph) {
    for (const auto& tensor : graph.initializer()) weights_.insert(tensor.name());
    for (const auto& tensor : graph.sparse_initializer()) weights_.insert(tensor.values().name());
    for (const auto& input : graph.input()) {
      if (!weights_.contains(input.name())) inputs_.insert(input.name());
    }
    for (int i = 0; i < graph.node_size(); ++i) {
      nodes_.emplace(NodeName(graph.node(i)), i);
      for (const std::string& name : graph.node(i).output()) {
        if (!name.empty()) producers_.emplace(name, i);
      }
    }
  }

  absl::Status Run(std::string_view part, const InferTypes& infer) {
    TENON_RETURN_IF_ERROR(Split(part));
    Collect();
    for (const std::string& name : from_) {
      if (!read_.contains(name)) {
        return absl::InvalidArgumentError(
            fmt::format("{} does not feed {}, so it cannot be an input of the part",
                        Described(name), Quoted(to_)));
      }
    }
    TypeProtos types;
    TENON_RETURN_IF_ERROR(FindTypes(infer, types));
    Rebuild(types);
    return absl::OkStatus();
  }

 private:
  bool IsValue(const std::string& name) const {
    return inputs_.contains(name) || weights_.contains(name) || producers_.contains(name);
  }
  bool IsKnown(const std::string& name) const { return IsValue(name) || nodes_.contains(name); }

  std::string Described(const std::string& value) const {
    const auto producer = producers_.find(value);
    if (producer == producers_.end()) return fmt::format("\"{}\"", value);
    return fmt::format("\"{}\" of node \"{}\"", value, NodeName(graph_.node(producer->second)));
  }

  static std::string Quoted(const Names& names) {
    return fmt::format("\"{}\"", fmt::join(names, "\", \""));
  }

  absl::Status NoSuchName(const std::string& name) const {
    Names names;
    Append(graph_.input(), names);
    for (const NodeProto& node : graph_.node()) {
      names.insert(names.end(), node.output().begin(), node.output().end());
      names.push_back(NodeName(node));
    }
    return absl::InvalidArgumentError(
        fmt::format("there is no value or node \"{}\" to cut at{}", name, DidYouMean(name, names)));
  }

  // Names may have commas themselves: of several readings the one with the longest known name
  // counts.
  Names SplitNames(std::string_view list) const {
    Names names;
    while (!list.empty()) {
      size_t end = list.find(',');
      for (size_t comma = end;; comma = list.find(',', comma + 1)) {
        if (IsKnown(std::string(list.substr(0, comma)))) end = comma;
        if (comma == std::string_view::npos) break;
      }
      const std::string_view name = list.substr(0, end);
      list.remove_prefix(std::min(list.size(), name.size() + 1));
      if (!name.empty()) names.emplace_back(name);
    }
    return names;
  }

  // Names may have colons themselves: the one that leaves known names on both sides counts.
  absl::Status Split(std::string_view part) {
    std::optional<std::pair<Names, Names>> found;
    std::optional<std::string> unknown;
    size_t fewest = 0;
    for (size_t colon = part.find(':'); colon != std::string_view::npos;
         colon = part.find(':', colon + 1)) {
      std::pair<Names, Names> sides{SplitNames(part.substr(0, colon)),
                                    SplitNames(part.substr(colon + 1))};
      Names missing;
      for (const Names* side : {&sides.first, &sides.second}) {
        std::copy_if(side->begin(), side->end(), std::back_inserter(missing),
                     [this](const std::string& name) { return !IsKnown(name); });
      }
      if (!missing.empty()) {
        if (!unknown || missing.size() < fewest) unknown = missing[0], fewest = missing.size();
        continue;
      }
      if (found) {
        return absl::InvalidArgumentError(
            fmt::format("\"{}\" can be read as {} : {} and as {} : {}", part, Quoted(found->first),
                        Quoted(found->second), Quoted(sides.first), Quoted(sides.second)));
      }
      found = std::move(sides);
    }
    if (!found && unknown) return NoSuchName(*unknown);
    if (!found || (found->first.empty() && found->second.empty())) {
      return absl::InvalidArgumentError(fmt::format(
          "the part \"{}\" has no ends (expected FROM:TO, names of values or nodes)", part));
    }
    for (const std::string& name : found->first) AddStart(name);
    for (const std::string& name : found->second) AddEnd(name);
    if (found->second.empty()) Append(graph_.output(), to_);
    return absl::OkStatus();
  }

  static void AddOnce(const std::string& name, Names& names) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }

  void AddStart(const std::string& name) {
    if (IsValue(name)) return AddOnce(name, from_);
    NameSet reads;
    const NodeProto& node = graph_.node(nodes_.at(name));
    CollectReads(node, reads);
    // In the order of the inputs; what graphs in the node capture comes from the part itself.
    for (const std::string& input : node.input()) {
      if (!reads.contains(input) || weights_.contains(input)) continue;
      const auto producer = producers_.find(input);
      if (producer == producers_.end() || graph_.node(producer->second).op_type() != "Constant")
        AddOnce(input, from_);
    }
  }

  void AddEnd(const std::string& name) {
    if (IsValue(name)) return AddOnce(name, to_);
    for (const std::string& output : graph_.node(nodes_.at(name)).output()) {
      if (!output.empty()) AddOnce(output, to_);
    }
  }

  // What the values of `to_` need, up to those of `from_`.
  void Collect() {
    Names pending = to_;
    while (!pending.empty()) {
      const std::string name = std::move(pending.back());
      pending.pop_back();
      if (!read_.insert(name).second) continue;
      if (std::find(from_.begin(), from_.end(), name) != from_.end()) continue;
      const auto producer = producers_.find(name);
      if (producer == producers_.end() || !kept_.insert(producer->second).second) continue;
      NameSet reads;
      CollectReads(graph_.node(producer->second), reads);
      pending.insert(pending.end(), reads.begin(), reads.end());
    }
  }

  absl::Status FindTypes(const InferTypes& infer, TypeProtos& types) const {
    for (const auto* infos : {&graph_.input(), &graph_.value_info(), &graph_.output()}) {
      for (const ValueInfoProto& info : *infos) types.emplace(info.name(), info.type());
    }
    for (const auto& tensor : graph_.initializer()) {
      auto& type = *types[tensor.name()].mutable_tensor_type();
      type.set_elem_type(tensor.data_type());
      type.mutable_shape()->clear_dim();
      for (const int64_t size : tensor.dims()) type.mutable_shape()->add_dim()->set_dim_value(size);
    }
    TypeProtos inferred;
    for (const std::string& name : from_) {
      if (!IsComplete(types[name])) inferred.emplace(name, TypeProto());
    }
    if (!inferred.empty()) infer(inferred);
    for (auto& [name, type] : inferred) {
      if (type.value_case() != 0) types[name] = std::move(type);
    }
    for (const std::string& name : from_) {
      if (types[name].value_case() != 0) continue;
      return absl::InvalidArgumentError(fmt::format(
          "the type of {} is not known, so it cannot be an input of the part", Described(name)));
    }
    return absl::OkStatus();
  }

  // A name like this one that no value has.
  std::string Unused(const std::string& name) {
    std::string unused = name + ".computed";
    while (IsValue(unused)) unused += "_";
    inputs_.insert(unused);
    return unused;
  }

  void Rebuild(const TypeProtos& types) {
    NodeList nodes;
    for (int i = 0; i < graph_.node_size(); ++i) {
      if (!kept_.contains(i)) continue;
      NodeProto& node = *nodes.Add();
      node.Swap(graph_.mutable_node(i));
      // The part reads another output of the node: what it also computes gives way to the input.
      for (std::string& output : *node.mutable_output()) {
        if (std::find(from_.begin(), from_.end(), output) != from_.end()) output = Unused(output);
      }
    }
    graph_.mutable_node()->Swap(&nodes);
    GraphProto part;
    const auto declare = [&](const std::string& name, ValueInfoProto& info) {
      info.set_name(name);
      if (const auto type = types.find(name); type != types.end())
        *info.mutable_type() = type->second;
    };
    for (const std::string& name : from_) declare(name, *part.add_input());
    for (const ValueInfoProto& input : graph_.input()) {
      const bool is_start = std::find(from_.begin(), from_.end(), input.name()) != from_.end();
      if (is_start || !inputs_.contains(input.name()) || !read_.contains(input.name())) continue;
      *part.add_input() = input;
      if (from_.empty()) continue;
      EmitRemark(context_, Location::Name(context_, input.name()),
                 fmt::format("the part also reads the input \"{}\"", input.name()));
    }
    for (const std::string& name : to_) declare(name, *part.add_output());
    graph_.mutable_input()->Swap(part.mutable_input());
    graph_.mutable_output()->Swap(part.mutable_output());
    const NameSet starts(from_.begin(), from_.end());
    auto& weights = *graph_.mutable_initializer();
    const auto rest = std::remove_if(weights.begin(), weights.end(), [&](const auto& tensor) {
      return starts.contains(tensor.name());
    });
    weights.erase(rest, weights.end());
  }

  Context& context_;
  GraphProto& graph_;
  NameSet inputs_, weights_;
  absl::flat_hash_map<std::string, int> producers_,  // node of each value
      nodes_;                                        // by name; the first of several
  Names from_, to_;                                  // values
  NameSet read_;                                     // values that the part has
  absl::flat_hash_set<int> kept_;                    // nodes of the part
};

}  // namespace

absl::Status CutPart(Context& context, const std::string& part, const InferTypes& infer,
                     GraphProto& graph) {
  GraphRaiser(part, graph).Run();
  return PartCutter(context, graph).Run(part, infer);
}

}  // namespace tenon::onnx
