// Constant tensors as functions of the position: exporters store triangles and ranges as tables.
#ifndef TENON_TRANSFORMS_MASK_TABLE_H_
#define TENON_TRANSFORMS_MASK_TABLE_H_

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "ir/core/attribute.h"

namespace tenon::mask {

// A function that every element of the table was compared with.
struct TableFunction {
  enum class Kind : uint8_t {
    kSteps,   // the value depends on the distance col - row (or on col alone), and changes seldom
    kAffine,  // first + step * col
  };
  Kind kind = Kind::kSteps;
  int row_axis = -1, col_axis = -1;  // -1: none
  // kSteps: values[k] for the distances in [starts[k], starts[k+1]); starts[0] is below all.
  std::vector<int64_t> starts;
  std::vector<double> values;
  int64_t first = 0, step = 0;
};

// Null when the table is no such function.
std::optional<TableFunction> FunctionOfTable(Attribute elements);

// Remembers the answers: masks share their tables.
class TableCache {
 public:
  const TableFunction* Find(Attribute elements);

 private:
  std::map<const void*, std::optional<TableFunction>> functions_;
};

}  // namespace tenon::mask

#endif  // TENON_TRANSFORMS_MASK_TABLE_H_
