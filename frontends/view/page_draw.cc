// The part of the page's script that draws. Positions across come from the data where all groups
// inside a group are open, or all are closed. What depends on which groups are open is computed
// here: heights of rows, and other positions across.
#include "frontends/view/page_script.h"

namespace tenon::view {
namespace {

constexpr std::string_view kDraw =
    R"js(const S = data.strings, M = data.metrics, FATES = data.fates;
const OP = 0, GROUP = 1, IN = 2, OUT = 3;
const MOST_OPEN = 160;  // boxes that the page shows at first
const colors = {};
function readColors() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['text', 'muted', 'paper', 'box', 'edge', 'group', 'frame', 'chosen', 'linked', 'found', 'near', 'time',
                      ...FATES.map(f => f[0])]) colors[name] = style.getPropertyValue('--' + name).trim();
}
const portOffset = (k, n, width) => n <= 1 ? 0 : ((k + .5) / n - .5) * (width - 12);

class Side {
  constructor(program, index, pane) {
    this.p = program; this.index = index; this.pane = pane;
    this.canvas = pane.querySelector('canvas');
    this.context = this.canvas.getContext('2d');
    this.open = new Set([0]);
    this.scale = 1; this.x = 0; this.y = 0; this.drawn = 0;
    const count = this.count = program.groups.map(() => 0), ms = this.ms = program.groups.map(() => 0);
    this.drawnInputs = program.ops.inputs.map(list => list.reduce((n, value, i) => n + (i % 3 === 0 && value >= 0 ? 1 : 0), 0));
    this.mostMs = program.ops.ms.reduce((a, b) => Math.max(a, b), 0);
    program.ops.group.forEach((group, op) => {
      for (let g = group; g >= 0; g = program.groups[g].parent) { ++count[g]; ms[g] += Math.max(0, program.ops.ms[op]); }
    });
    for (const group of program.groups) {
      group.start = [0];  // where the links of each row begin
      const rowOf = [];
      group.rows.forEach((row, r) => row.forEach(node => { rowOf[node] = r; }));
      let link = 0;
      for (let r = 0; r < group.rows.length; ++r) {
        while (link < group.links.length && rowOf[group.links[link]] === r) link += 4;
        group.start.push(link);
      }
      group.rowOf = rowOf;
      group.groups = group.items.filter((kind, i) => i % 2 === 0 && kind === GROUP).length;
      group.port = new Map();  // items by the value that enters or leaves
      for (let i = 0; i < group.items.length; i += 2)
        if (group.items[i] >= IN) group.port.set(group.items[i + 1], i / 2);
    }
    this.openSome();
    this.place();
  }

  // From the outside in, as long as not too much is open.
  openSome() {
    let boxes = this.p.groups[0].items.length / 2, queue = [0];
    for (let i = 0; i < queue.length; ++i) {
      const items = this.p.groups[queue[i]].items;
      for (let k = 0; k < items.length; k += 2) {
        const group = items[k + 1];
        if (items[k] !== GROUP) continue;
        boxes += this.p.groups[group].items.length / 2;
        if (boxes > MOST_OPEN) return;
        this.open.add(group);
        queue.push(group);
      }
    }
  }

  isPort(group, node) { return node >= group.items.length / 2 || group.items[2 * node] >= IN; }

  place() {
    this.root = this.measure(0);
    this.settle(this.root, 0, 0);
  }

  measure(g) {
    const group = this.p.groups[g], kids = new Map();
    for (let i = 0; i < group.items.length; i += 2)
      if (group.items[i] === GROUP && this.open.has(group.items[i + 1])) kids.set(i / 2, this.measure(group.items[i + 1]));
    let middle = kids.size ? group.open : group.closed, inner = kids.size ? group.open_width : group.closed_width;
    const whole = kids.size === group.groups && [...kids.values()].every(kid => kid.whole);
    if (kids.size && !whole) [middle, inner] = this.spread(group, kids);
    const top = [], height = [];
    let y = M.head + M.pad;
    group.rows.forEach((row, r) => {
      let h = 0;
      for (const node of row) h = Math.max(h, kids.has(node) ? kids.get(node).h : this.isPort(group, node) ? 0 : M.op_height);
      top.push(y); height.push(h);
      y += h;
      if (r + 1 < group.rows.length) y += group.ports[r] || group.ports[r + 1] ? M.port_gap : M.gap;
    });
    const w = Math.max(group.width, inner + 2 * M.pad);
    return {g, group, kids, whole, middle, left: (w - inner) / 2, w, h: y + M.pad, top, height, x: 0, y: 0};
  }

  // Positions across where some groups are open and others are closed: each row in turn moves to the mean of its neighbors,
  // as far as its order and the widths of its boxes let it.
  spread(group, kids) {
    const count = group.items.length / 2, half = [], near = group.rowOf.map(() => [[], []]);
    const offset = (node, value) => {
      const kid = kids.get(node), port = kid && kid.group.port.get(value);
      return port === undefined ? 0 : kid.left + kid.middle[port] - kid.w / 2;
    };
    for (let node = 0; node < near.length; ++node) {
      const kind = node < count ? group.items[2 * node] : IN, index = group.items[2 * node + 1], kid = kids.get(node);
      half.push((kid ? kid.w : kind === OP ? this.p.ops.width[index] : kind === GROUP ? this.p.groups[index].width : node < count ? 8 : 4) / 2);
    }
    for (let i = 0; i < group.links.length; i += 4) {
      const [a, b, value] = group.links.slice(i, i + 3), shift = offset(a, value) - offset(b, value);
      const weight = a >= count && b >= count ? 8 : a >= count || b >= count ? 2 : 1;
      near[b][0].push([a, shift, weight]);
      near[a][1].push([b, -shift, weight]);
    }
    const middle = near.map(() => 0);
    const align = (row, sides) => {
      const clusters = [], place = [];
      row.forEach((node, i) => {
        place.push(i ? place[i - 1] + half[row[i - 1]] + 20 + half[node] : 0);
        let sum = 0, weight = 0;
        for (const side of sides) for (const [other, shift, w] of near[node][side]) { sum += w * (middle[other] + shift); weight += w; }
        if (!weight) { weight = .05; sum = weight * middle[node]; }
        clusters.push({sum: sum - weight * place[i], weight, nodes: 1});
        while (clusters.length > 1) {
          const last = clusters[clusters.length - 1], prior = clusters[clusters.length - 2];
          if (prior.sum / prior.weight <= last.sum / last.weight) break;
          clusters.pop();
          prior.sum += last.sum; prior.weight += last.weight; prior.nodes += last.nodes;
        }
      });
      let i = 0;
      for (const cluster of clusters)
        for (const end = i + cluster.nodes; i < end; ++i) middle[row[i]] = cluster.sum / cluster.weight + place[i];
    };
    for (let round = 0; round < 6; ++round) {
      for (let r = round ? 1 : 0; r < group.rows.length; ++r) align(group.rows[r], [0]);
      for (let r = group.rows.length - 1; r >= 0; --r) align(group.rows[r], round === 5 ? [0, 1] : [1]);
    }
    const left = middle.reduce((least, x, node) => Math.min(least, x - half[node]), Infinity);
    middle.forEach((x, node) => { middle[node] = x - left; });
    return [middle, middle.reduce((most, x, node) => Math.max(most, x + half[node]), 0)];
  }

  settle(m, x, y) {
    m.x = x; m.y = y;
    for (const [i, kid] of m.kids) this.settle(kid, x + m.left + m.middle[i] - kid.w / 2, y + m.top[m.group.rowOf[i]]);
  }

  // The box of an item.
  box(m, i) {
    const kind = m.group.items[2 * i], index = m.group.items[2 * i + 1], kid = m.kids.get(i);
    if (kid) return kid;
    const w = kind === OP ? this.p.ops.width[index] : kind === GROUP ? this.p.groups[index].width : 8;
    return {x: m.x + m.left + m.middle[i] - w / 2, y: m.y + m.top[m.group.rowOf[i]], w, h: kind >= IN ? 0 : M.op_height};
  }

  // Where a value leaves a node, or enters it.
  end(m, node, value, input, leaves) {
    const row = m.group.rowOf[node], x = m.x + m.left + m.middle[node], y = m.y + m.top[row];
    const kindOf = node < m.group.items.length / 2 ? m.group.items[2 * node] : -1;
    if (kindOf === IN) return [x, m.y];  // at the border of the group
    if (kindOf === OUT) return [x, m.y + m.h];
    if (node >= m.group.items.length / 2) return [x, leaves ? y + m.height[row] : y];
    const kind = m.group.items[2 * node], index = m.group.items[2 * node + 1], ops = this.p.ops, kid = m.kids.get(node);
    if (kid) {
      const port = kid.group.port.get(value);
      return [port === undefined ? x : kid.x + kid.left + kid.middle[port], leaves ? kid.y + kid.h : kid.y];
    }
    if (kind !== OP) return [x, leaves && kind === GROUP ? y + M.op_height : y];
    if (leaves) return [x + portOffset(this.p.values.result[value], ops.results[index].length, ops.width[index]), y + M.op_height];
    return [x + portOffset(input, this.drawnInputs[index], ops.width[index]), y];
  }

  draw() {
    const c = this.context, ratio = window.devicePixelRatio || 1;
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    if (this.canvas.width !== Math.round(width * ratio)) this.canvas.width = Math.round(width * ratio);
    if (this.canvas.height !== Math.round(height * ratio)) this.canvas.height = Math.round(height * ratio);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = colors.paper;
    c.fillRect(0, 0, width, height);
    c.setTransform(ratio * this.scale, 0, 0, ratio * this.scale, -this.x * this.scale * ratio, -this.y * this.scale * ratio);
    this.seen = {left: this.x, top: this.y, right: this.x + width / this.scale, bottom: this.y + height / this.scale};
    this.drawn = 0;
    this.lines = []; this.texts = [];
    this.drawGroup(this.root);
    for (const text of this.texts) this.type(...text);
  }

  visible(b) { return b.x < this.seen.right && b.x + b.w > this.seen.left && b.y < this.seen.bottom && b.y + b.h > this.seen.top; }

  // The rows of a group that the window shows.
  rows(m, top, bottom) {
    const find = y => {  // the first row that ends below y
      let low = 0, high = m.top.length;
      while (low < high) { const mid = (low + high) >> 1; if (m.y + m.top[mid] + m.height[mid] < y) low = mid + 1; else high = mid; }
      return low;
    };
    const first = find(top);
    let last = first;
    while (last < m.top.length && m.y + m.top[last] <= bottom) ++last;
    return [first, last];
  }

  drawGroup(m) {
    if (!this.visible(m)) return;
    const c = this.context, group = m.group;
    if (m.g > 0) {
      c.fillStyle = colors.group;
      c.fillRect(m.x, m.y, m.w, m.h);
      this.frame(m, GROUP, m.g, colors.frame, 1);
    }
    const [first, last] = this.rows(m, this.seen.top, this.seen.bottom);
    this.drawLinks(m, group.start[Math.max(0, first - 1)], group.start[Math.min(last, group.rows.length)]);
    for (let r = first; r < last; ++r) {
      for (const node of group.rows[r]) {
        if (node >= group.items.length / 2) continue;
        const kind = group.items[2 * node], index = group.items[2 * node + 1], kid = m.kids.get(node);
        if (kid) { this.drawGroup(kid); continue; }
        if (kind >= IN) continue;
        const b = this.box(m, node);
        if (!this.visible({x: b.x - 6, y: b.y - 14, w: b.w + 12, h: b.h + 34})) continue;
        ++this.drawn;
        if (kind === OP) this.drawOp(b, index); else this.drawClosed(b, index);
      }
    }
    this.drawCuts(m, first, last);
    if (m.g > 0 && this.scale > .3) this.title('▾ ' + S[group.short], m.x + 8, m.y + 17, m.w - 16);
  }

  // The title of a group, over the lines that enter it.
  title(text, x, y, most) {
    const c = this.context;
    c.font = 'bold 12px system-ui, sans-serif';
    c.lineWidth = 4; c.strokeStyle = colors.paper; c.strokeText(text, x, y, most);
    c.fillStyle = colors.muted; c.fillText(text, x, y, most);
  }

  drawLinks(m, begin, end) {
    const c = this.context, links = m.group.links, plain = this.scale < .15;
    const trace = strong => {
      c.beginPath();
      let any = false;
      for (let i = begin; i < end; i += 4) {
        const value = links[i + 2];
        if (strong !== lit(this, value)) continue;
        const [x1, y1] = this.end(m, links[i], value, -1, true), [x2, y2] = this.end(m, links[i + 1], value, links[i + 3], false);
        if (Math.max(x1, x2) < this.seen.left || Math.min(x1, x2) > this.seen.right) continue;
        any = true;
        // Straight to the end of its row, bent to the next row, and straight on to where it ends.
        const row = m.group.rowOf[links[i]], low = m.y + m.top[row] + m.height[row], high = m.y + m.top[row + 1], middle = (low + high) / 2;
        c.moveTo(x1, y1);
        if (low > y1) c.lineTo(x1, low);
        if (plain) c.lineTo(x2, high); else c.bezierCurveTo(x1, middle, x2, middle, x2, high);
        if (y2 > high) c.lineTo(x2, y2);
        if (links[i + 1] >= m.group.items.length / 2) {  // through a row
          const r = m.group.rowOf[links[i + 1]];
          c.lineTo(x2, y2 + m.height[r]);
        } else if (!plain && !m.kids.has(links[i + 1]) && m.group.items[2 * links[i + 1]] !== OUT) {
          c.moveTo(x2 - 3, y2 - 6); c.lineTo(x2, y2); c.lineTo(x2 + 3, y2 - 6);
        }
      }
      if (!any) return;
      c.strokeStyle = strong ? colors.chosen : colors.edge;
      c.lineWidth = (strong ? 2.2 : 1.1) / Math.min(1, Math.max(this.scale, .3));
      c.stroke();
    };
    trace(false);
    if (chosen && chosen.side === this) trace(true);
  }

  // Edges that are not drawn as lines: a short end at both sides.
  drawCuts(m, first, last) {
    const c = this.context, cut = m.group.cut;
    if (this.scale < .3) return;
    for (let i = 0; i < cut.length; i += 4) {
      const from = m.group.rowOf[cut[i]], to = m.group.rowOf[cut[i + 1]];
      for (const [row, leaves] of [[from, true], [to, false]]) {
        if (row < first || row >= last) continue;
        const [x, y] = this.end(m, leaves ? cut[i] : cut[i + 1], cut[i + 2], cut[i + 3], leaves), tip = leaves ? y + 9 : y - 9;
        c.strokeStyle = c.fillStyle = lit(this, cut[i + 2]) ? colors.chosen : colors.edge;
        c.lineWidth = 1.1;
        c.beginPath(); c.moveTo(x, y); c.lineTo(x, tip); c.stroke();
        c.beginPath(); c.arc(x, tip, 2.5, 0, 7); c.fill();
      }
    }
  }

  frame(b, kind, index, color, width) {
    const c = this.context, state = stateOf(this, kind, index);
    c.strokeStyle = color; c.lineWidth = width;
    c.strokeRect(b.x, b.y, b.w, b.h);
    const ring = (name, grow, dash) => {
      const s = 1 / Math.min(1, this.scale);
      c.strokeStyle = colors[name]; c.lineWidth = 2.5 * s;
      c.setLineDash(dash.map(d => d * s));
      c.strokeRect(b.x - grow * s, b.y - grow * s, b.w + 2 * grow * s, b.h + 2 * grow * s);
      c.setLineDash([]);
    };
    if (state.found) ring('found', 2, [2, 3]);
    if (state.linked) ring('linked', 3, [7, 3]);
    if (state.chosen) ring('chosen', 3, []);
  }

  drawOp(b, op) {
    const c = this.context, ops = this.p.ops, fate = FATES[ops.fate[op]];
    c.fillStyle = colors.box;
    c.fillRect(b.x, b.y, b.w, b.h);
    if (fate[0] === 'removed' || fate[0] === 'folded') c.setLineDash([5, 3]);
    c.strokeStyle = colors[fate[0]]; c.lineWidth = 1.2; c.strokeRect(b.x, b.y, b.w, b.h);
    c.setLineDash([]);
    c.fillStyle = colors[fate[0]];
    c.fillRect(b.x, b.y, 5, b.h);
    if (this.mostMs > 0 && ops.ms[op] > 0) {
      c.fillStyle = colors.time;
      c.fillRect(b.x + 5, b.y + b.h - 4, Math.max(1, (b.w - 5) * ops.ms[op] / this.mostMs), 4);
    }
    this.frame(b, OP, op, 'transparent', 0);
    if (this.scale < .3) return;
    const sign = fate[1] + (ops.misses[op].length ? '!' : '');
    this.text(S[ops.name[op]], b.x + 11, b.y + 16, b.w - 16 - 10 * sign.length, 'bold', colors.text);
    if (sign) this.text(sign, b.x + b.w - 5 - 9 * sign.length, b.y + 16, 30, 'bold', ops.misses[op].length && !fate[1] ? colors.near : colors[fate[0]]);
    if (ops.label[op] >= 0) this.text(S[ops.short[op]], b.x + 11, b.y + 32, b.w - 16, '', colors.muted);
    if (this.scale > .5) {
      const results = ops.results[op];
      results.forEach((value, k) => {
        const x = b.x + b.w / 2 + portOffset(k, results.length, b.w), text = S[this.p.values.short[value]];
        const right = b.x + b.w * (k + 1) / results.length + 10;  // it does not reach the neighbor
        this.texts.push([text, Math.min(x + 4, right - 5.8 * text.length), b.y + b.h + 13]);
      });
    }
  }

  drawClosed(b, g) {
    const c = this.context, group = this.p.groups[g];
    c.fillStyle = colors.box;
    for (const grow of [4, 0]) {
      c.fillRect(b.x + grow, b.y + grow, b.w, b.h);
      c.strokeStyle = colors.frame; c.lineWidth = 1.2;
      c.strokeRect(b.x + grow, b.y + grow, b.w, b.h);
    }
    this.frame(b, GROUP, g, colors.frame, 1);
    if (this.scale < .3) return;
    this.text('▸ ' + S[group.short], b.x + 8, b.y + 16, b.w - 14, 'bold', colors.text);
    const ms = this.ms[g] > 0 ? `, ${this.ms[g].toFixed(3)} ms` : '';
    this.text(`${this.count[g]} ops${ms}`, b.x + 8, b.y + 32, b.w - 14, '', colors.muted);
  }

  text(text, x, y, most, style, color) {
    const c = this.context;
    c.font = style + ' 12px system-ui, sans-serif';
    c.fillStyle = color;
    c.fillText(text, x, y, most);
  }

  // The type of a value, over the lines.
  type(text, x, y) {
    const c = this.context;
    c.font = '10px system-ui, sans-serif';
    c.lineWidth = 3; c.strokeStyle = colors.paper; c.strokeText(text, x, y);
    c.fillStyle = colors.muted; c.fillText(text, x, y);
  }

  // What lies at a place of the canvas: a kind and a number, or null.
  hit(x, y) {
    x = this.x + x / this.scale; y = this.y + y / this.scale;
    let m = this.root, found = null;
    while (m) {
      let inside = null;
      const [first, last] = this.rows(m, y, y);
      for (let r = first; r < last; ++r) {
        for (const node of m.group.rows[r]) {
          if (this.isPort(m.group, node)) continue;
          const b = this.box(m, node);
          if (x < b.x || x > b.x + b.w || y < b.y || y > b.y + b.h) continue;
          found = {kind: m.group.items[2 * node], index: m.group.items[2 * node + 1]};
          inside = m.kids.get(node) || null;
        }
      }
      m = inside;
    }
    return found;
  }

  // The groups around an op or a group, from the outside in.
  around(kind, index) {
    const groups = [];
    const inner = kind === OP ? this.p.ops.inner[index] : index;
    let g = kind === OP && inner < 0 ? this.p.ops.group[index] : this.p.groups[inner].parent;
    for (; g >= 0; g = this.p.groups[g].parent) groups.unshift(g);
    return groups;
  }

  // The box of an op or a group, or of the closed group that hides it.
  find(kind, index) {
    if (kind === OP && this.p.ops.inner[index] >= 0) { kind = GROUP; index = this.p.ops.inner[index]; }
    const way = this.around(kind, index);
    if (kind === GROUP && index === 0) return this.root;
    let m = this.root;
    for (let d = 0; d < way.length; ++d) {
      const next = d + 1 < way.length ? [GROUP, way[d + 1]] : [kind, index];
      let item = -1;
      for (let i = 0; i < m.group.items.length; i += 2)
        if (m.group.items[i] === next[0] && m.group.items[i + 1] === next[1]) { item = i / 2; break; }
      if (!m.kids.has(item)) return this.box(m, item);
      m = m.kids.get(item);
    }
    return m;
  }

  show(kind, index) {
    for (const g of this.around(kind, index)) this.open.add(g);
    this.place();
    this.goTo(this.find(kind, index));
  }

  goTo(b) {
    const width = this.canvas.clientWidth / this.scale, height = this.canvas.clientHeight / this.scale;
    if (b.x >= this.x && b.x + b.w <= this.x + width && b.y >= this.y && b.y + b.h <= this.y + height) return;
    this.x = b.x + b.w / 2 - width / 2;
    this.y = b.y + Math.min(b.h, height * .8) / 2 - height / 2;
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const scale = Math.min(4, Math.max(.02, this.scale * factor));
    this.x += x / this.scale - x / scale;
    this.y += y / this.scale - y / scale;
    this.scale = scale;
    this.draw();
  }

  fit(least = .02) {
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    this.scale = Math.max(least, Math.min(1, width / (this.root.w + 16), height / (this.root.h + 16)));
    this.x = (this.root.w - width / this.scale) / 2;
    const start = this.root.group.rows[0];  // where the program begins, if it does not fit
    if (this.root.w * this.scale > width && start)
      this.x = this.root.left + start.reduce((sum, node) => sum + this.root.middle[node], 0) / start.length - width / this.scale / 2;
    this.y = Math.min(-4, (this.root.h - height / this.scale) / 2);
    if (this.root.h * this.scale > height) this.y = -4;
    this.draw();
  }
}
)js";

}  // namespace

std::string_view DrawScript() { return kDraw; }

}  // namespace tenon::view
