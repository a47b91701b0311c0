// Which concatenations, splits and slices need no copies.
#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_set.h"
#include "executor/memory/buffers.h"
#include "executor/memory/contiguous_parts.h"
#include "ir/core/context/context.h"

namespace tenon {
namespace {

// For extents that are not known.
constexpr int64_t kMiddlingExtent = 64;

// Looks at an operation or an operand of the block. 100 choices among 40,000 get all tries.
constexpr int64_t kMostSteps = int64_t{1} << 23;

// One thing that need not be copied: operand `operand` of a concatenation, or all parts of a cut.
struct Choice {
  Operation* op = nullptr;
  int64_t operand = 0;
};

int64_t EstimatedBytes(Type type) {
  auto bytes = static_cast<int64_t>(SizeOf(type.dtype()));
  for (DimExpr dim : type.dims()) {
    const std::optional<int64_t> extent =
        dim.Evaluate([](std::string_view) { return std::optional<int64_t>(kMiddlingExtent); });
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(extent.value_or(kMiddlingExtent), 0),
                               &bytes)) {
      return std::numeric_limits<int64_t>::max() >> 16;
    }
  }
  return std::min(bytes, std::numeric_limits<int64_t>::max() >> 16);
}

bool WrittenByKernel(Value value, const Block& block) {
  const Operation* producer = ViewRoot(value).defining_op();
  return producer != nullptr && producer->block() == &block && Isa<kernel::CallOp>(producer);
}

bool IsReturned(Value value, const Block& block) {
  for (OpOperand& use : value.uses()) {
    if (use.owner() == block.back()) return true;
  }
  return false;
}

class Chooser {
 public:
  explicit Chooser(Block& block) : block_(block) {}

  bool Run() {
    std::vector<Choice> choices;
    for (Operation& op : block_) {
      steps_of_peak_ += 1 + op.num_operands();
      auto call = DynCast<kernel::CallOp>(&op);
      if (!call) continue;
      const Decision decided = {&op, HasParts(op), JoinedOf(op)};
      if (decided.parts || !decided.joined.empty()) {
        before_.push_back(decided);
        Set(op, false, {});
      }
      AddChoices(call, choices);
    }
    if (!choices.empty()) {
      peak_ = Peak();
      if (peak_) Take(choices);
    }
    return Changed();
  }

 private:
  struct Decision {
    Operation* op;
    bool parts;
    std::vector<int64_t> joined;
    bool operator==(const Decision&) const = default;
  };

  void AddChoices(kernel::CallOp call, std::vector<Choice>& choices) const {
    Operation* op = call.op();
    const PartsKind kind = PartsOf(call);
    if (kind == PartsKind::kCut) {
      // A part that is returned has to be in the caller's memory in the end: it is copied there.
      for (unsigned r = 0; r < op->num_results(); ++r) {
        if (IsReturned(op->result(r), block_)) return;
      }
      if (WrittenByKernel(op->operand(0), block_)) choices.push_back({op, -1});
    } else if (kind == PartsKind::kJoin && call.inplace() < 0) {
      // Bytes that are joined twice have one place.
      absl::flat_hash_set<const ValueImpl*> joined;
      for (unsigned i = 0; i < op->num_operands(); ++i) {
        const Value operand = op->operand(i);
        if (WrittenByKernel(operand, block_) && joined.insert(ViewRoot(operand).impl()).second)
          choices.push_back({op, i});
      }
    }
  }

  static void Set(Operation& op, bool parts, std::span<const int64_t> joined) {
    op.SetAttr(kPartsAttr, Attribute());
    op.SetAttr(kJoinedAttr, Attribute());
    if (parts) op.SetAttr(kPartsAttr, Attribute::Bool(op.context(), true));
    if (!joined.empty()) op.SetAttr(kJoinedAttr, Attribute::I64s(op.context(), joined));
  }

  // Nothing if the decisions of the block contradict each other.
  std::optional<int64_t> Peak() const {
    const std::optional<BufferTable> table = BufferTable::TryAnalyze(block_);
    if (!table) return std::nullopt;
    std::vector<BufferLifetime> lifetimes;
    for (const BufferSet& set : table->sets()) {
      if (set.kind != BufferSet::Kind::kArena || set.output >= 0) continue;
      lifetimes.push_back({EstimatedBytes(set.members[0].type()), set.first, set.last});
    }
    return MaxLiveBytes(lifetimes);
  }

  // The choices of an op stand together, and its attributes are set once: the context keeps every
  // list of operands that it has seen.
  static void Switch(std::span<const Choice> choices, bool on) {
    while (!choices.empty()) {
      Operation* const op = choices.front().op;
      const auto end = std::find_if(choices.begin(), choices.end(),
                                    [&](const Choice& choice) { return choice.op != op; });
      const std::span<const Choice> own(choices.begin(), end);
      choices = choices.subspan(own.size());
      if (own.front().operand < 0) {
        Set(*op, on, {});
        continue;
      }
      std::vector<int64_t> joined = JoinedOf(*op);
      if (on) {
        for (const Choice& choice : own) joined.push_back(choice.operand);
      } else {
        // Those that were joined last.
        joined.resize(joined.size() - own.size());
      }
      Set(*op, false, joined);
    }
  }

  // All at once if that is good; otherwise one half after the other, while the steps last.
  void Take(std::span<const Choice> choices) {
    if (steps_ <= 0) return;
    steps_ -= steps_of_peak_;
    Switch(choices, true);
    const std::optional<int64_t> peak = Peak();
    if (peak && *peak <= *peak_) {
      peak_ = peak;
      return;
    }
    Switch(choices, false);
    if (choices.size() == 1) return;
    Take(choices.first(choices.size() / 2));
    Take(choices.subspan(choices.size() / 2));
  }

  bool Changed() const {
    std::vector<Decision> after;
    for (Operation& op : block_) {
      Decision decided = {&op, HasParts(op), JoinedOf(op)};
      if (decided.parts || !decided.joined.empty()) after.push_back(std::move(decided));
    }
    return after != before_;
  }

  Block& block_;
  std::vector<Decision> before_;
  std::optional<int64_t> peak_;
  int64_t steps_of_peak_ = 0;
  int64_t steps_ = kMostSteps;  // what is left
};

}  // namespace

bool ChooseParts(Block& block) { return Chooser(block).Run(); }

}  // namespace tenon
