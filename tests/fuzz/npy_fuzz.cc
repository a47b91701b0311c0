// Any bytes as a .npy file: a tensor whose bytes can be read, or an error.
#include <span>

#include "fmt/format.h"
#include "frontends/cpp/files/npy.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/seed_files.h"

namespace tenon::fuzz {
namespace {

// A file of six elements of `width` bytes.
std::string File(std::string_view descr, int width, int version, bool fortran) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': (2, 3), }}\n",
                                   descr, fortran ? "True" : "False");
  std::string file("\x93NUMPY");
  file += static_cast<char>(version);
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  file += header;
  for (int i = 0; i < 6 * width; ++i) file += static_cast<char>(i % 2);
  return file;
}

}  // namespace

std::string CheckNpy(std::string_view bytes, bool* accepted) {
  const absl::StatusOr<onnx::NamedTensor> tensor =
      ParseNpy(std::as_bytes(std::span(bytes.data(), bytes.size())), nullptr);
  if (accepted != nullptr) *accepted = tensor.ok();
  return CheckTensorData(tensor);
}

std::vector<std::string> NpySeeds() {
  std::vector<std::string> seeds;
  for (int version : {1, 2, 3}) {
    for (bool fortran : {false, true}) {
      for (std::string_view descr : {"<f4", ">f4", "<f2", ">f8", "|b1", "|u1", "<i2", ">i8"})
        seeds.push_back(File(descr, descr[2] - '0', version, fortran));
    }
  }
  return seeds;
}

}  // namespace tenon::fuzz
