// Matching the source graph of a rule at an operation.
#ifndef TENON_DRR_MATCH_MATCHER_H_
#define TENON_DRR_MATCH_MATCHER_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "drr/compile/compiled.h"
#include "ir/core/operation.h"

namespace tenon::drr {

// How far an attempt got.
struct NearMiss {
  int matched_ops = -1;
  Operation* stopped_at = nullptr;
  std::string reason;
};

// One thing that does not fit, in words. kBetween: `at` stands between two ops that fit. kView: so
// does a view, which other rules move away where all else fits. kInstead: an operand of `at` is
// another op than the rule wants, but the ops below it fit. kUnproven: all ops fit, and the proof
// of an assumption (condition.h) is missing.
struct Mismatch {
  Operation* at = nullptr;
  std::string reason;
  enum class Kind : uint8_t { kWrong, kBetween, kView, kInstead, kUnproven } kind = Kind::kWrong;
  const Operation* found = nullptr;  // the op in place of another, if there is one
  bool operator==(const Mismatch&) const = default;
};

// The part of a source graph that fits a place of the program.
struct Alignment {
  int matched_ops = 0;                 // ops of the source graph that fit
  int wanted_ops = 0;                  // ops of the source graph in the chosen alternatives
  std::vector<Operation*> ops;         // ops that fit, that of the anchor first
  std::vector<Mismatch> mismatches;    // in the order of their discovery, views last
  std::vector<Mismatch> alternatives;  // other changes of the same cost
  // The cost of a mismatch. Of equal alignments the one with a wrong op is preferred to one with an
  // extra op. A view costs as much as another op where nothing else is wrong.
  static constexpr int kLost = 4;
  static int CostOf(Mismatch::Kind kind) {
    switch (kind) {
      case Mismatch::Kind::kBetween:
        return 5;
      case Mismatch::Kind::kInstead:
        return 2;
      case Mismatch::Kind::kView:
        return 1;
      case Mismatch::Kind::kWrong:
      case Mismatch::Kind::kUnproven:
        break;
    }
    return 4;
  }
  int cost() const {
    int cost = kLost * (wanted_ops - matched_ops);
    for (const Mismatch& m : mismatches) cost += CostOf(m.kind);
    const bool only_views = views() == std::ssize(mismatches) && views() > 0;
    return cost +
           (only_views ? CostOf(Mismatch::Kind::kBetween) - CostOf(Mismatch::Kind::kView) : 0);
  }
  int64_t views() const {
    return std::count_if(mismatches.begin(), mismatches.end(),
                         [](const Mismatch& m) { return m.kind == Mismatch::Kind::kView; });
  }
  // In relation to the ops that the rule wants. Of alignments of equal cost, the one that found
  // more of the rule is nearer.
  bool IsNearerThan(const Alignment& other) const {
    const int mine = cost() * other.wanted_ops, others = other.cost() * wanted_ops;
    return mine != others ? mine < others
                          : wanted_ops - matched_ops < other.wanted_ops - other.matched_ops;
  }
};

class CostBounds;

// How far Matcher::Align goes.
struct AlignLimits {
  int tolerance = 1;   // things that may be wrong
  int64_t budget = 0;  // steps
  // Leaves out alignments that cost more than `most_cost`, views aside, by these bounds of the
  // rule; null: none.
  const CostBounds* bounds = nullptr;
  int most_cost = 0;
  // Without words, reasons are empty and alternatives are not listed. The alignment is the same.
  bool words = true;
};

// Returns the model nodes or file positions of an op, without repeats.
std::vector<std::string> DescribeAllLocations(const Context& context, Location location);
// Returns text such as "ten.add at /layer/Add".
std::string DescribeOp(const Operation* op);

// Matches one rule at a time. Match binds; the accessors read the bindings until the next attempt.
// Memory is kept between attempts, so that a failing one allocates nothing. Not thread-safe.
class Matcher {
 public:
  explicit Matcher(Context& context) : context_(&context) {}

  // The most steps of one attempt. After more, exhausted() is true and the answer unknown.
  static constexpr int64_t kMostSteps = int64_t{1} << 17;

  // Takes proofs of assumptions (condition.h) for granted.
  void set_fast_math(bool fast_math) { fast_math_ = fast_math; }

  // Matches `rule` with `anchor` as its root. Backtracks over commutative operands and
  // alternatives; the first complete match in the order of the rule wins. Fills `miss`, if not
  // null, with the farthest failure.
  bool Match(const CompiledRule& rule, Operation* anchor, NearMiss* miss = nullptr);
  // True if the last attempt ran out of steps; whether the rule matches is then unknown.
  bool exhausted() const { return exhausted_; }
  // A message for the user about that.
  std::string ExhaustedText() const;
  // Steps of the last attempt.
  int64_t steps() const { return used_; }

  // Finds the best alignment of an op node of the source graph with `op`, for messages. Extra ops
  // and ops in place of others are skipped. Returns nullopt if more is wrong than the limits allow.
  // When the budget is spent, exhausted() is true.
  std::optional<Alignment> Align(const CompiledRule& rule, const Edge& start, Operation* op,
                                 const AlignLimits& limits);

  // ---- after a successful Match
  const CompiledRule& rule() const { return *rule_; }
  // The value of an edge into the source graph; null if this match does not bind it.
  Value ValueOf(const Edge& edge) const;
  // The values of a root: one, and with `rest` those behind it. Those that the matched operation
  // does not have are left out.
  std::vector<Value> ValuesOf(const Edge& root) const;
  // The operands bound by an Each node.
  std::vector<Value> EachOf(uint16_t node) const;
  // The value of an attribute expression of the result. `rank` is that of the op's first operand,
  // for negative axes. Returns nullopt if there is no value; `reason` then says why.
  std::optional<AttrValue> Evaluate(const AttrCode& code, int64_t rank, std::string* reason) const;
  // True if the number is computed, rather than written in the rule or found in the program.
  bool IsComputed(const AttrCode& code) const;
  // The numbers of the program from which it is computed.
  std::vector<double> NumbersRead(const AttrCode& code) const;
  std::optional<DimExpr> EvaluateDim(uint16_t code) const;
  // Matched operations without repeats, that of the anchor first.
  const std::vector<Operation*>& matched_ops() const { return matched_; }
  bool IsMatched(const Operation* op) const;
  // The alternative that was taken at an AnyOf node; -1 if the node was not reached.
  int AlternativeOf(uint16_t node) const { return bound_[node].alternative; }

 private:
  // The open choices on which something depends: bit i for choice i, bit 63 for all from 63 on.
  // When an attempt fails, other alternatives are tried only for choices that the failure depends
  // on.
  using Causes = uint64_t;
  static constexpr Causes kAllCauses = ~Causes{0};
  static Causes CauseOf(size_t choice) {
    constexpr size_t kShared = 63;
    return Causes{1} << (choice < kShared ? choice : kShared);
  }
  struct Binding {
    Value value;
    Operation* op = nullptr;
    uint32_t first = 0, count = 0;  // kEach: operands of op; without an op, of items_
    int alternative = -1;
    bool bound = false;
    Causes causes = 0;
  };
  struct Goal {
    enum class Kind : uint8_t { kValue, kOp, kSequence };
    Kind kind = Kind::kValue;
    Edge edge;
    uint16_t group = 0, item = 0;
    uint32_t position = 0;    // the number of the operand
    Value value;              // kValue
    Operation* op = nullptr;  // kOp, kSequence
    Operation* parent = nullptr;
    Causes causes = 0;
    int next = -1;
  };
  struct Choice {
    enum class Kind : uint8_t { kSwap, kAlternative, kEachCount, kUse };
    Kind kind;
    uint16_t node = 0;
    uint32_t alternative = 0;  // the next one to try
    OpOperand* use = nullptr;  // kUse: the next one to try
    int goals = -1;            // pending goals, without the chosen one
    Goal goal;                 // the goal that was chosen for
    size_t arena = 0, trail = 0, equations = 0, lets = 0, matched = 0, climb = 0, mismatches = 0,
           views = 0, passed = 0, items = 0;
    int lost = 0, surely_lost = 0;
    Causes failed = 0;  // choices on which the failures so far depend
  };
  struct Equation {
    uint16_t code;
    DimExpr actual;
    Operation* op = nullptr;  // whose attribute says so; null: it is a dimension of `value`
    Value value{};
    std::string_view what{};  // the name of `value` in the rule, if it has one
    Causes causes = 0;
  };
  struct AttrBinding {
    BoundArg arg;
    AttrValue computed;
    bool bound = false;
    Causes causes = 0;
  };
  struct PendingLet {
    uint16_t node;
    Operation* op;
    const AttrCode* code =
        nullptr;  // null: a Let node; otherwise a computed attribute that must equal `attr`
    Attribute attr;
    Causes causes = 0;
  };

  void Start(const CompiledRule& rule, NearMiss* miss);
  bool Run();
  bool Step();       // takes the next goal; false on a contradiction
  bool Finish();     // all goals are met: solves dimensions, checks late conditions and uses
  bool Backtrack();  // to the last choice with an alternative left; false if there is none
  bool Open(const Choice& choice);  // takes its first alternative
  bool Take();                      // takes the next alternative of the last choice
  bool Exhausted();                 // closes the last choice, which has no alternative left
  bool MatchValue(const Goal& goal);
  bool MatchAgain(const Goal& goal, const Node& node);
  bool MatchOp(uint16_t node, Operation* op, Causes causes);
  bool IsOtherOp(uint16_t node, Operation* op);
  bool OtherOp(const Goal& goal, const Node& node, Operation* op);
  bool PassBetween(const Goal& goal, Operation* op, Value below);
  bool MatchAttr(const AttrCode& code, Operation* op, Causes causes);
  bool MatchSplat(const Node& node, const Goal& goal);
  static constexpr int kNoGroup = -1;
  // Leaves out the operand group `without` of the op.
  bool PushOperands(uint16_t node, Operation* op, bool swapped, Causes causes,
                    int without = kNoGroup);
  bool MatchMapped(uint16_t each, Causes causes);
  std::optional<Value> MatchLink(uint16_t each, const EachLink& link, Operation* op, Causes causes);
  bool IsBeside(uint16_t each, const Edge& edge, Value value) const;
  Value EachItem(const Binding& binding, uint32_t i) const {
    return binding.op != nullptr ? binding.op->operand(binding.first + i)
                                 : items_[binding.first + i];
  }
  unsigned SinglesBehind(const Goal& goal) const;
  bool Sequence(Goal goal);
  bool EachAgain(const Goal& goal, const Binding& binding);
  bool RestOfResults(const Goal& goal);
  // Whether each list of results has as many operands as the operation has results, as all of the
  // match says.
  bool CountsOfRests();
  bool BindAttr(uint16_t variable, const BoundArg& arg, Operation* op, Causes causes);
  void BindValue(uint16_t node, const Goal& goal);
  // Whether a part of the source graph can match a value, judged without the rest of the match. If
  // not, no choice elsewhere makes it match. Each pair is judged once.
  bool Feasible(const Edge& edge, Value value);
  bool FeasibleAnew(const Edge& edge, Value value);
  bool FeasibleOp(const Node& node, Operation* op);
  bool AllFeasible(const Node& node, Operation* op, bool swapped);
  Causes CausesOf(const ArgCode& arg) const;
  Causes CausesOf(const ConditionCode& condition) const;
  Causes CausesOfDims() const;
  bool MayBeMatched(const Operation* user) const;
  bool EarlyConditions(uint16_t node, Operation* op);
  // `op` is where the condition is checked; null: MatchedOpOf decides.
  bool CheckCondition(const ConditionCode& condition, Operation* op);
  bool FinishLets();
  bool SolveDims();
  enum class Solved : uint8_t { kYes, kNo, kNotYet };
  Solved Solve(uint16_t code, DimExpr actual);
  bool LateConditions();
  // How often the condition is asked: for each item of its list, else once.
  uint32_t ItemsOf(const ConditionCode& condition) const;
  bool UnifyShape(const ConditionCode& condition);
  bool UsesInside();
  bool UsesInside(uint16_t node, Operation* op);
  // The variable that the result reads and that is `value`; kNone if there is none. If the
  // operation of the value is to go, it stays nevertheless, and the rule computes it once more.
  uint16_t VariableOf(Value value) const;
  bool Likely(const Edge& edge, Value value) const;
  // The same, also for the values from which it is computed, up to `depth` ops below. Views do not
  // count.
  bool LikelyBelow(const Edge& edge, Value value, size_t depth);
  // Things that are wrong so far; views do not count.
  size_t NumWrong() const { return mismatches_.size() - views_; }
  // The matched op that a message about the value names: the one that computes it, or else one that
  // reads it. Null if nobody wants a message.
  Operation* MatchedOpOf(Value value) const;
  Operation* MatchedOpOf(const ConditionCode& condition) const;
  // The value that a chosen alternative computes for the variable; null if none does.
  const AttrCode* LetOf(uint16_t variable) const;
  void Push(Goal goal);
  Choice Snapshot(Choice::Kind kind, uint16_t node, const Goal& goal);
  void Undo(const Choice& choice);
  Alignment Aligned(const Edge& start);
  void AddWanted(const Edge& edge, std::vector<char>& seen, Alignment& alignment);
  int SmallestSize(const Node& node) const;
  void FindReaching(uint16_t to);
  const Edge* LeadsToStart(const Node& node);
  // Records how far the attempt got; the words are made only if someone wants them. Returns true if
  // Align goes on nevertheless. `lost` op nodes are not matched for this reason.
  template <typename Reason>
  bool Fail(Operation* op, const Reason& reason, Mismatch::Kind kind = Mismatch::Kind::kWrong,
            int lost = 0) {
    if (tolerance_ > 0) {
      const int cost = Alignment::CostOf(kind) + Alignment::kLost * lost;
      if (NumWrong() >= tolerance_ || lost_ + Alignment::CostOf({}) > best_cost_ ||
          surely_lost_ + cost > most_cost_) {
        return false;
      }
      mismatches_.push_back({op, words_ ? reason() : std::string(), kind, nullptr});
      lost_ += Alignment::CostOf({});
      surely_lost_ += cost;
      return true;
    }
    if (miss_ != nullptr && static_cast<int>(matched_.size()) > miss_->matched_ops) {
      *miss_ = {static_cast<int>(matched_.size()), op, reason()};
    }
    return false;
  }
  BoundArg ReadArg(const ArgCode& arg, bool& bound) const;
  std::string Describe(Value value) const;
  // "operand 1": which operand of the goal's op its value is.
  static std::string OperandOf(const Goal& goal);
  std::string Particulars(const ConditionCode& condition) const;
  // `names`: the text in the rule, rather than the bound dimension.
  std::string DimText(uint16_t code, bool names = false) const;
  std::string_view NameOf(const Edge& edge) const {
    const ValNode* node = rule_->nodes[edge.node].source;
    return node != nullptr ? std::string_view(node->name) : std::string_view();
  }

  Context* context_;
  bool fast_math_ = false;
  const CompiledRule* rule_ = nullptr;
  NearMiss* miss_ = nullptr;
  std::vector<Binding> bound_;
  std::vector<AttrBinding> attrs_;
  std::vector<DimExpr> dims_;
  std::vector<Goal> arena_;
  std::vector<Choice> choices_;
  std::vector<uint32_t> trail_;  // bound nodes; attributes with kAttrBit
  std::vector<Equation> equations_;
  std::vector<PendingLet> lets_;
  std::vector<Operation*> matched_;
  std::vector<uint16_t> matched_nodes_;  // whose they are
  std::vector<Value> items_;             // of lists below the pattern of an Each
  uint32_t item_ = 0;                    // the item of a list that a condition is about
  int goals_ = -1;
  size_t climb_ = 0;
  bool finished_ = false;
  Causes failed_ = 0;  // choices on which the last failure depends
  int64_t steps_ = 0, used_ = 0;
  bool exhausted_ = false;
  // Judges feasibility before choices are made, which pays in long attempts.
  bool thorough_ = false;
  static constexpr int64_t kPlainSteps = 512;  // of an attempt before that
  absl::flat_hash_map<std::pair<uint32_t, const ValueImpl*>, bool> feasible_;
  // Of Align only.
  size_t tolerance_ = 0;
  int lost_ = 0, best_cost_ = 0;  // costs of this attempt so far, and the most that is of interest
  // Costs that no way to go on takes back, views aside, and the most that is of interest.
  int surely_lost_ = 0, most_cost_ = 0;
  const CostBounds* bounds_ = nullptr;
  bool words_ = true;
  size_t views_ = 0;        // of mismatches_
  std::vector<int> sizes_;  // SmallestSize by node, of sizes_of_
  const CompiledRule* sizes_of_ = nullptr;
  // By node: whether start_ is below it. Found when an alignment first asks; empty before.
  std::vector<char> reaching_;
  Edge start_;
  std::vector<Mismatch> mismatches_;
  std::vector<const Operation*> passed_;  // ops that stand in between
  static constexpr uint32_t kAttrBit = 1u << 31;
  // Uses of a value that are looked through for a further root, most recent first.
  static constexpr uint32_t kMaxUses = 256;
};

}  // namespace tenon::drr

#endif  // TENON_DRR_MATCH_MATCHER_H_
