#include "frontends/c/attributes.h"

#include <cstddef>
#include <span>
#include <vector>

#include "frontends/c/convert.h"
#include "frontends/c/convert_types.h"
#include "frontends/c/errors.h"
#include "ir/base/narrow_number.h"
#include "ir/core/text/parser.h"

namespace c = tenon::c;

using tenon::Attribute;
using tenon::Context;
using tenon::DType;
using tenon::Type;

namespace {

// Makes an attribute of `context` with `make`, which returns a StatusOr.
template <typename Make>
TenonStatus* Made(TenonContext context, TenonAttribute* attribute, Make make) {
  if (context.ptr == nullptr) return c::ToC(c::NotNull(context.ptr, "context"));
  return c::AnswerIn(*c::FromC(context), "making an attribute", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(attribute, "attribute"));
    TENON_ASSIGN_OR_RETURN(const Attribute made, make(*c::FromC(context)));
    *attribute = c::ToC(made);
    return absl::OkStatus();
  });
}

bool Is(TenonAttribute attribute, Attribute::Kind kind) {
  return attribute.ptr != nullptr && c::FromC(attribute).kind() == kind;
}

bool IsInts(TenonAttribute attribute) {
  return Is(attribute, Attribute::Kind::kDenseArray) &&
         !tenon::HoldsFloats(c::FromC(attribute).type().dtype());
}

bool IsFloats(TenonAttribute attribute) {
  return Is(attribute, Attribute::Kind::kDenseArray) && !IsInts(attribute);
}

// Elements of fewer than 8 bits leave the upper bits of their byte unused.
absl::Status CheckElements(DType dtype, std::span<const std::byte> bytes) {
  if (tenon::BitsOf(dtype) >= 8) return absl::OkStatus();
  for (const std::byte element : bytes) {
    const auto byte = static_cast<uint8_t>(element);
    const bool fits = dtype == DType::kBool ? byte <= 1 : tenon::NarrowElement(dtype, byte) == byte;
    if (!fits) return c::Wrong("a byte {} is no element of {}", byte, tenon::Name(dtype));
  }
  return absl::OkStatus();
}

}  // namespace

static_assert(static_cast<int>(Attribute::Kind::kUnit) + 1 == TENON_ATTRIBUTE_UNIT);
static_assert(static_cast<int>(Attribute::Kind::kArray) + 1 == TENON_ATTRIBUTE_ARRAY);
static_assert(static_cast<int>(Attribute::Kind::kDictionary) + 1 == TENON_ATTRIBUTE_DICTIONARY);
static_assert(static_cast<int>(Attribute::Kind::kOpaque) + 1 == TENON_ATTRIBUTE_OPAQUE);

TenonStatus* tenonAttributeParse(TenonContext context, TenonString text,
                                 TenonAttribute* attribute) {
  return Made(context, attribute, [&](Context& owner) -> absl::StatusOr<Attribute> {
    std::string_view given;
    TENON_RETURN_IF_ERROR(c::ReadText(text, "text", given));
    return tenon::ParseAttribute(owner, given);
  });
}

TenonStatus* tenonAttributeBool(TenonContext context, bool value, TenonAttribute* attribute) {
  return Made(context, attribute, [&](Context& owner) -> absl::StatusOr<Attribute> {
    return Attribute::Bool(owner, value);
  });
}

TenonStatus* tenonAttributeInt64(TenonContext context, int64_t value, TenonAttribute* attribute) {
  return Made(context, attribute, [&](Context& owner) -> absl::StatusOr<Attribute> {
    return Attribute::I64(owner, value);
  });
}

TenonStatus* tenonAttributeFloat(TenonContext context, TenonDType dtype, double value,
                                 TenonAttribute* attribute) {
  return Made(context, attribute, [&](Context& owner) -> absl::StatusOr<Attribute> {
    DType known;
    TENON_RETURN_IF_ERROR(c::ReadDType(dtype, known));
    if (!tenon::IsFloat(known))
      return c::Wrong("{} is no float type (expected f16, bf16, f32 or f64)", tenon::Name(known));
    return Attribute::Float(owner, value, known);
  });
}

TenonStatus* tenonAttributeString(TenonContext context, TenonString value,
                                  TenonAttribute* attribute) {
  return Made(context, attribute, [&](Context& owner) -> absl::StatusOr<Attribute> {
    std::string_view text;
    TENON_RETURN_IF_ERROR(c::ReadText(value, "value", text));
    return Attribute::Str(owner, text);
  });
}

TenonStatus* tenonAttributeInt64s(TenonContext context, const int64_t* values, size_t count,
                                  TenonAttribute* attribute) {
  return Made(context, attribute, [&](Context& owner) -> absl::StatusOr<Attribute> {
    if (count > 0) TENON_RETURN_IF_ERROR(c::NotNull(values, "values"));
    return Attribute::I64s(owner, std::span(values, count));
  });
}

TenonStatus* tenonAttributeArray(TenonContext context, const TenonAttribute* elements, size_t count,
                                 TenonAttribute* attribute) {
  return Made(context, attribute, [&](Context& owner) -> absl::StatusOr<Attribute> {
    if (count > 0) TENON_RETURN_IF_ERROR(c::NotNull(elements, "elements"));
    std::vector<Attribute> known;
    for (size_t i = 0; i < count; ++i) {
      known.push_back(c::FromC(elements[i]));
      TENON_RETURN_IF_ERROR(c::Belongs(known.back(), owner, fmt::format("elements[{}]", i)));
    }
    return Attribute::Array(owner, known);
  });
}

TenonStatus* tenonAttributeType(TenonContext context, TenonType type, TenonAttribute* attribute) {
  return Made(context, attribute, [&](Context& owner) -> absl::StatusOr<Attribute> {
    TENON_RETURN_IF_ERROR(c::Belongs(c::FromC(type), owner, "type"));
    return Attribute::TypeAttr(owner, c::FromC(type));
  });
}

TenonStatus* tenonAttributeElements(TenonContext context, TenonType type, const void* bytes,
                                    size_t size, TenonAttribute* attribute) {
  return Made(context, attribute, [&](Context& owner) -> absl::StatusOr<Attribute> {
    const Type known = c::FromC(type);
    TENON_RETURN_IF_ERROR(c::Belongs(known, owner, "type"));
    if (size > 0) TENON_RETURN_IF_ERROR(c::NotNull(bytes, "bytes"));
    if (!known.is_static() || known.num_elements() < 0)
      return c::Wrong("contents of {} (expected a tensor whose extents are numbers)", known.text());
    const size_t element = tenon::SizeOf(known.dtype());
    const auto elements = static_cast<size_t>(known.num_elements());
    if (size % element != 0 || size / element != elements) {
      return c::Wrong("{} bytes for {} (expected {} elements of {} bytes)", size, known.text(),
                      elements, element);
    }
    const std::span<const std::byte> contents(static_cast<const std::byte*>(bytes), size);
    TENON_RETURN_IF_ERROR(CheckElements(known.dtype(), contents));
    return Attribute::Elements(owner, known, contents);
  });
}

TenonAttributeKind tenonAttributeGetKind(TenonAttribute attribute) {
  if (attribute.ptr == nullptr) return TENON_ATTRIBUTE_NULL;
  return static_cast<TenonAttributeKind>(static_cast<int>(c::FromC(attribute).kind()) + 1);
}

bool tenonAttributeBoolValue(TenonAttribute attribute) {
  return tenonAttributeIntValue(attribute) != 0;
}

int64_t tenonAttributeIntValue(TenonAttribute attribute) {
  const bool has =
      Is(attribute, Attribute::Kind::kInteger) || Is(attribute, Attribute::Kind::kBool);
  return has ? c::FromC(attribute).int_value() : 0;
}

double tenonAttributeFloatValue(TenonAttribute attribute) {
  return Is(attribute, Attribute::Kind::kFloat) ? c::FromC(attribute).float_value() : 0;
}

TenonString tenonAttributeText(TenonAttribute attribute) {
  const bool has = Is(attribute, Attribute::Kind::kString) ||
                   Is(attribute, Attribute::Kind::kSymbolRef) ||
                   Is(attribute, Attribute::Kind::kOpaque);
  return has ? c::ToC(c::FromC(attribute).str()) : TenonString{nullptr, 0};
}

size_t tenonAttributeSize(TenonAttribute attribute) {
  if (IsInts(attribute)) return c::FromC(attribute).ints().size();
  if (IsFloats(attribute)) return c::FromC(attribute).floats().size();
  if (Is(attribute, Attribute::Kind::kArray)) return c::FromC(attribute).elements().size();
  if (Is(attribute, Attribute::Kind::kDictionary)) return c::FromC(attribute).entries().size();
  return Is(attribute, Attribute::Kind::kDims) ? c::FromC(attribute).dims().size() : 0;
}

TenonAttribute tenonAttributeElement(TenonAttribute attribute, size_t index) {
  if (index >= tenonAttributeSize(attribute)) return {nullptr};
  const Attribute known = c::FromC(attribute);
  if (known.kind() == Attribute::Kind::kArray) return c::ToC(known.elements()[index]);
  if (known.kind() != Attribute::Kind::kDictionary) return {nullptr};
  return c::ToC(known.entries()[index].value);
}

TenonString tenonAttributeEntryName(TenonAttribute attribute, size_t index) {
  if (!Is(attribute, Attribute::Kind::kDictionary)) return {nullptr, 0};
  if (index >= tenonAttributeSize(attribute)) return {nullptr, 0};
  return c::ToC(c::FromC(attribute).entries()[index].name.str());
}

TenonAttribute tenonAttributeFind(TenonAttribute attribute, TenonString name) {
  if (!Is(attribute, Attribute::Kind::kDictionary)) return {nullptr};
  return c::ToC(c::FromC(attribute).Get(c::FromC(name)));
}

const int64_t* tenonAttributeInts(TenonAttribute attribute) {
  return IsInts(attribute) ? c::FromC(attribute).ints().data() : nullptr;
}

const double* tenonAttributeFloats(TenonAttribute attribute) {
  return IsFloats(attribute) ? c::FromC(attribute).floats().data() : nullptr;
}

TenonType tenonAttributeGetType(TenonAttribute attribute) {
  return attribute.ptr == nullptr ? TenonType{nullptr} : c::ToC(c::FromC(attribute).type());
}

bool tenonAttributeIsSplat(TenonAttribute attribute) {
  return Is(attribute, Attribute::Kind::kElements) && c::FromC(attribute).is_splat();
}

TenonStatus* tenonAttributeBytes(TenonAttribute attribute, const void** bytes, size_t* size) {
  return c::Answer("reading contents", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(attribute.ptr, "attribute"));
    TENON_RETURN_IF_ERROR(c::NotNull(bytes, "bytes"));
    TENON_RETURN_IF_ERROR(c::NotNull(size, "size"));
    if (!Is(attribute, Attribute::Kind::kElements))
      return absl::FailedPreconditionError("the attribute holds no contents of a tensor");
    const std::span<const std::byte> contents = c::FromC(attribute).raw_bytes();
    *bytes = contents.data();
    *size = contents.size();
    return absl::OkStatus();
  });
}

TenonStatus* tenonAttributePrint(TenonAttribute attribute, TenonTextFn sink, void* state) {
  return c::Answer("printing an attribute", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(attribute.ptr, "attribute"));
    TENON_RETURN_IF_ERROR(c::NotNull(sink, "sink"));
    return c::Tell(sink, state, c::FromC(attribute).text());
  });
}
