// Fourier transforms as products with a matrix, for opsets without DFT.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "frontends/onnx/export/lowering.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/expand/formula.h"

namespace tenon::onnx {
namespace {

// Longer transforms would have matrices of many megabytes.
constexpr int64_t kMaxLength = 2048;

// scale * f(2 * pi * n * k / length) for each n and k.
Value Waves(OpFormula& f, DType dtype, int64_t rows, int64_t columns, int64_t length, double scale,
            double (*wave)(double)) {
  const int64_t dims[] = {rows, columns};
  std::vector<std::byte> bytes(static_cast<size_t>(rows * columns) * SizeOf(dtype));
  for (int64_t i = 0; i < rows * columns; ++i) {
    const int64_t turns = (i / columns) * (i % columns) % length;
    const double angle = 2 * M_PI * static_cast<double>(turns) / static_cast<double>(length);
    StoreFromDouble(dtype, scale * wave(angle), &bytes[static_cast<size_t>(i) * SizeOf(dtype)]);
  }
  const Type type = Type::Tensor(f.op().context(), dtype, dims);
  return f.Make<core::ConstantOp>(
      core::ConstantOp::Attrs{.value = Attribute::Elements(f.op().context(), type, bytes)});
}

double Sine(double x) { return std::sin(x); }
double Cosine(double x) { return std::cos(x); }

}  // namespace

Value DecomposeDft(OpFormula& f) {
  const ten::DftOp op(&f.op());
  const auto attrs = op.attrs();
  const Type type = op.x().type();
  const DType dtype = type.dtype();
  const int64_t rank = type.rank();
  const DimExpr extent = type.dim(attrs.axis), parts = type.dim(rank - 1);
  if (!extent.is_constant() || !parts.is_constant() || (attrs.inverse && attrs.onesided))
    return Value();
  const int64_t length = attrs.length > 0 ? attrs.length : extent.constant();
  if (length < 1 || length > kMaxLength) return Value();
  const int64_t rows = std::min(extent.constant(), length);
  const int64_t columns = attrs.onesided ? length / 2 + 1 : length;

  // The axis goes in front of the last one, whose elements are the real and the imaginary part.
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[static_cast<size_t>(attrs.axis)], perm[static_cast<size_t>(rank - 2)]);
  Value x = f.Transpose(op.x(), perm);
  if (rows < extent.constant()) x = f.Slice(x, rank - 2, f.Number(0), f.Number(rows));
  OpFormula::Dims dims = f.DimsOf(x);
  if (!f.ok()) return Value();
  dims.pop_back();
  const auto part = [&](int64_t i) {
    return f.Reshape(f.Slice(x, rank - 1, f.Number(i), f.Number(i + 1)), dims);
  };
  const double scale = attrs.inverse ? 1.0 / static_cast<double>(length) : 1.0;
  const Value cos = Waves(f, dtype, rows, columns, length, scale, Cosine);
  const Value sin = Waves(f, dtype, rows, columns, length, attrs.inverse ? scale : -scale, Sine);
  const auto product = [&](Value a, Value b) { return f.Make<ten::MatmulOp>(a, b); };
  const Value real = part(0);
  Value real_sum = product(real, cos), imaginary_sum = product(real, sin);
  if (parts.is_constant(2)) {
    const Value imaginary = part(1);
    real_sum = f.Sub(real_sum, product(imaginary, sin));
    imaginary_sum = f.Add(imaginary_sum, product(imaginary, cos));
  }
  dims.back() = f.Number(columns);
  dims.push_back(f.Number(1));
  const Value both[] = {f.Reshape(real_sum, dims), f.Reshape(imaginary_sum, dims)};
  return f.Transpose(f.Concat(both, rank - 1), perm);
}

}  // namespace tenon::onnx
