#include "tools/command_line/peer.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "frontends/cpp/files/npy.h"
#include "ir/base/check.h"
#include "ir/base/write_file.h"
#include "ir/core/constants/blob.h"

extern char** environ;

namespace tenon::tools {
namespace {

using nlohmann::json;

constexpr int kSocketOfPeer = 3;

// Fields of a message; a default where they are missing or of another type.
std::string Text(const json& message, const char* field) {
  const auto found = message.find(field);
  return found != message.end() && found->is_string() ? found->get<std::string>() : "";
}
double Number(const json& message, const char* field) {
  const auto found = message.find(field);
  return found != message.end() && found->is_number() ? found->get<double>() : 0;
}
std::vector<json> List(const json& message, const char* field) {
  const auto found = message.find(field);
  return found != message.end() && found->is_array() ? found->get<std::vector<json>>()
                                                     : std::vector<json>();
}

// The script is installed beside the programs.
absl::StatusOr<std::string> ScriptPath() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path script = program.parent_path() / "ir-bench-peer.py";
  if (error || !std::filesystem::exists(script, error)) {
    return absl::NotFoundError(
        fmt::format("{}: no such file (expected beside the programs)", script.string()));
  }
  return script.string();
}

// The entries of a list of folders that do not depend on the working directory. An empty entry
// means the working directory.
std::vector<std::string> AbsoluteEntries(const char* list) {
  std::vector<std::string> entries;
  std::string_view rest = list == nullptr ? "" : list;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
    if (entry.starts_with('/')) entries.emplace_back(entry);
  }
  return entries;
}

// The program of that name. A name with a slash is the user's choice of a file; others are looked
// up in the absolute folders of PATH.
std::string FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  for (const std::string& folder : AbsoluteEntries(std::getenv("PATH"))) {
    std::string path = folder + "/" + name;
    std::error_code error;
    if (access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path, error)) return path;
  }
  return {};
}

// What the script sees of the environment: Python imports from no relative folder.
std::vector<std::string> EnvironmentOfPeer() {
  constexpr std::string_view kPath = "PYTHONPATH=";
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with(kPath)) entries.emplace_back(*entry);
  }
  const std::vector<std::string> folders = AbsoluteEntries(std::getenv("PYTHONPATH"));
  if (!folders.empty()) entries.push_back(fmt::format("{}{}", kPath, fmt::join(folders, ":")));
  return entries;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& arguments, int socket) {
  const std::string program = FindProgram(arguments[0]);
  if (program.empty()) {
    return absl::NotFoundError(fmt::format(
        "{}: in no folder of PATH (--python=PATH names the Python to use)", arguments[0]));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  // Packages print where they like: standard output is ours.
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, socket, kSocketOfPeer);
  const std::vector<std::string> environment = EnvironmentOfPeer();
  pid_t pid = 0;
  posix_spawnattr_t attributes;  // with signals as they are by default, not as in this program
  posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int error = posix_spawn(&pid, program.c_str(), &actions, &attributes,
                                Pointers(arguments).data(), Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return absl::NotFoundError(fmt::format("{}: {} (--python=PATH names the Python to use)",
                                           arguments[0], std::strerror(error)));
  }
  return pid;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Peer>> Peer::Start(const Request& request) {
  TENON_ASSIGN_OR_RETURN(const std::string script, ScriptPath());
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return absl::InternalError(fmt::format("no socket: {}", std::strerror(errno)));
  const absl::StatusOr<pid_t> pid =
      Spawn({request.python, script, request.engine, request.model, request.folder,
             fmt::format("{}", request.threads), request.cuda ? "cuda" : "cpu"},
            ends[1]);
  close(ends[1]);
  if (!pid.ok()) {
    close(ends[0]);
    return pid.status();
  }
  std::unique_ptr<Peer> peer(new Peer(request.engine, *pid, ends[0]));
  if (clock_getcpuclockid(*pid, &peer->clock_) != 0)
    return absl::UnavailableError(fmt::format("{}: the process ended at once", request.engine));
  TENON_ASSIGN_OR_RETURN(const json ready, peer->Receive());
  peer->version_ = Text(ready, "version");
  peer->load_ms_ = Number(ready, "load_ms");
  return peer;
}

Peer::~Peer() {
  close(socket_);  // the end of the stream ends the script
  kill(pid_, SIGTERM);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
}

absl::StatusOr<json> Peer::Receive() {
  size_t end = 0;
  while ((end = received_.find('\n')) == std::string::npos) {
    std::array<char, 1 << 14> buffer;
    const ssize_t n = recv(socket_, buffer.data(), buffer.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return absl::UnavailableError(fmt::format("{}: its process ended", engine_));
    received_.append(buffer.data(), static_cast<size_t>(n));
  }
  json message = json::parse(received_.substr(0, end), nullptr, false);
  received_.erase(0, end + 1);
  if (!message.is_object())
    return absl::UnavailableError(fmt::format("{}: its process says no JSON", engine_));
  if (!message.contains("error")) return message;
  const std::string text = Text(message, "error");
  const std::string missing = Text(message, "missing");
  if (missing.empty()) return absl::UnavailableError(fmt::format("{}: {}", engine_, text));
  return absl::NotFoundError(fmt::format(
      "{}the Python package {} is not installed: {} (--python=PATH names a Python that has it)",
      missing == engine_ ? "" : engine_ + ": ", missing, text));
}

absl::StatusOr<json> Peer::Ask(const json& request) {
  const std::string line = request.dump() + "\n";
  if (send(socket_, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
    return absl::UnavailableError(fmt::format("{}: its process ended", engine_));
  return Receive();
}

absl::StatusOr<std::vector<double>> Peer::Run(int count) {
  TENON_ASSIGN_OR_RETURN(const json reply, Ask({{"run", count}}));
  std::vector<double> ms;
  for (const json& value : List(reply, "ms")) {
    if (value.is_number()) ms.push_back(value.get<double>());
  }
  if (ms.size() != static_cast<size_t>(count))
    return absl::UnavailableError(
        fmt::format("{}: its process says {} times (expected {})", engine_, ms.size(), count));
  memory_mb_ = Number(reply, "memory_mb");
  return ms;
}

absl::StatusOr<std::vector<Tensor>> Peer::Outputs() {
  TENON_ASSIGN_OR_RETURN(const json reply, Ask({{"outputs", true}}));
  std::vector<Tensor> outputs;
  for (const json& file : List(reply, "files")) {
    if (file.is_null()) {
      outputs.emplace_back();
      continue;
    }
    TENON_ASSIGN_OR_RETURN(const onnx::NamedTensor read,
                           ReadNpy(file.is_string() ? file.get<std::string>() : file.dump()));
    outputs.push_back(Tensor::Copy(read.dtype, read.dims, read.blob->bytes().data()));
  }
  return outputs;
}

absl::Status WritePeerInputs(const std::string& folder, const Program& program,
                             std::span<const Tensor> inputs) {
  json list = json::array();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string file = fmt::format("{}/input_{}.npy", folder, i);
    onnx::TensorData data;
    data.dtype = inputs[i].dtype();
    data.dims.assign(inputs[i].shape().begin(), inputs[i].shape().end());
    data.blob =
        Blob::Copy({static_cast<const std::byte*>(inputs[i].data()), inputs[i].num_bytes()});
    TENON_RETURN_IF_ERROR(WriteNpy(file, data));
    list.push_back(
        {{"name", program.inputs()[i].name}, {"file", file}, {"dims", program.inputs()[i].dims}});
  }
  const std::string path = folder + "/inputs.json";
  return WriteFile(path, list.dump(1, ' ', true, json::error_handler_t::replace));
}

}  // namespace tenon::tools
