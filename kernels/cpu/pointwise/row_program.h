// A body of fused.group with steps over whole rows (sums, norms, softmax), compiled for the shapes
// of one call. A block of rows passes through all steps before the next block, so that values
// between steps stay in the caches.
#ifndef TENON_KERNELS_CPU_POINTWISE_ROW_PROGRAM_H_
#define TENON_KERNELS_CPU_POINTWISE_ROW_PROGRAM_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/cpu/pointwise/pointwise_program.h"

namespace tenon::kernels::cpu {

// The compiled body: units that run one after another on each block. A unit is one row op, or a
// PointwiseProgram of the elementwise steps between two row ops.
class RowProgram final : public KernelState {
 public:
  // Returns an empty string if the body can be compiled, else the reason.
  static std::string WhyNot(const PointwiseBody& body);
  // Compiles a body for which WhyNot is empty. The inputs broadcast to `shape`, which has one axis
  // or more. Results have that shape, or one element for each of its rows. At most `slots` threads
  // run the program at once. `compile` as in PointwiseProgram.
  RowProgram(const PointwiseBody& body, std::span<const TensorView> inputs, DimSpan shape,
             int64_t slots, Isa compile = ActiveIsa());

  // The scratch memory that Run needs.
  size_t scratch_bytes() const;
  // Computes the results. The first may overwrite an input of the same size.
  void Run(const RunArgs& args) const;

 private:
  // Where a value lies while a block is computed.
  struct Place {
    enum class Kind : uint8_t { kNone, kInput, kOutput, kScratch };
    Kind kind = Kind::kNone;
    bool one_per_row = false;
    int index = 0;        // kInput, kOutput: which one
    int64_t before = 0;   // kScratch: bytes of the values in front of it, for each element
    int64_t element = 4;  // bytes
  };

  struct Unit {
    std::unique_ptr<const PointwiseProgram> program;  // null: a row op
    bool one_per_row = false;                         // the program works on elements for rows
    PointwiseStep step;                               // the row op
    std::vector<int> inputs, results;                 // values
  };

  // A result that lies in scratch until the block is finished.
  struct CopyOut {
    int value = 0, output = 0;
  };

  // The rows [begin, end) of a run, and where their values lie in scratch.
  struct Block {
    const RunArgs& args;
    char* scratch;
    int64_t begin, end;
    bool whole;  // all rows at once: each unit is shared among threads
  };

  std::vector<int> FindLevels(const PointwiseBody& body) const;
  void AddRowOp(const PointwiseBody& body, int step, int operand);
  void AddProgram(const PointwiseBody& body, const std::vector<int>& steps, bool one_per_row,
                  std::span<const TensorView> inputs);
  int AddExpanded(const TensorView& input, int value);
  void PlaceValues(const PointwiseBody& body);
  void ChooseBlocks(const PointwiseBody& body);
  static int64_t Padded(int64_t elements) { return (elements + 63) / 64 * 64; }
  int64_t BytesOfBlock(int64_t rows) const;
  char* AddressOf(const Block& block, int value) const;
  void RunBlock(const Block& block) const;
  void RunProgram(const Block& block, const Unit& unit) const;
  void RunRowOp(const Block& block, const Unit& unit, int64_t begin, int64_t end) const;

  Dims shape_, column_;  // of whole values, and of those with one element for each row
  Isa compile_;
  int64_t rows_ = 0, n_ = 0;  // n_: elements of a row
  int64_t slots_ = 1;
  int64_t block_ = 1, grain_ = 1;  // rows that pass at once, and rows worth a thread
  int64_t row_bytes_ = 0;          // scratch for each element of a row
  int64_t column_bytes_ = 0;       // scratch for each row
  int64_t late_bytes_ = 0;         // of the first result, if it has to wait for all rows
  std::vector<bool> one_per_row_;  // by value of the body
  std::vector<Place> places_;      // by value; expanded inputs follow
  std::vector<Unit> units_;
  std::vector<CopyOut> copies_;
};

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_POINTWISE_ROW_PROGRAM_H_
