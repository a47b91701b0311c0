// The values of dimension expressions in an exported graph.
#ifndef TENON_FRONTENDS_ONNX_EXPORT_DIM_VALUES_H_
#define TENON_FRONTENDS_ONNX_EXPORT_DIM_VALUES_H_

#include <map>
#include <string>
#include <vector>

#include "ir/core/block.h"
#include "ir/core/dims/dim_expr.h"
#include "ir/core/value.h"

namespace tenon::onnx {

class Lowering;

// Computes extents from the shapes of values that come before. One per function; operations are
// lowered in the order of the program.
class DimValues {
 public:
  // Notes the extents of a value that will stay: later operations may read its shape.
  void AddSource(Value value);
  // See Lowering::MayBeUnused.
  void MayBeUnused(Value value) { unused_.push_back(value); }
  // Erases those nodes. No other call may follow.
  void EraseUnused();
  // Returns `dim` as an i64 vector of one element, computed at the point of `lowering`. Reports an
  // error there if a symbol is the extent of no value before.
  Value Of(DimExpr dim, Lowering& lowering);
  // Returns the value noted under `text` that an operation in `at` may read; null if there is none.
  Value Known(const std::string& text, const Block* at) const;
  // Notes a value for later operations. `text` must say what it is.
  void Note(const std::string& text, Value value) { computed_[text].push_back(value); }

 private:
  struct Source {
    Value value;
    int64_t axis = 0;
  };

  // The vector for an expression that no source has.
  Value Compute(DimExpr dim, Lowering& lowering);
  // A value with that extent that the point of `lowering` may read; null if there is none.
  const Source* Find(DimExpr dim, const Block* at) const;

  std::vector<Value> unused_;
  std::map<std::string, std::vector<Source>, std::less<>> sources_;  // by text
  // What has been computed in each block, by text.
  std::map<std::string, std::vector<Value>, std::less<>> computed_;
};

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_EXPORT_DIM_VALUES_H_
