// The script of the page that ViewPage returns.
#ifndef TENON_FRONTENDS_VIEW_PAGE_SCRIPT_H_
#define TENON_FRONTENDS_VIEW_PAGE_SCRIPT_H_

#include <string>
#include <string_view>

namespace tenon::view {

// Places boxes for the groups that are open, and draws the visible ones.
std::string_view DrawScript();
// Search, keys, the pointer, and details.
std::string_view ActScript();
// Returns both, in this order.
std::string PageScript();

}  // namespace tenon::view

#endif  // TENON_FRONTENDS_VIEW_PAGE_SCRIPT_H_
