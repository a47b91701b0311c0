#include "ir/serialize/table_reader.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "ir/base/limits.h"
#include "ir/base/suggest.h"
#include "ir/core/location_extent.h"
#include "ir/core/text/parser.h"

namespace tenon::binary {

bool TableReader::Read(Sections& sections) {
  const auto section = [&](Section kind) -> ByteReader& {
    return sections[static_cast<size_t>(kind)];
  };
  return ReadStrings(section(Section::kStrings)) && ReadDims(section(Section::kDims)) &&
         ReadTypes(section(Section::kTypes)) && ReadBlobs(section(Section::kBlobs)) &&
         ReadPackedBlobs(section(Section::kPackedBlobs), section(Section::kProgramData)) &&
         ReadAttributes(section(Section::kAttributes)) &&
         ReadLocations(section(Section::kLocations)) && ReadOps(section(Section::kOps));
}

bool TableReader::Index(ByteReader& in, size_t count, uint64_t& index, const char* what) {
  index = in.Varint();
  if (in.ok() && index < count) return true;
  return Damaged(in, in.ok() ? fmt::format("{} {} of {}", what, index, count)
                             : fmt::format("the number of {} {} is missing",
                                           what[0] == 'a' ? "an" : "a", what));
}

bool TableReader::String(ByteReader& in, std::string_view& text) {
  uint64_t index = 0;
  if (!Index(in, strings_.size(), index, "string")) return false;
  text = strings_[index];
  // To hash eight characters costs about as much as a part.
  return failure_.Spend(text.size() / 8 + 1);
}

bool TableReader::DTypeOf(ByteReader& in, DType& dtype) {
  const uint8_t number = in.Byte();
  if (number == 0 || number >= kNumFileDTypes)
    return Damaged(in, fmt::format("there is no element type {}", number));
  dtype = kDTypes[number];
  return true;
}

bool TableReader::Add(const Extent& part, Extent& whole) {
  constexpr uint32_t kMostParts = uint32_t{1} << 24;
  whole.depth = std::max(whole.depth, part.depth + 1);
  whole.parts = std::min(kMostParts + 1, whole.parts + part.parts);
  if (whole.parts > kMostParts) return failure_.Spend(~uint64_t{0});
  return failure_.CheckDepth(whole.depth);
}

bool TableReader::ReadStrings(ByteReader& in) {
  const uint64_t count = in.Count();
  std::vector<uint64_t> sizes(count);
  for (uint64_t& size : sizes) size = in.Varint();
  strings_.reserve(count);
  for (const uint64_t size : sizes) strings_.push_back(in.Raw(size));
  return (in.ok() && in.AtEnd()) || Damaged(in, "the strings do not fill their section");
}

bool TableReader::ReadDims(ByteReader& in) {
  const uint64_t count = in.Count();
  dims_.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    switch (static_cast<DimTag>(in.Byte())) {
      case DimTag::kUnknown:
        dims_.push_back(DimExpr::Unknown(context_));
        continue;
      case DimTag::kConstant:
        dims_.push_back(DimExpr::Constant(context_, in.Signed()));
        continue;
      case DimTag::kText: {
        std::string_view text;
        if (!String(in, text)) return false;
        DimExpr& dim = dim_texts_[text];
        if (!dim) {
          const std::optional<DimExpr> parsed = DimExpr::Parse(context_, text);
          if (!parsed) return Damaged(in, "a dimension that cannot be read");
          dim = *parsed;
        }
        dims_.push_back(dim);
        continue;
      }
    }
    return Damaged(in, "a dimension of an unknown kind");
  }
  return (in.ok() && in.AtEnd()) || Damaged(in, "the dimensions do not fill their section");
}

bool TableReader::DimList(ByteReader& in, std::vector<DimExpr>& dims) {
  const uint64_t count = in.Count();
  dims.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t index = 0;
    if (!Index(in, dims_.size(), index, "dimension")) return false;
    dims.push_back(dims_[index]);
  }
  return in.ok() || Damaged(in, "a list of dimensions is cut off");
}

bool TableReader::ReadTypes(ByteReader& in) {
  const uint64_t count = in.Count();
  types.reserve(count);
  type_extents.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    Type type;
    Extent extent;
    if (!ReadType(in, type, extent)) return false;
    types.push_back(type);
    type_extents.push_back(extent);
  }
  return (in.ok() && in.AtEnd()) || Damaged(in, "the types do not fill their section");
}

bool TableReader::ReadType(ByteReader& in, Type& type, Extent& extent) {
  DType dtype = DType::kInvalid;
  switch (static_cast<TypeTag>(in.Byte())) {
    case TypeTag::kScalar:
      if (!DTypeOf(in, dtype)) return false;
      type = Type::Scalar(context_, dtype);
      return true;
    case TypeTag::kIndex:
      type = Type::Index(context_);
      return true;
    case TypeTag::kNone:
      type = Type::None(context_);
      return true;
    case TypeTag::kTensor:
      return ReadTensor(in, type);
    case TypeTag::kUnranked:
      if (!DTypeOf(in, dtype)) return false;
      type = Type::Unranked(context_, dtype);
      return true;
    case TypeTag::kFunction: {
      std::vector<Type> inputs, results;
      if (!ReadTypeList(in, inputs, extent) || !ReadTypeList(in, results, extent)) return false;
      type = Type::Function(context_, inputs, results);
      return true;
    }
    case TypeTag::kTuple: {
      std::vector<Type> parts;
      if (!ReadTypeList(in, parts, extent)) return false;
      type = Type::Tuple(context_, parts);
      return true;
    }
    case TypeTag::kOpaque: {
      std::string_view text;
      if (!String(in, text)) return false;
      Type& known = opaque_types_[text];
      if (!known) {
        // Parameters of a type that a dialect defines are checked by reading its text.
        const absl::StatusOr<Type> parsed = ParseType(context_, text);
        if (!parsed.ok()) return failure_.Keep(parsed.status());
        if (parsed->kind() != Type::Kind::kOpaque)
          return Damaged(in, "the text of another type than a dialect's");
        known = *parsed;
      }
      type = known;
      return true;
    }
  }
  return Damaged(in, "a type of an unknown kind");
}

bool TableReader::ReadTensor(ByteReader& in, Type& type) {
  DType dtype = DType::kInvalid;
  std::vector<DimExpr> dims;
  if (!DTypeOf(in, dtype) || !DimList(in, dims)) return false;
  if (dims.size() > static_cast<size_t>(kMaxRank)) {
    return Damaged(in,
                   fmt::format("a tensor of {} dimensions (at most {})", dims.size(), kMaxRank));
  }
  for (const DimExpr dim : dims) {
    if (dim.is_constant() && dim.constant() < 0)
      return Damaged(in, fmt::format("a tensor with the extent {}", dim.constant()));
  }
  type = Type::Tensor(context_, dtype, dims);
  if (type.is_static() && type.num_elements() < 0)
    return Damaged(in, "a tensor has more elements than 64 bits can count");
  return true;
}

bool TableReader::ReadTypeList(ByteReader& in, std::vector<Type>& list, Extent& extent) {
  const uint64_t count = in.Count();
  list.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t index = 0;
    if (!Index(in, types.size(), index, "type") || !Add(type_extents[index], extent)) return false;
    list.push_back(types[index]);
  }
  return in.ok() || Damaged(in, "a list of types is cut off");
}

bool TableReader::ReadLocations(ByteReader& in) {
  const uint64_t count = in.Count();
  locations.reserve(count + 1);
  location_extents.reserve(count + 1);
  locations.push_back(Location());
  location_extents.push_back({});
  for (uint64_t i = 0; i < count; ++i) {
    Location location;
    Extent extent;
    if (!ReadLocation(in, location, extent)) return false;
    locations.push_back(location);
    location_extents.push_back(extent);
  }
  return (in.ok() && in.AtEnd()) || Damaged(in, "the locations do not fill their section");
}

// Refuses what the functions of Location would leave out.
bool TableReader::CheckLocation(std::span<const Location> parts) {
  return LocationsFit(context_, parts) || failure_.Spend(~uint64_t{0});
}

bool TableReader::ReadLocation(ByteReader& in, Location& location, Extent& extent) {
  std::string_view text;
  const auto part = [&](Location& at) {
    uint64_t index = 0;
    if (!Index(in, locations.size(), index, "location") || !Add(location_extents[index], extent))
      return false;
    at = locations[index];
    return true;
  };
  switch (static_cast<LocationTag>(in.Byte())) {
    case LocationTag::kFile: {
      if (!String(in, text)) return false;
      const uint64_t line = in.Varint(), col = in.Varint();
      if (line > UINT32_MAX || col > UINT32_MAX) return Damaged(in, "a line beyond 32 bits");
      location = Location::FileLineCol(context_, text, static_cast<uint32_t>(line),
                                       static_cast<uint32_t>(col));
      return true;
    }
    case LocationTag::kName: {
      Location child;
      if (!String(in, text) || !part(child) || !CheckLocation({&child, 1})) return false;
      location = Location::Name(context_, text, child);
      return true;
    }
    case LocationTag::kFused: {
      std::vector<Location> parts(in.Count());
      for (Location& one : parts) {
        if (!part(one)) return false;
      }
      if (parts.size() <= Location::kMaxFused && !CheckLocation(parts)) return false;
      location = Location::Fused(context_, parts);
      return true;
    }
    case LocationTag::kCallSite: {
      Location callee, caller;
      if (!part(callee) || !part(caller)) return false;
      const Location both[] = {callee, caller};
      if (!CheckLocation(both)) return false;
      location = Location::CallSite(context_, callee, caller);
      return true;
    }
  }
  return Damaged(in, "a location of an unknown kind");
}

bool TableReader::ReadOps(ByteReader& in) {
  const uint64_t num_names = in.Count();
  names.reserve(num_names);
  for (uint64_t i = 0; i < num_names; ++i) {
    if (!ReadOpName(in)) return false;
  }
  const uint64_t num_forms = in.Count();
  forms.reserve(num_forms);
  for (uint64_t i = 0; i < num_forms; ++i) {
    if (!ReadForm(in)) return false;
  }
  return (in.ok() && in.AtEnd()) || Damaged(in, "the ops do not fill their section");
}

bool TableReader::ReadOpName(ByteReader& in) {
  OpName& name = names.emplace_back();
  std::string_view text;
  if (!String(in, text)) return false;
  const uint8_t flags = in.Byte();
  if (text.empty() || (flags & ~kHasSlots) != 0) return Damaged(in, "a wrong name of an op");
  name.has_slots = (flags & kHasSlots) != 0;
  if (name.has_slots) {
    name.slot_names.resize(in.Count());
    for (std::string_view& slot : name.slot_names) {
      if (!String(in, slot)) return false;
      if (slot.empty()) return Damaged(in, "an attribute without a name");
    }
    for (size_t i = 1; i < name.slot_names.size(); ++i) {
      if (name.slot_names[i - 1] >= name.slot_names[i])
        return Damaged(in, "names of attributes that are not sorted");
    }
  }
  name.info = context_.FindOp(text);
  if (name.info == nullptr && text == "builtin.module") {
    name.info = context_.GetUnregisteredOp(text);  // which a text need not name either
  } else if (name.info == nullptr) {
    const std::string_view dialect = text.substr(0, text.find('.'));
    std::vector<std::string> ops;
    for (const OpInfo* op : context_.OpsOf(dialect)) ops.emplace_back(op->name());
    if (context_.HasDialect(dialect)) {
      return failure_.Tell(
          fmt::format("unknown op '{}' in dialect '{}'{}", text, dialect, DidYouMeanOp(text, ops)));
    }
    if (!context_.IsUnregisteredDialectAllowed(dialect)) {
      return failure_.Tell(
          fmt::format("unknown dialect '{}' of op '{}'{}; ops of unknown dialects need "
                      "--allow-unregistered-dialect",
                      dialect, text, DidYouMean(dialect, context_.DialectNames())));
    }
    name.info = context_.GetUnregisteredOp(text);
  }
  MatchSlots(name);
  return true;
}

// A build may know other attributes of an op than the one that wrote the file.
void TableReader::MatchSlots(OpName& name) {
  const OpInfo& info = *name.info;
  if (!info.is_registered() || !name.has_slots) {
    name.same = !info.is_registered() && !name.has_slots;
    return;
  }
  name.same = name.slot_names.size() == static_cast<size_t>(info.num_slots());
  for (size_t i = 0; i < name.slot_names.size(); ++i) {
    name.slots.push_back(info.FindSlot(name.slot_names[i]));
    name.same &= name.slots.back() == static_cast<int>(i);
  }
}

bool TableReader::ReadForm(ByteReader& in) {
  OpForm form;
  uint64_t name = 0;
  if (!Index(in, names.size(), name, "op")) return false;
  const uint8_t flags = in.Byte();
  const uint64_t operands = in.Varint(), results = in.Varint(), successors = in.Varint(),
                 regions = in.Varint();
  if (!in.ok() || (flags & ~kHasDiscardable) != 0 || operands > kMaxOperands ||
      results > kMaxResults || successors > kMaxSuccessors || regions > kMaxRegions) {
    return Damaged(in, "an op with more operands, results, successors or regions than any has");
  }
  form.name = static_cast<uint32_t>(name);
  form.operands = static_cast<uint32_t>(operands);
  form.results = static_cast<uint32_t>(results);
  form.successors = static_cast<uint32_t>(successors);
  form.regions = static_cast<uint32_t>(regions);
  form.has_discardable = (flags & kHasDiscardable) != 0;
  // Each number takes a byte; the number of the form has been read.
  form.least_bytes = 1 + operands + results + successors + regions + names[name].file_slots() +
                     (form.has_discardable ? 1 : 0);
  forms.push_back(form);
  return true;
}

}  // namespace tenon::binary
