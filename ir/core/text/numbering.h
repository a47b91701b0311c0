// The names under which a text shows values and blocks: for the printer, and for reports of passes.
#ifndef TENON_IR_CORE_TEXT_NUMBERING_H_
#define TENON_IR_CORE_TEXT_NUMBERING_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/core/block.h"
#include "ir/core/text/asm_text.h"

namespace tenon {

// Gives blocks and values the numbers that MLIR gives them: a region's own values first, then those
// of the regions nested in it. Sibling regions start from the same number; in the generic form, as
// in MLIR, all numbers are different and the last sibling gets the lowest ones.
//
// Outside of the generic form, a value with a name (Value::name) has no number. Where a region or
// one around it has a value of that name already, "_0", "_1", … follows the name.
class Numbering {
 public:
  // Numbers `root` and what is in it, which must not change while this lives.
  Numbering(const Operation& root, bool generic);
  Numbering(const Numbering&) = delete;
  Numbering& operator=(const Numbering&) = delete;

  // Appends "%0", "%0#1", "%arg0" or "%name". Says so where a value is none of `root`.
  void AppendUse(std::string& out, Value value) const;
  // Appends "%0 = " or "%0:2, %name = ", the results of `op`; nothing if it has none.
  void AppendResults(std::string& out, const Operation& op) const {
    if (op.num_results() != 1 || !names_.empty()) return AppendResultGroups(out, op);
    uint32_t number = 0;
    FindResults(&op, number);
    out += '%';
    AppendInt(out, number);
    out.append(" = ", 3);
  }
  // Appends "^bb1".
  void AppendBlock(std::string& out, const Block* block) const;
  // The number of a block in its region; 0 outside of `root`.
  uint32_t BlockIndex(const Block* block) const;

 private:
  struct BlockNumber {
    uint32_t block = 0;
    uint32_t first_argument = 0;
    bool entry = false;   // arguments are %arg0, %arg1, …; otherwise %0, %1, …
    size_t first_op = 0;  // in results_
  };
  // The names in a region, without those around it.
  struct Scope {
    const Scope* around = nullptr;
    absl::flat_hash_set<std::string> names;
    absl::flat_hash_map<std::string, uint32_t> counts;  // the next number behind a name
  };
  struct Work {
    const Region* region;
    uint32_t next_value, next_argument;
    const Scope* around;
  };

  void PushRegions(const Operation& op, const Scope* scope);
  void NumberRegion(const Work& work);
  void NameArguments(const Block& block, Scope*& scope, const Scope* around);
  // Names results of `op`, which has some. True if the first one has a name and takes no number.
  bool NameResults(const Operation& op, Scope*& scope, const Scope* around) {
    if (generic_ || (op.num_results() == 1 && !op.result(0).has_name())) return false;
    return NameGroups(op, scope, around);
  }
  bool NameGroups(const Operation& op, Scope*& scope, const Scope* around);
  void GiveName(Value value, Scope*& scope, const Scope* around);
  // Null outside of the printed op, as there MLIR has no number either.
  const BlockNumber* Find(const Block* block) const {
    if (block == last_block_) return last_;
    const auto it = blocks_.find(block);
    if (it == blocks_.end()) return nullptr;
    last_block_ = block;
    last_ = &it->second;
    return last_;
  }
  // The number of an op's first results. False outside of the printed op.
  bool FindResults(const Operation* op, uint32_t& number) const {
    if (op == &root_) {
      number = root_result_;
      return true;
    }
    const BlockNumber* block = op->block() == nullptr ? nullptr : Find(op->block());
    if (block == nullptr) return false;
    number = results_[block->first_op + op->position_after_renumbering()];
    return true;
  }
  void AppendResultGroups(std::string& out, const Operation& op) const;
  // False, and nothing is appended, if the text shows the value under a number.
  bool AppendName(std::string& out, Value value) const;
  // Where there are names. `number` is that of the first results of `op`, which defines `value`.
  void AppendResultUse(std::string& out, Value value, const Operation& op, uint32_t number) const;

  const Operation& root_;
  const bool generic_;
  uint32_t next_value_ = 0, next_argument_ = 0;
  std::vector<Work> work_;
  uint32_t root_result_ = 0;
  std::vector<uint32_t> results_;  // by position, block after block
  absl::flat_hash_map<const Block*, BlockNumber> blocks_;
  mutable const Block* last_block_ = nullptr;
  mutable const BlockNumber* last_ = nullptr;

  std::deque<Scope> scopes_;
  absl::flat_hash_map<const ValueImpl*, std::string> names_;  // empty in the generic form
  // The first results of groups like "%name:2", of ops with several results and names among them.
  absl::flat_hash_map<const Operation*, std::vector<uint32_t>> groups_;
};

}  // namespace tenon

#endif  // TENON_IR_CORE_TEXT_NUMBERING_H_
