#include "frontends/cpp/files/load_ops.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "frontends/cpp/files/json_text.h"
#include "ir/base/check.h"
#include "ir/base/shown_text.h"
#include "ir/base/suggest.h"
#include "ir/core/context/declared_ops.h"
#include "ir/dialect/declared_op.h"
#include "nlohmann/json.hpp"
#include "transforms/rules/rule_cache.h"

namespace tenon {
namespace {

using Json = nlohmann::json;

constexpr uintmax_t kMostBytes = uintmax_t{64} << 20;
constexpr int kMostDepth = 8;  // the format has four levels

// Reads the operations. Messages name the file, and the operation with its place in the YAML file
// from which the generator made it.
class OpsReader {
 public:
  OpsReader(const std::string& name, Context& context) : name_(name), context_(context) {}

  absl::Status Read(const Json& root) {
    TENON_RETURN_IF_ERROR(Keys(root, "the file", {"types", "attributes", "ops"}));
    // Before the ops, whose operands take the types.
    for (const auto& [list, what, declare] :
         {std::tuple("types", "type", &DeclareType),
          std::tuple("attributes", "attribute", &DeclareAttribute)}) {
      if (!root.contains(list)) continue;
      TENON_ASSIGN_OR_RETURN(const Json* defs, Array(root, list));
      for (const Json& def : *defs) TENON_RETURN_IF_ERROR(ReadParametric(def, what, declare));
    }
    where_.clear();
    TENON_ASSIGN_OR_RETURN(const Json* ops, Array(root, "ops"));
    for (const Json& op : *ops) TENON_RETURN_IF_ERROR(ReadOp(op));
    return absl::OkStatus();
  }

 private:
  absl::Status Wrong(const std::string& why) const {
    return absl::InvalidArgumentError(fmt::format("{}: {}{}", name_, where_, why));
  }
  // `value` is an object with these keys only.
  absl::Status Keys(const Json& value, std::string_view what,
                    std::initializer_list<std::string_view> known) const {
    if (!value.is_object()) return Wrong(fmt::format("{} is no object", what));
    for (const auto& [key, unused] : value.items()) {
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        const std::vector<std::string> names(known.begin(), known.end());
        return Wrong(
            fmt::format("{} has the unknown key '{}'{}", what, key, DidYouMean(key, names)));
      }
    }
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> Text(const Json& object, const char* key) const {
    const auto it = object.find(key);
    if (it == object.end() || !it->is_string())
      return Wrong(fmt::format("'{}' is missing, or no string", key));
    return it->get<std::string>();
  }
  absl::StatusOr<const Json*> Array(const Json& object, const char* key) const {
    const auto it = object.find(key);
    if (it == object.end() || !it->is_array())
      return Wrong(fmt::format("'{}' is missing, or no list", key));
    return &*it;
  }
  absl::StatusOr<std::vector<std::string>> Texts(const Json& object, const char* key) const {
    TENON_ASSIGN_OR_RETURN(const Json* list, Array(object, key));
    std::vector<std::string> texts;
    for (const Json& item : *list) {
      if (!item.is_string()) return Wrong(fmt::format("'{}' has an item that is no string", key));
      texts.push_back(item.get<std::string>());
    }
    return texts;
  }
  // Element types of tensors, or one type of a dialect.
  absl::StatusOr<TypeConstraint> Types(const Json& object, const char* key) const {
    TENON_ASSIGN_OR_RETURN(const std::vector<std::string> words, Texts(object, key));
    TypeConstraint types;
    uint32_t& dtypes = types.dtypes;
    for (const std::string& word : words) {
      if (word.starts_with('!')) {
        types.dialect_type = word.substr(1);
        if (words.size() == 1 && !types.dialect_type.empty()) return types;
        return Wrong(
            fmt::format("'{}' has more than the type '{}' (expected it alone)", key, word));
      }
      const std::optional<uint32_t> some = DTypesNamed(word);
      if (!some)
        return Wrong(fmt::format("'{}' is no element type (expected such as f32 or float)", word));
      dtypes |= *some;
    }
    if (dtypes == 0) return Wrong(fmt::format("'{}' is empty (expected element types)", key));
    return types;
  }

  absl::StatusOr<OperandDef> ReadOperand(const Json& json) const {
    TENON_RETURN_IF_ERROR(Keys(json, "an operand", {"name", "arity", "types"}));
    OperandDef operand;
    TENON_ASSIGN_OR_RETURN(operand.name, Text(json, "name"));
    TENON_ASSIGN_OR_RETURN(const std::string arity, Text(json, "arity"));
    if (arity != "single" && arity != "optional" && arity != "variadic") {
      return Wrong(
          fmt::format("operand '{}' has arity '{}' (expected single, optional or variadic)",
                      operand.name, arity));
    }
    operand.arity = arity == "single"     ? Arity::kSingle
                    : arity == "optional" ? Arity::kOptional
                                          : Arity::kVariadic;
    TENON_ASSIGN_OR_RETURN(operand.constraint, Types(json, "types"));
    return operand;
  }

  absl::StatusOr<AttrDef> ReadAttr(const Json& json) const {
    TENON_RETURN_IF_ERROR(
        Keys(json, "an attribute", {"name", "kind", "required", "default", "values"}));
    AttrDef attr;
    TENON_ASSIGN_OR_RETURN(attr.name, Text(json, "name"));
    TENON_ASSIGN_OR_RETURN(const std::string kind, Text(json, "kind"));
    const std::optional<AttrType> type = KindNamed(kind);
    if (!type && kind != "enum") {
      return Wrong(fmt::format("attribute '{}' has kind '{}' (expected enum, {})", attr.name, kind,
                               fmt::join(KindWords(), ", ")));
    }
    attr.type = type.value_or(AttrType::kEnum);
    const auto required = json.find("required");
    if (required == json.end() || !required->is_boolean())
      return Wrong(fmt::format("attribute '{}': 'required' is missing, or no boolean", attr.name));
    attr.required = required->get<bool>();
    if (json.contains("default")) {
      TENON_ASSIGN_OR_RETURN(attr.default_text, Text(json, "default"));
    }
    if (attr.required && !attr.default_text.empty())
      return Wrong(fmt::format("attribute '{}' is required and has a default", attr.name));
    if (json.contains("values") || attr.type == AttrType::kEnum) {
      TENON_ASSIGN_OR_RETURN(attr.enums, Texts(json, "values"));
    }
    return attr;
  }

  // A type or an attribute: `what`.
  absl::Status ReadParametric(const Json& json, const char* what,
                              absl::Status (*declare)(ParametricDef, Context&)) {
    where_.clear();
    TENON_RETURN_IF_ERROR(
        Keys(json, fmt::format("an item of '{}s'", what), {what, "at", "summary", "parameters"}));
    ParametricDef def;
    TENON_ASSIGN_OR_RETURN(def.name, Text(json, what));
    TENON_ASSIGN_OR_RETURN(const std::string at, Text(json, "at"));
    where_ = fmt::format("{}: {}: ", at, def.name);
    TENON_ASSIGN_OR_RETURN(def.summary, Text(json, "summary"));
    TENON_ASSIGN_OR_RETURN(const Json* parameters, Array(json, "parameters"));
    for (const Json& parameter : *parameters) {
      TENON_ASSIGN_OR_RETURN(def.parameters.emplace_back(), ReadAttr(parameter));
      const AttrDef& read = def.parameters.back();
      if (read.required == read.default_text.empty()) continue;
      return Wrong(fmt::format("parameter '{}' may be absent (expected a default)", read.name));
    }
    const absl::Status status = declare(std::move(def), context_);
    if (status.ok()) return status;
    return absl::Status(status.code(),
                        fmt::format("{}: {}: {}", name_, at, std::string(status.message())));
  }

  absl::Status ReadOp(const Json& json) {
    where_.clear();
    TENON_RETURN_IF_ERROR(
        Keys(json, "an item of 'ops'",
             {"op", "at", "summary", "operands", "attrs", "result", "traits", "shape"}));
    OpDef def;
    TENON_ASSIGN_OR_RETURN(def.name, Text(json, "op"));
    TENON_ASSIGN_OR_RETURN(const std::string at, Text(json, "at"));
    where_ = fmt::format("{}: {}: ", at, def.name);
    TENON_ASSIGN_OR_RETURN(def.summary, Text(json, "summary"));
    TENON_ASSIGN_OR_RETURN(const Json* operands, Array(json, "operands"));
    for (const Json& operand : *operands) {
      TENON_ASSIGN_OR_RETURN(def.operands.emplace_back(), ReadOperand(operand));
    }
    TENON_ASSIGN_OR_RETURN(const Json* attrs, Array(json, "attrs"));
    for (const Json& attr : *attrs) {
      TENON_ASSIGN_OR_RETURN(def.attrs.emplace_back(), ReadAttr(attr));
    }
    OperandDef& result = def.results.emplace_back();
    result.name = "out";
    TENON_ASSIGN_OR_RETURN(result.constraint, Types(json, "result"));
    TENON_ASSIGN_OR_RETURN(const std::vector<std::string> traits, Texts(json, "traits"));
    for (const std::string& word : traits) {
      const std::optional<Trait> trait = TraitNamed(word);
      if (!trait) {
        return Wrong(fmt::format("there is no trait '{}' (expected {})", word,
                                 fmt::join(TraitWords(), ", ")));
      }
      def.traits |= static_cast<uint32_t>(*trait);
    }
    TENON_ASSIGN_OR_RETURN(const std::string shape, Text(json, "shape"));
    if (shape != "elementwise" && shape != "same_as_first")
      return Wrong(fmt::format("shape is '{}' (expected elementwise or same_as_first)", shape));
    const absl::Status status = DeclareOpOfShape(
        std::move(def),
        shape == "elementwise" ? DeclaredShape::kElementwise : DeclaredShape::kSameAsFirst,
        context_);
    if (status.ok()) return status;
    return absl::Status(status.code(),
                        fmt::format("{}: {}: {}", name_, at, std::string(status.message())));
  }

  const std::string& name_;
  Context& context_;
  std::string where_;  // the operation that is read
};

}  // namespace

absl::Status LoadOpsFromJson(std::string_view json, const std::string& name, Context& context) {
  JsonMistake mistake;
  const Json root = ReadJsonText(json, kMostDepth, mistake);
  const auto wrong = [&](std::string_view why) {
    return absl::InvalidArgumentError(fmt::format("{}: {}", ShownName(name), why));
  };
  switch (mistake.kind) {
    case JsonMistake::Kind::kSyntax:
    case JsonMistake::Kind::kNumber:
      return absl::InvalidArgumentError(
          fmt::format("{}:{}:{}: this is no JSON", ShownName(name), mistake.line, mistake.column));
    case JsonMistake::Kind::kTwice:
      return wrong(fmt::format("the key '{}' is there twice", ShownName(mistake.key)));
    case JsonMistake::Kind::kDepth:
      return wrong("the JSON is nested too deeply");
    case JsonMistake::Kind::kNone:
      break;
  }
  return OpsReader(name, context).Read(root);
}

absl::Status LoadOps(const std::string& file, Context& context) {
  if (file.ends_with(".drr")) return ReadRules(file, context).status();
  const auto cannot = [&](std::string_view why) {
    return absl::NotFoundError(fmt::format("{}: operations cannot be read: {}", file, why));
  };
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (error) return cannot(error.message());
  if (std::filesystem::is_directory(status)) return cannot("it is a folder");
  // A pipe may never end.
  if (!std::filesystem::is_regular_file(status))
    return cannot("it is no regular file (expected a file, not a pipe)");
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return cannot(std::strerror(errno));
  std::string text;
  char buffer[1 << 16];
  while (stream.read(buffer, sizeof(buffer)) || stream.gcount() > 0) {
    text.append(buffer, static_cast<size_t>(stream.gcount()));
    if (text.size() > kMostBytes) {
      return absl::ResourceExhaustedError(
          fmt::format("{}: more than {} bytes of operations", file, kMostBytes));
    }
  }
  if (stream.bad()) return cannot(std::strerror(errno));
  return LoadOpsFromJson(text, file, context);
}

}  // namespace tenon
