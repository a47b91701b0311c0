// Checked reading of attributes into plain fields, for the generated attribute decoders.
#ifndef TENON_EXECUTOR_COMPILE_ATTR_READING_H_
#define TENON_EXECUTOR_COMPILE_ATTR_READING_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/core/attribute.h"
#include "ir/core/context/op_info.h"

namespace tenon {

// Reads an attribute into `field`; a null attribute leaves the default. Returns InvalidArgument
// with the name and what was expected if the attribute is of another kind.
absl::Status ReadAttr(std::string_view name, Attribute attr, bool& field);
absl::Status ReadAttr(std::string_view name, Attribute attr, int64_t& field);
absl::Status ReadAttr(std::string_view name, Attribute attr, float& field);
absl::Status ReadAttr(std::string_view name, Attribute attr, double& field);
absl::Status ReadAttr(std::string_view name, Attribute attr, std::string& field);
absl::Status ReadAttr(std::string_view name, Attribute attr, DType& field);
// Accepts array<i64: …> and dimension expressions that are all constant.
absl::Status ReadAttr(std::string_view name, Attribute attr, std::vector<int64_t>& field);
absl::Status ReadAttr(std::string_view name, Attribute attr, std::vector<float>& field);

template <typename T>
absl::Status ReadAttr(std::string_view name, Attribute attr, std::optional<T>& field) {
  if (!attr) return absl::OkStatus();
  field.emplace();
  return ReadAttr(name, attr, *field);
}

// Sets `index` to the position of the attribute's text in `names`; -1 for a null attribute.
absl::Status ReadEnumIndex(std::string_view name, Attribute attr,
                           std::initializer_list<std::string_view> names, int& index);

template <typename Enum>
absl::Status ReadEnumAttr(std::string_view name, Attribute attr, Enum& field,
                          std::initializer_list<std::string_view> names) {
  int index = -1;
  absl::Status status = ReadEnumIndex(name, attr, names, index);
  if (index >= 0) field = static_cast<Enum>(index);
  return status;
}

template <typename Enum>
absl::Status ReadEnumAttr(std::string_view name, Attribute attr, std::optional<Enum>& field,
                          std::initializer_list<std::string_view> names) {
  if (!attr) return absl::OkStatus();
  field.emplace();
  return ReadEnumAttr(name, attr, *field, names);
}

// Returns a kernels::AttrMap of the slots; null if they are empty.
absl::StatusOr<std::shared_ptr<const void>> ReadAttrMap(const OpInfo& info,
                                                        std::span<const Attribute> slots);

}  // namespace tenon

#endif  // TENON_EXECUTOR_COMPILE_ATTR_READING_H_
