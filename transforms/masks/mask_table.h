// Constant tensors as functions of the position: exporters store triangles and ranges as tables.
#ifndef TENON_TRANSFORMS_MASKS_MASK_TABLE_H_
#define TENON_TRANSFORMS_MASKS_MASK_TABLE_H_

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "ir/core/attribute.h"

namespace tenon::mask {

// A function with which every element of the table was compared.
struct TableFunction {
  enum class Kind : uint8_t {
    kSteps,   // depends on the distance col - row (or on col alone), with few changes
    kAffine,  // first + step * col
  };
  Kind kind = Kind::kSteps;
  int row_axis = -1, col_axis = -1;  // -1: none
  // kSteps: values[k] for distances in [starts[k], starts[k + 1]); starts[0] is below all
  // distances.
  std::vector<int64_t> starts;
  std::vector<double> values;
  int64_t first = 0, step = 0;
};

// Returns the function of a table; nullopt if it has none.
std::optional<TableFunction> FunctionOfTable(Attribute elements);

// Caches functions, because masks share their tables. Not thread-safe.
class TableCache {
 public:
  const TableFunction* Find(Attribute elements);

 private:
  std::map<const void*, std::optional<TableFunction>> functions_;
};

}  // namespace tenon::mask

#endif  // TENON_TRANSFORMS_MASKS_MASK_TABLE_H_
