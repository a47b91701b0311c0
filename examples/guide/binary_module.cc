// What docs/guide/binary-module.md quotes: a module to bytes and back.
#include "tenon/ir/serialize/binary_module.h"

#include <cstdio>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tenon/ir/base/check.h"
#include "tenon/ir/core/text/parser.h"
#include "tenon/ir/core/text/printer.h"
#include "tenon/ir/dialect/dialects.h"

namespace {

constexpr std::string_view kProgram = R"(
func.func() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<4xf32>):
  %0 = ten.relu(%x) {my.note = "kept"} : (tensor<4xf32>) -> tensor<4xf32>
  func.return(%0) : (tensor<4xf32>) -> ()
}) : () -> ()
)";

// Writes the module to memory. A sink that writes to a file looks the same.
absl::StatusOr<std::string> Save(const tenon::Operation& module) {
  std::string bytes;
  TENON_RETURN_IF_ERROR(tenon::WriteBinaryModule(module, [&bytes](std::string_view piece) {
    bytes += piece;
    return absl::OkStatus();
  }));
  return bytes;
}

absl::Status Run() {
  tenon::Context context;
  tenon::RegisterAllDialects(context);
  TENON_ASSIGN_OR_RETURN(const tenon::OwnedOp module, tenon::ParseModule(context, kProgram));
  TENON_ASSIGN_OR_RETURN(const std::string bytes, Save(*module));
  TENON_ASSIGN_OR_RETURN(const tenon::OwnedOp again,
                         tenon::ReadBinaryModule(context, bytes, {.file_name = "saved.tnb"}));
  const bool same =
      tenon::Print(*again, {.locations = true}) == tenon::Print(*module, {.locations = true});
  std::printf("the text is %s\n", same ? "the same" : "another");

  const absl::Status cut = tenon::ReadBinaryModule(context, std::string_view(bytes).substr(0, 100),
                                                   {.file_name = "cut.tnb"})
                               .status();
  std::printf("%s\n", cut.ok() ? "read" : "a file that is cut off is refused");
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "binary_module: %s\n", status.ToString().c_str());
  return 1;
}
