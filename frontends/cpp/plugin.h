// Plugins: shared libraries that add operations, kernels, rules and passes to a program of Tenon.
//
// A source file of the plugin has this:
//
//   absl::Status AddAcme(tenon::Extension& extension) {
//     extension.dialects.push_back(AcmeDialect());
//     return absl::OkStatus();
//   }
//   TENON_PLUGIN("acme", AddAcme)
//
// `ir-opt --load-plugin=libacme.so` then knows the operations of Acme, and so does a host that
// calls LoadPlugin. docs/guide/write-a-plugin.md shows how to build one.
#ifndef TENON_FRONTENDS_CPP_PLUGIN_H_
#define TENON_FRONTENDS_CPP_PLUGIN_H_

#include <string>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "fmt/core.h"
#include "frontends/cpp/extension.h"
#include "frontends/cpp/plugin_build.h"
#include "frontends/cpp/version.h"

namespace tenon {

// Loads the plugin in `file` and appends what it adds to `extension`. Call it before the extension
// is given to Load. RegisterExtension then checks what was added, and names the plugin in its
// errors. A file name without a slash is a file of the working directory: nothing is searched.
//
// The library runs code of its own in this process from then on, and stays loaded. Its file is read
// first: a library that is no plugin, or one for another version or build, runs no code.
//
// Every error begins with `file`. NotFound if there is no such file. InvalidArgument if it is no
// plugin, or cannot be loaded. FailedPrecondition, with both versions, if it was built for another
// Tenon. AlreadyExists if `extension` has a plugin of this name. Internal if the plugin throws.
// Other errors are those of its own function. `extension` is unchanged after an error.
//
// Call it from one thread at a time. The program must export the symbols of Tenon: it links
// libtenon.so (tenon::shared), or all of tenon::tenon with ENABLE_EXPORTS.
absl::Status LoadPlugin(const std::string& file, Extension& extension);

// What the function tenonPlugin of a plugin returns. TENON_PLUGIN defines it.
struct PluginInfo {
  const char* identity;  // TENON_PLUGIN_IDENTITY of the headers that the plugin was built with
  const char* name;      // of the plugin: letters, digits, "_", "-" and "."
  // Adds to an extension that is empty. It may be called several times in a process, by several
  // threads. A status that is not OK, or an exception, makes LoadPlugin fail.
  absl::Status (*add)(Extension& extension);
};
// The C function of this type is named tenonPlugin. The info lives as long as the library.
using PluginFunction = const PluginInfo*();

// The version of PluginInfo, and of what this header says.
#define TENON_PLUGIN_INTERFACE 1

}  // namespace tenon

#define TENON_PLUGIN_TEXT_OF(x) #x
// The value of a macro as text.
#define TENON_PLUGIN_TEXT(x) TENON_PLUGIN_TEXT_OF(x)
// Memory of objects has other sizes with these.
#if defined(__SANITIZE_ADDRESS__)
#define TENON_PLUGIN_CHECKS "AddressSanitizer"
#elif defined(__SANITIZE_THREAD__)
#define TENON_PLUGIN_CHECKS "ThreadSanitizer"
#elif defined(_GLIBCXX_DEBUG)
#define TENON_PLUGIN_CHECKS "_GLIBCXX_DEBUG"
#else
#define TENON_PLUGIN_CHECKS "no sanitizer"
#endif
// What must be equal in a plugin and in the program that loads it, as a text that is found in their
// files. The first two parts have this form in all versions. TENON_HEADERS is a checksum of all
// public headers.
#define TENON_PLUGIN_IDENTITY \
  "TENON PLUGIN|interface " TENON_PLUGIN_TEXT(TENON_PLUGIN_INTERFACE) "|Tenon " TENON_VERSION      \
  "|headers " TENON_HEADERS "|C++ ABI " TENON_PLUGIN_TEXT(__GXX_ABI_VERSION) " "                   \
  TENON_PLUGIN_TEXT(_GLIBCXX_USE_CXX11_ABI) "|Abseil " TENON_PLUGIN_TEXT(ABSL_LTS_RELEASE_VERSION) \
  "|fmt " TENON_PLUGIN_TEXT(FMT_VERSION) "|" TENON_PLUGIN_CHECKS "|"

// Makes a shared library a plugin. Once in a library, outside of namespaces. `name` is a literal,
// `add_function` a function as PluginInfo::add. The identity stays a literal, so that a copy in the
// program cannot take its place.
#define TENON_PLUGIN(plugin_name, add_function)                                               \
  extern "C" __attribute__((visibility("default"))) const ::tenon::PluginInfo* tenonPlugin(); \
  extern "C" const ::tenon::PluginInfo* tenonPlugin() {                                       \
    static constexpr ::tenon::PluginInfo kInfo = {TENON_PLUGIN_IDENTITY, plugin_name,         \
                                                  add_function};                              \
    return &kInfo;                                                                            \
  }

#endif  // TENON_FRONTENDS_CPP_PLUGIN_H_
