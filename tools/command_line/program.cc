#include "tools/command_line/program.h"

#include <cstdio>
#include <new>
#include <stdexcept>

#include "fmt/format.h"
#include "ir/core/write_file.h"

namespace tenon::tools {

int RunMain(std::string_view program, int argc, char** argv,
            int (*main)(const std::vector<std::string>& arguments)) {
  const auto out_of_memory = [&] {
    fmt::print(stderr, "{}: out of memory where nothing expected it\n", program);
    return kBadInput;
  };
  try {
    return main(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::length_error&) {
    return out_of_memory();
  }
}

void PrintText(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int Fail(std::string_view program, const absl::Status& status,
         const std::vector<std::string>& errors) {
  const std::string message(status.message());
  // Without the place, which diagnostics write in their own way.
  const size_t place = message.rfind(": ");
  const std::string core = message.substr(place == std::string::npos ? 0 : place);
  bool said = false;
  for (const std::string& error : errors) {
    fmt::print(stderr, "{}\n", error);
    said |= error.find(core) != std::string::npos;
  }
  if (!said) fmt::print(stderr, "{}: {}\n", program, message);
  return absl::IsUnimplemented(status) ? kUnsupported
         : absl::IsUnavailable(status) ? kNotThere
                                       : kBadInput;
}

absl::Status CheckReportFile(const std::string& file) {
  return file.empty() || file == "-" ? absl::OkStatus() : CheckWritable(file);
}

absl::Status PrintReport(std::string_view text, std::string_view json,
                         const std::string& json_file) {
  PrintText(json_file == "-" ? json : text);
  if (json_file.empty() || json_file == "-") return absl::OkStatus();
  return WriteFile(json_file, json);
}

}  // namespace tenon::tools
