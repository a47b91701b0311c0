#include "tools/command_line/program.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>
#include <system_error>

#include "fmt/format.h"
#include "ir/base/limits.h"
#include "ir/base/out_of_memory.h"
#include "ir/base/shown_text.h"
#include "ir/base/temporary_path.h"
#include "ir/base/write_file.h"
#include "tools/command_line/progress.h"

namespace tenon::tools {
namespace {

// Files that are opened must not get the number of a standard stream that is closed. What stands in
// for it refuses to be read or written, so that nothing goes missing unseen.
void FillStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) < 0)
      open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // the lowest free number
  }
}

extern "C" void RemoveFilesAndEnd(int signal) {
  RemoveTemporaryPaths();
  raise(signal);  // with the default action, once this returns
}

void HandleSignals() {
  struct sigaction action = {};
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);  // writing says so
  action.sa_handler = RemoveFilesAndEnd;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGXFSZ}) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);  // nohup
  }
}

// The first error of each stream; stdio keeps only that there was one.
int output_error = 0, error_output_error = 0;
size_t longest_message = kMaxMessage;

void Write(FILE* stream, std::string_view text, int& error) {
  Progress::Hide();
  if (std::fwrite(text.data(), 1, text.size(), stream) != text.size() && error == 0) error = errno;
}

// Whether all that was printed has arrived.
bool FinishOutput(std::string_view program) {
  bool all = true;
  const auto finish = [&](FILE* stream, std::string_view name, int error) {
    if (std::fflush(stream) != 0 && error == 0) error = errno;
    if (error == 0 && std::ferror(stream) != 0) error = EIO;
    // Some file systems say only here that they are full.
    const int copy = error == 0 ? dup(fileno(stream)) : -1;
    if (copy >= 0 && close(copy) != 0) error = errno;
    if (error == 0) return;
    all = false;
    PrintError(fmt::format("{}: {}: cannot be written: {}", program, name, std::strerror(error)));
  };
  finish(stdout, "standard output", output_error);
  finish(stderr, "standard error", error_output_error);
  return all;
}

int OutOfMemory(std::string_view program) {
  PrintError(fmt::format("{}: out of memory where nothing expected it {}", program, kMemoryLimit));
  return kBadInput;
}

struct Extension {
  std::string_view ending, format;
};

// Endings that promise what no program writes under a name of the user's choice.
constexpr Extension kForeign[] = {
    {".onnx", "an ONNX model"},
    {".ort", "a model of ONNX Runtime"},
    {".pb", "a protobuf"},
    {".pbtxt", "a protobuf as text"},
    {".prototxt", "a protobuf as text"},
    {".textproto", "a protobuf as text"},
    {".onnxtxt", "an ONNX model as text"},
    {".data", "weights of an ONNX model"},
    {".mlirbc", "MLIR bytecode"},
    {".bc", "LLVM bitcode"},
    {".ll", "LLVM IR"},
    {".tflite", "a TensorFlow Lite model"},
    {".xml", "an OpenVINO model"},
    {".bin", "binary data"},
    {".pt", "a PyTorch model"},
    {".pth", "a PyTorch model"},
    {".pt2", "a PyTorch model"},
    {".safetensors", "a file of safetensors"},
    {".gguf", "a GGUF model"},
    {".h5", "an HDF5 file"},
    {".keras", "a Keras model"},
    {".engine", "a TensorRT engine"},
    {".plan", "a TensorRT engine"},
    {".mlmodel", "a Core ML model"},
    {".npy", "a NumPy array"},
    {".npz", "NumPy arrays"},
    {".drr", "rules"},
    {".dot", "a graph for Graphviz"},
    {".svg", "an image"},
    {".png", "an image"},
    {".pdf", "a PDF file"},
    {".html", "HTML"},
    {".csv", "comma-separated values"},
    {".yaml", "YAML"},
    {".yml", "YAML"},
    {".py", "a Python program"},
    {".so", "a library"},
    {".o", "an object file"},
    {".a", "a library"},
    {".gz", "a compressed file"},
    {".xz", "a compressed file"},
    {".bz2", "a compressed file"},
    {".zst", "a compressed file"},
    {".zip", "an archive"},
    {".tar", "an archive"},
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

// What a name promises, where that is not the format; else empty.
std::string_view OtherFormat(const std::string& file, OutputFormat format) {
  const std::string lower = Lower(file);
  for (const Extension& extension : kForeign) {
    if (lower.ends_with(extension.ending)) return extension.format;
  }
  if (format != OutputFormat::kJson && lower.ends_with(".json")) return "JSON";
  if (format != OutputFormat::kIrText && lower.ends_with(".mlir")) return "IR text";
  if (format != OutputFormat::kIrText && IsBinaryName(lower)) return "a binary module";
  return {};
}

}  // namespace

int RunMain(std::string_view program, int argc, const char* const* argv,
            absl::FunctionRef<int(const std::vector<std::string>&)> run) {
  FillStandardStreams();
  HandleSignals();
  int status = kBadInput;
  try {
    status = run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const std::bad_alloc&) {
    status = OutOfMemory(program);
  } catch (const std::length_error&) {
    status = OutOfMemory(program);
  } catch (const std::system_error& error) {
    PrintError(
        fmt::format("{}: the system refuses a thread: {} {}", program, error.what(), kMemoryLimit));
  }
  return FinishOutput(program) || status != kDone ? status : kBadInput;
}

void PrintText(std::string_view text) { Write(stdout, ShownText(text), output_error); }

void FlushText() {
  if (std::fflush(stdout) != 0 && output_error == 0) output_error = errno;
}

void PrintErrorText(std::string_view text) { Write(stderr, ShownText(text), error_output_error); }

void PrintError(std::string_view message) {
  Write(stderr, ShownMessage(message, longest_message) + "\n", error_output_error);
}

void SetLongestMessage(size_t bytes) { longest_message = bytes; }

int Fail(std::string_view program, const absl::Status& status,
         const std::vector<std::string>& errors) {
  const std::string message(status.message());
  // Without the place, which diagnostics write in their own way.
  const size_t place = message.rfind(": ");
  const std::string core = message.substr(place == std::string::npos ? 0 : place);
  bool said = false;
  for (const std::string& error : errors) {
    PrintError(error);
    said |= error.find(core) != std::string::npos;
  }
  if (!said) PrintError(fmt::format("{}: {}", program, message));
  return absl::IsUnimplemented(status) ? kUnsupported
         : absl::IsUnavailable(status) ? kNotThere
                                       : kBadInput;
}

absl::Status CheckReportFile(const std::string& file, OutputFormat format) {
  if (file.empty() || file == "-") return absl::OkStatus();
  const std::string_view other = OtherFormat(file, format);
  if (other.empty()) return CheckWritable(file);
  constexpr std::string_view kNames[] = {"IR text", "text", "JSON"};
  constexpr std::string_view kEndings[] = {".mlir", ".txt", ".json"};
  const auto index = static_cast<size_t>(format);
  return absl::InvalidArgumentError(
      fmt::format("{}: {} is written here, and the name promises {} (expected a name like out{})",
                  file, kNames[index], other, kEndings[index]));
}

absl::Status PrintReport(std::string_view text, std::string_view json,
                         const std::string& json_file) {
  PrintText(json_file == "-" ? json : text);
  if (json_file.empty() || json_file == "-") return absl::OkStatus();
  return WriteFile(json_file, json);
}

}  // namespace tenon::tools
