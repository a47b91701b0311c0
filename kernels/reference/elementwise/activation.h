// Scalar activations, for T = float or double.
#ifndef TENON_KERNELS_REFERENCE_ELEMENTWISE_ACTIVATION_H_
#define TENON_KERNELS_REFERENCE_ELEMENTWISE_ACTIVATION_H_

#include <algorithm>
#include <cmath>

#include "kernels/activation.h"

namespace tenon::kernels {

template <typename T>
T Sigmoid(T v) {
  return 1 / (1 + std::exp(-v));
}
template <typename T>
T Silu(T v) {
  return v * Sigmoid(v);
}
// x * Phi(x). erfc keeps the relative accuracy where 1 + erf would cancel.
template <typename T>
T GeluErf(T v) {
  return T(0.5) * v * std::erfc(-v * T(0.70710678118654752440));
}
// (1 + tanh(u)) / 2 is sigmoid(2 u), which keeps the relative accuracy where the sum would cancel.
template <typename T>
T GeluTanh(T v) {
  const T inner = T(0.79788456080286535588) * (v + T(0.044715) * v * v * v);
  return v * Sigmoid(2 * inner);
}
template <typename T>
T GeluSigmoid(T v) {
  return v * Sigmoid(T(1.702) * v);
}
template <typename T>
T LeakyRelu(T v, float alpha) {
  return v >= 0 || std::isnan(v) ? v : static_cast<T>(alpha) * v;
}
// NaN is returned, as by the other activations.
template <typename T>
T HardSigmoid(T v, float alpha, float beta) {
  const T y = static_cast<T>(alpha) * v + static_cast<T>(beta);
  return y < 0 ? T{0} : y > 1 ? T{1} : y;
}
template <typename T>
T HardSwish(T v) {
  const T y = v * T(1.0 / 6) + T(0.5);
  return v * (y < 0 ? T{0} : y > 1 ? T{1} : y);
}

// tanh(log(1 + e)) = (e^2 + 2 e) / (e^2 + 2 e + 2). Beyond 20 it is 1 to every digit.
template <typename T>
T Mish(T v) {
  if (v > 20) return v;
  const T e = std::exp(v), n = e * (e + 2);
  return v * (n / (n + 2));
}

template <typename T>
T Activate(const Activation& activation, T v) {
  switch (activation.kind) {
    case ActivationKind::kNone:
      return v;
    case ActivationKind::kRelu:
      return v < 0 ? T{0} : v;
    case ActivationKind::kGelu:
      return GeluErf(v);
    case ActivationKind::kGeluTanh:
      return GeluTanh(v);
    case ActivationKind::kGeluSigmoid:
      return GeluSigmoid(v);
    case ActivationKind::kSilu:
      return Silu(v);
    case ActivationKind::kSigmoid:
      return Sigmoid(v);
    case ActivationKind::kTanh:
      return std::tanh(v);
    case ActivationKind::kClip: {
      const T low = static_cast<T>(activation.alpha), high = static_cast<T>(activation.beta);
      if (v < low) v = low;
      return v > high ? high : v;
    }
    case ActivationKind::kLeakyRelu:
      return LeakyRelu(v, activation.alpha);
    case ActivationKind::kHardSigmoid:
      return HardSigmoid(v, activation.alpha, activation.beta);
    case ActivationKind::kHardSwish:
      return HardSwish(v);
    case ActivationKind::kMish:
      return Mish(v);
  }
  return v;
}

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_REFERENCE_ELEMENTWISE_ACTIVATION_H_
