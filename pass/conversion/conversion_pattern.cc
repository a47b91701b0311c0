#include "pass/conversion/conversion_pattern.h"

#include <memory>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/ranges.h"
#include "pass/conversion/conversion_casts.h"

namespace tenon {
namespace {

// Changes the types of an op in place.
class TypeConversion : public ConversionPattern {
 public:
  TypeConversion(std::string_view op, const TypeConverter& converter)
      : ConversionPattern(fmt::format("convert-types-of-{}", op), std::string(op), &converter) {}

  absl::StatusOr<bool> Convert(Operation* op, const ConvertedOperands& operands,
                               ConversionRewriter& rewriter) const override {
    std::vector<std::pair<unsigned, Type>> functions;  // by slot
    for (unsigned i = 0; i < op->num_slots(); ++i) {
      const Attribute attr = op->slot(i);
      if (!attr || attr.kind() != Attribute::Kind::kType) continue;
      if (attr.type().kind() != Type::Kind::kFunction) continue;
      const Type to = converter()->Convert(attr.type());
      if (!to) return rewriter.Fail(fmt::format("{} has no conversion", attr.type().text()));
      functions.emplace_back(i, to);
    }
    for (unsigned i = 0; i < op->num_results(); ++i) {
      const Type type = op->result(i).type();
      if (!converter()->Convert(type))
        return rewriter.Fail(fmt::format("the result type {} has no conversion", type.text()));
    }
    for (unsigned r = 0; r < op->num_regions(); ++r) {
      if (const Type wrong = WithoutConversion(op->region(r)))
        return rewriter.Fail(fmt::format("the argument type {} has no conversion", wrong.text()));
    }
    if (converter()->IsLegal(*op)) return rewriter.Fail("its types are legal");
    for (unsigned r = 0; r < op->num_regions(); ++r)
      rewriter.ConvertArguments(op->region(r), *converter());
    rewriter.ConvertResults(op, *converter());
    rewriter.Modify(op, [&] {
      for (unsigned i = 0; i < op->num_operands(); ++i) op->set_operand(i, operands[i]);
      for (const auto& [slot, type] : functions)
        op->set_slot(slot, Attribute::TypeAttr(op->context(), type));
    });
    return true;
  }

 private:
  Type WithoutConversion(const Region& region) const {
    for (const Block& block : region) {
      for (unsigned i = 0; i < block.num_arguments(); ++i) {
        const Type type = block.argument(i).type();
        if (!converter()->Convert(type)) return type;
      }
    }
    return Type();
  }
};

}  // namespace

absl::StatusOr<bool> ConversionPattern::Rewrite(Operation* op, Rewriter& /*rewriter*/) const {
  return EmitError(op->context(), op->location(),
                   fmt::format("pattern '{}' is one of a dialect conversion (expected "
                               "ApplyPartialConversion or ApplyFullConversion)",
                               name()));
}

void ConversionRewriter::ReplaceUses(Value was, Value now) {
  if (now.type() != was.type())
    now = casts_.Cast(now, was.type(), TypeConverter::Need::kSource, converter_);
  if (now != was) ReplaceAllUses(was, now);
}

void ConversionRewriter::Replace(Operation* op, std::span<const Value> values) {
  TENON_CHECK_MSG(values.size() == op->num_results(), op->name());
  casts_.EraseUnused(op);
  for (unsigned i = 0; i < op->num_results(); ++i) {
    if (!op->result(i).has_uses()) continue;
    TENON_CHECK_MSG(static_cast<bool>(values[i]), "a result with uses needs a value");
    TENON_CHECK_MSG(values[i].defining_op() != op, "an op cannot be replaced by its own results");
  }
  for (unsigned i = 0; i < op->num_results(); ++i) {
    if (op->result(i).has_uses()) ReplaceUses(op->result(i), values[i]);
  }
  Rewriter::Erase(op);
}

void ConversionRewriter::ReplaceByResultsOf(Operation* op, Operation* made) {
  Replace(
      op,
      ResultRange(made->num_results() > 0 ? made->result(0) : Value(), made->num_results()).vec());
}

void ConversionRewriter::Erase(Operation* op) {
  casts_.EraseUnused(op);
  Rewriter::Erase(op);
}

void ConversionRewriter::SetType(Value value, Type type, TypeConverter::Need need,
                                 const TypeConverter& converter) {
  const Type was = value.type();
  if (was == type) return;
  value.set_type(type);
  if (!value.has_uses()) return;
  const Value cast = casts_.Cast(value, was, need, &converter);
  value.ReplaceAllUsesExcept(cast, cast.defining_op());
}

bool ConversionRewriter::ConvertArguments(Region& region, const TypeConverter& converter) {
  for (const Block& block : region) {
    for (unsigned i = 0; i < block.num_arguments(); ++i) {
      if (!converter.Convert(block.argument(i).type())) return false;
    }
  }
  for (Block& block : region) {
    for (unsigned i = 0; i < block.num_arguments(); ++i) {
      const Value argument = block.argument(i);
      SetType(argument, converter.Convert(argument.type()), TypeConverter::Need::kArgument,
              converter);
    }
  }
  if (listener() != nullptr) listener()->Modified(region.parent());
  return true;
}

bool ConversionRewriter::ConvertResults(Operation* op, const TypeConverter& converter) {
  for (unsigned i = 0; i < op->num_results(); ++i) {
    if (!converter.Convert(op->result(i).type())) return false;
  }
  for (unsigned i = 0; i < op->num_results(); ++i) {
    const Value result = op->result(i);
    SetType(result, converter.Convert(result.type()), TypeConverter::Need::kSource, converter);
  }
  if (listener() != nullptr) listener()->Modified(op);
  return true;
}

Value ConversionRewriter::Converted(Value value) const { return casts_.Origin(value); }

bool ConversionRewriter::Fail(std::string why) {
  why_ = std::move(why);
  return false;
}

void AddTypeConversions(PatternSet& patterns, const TypeConverter& converter,
                        std::span<const std::string_view> ops) {
  for (const std::string_view op : ops)
    patterns.Add(std::make_unique<const TypeConversion>(op, converter));
}

}  // namespace tenon
