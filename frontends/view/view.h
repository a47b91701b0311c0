// Pictures of programs: ir-opt --view.
#ifndef TENON_FRONTENDS_VIEW_VIEW_H_
#define TENON_FRONTENDS_VIEW_VIEW_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "frontends/view/comparison.h"

namespace tenon::view {

// Operations and arguments of both programs in a picture without a script, at most.
inline constexpr size_t kMaxStillOps = 2000;

// Returns one HTML page that needs no other file. It shows both programs side by side, with groups
// that open and close.
std::string ViewPage(const Comparison& comparison);
// Returns a picture with all groups open. InvalidArgument, with the limit, for more than
// kMaxStillOps operations.
absl::StatusOr<std::string> ViewSvg(const Comparison& comparison);
// Returns text for Graphviz, with a cluster for each group. Errors are those of ViewSvg.
absl::StatusOr<std::string> ViewDot(const Comparison& comparison);

// InvalidArgument if the programs have more than kMaxStillOps operations. `format` is how the
// message calls the picture.
absl::Status CheckStillSize(const Comparison& comparison, std::string_view format);
// A word for a fate, such as "fused". Pages and pictures have a class of this name.
std::string_view FateName(Fate fate);
// A sign that tells the fate without its color; empty for kKept.
std::string_view FateSign(Fate fate);

// Returns the data of a page as JSON.
std::string PageData(const Comparison& comparison);

}  // namespace tenon::view

#endif  // TENON_FRONTENDS_VIEW_VIEW_H_
