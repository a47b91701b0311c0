// outline: makes functions of sequences of operations, and calls in their place: of those that
// carry a mark, or of those that repeat, as the layers of a model do.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/verify/symbol_table.h"
#include "ir/core/walk.h"
#include "ir/dialect/func_ops.h"
#include "transforms/functions/outline_sequence.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

constexpr std::string_view kMark = "outline";

std::string_view MarkOf(const Operation& op) {
  const Attribute mark = op.attr(kMark);
  return mark && mark.kind() == Attribute::Kind::kString ? mark.str() : std::string_view();
}

class Outliner : public Pass {
 public:
  Outliner(bool marks, int64_t min_ops, int64_t min_copies)
      : marks_(marks),
        min_ops_(static_cast<size_t>(std::max<int64_t>(min_ops, 1))),
        min_copies_(static_cast<size_t>(std::max<int64_t>(min_copies, 2))) {}

  absl::StatusOr<PassResult> Run(Operation* module, PassContext& context) override {
    context_ = &context;
    // What a function holds may repeat in turn, or have marks of its own.
    for (bool changed = false;; changed = true) {
      TENON_ASSIGN_OR_RETURN(const bool more,
                             marks_ ? OutlineMarks(module, !changed) : OutlineRepeats(module));
      if (!more) return PassResult{changed};
    }
  }

 private:
  static Operation* FunctionAround(Operation* op) {
    while (op != nullptr && !Isa<func::FuncOp>(op)) op = op->parent_op();
    return op;
  }

  // The blocks inside of functions, whose ops may become calls; outer ones first. Of what has a
  // mark, only what is around it.
  std::vector<Block*> BlocksOf(Operation* module) const {
    std::vector<Block*> blocks;
    WalkOps(module, [&](Operation* op) {
      if (marks_ && !MarkOf(*op).empty() && MayOutline(*op)) return WalkResult::kSkip;
      for (unsigned r = 0; r < op->num_regions(); ++r) {
        for (Block& block : op->region(r))
          if (FunctionAround(op) != nullptr) blocks.push_back(&block);
      }
      return WalkResult::kAdvance;
    });
    return blocks;
  }

  absl::Status Make(std::vector<Sequence>& sequences, const std::string& wanted) {
    Operation* function = FunctionAround(sequences[0].ops[0]);
    Operation* table = NearestSymbolTable(*function);
    std::string name = wanted;
    for (int n = 1; LookupSymbol(table, name) != nullptr; ++n)
      name = fmt::format("{}_{}", wanted, n);
    context_->statistics->Add("functions-made");
    context_->statistics->Add("sequences-outlined", static_cast<int64_t>(sequences.size()));
    return Outline(sequences, name, function).status();
  }

  static const char* WhyNot(const Sequence& sequence) {
    if (sequence.outputs.empty()) return "nothing reads its results";
    if (!BindsItsSymbols(sequence)) return "its inputs do not have the extents that it names";
    return nullptr;
  }

  // Sequences of equal texts, in functions of one table of symbols, in the order of the program.
  // Those that cannot become calls are left out; `tell` warns of them.
  static std::vector<std::vector<Sequence>> Classes(std::vector<Sequence> sequences, bool tell) {
    std::vector<std::vector<Sequence>> classes;
    absl::flat_hash_map<std::pair<const Operation*, std::string>, size_t> known;
    for (Sequence& sequence : sequences) {
      Describe(sequence);
      if (const char* why = WhyNot(sequence)) {
        if (tell) {
          const Operation& first = *sequence.ops[0];
          EmitWarning(
              first.context(), first.location(),
              fmt::format("'{}' is marked '{}' and stays: {}", first.name(), MarkOf(first), why));
        }
        continue;
      }
      const Operation* table = NearestSymbolTable(*FunctionAround(sequence.ops[0]));
      const auto [at, added] = known.try_emplace({table, sequence.text}, classes.size());
      if (added) classes.emplace_back();
      classes[at->second].push_back(std::move(sequence));
    }
    return classes;
  }

  absl::StatusOr<bool> OutlineMarks(Operation* module, bool tell) {
    absl::flat_hash_map<std::string, size_t> places;
    std::vector<std::pair<std::string, std::vector<Sequence>>> marked;  // as the marks come
    for (Block* block : BlocksOf(module)) {
      std::string open;  // the mark of the sequence that goes on
      for (Operation& op : *block) {
        if (op.Has(Trait::kConstantLike)) continue;
        std::string mark(MarkOf(op));
        if (!mark.empty() && !MayOutline(op)) {
          if (tell) {
            EmitWarning(op.context(), op.location(),
                        fmt::format("'{}' is marked '{}' and stays: it has effects, calls a "
                                    "function, ends a block or defines extents",
                                    op.name(), mark));
          }
          mark.clear();
        }
        if (!mark.empty()) {
          const auto [at, added] = places.try_emplace(mark, marked.size());
          if (added) marked.push_back({mark, {}});
          std::vector<Sequence>& of_mark = marked[at->second].second;
          if (mark != open) of_mark.emplace_back();
          of_mark.back().ops.push_back(&op);
        }
        open = mark;
      }
    }
    bool changed = false;
    for (auto& [mark, sequences] : marked) {
      for (std::vector<Sequence>& copies : Classes(std::move(sequences), tell)) {
        for (Operation* op : copies[0].ops) op->SetAttr(kMark, Attribute());
        TENON_RETURN_IF_ERROR(Make(copies, mark));
        changed = true;
      }
    }
    return changed;
  }

  // The ops that may be outlined, as numbers. Null between those that do not follow each other.
  void ReadOps(Operation* module) {
    ops_.clear();
    keys_.clear();
    uint64_t gap = 0;
    const auto end_of_run = [&] {
      if (ops_.empty() || ops_.back() == nullptr) return;
      ops_.push_back(nullptr);
      keys_.push_back(++gap);
    };
    for (Block* block : BlocksOf(module)) {
      for (Operation& op : *block) {
        if (op.Has(Trait::kConstantLike)) continue;
        if (!MayOutline(op)) {
          end_of_run();
          continue;
        }
        ops_.push_back(&op);
        keys_.push_back(OutlineKey(op));
      }
      end_of_run();
    }
  }

  // Where windows of min_ops_ ops have equal keys, in order.
  absl::flat_hash_map<uint64_t, std::vector<size_t>> Windows() const {
    constexpr uint64_t kBase = 0x9e3779b97f4a7c15u;
    uint64_t power = 1, hash = 0;
    for (size_t i = 0; i < min_ops_; ++i) power *= kBase;
    absl::flat_hash_map<uint64_t, std::vector<size_t>> windows;
    size_t run = 0;  // ops since the last gap
    for (size_t i = 0; i < keys_.size(); ++i) {
      hash = hash * kBase + keys_[i];
      if (i >= min_ops_) hash -= power * keys_[i - min_ops_];
      run = ops_[i] == nullptr ? 0 : run + 1;
      if (run >= min_ops_) windows[hash].push_back(i + 1 - min_ops_);
    }
    return windows;
  }

  // Grows the sequences that begin at `starts` as long as their keys agree and they do not overlap.
  size_t Grow(const std::vector<size_t>& starts) const {
    size_t length = 0;
    for (;; ++length) {
      for (size_t k = 0; k < starts.size(); ++k) {
        const size_t at = starts[k] + length;
        const size_t limit = k + 1 < starts.size() ? starts[k + 1] : ops_.size();
        if (at >= limit || ops_[at] == nullptr || taken_[at] ||
            keys_[at] != keys_[starts[0] + length]) {
          return length;
        }
      }
    }
  }

  absl::StatusOr<bool> OutlineRepeats(Operation* module) {
    ReadOps(module);
    taken_.assign(ops_.size(), false);
    auto windows = Windows();
    std::vector<const std::vector<size_t>*> at(ops_.size(), nullptr);
    for (const auto& [hash, starts] : windows) {
      for (const size_t start : starts) at[start] = &starts;
    }
    absl::flat_hash_map<const Operation*, size_t> places;
    for (size_t i = 0; i < ops_.size(); ++i) {
      if (ops_[i] != nullptr) places.emplace(ops_[i], i);
    }
    absl::flat_hash_set<const std::vector<size_t>*> done;
    bool changed = false;
    for (size_t i = 0; i < ops_.size(); ++i) {
      if (at[i] == nullptr || taken_[i] || !done.insert(at[i]).second) continue;
      std::vector<size_t> starts;
      for (const size_t start : *at[i]) {
        if (start >= i && !taken_[start] && (starts.empty() || start >= starts.back() + min_ops_)) {
          starts.push_back(start);
        }
      }
      if (starts.size() < min_copies_) continue;
      const size_t length = Grow(starts);
      if (length < min_ops_) continue;
      std::vector<Sequence> sequences(starts.size());
      for (size_t k = 0; k < starts.size(); ++k) {
        for (size_t j = 0; j < length; ++j) sequences[k].ops.push_back(ops_[starts[k] + j]);
      }
      for (std::vector<Sequence>& copies : Classes(std::move(sequences), /*tell=*/false)) {
        if (copies.size() < min_copies_) continue;
        for (const Sequence& copy : copies) {
          // With what they hold, which moves or goes with them.
          for (Operation* op : copy.ops) {
            WalkOps(op, [&](Operation* inner) {
              const auto at = places.find(inner);
              if (at != places.end()) taken_[at->second] = true;
              return WalkResult::kAdvance;
            });
          }
        }
        TENON_RETURN_IF_ERROR(Make(copies, "outlined"));
        changed = true;
      }
    }
    return changed;
  }

  const bool marks_;
  const size_t min_ops_, min_copies_;
  PassContext* context_ = nullptr;
  std::vector<Operation*> ops_;
  std::vector<uint64_t> keys_;
  std::vector<bool> taken_;
};

}  // namespace

PassInfo OutlinePassInfo() {
  PassInfo info;
  info.anchor = "builtin.module";
  info.options = {{"by",
                   PassOption::Type::kString,
                   "repeats",
                   "repeats: sequences that occur several times; marks: operations with an "
                   "attribute `outline = \"name\"`",
                   {"repeats", "marks"}},
                  {"min-ops", PassOption::Type::kCount, "8",
                   "a sequence that repeats has so many operations, constants not counted"},
                  {"min-copies", PassOption::Type::kCount, "2",
                   "a sequence that repeats occurs so many times"}};
  info.create = [](const PassOptionValues& values) {
    return std::make_unique<Outliner>(values.GetString("by") == "marks", values.GetInt("min-ops"),
                                      values.GetInt("min-copies"));
  };
  return info;
}

}  // namespace tenon
