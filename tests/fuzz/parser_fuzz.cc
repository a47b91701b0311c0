// Any text: a diagnostic, or IR that verifies or not, and prints and reads back as itself. With
// libFuzzer:
//   clang++ -fsanitize=fuzzer,address -DTENON_LIBFUZZER …; the tests run the same function on
//   mutated files.
#include "tests/fuzz/parser_fuzz.h"

#include <string>

#include "ir/core/context.h"
#include "ir/core/parser.h"
#include "ir/core/printer.h"
#include "ir/core/verifier.h"
#include "ir/dialect/dialects.h"

namespace tenon::fuzz {
namespace {

std::string CheckReadsBack(Context& context, const Operation& module) {
  for (bool generic : {false, true}) {
    PrintOptions print{generic, true, false};
    std::string text = Print(module, print);
    ParseOptions parse;
    parse.verify = false;
    parse.locate_by_text = false;
    absl::StatusOr<OwnedOp> again = ParseModule(context, text, parse);
    if (!again.ok())
      return "printed text does not parse: " + std::string(again.status().message()) + "\n" + text;
    if (std::string second = Print(**again, print); second != text) {
      return "printed text reads back differently:\n" + text + "\n--- then\n" + second;
    }
  }
  return {};
}

}  // namespace

std::string CheckText(std::string_view text, bool* verified) {
  Context context;
  RegisterAllDialects(context);
  context.set_allow_unregistered_dialects(true);
  ParseOptions options;
  options.verify = false;
  absl::StatusOr<OwnedOp> module = ParseModule(context, text, options);
  if (!module.ok()) return module.status().message().empty() ? "an error without a message" : "";
  bool ok = Verify(module->get()).ok();
  if (verified != nullptr) *verified = ok;
  return CheckReadsBack(context, **module);
}

}  // namespace tenon::fuzz

#ifdef TENON_LIBFUZZER
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string problem = tenon::fuzz::CheckText({reinterpret_cast<const char*>(data), size});
  if (problem.empty()) return 0;
  std::fprintf(stderr, "%s\n", problem.c_str());
  std::abort();
}
#endif
