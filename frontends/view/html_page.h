// HTML pages that need no other file: data as JSON, and a script that shows it.
#ifndef TENON_FRONTENDS_VIEW_HTML_PAGE_H_
#define TENON_FRONTENDS_VIEW_HTML_PAGE_H_

#include <string>
#include <string_view>

namespace tenon {

// The parts of a page that its author writes. None of them comes from a model.
struct HtmlPage {
  std::string_view title;    // of the window, until the script sets another
  std::string_view style;    // CSS, after that of all pages
  std::string_view body;     // HTML without scripts
  std::string_view data_id;  // the element that holds the data
  // Runs when the page is there. It finds the data in `data`, an element by `at(id)`, and makes one
  // by `make(tag, text)`. It must show texts of the data as text, never as markup.
  std::string_view script;
};

// Returns the page with `json` as its data. Nothing in the data can end the element that holds it.
// A browser that runs no scripts shows a message.
std::string WriteHtmlPage(const HtmlPage& page, std::string_view json);

}  // namespace tenon

#endif  // TENON_FRONTENDS_VIEW_HTML_PAGE_H_
