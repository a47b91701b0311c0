#include "tools/command_line/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "fmt/format.h"
#include "ir/base/shown_text.h"

namespace tenon::tools {
namespace {

constexpr std::chrono::seconds kPatience{2};
constexpr std::chrono::milliseconds kInterval{250};
constexpr size_t kLongestLine = 79;  // a longer one would wrap, and could not be erased

// The object of the process, for Hide.
std::mutex current_mutex;
Progress* current = nullptr;

bool IsTerminal() {
  const char* const term = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace

Progress::Progress(std::string_view program, bool quiet) : program_(program) {
  if (quiet || !IsTerminal()) return;
  thread_ = std::thread([this] { Watch(); });
  const std::lock_guard lock(current_mutex);
  current = this;
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(current_mutex);
    current = nullptr;
  }
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  done_changes_.notify_all();
  thread_.join();
}

void Progress::Begin(std::string_view what) {
  const std::lock_guard lock(current_mutex);
  if (current == nullptr) return;
  const std::lock_guard inner(current->mutex_);
  current->what_ = what;
  current->since_ = Clock::now();
}

RewriteObserver* Progress::Observer() {
  const std::lock_guard lock(current_mutex);
  return current;
}

void Progress::PassBegins(std::string_view text, Operation* /*op*/) {
  Begin(fmt::format("pass {}", text.substr(0, text.find('{'))));
}

void Progress::Hide() {
  const std::lock_guard lock(current_mutex);
  if (current == nullptr) return;
  const std::lock_guard inner(current->mutex_);
  current->Erase();
}

void Progress::Erase() {
  if (!shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

void Progress::Watch() {
  std::unique_lock lock(mutex_);
  while (!done_changes_.wait_for(lock, kInterval, [this] { return done_; })) {
    if (Clock::now() - start_ < kPatience || what_.empty()) continue;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - since_);
    const std::string line =
        fmt::format("{}: {}, {} s", program_, ShownName(what_), seconds.count());
    std::fprintf(stderr, "\r\033[K%s", line.substr(0, kLongestLine).c_str());
    std::fflush(stderr);
    shown_ = true;
  }
  Erase();
}

}  // namespace tenon::tools
