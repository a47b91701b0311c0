// Any bytes as a binary module: an error, or IR that is written and read back as itself.
#include "ir/core/context/context.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/core/verify/verifier.h"
#include "ir/dialect/dialects.h"
#include "ir/serialize/binary_module.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/mutator.h"
#include "tests/fuzz/sealed.h"

namespace tenon::fuzz {
namespace {

std::string Written(const Operation& module) {
  std::string bytes;
  const absl::Status status = WriteBinaryModule(module, [&](std::string_view piece) {
    bytes += piece;
    return absl::OkStatus();
  });
  return status.ok() ? bytes : std::string();
}

}  // namespace

std::string CheckBinary(std::string_view given, bool* accepted) {
  if (accepted != nullptr) *accepted = false;
  Context context;
  RegisterAllDialects(context);
  context.set_allow_unregistered_dialects(true);
  ReadBinaryOptions options;
  options.verify = false;
  const std::string bytes = Sealed(std::string(given));
  const absl::StatusOr<OwnedOp> module = ReadBinaryModule(context, bytes, options);
  if (!module.ok()) return module.status().message().empty() ? "an error without a message" : "";
  const bool ok = Verify(module->get()).ok();
  if (accepted != nullptr) *accepted = ok;
  const PrintOptions print{false, true, false};
  const std::string text = Print(**module, print);
  const std::string again = Written(**module);
  if (again.empty()) return "what was read cannot be written";
  const absl::StatusOr<OwnedOp> second = ReadBinaryModule(context, again, options);
  if (!second.ok()) return "what was written cannot be read: " + second.status().ToString();
  if (Print(**second, print) != text) return "reads back differently:\n" + text;
  if (Written(**second) != again) return "is written differently the second time:\n" + text;
  if (!ok) return {};
  ParseOptions parse;
  parse.verify = false;
  parse.locate_by_text = false;
  const absl::StatusOr<OwnedOp> parsed = ParseModule(context, text, parse);
  if (!parsed.ok()) return "its text does not parse: " + parsed.status().ToString() + "\n" + text;
  return Print(**parsed, print) == text ? "" : "its text reads back differently:\n" + text;
}

std::vector<std::string> BinarySeeds() {
  std::vector<std::string> seeds;
  for (const std::string& text : TextSeeds()) {
    Context context;
    RegisterAllDialects(context);
    context.set_allow_unregistered_dialects(true);
    const absl::StatusOr<OwnedOp> module = ParseModule(context, text);
    if (module.ok()) seeds.push_back(Written(**module));
  }
  return seeds;
}

}  // namespace tenon::fuzz
