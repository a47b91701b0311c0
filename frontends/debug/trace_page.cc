// The page of a trace: its data as JSON, and a script that shows it.
#include "frontends/debug/trace.h"
#include "frontends/view/html_page.h"

namespace tenon {
namespace {

constexpr std::string_view kTraceStyle = R"css(:root { --old: #d333; --new: #2a33; }
#list { width: 34%; min-width: 16em; margin: 0; padding: 0; overflow: auto; list-style: none; border-right: 1px solid var(--line); }
#list li { padding: .25em .8em; border-bottom: 1px solid var(--line); cursor: pointer; overflow-wrap: anywhere; }
#list li[aria-selected=true] { background: var(--mark); }
#list small { display: block; opacity: .75; }
#step { flex: 1; display: flex; flex-direction: column; min-width: 0; overflow: auto; padding: .6em .8em; }
#step h1 { margin: 0; font-size: 1.2em; overflow-wrap: anywhere; }
#panes { flex: 1; display: grid; grid-template-columns: 1fr 1fr; gap: .8em; min-height: 12em; }
#panes section { display: flex; flex-direction: column; min-width: 0; }
pre { flex: 1; margin: .2em 0; padding: .4em; border: 1px solid var(--line); overflow: auto; font: 12px/1.45 monospace; }
.old { background: var(--old); }
.new { background: var(--new); }
)css";

constexpr std::string_view kTraceBody = R"html(<header>
<b id="input"></b>
<input id="filter" type="search" placeholder="Filter: rule, pass, node, operation" aria-label="Filter">
<span id="count"></span>
<button id="previous" title="k or up">Previous</button>
<button id="next" title="j or down">Next</button>
</header>
<main>
<ul id="list" role="listbox" aria-label="Steps"></ul>
<div id="step">
<h1 id="title"></h1>
<dl id="facts"></dl>
<div id="panes">
<section><h2>Before</h2><pre id="before"></pre></section>
<section><h2>After</h2><pre id="after"></pre></section>
</div>
</div>
</main>
)html";

// Texts of the trace reach the page as text nodes alone, never as markup.
constexpr std::string_view kTraceScript = R"js(const trace = data;
let shown = [], current = -1;

const summary = s => s.nodes.length ? s.nodes[0] : '@' + s.function;
const words = s => [s.step, s.kind, s.name, s.place, s.pass, s.function, ...s.nodes, s.before, s.after]
  .join('\n').toLowerCase();
const texts = trace.steps.map(words);

function fill(pre, text, other, mark) {
  pre.replaceChildren();
  const there = new Set(other.split('\n'));
  for (const line of text.split('\n')) {
    const span = make('span', line + '\n');
    if (line && !there.has(line)) span.className = mark;
    pre.append(span);
  }
}

function show(index) {
  current = index;
  const s = trace.steps[index];
  for (const row of at('list').children)
    row.setAttribute('aria-selected', Number(row.dataset.index) === index);
  const row = at('list').querySelector('[aria-selected=true]');
  if (row) row.scrollIntoView({block: 'nearest'});
  at('title').textContent = s ? `Step ${s.step}: ${s.kind === 'fold' ? 'fold' : s.kind + ' ' + s.name}` : 'No step';
  at('facts').replaceChildren();
  if (s) {
    const fact = (name, value) => { if (value) at('facts').append(make('dt', name), make('dd', value)); };
    fact('pass', s.pass);
    fact('function', '@' + s.function);
    fact('nodes', s.nodes.join(', '));
    fact('made', s.made.map(m => m.op + (m.from.length ? ' from ' + m.from.join(', ') : '')).join('; '));
    fact('rule defined in', s.place);
    history.replaceState(null, '', '#' + s.step);
  }
  fill(at('before'), s ? s.before : '', s ? s.after : '', 'old');
  fill(at('after'), s ? s.after : '', s ? s.before : '', 'new');
}

function refresh() {
  const parts = at('filter').value.toLowerCase().split(/\s+/).filter(p => p);
  shown = trace.steps.map((_, i) => i).filter(i => parts.every(p => texts[i].includes(p)));
  at('list').replaceChildren(...shown.map(i => {
    const s = trace.steps[i], row = make('li', `${s.step}. ${s.name}`);
    row.dataset.index = i;
    row.setAttribute('role', 'option');
    row.append(make('small', summary(s)));
    row.onclick = () => show(i);
    return row;
  }));
  at('count').textContent = `${shown.length} of ${trace.steps.length} steps`;
  show(shown.includes(current) ? current : shown.length ? shown[0] : -1);
}

function move(by) {
  const place = shown.indexOf(current) + by;
  if (place >= 0 && place < shown.length) show(shown[place]);
}

at('input').textContent = trace.input;
document.title = 'Rewrite trace of ' + trace.input;
at('filter').oninput = refresh;
at('previous').onclick = () => move(-1);
at('next').onclick = () => move(1);
document.addEventListener('keydown', event => {
  const typing = document.activeElement === at('filter');
  if (event.key === 'Escape') { at('filter').blur(); return; }
  if (event.key === '/' && !typing) { at('filter').focus(); event.preventDefault(); return; }
  const by = {ArrowDown: 1, ArrowUp: -1, ...(typing ? {} : {j: 1, k: -1, n: 1, p: -1})}[event.key];
  if (by && !event.ctrlKey && !event.metaKey && !event.altKey) { move(by); event.preventDefault(); }
});
const wanted = trace.steps.findIndex(s => '#' + s.step === location.hash);
if (wanted >= 0) current = wanted;
refresh();
)js";

}  // namespace

std::string TracePage(const Trace& trace) {
  return WriteHtmlPage({.title = "Rewrite trace",
                        .style = kTraceStyle,
                        .body = kTraceBody,
                        .data_id = "trace",
                        .script = kTraceScript},
                       TraceJson(trace));
}

}  // namespace tenon
