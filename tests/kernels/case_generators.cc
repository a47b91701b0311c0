#include "tests/kernels/case_generators.h"

#include "kernels/shape.h"
#include "tests/kernels/cases.h"

namespace tenon::kernels::testing {

Shape Random::RandomShape(int min_rank, int max_rank) {
  Shape shape(static_cast<size_t>(Int(min_rank, max_rank)));
  for (int64_t& d : shape) d = Extent();
  while (Product(shape) > 200000) shape[static_cast<size_t>(Int(0, shape.size() - 1))] = 3;
  return shape;
}

Tensor Random::Floats(Shape shape, float low, float high) {
  Tensor t(DType::kF32, std::move(shape));
  for (int64_t i = 0; i < t.numel(); ++i) t.data<float>()[i] = Float(low, high);
  return t;
}

Tensor Random::Bools(Shape shape) {
  Tensor t(DType::kBool, std::move(shape));
  for (int64_t i = 0; i < t.numel(); ++i) t.data<uint8_t>()[i] = Chance(70);
  return t;
}

Tensor Random::Bytes(DType dtype, Shape shape) {
  Tensor t(dtype, std::move(shape));
  for (int64_t i = 0; i < t.numel(); ++i) t.data<uint8_t>()[i] = static_cast<uint8_t>(Int(0, 255));
  return t;
}

Tensor Random::Ints(Shape shape, int64_t low, int64_t high) {
  Tensor t(DType::kI64, std::move(shape));
  for (int64_t i = 0; i < t.numel(); ++i) t.data<int64_t>()[i] = Int(low, high);
  return t;
}

Tensor Random::Any(DType dtype, Shape shape) {
  if (dtype == DType::kF32) return Floats(std::move(shape));
  Tensor t(dtype, std::move(shape));
  for (size_t i = 0; i < t.bytes; ++i) t.data<uint8_t>()[i] = static_cast<uint8_t>(Int(0, 1));
  return t;
}

DType Random::AnyDtype() {
  constexpr DType kTypes[] = {DType::kF32,  DType::kF32, DType::kI64,
                              DType::kBool, DType::kF16, DType::kI32};
  return kTypes[Int(0, 5)];
}

Shape BroadcastInput(Random& random, const Shape& out) {
  const int style = static_cast<int>(random.Int(0, 4));
  if (style == 0) return out;
  if (style == 1) return {};
  Shape shape = out;
  for (int64_t& d : shape) {
    if (random.Chance(35)) d = 1;
  }
  if (random.Chance(40)) shape.erase(shape.begin(), shape.begin() + random.Int(0, shape.size()));
  return shape;
}

const GeneratorsByOp& Generators() {
  static const auto* const generators = [] {
    auto* const all = new GeneratorsByOp;
    for (GeneratorsByOp (*family)() : {ElementwiseCases, MovementCases, LinearCases, ConvCases,
                                       RowCases, AttentionCases, RecurrenceCases, SelectionCases})
      all->merge(family());
    return all;
  }();
  return *generators;
}

}  // namespace tenon::kernels::testing
