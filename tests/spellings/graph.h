// Small ONNX models, written as an exporter would: what tests/spellings are made of.
#ifndef TENON_TESTS_SPELLINGS_GRAPH_H_
#define TENON_TESTS_SPELLINGS_GRAPH_H_

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "executor/tensor.h"
#include "frontends/onnx/onnx.pb.h"

namespace tenon::spellings {

// What varies beneath every spelling, because no rule may depend on it.
struct Style {
  // How a number is written.
  enum class Form { kScalar, kVector, kMatrix, kNode, kComputed };
  const char* name;
  int opset;
  Form form = Form::kScalar;
  bool flip = false;           // operands of commutative ops exchanged
  bool positive_axes = false;  // axes counted from the front
  bool half = false;           // f16
};

// A value: an input, a parameter, a result, or a number that becomes a constant where it is used.
struct V {
  V(double n) : number(n), is_number(true) {}     // NOLINT
  V(std::string text) : name(std::move(text)) {}  // NOLINT
  V(const char* text) : name(text) {}             // NOLINT: "" is an operand left out
  std::string name;
  double number = 0;
  bool is_number = false;
};

using Ints = std::vector<int64_t>;
using Attribute = std::variant<int64_t, double, std::string, Ints>;
using Attributes = std::vector<std::pair<std::string, Attribute>>;

// An extent: a number, or a name and its value in the test.
struct Extent {
  Extent(int64_t n) : value(n) {}  // NOLINT
  Extent(const char* text, int64_t n) : name(text), value(n) {}
  std::string name;
  int64_t value;
};
inline Extent B() { return {"batch", 2}; }
inline Extent S() { return {"seq", 5}; }

class Graph {
 public:
  explicit Graph(const Style& style);
  const Style& style() const { return style_; }

  V In(const std::vector<Extent>& shape);
  V In(const std::vector<Extent>& shape, DType dtype);
  V Ids(const std::vector<Extent>& shape, int64_t limit);  // int64, below `limit`
  V Param(const Ints& shape, double low = -1, double high = 1);
  V Fill(const Ints& shape, double value);
  V Index(const Ints& values, bool scalar = false);  // int64
  V Number(double value, DType dtype);
  void Out(const V& value);

  // `type` may begin with the domain of another set of operators: "com.microsoft::Gelu".
  V Op(const std::string& type, const std::vector<V>& inputs, const Attributes& attributes = {});
  std::vector<V> Ops(const std::string& type, const std::vector<V>& inputs, int results,
                     const Attributes& attributes = {});

  V Add(const V& a, const V& b) { return Either("Add", a, b); }
  V Mul(const V& a, const V& b) { return Either("Mul", a, b); }
  V Sub(const V& a, const V& b) { return Op("Sub", {a, b}); }
  V Div(const V& a, const V& b) { return Op("Div", {a, b}); }
  V Pow(const V& a, const V& b) { return Op("Pow", {a, b}); }
  V Either(const std::string& type, const V& a, const V& b) {
    return style_.flip ? Op(type, {b, a}) : Op(type, {a, b});
  }
  // Axes count from the end; `rank` turns them around where the style says so.
  V Reduce(const std::string& type, const V& x, Ints axes, int rank, bool keepdims = true);
  V Mean(const V& x, Ints axes = {-1}, int rank = 3) { return Reduce("ReduceMean", x, axes, rank); }
  V Unsqueeze(const V& x, const Ints& axes) { return WithAxes("Unsqueeze", x, axes, 13); }
  V Squeeze(const V& x, const Ints& axes) { return WithAxes("Squeeze", x, axes, 13); }
  V Slice(const V& x, int64_t start, int64_t end, int64_t axis);
  std::vector<V> Halves(const V& x, int64_t axis, int64_t extent);
  V Transpose(const V& x, const Ints& perm) { return Op("Transpose", {x}, {{"perm", perm}}); }
  V Reshape(const V& x, const Ints& shape) { return Op("Reshape", {x, Index(shape)}); }
  V Cast(const V& x, DType to);

  std::string Serialize() const { return model_.SerializeAsString(); }
  const std::vector<Tensor>& inputs() const { return inputs_; }

 private:
  std::string Fresh() { return "v" + std::to_string(counter_++); }
  V WithAxes(const std::string& type, const V& x, const Ints& axes, int since,
             Attributes attributes = {});
  V Initializer(DType dtype, const Ints& shape, const std::vector<double>& values);
  DType dtype() const { return style_.half ? DType::kF16 : DType::kF32; }

  Style style_;
  onnxpb::ModelProto model_;
  onnxpb::GraphProto& graph_;
  std::vector<Tensor> inputs_;
  std::mt19937 random_{7};
  int counter_ = 0;
};

}  // namespace tenon::spellings

#endif  // TENON_TESTS_SPELLINGS_GRAPH_H_
