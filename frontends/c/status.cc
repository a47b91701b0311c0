#include "frontends/c/status.h"

#include <new>

#include "frontends/c/convert.h"
#include "frontends/cpp/version.h"

struct TenonStatus {
  absl::Status status;
  std::string location;
  bool is_static = false;  // belongs to the process
};

namespace tenon::c {
namespace {

// The answer where there is no memory for another one.
TenonStatus* NoMemory() {
  static TenonStatus* const status = new TenonStatus{
      absl::ResourceExhaustedError("the process is out of memory"), "", /*is_static=*/true};
  return status;
}

// The place at the beginning of a message about the text `name`, with a line and perhaps a column;
// empty if it has none.
std::string_view PlaceInText(std::string_view message, std::string_view name) {
  if (name.empty() || !message.starts_with(name)) return {};
  size_t end = name.size();
  for (int part = 0; part < 2 && end < message.size() && message[end] == ':'; ++part) {
    const size_t digits = message.find_first_not_of("0123456789", end + 1);
    if (digits == std::string_view::npos || digits == end + 1) break;
    end = digits;
  }
  return end == name.size() ? std::string_view() : message.substr(0, end);
}

}  // namespace

TenonStatus* ToC(const absl::Status& status, std::string_view location) {
  if (status.ok()) return nullptr;
  TenonStatus* const spare = NoMemory();
  try {
    return new TenonStatus{status, std::string(location)};
  } catch (const std::bad_alloc&) {
    return spare;
  }
}

TenonStatus* WithPlaceInText(TenonStatus* status, std::string_view name) {
  if (status == nullptr || status->is_static || !status->location.empty()) return status;
  Guarded("placing an error", [&] {
    const absl::string_view message = status->status.message();
    status->location = PlaceInText({message.data(), message.size()}, name);
    return absl::OkStatus();
  }).IgnoreError();
  return status;  // without its place, if there is no memory for it
}

absl::Status ReadTexts(const TenonString* texts, size_t count, std::string_view what,
                       std::vector<std::string>& out) {
  if (count > 0) TENON_RETURN_IF_ERROR(NotNull(texts, what));
  for (size_t i = 0; i < count; ++i) {
    std::string_view text;
    TENON_RETURN_IF_ERROR(ReadText(texts[i], what, text));
    out.emplace_back(text);
  }
  return absl::OkStatus();
}

absl::Status TakeStatus(TenonStatus* status) {
  if (status == nullptr) return absl::OkStatus();
  absl::Status taken = status->status;
  tenonStatusDestroy(status);
  return taken;
}

}  // namespace tenon::c

int tenonCApiMajor(void) { return TENON_C_API_MAJOR; }
int tenonCApiMinor(void) { return TENON_C_API_MINOR; }
const char* tenonVersion(void) { return TENON_VERSION; }

TenonStatusCode tenonStatusCode(const TenonStatus* status) {
  if (status == nullptr) return TENON_OK;
  return static_cast<TenonStatusCode>(status->status.code());
}

TenonString tenonStatusMessage(const TenonStatus* status) {
  if (status == nullptr) return {nullptr, 0};
  return {status->status.message().data(), status->status.message().size()};
}

TenonString tenonStatusLocation(const TenonStatus* status) {
  return status == nullptr ? TenonString{nullptr, 0} : tenon::c::ToC(status->location);
}

TenonStatus* tenonStatusCreate(TenonStatusCode code, TenonString message) {
  const auto known =
      static_cast<absl::StatusCode>(code == TENON_OK ? int32_t{TENON_UNKNOWN} : code);
  TenonStatus* made = nullptr;
  const absl::Status status = tenon::c::Guarded("making an error", [&] {
    made = tenon::c::ToC(absl::Status(known, std::string(tenon::c::FromC(message))));
    return absl::OkStatus();
  });
  return status.ok() ? made : tenon::c::ToC(status);
}

void tenonStatusDestroy(TenonStatus* status) {
  if (status != nullptr && !status->is_static) delete status;
}
