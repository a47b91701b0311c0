// The parser of operations, blocks and regions. Internal to ir/core.
#ifndef TENON_IR_CORE_TEXT_OP_PARSER_H_
#define TENON_IR_CORE_TEXT_OP_PARSER_H_

#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "ir/core/block.h"
#include "ir/core/text/asm_parser.h"
#include "ir/core/text/parser.h"

namespace tenon {

class OpParser : public AsmParser {
 public:
  // `mapped`: the text is a read-only mapping of a file.
  OpParser(Context& context, std::string_view text, const ParseOptions& options, bool mapped)
      : AsmParser(context, text, options.file_name), options_(options), mapped_(mapped) {}
  ~OpParser();

  absl::StatusOr<OwnedOp> ParseTopLevel();

 private:
  // A use in the text: "%a" or "%a#1".
  struct Use {
    std::string_view name;
    uint32_t number = 0;
    size_t offset = 0;
  };
  // Uses with the name of their operand group: "bias = %b" or "parts = [%a, %b]".
  struct NamedUses {
    std::string_view name;
    size_t offset = 0;
    size_t first = 0, count = 0;  // in the list of all uses
  };
  // The meaning of a name: a block argument, or `count` results of `op` from result `first` on.
  struct Definition {
    Value argument;
    Operation* op = nullptr;
    uint32_t first = 0, count = 0;
    size_t offset = 0;
    Value Get(uint32_t number) const { return argument ? argument : op->result(first + number); }
  };
  // A value that is used before its definition; `placeholder` takes its place until then.
  struct ForwardUse {
    Value placeholder;
    size_t offset = 0;
  };
  // The names that are visible in one region that is isolated from above, and in regions nested in
  // it.
  class ValueScope {
   public:
    // Null if the name is not defined.
    const Definition* Find(std::string_view name) const;
    // Returns the earlier definition of the name, which stays; null if there is none.
    const Definition* Define(std::string_view name, const Definition& definition);
    void Forget(std::string_view name);

    absl::flat_hash_map<Key, std::map<uint32_t, ForwardUse>> forward;  // by name, then number
    // Names defined in nested regions, in order; they are forgotten at the end of their region.
    std::vector<Key> names;
    int nesting = 0;

   private:
    // Most names are numbers. %0, %1, … are kept by number as long as few numbers are missing.
    const Definition* FindNumbered(size_t number) const {
      return number < numbered_.size() && numbered_[number].count != 0 ? &numbered_[number]
                                                                       : nullptr;
    }
    std::vector<Definition> numbered_;
    size_t num_defined_ = 0;
    absl::flat_hash_map<Key, Definition> named_;
  };
  struct BlockEntry {
    Block* block = nullptr;
    std::unique_ptr<Block> undefined;  // owned here until its label is read
    size_t offset = 0;
  };
  using BlockNames = absl::flat_hash_map<Key, BlockEntry>;
  struct ResultGroup {
    std::string_view name;
    uint32_t count = 1;
    size_t offset = 0;
  };

  using Uses = absl::InlinedVector<Use, 4>;
  using AllNamedUses = std::vector<NamedUses>;
  using ResultGroups = absl::InlinedVector<ResultGroup, 1>;
  // What is open where an op, a label or an alias begins.
  struct Mark {
    size_t begin, regions, scopes, block_names, located, arguments_located;
    int nesting;
  };
  static constexpr int kMaxErrors = 20;  // then reading ends

  Mark MarkHere() const;
  // After an error behind `mark`: goes on with the next statement of the region, or at its end.
  // Names that the broken statement would define fit all their uses, so that they cause no further
  // errors. False if nothing more can be read.
  bool Recover(const Mark& mark, bool top);
  // Keeps an error that does not hinder reading. False if there are too many.
  bool KeepError();
  void Unwind(const Mark& mark);  // to what was open there
  // From `begin` to the first statement from `least` on.
  void Skip(size_t begin, size_t least, bool top);
  bool IsFirstOfLine() const;
  bool AtStatement(bool top) const;  // an op, a label or, at the top, an alias
  void DefineUnknown(std::string_view name);
  void KeepName(std::string_view name, Value value) {
    if (options_.keep_names) value.set_name(name.substr(1));
  }

  bool ParseOperation(Block* into);
  bool ParseResultGroups(ResultGroups& groups, size_t& total);
  const OpInfo* ParseOpName();
  const OpInfo* FindInfo(std::string_view name, size_t at);
  bool ParseUses(Uses& uses, AllNamedUses& named);
  bool ParseNamedUses(Uses& uses, AllNamedUses& named);
  bool ParseUse(Use& use);
  // Brings operands, which are in the order of the text, into that of the definition, and sets
  // operandSegmentSizes where the text has none. `at` is the place of the op.
  bool ArrangeOperands(size_t at, const AllNamedUses& named, OperationState& state);
  bool ParseSuccessors(OperationState& state);
  bool ParseRegions(const OpInfo& info, unsigned& count);
  bool ParseSignature(const Uses& uses, OperationState& state);
  // `at` has the position of each entry.
  bool SetProperties(const OpInfo& info, const std::vector<NamedAttribute>& entries,
                     const std::vector<size_t>& at, OperationState& state);
  bool SetAttributes(const OpInfo& info, std::vector<NamedAttribute>& entries,
                     const std::vector<size_t>& at, OperationState& state);
  // Warns if the op has no attribute `name` and the name has no dialect. Warns once per name and
  // op, and only a limited number of times.
  void WarnOfUnknownAttribute(const OpInfo& info, std::string_view name, size_t at);
  bool DefineResults(Operation* op, const ResultGroups& groups);
  // Of a mapped text: drops the pages that are read.
  void DropReadText();

  bool ParseRegion(Region& region, bool isolated);
  bool ParseBlocks(Region& region);
  bool ParseBlockLabel(Region& region);
  bool ParseBlockArguments(Block* block);
  bool ParseBody(Block* block);
  Block* ReferToBlock(std::string_view name, size_t at);
  bool CheckBlocksDefined();

  void EnterScope(bool isolated);
  bool LeaveScope(bool isolated);
  void ForgetRegion(ValueScope& scope);  // the names of the innermost one
  bool Define(std::string_view name, Definition definition);
  bool Resolve(const Use& use, Type type, Value& value);
  bool ResolveForwardUses(Key name, const Definition& definition);
  bool CheckNoForwardUses(const ValueScope& scope);
  bool ResolveLocations();
  Diagnostic NoteAt(size_t offset, std::string message);

  ParseOptions options_;
  const bool mapped_;
  size_t dropped_ = 0;  // bytes of the text whose pages have been dropped
  // Of the operation that is being read, outside of its regions.
  std::vector<NamedAttribute> entries_;
  std::vector<size_t> entry_offsets_;
  OwnedOp module_;
  absl::flat_hash_map<Key, const OpInfo*> infos_;
  absl::flat_hash_set<std::pair<const OpInfo*, Key>> unknown_attributes_;  // warned of
  std::vector<std::unique_ptr<ValueScope>> scopes_;
  std::vector<std::unique_ptr<BlockNames>> block_names_;
  // Regions of ops that do not exist yet, innermost last.
  std::vector<std::unique_ptr<Region>> pending_regions_;
  Block placeholders_;
  Value unknown_;         // the meaning of names whose definition is broken
  bool stopped_ = false;  // nothing more can be read
  std::vector<std::pair<Operation*, std::string_view>> located_later_;
  std::vector<std::pair<Value, std::string_view>> arguments_located_later_;
};

}  // namespace tenon

#endif  // TENON_IR_CORE_TEXT_OP_PARSER_H_
