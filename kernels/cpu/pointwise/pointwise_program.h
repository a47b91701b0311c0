// A body of elementwise ops, compiled for the shapes of one call. The kernels of single elementwise
// ops and of fused.group run it. It is machine code if possible (pointwise_jit.h). Otherwise each
// step is a loop, tile by tile, so that values between steps stay in the first-level cache.
#ifndef TENON_KERNELS_CPU_POINTWISE_POINTWISE_PROGRAM_H_
#define TENON_KERNELS_CPU_POINTWISE_POINTWISE_PROGRAM_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/base/pointwise.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/jit/pointwise_jit.h"
#include "kernels/cpu/pointwise/pointwise_loops.h"
#include "kernels/cpu/vector/vector_ops.h"
#include "kernels/kernel.h"
#include "kernels/shape.h"

namespace tenon::kernels::cpu {

// A compiled body.
class PointwiseProgram final : public KernelState {
 public:
  // The most values (inputs, constants, results and scratch) of a body that can be run.
  static constexpr int kMaxPointers = 96;

  // Returns an empty string if the body can be compiled, else the reason.
  static std::string WhyNot(const PointwiseBody& body);
  // Compiles a body for which WhyNot is empty. The inputs broadcast to `shape`, the shape of all
  // results. `compile` is the instruction set for machine code; kPortable means none.
  PointwiseProgram(const PointwiseBody& body, std::span<const TensorView> inputs, DimSpan shape,
                   Isa compile = ActiveIsa());
  bool compiled() const { return jit_ != nullptr; }  // it is machine code

  // Computes the results. They may overwrite inputs of the same element type and shape.
  void Run(const RunArgs& args) const;
  // Computes the elements [begin, end) of the results, on this thread. Reads nothing of the views
  // but `data`. Operands that do not repeat along a part of the axes may exist for the rows of the
  // range only: `data` is then the address that position 0 would have. Requires a shape with
  // elements.
  void RunRange(const RunArgs& args, int64_t begin, int64_t end) const;

 private:
  // How an input is read within a row of the innermost axis.
  enum class Reading : uint8_t {
    kDense,   // as it lies in memory, at the position of the result
    kRow,     // as it lies in memory, at an offset that depends on the row
    kScalar,  // one element for the row
    kSplat,   // the same, copied out, for steps that take no scalar
    kExpand,  // gathered element by element: rows are short
  };

  struct Input {
    Reading reading = Reading::kDense;
    int64_t element = 4;  // bytes
    Dims strides;         // in elements, by axis of shape_
    int source = -1;      // kSplat, kExpand: the pointer to which it is copied
  };

  // One call of a loop. Operands and result are pointers of a tile.
  struct Step {
    enum class Kind : uint8_t { kUnary, kBinary, kLoop, kPow };
    Kind kind = Kind::kLoop;
    uint8_t a = 0, b = 0, c = 0, out = 0;
    BinaryForm form = BinaryForm::kVV;
    float alpha = 0, beta = 0, gamma = 0;
    VectorOps::UnaryFn unary = nullptr;
    VectorOps::BinaryFn binary = nullptr;
    PointwiseLoop loop = nullptr;
  };

  // A result that is written to scratch first, because an input in its place is still read.
  struct CopyOut {
    uint8_t from = 0, to = 0;
    int64_t element = 4;
  };

  void FindAxes(std::span<const TensorView> inputs, DimSpan shape, int64_t short_row);
  // False if there is no machine code for the body.
  bool Compile(const PointwiseBody& body, Isa isa);
  void MakeSteps(const PointwiseBody& body);
  Step MakeStep(const PointwiseBody& body, const PointwiseStep& step,
                std::span<const uint8_t> pointer_of) const;
  bool IsScalar(const PointwiseBody& body, int value) const;
  bool TakesScalar(const PointwiseBody& body, const PointwiseStep& step, int operand) const;
  void RunCompiled(const RunArgs& args, int64_t begin, int64_t end) const;
  // Where an input that depends on the row begins in it, in elements.
  int64_t OffsetOfRow(const Input& input, int64_t row) const;
  void RunRow(const void** pointers, char* const* bases, int64_t at, int64_t n) const;
  static void Call(const Step& step, const void* const* pointers, int64_t n);

  int64_t numel_ = 0, row_ = 0;  // all elements, and those of the innermost axis
  int64_t tile_ = 0;
  int64_t grain_ = 0;  // elements worth a thread
  Dims shape_;         // joined axes
  std::vector<Input> inputs_;
  std::vector<int64_t> result_elements_;
  // Pointers of a tile: inputs, constants, results, scratch.
  int first_result_ = 0, first_scratch_ = 0, num_scratch_ = 0;
  int64_t scratch_element_ = 4;
  std::vector<uint64_t> constant_bytes_;  // tile_ elements of each constant
  std::vector<const void*> constants_;
  std::shared_ptr<const PointwiseJit> jit_;  // runs in the place of steps_
  std::vector<int64_t> row_steps_;           // its `steps`
  std::vector<Step> steps_;
  std::vector<CopyOut> copies_;
  bool one_row_ = false;  // no input depends on the row
  bool direct_ = false;   // one step on the inputs as they lie in memory
};

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_POINTWISE_POINTWISE_PROGRAM_H_
