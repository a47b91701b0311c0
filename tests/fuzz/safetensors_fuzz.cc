// Any bytes as a file of safetensors: tensors whose bytes can be read, or an error.
#include <span>

#include "fmt/format.h"
#include "frontends/cpp/parameters/safetensors.h"
#include "tests/fuzz/fuzz_target.h"

namespace tenon::fuzz {
namespace {

std::string File(const std::string& header, size_t bytes) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  file += header;
  for (size_t i = 0; i < bytes; ++i) file += static_cast<char>(i % 2);
  return file;
}

}  // namespace

std::string CheckSafetensors(std::string_view bytes, bool* accepted) {
  const absl::StatusOr<SafeTensors> file =
      ParseSafeTensors(std::as_bytes(std::span(bytes.data(), bytes.size())), nullptr, "fuzz");
  if (accepted != nullptr) *accepted = file.ok();
  if (!file.ok()) return file.status().message().empty() ? "an error without a message" : "";
  size_t sum = 0;
  for (const SafeTensor& tensor : file->tensors) {
    size_t size = SizeOf(tensor.dtype);
    for (const int64_t dim : tensor.dims) size *= static_cast<size_t>(dim);
    if (size != tensor.bytes->size()) return "a tensor of another size than its shape";
    for (const std::byte byte : tensor.bytes->bytes()) sum += std::to_integer<size_t>(byte);
  }
  return sum == static_cast<size_t>(-1) ? "not reached: reads all bytes" : "";
}

std::vector<std::string> SafetensorsSeeds() {
  std::vector<std::string> seeds = {File("{}", 0), File(R"({"__metadata__":{"format":"pt"}})", 0)};
  for (const auto& [type, width] : {std::pair("F32", 4), std::pair("BF16", 2), std::pair("BOOL", 1),
                                    std::pair("I64", 8), std::pair("F8_E4M3", 1)}) {
    seeds.push_back(
        File(fmt::format(R"({{"a":{{"dtype":"{0}","shape":[2,3],"data_offsets":[0,{1}]}},)"
                         R"("b.c":{{"dtype":"{0}","shape":[],"data_offsets":[{1},{2}]}}}})",
                         type, 6 * width, 7 * width),
             7 * static_cast<size_t>(width)));
  }
  return seeds;
}

}  // namespace tenon::fuzz
