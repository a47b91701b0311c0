#include "transforms/masks/mask_table.h"

#include <cmath>

#include "ir/core/type.h"

namespace tenon::mask {
namespace {

constexpr size_t kMaxTableSteps = 8;
// Beyond this an integer may be no double.
constexpr double kLargestExact = 9007199254740992.0;

std::optional<TableFunction> AffineOf(Attribute table, int64_t n) {
  if (!IsInt(table.type().dtype()) || n < 2) return std::nullopt;
  TableFunction f;
  f.kind = TableFunction::Kind::kAffine;
  f.first = table.ElementAsInt(0);
  if (__builtin_sub_overflow(table.ElementAsInt(1), f.first, &f.step)) return std::nullopt;
  for (int64_t i = 1; i < n; ++i) {
    int64_t difference = 0;
    if (__builtin_sub_overflow(table.ElementAsInt(i), table.ElementAsInt(i - 1), &difference) ||
        difference != f.step) {
      return std::nullopt;
    }
  }
  return f;
}

}  // namespace

std::optional<TableFunction> FunctionOfTable(Attribute table) {
  const Type type = table.type();
  std::vector<int> axes;  // longer than 1
  for (int i = 0; i < type.rank(); ++i) {
    if (!type.dim(i).is_constant(1)) axes.push_back(i);
  }
  const int64_t count = type.num_elements();
  const auto usable = [&](double value) {
    return !std::isnan(value) && (!IsInt(type.dtype()) || std::abs(value) < kLargestExact);
  };
  if (count < 1) return std::nullopt;
  if (table.is_splat()) {
    const double value = table.ElementAsDouble(0);
    if (!usable(value)) return std::nullopt;
    return TableFunction{.starts = {0}, .values = {value}};
  }
  if (axes.size() > 2) return std::nullopt;
  const int col_axis = axes.empty() ? -1 : axes.back();
  const int row_axis = axes.size() == 2 ? axes[0] : -1;
  const int64_t cols = col_axis < 0 ? 1 : type.dim(col_axis).constant();
  const int64_t rows = count / cols;
  TableFunction f;
  if (rows == 1) {
    if (std::optional<TableFunction> affine = AffineOf(table, cols)) f = *std::move(affine);
  }
  f.row_axis = row_axis, f.col_axis = col_axis;
  if (f.kind == TableFunction::Kind::kAffine) return f;
  // The last row and the first, backwards, hold each distance once.
  const auto at = [&](int64_t row, int64_t col) { return table.ElementAsDouble(row * cols + col); };
  for (int64_t distance = 1 - rows; distance < cols; ++distance) {
    const double value = distance < 0 ? at(-distance, 0) : at(0, distance);
    if (f.values.empty() || f.values.back() != value) {
      if (f.values.size() == kMaxTableSteps || !usable(value)) return std::nullopt;
      f.starts.push_back(distance);
      f.values.push_back(value);
    }
  }
  for (int64_t row = 0; row < rows; ++row) {
    size_t k = 0;
    for (int64_t col = 0; col < cols; ++col) {
      while (k + 1 < f.starts.size() && f.starts[k + 1] <= col - row) ++k;
      if (at(row, col) != f.values[k]) return std::nullopt;
    }
  }
  return f;
}

const TableFunction* TableCache::Find(Attribute elements) {
  auto it = functions_.find(elements.storage());
  if (it == functions_.end()) {
    it = functions_.emplace(elements.storage(), FunctionOfTable(elements)).first;
  }
  return it->second ? &*it->second : nullptr;
}

}  // namespace tenon::mask
