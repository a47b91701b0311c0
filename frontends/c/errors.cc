#include "frontends/c/errors.h"

#include "ir/core/context/diagnostic.h"

namespace tenon::c {

ErrorPlaces::ErrorPlaces(Context& context)
    : diagnostics_(context, [this, &context](const Diagnostic& diagnostic) {
        if (diagnostic.severity == Severity::kError && noted_.size() < kMost) {
          std::string place = DescribeLocation(context, diagnostic.location);
          if (!place.empty()) noted_.push_back({std::move(place), diagnostic.message});
        }
        diagnostics_.EmitOutside(diagnostic);
      }) {}

std::string_view ErrorPlaces::PlaceOf(const absl::Status& status) const {
  const std::string_view message(status.message().data(), status.message().size());
  for (const Noted& noted : noted_) {
    if (!status.ok() && message.ends_with(noted.text)) return noted.place;
  }
  return {};
}

}  // namespace tenon::c
