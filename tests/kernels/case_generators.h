// Random calls of ops, for comparing kernels.
#ifndef TENON_TESTS_KERNELS_CASE_GENERATORS_H_
#define TENON_TESTS_KERNELS_CASE_GENERATORS_H_

#include <functional>
#include <map>
#include <random>
#include <string>

#include "tests/kernels/kernel_test_util.h"

namespace tenon::kernels::testing {

// A seeded source of shapes and values.
class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}

  int64_t Int(int64_t low, int64_t high) {  // both included
    return low + static_cast<int64_t>(engine_() % static_cast<uint32_t>(high - low + 1));
  }
  bool Chance(int percent) { return Int(1, 100) <= percent; }
  float Float(float low = -3, float high = 3) {
    return low + (high - low) * static_cast<float>(engine_() >> 8) * 0x1p-24f;
  }
  // An extent: odd sizes, sometimes 0 or 1, sometimes large.
  int64_t Extent() {
    return Chance(4) ? 0 : Chance(15) ? 1 : Chance(6) ? Int(100, 300) : Int(2, 21);
  }
  Shape RandomShape(int min_rank = 0, int max_rank = 4);

  Tensor Floats(Shape shape, float low = -3, float high = 3);
  Tensor Bools(Shape shape);
  Tensor Bytes(DType dtype, Shape shape);               // of ui8 or i8
  Tensor Ints(Shape shape, int64_t low, int64_t high);  // i64
  Tensor Any(DType dtype, Shape shape);                 // small values
  DType AnyDtype();

 private:
  std::mt19937 engine_;
};

// Makes one call of an op; outputs have their dtype and shape.
using Generator = std::function<Case(Random&)>;

using GeneratorsByOp = std::map<std::string, Generator>;

// Of all families. A fast kernel whose op is not here fails its test.
const GeneratorsByOp& Generators();

}  // namespace tenon::kernels::testing

#endif  // TENON_TESTS_KERNELS_CASE_GENERATORS_H_
