#include "executor/memory/buffers.h"

#include <algorithm>
#include <utility>

#include "executor/lowering/lowered_op.h"
#include "executor/memory/contiguous_parts.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/context/context.h"
#include "ir/dialect/calls_and_jumps.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/kernel_ops.h"
#include "kernels/gpu/gpu_kernels.h"

namespace tenon {
namespace {

// Bytes per element and dimensions agree, so that one may be written where the other was.
bool SameSize(Type a, Type b) {
  if (!a.is_tensor() || !b.is_tensor() || SizeOf(a.dtype()) != SizeOf(b.dtype()) ||
      a.rank() != b.rank())
    return false;
  for (int64_t i = 0; i < a.rank(); ++i) {
    if (!DimExpr::ProvablyEqual(a.dim(i), b.dim(i))) return false;
  }
  return true;
}

// Copies of constants to a device are made once, outside of any plan.
bool IsUploadOfConstant(const Operation& op) {
  const auto call = DynCast<kernel::CallOp>(const_cast<Operation*>(&op));
  return call && call.kernel() == kernels::gpu::kToDevice &&
         static_cast<bool>(DefinedBy<core::ConstantOp>(ViewRoot(op.operand(0))));
}

// The op of `block` in which `op` lies; null if there is none.
const Operation* AncestorIn(const Block& block, const Operation* op) {
  while (op != nullptr && op->block() != &block) op = op->parent_op();
  return op;
}

}  // namespace

std::vector<Value> ReadValues(Operation& op) {
  std::vector<Value> values;
  for (OpOperand& operand : op.operands()) values.push_back(operand.get());
  if (op.num_regions() == 0) return values;
  for (const Value captured : CapturedValues(op)) values.push_back(captured);
  return values;
}

Value ViewRoot(Value value) {
  while (auto view = DefinedBy<kernel::ViewOp>(value)) value = view->operand(0);
  return value;
}

// Bytes of a buffer that values name: all of it, or a part of what another range names.
struct Range {
  int whole = -1;  // the range that this one is a part of
  // The concatenation or cut that made it a part: parts by one operation share no bytes.
  const Operation* by = nullptr;
  int set = -1;            // while it is no part
  mutable int above = -1;  // a range around this one, as far outside as is known
};

class BufferAnalysis {
 public:
  struct Problem {
    Operation* op;
    std::string message;
  };

  explicit BufferAnalysis(Block& block) : block_(block) {}

  std::optional<Problem> Run() {
    for (unsigned i = 0; i < block_.num_arguments(); ++i) {
      New(block_.argument(i), BufferSet::Kind::kInput, 0);
    }
    int position = 0;
    for (Operation& op : block_) {
      Read(op, position);
      if (auto problem = Define(op, position)) return problem;
      position_of_[&op] = position++;
    }
    if (auto problem = CheckTakenOver()) return problem;
    FindOutputs();
    DropEmptySets();
    return std::nullopt;
  }

  BufferTable Take() {
    for (const auto& [value, range] : range_of_) table_.set_of_[value] = SetOf(range);
    return std::move(table_);
  }

 private:
  struct TakenOver {
    Operation* op;
    int position, range;
    Value value;
  };

  int New(Value value, BufferSet::Kind kind, int position) {
    BufferSet set;
    set.kind = kind;
    set.first = set.last = position;
    set.members.push_back(value);
    table_.sets_.push_back(std::move(set));
    ranges_.push_back({.set = static_cast<int>(table_.sets_.size()) - 1});
    return range_of_[value.impl()] = static_cast<int>(ranges_.size()) - 1;
  }

  int RangeOf(Value value) const { return range_of_.at(value.impl()); }
  int SetOf(int range) const {
    int outermost = range;
    while (ranges_[outermost].above >= 0) outermost = ranges_[outermost].above;
    while (range != outermost) range = std::exchange(ranges_[range].above, outermost);
    return ranges_[outermost].set;
  }
  BufferSet& SetOf(Value value) { return table_.sets_[SetOf(RangeOf(value))]; }

  void Name(Value value, int range) {
    range_of_[value.impl()] = range;
    table_.sets_[SetOf(range)].members.push_back(value);
  }

  void Read(Operation& op, int position) {
    for (const Value value : ReadValues(op)) {
      if (!range_of_.contains(value.impl())) {
        // From around the block.
        const bool constant = static_cast<bool>(DefinedBy<core::ConstantOp>(value));
        New(value, constant ? BufferSet::Kind::kConstant : BufferSet::Kind::kInput, 0);
      }
      BufferSet& set = SetOf(value);
      set.last = std::max(set.last, position);
    }
  }

  std::optional<Problem> Define(Operation& op, int position) {
    const bool uploaded = IsUploadOfConstant(op);
    if (auto call = DynCast<kernel::CallOp>(&op); call && !uploaded) {
      return DefineCall(call, position);
    }
    for (unsigned r = 0; r < op.num_results(); ++r) {
      if (Isa<kernel::ViewOp>(op)) {
        Name(op.result(r), RangeOf(op.operand(0)));
        continue;
      }
      BufferSet::Kind kind = BufferSet::Kind::kConstant;
      if (RunsOtherCode(op)) kind = BufferSet::Kind::kArena;
      if (Isa<kernel::DimsOp>(op) || uploaded) kind = BufferSet::Kind::kPlanTime;
      New(op.result(r), kind, position);
    }
    return std::nullopt;
  }

  std::optional<Problem> DefineCall(kernel::CallOp call, int position) {
    Operation* op = call.op();
    if (HasParts(*op)) {
      if (PartsOf(call) != PartsKind::kCut || call.inplace() >= 0 ||
          SetOf(op->operand(0)).kind != BufferSet::Kind::kArena) {
        return Problem{op, "the results are not parts of a buffer that a kernel has written"};
      }
      for (unsigned r = 0; r < op->num_results(); ++r) {
        ranges_.push_back(
            {.whole = RangeOf(op->operand(0)), .by = op, .above = RangeOf(op->operand(0))});
        Name(op->result(r), static_cast<int>(ranges_.size()) - 1);
      }
      return std::nullopt;
    }
    for (unsigned r = 0; r < op->num_results(); ++r) {
      const Value result = op->result(r);
      const int64_t inplace = r == 0 ? call.inplace() : -1;
      if (inplace < 0) {
        New(result, BufferSet::Kind::kArena, position);
        continue;
      }
      const Value operand = inplace < op->num_operands() ? op->operand(inplace) : Value();
      if (!operand || !SameSize(operand.type(), result.type()) ||
          SetOf(operand).kind != BufferSet::Kind::kArena) {
        return Problem{op, fmt::format("result 0 cannot take over the buffer of operand {} "
                                       "(expected an operand of the result's size that a kernel "
                                       "has written)",
                                       inplace)};
      }
      taken_over_.push_back({op, position, RangeOf(operand), operand});
      Name(result, RangeOf(operand));
    }
    const std::vector<int64_t> operands = JoinedOf(*op);
    if (operands.empty()) return std::nullopt;
    if (PartsOf(call) != PartsKind::kJoin || call.inplace() >= 0) {
      return Problem{op, "the operands are not parts of the result"};
    }
    for (int64_t joined : operands) {
      if (auto problem = Join(call, joined)) return problem;
    }
    return std::nullopt;
  }

  // Operand `index` lies in the result from its beginning on.
  std::optional<Problem> Join(kernel::CallOp call, int64_t index) {
    Operation* op = call.op();
    const int range = index >= 0 && index < op->num_operands()
                          ? RangeOf(op->operand(static_cast<unsigned>(index)))
                          : -1;
    if (range < 0 || ranges_[range].whole >= 0 ||
        table_.sets_[ranges_[range].set].kind != BufferSet::Kind::kArena) {
      return Problem{op, fmt::format("operand {} cannot be a part of the result (expected one with "
                                     "a buffer of its own that a kernel has written)",
                                     index)};
    }
    const int to = RangeOf(op->result(0));
    BufferSet& part = table_.sets_[ranges_[range].set];
    BufferSet& whole = table_.sets_[ranges_[to].set];
    whole.first = std::min(whole.first, part.first);
    whole.last = std::max(whole.last, part.last);
    whole.members.insert(whole.members.end(), part.members.begin(), part.members.end());
    part.members.clear();
    ranges_[range].whole = ranges_[range].above = to;
    ranges_[range].by = op;
    return std::nullopt;
  }

  bool Overlap(int a, int b) const {
    const auto path = [&](int range) {
      std::vector<int> up;
      for (; range >= 0; range = ranges_[range].whole) up.push_back(range);
      return std::vector<int>(up.rbegin(), up.rend());
    };
    const std::vector<int> of_a = path(a), of_b = path(b);
    size_t common = 0;
    while (common < of_a.size() && common < of_b.size() && of_a[common] == of_b[common]) ++common;
    if (common == of_a.size() || common == of_b.size()) return true;
    return common > 0 && ranges_[of_a[common]].by != ranges_[of_b[common]].by;
  }

  int PositionOf(const Operation* op, int otherwise) const {
    const auto found = position_of_.find(op);
    return found == position_of_.end() ? otherwise : found->second;
  }

  // When a value is made and when it is read last, by position.
  struct Span {
    int defined, last;
    ValueImpl* value;
  };

  Span SpanOf(Value value, int end) const {
    Span span = {PositionOf(value.is_block_argument() ? nullptr : value.defining_op(), 0), -1,
                 value.impl()};
    for (OpOperand& use : value.uses()) {
      span.last = std::max(span.last, PositionOf(AncestorIn(block_, use.owner()), end));
    }
    return span;
  }

  // The spans of the members of a set, and of every number of those made first the two read last.
  struct SpansOfSet {
    std::vector<Span> spans;                     // by `defined`
    std::vector<std::pair<int, int>> read_last;  // indices into `spans`, the second may be -1
  };

  SpansOfSet SpansOf(const BufferSet& set, int end) const {
    SpansOfSet result;
    for (const Value member : set.members) result.spans.push_back(SpanOf(member, end));
    std::stable_sort(result.spans.begin(), result.spans.end(),
                     [](const Span& a, const Span& b) { return a.defined < b.defined; });
    int first = -1, second = -1;
    for (int i = 0; i < static_cast<int>(result.spans.size()); ++i) {
      if (first < 0 || result.spans[i].last > result.spans[first].last) {
        second = std::exchange(first, i);
      } else if (second < 0 || result.spans[i].last > result.spans[second].last) {
        second = i;
      }
      result.read_last.emplace_back(first, second);
    }
    return result;
  }

  // No value of the set that is older than `t` is read from `t` on, but the one taken over, by `t`
  // itself. (Where one is read, it may still be that it has other bytes of the set.)
  static bool NothingIsReadLater(const SpansOfSet& set, const TakenOver& t) {
    const auto older = std::partition_point(set.spans.begin(), set.spans.end(),
                                            [&](const Span& s) { return s.defined < t.position; });
    if (older == set.spans.begin()) return true;
    const auto [first, second] = set.read_last[older - set.spans.begin() - 1];
    for (const int i : {first, second}) {
      if (i < 0) continue;
      const Span& span = set.spans[i];
      if (span.last >= t.position + (span.value == t.value.impl() ? 1 : 0)) return false;
    }
    return true;
  }

  // Bytes that were taken over at some position: no older value in them may be read later.
  std::optional<Problem> CheckTakenOver() const {
    const int end = static_cast<int>(position_of_.size());
    absl::flat_hash_map<int, SpansOfSet> spans_of;
    for (const TakenOver& t : taken_over_) {
      const int set = SetOf(t.range);
      const auto [found, is_new] = spans_of.try_emplace(set);
      if (is_new) found->second = SpansOf(table_.sets_[set], end);
      if (NothingIsReadLater(found->second, t)) continue;
      for (const Span& member : found->second.spans) {
        const int kept = member.value == t.value.impl() ? t.position + 1 : t.position;
        if (member.defined < t.position && member.last >= kept &&
            Overlap(range_of_.at(member.value), t.range)) {
          return Problem{t.op, "result 0 takes over a buffer that is still needed"};
        }
      }
    }
    return std::nullopt;
  }

  // A buffer whose value is returned is written to the caller's memory, when it is returned once.
  void FindOutputs() {
    Operation* terminator = block_.back();
    if (terminator == nullptr) return;
    for (unsigned i = 0; i < terminator->num_operands(); ++i) {
      const Value value = terminator->operand(i);
      BufferSet& set = SetOf(value);
      const bool whole = ranges_[RangeOf(value)].whole < 0;
      if (whole && set.kind == BufferSet::Kind::kArena && set.output < 0) {
        set.output = static_cast<int>(i);
      }
    }
  }

  // Those whose members became parts of another set.
  void DropEmptySets() {
    std::vector<int> number;
    int next = 0;
    for (const BufferSet& set : table_.sets_) number.push_back(set.members.empty() ? -1 : next++);
    for (Range& range : ranges_) {
      if (range.set >= 0) range.set = number[range.set];
    }
    std::erase_if(table_.sets_, [](const BufferSet& set) { return set.members.empty(); });
  }

  Block& block_;
  BufferTable table_;
  std::vector<Range> ranges_;
  absl::flat_hash_map<ValueImpl*, int> range_of_;
  absl::flat_hash_map<const Operation*, int> position_of_;
  std::vector<TakenOver> taken_over_;
};

absl::StatusOr<BufferTable> BufferTable::Analyze(Block& block) {
  BufferAnalysis analysis(block);
  if (const auto problem = analysis.Run()) {
    return EmitStatus(problem->op->context(), problem->op->location(),
                      absl::StatusCode::kInvalidArgument, problem->message);
  }
  return analysis.Take();
}

std::optional<BufferTable> BufferTable::TryAnalyze(Block& block) {
  BufferAnalysis analysis(block);
  if (analysis.Run()) return std::nullopt;
  return analysis.Take();
}

std::vector<std::pair<Operation*, int>> ChooseInPlace(
    Block& block, const std::function<uint32_t(Operation*)>& inplace_mask) {
  // Sets of values that share a buffer so far, by their root, and the position of the last use of
  // each.
  absl::flat_hash_map<ValueImpl*, ValueImpl*> root;
  absl::flat_hash_map<ValueImpl*, int> last_use;
  auto root_of = [&](Value value) {
    ValueImpl* at = ViewRoot(value).impl();
    while (root.contains(at)) at = root.at(at);
    return at;
  };
  int position = 0;
  for (Operation& op : block) {
    for (const Value value : ReadValues(op)) last_use[ViewRoot(value).impl()] = position;
    ++position;
  }
  std::vector<std::pair<Operation*, int>> choices;
  position = 0;
  for (Operation& op : block) {
    const int at = position++;
    if (!Isa<kernel::CallOp>(op)) continue;
    int chosen = -1;
    const uint32_t mask = op.num_results() > 0 ? inplace_mask(&op) : 0;
    for (unsigned i = 0; i < op.num_operands() && i < 32 && chosen < 0; ++i) {
      const Value operand = op.operand(i);
      if (((mask >> i) & 1) == 0 || !SameSize(operand.type(), op.result(0).type())) continue;
      const Operation* producer = ViewRoot(operand).defining_op();
      if (producer == nullptr || producer->block() != &block || !Isa<kernel::CallOp>(producer) ||
          IsUploadOfConstant(*producer)) {
        continue;
      }
      ValueImpl* set = root_of(operand);
      if (last_use[set] != at) continue;
      // Another operand may be the same value if the kernel allows either, but not another view of
      // the same bytes.
      bool clash = false;
      for (unsigned j = 0; j < op.num_operands(); ++j) {
        const bool is_same = op.operand(j) == operand && j < 32 && ((mask >> j) & 1) != 0;
        clash |= !is_same && root_of(op.operand(j)) == set;
      }
      if (!clash) chosen = static_cast<int>(i);
    }
    if (chosen >= 0) {
      ValueImpl* set = root_of(op.operand(chosen));
      ValueImpl* result = op.result(0).impl();
      last_use[set] = std::max(last_use[set], last_use[result]);
      root[result] = set;
    }
    choices.emplace_back(&op, chosen);
  }
  return choices;
}

}  // namespace tenon
