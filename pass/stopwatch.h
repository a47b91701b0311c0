// Measuring time.
#ifndef TENON_PASS_STOPWATCH_H_
#define TENON_PASS_STOPWATCH_H_

#include <chrono>

namespace tenon {

// Adds the time of its life to a sum, in seconds.
class Stopwatch {
 public:
  explicit Stopwatch(double& sum) : sum_(sum), start_(std::chrono::steady_clock::now()) {}
  ~Stopwatch() {
    sum_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  double& sum_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace tenon

#endif  // TENON_PASS_STOPWATCH_H_
