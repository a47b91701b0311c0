#include "ir/core/text/printer.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/limits.h"
#include "ir/base/out_of_memory.h"
#include "ir/core/block.h"
#include "ir/core/constants/deferred_blob.h"
#include "ir/core/context/context.h"
#include "ir/core/text/asm_text.h"
#include "ir/core/text/lexer.h"

namespace tenon {
namespace {

// Gives blocks and values the numbers that MLIR gives them: a region's own values first, then those
// of the regions nested in it. Sibling regions start from the same number; in the generic form, as
// in MLIR, all numbers are different and the last sibling gets the lowest ones.
class Numbering {
 public:
  struct BlockNumber {
    uint32_t block = 0;
    uint32_t first_argument = 0;
    bool entry = false;   // arguments are %arg0, %arg1, …; otherwise %0, %1, …
    size_t first_op = 0;  // in results_
  };

  Numbering(const Operation& root, bool unique) : root_(root) {
    if (root.num_results() > 0) root_result_ = next_value_++;
    PushRegions(root);
    while (!work_.empty()) {
      Work work = work_.back();
      work_.pop_back();
      if (!unique) {
        next_value_ = work.next_value;
        next_argument_ = work.next_argument;
      }
      NumberRegion(*work.region);
    }
  }

  // The number of an op's results; nullopt outside of the printed op, as there MLIR has no number
  // either.
  std::optional<uint32_t> Find(const Operation* op) const {
    if (op == &root_) return root_result_;
    const BlockNumber* block = op->block() == nullptr ? nullptr : Find(op->block());
    if (block == nullptr) return std::nullopt;
    return results_[block->first_op + op->position_after_renumbering()];
  }
  const BlockNumber* Find(const Block* block) const {
    if (block == last_block_) return last_;
    auto it = blocks_.find(block);
    if (it == blocks_.end()) return nullptr;
    last_block_ = block;
    last_ = &it->second;
    return last_;
  }

 private:
  struct Work {
    const Region* region;
    uint32_t next_value, next_argument;
  };

  void PushRegions(const Operation& op) {
    for (unsigned i = 0; i < op.num_regions(); ++i) {
      if (!op.region(i).empty()) work_.push_back({&op.region(i), next_value_, next_argument_});
    }
  }

  void NumberRegion(const Region& region) {
    uint32_t next_block = 0;
    bool nested = false;
    for (const Block& block : region) {
      block.Renumber();  // gives positions
      BlockNumber number;
      number.entry = next_block == 0;
      number.block = next_block++;
      uint32_t& next = number.entry ? next_argument_ : next_value_;
      number.first_argument = next;
      next += block.num_arguments();
      number.first_op = results_.size();
      blocks_.emplace(&block, number);
      for (const Operation& op : block) {
        results_.push_back(next_value_);
        if (op.num_results() > 0) ++next_value_;
        nested |= op.num_regions() > 0;
      }
    }
    if (!nested) return;
    for (const Block& block : region) {
      for (const Operation& op : block) PushRegions(op);
    }
  }

  const Operation& root_;
  uint32_t next_value_ = 0, next_argument_ = 0;
  std::vector<Work> work_;
  uint32_t root_result_ = 0;
  std::vector<uint32_t> results_;  // by position, block after block
  absl::flat_hash_map<const Block*, BlockNumber> blocks_;
  mutable const Block* last_block_ = nullptr;
  mutable const BlockNumber* last_ = nullptr;
};

class Printer {
 public:
  Printer(const Operation& root, const PrintOptions& options)
      : options_(options), context_(root.context()), numbering_(root, options.generic) {}

  absl::Status Run(const Operation& root, TextSink sink) {
    sink_ = &sink;
    PrintOperation(root);
    TENON_RETURN_IF_ERROR(status_);
    if (root.block() == nullptr && root.num_regions() > 0) out_ += "\n";
    if (!options_.elide_resources && !resources_.empty()) return PrintResources(sink);
    return sink(out_);
  }

 private:
  void PrintOperation(const Operation& op);
  void PrintAttributes(const Operation& op);
  void PrintRegion(const Region& region);
  void PrintBlockLabel(const Block& block);
  absl::Status PrintResources(TextSink sink);
  void PrintName(const Operation& op) {
    if (options_.generic || !IsBareIdentifier(op.name())) {
      AppendQuoted(out_, op.name());
    } else {
      out_ += op.name();
    }
  }
  void PrintUse(Value value);
  void PrintBlock(const Block* block);
  void PrintType(Type type) {
    if (type != last_type_) {
      std::unique_ptr<std::string>& text = types_[type.storage()];
      if (text == nullptr) {
        text = std::make_unique<std::string>();
        AppendType(*text, type);
      }
      last_type_ = type;
      last_type_text_ = text.get();
    }
    out_ += *last_type_text_;
  }
  void PrintLocation(Location location) {
    if (!options_.locations) return;
    out_ += " loc(";
    out_ += LocationText(context_, location);
    out_ += ')';
  }
  void Note(Attribute attribute);
  // Gives what is printed to the sink. Behind its first error, nothing is kept.
  void Flush() {
    if (status_.ok()) status_ = (*sink_)(out_);
    out_.clear();
  }
  void Indent() { out_.append(2 * static_cast<size_t>(depth_), ' '); }

  const PrintOptions options_;
  Context& context_;
  const Numbering numbering_;
  static constexpr size_t kPiece = size_t{1} << 16;  // bytes between calls of the sink
  std::string out_;
  const TextSink* sink_ = nullptr;
  absl::Status status_;  // of the sink
  int depth_ = 0, nesting_ = 0;
  absl::flat_hash_map<const TypeStorage*, std::unique_ptr<std::string>> types_;
  Type last_type_;
  const std::string* last_type_text_ = nullptr;
  std::map<std::string, Attribute> resources_;
};

void Printer::PrintUse(Value value) {
  out_ += '%';
  if (!value) {
    out_ += "<<NULL VALUE>>";
    return;
  }
  if (value.is_block_argument()) {
    const Numbering::BlockNumber* number = numbering_.Find(value.argument_owner());
    if (number == nullptr) {
      out_ += "<<UNKNOWN ARGUMENT>>";
      return;
    }
    if (number->entry) out_ += "arg";
    AppendInt(out_, number->first_argument + value.argument_index());
    return;
  }
  const Operation* op = value.defining_op();
  std::optional<uint32_t> number = numbering_.Find(op);
  if (!number) {
    out_ += "<<UNKNOWN RESULT>>";
    return;
  }
  AppendInt(out_, *number);
  if (op->num_results() > 1) {
    out_ += '#';
    AppendInt(out_, value.result_index());
  }
}

void Printer::PrintBlock(const Block* block) {
  const Numbering::BlockNumber* number = block == nullptr ? nullptr : numbering_.Find(block);
  out_ += "^bb";
  if (number == nullptr) {
    out_ += "<<UNKNOWN>>";
  } else {
    AppendInt(out_, number->block);
  }
}

// Remembers large constants, also those inside other attributes, for the resource section.
void Printer::Note(Attribute attribute) {
  if (!attribute || options_.elide_resources) return;
  switch (attribute.kind()) {
    case Attribute::Kind::kElements:
      if (IsLargeElements(attribute) && RepeatedElement(attribute).empty()) {
        resources_.emplace(ResourceKey(attribute), attribute);
      }
      return;
    case Attribute::Kind::kArray:
      for (Attribute element : attribute.elements()) Note(element);
      return;
    case Attribute::Kind::kDictionary:
      for (const NamedAttribute& entry : attribute.entries()) Note(entry.value);
      return;
    default:
      return;
  }
}

void Printer::PrintAttributes(const Operation& op) {
  bool any = false;
  auto print = [&](std::string_view name, Attribute value) {
    out_ += any ? ", " : " <{";
    any = true;
    AppendNamed(out_, name, value);
    Note(value);
  };
  if (!op.info().is_registered()) {
    if (Attribute properties = op.num_slots() > 0 ? op.slot(0) : Attribute()) {
      out_ += " <";
      AppendEntries(out_, properties.entries());
      out_ += '>';
      Note(properties);
    }
    return;
  }
  for (unsigned i = 0; i < op.num_slots(); ++i) {
    if (op.slot(i)) print(op.info().slot_name(static_cast<int>(i)).str(), op.slot(i));
  }
  if (any) out_ += "}>";
}

void Printer::PrintOperation(const Operation& op) {
  if (op.num_results() > 0) {
    out_ += '%';
    AppendInt(out_, *numbering_.Find(&op));
    if (op.num_results() > 1) {
      out_ += ':';
      AppendInt(out_, op.num_results());
    }
    out_ += " = ";
  }
  PrintName(op);
  out_ += '(';
  for (unsigned i = 0; i < op.num_operands(); ++i) {
    if (i > 0) out_ += ", ";
    PrintUse(op.operand(i));
  }
  out_ += ')';
  if (op.num_successors() > 0) {
    out_ += '[';
    for (unsigned i = 0; i < op.num_successors(); ++i) {
      if (i > 0) out_ += ", ";
      PrintBlock(op.successor(i));
    }
    out_ += ']';
  }
  PrintAttributes(op);
  if (op.num_regions() > 0) {
    out_ += " (";
    for (unsigned i = 0; i < op.num_regions(); ++i) {
      if (i > 0) out_ += ", ";
      PrintRegion(op.region(i));
    }
    out_ += ')';
  }
  if (Attribute discardable = op.discardable_attrs()) {
    out_ += ' ';
    AppendEntries(out_, discardable.entries());
    Note(discardable);
  }
  out_ += " : (";
  for (unsigned i = 0; i < op.num_operands(); ++i) {
    if (i > 0) out_ += ", ";
    if (Value operand = op.operand(i)) {
      PrintType(operand.type());
    } else {
      out_ += "<<NULL TYPE>>";
    }
  }
  out_ += ") -> ";
  bool parens = op.num_results() != 1 || op.result().type().kind() == Type::Kind::kFunction;
  if (parens) out_ += '(';
  for (unsigned i = 0; i < op.num_results(); ++i) {
    if (i > 0) out_ += ", ";
    PrintType(op.result(i).type());
  }
  if (parens) out_ += ')';
  PrintLocation(op.location());
}

void Printer::PrintRegion(const Region& region) {
  out_ += "{\n";
  if (nesting_ == kMaxNesting) {
    Indent();
    out_ += fmt::format("// nested deeper than {} levels\n", kMaxNesting);
    Indent();
    out_ += '}';
    return;
  }
  ++nesting_;
  for (const Block& block : region) {
    bool entry = &block == &region.front();
    if (!entry || block.empty() || block.num_arguments() > 0 || block.has_predecessors())
      PrintBlockLabel(block);
    ++depth_;
    for (const Operation& op : block) {
      Indent();
      PrintOperation(op);
      out_ += '\n';
      if (out_.size() >= kPiece) Flush();
    }
    --depth_;
  }
  --nesting_;
  Indent();
  out_ += '}';
}

void Printer::PrintBlockLabel(const Block& block) {
  Indent();
  PrintBlock(&block);
  if (block.num_arguments() > 0) {
    out_ += '(';
    for (unsigned i = 0; i < block.num_arguments(); ++i) {
      if (i > 0) out_ += ", ";
      PrintUse(block.argument(i));
      out_ += ": ";
      PrintType(block.argument(i).type());
      PrintLocation(block.argument(i).location());
    }
    out_ += ')';
  }
  out_ += ':';
  // As MLIR: who comes here.
  std::vector<std::pair<uint32_t, const Block*>> predecessors;
  for (BlockOperand* use = block.first_predecessor(); use != nullptr; use = use->next_use()) {
    const Block* from = use->owner()->block();
    const Numbering::BlockNumber* number = numbering_.Find(from);
    predecessors.emplace_back(number != nullptr ? number->block : 0, from);
  }
  std::stable_sort(predecessors.begin(), predecessors.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (predecessors.empty()) {
    if (block.prev() != nullptr) out_ += "  // no predecessors";
  } else {
    out_ += "  // ";
    if (predecessors.size() == 1) {
      out_ += "pred: ";
    } else {
      AppendInt(out_, static_cast<int64_t>(predecessors.size()));
      out_ += " preds: ";
    }
    for (size_t i = 0; i < predecessors.size(); ++i) {
      if (i > 0) out_ += ", ";
      PrintBlock(predecessors[i].second);
    }
  }
  out_ += '\n';
}

absl::Status Printer::PrintResources(TextSink sink) {
  constexpr char kHexDigits[] = "0123456789ABCDEF";
  out_ += "\n{-#\n  dialect_resources: {\n    builtin: {\n";
  bool first = true;
  for (const auto& [key, attribute] : resources_) {
    // One at a time of those that are made for it.
    const std::shared_ptr<const DeferredBlob> deferred = DeferredBlobOf(attribute);
    const std::shared_ptr<const Blob> blob = deferred ? deferred->Bytes() : attribute.blob();
    if (blob == nullptr) {
      return absl::ResourceExhaustedError(
          fmt::format("the bytes of resource '{}' do not fit the memory {}", key, kMemoryLimit));
    }
    if (!first) out_ += ",\n";
    first = false;
    out_ += "      ";
    out_ += key;
    out_ += ": \"0x40000000";  // readers place the bytes at a multiple of 64
    for (std::span<const std::byte> bytes = blob->bytes(); !bytes.empty();) {
      const std::span<const std::byte> piece = bytes.first(std::min(bytes.size(), kPiece));
      bytes = bytes.subspan(piece.size());
      const size_t at = out_.size();
      out_.resize(at + 2 * piece.size());
      char* to = out_.data() + at;
      for (std::byte b : piece) {
        *to++ = kHexDigits[static_cast<unsigned>(b) >> 4];
        *to++ = kHexDigits[static_cast<unsigned>(b) & 15];
      }
      TENON_RETURN_IF_ERROR(sink(out_));
      out_.clear();
    }
    blob->DropPages();
    out_ += '"';
  }
  out_ += "\n    }\n  }\n#-}\n";
  return sink(out_);
}

}  // namespace

std::string Print(const Operation& op, const PrintOptions& options) {
  std::string text;
  const absl::Status status = Print(op, options, [&text](std::string_view piece) {
    text += piece;
    return absl::OkStatus();
  });
  TENON_CHECK(status.ok());
  return text;
}

absl::Status Print(const Operation& op, const PrintOptions& options, TextSink sink) {
  return Printer(op, options).Run(op, sink);
}

}  // namespace tenon
