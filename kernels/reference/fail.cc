// The reference kernel of ctl.fail.
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels {
namespace {

KernelStatus Fail(const RunArgs& args) {
  return KernelStatus::Invalid(args.get<ctl::FailAttrs>().what);
}

}  // namespace

Kernel RefFail() { return {.op = "ctl.fail", .name = "ref.fail", .run = Fail}; }

}  // namespace tenon::kernels
