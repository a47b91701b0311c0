// Acme as a plugin, for programs that were built without it: ir-opt --load-plugin=libacme.so
#include "acme.h"
#include "tenon/frontends/cpp/plugin.h"

namespace {

absl::Status AddAcme(tenon::Extension& extension) {
  extension = *AcmeExtension();
  return absl::OkStatus();
}

}  // namespace

TENON_PLUGIN("acme", AddAcme)
