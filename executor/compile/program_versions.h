// The versions of a program: each has other values of its parameters. Internal to the executor.
#ifndef TENON_EXECUTOR_COMPILE_PROGRAM_VERSIONS_H_
#define TENON_EXECUTOR_COMPILE_PROGRAM_VERSIONS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "executor/program.h"
#include "executor/program_impl.h"

namespace tenon {

// What the copies of a program and its sessions share. A version never changes: who runs it holds
// it, and takes the current one between runs. Thread-safe.
class ProgramVersions {
 public:
  explicit ProgramVersions(std::shared_ptr<const ProgramImpl> first);

  // The same for all versions, and valid as long as this object.
  std::span<const TensorSpec> inputs() const { return inputs_; }
  std::span<const TensorSpec> outputs() const { return outputs_; }
  std::span<const TensorSpec> parameters() const { return parameters_; }

  // The number of the current version. It grows before Replace returns.
  uint64_t number() const { return number_.load(std::memory_order_acquire); }
  // Returns the current version and its number.
  std::shared_ptr<const ProgramImpl> Current(uint64_t& number) const;
  std::shared_ptr<const ProgramImpl> Current() const;
  // Makes a version with these values. Errors are those of Program::ReplaceParameters.
  absl::Status Replace(std::span<const ParameterValue> values);

 private:
  std::vector<TensorSpec> inputs_, outputs_, parameters_;
  std::mutex replacing_;  // held while a version is made, so that none is lost
  mutable std::mutex mutex_;
  std::shared_ptr<const ProgramImpl> current_;
  std::atomic<uint64_t> number_ = 0;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_COMPILE_PROGRAM_VERSIONS_H_
