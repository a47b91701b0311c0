// Any text as IR: a diagnostic, or IR that verifies or not, and prints and reads back as itself.
#include <string>

#include "ir/core/block.h"
#include "ir/core/context/context.h"
#include "ir/core/operation.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/core/verify/verifier.h"
#include "ir/dialect/dialects.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/mutator.h"

namespace tenon::fuzz {
namespace {

// True if regions see the values that they use. Elsewhere a name may stand for two values, and the
// verifier refuses the program.
bool SeesItsValues(Operation* op) {
  for (unsigned i = 0; i < op->num_operands(); ++i) {
    const Value value = op->operand(i);
    const Region* home = value.parent_block() == nullptr ? nullptr : value.parent_block()->parent();
    bool seen = false;
    for (Operation* at = op; at != nullptr && at->block() != nullptr && !seen; at = at->parent_op())
      seen = at->block()->parent() == home;
    if (!seen) return false;
  }
  for (unsigned r = 0; r < op->num_regions(); ++r) {
    for (Block* block = op->region(r).empty() ? nullptr : &op->region(r).front(); block != nullptr;
         block = block->next()) {
      for (Operation* inner = block->front(); inner != nullptr; inner = inner->next()) {
        if (!SeesItsValues(inner)) return false;
      }
    }
  }
  return true;
}

std::string CheckReadsBack(Context& context, Operation& module) {
  const bool visible = SeesItsValues(&module);
  const PrintOptions whole{.generic = true, .locations = true};
  const std::string all = Print(module, whole);
  for (bool generic : {false, true}) {
    PrintOptions print{generic, true, false};
    std::string text = Print(module, print);
    ParseOptions parse;
    parse.verify = false;
    parse.locate_by_text = false;
    absl::StatusOr<OwnedOp> again = ParseModule(context, text, parse);
    if (!again.ok())
      return "printed text does not parse: " + std::string(again.status().message()) + "\n" + text;
    if (!visible) continue;
    if (std::string second = Print(**again, print); second != text) {
      return "printed text reads back differently:\n" + text + "\n--- then\n" + second;
    }
    if (std::string read = Print(**again, whole); read != all)
      return "printed text reads back as another program:\n" + all + "\n--- then\n" + read;
  }
  return {};
}

}  // namespace

std::string CheckText(std::string_view text, bool* accepted) {
  Context context;
  RegisterAllDialects(context);
  return CheckTextIn(context, text, accepted);
}

std::string CheckTextIn(Context& context, std::string_view text, bool* accepted) {
  if (accepted != nullptr) *accepted = false;
  context.set_allow_unregistered_dialects(true);
  ParseOptions options;
  options.verify = false;
  absl::StatusOr<OwnedOp> module = ParseModule(context, text, options);
  if (!module.ok()) return module.status().message().empty() ? "an error without a message" : "";
  const bool ok = Verify(module->get()).ok();
  if (accepted != nullptr) *accepted = ok;
  return CheckReadsBack(context, **module);
}

std::vector<std::string> TextSeeds() {
  // Some of them: libFuzzer reads all of its seeds before it changes one.
  constexpr size_t kStep = 5;
  std::vector<std::string> all = GoldenCorpus(), seeds;
  for (size_t i = 0; i < all.size(); i += kStep) seeds.push_back(std::move(all[i]));
  return seeds;
}

}  // namespace tenon::fuzz
