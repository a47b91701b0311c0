// From the source graph of a rule to shared patterns. What a pattern leaves out makes it hold more
// often, and the matcher decides then.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <string_view>

#include "drr/automaton/patterns.h"
#include "drr/rule/words.h"

namespace tenon::drr {
namespace {

using Asks = ConditionNode::Asks;

// What a key begins with.
enum KeyOf : uint64_t { kNumberKey, kNumberConditionKey, kOpKey, kTypedKey, kEitherKey };

// True if values occur only as the argument of words about types.
bool AsksTypesOnly(const TermNode& term) {
  static constexpr std::string_view kAboutTypes[] = {"rank", "dim", "shape", "dtype", "float"};
  switch (term.kind) {
    case TermNode::Kind::kArgument:
      return false;
    case TermNode::Kind::kCall: {
      const bool about_types = std::find(std::begin(kAboutTypes), std::end(kAboutTypes),
                                         term.word->name) != std::end(kAboutTypes);
      for (size_t i = 0; i < term.operands.size(); ++i) {
        const TermNode& operand = *term.operands[i];
        const bool value = operand.kind == TermNode::Kind::kArgument && operand.argument.val;
        if (!(about_types && i == 0 && value) && !AsksTypesOnly(operand)) return false;
      }
      return true;
    }
    default:
      return std::all_of(term.operands.begin(), term.operands.end(),
                         [](const TermRef& operand) { return AsksTypesOnly(*operand); });
  }
}

// True if the answer follows from the types of its arguments.
bool AsksTypesOnly(const ConditionNode& condition) {
  switch (condition.asks) {
    case Asks::kRank:
    case Asks::kRankAtLeast:
    case Asks::kDType:
    case Asks::kFloat:
    case Asks::kDim:
      return true;
    case Asks::kEither:
    case Asks::kNot:
      return std::all_of(condition.parts.begin(), condition.parts.end(), [](const auto& part) {
        return std::all_of(part.begin(), part.end(),
                           [](const auto& node) { return AsksTypesOnly(*node); });
      });
    case Asks::kOther:
      return condition.term != nullptr && AsksTypesOnly(*condition.term);
    default:
      return false;
  }
}

// True if no function in C++ decides it, which may expect that all of the rule fits.
bool IsData(const ConditionNode& condition) {
  return condition.term != nullptr ||
         (!condition.parts.empty() &&
          std::all_of(condition.parts.begin(), condition.parts.end(), [](const auto& part) {
            return std::all_of(part.begin(), part.end(),
                               [](const auto& node) { return IsData(*node); });
          }));
}

}  // namespace

class PatternBuilder {
 public:
  PatternBuilder(PatternTable& table, const CompiledRule& rule) : table_(table), rule_(rule) {
    FindVariables();
    FindConditions();
  }

  PatternId Root() { return Of(rule_.roots[0], true); }

 private:
  using Key = PatternTable::Key;
  // Where an attribute variable is bound: a slot of an op, or a Splat.
  struct Variable {
    uint16_t node = kNone, slot = kNone;
    int places = 0;
  };

  void FindVariables() {
    variables_.resize(rule_.attr_names.size());
    const auto bind = [&](uint16_t variable, uint16_t node, uint16_t slot) {
      if (variable >= variables_.size()) return;
      variables_[variable] = {node, slot, variables_[variable].places + 1};
    };
    for (uint16_t n = 0; n < rule_.nodes.size(); ++n) {
      const Node& node = rule_.nodes[n];
      if (!node.in_source) continue;
      for (const AttrCode& code : node.attrs) {
        if (code.kind == AttrCode::Kind::kVariable) bind(code.variable, n, code.slot);
      }
      if (node.kind == ValNode::Kind::kSplat && node.splat.kind == AttrCode::Kind::kVariable)
        bind(node.splat.variable, n, kNone);
      if (node.kind != ValNode::Kind::kLet) continue;
      bind(node.let_variable, n, kNone);
      if (node.let_value.kind == AttrCode::Kind::kVariable) bind(node.let_value.variable, n, kNone);
    }
  }

  // Sorts the conditions by the value, the op or the number that they are about.
  void FindConditions() {
    for (const ConditionCode& condition : rule_.conditions) {
      // Without a proof a rule may still fire with fast math.
      if (condition.source->assumption != Assumption::kNone || condition.args.empty()) continue;
      const ArgCode& first = condition.args[0];
      if (first.edge.node != kNone) {
        AddTypeCondition(condition);
      } else if (first.attr != kNone && IsData(*condition.source)) {
        AddAttrCondition(condition);
      }
    }
  }

  void AddTypeCondition(const ConditionCode& condition) {
    const Edge& edge = condition.args[0].edge;
    std::vector<uint32_t>& questions = type_conditions_[{edge.node, edge.result}];
    if (condition.source->kind == ConditionNode::Kind::kShape) {
      questions.push_back(
          Ask({nullptr, Asks::kRank, static_cast<int64_t>(condition.shape.size())}));
      for (size_t i = 0; i < condition.shape.size(); ++i) {
        const DimCode& dim = rule_.dims[condition.shape[i]];
        if (dim.kind == DimNode::Kind::kConstant && dim.constant.is_constant())
          questions.push_back(
              Ask({nullptr, Asks::kDim, dim.constant.constant(), static_cast<int64_t>(i)}));
      }
      return;
    }
    const bool one_value =
        std::all_of(condition.args.begin(), condition.args.end(), [&](const ArgCode& arg) {
          return arg.edge.node == edge.node && arg.edge.result == edge.result;
        });
    if (!one_value || !AsksTypesOnly(*condition.source)) return;
    const ConditionNode& node = *condition.source;
    const bool plain =
        node.asks != Asks::kEither && node.asks != Asks::kNot && node.asks != Asks::kOther;
    // The numbers of other questions are hints.
    questions.push_back(plain ? Ask({nullptr, node.asks, node.number, node.axis,
                                     node.asks == Asks::kDType ? node.dtype : DType::kInvalid})
                              : Ask({&node, Asks::kOther}));
  }

  uint32_t Ask(const TypeQuestion& question) {
    const auto [it, inserted] = table_.known_questions_.try_emplace(
        Key{AddressKey(question.condition), static_cast<uint64_t>(question.asks),
            static_cast<uint64_t>(question.number), static_cast<uint64_t>(question.axis),
            static_cast<uint64_t>(question.dtype)},
        static_cast<uint32_t>(table_.type_questions_.size()));
    if (inserted) table_.type_questions_.push_back(question);
    return it->second;
  }

  // About attributes of one op, or about the number of one Splat.
  void AddAttrCondition(const ConditionCode& condition) {
    const Variable& first = variables_[condition.args[0].attr];
    if (first.node == kNone) return;
    OpPattern::Attr asked;
    asked.kind = AttrCode::Kind::kVariable;
    asked.condition = condition.source;
    for (const ArgCode& arg : condition.args) {
      if (arg.attr == kNone) return;
      const Variable& variable = variables_[arg.attr];
      if (variable.places != 1 || variable.node != first.node) return;
      asked.slots.push_back(variable.slot);
    }
    switch (rule_.nodes[first.node].kind) {
      case ValNode::Kind::kOp:
        attr_conditions_[first.node].push_back(std::move(asked));
        break;
      case ValNode::Kind::kSplat:
        number_conditions_[first.node].push_back(condition.source);
        break;
      default:
        break;
    }
  }

  PatternId Of(const Edge& edge, bool root = false) {
    const std::pair<uint16_t, uint16_t> place(edge.node, root ? kNone : edge.result);
    if (const auto it = known_.find(place); it != known_.end()) return it->second;
    PatternId pattern = Base(edge, root);
    const auto conditions = type_conditions_.find({edge.node, edge.result});
    if (conditions != type_conditions_.end() && (!root || edge.result == 0))
      pattern = Typed(pattern, conditions->second);
    known_.emplace(place, pattern);
    return pattern;
  }

  PatternId Base(const Edge& edge, bool root) {
    const Node& node = rule_.nodes[edge.node];
    switch (node.kind) {
      case ValNode::Kind::kVariable:
        return node.source->constant ? table_.constant_ : kAnything;
      case ValNode::Kind::kSplat:
        return Number(edge.node);
      case ValNode::Kind::kLet:
        return Of(node.alternatives[0], root);
      case ValNode::Kind::kAnyOf:
        return Either(node, root);
      case ValNode::Kind::kEach:
        return kAnything;
      case ValNode::Kind::kOp:
        return Operation(edge, root);
    }
    return kAnything;
  }

  PatternId Number(uint16_t n) {
    const Node& node = rule_.nodes[n];
    if (node.splat.kind == AttrCode::Kind::kLiteral) {
      const double number = node.splat.literal.float_value();
      const auto [pattern, added] = table_.Intern({kNumberKey, std::bit_cast<uint64_t>(number)}, 0);
      if (added) table_.numbers_.emplace_back(number, pattern);
      return pattern;
    }
    const auto condition = number_conditions_.find(n);
    if (condition == number_conditions_.end()) return table_.constant_;
    Key key{kNumberConditionKey};
    for (const ConditionNode* one : condition->second) key.push_back(AddressKey(one));
    const auto [pattern, added] = table_.Intern(std::move(key), 0);
    if (added) table_.AddNumberConditions(condition->second, pattern);
    return pattern;
  }

  PatternId Typed(PatternId base, std::vector<uint32_t> questions) {
    if (questions.empty()) return base;
    std::sort(questions.begin(), questions.end());
    questions.erase(std::unique(questions.begin(), questions.end()), questions.end());
    Key key{kTypedKey, base};
    key.insert(key.end(), questions.begin(), questions.end());
    const auto [pattern, added] = table_.Intern(std::move(key), table_.kinds_[base].height);
    if (added) {
      table_.kinds_[pattern].index = static_cast<uint32_t>(table_.typed_.size());
      table_.typed_.push_back(std::move(questions));
      table_.kinds_[base].typed.push_back(pattern);
    }
    return pattern;
  }

  PatternId Either(const Node& node, bool root) {
    Key key{kEitherKey};
    unsigned height = 0;
    for (const Edge& alternative : node.alternatives) {
      const PatternId part = Of(alternative, root);
      if (part == kAnything) return kAnything;
      key.push_back(part);
      height = std::max<unsigned>(height, table_.kinds_[part].height);
    }
    std::sort(key.begin() + 1, key.end());
    key.erase(std::unique(key.begin() + 1, key.end()), key.end());
    const std::vector<uint64_t> parts(key.begin() + 1, key.end());
    const auto [pattern, added] = table_.Intern(std::move(key), height);
    if (added) {
      for (const uint64_t part : parts) table_.kinds_[part].either.push_back(pattern);
    }
    return pattern;
  }

  // The op of the table, with the slots that the requirements are about. Others are left out.
  void AddAttrs(const Node& node, uint16_t n, PatternTable::Op& op, OpPattern& made) {
    std::vector<OpPattern::Attr> asked;
    for (const AttrCode& code : node.attrs) {
      OpPattern::Attr attr;
      attr.kind = code.kind;
      attr.slots = {code.slot};
      if (code.kind == AttrCode::Kind::kLiteral) {
        // Equal elements may be different attributes.
        if (code.literal && code.literal.kind() == Attribute::Kind::kElements) continue;
        attr.literal = code.literal;
      } else if (code.kind == AttrCode::Kind::kAxis) {
        attr.axis = std::get<int64_t>(code.source->literal);
        op.axis = true;
      } else {
        continue;
      }
      asked.push_back(std::move(attr));
    }
    if (const auto it = attr_conditions_.find(n); it != attr_conditions_.end())
      asked.insert(asked.end(), it->second.begin(), it->second.end());
    for (OpPattern::Attr& attr : asked) {
      bool known = true;
      for (const uint16_t slot : attr.slots) {
        if (std::find(op.slots.begin(), op.slots.end(), slot) != op.slots.end()) continue;
        known = known && op.slots.size() < PatternTable::kMostSlots;
        if (known) op.slots.push_back(slot);
      }
      if (known) made.attrs.push_back(std::move(attr));
    }
  }

  void AddOperands(const Node& node, OpPattern& made) {
    const std::vector<OperandDef>& groups = node.info->def().operands;
    std::map<std::pair<uint16_t, uint16_t>, OpPattern::Operand> first;  // by node and result
    for (uint16_t g = 0; g < node.operands.size(); ++g) {
      const std::vector<Edge>& edges = node.operands[g];
      const bool each = std::any_of(edges.begin(), edges.end(),
                                    [&](const Edge& edge) { return rule_.IsList(edge); });
      const Arity arity = groups[g].arity;
      if (arity == Arity::kVariadic && !each)
        made.counts.push_back({g, static_cast<uint32_t>(edges.size())});
      if (arity == Arity::kOptional && (edges.empty() || !edges[0].maybe))
        made.counts.push_back({g, edges.empty() ? 0u : 1u});
      for (uint16_t i = 0; i < edges.size(); ++i) {
        const Edge& edge = edges[i];
        const ValNode::Kind kind = rule_.nodes[edge.node].kind;
        if (rule_.IsList(edge)) break;
        const OpPattern::Operand operand{g, i, edge.maybe, Of(edge)};
        if (operand.pattern != kAnything) made.operands.push_back(operand);
        if (edge.maybe || (kind != ValNode::Kind::kVariable && kind != ValNode::Kind::kOp))
          continue;
        const auto [it, inserted] = first.emplace(std::pair(edge.node, edge.result), operand);
        if (!inserted) made.same.emplace_back(it->second, operand);
      }
    }
  }

  PatternId Operation(const Edge& edge, bool root) {
    const Node& node = rule_.nodes[edge.node];
    OpPattern made;
    made.op = node.info->id();
    made.result = root ? kNone : edge.result;
    made.commutative = node.commutative;
    AddOperands(node, made);
    PatternTable::Op& op = table_.ops_[made.op];
    if (op.number == 0) op.number = static_cast<uint16_t>(table_.ops_.size());
    AddAttrs(node, edge.node, op, made);
    unsigned height = 1;
    for (const OpPattern::Operand& operand : made.operands)
      height = std::max(height, table_.kinds_[operand.pattern].height + 1u);
    height = std::min(height, 254u);
    const auto [pattern, added] = table_.Intern(KeyFor(made), height);
    if (!added) return pattern;
    op.height = std::max(op.height, static_cast<uint8_t>(height));
    op.compares = op.compares || !made.same.empty();
    PatternId part = kAnything;
    for (const OpPattern::Operand& operand : made.operands) {
      if (!operand.maybe) part = std::max(part, operand.pattern);
    }
    op.all.push_back(pattern);
    (part == kAnything ? op.free : table_.kinds_[part].users).push_back(pattern);
    table_.kinds_[pattern].index = static_cast<uint32_t>(table_.op_patterns_.size());
    table_.op_patterns_.push_back(std::move(made));
    return pattern;
  }

  // Lists in it are behind their length. Operands of commutative ops have an order: a rule and its
  // mirror image are two patterns.
  static Key KeyFor(const OpPattern& made) {
    const auto place = [](const OpPattern::Operand& operand) {
      return uint64_t{operand.group} << 32 | uint64_t{operand.item} << 1 | (operand.maybe ? 1 : 0);
    };
    Key key{kOpKey, made.op, made.result};
    key.push_back(made.attrs.size());
    for (const OpPattern::Attr& attr : made.attrs) {
      key.push_back(static_cast<uint64_t>(attr.kind));
      key.push_back(attr.slots.size());
      key.insert(key.end(), attr.slots.begin(), attr.slots.end());
      key.push_back(AddressKey(attr.literal.storage()));
      key.push_back(static_cast<uint64_t>(attr.axis));
      key.push_back(AddressKey(attr.condition));
    }
    key.push_back(made.operands.size());
    for (const OpPattern::Operand& operand : made.operands) {
      key.push_back(place(operand));
      key.push_back(operand.pattern);
    }
    key.push_back(made.counts.size());
    for (const OpPattern::Count& count : made.counts)
      key.push_back(uint64_t{count.group} << 32 | count.size);
    for (const auto& [a, b] : made.same) {
      key.push_back(place(a));
      key.push_back(place(b));
    }
    return key;
  }

  PatternTable& table_;
  const CompiledRule& rule_;
  std::vector<Variable> variables_;  // by attribute variable
  std::map<std::pair<uint16_t, uint16_t>, std::vector<uint32_t>> type_conditions_;
  std::map<uint16_t, std::vector<OpPattern::Attr>> attr_conditions_;         // by node
  std::map<uint16_t, std::vector<const ConditionNode*>> number_conditions_;  // by node
  std::map<std::pair<uint16_t, uint16_t>, PatternId> known_;                 // by node and result
};

void PatternTable::Add(uint16_t number, const CompiledRule& rule) {
  const PatternId root = PatternBuilder(*this, rule).Root();
  if (root == kAnything) {
    AddUnknown(number);
  } else {
    kinds_[root].rules.push_back(number);
  }
}

}  // namespace tenon::drr
