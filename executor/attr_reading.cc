#include "executor/attr_reading.h"

#include "fmt/format.h"

namespace tenon {
namespace {

using Kind = Attribute::Kind;

absl::Status Wrong(std::string_view name, Attribute attr, std::string_view expected) {
  return absl::InvalidArgumentError(
      fmt::format("attribute '{}' is {} (expected {})", name, attr.text(), expected));
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

}  // namespace tenon
