// A dialect conversion, from numbers of a type of their own to tensors of integers:
// docs/guide/convert-a-dialect.md explains this file. The build makes fix_ops.h from fix.yaml.
#include <bit>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fix_ops.h"
#include "tenon/ir/base/check.h"
#include "tenon/ir/core/context/context.h"
#include "tenon/ir/core/context/diagnostic.h"
#include "tenon/ir/core/text/parser.h"
#include "tenon/ir/core/text/printer.h"
#include "tenon/ir/core/verify/verifier.h"
#include "tenon/ir/dialect/core_ops.h"
#include "tenon/ir/dialect/dialects.h"
#include "tenon/ir/dialect/ten_ops.h"
#include "tenon/pass/conversion/dialect_conversion.h"

namespace {

using namespace tenon;  // NOLINT(google-build-using-namespace): this file speaks of nothing else

constexpr std::string_view kStructure[] = {"func.func", "func.return", "func.call"};

TypeConverter FixToTensors() {
  TypeConverter types;
  types.AddRule([](Type type) { return type; });  // every other type stays
  types.AddRule([](Type type) -> std::optional<Type> {
    if (!Isa<fix::NumType>(type)) return std::nullopt;
    return Type::Tensor(type.context(), DType::kI64, std::span<const int64_t>());
  });
  // For ops that go on to use numbers.
  types.AddSourceMaterialization(
      [](OpBuilder& builder, Type to, Value from, Location location) -> absl::StatusOr<Value> {
        TENON_ASSIGN_OR_RETURN(const fix::FromRawOp made,
                               fix::FromRawOp::Create(builder, location, from, {&to, 1}));
        return made.out();
      });
  return types;
}

class AddToTen : public OpConversionPattern<fix::AddOp> {
 public:
  explicit AddToTen(const TypeConverter& types) : OpConversionPattern("fix-add-to-ten", &types) {}

  absl::StatusOr<bool> ConvertOp(fix::AddOp add, const ConvertedOperands& operands,
                                 ConversionRewriter& rewriter) const override {
    const auto made = rewriter.ReplaceWith<ten::AddOp>(add.op(), operands[0], operands[1]);
    if (!made.ok()) return made.status();
    return true;
  }
};

// The product has twice as many places, so it is shifted to the right.
class MulToTen : public OpConversionPattern<fix::MulOp> {
 public:
  explicit MulToTen(const TypeConverter& types) : OpConversionPattern("fix-mul-to-ten", &types) {}

  absl::StatusOr<bool> ConvertOp(fix::MulOp mul, const ConvertedOperands& operands,
                                 ConversionRewriter& rewriter) const override {
    const int64_t places = fix::NumType(mul.out().type()).places();
    if (places < 0 || places > 31) return rewriter.Fail("it has no places from 0 to 31");
    const Location location = mul->location();
    TENON_ASSIGN_OR_RETURN(const ten::MulOp product,
                           ten::MulOp::Create(rewriter, location, operands[0], operands[1]));
    const Attribute value = Attribute::Elements(rewriter.context(), product.out().type(),
                                                std::as_bytes(std::span(&places, 1)));
    TENON_ASSIGN_OR_RETURN(const core::ConstantOp shift,
                           core::ConstantOp::Create(rewriter, location, {.value = value}));
    TENON_RETURN_IF_ERROR(rewriter
                              .ReplaceWith<ten::BitShiftOp>(mul.op(), product.out(), shift.out(),
                                                            ten::BitShiftOp::Attrs{"RIGHT"})
                              .status());
    return true;
  }
};

absl::StatusOr<std::string> Convert(Context& context, std::string_view text, bool keep_log) {
  const TypeConverter types = FixToTensors();
  ConversionTarget target;
  target.AddLegalDialect("ten");
  target.AddLegalDialect("core");
  target.AddIllegalDialect("fix");
  target.AddLegalOp("fix.from_raw");
  if (keep_log) target.AddLegalOp("fix.log");
  for (const std::string_view op : kStructure)
    target.AddDynamicallyLegalOp(op, [&](const Operation& op) { return types.IsLegal(op); });

  PatternSet patterns;
  patterns.Add<AddToTen>(types);
  patterns.Add<MulToTen>(types);
  AddTypeConversions(patterns, types, kStructure);

  TENON_ASSIGN_OR_RETURN(const OwnedOp module, ParseModule(context, text));
  PassContext services;
  TENON_RETURN_IF_ERROR(ApplyPartialConversion(module.get(), target, patterns, services).status());
  TENON_RETURN_IF_ERROR(Verify(module.get()));
  return Print(*module);
}

constexpr char kProgram[] = R"(
func.func() <{function_type = (!fix.num<8>, !fix.num<8>) -> !fix.num<8>, sym_name = "main"}> ({
^bb0(%a: !fix.num<8>, %b: !fix.num<8>):
  %0 = fix.mul(%a, %b) : (!fix.num<8>, !fix.num<8>) -> !fix.num<8>
  %1 = fix.add(%0, %b) : (!fix.num<8>, !fix.num<8>) -> !fix.num<8>
  fix.log(%1) : (!fix.num<8>) -> ()
  func.return(%1) : (!fix.num<8>) -> ()
}) : () -> ()
)";

constexpr char kWide[] = R"(
func.func() <{function_type = (!fix.num<40>) -> !fix.num<40>, sym_name = "wide"}> ({
^bb0(%a: !fix.num<40>):
  %0 = fix.mul(%a, %a) : (!fix.num<40>, !fix.num<40>) -> !fix.num<40>
  func.return(%0) : (!fix.num<40>) -> ()
}) : () -> ()
)";

absl::Status Run() {
  Context context;
  RegisterAllDialects(context);
  TENON_RETURN_IF_ERROR(context.RegisterDialect(FixDialect()));
  TENON_ASSIGN_OR_RETURN(const std::string converted,
                         Convert(context, kProgram, /*keep_log=*/true));
  std::printf("%s", converted.c_str());
  for (const char* program : {kProgram, kWide}) {
    const absl::Status status = Convert(context, program, /*keep_log=*/false).status();
    std::printf("status: %s\n", std::string(status.message()).c_str());
  }
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
