#include "frontends/cpp/plugin.h"

#include <dlfcn.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/shown_text.h"

namespace tenon {
namespace {

constexpr std::string_view kIdentity = TENON_PLUGIN_IDENTITY;
constexpr size_t kMostIdentity = 512;  // bytes of an identity of any version
constexpr size_t kMostName = 64;

// Looks for the identity of a plugin in a file: it must be known before any of its code runs.
class IdentityReader {
 public:
  explicit IdentityReader(const std::string& path) : file_(path, std::ios::binary) {}

  bool IsLibrary() {
    char magic[4] = {};
    file_.read(magic, sizeof(magic));
    return file_ && std::string_view(magic, sizeof(magic)) == std::string_view("\177ELF", 4);
  }

  // Empty if there is none.
  std::string Find() {
    file_.clear();
    file_.seekg(0);
    const std::string_view key = kIdentity.substr(0, kIdentity.find(' ', kIdentity.find('|')) + 1);
    std::string text;  // what was read and may hold the beginning of an identity
    std::vector<char> chunk(kChunk);
    while (file_) {
      file_.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
      text.append(chunk.data(), static_cast<size_t>(file_.gcount()));
      for (size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
        const size_t end = text.find('\0', at);
        if (end == std::string::npos && file_) {
          text.erase(0, at);
          break;
        }
        if (end != std::string::npos && end - at <= kMostIdentity) return text.substr(at, end - at);
      }
      if (text.size() > kChunk) text.erase(0, text.size() - kMostIdentity);
    }
    return {};
  }

 private:
  static constexpr size_t kChunk = size_t{1} << 16;
  std::ifstream file_;
};

std::vector<std::string_view> PartsOf(std::string_view identity) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin < identity.size();) {
    const size_t end = std::min(identity.find('|', begin), identity.size());
    parts.push_back(identity.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Why a plugin of this identity does not fit; empty if it does.
std::string WhyForeign(std::string_view identity) {
  if (identity == kIdentity) return {};
  const std::vector<std::string_view> theirs = PartsOf(identity), ours = PartsOf(kIdentity);
  if (theirs.size() < 3 || theirs[1] != ours[1] || theirs[2] != ours[2]) {
    return fmt::format(
        "the plugin is for {} with {}, and this is {} with {} (expected a plugin that was built "
        "with the headers of this version)",
        ShownText(theirs.size() < 3 ? "another Tenon" : theirs[2]), ShownText(theirs[1]), ours[2],
        ours[1]);
  }
  const auto [their, our] = std::mismatch(theirs.begin(), theirs.end(), ours.begin(), ours.end());
  return fmt::format(
      "the plugin was built with {}, and this {} with {} (expected the same headers, compiler and "
      "libraries)",
      ShownText(their == theirs.end() ? "less" : *their), ours[2],
      our == ours.end() ? "less" : *our);
}

// Of libtenon.so in a host that does not show its symbols to other libraries, such as Python.
void ShowOwnSymbols() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&LoadPlugin), &info) == 0 || info.dli_fname == nullptr)
    return;
  // In a program, which is no library, nothing is to be done, and this fails.
  dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kMostName &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.';
         });
}

// Calls a function of a plugin, which may throw.
template <typename Function>
absl::Status Call(Function&& function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  } catch (const std::exception& error) {
    return absl::InternalError(fmt::format("an exception: {}", ShownText(error.what())));
  } catch (...) {
    return absl::InternalError("an exception that is no std::exception");
  }
}

template <typename T>
LoadedPlugin::Part Append(std::vector<T>& to, std::vector<T>&& from) {
  const LoadedPlugin::Part part = {to.size(), from.size()};
  std::move(from.begin(), from.end(), std::back_inserter(to));
  return part;
}

// The library's function, or why there is none.
absl::StatusOr<PluginFunction*> Open(const std::string& file) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(file, error);
  if (error) return absl::NotFoundError(error.message());
  if (!std::filesystem::is_regular_file(path, error))
    return absl::InvalidArgumentError("not a regular file (expected a shared library)");
  IdentityReader reader(path);
  if (!reader.IsLibrary())
    return absl::InvalidArgumentError("not a shared library (expected a plugin of Tenon)");
  const std::string identity = reader.Find();
  constexpr char kNoPlugin[] =
      "not a plugin of Tenon (expected TENON_PLUGIN in one of its sources)";
  if (identity.empty()) return absl::InvalidArgumentError(kNoPlugin);
  if (const std::string why = WhyForeign(identity); !why.empty())
    return absl::FailedPreconditionError(why);
  ShowOwnSymbols();
  // The absolute path: for another name the loader would search. Contexts keep functions of the
  // library as long as they live, so it is never closed.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* const why = dlerror();
    return absl::InvalidArgumentError(fmt::format("the plugin cannot be loaded: {}",
                                                  ShownText(why == nullptr ? "no reason" : why)));
  }
  void* const symbol = dlsym(library, "tenonPlugin");
  if (symbol == nullptr) return absl::InvalidArgumentError(kNoPlugin);
  return reinterpret_cast<PluginFunction*>(symbol);
}

absl::Status AddPlugin(const std::string& file, Extension& extension) {
  TENON_ASSIGN_OR_RETURN(PluginFunction* const function, Open(file));
  const PluginInfo* info = nullptr;
  TENON_RETURN_IF_ERROR(Call([&] {
    info = function();
    return absl::OkStatus();
  }));
  if (info == nullptr || info->identity == nullptr || kIdentity != info->identity ||
      info->name == nullptr || info->add == nullptr)
    return absl::InvalidArgumentError("its function tenonPlugin returns no plugin");
  LoadedPlugin plugin;
  plugin.name = info->name;
  plugin.file = file;
  if (!IsName(plugin.name)) {
    return absl::InvalidArgumentError(
        fmt::format("the plugin is named '{}' (expected letters, digits, '_', '-' and '.')",
                    ShownText(plugin.name)));
  }
  for (const LoadedPlugin& other : extension.plugins) {
    if (other.name != plugin.name) continue;
    return absl::AlreadyExistsError(
        fmt::format("there is a plugin '{}' already, in {}", plugin.name, other.file));
  }
  Extension added;
  if (const absl::Status status = Call([&] { return info->add(added); }); !status.ok()) {
    return absl::Status(status.code(),
                        fmt::format("plugin '{}': {}", plugin.name, std::string(status.message())));
  }
  if (!added.plugins.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("plugin '{}': it loads other plugins (expected the host to)", plugin.name));
  }
  plugin.dialects = Append(extension.dialects, std::move(added.dialects));
  plugin.op_files = Append(extension.op_files, std::move(added.op_files));
  Append(extension.op_texts, std::move(added.op_texts));
  plugin.kernels = Append(extension.kernels, std::move(added.kernels));
  plugin.rules = Append(extension.rules, std::move(added.rules));
  plugin.passes = Append(extension.passes, std::move(added.passes));
  extension.plugins.push_back(std::move(plugin));
  return absl::OkStatus();
}

}  // namespace

absl::Status LoadPlugin(const std::string& file, Extension& extension) {
  const absl::Status status = AddPlugin(file, extension);
  if (status.ok()) return status;
  return absl::Status(status.code(), fmt::format("{}: {}", file, std::string(status.message())));
}

}  // namespace tenon
