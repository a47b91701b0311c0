// The page of a view: its style and elements.
#include "frontends/view/html_page.h"
#include "frontends/view/page_script.h"
#include "frontends/view/view.h"

namespace tenon::view {
namespace {

// Colors of Okabe and Ito, which color-blind people tell apart. Each has a sign too.
constexpr std::string_view kPageStyle = R"css(:root {
  --text: #1f2328; --muted: #57606a; --paper: #ffffff; --box: #f6f8fa; --edge: #818b98; --group: #8181810d; --frame: #b6bec8;
  --kept: #818b98; --fused: #d55e00; --rewritten: #0072b2; --folded: #8a7a00; --removed: #a3407c; --new: #008a63;
  --chosen: #0b57d0; --linked: #b3009b; --found: #1a7f37; --near: #9a6700; --time: #d55e00;
}
@media (prefers-color-scheme: dark) { :root {
  --text: #f0f6fc; --muted: #9da7b3; --paper: #0d1117; --box: #1c2128; --edge: #7d8590; --group: #ffffff0a; --frame: #4a525c;
  --kept: #8b949e; --fused: #ff8c42; --rewritten: #56b4e9; --folded: #f0e442; --removed: #e69ac8; --new: #2fd6a5;
  --chosen: #79b8ff; --linked: #ff8be8; --found: #56d364; --near: #e3b341; --time: #ff8c42;
} }
body { color: var(--text); background: var(--paper); }
#view { flex: 1; display: flex; flex-direction: column; min-width: 0; }
#panes { flex: 1; display: flex; min-height: 0; }
#panes section { flex: 1; display: flex; flex-direction: column; min-width: 0; border-right: 1px solid var(--line); }
#panes section[hidden] { display: none; }
#panes h2 { display: flex; gap: .6em; align-items: center; padding: .25em .6em; border-bottom: 1px solid var(--line); }
#panes h2 span { flex: 1; font-weight: normal; color: var(--muted); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
canvas { flex: 1; width: 100%; min-height: 0; display: block; touch-action: none; cursor: grab; }
canvas:focus-visible { outline: 2px solid var(--chosen); outline-offset: -2px; }
#details { width: 24em; max-width: 36%; overflow: auto; padding: .5em .8em; overflow-wrap: anywhere; }
#details h1 { margin: 0; font-size: 1.15em; }
#details pre { margin: 0; white-space: pre-wrap; font: 12px/1.4 monospace; }
#details dd > div { margin: 0 0 .15em; }
#details p { margin: .4em 0; }
a { color: var(--chosen); cursor: pointer; text-decoration: underline; }
button { font: inherit; }
#legend { display: flex; flex-wrap: wrap; gap: .2em 1em; align-items: center; padding: .3em .8em; border-top: 1px solid var(--line); font-size: 12px; }
#legend button { display: flex; gap: .4em; align-items: center; padding: 0 .3em; border: 1px solid transparent; background: none; color: inherit; cursor: pointer; }
#legend i { display: inline-block; min-width: 1.5em; height: 1.4em; border: 2px solid; border-left-width: 6px; font: bold 11px/1.2em sans-serif; text-align: center; }
#help { color: var(--muted); margin-left: auto; }
)css";

constexpr std::string_view kPageBody = R"html(<header>
<b id="input"></b>
<input id="filter" type="search" placeholder="Search: operation, node, rule, fate:fused, near-miss" aria-label="Search">
<span id="count" role="status"></span>
<button id="previous" title="p">Previous</button>
<button id="next" title="n">Next</button>
<select id="shown" aria-label="Programs to show"><option value="both">Both</option><option value="0">Before</option><option value="1">After</option></select>
</header>
<main>
<div id="view">
<div id="panes"></div>
<div id="legend"></div>
</div>
<aside id="details" aria-live="polite" aria-label="Details"></aside>
</main>
)html";

}  // namespace

std::string_view FateName(Fate fate) {
  switch (fate) {
    case Fate::kKept:
      return "kept";
    case Fate::kFused:
      return "fused";
    case Fate::kRewritten:
      return "rewritten";
    case Fate::kFolded:
      return "folded";
    case Fate::kRemoved:
      return "removed";
    case Fate::kNew:
      return "new";
  }
  return "";
}

std::string_view FateSign(Fate fate) {
  switch (fate) {
    case Fate::kKept:
      return "";
    case Fate::kFused:
      return "◆";
    case Fate::kRewritten:
      return "≈";
    case Fate::kFolded:
      return "=";
    case Fate::kRemoved:
      return "×";
    case Fate::kNew:
      return "+";
  }
  return "";
}

std::string ViewPage(const Comparison& comparison) {
  return WriteHtmlPage({.title = "Program",
                        .style = kPageStyle,
                        .body = kPageBody,
                        .data_id = "program",
                        .script = PageScript()},
                       PageData(comparison));
}

}  // namespace tenon::view
