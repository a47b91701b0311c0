// Builds a program with one attention whose mask is under test, classifies the mask, and compares
// results before and after.
#ifndef TENON_TESTS_TRANSFORMS_MASK_PROGRAM_H_
#define TENON_TESTS_TRANSFORMS_MASK_PROGRAM_H_

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "frontends/cpp/tenon.h"
#include "ir/core/builder.h"
#include "ir/core/context/context.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/fused_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Queries are [B, 2, S, 4]; keys are as long, or with past P longer. There are 2 heads.
class MaskProgram {
 public:
  enum class Keys { kAsQueries, kWithPast };
  // `am_dims`: dims of the integer input `am` ("B", "S" by default: of the keys).
  explicit MaskProgram(Keys keys = Keys::kAsQueries, std::vector<std::string> am_dims = {});

  OpBuilder& builder() { return builder_; }
  std::string keys() const { return past_ ? "P + S" : "S"; }
  Value am() const { return am_; }  // the attention mask of the model: numbers, mostly 0 and 1
  DimExpr Dim(const std::string& text);
  std::vector<DimExpr> Dims(const std::vector<std::string>& texts);

  template <typename Op, typename... Args>
  Value Make(Args&&... args) {
    const auto op = Op::Create(builder_, Location(), std::forward<Args>(args)...);
    EXPECT_TRUE(op.ok()) << op.status();
    return op.ok() ? op->op()->result() : Value();
  }
  Value Number(double value, DType dtype = DType::kF32);
  Value Table(DType dtype, const std::vector<int64_t>& shape, const std::vector<double>& values);
  Value Extent(const std::string& dim);  // a scalar
  Value Range(const std::string& start, const std::string& end);
  Value Reshape(Value x, const std::vector<std::string>& dims);
  Value Expand(Value x, const std::vector<std::string>& dims);
  Value Cast(Value x, DType to) { return Make<ten::CastOp>(x, ten::CastOp::Attrs{.to = to}); }
  // Positions of queries, [S, 1] (counted from P if there is a past), and of keys, [1, keys].
  Value Query();
  Value Key();
  // am != 0 as [B, 1, 1, keys].
  Value Padding();
  Value And(Value a, Value b) { return Make<ten::AndOp>(a, b); }
  // 0 where visible, `hidden` elsewhere.
  Value Additive(Value visible, double hidden);

  // Ends the program. To be called once.
  void Attend(Value mask, Value bias = Value(), bool nan_guard = false);

  // "causal + padding", or "general: mask of …: …". Programs are compared at several sizes.
  std::string Classified();
  std::string text() const;  // after Classified
  // After Classified: does the new program run where the old one does when `am` has length 1? Where
  // both run their results are compared.
  bool accepts_one() const { return accepts_one_; }

 private:
  void Compare(const Model& before, const Model& after);

  std::shared_ptr<Context> context_;
  OwnedOp module_;
  Operation* function_ = nullptr;
  OpBuilder builder_;
  bool past_;
  Value q_, k_, v_, am_;
  std::vector<std::string> am_dims_;
  std::string text_;
  bool accepts_one_ = true;
};

constexpr double kLowest = -3.4028234663852886e38;

}  // namespace tenon

#endif  // TENON_TESTS_TRANSFORMS_MASK_PROGRAM_H_
