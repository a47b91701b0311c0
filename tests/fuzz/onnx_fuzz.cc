// libFuzzer entry: imports its input as a model.
#include <cstddef>
#include <cstdint>
#include <span>

#include "frontends/onnx/importer.h"
#include "ir/dialect/dialects.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tenon::Context context;
  tenon::RegisterAllDialects(context);
  (void)tenon::onnx::ImportOnnxFromBytes(context, std::as_bytes(std::span(data, size)));
  return 0;
}
