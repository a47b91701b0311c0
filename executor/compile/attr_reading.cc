#include "executor/compile/attr_reading.h"

#include "fmt/format.h"
#include "ir/base/check.h"
#include "kernels/attr_map.h"

namespace tenon {
namespace {

using Kind = Attribute::Kind;

absl::Status Wrong(std::string_view name, Attribute attr, std::string_view expected) {
  return absl::InvalidArgumentError(
      fmt::format("attribute '{}' is {} (expected {})", name, attr.text(), expected));
}

template <typename T>
absl::Status AddTo(kernels::AttrMap& map, std::string_view name, Attribute attr) {
  T value{};
  TENON_RETURN_IF_ERROR(ReadAttr(name, attr, value));
  map.Add(name, std::move(value));
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadAttr(std::string_view name, Attribute attr, bool& field) {
  if (!attr) return absl::OkStatus();
  if (attr.kind() == Kind::kUnit) {
    field = true;
  } else if (attr.kind() == Kind::kBool) {
    field = attr.bool_value();
  } else {
    return Wrong(name, attr, "a bool");
  }
  return absl::OkStatus();
}

absl::Status ReadAttr(std::string_view name, Attribute attr, int64_t& field) {
  if (!attr) return absl::OkStatus();
  if (attr.kind() != Kind::kInteger) return Wrong(name, attr, "an integer");
  field = attr.int_value();
  return absl::OkStatus();
}

absl::Status ReadAttr(std::string_view name, Attribute attr, double& field) {
  if (!attr) return absl::OkStatus();
  if (attr.kind() != Kind::kFloat) return Wrong(name, attr, "a float");
  field = attr.float_value();
  return absl::OkStatus();
}

absl::Status ReadAttr(std::string_view name, Attribute attr, float& field) {
  double value = field;
  absl::Status status = ReadAttr(name, attr, value);
  field = static_cast<float>(value);
  return status;
}

absl::Status ReadAttr(std::string_view name, Attribute attr, std::string& field) {
  if (!attr) return absl::OkStatus();
  if (attr.kind() != Kind::kString && attr.kind() != Kind::kSymbolRef)
    return Wrong(name, attr, "text");
  field = std::string(attr.str());
  return absl::OkStatus();
}

absl::Status ReadAttr(std::string_view name, Attribute attr, DType& field) {
  if (!attr) return absl::OkStatus();
  if (attr.kind() != Kind::kType || attr.type().dtype() == DType::kInvalid) {
    return Wrong(name, attr, "an element type");
  }
  field = attr.type().dtype();
  return absl::OkStatus();
}

absl::Status ReadAttr(std::string_view name, Attribute attr, std::vector<int64_t>& field) {
  if (!attr) return absl::OkStatus();
  if (attr.kind() == Kind::kDims) {
    field.clear();
    for (DimExpr dim : attr.dims()) {
      if (!dim.is_constant()) return Wrong(name, attr, "constant dimensions");
      field.push_back(dim.constant());
    }
    return absl::OkStatus();
  }
  if (attr.kind() != Kind::kDenseArray || IsFloat(attr.type().dtype()))
    return Wrong(name, attr, "integers");
  field.assign(attr.ints().begin(), attr.ints().end());
  return absl::OkStatus();
}

absl::Status ReadAttr(std::string_view name, Attribute attr, std::vector<float>& field) {
  if (!attr) return absl::OkStatus();
  if (attr.kind() != Kind::kDenseArray || !IsFloat(attr.type().dtype()))
    return Wrong(name, attr, "floats");
  field.clear();
  for (double value : attr.floats()) field.push_back(static_cast<float>(value));
  return absl::OkStatus();
}

absl::Status ReadEnumIndex(std::string_view name, Attribute attr,
                           std::initializer_list<std::string_view> names, int& index) {
  if (!attr) return absl::OkStatus();
  std::string known;
  if (attr.kind() == Kind::kString) {
    int i = 0;
    for (std::string_view candidate : names) {
      if (candidate == attr.str()) {
        index = i;
        return absl::OkStatus();
      }
      known += fmt::format("{}{}", i++ == 0 ? "" : ", ", candidate);
    }
  }
  return Wrong(name, attr, fmt::format("one of {}", known));
}

absl::StatusOr<std::shared_ptr<const void>> ReadAttrMap(const OpInfo& info,
                                                        std::span<const Attribute> slots) {
  auto map = std::make_shared<kernels::AttrMap>();
  for (int i = 0; i < info.num_slots(); ++i) {
    const Attribute attr = slots[i];
    if (!attr || i == info.segment_slot()) continue;
    const std::string_view name = info.slot_name(i).str();
    absl::Status status;
    switch (attr.kind()) {
      case Kind::kUnit:
      case Kind::kBool:
        status = AddTo<bool>(*map, name, attr);
        break;
      case Kind::kInteger:
        status = AddTo<int64_t>(*map, name, attr);
        break;
      case Kind::kFloat:
        status = AddTo<double>(*map, name, attr);
        break;
      case Kind::kString:
      case Kind::kSymbolRef:
        status = AddTo<std::string>(*map, name, attr);
        break;
      case Kind::kType:
        if (attr.type().dtype() != DType::kInvalid) status = AddTo<DType>(*map, name, attr);
        break;
      case Kind::kDims:
        status = AddTo<std::vector<int64_t>>(*map, name, attr);
        break;
      case Kind::kDenseArray:
        status = IsFloat(attr.type().dtype()) ? AddTo<std::vector<float>>(*map, name, attr)
                                              : AddTo<std::vector<int64_t>>(*map, name, attr);
        break;
      default:
        break;
    }
    TENON_RETURN_IF_ERROR(status);
  }
  if (map->empty()) return std::shared_ptr<const void>();
  return std::shared_ptr<const void>(std::move(map));
}

}  // namespace tenon
