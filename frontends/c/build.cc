#include "frontends/c/build.h"

#include <span>
#include <vector>

#include "frontends/c/convert.h"
#include "frontends/c/convert_types.h"
#include "frontends/c/create.h"
#include "frontends/c/errors.h"
#include "ir/core/builder.h"
#include "ir/core/clone.h"
#include "ir/core/context/context.h"
#include "ir/core/verify/op_checks.h"

namespace c = tenon::c;

using tenon::Attribute;
using tenon::Block;
using tenon::BlockOperand;
using tenon::Operation;
using tenon::OpOperand;
using tenon::Type;
using tenon::Value;

namespace {

absl::Status CheckDetached(const Operation& op) {
  if (op.block() == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("{}: is in a block (expected a detached operation)", op.name()));
}

absl::Status CheckInBlock(const Operation& op) {
  if (op.block() != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format("{}: is in no block", op.name()));
}

// An operation cannot lie in itself.
absl::Status CheckOutside(const Operation& op, const Operation* place) {
  return place != nullptr && op.IsAncestorOf(place)
             ? c::Wrong("{}: the place lies inside of the operation", op.name())
             : absl::OkStatus();
}

absl::Status StillUsed(const Operation& op) {
  return absl::FailedPreconditionError(fmt::format("{}: what it defines is still used", op.name()));
}

bool HasUseOutside(const Operation& op, Value value) {
  for (const OpOperand& use : value.uses()) {
    if (!op.IsAncestorOf(use.owner())) return true;
  }
  return false;
}

bool IsUsedOutside(const Operation& op, const Block& block) {
  for (unsigned i = 0; i < block.num_arguments(); ++i) {
    if (HasUseOutside(op, block.argument(i))) return true;
  }
  for (BlockOperand* use = block.first_predecessor(); use != nullptr; use = use->next_use()) {
    if (!op.IsAncestorOf(use->owner())) return true;
  }
  return false;
}

// FailedPrecondition if the end of `op` would leave somebody with a value or block of it.
absl::Status CheckUnused(Operation& op) {
  bool used = false;
  op.Walk([&](Operation* inner) {
    for (unsigned i = 0; i < inner->num_results(); ++i) used |= HasUseOutside(op, inner->result(i));
    for (unsigned i = 0; i < inner->num_regions(); ++i) {
      for (const Block& block : inner->region(i)) used |= IsUsedOutside(op, block);
    }
  });
  return used ? StillUsed(op) : absl::OkStatus();
}

// The context of a block, which is always in a region of an operation.
absl::Status CheckBlock(TenonBlock block, Operation*& parent) {
  TENON_RETURN_IF_ERROR(c::NotNull(block.ptr, "block"));
  parent = c::FromC(block)->parent_op();
  return parent != nullptr ? absl::OkStatus() : c::Wrong("'block' is in no operation");
}

}  // namespace

TenonStatus* tenonOperationCreate(TenonContext context, const TenonOperationState* state,
                                  TenonOperation* op) {
  if (context.ptr == nullptr) return c::ToC(c::NotNull(context.ptr, "context"));
  return c::AnswerIn(*c::FromC(context), "making an operation", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(state, "state"));
    TENON_RETURN_IF_ERROR(c::NotNull(op, "op"));
    TenonOperationState given;
    TENON_RETURN_IF_ERROR(c::ReadOptions(state, "state", given));
    TENON_ASSIGN_OR_RETURN(Operation* const made, c::CreateOperation(*c::FromC(context), given));
    *op = c::ToC(made);
    return absl::OkStatus();
  });
}

TenonStatus* tenonOperationClone(TenonOperation op, TenonOperation* copy) {
  return c::Answer("copying", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(op.ptr, "op"));
    TENON_RETURN_IF_ERROR(c::NotNull(copy, "copy"));
    *copy = c::ToC(tenon::Clone(*c::FromC(op)));
    return absl::OkStatus();
  });
}

TenonStatus* tenonOperationDestroy(TenonOperation op) {
  return c::Answer("destroying", [&]() -> absl::Status {
    if (op.ptr == nullptr) return absl::OkStatus();
    TENON_RETURN_IF_ERROR(CheckDetached(*c::FromC(op)));
    TENON_RETURN_IF_ERROR(CheckUnused(*c::FromC(op)));
    c::FromC(op)->Destroy();
    return absl::OkStatus();
  });
}

TenonStatus* tenonBlockAppend(TenonBlock block, TenonOperation op) {
  return c::Answer("inserting", [&]() -> absl::Status {
    Operation* parent = nullptr;
    TENON_RETURN_IF_ERROR(CheckBlock(block, parent));
    TENON_RETURN_IF_ERROR(c::NotNull(op.ptr, "op"));
    Operation* const inserted = c::FromC(op);
    if (&inserted->context() != &parent->context())
      return c::Wrong("'op' belongs to another context");
    TENON_RETURN_IF_ERROR(CheckDetached(*inserted));
    TENON_RETURN_IF_ERROR(CheckOutside(*inserted, parent));
    c::FromC(block)->Append(inserted);
    return absl::OkStatus();
  });
}

TenonStatus* tenonOperationInsertBefore(TenonOperation op, TenonOperation before) {
  return c::Answer("inserting", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(op.ptr, "op"));
    TENON_RETURN_IF_ERROR(CheckDetached(*c::FromC(op)));
    TENON_RETURN_IF_ERROR(c::CheckPlace(*c::FromC(op), c::FromC(before)));
    c::FromC(before)->block()->Insert(c::FromC(op), c::FromC(before));
    return absl::OkStatus();
  });
}

TenonStatus* tenonOperationMoveBefore(TenonOperation op, TenonOperation before) {
  return c::Answer("moving", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(op.ptr, "op"));
    TENON_RETURN_IF_ERROR(CheckInBlock(*c::FromC(op)));
    if (op.ptr == before.ptr) return absl::OkStatus();
    TENON_RETURN_IF_ERROR(c::CheckPlace(*c::FromC(op), c::FromC(before)));
    c::FromC(op)->MoveBefore(c::FromC(before));
    return absl::OkStatus();
  });
}

TenonStatus* tenonOperationDetach(TenonOperation op) {
  return c::Answer("detaching", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(op.ptr, "op"));
    TENON_RETURN_IF_ERROR(CheckInBlock(*c::FromC(op)));
    c::FromC(op)->RemoveFromBlock();
    return absl::OkStatus();
  });
}

TenonStatus* tenonOperationErase(TenonOperation op) {
  return c::Answer("erasing", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(op.ptr, "op"));
    TENON_RETURN_IF_ERROR(CheckInBlock(*c::FromC(op)));
    TENON_RETURN_IF_ERROR(CheckUnused(*c::FromC(op)));
    c::FromC(op)->Erase();
    return absl::OkStatus();
  });
}

TenonStatus* tenonOperationSetOperand(TenonOperation op, size_t index, TenonValue value) {
  return c::Answer("setting an operand", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(op.ptr, "op"));
    Operation* const changed = c::FromC(op);
    TENON_RETURN_IF_ERROR(c::IndexBelow(index, changed->num_operands(), "operand"));
    TENON_RETURN_IF_ERROR(c::Belongs(c::FromC(value), changed->context(), "value"));
    changed->set_operand(static_cast<unsigned>(index), c::FromC(value));
    return absl::OkStatus();
  });
}

TenonStatus* tenonOperationSetAttribute(TenonOperation op, TenonString name,
                                        TenonAttribute attribute) {
  return c::Answer("setting an attribute", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(op.ptr, "op"));
    Operation* const changed = c::FromC(op);
    std::string_view text;
    TENON_RETURN_IF_ERROR(c::ReadText(name, "name", text));
    if (text.empty()) return c::Wrong("an attribute without a name");
    const Attribute value = c::FromC(attribute);
    if (value) {
      TENON_RETURN_IF_ERROR(c::Belongs(value, changed->context(), "attribute"));
      TENON_RETURN_IF_ERROR(c::CheckSlot(changed->info(), text, value));
    }
    changed->SetAttr(text, value);
    return absl::OkStatus();
  });
}

TenonStatus* tenonOperationSetLocation(TenonOperation op, TenonLocation location) {
  return c::Answer("setting a location", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(op.ptr, "op"));
    tenon::Location known;
    TENON_RETURN_IF_ERROR(c::ReadLocation(location, c::FromC(op)->context(), known));
    c::FromC(op)->set_location(known);
    return absl::OkStatus();
  });
}

TenonStatus* tenonValueReplaceAllUses(TenonValue value, TenonValue other) {
  return c::Answer("replacing", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(value.ptr, "value"));
    Value was = c::FromC(value);
    TENON_RETURN_IF_ERROR(c::Belongs(c::FromC(other), was.type().context(), "other"));
    if (was != c::FromC(other)) was.ReplaceAllUsesWith(c::FromC(other));
    return absl::OkStatus();
  });
}

TenonStatus* tenonValueSetType(TenonValue value, TenonType type) {
  return c::Answer("setting a type", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(value.ptr, "value"));
    TENON_RETURN_IF_ERROR(c::Belongs(c::FromC(type), c::FromC(value).type().context(), "type"));
    c::FromC(value).set_type(c::FromC(type));
    return absl::OkStatus();
  });
}

TenonStatus* tenonValueSetName(TenonValue value, TenonString name) {
  return c::Answer("setting a name", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(value.ptr, "value"));
    std::string_view text;
    TENON_RETURN_IF_ERROR(c::ReadText(name, "name", text));
    c::FromC(value).set_name(text);
    return absl::OkStatus();
  });
}

TenonStatus* tenonRegionAddBlock(TenonRegion region, const TenonType* argument_types,
                                 size_t num_arguments, TenonBlock* block) {
  return c::Answer("adding a block", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(region.ptr, "region"));
    TENON_RETURN_IF_ERROR(c::NotNull(block, "block"));
    std::vector<Type> types;
    TENON_RETURN_IF_ERROR(c::ReadTypes(argument_types, num_arguments,
                                       c::FromC(region)->parent()->context(), "argument_types",
                                       types));
    Block* const made = c::FromC(region)->AddBlock();
    for (const Type type : types) made->AddArgument(type);
    *block = c::ToC(made);
    return absl::OkStatus();
  });
}

TenonStatus* tenonBlockAddArgument(TenonBlock block, TenonType type, TenonValue* argument) {
  return c::Answer("adding an argument", [&]() -> absl::Status {
    Operation* parent = nullptr;
    TENON_RETURN_IF_ERROR(CheckBlock(block, parent));
    TENON_RETURN_IF_ERROR(c::NotNull(argument, "argument"));
    TENON_RETURN_IF_ERROR(c::Belongs(c::FromC(type), parent->context(), "type"));
    *argument = c::ToC(c::FromC(block)->AddArgument(c::FromC(type)));
    return absl::OkStatus();
  });
}

TenonStatus* tenonFunctionCreate(TenonOperation module, TenonString name, TenonType function_type,
                                 TenonOperation* function) {
  return c::Answer("making a function", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(module.ptr, "module"));
    TENON_RETURN_IF_ERROR(c::NotNull(function, "function"));
    Operation* const parent = c::FromC(module);
    if (parent->name() != "builtin.module" || parent->region().empty())
      return c::Wrong("'module' is {} (expected a builtin.module with a block)", parent->name());
    std::string_view text;
    TENON_RETURN_IF_ERROR(c::ReadText(name, "name", text));
    if (text.empty()) return c::Wrong("a function without a name");
    const Type type = c::FromC(function_type);
    TENON_RETURN_IF_ERROR(c::Belongs(type, parent->context(), "function_type"));
    if (type.kind() != Type::Kind::kFunction)
      return c::Wrong("'function_type' is {} (expected a function type)", type.text());
    *function = c::ToC(tenon::CreateFunction(parent, text, type));
    return absl::OkStatus();
  });
}
