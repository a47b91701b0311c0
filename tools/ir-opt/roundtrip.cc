#include "tools/ir-opt/roundtrip.h"

#include <utility>

#include "fmt/format.h"
#include "ir/base/text_diff.h"
#include "ir/core/text/printer.h"
#include "ir/serialize/binary_module.h"

namespace tenon::ir_opt {
namespace {

// The text of all that two programs must share.
std::string Compared(const Model& model, bool with_names) {
  return Print(*model.module(), {.generic = !with_names, .locations = true});
}

// Empty if `bytes` say the same as `model`.
std::string DifferenceOf(std::string_view form, const Model& model, std::string_view bytes,
                         bool with_names, const LoadOptions& load) {
  const absl::StatusOr<Model> again = LoadFromBytes(bytes, fmt::format("<{}>", form), load);
  if (!again.ok()) {
    return fmt::format("verify-roundtrip: the {} cannot be read: {}", form,
                       std::string(again.status().message()));
  }
  const std::string diff =
      UnifiedDiff(Compared(model, with_names), Compared(*again, with_names), "written", "read");
  return diff.empty()
             ? ""
             : fmt::format("verify-roundtrip: the {} differs when it is read:\n{}", form, diff);
}

}  // namespace

std::vector<std::string> RoundtripDifferences(const Model& model, const LoadOptions& load) {
  std::vector<std::string> differences;
  const auto check = [&](std::string_view form, std::string_view bytes, bool with_names) {
    std::string difference = DifferenceOf(form, model, bytes, with_names, load);
    if (!difference.empty()) differences.push_back(std::move(difference));
  };
  check("text", Compared(model, true), true);
  check("generic text", Compared(model, false), false);
  std::string binary;
  const absl::Status written = WriteBinaryModule(*model.module(), [&](std::string_view piece) {
    binary += piece;
    return absl::OkStatus();
  });
  if (written.ok()) {
    check("binary module", binary, true);
  } else {
    differences.push_back(fmt::format("verify-roundtrip: the binary module cannot be written: {}",
                                      std::string(written.message())));
  }
  return differences;
}

}  // namespace tenon::ir_opt
