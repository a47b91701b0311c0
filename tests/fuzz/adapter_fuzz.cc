// Any bytes as a low-rank adapter: its settings up to the first NUL, then the file of safetensors.
// An error, or updates whose matrices fit each other.
#include <algorithm>
#include <cmath>

#include "frontends/cpp/parameters/lora.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"

namespace tenon::fuzz {
namespace {

std::string AdapterBytes(const std::string& settings, const std::string& module,
                         const std::string& type, int width) {
  const std::string header = fmt::format(
      R"({{"base_model.model.{0}.lora_A.weight":{{"dtype":"{1}","shape":[2,3],"data_offsets":[0,{2}]}},)"
      R"("base_model.model.{0}.lora_B.weight":{{"dtype":"{1}","shape":[4,2],"data_offsets":[{2},{3}]}}}})",
      module, type, 6 * width, 14 * width);
  std::string bytes = settings + '\0';
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + std::string(static_cast<size_t>(14 * width), '\1');
}

}  // namespace

std::string CheckAdapter(std::string_view bytes, bool* accepted) {
  const size_t end = std::min(bytes.find('\0'), bytes.size());
  const MemoryFile settings(bytes.substr(0, end));
  const MemoryFile file(bytes.substr(std::min(end + 1, bytes.size())));
  const absl::StatusOr<Adapter> adapter = ReadAdapter(file.path(), {.config = settings.path()});
  if (accepted != nullptr) *accepted = adapter.ok();
  if (!adapter.ok()) return adapter.status().message().empty() ? "an error without a message" : "";
  for (const LowRankUpdate& update : adapter->updates) {
    if (update.a.dims.size() != 2 || update.b.dims.size() != 2 ||
        update.a.dims[0] != update.b.dims[1] || !std::isfinite(update.scale)) {
      return "matrices that do not fit";
    }
  }
  return adapter->updates.empty() ? "no update" : "";
}

std::vector<std::string> AdapterSeeds() {
  return {AdapterBytes("{}", "net.first", "F32", 4),
          AdapterBytes(R"({"peft_type": "LORA", "r": 2, "lora_alpha": 3, "bias": "none"})", "a",
                       "F16", 2),
          AdapterBytes(R"({"lora_alpha": 16, "use_rslora": true, "use_dora": false})", "m.n",
                       "BF16", 2),
          AdapterBytes(R"({"alpha_pattern": {"b": 2, "a.b": 0.5}, "lora_alpha": 1e3})", "a.b",
                       "F64", 8)};
}

}  // namespace tenon::fuzz
