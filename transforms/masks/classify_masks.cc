// classify-masks: gives fused.attention its mask as flags (causal, window, key_mask) where that is
// what the sub-program of the mask computes for all sizes, and drops masks that hide nothing.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/dialect/fused_ops.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/masks/mask_broadcast.h"
#include "transforms/masks/mask_class.h"
#include "transforms/masks/mask_emit.h"
#include "transforms/masks/mask_eval.h"
#include "transforms/masks/mask_split.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

constexpr std::string_view kName = "classify-masks";

// Extents of the scores of an attention.
struct Scores {
  DimExpr batch, heads, queries, keys;
  std::vector<DimExpr> dims() const { return {batch, heads, queries, keys}; }
};

std::optional<Scores> ScoresOf(fused::AttentionOp op) {
  const Type q = op.q().type(), k = op.k().type();
  if (!q.is_tensor() || !k.is_tensor()) return std::nullopt;
  const auto length = [](Type t, std::string_view layout) {
    return t.dim(layout == "bhsd" ? 2 : layout == "bhds" ? 3 : 1);
  };
  Scores s = {q.dim(0), DimExpr::Constant(q.context(), op.num_heads()), length(q, op.q_layout()),
              length(k, op.k_layout())};
  if (op.past_key()) {
    const Type past = op.past_key().type();
    if (!past.is_tensor()) return std::nullopt;
    s.keys = past.dim(2) + s.keys;
  }
  for (DimExpr d : s.dims()) {
    if (d.is_unknown()) return std::nullopt;
  }
  return s;
}

// What takes the place of one mask operand. The same for all attentions that share it.
struct Replacement {
  bool flags = false;  // the mask is known: it is in the four below, and in `mask` what is left
  bool causal = false;
  int64_t window = 0;
  bool repeat_first_key = false;
  double mask_value = 0;  // 0: hides nothing
  Value key_mask;         // may be null
  Value mask;             // instead of the operand; may be null
  Value narrower;         // the operand with fewer elements; may be null
  std::string name;       // of the class
  std::string reason;     // without flags: why
};

class Classifier {
 public:
  Classifier(Operation* function, PassContext& context) : function_(function), context_(context) {
    for (unsigned i = 0; i < function->region().front().num_arguments(); ++i) {
      const Type type = function->region().front().argument(i).type();
      std::vector<std::string_view> symbols;
      if (!type.is_tensor()) continue;
      for (DimExpr d : type.dims()) d.CollectSymbols(symbols);
      inputs_.insert(symbols.begin(), symbols.end());
    }
  }

  absl::StatusOr<PassResult> Run() {
    std::vector<fused::AttentionOp> ops;
    function_->WalkPreOrder([&](Operation* op) {
      if (Isa<fused::AttentionOp>(op)) ops.emplace_back(op);
      return true;
    });
    for (fused::AttentionOp op : ops) TENON_RETURN_IF_ERROR(Visit(op));
    EraseUnused();
    return PassResult{changed_};
  }

 private:
  absl::Status Visit(fused::AttentionOp op) {
    if (!op.mask() && !op.bias()) return Note(op, NameOfFlags(op), "");
    const std::optional<Scores> scores = ScoresOf(op);
    if (!scores) return Note(op, "general", "the extents of its operands are not known");
    fused::AttentionOp::Attrs attrs = op.attrs();
    Value operands[] = {op.mask(), op.bias()};
    SplitSum(op, *scores, operands);
    Value key_mask = op.key_mask();
    std::string name, reason;
    bool changed = operands[0] != op.mask() || operands[1] != op.bias();
    const auto add_name = [&](std::string_view part) {
      if (name.empty() || name == "none") {
        name = part;
      } else if (part != "none") {
        name += fmt::format(" + {}", part);
      }
    };
    // Positions first: where one of two masks can be flags, the other has fewer elements.
    const auto has_positions = [&](Value operand) {
      if (!operand) return false;
      const Replacement& r = Find(op, *scores, operand);
      return r.flags && (r.causal || r.window > 0);
    };
    const bool swapped = has_positions(operands[1]) && !has_positions(operands[0]);
    for (size_t i : {swapped ? size_t{1} : size_t{0}, swapped ? size_t{0} : size_t{1}}) {
      if (!operands[i]) continue;
      const Replacement& r = Find(op, *scores, operands[i]);
      const std::string why =
          r.flags ? Conflict(attrs, key_mask, operands[i], operands[1 - i], r) : r.reason;
      if (!why.empty()) {
        if (reason.empty()) reason = why;
        add_name(r.flags ? "values of keys" : r.name);
        if (!r.narrower) continue;
        operands[i] = r.narrower;
        changed = true;
        context_.statistics->Add("masks narrowed");
        continue;
      }
      add_name(r.name);
      changed = true;
      // A boolean mask hides by what the op says.
      const bool boolean = operands[i].type().dtype() == DType::kBool;
      if (!boolean && r.mask_value != 0) attrs.mask_value = static_cast<float>(r.mask_value);
      attrs.causal |= r.causal;
      if (r.window > 0) {
        attrs.window = attrs.window > 0 ? std::min(attrs.window, r.window) : r.window;
      }
      if (r.key_mask) key_mask = r.key_mask;
      attrs.repeat_first_key |= r.repeat_first_key;
      operands[i] = r.mask;
    }
    if (changed) {
      const fused::AttentionOp made = Replace(op, operands, key_mask, attrs);
      if (!made) return Note(op, "general", "its flags do not fit its operands");
      op = made;
    }
    return Note(op, name, reason);
  }

  // The class that the op's flags say, without a mask.
  static std::string NameOfFlags(fused::AttentionOp op) {
    mask::MaskClass c;
    c.known = true;
    c.causal = op.causal();
    c.window = op.window();
    c.all_keys = !op.key_mask();
    return c.Name();
  }

  // A sum that is one operand becomes two where one of its terms is known.
  void SplitSum(fused::AttentionOp op, const Scores& scores, Value (&operands)[2]) {
    if (operands[0] && operands[1]) return;
    const Value sum = operands[0] ? operands[0] : operands[1];
    const ten::AddOp add = DefinedBy<ten::AddOp>(sum);
    if (!add || Find(op, scores, sum).flags) return;
    const bool first = Find(op, scores, add.a()).flags, second = Find(op, scores, add.b()).flags;
    if (!first && !second) return;
    operands[0] = first ? add.a() : add.b();
    operands[1] = first ? add.b() : add.a();
  }

  // Why flags that are right by themselves cannot be added to those of the op; empty if they can.
  static std::string Conflict(const fused::AttentionOp::Attrs& attrs, Value key_mask, Value operand,
                              Value other, const Replacement& r) {
    if (r.mask_value == 0) return "";
    if (r.key_mask && key_mask) return "the operation has a mask of keys already";
    const bool by_position = attrs.causal || attrs.window > 0;
    if (r.repeat_first_key ? by_position : attrs.repeat_first_key && (r.causal || r.window > 0)) {
      return "a mask of length 1 would hide other keys than causality or a window does";
    }
    if (operand.type().dtype() == DType::kBool) return "";
    if (attrs.mask_replaces) return "the mask is added to scores, but another mask replaces them";
    const bool hides = by_position || key_mask || (other && other.type().dtype() == DType::kBool);
    if (!hides) return "";
    if (static_cast<double>(attrs.mask_value) != r.mask_value) {
      return fmt::format("another mask hides keys with {}, this one with {}", attrs.mask_value,
                         r.mask_value);
    }
    // Added twice, a finite number is another one.
    return std::isfinite(r.mask_value)
               ? fmt::format("another mask hides keys with {} too, and both add up",
                             attrs.mask_value)
               : "";
  }

  // Null, with the op as it was, if there is no such attention.
  fused::AttentionOp Replace(fused::AttentionOp op, const Value (&operands)[2], Value key_mask,
                             const fused::AttentionOp::Attrs& attrs) {
    OpBuilder builder = OpBuilder::Before(op.op());
    const absl::StatusOr<fused::AttentionOp> made =
        fused::AttentionOp::Create(builder, op->location(), op.q(), op.k(), op.v(), operands[0],
                                   operands[1], key_mask, op.past_key(), op.past_value(), attrs);
    if (!made.ok()) return fused::AttentionOp();
    if (const Attribute kept = op->discardable_attrs()) made->op()->SetDiscardableAttrs(kept);
    for (unsigned i = 0; i < op->num_results(); ++i) {
      made->op()->result(i).set_type(op->result(i).type());
      op->result(i).ReplaceAllUsesWith(made->op()->result(i));
    }
    op->Erase();
    changed_ = true;
    return *made;
  }

  absl::Status Note(fused::AttentionOp op, const std::string& name, const std::string& reason) {
    context_.statistics->Add(name);
    const std::string_view wanted = context_.explain_rule;
    const std::string_view rule = wanted.substr(0, wanted.find('@'));
    if (rule != kName || !context_.report) return absl::OkStatus();
    std::string node = DescribeLocation(op->context(), op->location());
    if (node.empty()) node = std::string(op->name());
    if (rule != wanted && node.find(wanted.substr(rule.size() + 1)) == std::string::npos) {
      return absl::OkStatus();
    }
    context_.report(reason.empty() ? fmt::format("{}: {}: {}", kName, node, name)
                                   : fmt::format("{}: {}: {}: {}", kName, node, name, reason));
    return absl::OkStatus();
  }

  const Replacement& Find(fused::AttentionOp op, const Scores& scores, Value operand) {
    std::string key = fmt::format("{}|{}", static_cast<const void*>(operand.impl()),
                                  static_cast<const void*>(op->block()));
    for (DimExpr d : scores.dims()) key += "|" + d.text();
    const auto [it, inserted] = found_.try_emplace(std::move(key));
    if (inserted) it->second = Analyze(op, scores, operand);
    return it->second;
  }

  static bool Mentions(DimExpr extent, DimExpr symbol) {
    std::vector<std::string_view> symbols;
    extent.CollectSymbols(symbols);
    return std::find(symbols.begin(), symbols.end(), symbol.symbol()) != symbols.end();
  }

  // An extent of the keys' axis of some leaf that would have to be the number of keys.
  using Guess = std::optional<std::pair<DimExpr, DimExpr>>;

  static Guess LengthOfLeaves(const mask::TermStore& store, mask::Ref function) {
    std::set<mask::Ref> seen;
    for (mask::AtomId a : store.AtomsOf(function)) {
      const mask::Atom& atom = store.atom(a);
      if (atom.kind != mask::Atom::Kind::kNonZero) continue;
      if (const Guess length = LengthOfLeaf(store, atom.term, seen)) return length;
    }
    return std::nullopt;
  }

  // `seen`: terms without one; terms share their arguments.
  static Guess LengthOfLeaf(const mask::TermStore& store, mask::Ref end,
                            std::set<mask::Ref>& seen) {
    if (!seen.insert(end).second) return std::nullopt;
    const mask::Term& term = store.term(end);
    for (mask::Ref argument : term.arguments) {
      if (const Guess length = LengthOfLeaf(store, argument, seen)) return length;
    }
    const DimExpr keys = store.ranges.extent(mask::kKey);
    for (size_t axis = 0; axis < term.index.size(); ++axis) {
      const DimExpr own = term.leaf.type().dim(static_cast<int64_t>(axis));
      const bool is_other = own.kind() == DimExpr::Kind::kSymbol && !Mentions(keys, own);
      if (term.index[axis].variable() == mask::kKey && is_other) return std::pair(own, keys);
    }
    return std::nullopt;
  }

  Replacement Analyze(fused::AttentionOp op, const Scores& scores, Value operand) {
    Guess guess;
    Replacement r = AnalyzeWith(op, scores, operand, guess);
    if (r.flags || !guess) return r;
    // Decoders with a past get an attention mask whose length is the past and the queries; that is
    // not in its type, but what reads the mask can check it.
    Replacement guessed = AnalyzeWith(op, scores, operand, guess);
    return guessed.flags ? guessed : r;
  }

  // Without a guess, makes one; with it, proves what is true if it is, and checks it.
  Replacement AnalyzeWith(fused::AttentionOp op, const Scores& scores, Value operand,
                          Guess& guess) {
    Replacement r;
    const Type type = operand.type();
    if (!type.is_tensor() || type.rank() > 4) {
      r.reason = "the rank of its mask is not known, or above 4";
      return r;
    }
    const std::vector<DimExpr> dims = scores.dims();
    mask::TermStore store(dims);
    mask::Evaluator evaluator(store, tables_);
    if (guess) evaluator.Assume(guess->first, guess->second);
    const mask::Ref function = evaluator.BroadcastElement(operand, dims, mask::PositionsOf(dims));
    const auto new_emitter = [&] {
      return mask::Emitter(store, OpBuilder::Before(op.op()), operand.location(),
                           evaluator.assumptions(), guess ? 1 : 0, inputs_);
    };
    mask::Emitter emitter = new_emitter();
    mask::MaskClass c = mask::Classify(store, function);
    r.name = c.Name();
    if (c.known) {
      const mask::ShortMask short_mask(operand, dims, tables_, store, c.keys);
      const mask::AtOne at_one = short_mask.OfClass(c);
      emitter.MayBeOne(short_mask.extents());
      if (!c.all_keys) r.key_mask = emitter.Emit(c.keys);
      r.repeat_first_key = at_one == mask::AtOne::kRepeatsFirstKey;
      // Else a check would refuse length 1, which broadcasts.
      const bool holds = r.repeat_first_key ? IsColumn(r.key_mask, short_mask, scores.keys)
                                            : at_one == mask::AtOne::kSame;
      r.flags = holds && (c.all_keys || r.key_mask) && emitter.Unchecked() == nullptr;
      if (!holds) c.reason = "it would hide other keys if its length were 1";
    } else if (std::optional<mask::SplitMask> split = mask::SplitOffPositions(store, function)) {
      c = split->positions;
      r.name = c.Name() + " + values of keys";
      const mask::ShortMask short_mask(operand, dims, tables_, store, split->keys);
      emitter.MayBeOne(short_mask.extents());
      r.mask = ForScores(emitter, emitter.Emit(split->keys));
      r.flags = short_mask.IsSameSum(c) && r.mask && emitter.Unchecked() == nullptr;
    }
    Keep(emitter);
    const mask::VarSet variables = store.term(function).variables;
    const mask::VarSet beside_keys = mask::SetOf(mask::kHead) | mask::SetOf(mask::kQuery);
    const bool of_keys = (variables & beside_keys) == 0;
    const bool wide = (type.rank() > 1 && !type.dim(-2).is_constant(1)) ||
                      (type.rank() > 2 && !type.dim(-3).is_constant(1));
    if (wide && of_keys) {
      mask::Emitter narrow_emitter = new_emitter();
      const mask::ShortMask short_mask(operand, dims, tables_, store, function);
      narrow_emitter.MayBeOne(short_mask.extents());
      const Value narrow = ForScores(narrow_emitter, narrow_emitter.Emit(function));
      if (narrow && short_mask.IsSame() && narrow_emitter.Unchecked() == nullptr)
        r.narrower = narrow;
      Keep(narrow_emitter);
    }
    if (r.flags) {
      r.causal = c.causal, r.window = c.window, r.mask_value = c.mask_value;
      return r;
    }
    if (!guess) guess = LengthOfLeaves(store, function);
    const bool of_heads = (variables & mask::SetOf(mask::kHead)) != 0;
    r.name = of_keys ? "values of keys" : of_heads ? "bias" : "general";
    r.key_mask = r.mask = Value();
    const std::string where = Where(operand);
    if (!c.reason.empty()) {
      r.reason = fmt::format("mask of {}: {}", where, c.reason);
    } else if (const auto* extents = emitter.Unchecked()) {
      r.reason = fmt::format("mask of {}: an extent is {} and not provably {}", where,
                             extents->first.text(), extents->second.text());
    } else {
      r.reason = fmt::format("mask of {}: it cannot be written as a tensor of keys", where);
    }
    return r;
  }

  // Has the tensor of keys one column where they are read from a tensor with one?
  static bool IsColumn(Value key_mask, const mask::ShortMask& short_mask, DimExpr keys) {
    if (!key_mask) return false;
    const DimExpr columns = mask::ShortMask::Uncut(key_mask.type().dim(1), keys);
    return std::any_of(
        short_mask.extents().begin(), short_mask.extents().end(), [&](const auto& pair) {
          return pair.second == keys && mask::ShortMask::Uncut(pair.first, keys) == columns;
        });
  }

  void Keep(const mask::Emitter& emitter) {
    made_.insert(made_.end(), emitter.made().begin(), emitter.made().end());
  }

  // [B, Sk] to [B, 1, 1, Sk].
  static Value ForScores(mask::Emitter& emitter, Value keys) {
    return keys ? emitter.BesideHeadsAndQueries(keys) : Value();
  }

  void EraseUnused() {
    for (auto it = made_.rbegin(); it != made_.rend(); ++it) {
      if (!(*it)->has_uses()) (*it)->Erase();
    }
  }

  static std::string Where(Value operand) {
    Operation* op = operand.defining_op();
    if (op == nullptr) return fmt::format("argument {}", operand.argument_index());
    const std::string node = DescribeLocation(op->context(), op->location());
    return node.empty() ? std::string(op->name()) : node;
  }

  Operation* function_;
  PassContext& context_;
  std::set<std::string_view> inputs_;
  mask::TableCache tables_;
  std::map<std::string, Replacement> found_;
  std::vector<Operation*> made_;  // by emitters, in order
  bool changed_ = false;
};

class ClassifyMasks : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    if (op->num_regions() == 0 || op->region().empty()) return PassResult{};
    return Classifier(op, context).Run();
  }
};

}  // namespace

PassInfo ClassifyMasksPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {{"*", "attentions with a mask of each class"},
                     {"masks narrowed", "masks that got smaller"}};
  info.explains = true;
  info.create = [](const PassOptionValues&) { return std::make_unique<ClassifyMasks>(); };
  return info;
}

}  // namespace tenon
