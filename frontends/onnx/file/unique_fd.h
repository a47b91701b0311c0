// Owning a file descriptor.
#ifndef TENON_FRONTENDS_ONNX_FILE_UNIQUE_FD_H_
#define TENON_FRONTENDS_ONNX_FILE_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace tenon::onnx {

// Closes a file descriptor at its end.
class UniqueFd {
 public:
  explicit UniqueFd(int fd = -1) : fd_(fd) {}
  ~UniqueFd() {
    if (fd_ >= 0) close(fd_);
  }
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_FILE_UNIQUE_FD_H_
