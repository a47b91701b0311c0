#include "transforms/movement/axis_ops.h"

#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon {

bool WorksAlongAxis(const Operation& op) {
  switch (op.id()) {
    case ten::ConcatOp::kId:
    case ten::CumsumOp::kId:
    case ten::SplitOp::kId:
    case nn::HardmaxOp::kId:
    case nn::LogSoftmaxOp::kId:
    case nn::SoftmaxOp::kId:
      return true;
    default:
      return false;
  }
}

bool ReducesAxes(const Operation& op) {
  switch (op.id()) {
    case ten::ReduceL2Op::kId:
    case ten::ReduceLogSumExpOp::kId:
    case ten::ReduceMaxOp::kId:
    case ten::ReduceMeanOp::kId:
    case ten::ReduceMinOp::kId:
    case ten::ReduceProdOp::kId:
    case ten::ReduceSumOp::kId:
      return true;
    default:
      return false;
  }
}

}  // namespace tenon
