// Declarations of operations, and measures, in the text of rules.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "drr/rule/rule_text.h"
#include "drr/text/text.h"
#include "drr/text/text_parser.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "ir/base/suggest.h"
#include "ir/core/context/declared_ops.h"
#include "ir/dialect/declared_op.h"

namespace tenon::drr {
namespace {

bool IsPlainName(std::string_view name) { return name.find_first_of(".-") == name.npos; }

TypeConstraint AnyTensor() {
  TypeConstraint types;
  types.dtypes = *DTypesNamed("tensor");
  return types;
}

std::string TypesText(const TypeConstraint& types) {
  if (!types.dialect_type.empty()) return ": !" + types.dialect_type;
  const std::string words = WordsOfDTypes(types.dtypes);
  return words == "tensor" ? "" : ": " + words;
}

std::string DefaultText(const OpInfo& op, const AttrDef& attr) {
  if (attr.default_text.empty()) return "";
  AttrNode node;
  node.kind = AttrNode::Kind::kLiteral;
  node.literal = ToAttrValue(op.default_value(op.FindSlot(attr.name)));
  return " = " + ToString(node);
}

}  // namespace

absl::StatusOr<std::string> RuleTextParser::PlainName(std::string_view what) {
  const Token at = token_;
  TENON_ASSIGN_OR_RETURN(std::string name, Name(what));
  if (IsPlainName(name)) return name;
  return ErrorAt(at, fmt::format("'{}' has '.' or '-' (expected letters, digits and '_')", name));
}

// f16 | f32   !acme.ledger
absl::StatusOr<TypeConstraint> RuleTextParser::ParseTypes() {
  TypeConstraint types;
  if (Take("!")) {
    TENON_ASSIGN_OR_RETURN(types.dialect_type, Name("the name of a type, such as acme.ledger"));
    return types;
  }
  do {
    const Token at = token_;
    TENON_ASSIGN_OR_RETURN(const std::string word, Name("an element type, or tensor"));
    const std::optional<uint32_t> some = DTypesNamed(word);
    if (!some) {
      return ErrorAt(at, fmt::format("'{}' is no element type (expected tensor, float, int, number "
                                     "or one such as f32)",
                                     word));
    }
    types.dtypes |= *some;
  } while (Take("|"));
  return types;
}

// x: f32   bias?: float   each xs
absl::StatusOr<OperandDef> RuleTextParser::ParseDeclaredOperand() {
  OperandDef operand;
  if (Take("each")) operand.arity = Arity::kVariadic;
  TENON_ASSIGN_OR_RETURN(operand.name, PlainName("the name of an operand"));
  if (operand.arity == Arity::kSingle && Take("?")) operand.arity = Arity::kOptional;
  operand.constraint = AnyTensor();
  if (Take(":")) {
    TENON_ASSIGN_OR_RETURN(operand.constraint, ParseTypes());
  }
  return operand;
}

// alpha: f32 = 1   axis?: i64   mode: {"a", "b"} = "a"
absl::StatusOr<AttrDef> RuleTextParser::ParseDeclaredAttr() {
  AttrDef attr;
  TENON_ASSIGN_OR_RETURN(attr.name, PlainName("the name of an attribute"));
  attr.required = !Take("?");
  TENON_RETURN_IF_ERROR(Require(":"));
  const Token at = token_;
  if (Take("{")) {
    attr.type = AttrType::kEnum;
    do {
      if (token_.kind != Token::Kind::kString) return Expected("a value in quotes");
      attr.enums.emplace_back(token_.text);
      Next();
    } while (Take(","));
    TENON_RETURN_IF_ERROR(Require("}"));
  } else {
    TENON_ASSIGN_OR_RETURN(const std::string word, Name("a kind of attribute, such as f32"));
    const std::optional<AttrType> kind = KindNamed(word);
    if (!kind) {
      return ErrorAt(
          at, fmt::format("'{}' is no kind of attribute (expected {}, or values in "
                          "braces){}",
                          word, fmt::join(KindWords(), ", "), DidYouMean(word, KindWords())));
    }
    attr.type = *kind;
  }
  const Token equal = token_;
  if (!Take("=")) return attr;
  if (!attr.required)
    return ErrorAt(equal, "an attribute has '?' or a default (expected one of them)");
  attr.required = false;
  const Token value_at = token_;
  TENON_ASSIGN_OR_RETURN(const AttrRef value, ParseAttr(attr.type));
  const Attribute literal = value->kind == AttrNode::Kind::kLiteral
                                ? ToAttribute(context_, attr.type, value->literal)
                                : Attribute();
  const std::string* text = std::get_if<std::string>(&value->literal);
  const bool listed = attr.type != AttrType::kEnum ||
                      (text != nullptr &&
                       std::find(attr.enums.begin(), attr.enums.end(), *text) != attr.enums.end());
  if (!literal || !listed) {
    return ErrorAt(value_at,
                   fmt::format("'{}' is no value of attribute '{}'", value_at.text, attr.name));
  }
  attr.default_text = literal.text();
  return attr;
}

// op my.gated(x: float, w) {alpha: f32 = 1} -> same_as(x) "what it computes"
absl::Status RuleTextParser::ParseOpSignature(OpDef& def) {
  const Token at = token_;
  TENON_ASSIGN_OR_RETURN(def.name, Name("the name of an operation, such as my.gelu"));
  if (def.name.find('.') == std::string::npos) {
    return ErrorAt(at, fmt::format("op '{}' has no dialect (expected one of your own, such as "
                                   "my.{})",
                                   def.name, def.name));
  }
  TENON_RETURN_IF_ERROR(Require("("));
  while (!Is(")")) {
    if (!def.operands.empty()) TENON_RETURN_IF_ERROR(Require(","));
    TENON_ASSIGN_OR_RETURN(OperandDef operand, ParseDeclaredOperand());
    def.operands.push_back(std::move(operand));
  }
  Next();
  if (Take("{")) {
    while (!Is("}")) {
      if (!def.attrs.empty()) TENON_RETURN_IF_ERROR(Require(","));
      TENON_ASSIGN_OR_RETURN(AttrDef attr, ParseDeclaredAttr());
      def.attrs.push_back(std::move(attr));
    }
    Next();
  }
  OperandDef& result = def.results.emplace_back();
  result.name = "out";
  result.constraint = AnyTensor();
  return absl::OkStatus();
}

absl::Status RuleTextParser::ParseOpResult(OpDef& def, DeclaredShape& shape) {
  TENON_RETURN_IF_ERROR(Require("->"));
  shape = DeclaredShape::kElementwise;
  if (!Take("elementwise")) {
    if (!Take("same_as"))
      return ExpectedWord("'elementwise' or 'same_as'", {"elementwise", "same_as"});
    shape = DeclaredShape::kSameAsFirst;
    TENON_RETURN_IF_ERROR(Require("("));
    const Token operand_at = token_;
    TENON_ASSIGN_OR_RETURN(const std::string operand, Name("the first operand"));
    if (def.operands.empty() || def.operands[0].name != operand)
      return ErrorAt(operand_at, fmt::format("'{}' is not the first operand", operand));
    TENON_RETURN_IF_ERROR(Require(")"));
  }
  if (Take(":")) {
    TENON_ASSIGN_OR_RETURN(def.results[0].constraint, ParseTypes());
  }
  return absl::OkStatus();
}

// commutative same_dtype "x * sigmoid(gate)"
void RuleTextParser::ParseOpTraits(OpDef& def) {
  while (token_.kind == Token::Kind::kName && TraitNamed(token_.text)) {
    def.traits |= static_cast<uint32_t>(*TraitNamed(token_.text));
    Next();
  }
  if (token_.kind == Token::Kind::kString) {
    def.summary = std::string(token_.text);
    Next();
  }
}

absl::Status RuleTextParser::DeclareAt(const Token& at, OpDef def, DeclaredShape shape) {
  const absl::Status status = DeclareOpOfShape(std::move(def), shape, context_);
  return status.ok() ? status : ErrorAt(at, std::string(status.message()));
}

absl::Status RuleTextParser::ParseOpDeclaration() {
  const Token at = token_;
  OpDef def;
  DeclaredShape shape = DeclaredShape::kElementwise;
  TENON_RETURN_IF_ERROR(ParseOpSignature(def));
  TENON_RETURN_IF_ERROR(ParseOpResult(def, shape));
  ParseOpTraits(def);
  if (token_.kind == Token::Kind::kName && !Is("rule") && !Is("pattern") && !Is("op")) {
    const std::vector<std::string> traits = TraitWords(~uint32_t{0});
    std::vector<std::string> words = {"rule", "pattern", "op"};
    words.insert(words.end(), traits.begin(), traits.end());
    return ExpectedWord(fmt::format("{}, or the next rule, pattern or op", fmt::join(traits, ", ")),
                        words);
  }
  return DeclareAt(at, std::move(def), shape);
}

absl::StatusOr<const OpInfo*> RuleTextParser::RunOp(DeclaredResult result) {
  const Token at = token_;
  OpDef def;
  DeclaredShape shape = DeclaredShape::kSameAsFirst;
  TENON_RETURN_IF_ERROR(ParseOpSignature(def));
  if (result == DeclaredResult::kInText) {
    TENON_RETURN_IF_ERROR(ParseOpResult(def, shape));
  } else if (Is("->")) {
    return Error("'->' stands beside a shape function (expected one of them)");
  }
  ParseOpTraits(def);
  if (token_.kind != Token::Kind::kEnd) {
    const std::vector<std::string> traits = TraitWords(~uint32_t{0});
    return ExpectedWord(
        fmt::format("{}, a text in quotes, or the end of the declaration", fmt::join(traits, ", ")),
        traits);
  }
  const std::string name = def.name;
  TENON_RETURN_IF_ERROR(DeclareAt(at, std::move(def), shape));
  return context_.FindOp(name);
}

// div   fused.attention {out_layout = "bshd"}
absl::StatusOr<MeasuredOp> RuleTextParser::ParseMeasuredOp() {
  const Token at = token_;
  TENON_ASSIGN_OR_RETURN(const std::string name, Name("an operation"));
  const OpInfo* info = FindOp(name);
  if (info == nullptr)
    return ErrorAt(at, fmt::format("there is no op '{}'{}", name, NearestOp(name)));
  MeasuredOp op{std::string(info->name())};
  if (!Take("{")) return op;
  const Token attr = token_;
  TENON_ASSIGN_OR_RETURN(op.attr, Name("an attribute"));
  if (op.attr != "rank" && op.attr != "operands" && info->FindSlot(op.attr) < 0)
    return ErrorAt(attr, fmt::format("{} has no attribute '{}'", info->name(), op.attr));
  TENON_RETURN_IF_ERROR(Require("="));
  if (token_.kind == Token::Kind::kString) {
    op.value = std::string(token_.text);
    Next();
  } else {
    TENON_ASSIGN_OR_RETURN(op.value, Integer());
  }
  TENON_RETURN_IF_ERROR(Require("}"));
  return op;
}

// div   axes(transpose)
absl::StatusOr<MeasuredOp> RuleTextParser::ParseWeighedOp() {
  using Weight = MeasuredOp::Weight;
  for (const Weight weight :
       {Weight::kAxes, Weight::kExchanges, Weight::kOperands, Weight::kNegatives, Weight::kReads}) {
    if (!Take(drr::NameOf(weight))) continue;
    TENON_RETURN_IF_ERROR(Require("("));
    const Token at = token_;
    TENON_ASSIGN_OR_RETURN(MeasuredOp op, ParseMeasuredOp());
    op.weight = weight;
    if (weight == Weight::kExchanges && FindOp(op.name)->FindSlot("perm") < 0)
      return ErrorAt(at, fmt::format("{} has no attribute 'perm'", op.name));
    TENON_RETURN_IF_ERROR(Require(")"));
    return op;
  }
  return ParseMeasuredOp();
}

// matmul   operand(matmul, 1)
absl::StatusOr<MeasuredOp> RuleTextParser::ParseOperandOfOp() {
  if (!Take("operand")) return ParseMeasuredOp();
  TENON_RETURN_IF_ERROR(Require("("));
  TENON_ASSIGN_OR_RETURN(MeasuredOp op, ParseMeasuredOp());
  TENON_RETURN_IF_ERROR(Require(","));
  const Token at = token_;
  TENON_ASSIGN_OR_RETURN(const int64_t operand, Integer());
  constexpr int64_t kMostOperands = 1 << 16;
  if (operand < 0 || operand > kMostOperands)
    return ErrorAt(at, fmt::format("there is no operand {}", operand));
  op.operand = static_cast<int>(operand);
  TENON_RETURN_IF_ERROR(Require(")"));
  return op;
}

// ops(div, mul)   before({reshape, expand}, matmul)   elements   bytes   "words"
absl::StatusOr<Measure> RuleTextParser::ParseMeasure() {
  Measure measure;
  if (token_.kind == Token::Kind::kString) {
    measure.kind = Measure::Kind::kWords;
    measure.words = std::string(token_.text);
    Next();
    return measure;
  }
  if (Take("elements")) return ElementsComputed();
  if (Take("bytes")) return BytesComputed();
  measure.kind = Is("before") ? Measure::Kind::kBefore : Measure::Kind::kOps;
  if (!Take("before") && !Take("ops"))
    return ExpectedWord("ops(…), before(…), elements, bytes or a text in quotes",
                        {"ops", "before", "elements", "bytes"});
  TENON_RETURN_IF_ERROR(Require("("));
  if (measure.kind == Measure::Kind::kOps) {
    do {
      TENON_ASSIGN_OR_RETURN(measure.ops.emplace_back(), ParseWeighedOp());
    } while (Take(","));
    TENON_RETURN_IF_ERROR(Require(")"));
    return measure;
  }
  for (std::vector<MeasuredOp>* ops : {&measure.ops, &measure.behind}) {
    const bool behind = ops == &measure.behind;
    if (behind) TENON_RETURN_IF_ERROR(Require(","));
    const bool several = Take("{");
    do {
      TENON_ASSIGN_OR_RETURN(ops->emplace_back(), behind ? ParseOperandOfOp() : ParseWeighedOp());
    } while (several && Take(","));
    if (several) TENON_RETURN_IF_ERROR(Require("}"));
  }
  TENON_RETURN_IF_ERROR(Require(")"));
  return measure;
}

std::string DeclarationText(const OpInfo& op) {
  const OpDef& def = op.def();
  std::vector<std::string> operands, attrs;
  for (const OperandDef& operand : def.operands) {
    operands.push_back(fmt::format("{}{}{}{}", operand.arity == Arity::kVariadic ? "each " : "",
                                   operand.name, operand.arity == Arity::kOptional ? "?" : "",
                                   TypesText(operand.constraint)));
  }
  for (const AttrDef& attr : def.attrs) {
    if (attr.name == "operandSegmentSizes") continue;
    std::string kind(WordOfKind(attr.type));
    if (attr.type == AttrType::kEnum)
      kind = fmt::format("{{\"{}\"}}", fmt::join(attr.enums, "\", \""));
    attrs.push_back(fmt::format("{}{}: {}{}", attr.name,
                                attr.required || !attr.default_text.empty() ? "" : "?", kind,
                                DefaultText(op, attr)));
  }
  std::string traits;
  for (const std::string& word : TraitWords(def.traits)) traits += " " + word;
  return fmt::format("op {}({}){} -> {}{}{}{}\n", def.name, fmt::join(operands, ", "),
                     attrs.empty() ? "" : fmt::format(" {{{}}}", fmt::join(attrs, ", ")),
                     ShapeOf(def) == DeclaredShape::kElementwise
                         ? "elementwise"
                         : fmt::format("same_as({})", def.operands[0].name),
                     TypesText(def.results[0].constraint), traits,
                     def.summary.empty() ? "" : " " + QuotedText(def.summary));
}

namespace {

void AddOpNames(const ValRef& val, absl::flat_hash_set<const ValNode*>& seen,
                std::set<std::string>& names) {
  const ValNode& node = *val.node;
  if (!seen.insert(&node).second) return;
  if (node.kind == ValNode::Kind::kOp) names.insert(node.op);
  for (const ValRef& alternative : node.alternatives) AddOpNames(alternative, seen, names);
  for (const auto& group : node.operands) {
    for (const OperandPattern& operand : group) AddOpNames(operand.val, seen, names);
  }
}

}  // namespace

std::string DeclarationsFor(std::span<const Rule> rules, const Context& context) {
  absl::flat_hash_set<const ValNode*> seen;
  std::set<std::string> names;
  for (const Rule& rule : rules) {
    for (const auto* vals : {&rule.roots(), &rule.results()}) {
      for (const ValRef& val : *vals) AddOpNames(val, seen, names);
    }
    for (const auto* ops : {&rule.lowers().ops, &rule.lowers().behind}) {
      for (const MeasuredOp& op : *ops) names.insert(op.name);
    }
  }
  std::string text;
  for (const std::string& name : names) {
    const OpInfo* const op = context.FindOp(name);
    if (op != nullptr && IsDeclared(*op)) text += DeclarationText(*op);
  }
  return text;
}

}  // namespace tenon::drr
