// Reference kernels of trigonometric and hyperbolic functions, but those in unary.cc.
#include <cmath>

#include "kernels/kernel_list.h"
#include "kernels/reference/elementwise/map.h"

namespace tenon::kernels {

namespace {

Kernel Trigonometric(const char* op, const char* name, RunFn run) {
  return {.op = op, .name = name, .run = run, .inplace_mask = 1};
}

}  // namespace

Kernel RefAcos() {
  return Trigonometric("ten.acos", "ref.acos", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return std::acos(v); });
  });
}

Kernel RefAcosh() {
  return Trigonometric("ten.acosh", "ref.acosh", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return std::acosh(v); });
  });
}

Kernel RefAsin() {
  return Trigonometric("ten.asin", "ref.asin", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return std::asin(v); });
  });
}

Kernel RefAsinh() {
  return Trigonometric("ten.asinh", "ref.asinh", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return std::asinh(v); });
  });
}

Kernel RefAtan() {
  return Trigonometric("ten.atan", "ref.atan", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return std::atan(v); });
  });
}

Kernel RefAtanh() {
  return Trigonometric("ten.atanh", "ref.atanh", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return std::atanh(v); });
  });
}

Kernel RefCosh() {
  return Trigonometric("ten.cosh", "ref.cosh", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return std::cosh(v); });
  });
}

Kernel RefSinh() {
  return Trigonometric("ten.sinh", "ref.sinh", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return std::sinh(v); });
  });
}

Kernel RefTan() {
  return Trigonometric("ten.tan", "ref.tan", [](const RunArgs& args) {
    return MapFloat(args, [](auto v) { return std::tan(v); });
  });
}

}  // namespace tenon::kernels
