// A dialect whose classes the build makes from money.yaml: docs/guide/define-a-dialect.md explains
// this file.
#include <cstdio>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fmt/format.h"
#include "money_ops.h"
#include "tenon/ir/base/check.h"
#include "tenon/ir/core/block.h"
#include "tenon/ir/core/builder.h"
#include "tenon/ir/core/context/context.h"
#include "tenon/ir/core/context/dialect_types.h"
#include "tenon/ir/core/text/parser.h"
#include "tenon/ir/core/text/printer.h"
#include "tenon/ir/core/verify/verifier.h"
#include "tenon/ir/dialect/dialects.h"

// The functions that money.yaml names.
namespace tenon {

absl::Status CheckLedger(std::span<const Attribute> parameters) {
  if (parameters[0].str().size() == 3) return absl::OkStatus();
  return absl::InvalidArgumentError("a currency has three letters");
}

absl::Status CheckBook(Operation& op) {
  const money::BookOp book(&op);
  const auto rate = DynCast<money::RateAttr>(book.rate());
  const money::LedgerType ledger(book.ledger().type());
  if (!rate || rate.from() != ledger.currency()) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("the ledger is in '{}' already", rate.from()));
}

}  // namespace tenon

namespace {

using namespace tenon;  // NOLINT(google-build-using-namespace): this file speaks of nothing else

absl::Status Run() {
  Context context;
  RegisterAllDialects(context);
  TENON_RETURN_IF_ERROR(context.RegisterDialect(MoneyDialect()));
  TENON_ASSIGN_OR_RETURN(const money::LedgerType ledger,
                         money::LedgerType::Get(context, {.currency = "EUR"}));
  std::printf("%s: at most %d\n", ledger.text().c_str(), static_cast<int>(ledger.limit()));

  const OwnedOp module = CreateModule(context);
  const Type amount = Type::Tensor(context, DType::kF64, std::span<const int64_t>());
  Operation* function =
      CreateFunction(module.get(), "main", Type::Function(context, {&amount, 1}, {}));
  OpBuilder builder(context);
  builder.SetInsertionPointToEnd(&function->region().front());
  const Type types[] = {ledger};
  TENON_ASSIGN_OR_RETURN(const money::OpenOp open,
                         money::OpenOp::Create(builder, Location(), types));
  TENON_ASSIGN_OR_RETURN(const money::RateAttr rate,
                         money::RateAttr::Get(context, {.from = "USD", .factor = 0.9}));
  const Value x = function->region().front().argument(0);
  TENON_RETURN_IF_ERROR(
      money::BookOp::Create(builder, Location(), open.out(), x, {.rate = rate}).status());
  std::printf("%s", Print(*module).c_str());

  for (const char* text : {"!money.ledger<\"Euro\">", "!money.ledger<1.5>"})
    std::printf("status: %s\n", std::string(ParseType(context, text).status().message()).c_str());
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
