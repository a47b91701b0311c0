#include "ir/core/text/printer.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/limits.h"
#include "ir/core/block.h"
#include "ir/core/constants/constant_bytes.h"
#include "ir/core/constants/deferred_blob.h"
#include "ir/core/context/context.h"
#include "ir/core/text/asm_text.h"
#include "ir/core/text/lexer.h"
#include "ir/core/text/numbering.h"

namespace tenon {
namespace {

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
  // Whether the default form shows operands of some groups by name. If so, group_sizes_ has the
  // sizes of all.
  bool NamesGroups(const Operation& op);
  void PrintAttributes(const Operation& op, bool by_name);
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
  void PrintUse(Value value) { numbering_.AppendUse(out_, value); }
  void PrintOperands(const Operation& op);
  void PrintGroups(const Operation& op);  // operands as group_sizes_ says
  void PrintType(Type type) {
    if (type != last_type_) {
      // Programs whose types are all different gain nothing from what is kept.
      if (types_.size() == kMostTypes) types_.clear();
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
  // As +=, but the length is known.
  void Put(std::string_view text) { out_.append(text.data(), text.size()); }
  void Indent() { out_.append(2 * static_cast<size_t>(depth_), ' '); }

  const PrintOptions options_;
  Context& context_;
  const Numbering numbering_;
  static constexpr size_t kPiece = size_t{1} << 16;  // bytes between calls of the sink
  std::string out_;
  const TextSink* sink_ = nullptr;
  absl::Status status_;  // of the sink
  int depth_ = 0, nesting_ = 0;
  absl::InlinedVector<int32_t, 6> group_sizes_;
  const OpInfo* last_info_ = nullptr;
  bool last_has_groups_ = false;  // whether NamesGroups has anything to name in ops of last_info_
  static constexpr size_t kMostTypes = 1024;  // texts of types that are kept
  absl::flat_hash_map<const TypeStorage*, std::unique_ptr<std::string>> types_;
  Type last_type_;
  const std::string* last_type_text_ = nullptr;
  std::map<std::string, Attribute> resources_;
};

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

// Groups that may have any number of operands have names in the default form if their sizes do not
// follow from the number of operands; groups of at most one operand always have.
bool Printer::NamesGroups(const Operation& op) {
  const OpInfo& info = op.info();
  const int slot = info.segment_slot();
  if (&info != last_info_) {
    last_info_ = &info;
    const std::vector<OperandDef>& groups = info.def().operands;
    last_has_groups_ =
        slot >= 0 || std::any_of(groups.begin(), groups.end(), [](const OperandDef& group) {
          return group.arity == Arity::kOptional;
        });
  }
  if (!last_has_groups_) return false;
  // Sizes that do not fit, or not in their normal form, are shown as they are.
  return info.OperandSegments(static_cast<int>(op.num_operands()), op.slots(), group_sizes_) &&
         (slot < 0 || op.slot(static_cast<unsigned>(slot)).type().dtype() == DType::kI32);
}

void Printer::PrintOperands(const Operation& op) {
  for (unsigned i = 0; i < op.num_operands(); ++i) {
    if (i > 0) Put(", ");
    PrintUse(op.operand(i));
  }
}

void Printer::PrintGroups(const Operation& op) {
  const std::vector<OperandDef>& groups = op.info().def().operands;
  const bool positional = op.info().segment_slot() < 0;
  unsigned at = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    const int32_t size = group_sizes_[g];
    if (size == 0) continue;
    if (at > 0) out_ += ", ";
    const bool list = groups[g].arity == Arity::kVariadic && !positional;
    if (list || groups[g].arity == Arity::kOptional) {
      out_ += groups[g].name;
      out_ += list ? " = [" : " = ";
    }
    for (int32_t i = 0; i < size; ++i) {
      if (i > 0) out_ += ", ";
      PrintUse(op.operand(at++));
    }
    if (list) out_ += ']';
  }
}

void Printer::PrintAttributes(const Operation& op, bool by_name) {
  bool any = false;
  auto print = [&](std::string_view name, Attribute value) {
    out_ += any ? ", " : " <{";
    any = true;
    AppendNamed(out_, name, value);
    Note(value);
  };
  const OpInfo& info = op.info();
  if (!info.is_registered()) {
    if (Attribute properties = op.num_slots() > 0 ? op.slot(0) : Attribute()) {
      out_ += " <";
      AppendEntries(out_, properties.entries());
      out_ += '>';
      Note(properties);
    }
    return;
  }
  for (int i = 0; i < static_cast<int>(op.num_slots()); ++i) {
    const Attribute value = op.slot(static_cast<unsigned>(i));
    if (!value || (by_name && i == info.segment_slot())) continue;
    if (!options_.generic && value == info.default_value(i)) continue;
    print(info.slot_name(i).str(), value);
  }
  if (any) out_ += "}>";
}

void Printer::PrintOperation(const Operation& op) {
  numbering_.AppendResults(out_, op);
  PrintName(op);
  const bool by_name = !options_.generic && NamesGroups(op);
  out_ += '(';
  by_name ? PrintGroups(op) : PrintOperands(op);
  out_ += ')';
  if (op.num_successors() > 0) {
    out_ += '[';
    for (unsigned i = 0; i < op.num_successors(); ++i) {
      if (i > 0) Put(", ");
      numbering_.AppendBlock(out_, op.successor(i));
    }
    out_ += ']';
  }
  PrintAttributes(op, by_name);
  if (op.num_regions() > 0) {
    Put(" (");
    for (unsigned i = 0; i < op.num_regions(); ++i) {
      if (i > 0) Put(", ");
      PrintRegion(op.region(i));
    }
    out_ += ')';
  }
  if (Attribute discardable = op.discardable_attrs()) {
    out_ += ' ';
    AppendEntries(out_, discardable.entries());
    Note(discardable);
  }
  Put(" : (");
  for (unsigned i = 0; i < op.num_operands(); ++i) {
    if (i > 0) Put(", ");
    if (Value operand = op.operand(i)) {
      PrintType(operand.type());
    } else {
      Put("<<NULL TYPE>>");
    }
  }
  Put(") -> ");
  bool parens = op.num_results() != 1 || op.result().type().kind() == Type::Kind::kFunction;
  if (parens) out_ += '(';
  for (unsigned i = 0; i < op.num_results(); ++i) {
    if (i > 0) Put(", ");
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
  numbering_.AppendBlock(out_, &block);
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
    predecessors.emplace_back(numbering_.BlockIndex(from), from);
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
      numbering_.AppendBlock(out_, predecessors[i].second);
    }
  }
  out_ += '\n';
}

absl::Status Printer::PrintResources(TextSink sink) {
  constexpr char kHexDigits[] = "0123456789ABCDEF";
  out_ += "\n{-#\n  dialect_resources: {\n    builtin: {\n";
  bool first = true;
  for (const auto& [key, attribute] : resources_) {
    if (!first) out_ += ",\n";
    first = false;
    out_ += "      ";
    out_ += key;
    out_ += ": \"0x40000000";  // readers place the bytes at a multiple of 64
    TENON_RETURN_IF_ERROR(ForEachPiece(attribute, [&](std::span<const std::byte> bytes) {
      while (!bytes.empty()) {
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
      return absl::OkStatus();
    }));
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
