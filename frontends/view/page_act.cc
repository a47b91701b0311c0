// The part of the page's script that reacts: search, keys, the pointer, details.
#include "frontends/view/page_script.h"

namespace tenon::view {
namespace {

constexpr std::string_view kAct = R"js(let chosen = null;     // {side, kind, index}
let linked = [];       // by program: ops on the other side that the chosen op comes from, or became
let found = [], place = -1;  // [side, op] of the search
let foundOps = [];     // by program: a set
const sides = [];
const name = p => p === 0 && data.programs.length > 1 ? 'Before' : p === 1 ? 'After' : 'Program';

// Does the chosen op make or use the value?
function lit(side, value) {
  if (!chosen || chosen.side !== side || chosen.kind !== OP) return false;
  return side.p.values.op[value] === chosen.index || chosen.values.has(value);
}

// How a box stands out. A closed group stands for what it holds.
function stateOf(side, kind, index) {
  const p = side.index, is = chosen && chosen.side === side;
  if (kind === OP) return {chosen: is && chosen.kind === OP && chosen.index === index, linked: linked[p] && linked[p].has(index), found: foundOps[p] && foundOps[p].has(index)};
  const open = side.open.has(index), own = side.p.groups[index].op;
  const holds = set => set && (own >= 0 && set.has(own) || !open && set.groups.has(index));
  return {chosen: is && (chosen.kind === GROUP && chosen.index === index || chosen.kind === OP && own >= 0 && chosen.index === own),
          linked: holds(linked[p]), found: holds(foundOps[p])};
}

// A set of ops that knows the groups around them.
function opSet(side, ops) {
  const set = new Set(ops);
  set.groups = new Set();
  for (const op of set) for (const g of side.around(OP, op)) set.groups.add(g);
  return set;
}

function drawAll() { for (const side of sides) if (!side.pane.hidden) side.draw(); }

// ---- what belongs together

const byNode = data.programs.map(p => {
  const map = new Map();
  p.ops.from.forEach((nodes, op) => { for (const node of nodes) if (!map.has(node)) map.set(node, [op]); else map.get(node).push(op); });
  return map;
});
function partners(p, op) {
  const other = 1 - p;
  if (!data.programs[other]) return [];
  const ops = new Set();
  for (const node of data.programs[p].ops.from[op]) for (const o of byNode[other].get(node) || []) ops.add(o);
  const fate = FATES[data.programs[p].ops.fate[op]][0], names = data.programs[other].ops.name;
  const all = [...ops].sort((a, b) => a - b);
  const same = all.filter(o => names[o] === data.programs[p].ops.name[op]);
  return fate === 'kept' && same.length ? same : all;
}
const users = data.programs.map(p => {
  const list = p.values.op.map(() => []);
  p.ops.inputs.forEach((inputs, op) => { for (let i = 0; i < inputs.length; i += 3) if (inputs[i] >= 0) list[inputs[i]].push(op); });
  return list;
});

function choose(side, kind, index, reveal) {
  if (kind === GROUP && side.p.groups[index].op >= 0) { kind = OP; index = side.p.groups[index].op; }
  chosen = {side, kind, index, values: new Set()};
  linked = [];
  if (kind === OP) {
    const inputs = side.p.ops.inputs[index];
    for (let i = 0; i < inputs.length; i += 3) if (inputs[i] >= 0) chosen.values.add(inputs[i]);
    const other = sides[1 - side.index];
    if (other) {
      const ops = partners(side.index, index);
      linked[other.index] = opSet(other, ops);
      if (ops.length && ops.length <= 64) {
        for (const op of ops) for (const g of other.around(OP, op)) other.open.add(g);
        other.place();
        other.goTo(other.find(OP, ops[0]));
      }
    }
  }
  if (reveal) side.show(kind, index);
  describe();
  drawAll();
}

function clear() { chosen = null; linked = []; describe(); drawAll(); }

function toggle(side, group) {
  if (group === 0) return;
  const before = side.find(GROUP, group), old = [before.x + before.w / 2, before.y];
  if (!side.open.delete(group)) side.open.add(group);
  side.place();
  const now = side.find(GROUP, group);
  side.x += now.x + now.w / 2 - old[0];
  side.y += now.y - old[1];
  drawAll();
}

// ---- details; texts of the model are text nodes

function linkTo(side, op) {
  const ops = side.p.ops, label = S[ops.label[op]];
  const a = make('a', S[ops.name[op]] + (label ? ' ' + label : ''));
  a.tabIndex = 0;
  a.setAttribute('role', 'button');
  a.onclick = () => choose(side, OP, op, true);
  a.onkeydown = event => { if (event.key === 'Enter') { choose(side, OP, op, true); event.stopPropagation(); } };
  return a;
}

function describe() {
  const box = at('details');
  box.replaceChildren();
  if (!chosen) {
    box.append(make('h1', data.input), make('p', data.pipeline ? 'Passes: ' + data.pipeline : 'No passes'));
    for (const side of sides) box.append(make('p', `${name(side.index)}: ${side.p.ops.name.length} operations and inputs, ${side.p.values.op.length} values`));
    if (data.all_ms > 0) box.append(make('p', `Profile: ${data.shown_ms.toFixed(3)} of ${data.all_ms.toFixed(3)} ms are times of operations that are shown`));
    box.append(make('p', 'Choose an operation to see its types, its origins and the rule that made it.'));
    return;
  }
  const {side, kind, index} = chosen, p = side.p;
  const facts = document.createElement('dl');
  const fact = (title, ...values) => {
    const dd = document.createElement('dd');
    for (const value of values) { const div = document.createElement('div'); div.append(...[value].flat()); dd.append(div); }
    if (values.length) facts.append(make('dt', title), dd);
  };
  const path = side.around(kind, index).map(g => S[p.groups[g].label]).join(' / ');
  if (kind === GROUP) {
    box.append(make('h1', S[p.groups[index].label]), facts);
    fact('in', path || name(side.index));
    fact('operations', String(side.count[index]));
    if (side.ms[index] > 0) fact('time', side.ms[index].toFixed(6) + ' ms');
    const button = make('button', side.open.has(index) ? 'Close' : 'Open');
    button.onclick = () => { toggle(side, index); describe(); };
    if (index > 0) box.append(button);
    return;
  }
  const ops = p.ops, fate = FATES[ops.fate[index]];
  box.append(make('h1', S[ops.name[index]]), facts);
  fact('program', name(side.index));
  if (S[ops.label[index]]) fact('label', S[ops.label[index]]);
  fact('in', path);
  if (data.programs.length > 1) fact('fate', `${fate[1]} ${fate[0]}`.trim());
  if (S[ops.rule[index]]) fact('made by', 'rule ' + S[ops.rule[index]], S[ops.place[index]], 'in pass ' + S[ops.pass[index]]);
  if (ops.ms[index] >= 0) fact('time', ops.ms[index].toFixed(6) + ' ms');
  const inputs = [];
  for (let i = 0; i < ops.inputs[index].length; i += 3) {
    const [value, title, constant] = ops.inputs[index].slice(i, i + 3), head = S[title] ? S[title] + ': ' : '';
    inputs.push(value < 0 ? [head + S[constant]] : [head + S[p.values.type[value]] + ' from ', linkTo(side, p.values.op[value])]);
  }
  fact('inputs', ...inputs);
  fact('results', ...ops.results[index].map(value => {
    const list = users[side.index][value], shown = list.slice(0, 50).flatMap((op, k) => [k ? ', ' : ' to ', linkTo(side, op)]);
    return [S[p.values.type[value]], ...shown, list.length > 50 ? ` and ${list.length - 50} more` : ''];
  }));
  if (S[ops.attributes[index]]) fact('attributes', make('pre', S[ops.attributes[index]]));
  fact('nodes', ...ops.from[index].map(node => S[node]));
  const other = sides[1 - side.index];
  if (other) fact(side.index ? 'comes from' : 'became', ...partners(side.index, index).slice(0, 100).map(op => linkTo(other, op)));
  for (const number of ops.misses[index]) {
    const miss = data.misses[number];
    const stops = list => list.map(([node, reason]) => `${S[reason]} (${S[node]})`);
    fact('near miss', `rule ${S[miss.rule]}: ${miss.matched} of ${miss.wanted} operations match`, ...stops(miss.stops),
         ...stops(miss.or).map(text => 'or: ' + text));
  }
}

// ---- search

const words = data.programs.map(p => p.ops.name.map((title, op) => {
  const rules = p.ops.misses[op].map(m => 'near-miss ' + S[data.misses[m].rule]);
  return [S[title], S[p.ops.label[op]], ...p.ops.from[op].map(n => S[n]), S[p.ops.rule[op]], 'fate:' + FATES[p.ops.fate[op]][0], ...rules]
    .join('\n').toLowerCase();
}));
function search() {
  const parts = at('filter').value.toLowerCase().split(/\s+/).filter(part => part);
  found = []; place = -1; foundOps = [];
  for (const side of sides) {
    const ops = [];
    words[side.index].forEach((text, op) => { if (parts.every(part => text.includes(part))) ops.push(op); });
    for (const op of ops) found.push([side, op]);
    if (parts.length) foundOps[side.index] = opSet(side, ops);
  }
  tell();
  drawAll();
}
function tell() { at('count').textContent = place < 0 ? `${found.length} operations` : `${place + 1} of ${found.length}`; }
function move(by) {
  if (!found.length) return;
  place = place < 0 ? (by > 0 ? 0 : found.length - 1) : (place + by + found.length) % found.length;
  tell();
  const [side, op] = found[place];
  if (side.pane.hidden) showPrograms('both');
  choose(side, OP, op, true);
}

// ---- the window

function showPrograms(which) {
  at('shown').value = which;
  for (const side of sides) side.pane.hidden = which !== 'both' && String(side.index) !== which;
  drawAll();
}

data.programs.forEach((program, index) => {
  const pane = document.createElement('section'), title = make('h2', name(index)), note = make('span', '');
  const button = (text, label, act) => { const b = make('button', text); b.title = label; b.setAttribute('aria-label', label); b.onclick = act; return b; };
  const canvas = document.createElement('canvas');
  canvas.tabIndex = 0;
  canvas.setAttribute('role', 'application');
  canvas.setAttribute('aria-label', `${name(index)}: arrow keys move, plus and minus zoom, 0 fits, n and p choose operations`);
  pane.append(title, canvas);
  at('panes').append(pane);
  readColors();
  const side = new Side(program, index, pane);
  sides.push(side);
  note.textContent = `${program.ops.name.length} operations and inputs`;
  const all = open => () => { side.open = new Set(open ? program.groups.keys() : [0]); side.place(); side.fit(.02); };
  title.append(note, button('Open all', 'Open all groups', all(true)), button('Close all', 'Close all groups', all(false)),
               button('−', 'Zoom out', () => side.zoom(1 / 1.3)), button('+', 'Zoom in', () => side.zoom(1.3)), button('Fit', 'Show the whole program', () => side.fit()));
  let drag = null, moved = false, waiting = false;
  const soon = () => { if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; side.draw(); }); } };
  canvas.onpointerdown = event => { drag = [event.clientX, event.clientY]; moved = false; canvas.setPointerCapture(event.pointerId); };
  canvas.onpointermove = event => {
    if (!drag) return;
    const dx = event.clientX - drag[0], dy = event.clientY - drag[1];
    if (!moved && Math.hypot(dx, dy) < 4) return;
    moved = true;
    side.x -= dx / side.scale; side.y -= dy / side.scale;
    drag = [event.clientX, event.clientY];
    soon();
  };
  canvas.onpointerup = event => {
    const clicked = drag && !moved;
    drag = null;
    if (!clicked) return;
    const hit = side.hit(event.offsetX, event.offsetY);
    if (hit) choose(side, hit.kind, hit.index, false); else clear();
  };
  canvas.ondblclick = event => {
    const hit = side.hit(event.offsetX, event.offsetY);
    if (hit && hit.kind === GROUP) toggle(side, hit.index);
  };
  canvas.addEventListener('wheel', event => {
    event.preventDefault();
    if (event.ctrlKey || event.metaKey) { side.zoom(Math.exp(-event.deltaY / 200), event.offsetX, event.offsetY); return; }
    side.x += event.deltaX / side.scale; side.y += event.deltaY / side.scale;
    soon();
  }, {passive: false});
  canvas.onkeydown = event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const by = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
    if (by) { side.x += 60 * by[0] / side.scale; side.y += 60 * by[1] / side.scale; side.draw(); }
    else if (event.key === '+' || event.key === '=') side.zoom(1.3);
    else if (event.key === '-') side.zoom(1 / 1.3);
    else if (event.key === '0') side.fit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
});

const legend = at('legend');
const counts = f => sides.map(s => s.p.ops.fate.filter(x => x === f).length).join(' → ');
const chip = (label, sign, color, query, title) => {
  const button = document.createElement('button'), mark = make('i', sign);
  mark.style.borderColor = `var(--${color})`;
  button.title = title;
  button.append(mark, make('span', label));
  button.onclick = () => { at('filter').value = query; search(); move(1); };
  legend.append(button);
};
const MEANING = {kept: 'in both programs', fused: 'one operation stands for several', rewritten: 'another operation stands for it',
                 folded: 'a constant stands for it', removed: 'nothing stands for it', new: 'stands for no operation of the program before'};
if (sides.length > 1) FATES.forEach(([title, sign], f) => chip(`${title} ${counts(f)}`, sign, title, 'fate:' + title, MEANING[title]));
if (data.misses.length) chip(`near miss ${data.misses.length}`, '!', 'near', 'near-miss', 'a rule nearly matches here');
const help = make('span', '/ search · n p next, previous · Enter open, close · Esc clear · double click opens a group · Ctrl+wheel zooms');
help.id = 'help';
legend.append(help);

at('input').textContent = data.input;
document.title = 'Program ' + data.input;
at('filter').oninput = search;
at('previous').onclick = () => move(-1);
at('next').onclick = () => move(1);
at('shown').hidden = sides.length < 2;
at('shown').onchange = () => showPrograms(at('shown').value);
document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = document.activeElement === at('filter');
  if (event.key === 'Escape') { at('filter').value = ''; at('filter').blur(); search(); clear(); return; }
  if (event.key === '/' && !typing) { at('filter').focus(); event.preventDefault(); return; }
  if (event.key === 'Enter' && typing) { move(event.shiftKey ? -1 : 1); event.preventDefault(); return; }
  if (typing || document.activeElement === at('shown')) return;
  if (event.key === 'Enter' && chosen && document.activeElement.tagName !== 'BUTTON') {
    const {side, kind, index} = chosen;
    const group = kind === GROUP ? index : side.p.ops.inner[index] >= 0 ? side.p.ops.inner[index] : side.p.ops.group[index];
    toggle(side, group);
    if (group > 0 && kind === OP && side.p.ops.inner[index] < 0) { chosen = {side, kind: GROUP, index: group, values: new Set()}; linked = []; describe(); drawAll(); }
    event.preventDefault();
    return;
  }
  const by = {j: 1, k: -1, n: 1, p: -1}[event.key];
  if (by) { move(by); event.preventDefault(); }
});
window.addEventListener('resize', drawAll);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { readColors(); drawAll(); });
search();
describe();
for (const side of sides) side.fit(.55);
)js";

}  // namespace

std::string_view ActScript() { return kAct; }
std::string PageScript() { return std::string(DrawScript()).append(ActScript()); }

}  // namespace tenon::view
