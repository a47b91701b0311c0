// A plugin that fails in the way that the variable BROKEN_PLUGIN names, for plugin_test.py.
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "fmt/format.h"
#include "frontends/cpp/plugin.h"
#include "ir/dialect/shapes/shape_functions.h"

namespace {

std::string_view Mode() {
  const char* const mode = std::getenv("BROKEN_PLUGIN");
  return mode == nullptr ? "" : mode;
}

tenon::kernels::KernelStatus RunNothing(const tenon::kernels::RunArgs&) {
  return tenon::kernels::KernelStatus::Ok();
}

tenon::PassInfo PassNamed(std::string_view name) {
  tenon::PassInfo info;
  info.name = std::string(name);
  info.anchor = "func.func";
  return info;
}

absl::Status AddBroken(tenon::Extension& extension) {
  tenon::OpDef op;
  op.name = "broken.op";
  op.infer = tenon::InferElementwise;
  tenon::kernels::Kernel kernel = {.op = "broken.other", .name = "ref.broken.other"};
  kernel.run = RunNothing;
  if (Mode() == "throw") throw std::runtime_error("no license");
  if (Mode() == "throw-number") throw 42;  // NOLINT: this is the point
  if (Mode() == "status") return absl::UnavailableError("the server does not answer");
  if (Mode() == "pass") extension.passes = {PassNamed("cse")};
  if (Mode() == "kernel") extension.kernels = {kernel};
  if (Mode() == "no-infer") op.infer = {};
  if (Mode() == "nested") extension.plugins.emplace_back();
  extension.dialects.push_back({"broken", "operations of no use", {op}});
  return absl::OkStatus();
}

}  // namespace

TENON_PLUGIN("broken", AddBroken)
