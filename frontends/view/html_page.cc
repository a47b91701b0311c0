#include "frontends/view/html_page.h"

#include "fmt/format.h"

namespace tenon {
namespace {

constexpr std::string_view kStart = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>)html";

constexpr std::string_view kStyle = R"css(</title>
<style>
:root { color-scheme: light dark; --line: #8884; --mark: #48f3; }
* { box-sizing: border-box; }
body { margin: 0; height: 100vh; display: flex; flex-direction: column; font: 14px/1.4 sans-serif; }
header { display: flex; gap: .8em; align-items: center; padding: .5em .8em; border-bottom: 1px solid var(--line); }
header b { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
#filter { flex: 1; min-width: 8em; padding: .3em; font: inherit; }
main { flex: 1; display: flex; min-height: 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1em .8em; margin: .5em 0; }
dt { opacity: .75; }
dd { margin: 0; overflow-wrap: anywhere; }
h2 { margin: 0; font-size: 1em; }
noscript p { margin: 0; padding: .8em; font-weight: bold; }
)css";

constexpr std::string_view kBody = R"html(</style>
</head>
<body>
<noscript><p>This page needs JavaScript to show its contents.</p></noscript>
)html";

constexpr std::string_view kScript = R"js(</script>
<script>
'use strict';
const at = id => document.getElementById(id);
const make = (tag, text) => { const e = document.createElement(tag); e.textContent = text; return e; };
)js";

}  // namespace

std::string WriteHtmlPage(const HtmlPage& page, std::string_view json) {
  std::string text;
  text.append(kStart).append(page.title).append(kStyle).append(page.style).append(kBody);
  text.append(page.body);
  text += fmt::format("<script type=\"application/json\" id=\"{}\">", page.data_id);
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  text.append(kScript);
  text += fmt::format("const data = JSON.parse(at('{}').textContent);\n", page.data_id);
  return text.append(page.script).append("</script>\n</body>\n</html>\n");
}

}  // namespace tenon
