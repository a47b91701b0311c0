#include "tools/ir-reduce/test_command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/strings/str_replace.h"
#include "fmt/format.h"

namespace tenon::ir_reduce {
namespace {

std::string Quoted(const std::string& path) {
  return "'" + absl::StrReplaceAll(path, {{"'", "'\\''"}}) + "'";
}

std::string Line(const std::string& command, const std::string& file) {
  if (command.find("{}") != std::string::npos)
    return absl::StrReplaceAll(command, {{"{}", Quoted(file)}});
  return command + " " + Quoted(file);
}

// What the child does: only calls that are safe after a fork with other threads.
[[noreturn]] void Execute(const char* line, int null, int output) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_DFL);
  dup2(null, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execl("/bin/sh", "sh", "-c", line, static_cast<char*>(nullptr));
  _exit(127);
}

// True once the process has ended; false if the time is over before.
bool WaitFor(pid_t pid, std::chrono::seconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  pollfd wanted{.fd = handle, .events = POLLIN, .revents = 0};
  bool ended = false;
  while (!ended) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) break;
    const int ready = poll(&wanted, 1, static_cast<int>(std::min<int64_t>(left.count(), 1 << 30)));
    ended = ready > 0 || (ready < 0 && errno != EINTR);
  }
  close(handle);
  return ended;
}

}  // namespace

TestCommand::TestCommand(const std::string& command, const std::string& file, std::string output,
                         int64_t timeout_seconds)
    : line_(Line(command, file)), output_(std::move(output)), timeout_seconds_(timeout_seconds) {}

absl::StatusOr<TestCommand::Outcome> TestCommand::Run() const {
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int output = open(output_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const pid_t pid = null < 0 || output < 0 ? -1 : fork();
  if (pid == 0) Execute(line_.c_str(), null, output);
  const int error = errno;
  close(null);
  close(output);
  if (pid < 0)
    return absl::InternalError(fmt::format("the test cannot be started: {}", std::strerror(error)));
  setpgid(pid, pid);  // also here: whoever comes first
  Outcome outcome;
  outcome.timed_out = !WaitFor(pid, std::chrono::seconds(timeout_seconds_));
  // Also processes that the shell left behind.
  kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

std::string TestCommand::LastLine() const {
  std::ifstream file(output_);
  std::string last, line;
  while (std::getline(file, line)) {
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace tenon::ir_reduce
