// Sequences, optional values and tensors of strings while a graph is imported. The IR has tensors
// of numbers only: a sequence of a known number of elements is its elements, and any other one is
// three tensors. A tensor of strings is two. A sequence of maps is the keys, which all maps have in
// common, and a matrix of values. Internal to the importer.
#ifndef TENON_FRONTENDS_ONNX_OPS_CONTAINERS_CONTAINERS_H_
#define TENON_FRONTENDS_ONNX_OPS_CONTAINERS_CONTAINERS_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/onnx/onnx.pb.h"
#include "ir/core/builder.h"
#include "ir/core/type.h"
#include "ir/core/value.h"

namespace tenon::onnx {

// What is known of a sequence or an optional value without its elements.
struct ContainerType {
  // An optional tensor is a sequence of at most one element. The parts of a tensor of strings are
  // its spans and its text, in every form (ir/base/string_span.h). Those of maps are their keys,
  // which are strings or integers, and their values: a row for each map, a column for each key.
  enum class Kind : uint8_t {
    kSequence,
    kOptionalTensor,
    kOptionalSequence,
    kStrings,
    kMaps,  // of integers
    kMapsOfStrings
  };

  Kind kind = Kind::kSequence;
  DType dtype = DType::kInvalid;  // of all elements; i64 for strings
  // What all elements have in common: a tensor type, unranked if their ranks may differ. Null if
  // nothing is known, because there is no element. For strings, the type of the spans; for maps,
  // that of the values.
  Type element;

  bool is_optional() const {
    return kind == Kind::kOptionalTensor || kind == Kind::kOptionalSequence;
  }
  bool is_strings() const { return kind == Kind::kStrings; }
  bool is_maps() const { return kind == Kind::kMaps || kind == Kind::kMapsOfStrings; }
  // The rank of all elements; nullopt if it is not known.
  std::optional<int64_t> rank() const;
  // For messages: "a sequence of f32".
  std::string text() const;
};

// A sequence, an optional value or a tensor of strings.
struct Container : ContainerType {
  Container() = default;
  explicit Container(const ContainerType& type) : ContainerType(type) {}

  enum class Form : uint8_t {
    kList,     // the elements
    kStacked,  // one tensor [n, …]: elements of one shape, one behind the other
    kPacked,   // offsets, dims and data
  };

  Form form = Form::kList;
  // By form. The packed tensors are
  //   offsets  tensor<(n+1)x2xi64>: where the extents of each element begin in `dims`, and where
  //            its numbers begin in `data`; the last row holds where they end
  //   dims     tensor<?xi64>: the extents of all elements, one element after the other
  //   data     tensor<?xT>: the numbers of all elements, one element after the other
  std::vector<Value> parts;
  // Of an optional sequence, a boolean scalar: whether it is there. Null: it is.
  Value present;

  Value offsets() const { return parts[0]; }
  Value dims() const { return parts[1]; }
  Value data() const { return parts[2]; }
  // Of strings.
  Value spans() const { return parts[0]; }
  Value bytes() const { return parts[1]; }  // the text
};

// The tensors that stand for a packed container where a graph begins, ends or branches: `present`
// of an optional sequence, then offsets, dims and data. Those of strings are spans and text, those
// of maps are keys and values.
std::vector<Type> PackedTypes(Context& context, const ContainerType& type);
std::vector<std::string> PackedNames(std::string_view name, const ContainerType& type);
// The container that such tensors stand for.
Container FromPacked(const ContainerType& type, std::span<const Value> tensors);

// Creates the value that stands for a container in the tables of the importer: the result of an op
// `onnx.sequence` over its parts. The importer erases these ops when nothing uses them any more.
Value Wrap(OpBuilder& builder, Location location, const Container& container);
// Returns the container that `value` stands for; nullopt if it is none.
std::optional<Container> Unwrap(Value value);
// Erases the ops of Wrap below `function` that have no use.
void EraseUnusedWraps(Operation* function);

// Returns the type of a container that may be one or the other, or a tensor where the other is an
// optional one; nullopt if there is none. A null value is no container and no tensor.
std::optional<ContainerType> JoinContainers(const ContainerType& a, const ContainerType& b);
// The common type of two elements; either may be null. Both have one element type.
Type JoinElements(Type a, Type b);
// The same rank with extents that only a run knows; the same type without a rank.
Type LooseElement(Type element);
// The container type of a tensor that stands for an optional one.
ContainerType OptionalOf(Type tensor);
// The container type of strings with these spans, and such a container.
ContainerType StringsOf(Type spans);
Container StringsOf(Value spans, Value text);
// A map from integers or, with a text, strings for each row of `values`. The keys are a vector, in
// ascending order and all different.
Container MapsOf(Value keys, Value text, Value values);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_OPS_CONTAINERS_CONTAINERS_H_
