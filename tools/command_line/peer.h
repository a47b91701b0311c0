// Another engine. peer.py runs it in a process of its own.
#ifndef TENON_TOOLS_COMMAND_LINE_PEER_H_
#define TENON_TOOLS_COMMAND_LINE_PEER_H_

#include <sys/types.h>

#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/program.h"
#include "executor/tensor.h"

namespace tenon::tools {

// Talks with peer.py; the comment at its top describes the messages. The process ends with the
// object.
class Peer {
 public:
  // What to run.
  struct Request {
    std::string python;  // a path, or a name that PATH finds
    std::string engine;  // its name in peer.py
    std::string model;   // ONNX file
    std::string folder;  // has what WritePeerInputs writes; receives the outputs
    int threads = 1;     // of the engine
    bool cuda = false;   // on the first GPU
  };
  // Starts the process and loads the model. NotFound if Python or the engine is not installed.
  // Unavailable if the engine does not load the model.
  static absl::StatusOr<std::unique_ptr<Peer>> Start(const Request& request);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  const std::string& engine() const { return engine_; }    // its name in peer.py
  const std::string& version() const { return version_; }  // as it states it
  double load_ms() const { return load_ms_; }              // milliseconds to load the model
  // The largest resident size of the process until the last Run, in MB.
  double memory_mb() const { return memory_mb_; }

  // Makes one untimed run, then `count` timed ones. Returns the milliseconds of each.
  absl::StatusOr<std::vector<double>> Run(int count);
  // The outputs of the last run. An output of a type that Tenon does not have is null.
  absl::StatusOr<std::vector<Tensor>> Outputs();
  // The clock of the processor time of the process, over all threads.
  clockid_t cpu_clock() const { return clock_; }

 private:
  Peer(std::string engine, pid_t pid, int socket)
      : engine_(std::move(engine)), pid_(pid), socket_(socket) {}
  // The next line from the process. Unavailable if there is none, or it says an error.
  absl::StatusOr<nlohmann::json> Receive();
  absl::StatusOr<nlohmann::json> Ask(const nlohmann::json& request);

  std::string engine_, version_;
  double load_ms_ = 0, memory_mb_ = 0;
  pid_t pid_;
  int socket_;
  clockid_t clock_{};
  std::string received_;  // behind the last line
};

// Writes the inputs of a program into the folder of a peer: inputs.json and a .npy file each.
absl::Status WritePeerInputs(const std::string& folder, const Program& program,
                             std::span<const Tensor> inputs);

}  // namespace tenon::tools

#endif  // TENON_TOOLS_COMMAND_LINE_PEER_H_
