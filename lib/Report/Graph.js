// ---- the graph of a layer ---------------------------------------------------

const svgName = "http://www.w3.org/2000/svg";
function svg(tag, attributes, text) {
  const e = document.createElementNS(svgName, tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  return e;
}
const shorten = s => s.length > 24 ? s.slice(0, 11) + "…" + s.slice(-12) : s;
/// "linear.q_proj" in two lines: what is done, and to what.
function linesOf(label) {
  const dot = label.indexOf(".");
  return (dot > 0 ? [label.slice(0, dot), label.slice(dot + 1)] : [label])
    .map(shorten);
}
const nodeHeight = 36, rowHeight = 70, nodeGap = 16;
const measure = (() => {
  const g = document.createElement("canvas").getContext("2d");
  g.font = "12px system-ui, 'DejaVu Sans', sans-serif";
  return text => g.measureText(text).width;
})();

/// Rows by longest path, an invisible node wherever an edge passes a row, and
/// an order within the rows by the mean of the neighbours (Sugiyama). `stacked`:
/// a row for each node.
function layered(nodes, edges, stacked) {
  const inside = new Map(nodes.map(n => [n.id, {...n, outs: [], ins: [],
    row: 0, width: Math.max(50, ...linesOf(n.label).map(measure)) + 16}]));
  const order = topological(nodes, edges);
  const own = edges.filter(e => inside.has(e.from) && inside.has(e.to) &&
    order.get(e.from) < order.get(e.to));
  const sorted = [...inside.values()].sort((x, y) =>
    order.get(x.id) - order.get(y.id));
  if (stacked) sorted.forEach((n, i) => { n.row = i; });
  else for (const n of sorted)
    for (const e of own) if (e.from === n.id)
      inside.get(e.to).row = Math.max(inside.get(e.to).row, n.row + 1);
  const rows = [];
  const put = n => { (rows[n.row] = rows[n.row] || []).push(n); };
  sorted.forEach(put);
  const link = (x, y) => { x.outs.push(y); y.ins.push(x); };
  const paths = own.map(e => {
    const to = inside.get(e.to);
    let at = inside.get(e.from);
    const path = [at];
    for (let r = at.row + 1; r < to.row; r++) {
      const bend = {bend: true, row: r, width: 14, ins: [], outs: []};
      put(bend);
      link(at, bend);
      path.push(at = bend);
    }
    link(at, to);
    path.push(to);
    return {edge: e, path};
  });
  for (let r = 0; r < rows.length; r++) rows[r] = rows[r] || [];
  placeRows(rows);
  return {inside, rows, paths,
    width: Math.max(...rows.flat().map(n => n.x + n.width / 2), 0)};
}

function topological(nodes, edges) {
  const waiting = new Map(nodes.map(n => [n.id, 0])), order = new Map();
  const own = edges.filter(e => waiting.has(e.from) && waiting.has(e.to));
  for (const e of own) waiting.set(e.to, waiting.get(e.to) + 1);
  const ready = nodes.filter(n => !waiting.get(n.id)).map(n => n.id);
  while (ready.length) {
    const id = ready.shift();
    order.set(id, order.size);
    for (const e of own) if (e.from === id) {
      waiting.set(e.to, waiting.get(e.to) - 1);
      if (!waiting.get(e.to)) ready.push(e.to);
    }
  }
  for (const n of nodes) if (!order.has(n.id)) order.set(n.id, order.size);
  return order;
}

function placeRows(rows) {
  const mean = (list, fallback) => list.length
    ? list.reduce((s, n) => s + n.x, 0) / list.length : fallback;
  const pack = row => {
    let x = 0;
    for (const n of row) {
      n.x = x + n.width / 2;
      x += n.width + nodeGap;
    }
  };
  rows.forEach(pack);
  const sweep = (list, side) => {
    for (const row of list) {
      row.forEach(n => { n.want = mean(n[side], n.x); });
      row.sort((x, y) => x.want - y.want);
      spread(row);
    }
  };
  for (let i = 0; i < 12; i++) {
    sweep(rows, "ins");
    sweep([...rows].reverse(), "outs");
  }
  let left = Infinity;
  for (const n of rows.flat()) left = Math.min(left, n.x - n.width / 2);
  for (const n of rows.flat()) n.x -= left;
}

/// Each at the place it wants, pushed apart where they would touch; a cluster
/// stays centred on what its members want.
function spread(row) {
  const clusters = [];
  for (const n of row) {
    let c = {nodes: [n], at: n.want - n.width / 2, width: n.width};
    while (clusters.length) {
      const last = clusters[clusters.length - 1];
      if (last.at + last.width + nodeGap <= c.at) break;
      clusters.pop();
      const width = last.width + nodeGap + c.width;
      const nodes = last.nodes.concat(c.nodes);
      let offset = 0, sum = 0;
      for (const m of nodes) {
        sum += m.want - m.width / 2 - offset;
        offset += m.width + nodeGap;
      }
      c = {nodes, at: sum / nodes.length, width};
    }
    clusters.push(c);
  }
  for (const c of clusters) {
    let x = c.at;
    for (const n of c.nodes) { n.x = x + n.width / 2; x += n.width + nodeGap; }
  }
}

function smooth(list) {
  let d = `M${list[0].x},${list[0].y}`;
  for (let i = 1; i < list.length; i++) {
    const a = list[i - 1], b = list[i], middle = (a.y + b.y) / 2;
    d += ` C${a.x},${middle} ${b.x},${middle} ${b.x},${b.y}`;
  }
  return d;
}

/// Columns from left to right: forward (down), what is recomputed (down),
/// backward (up). Forward and recomputation end at the bottom, where backward
/// begins, so that a value and its readers stand at about the same height.
function drawGraph(graph) {
  const choose = (test, stacked) =>
    layered(graph.nodes.filter(test), graph.edges, stacked);
  const parts = [
    {...choose(n => n.phase === "forward" && !n.recomputed), down: 1,
     title: "forward ↓"},
    {...choose(n => n.recomputed, true), down: 1, title: "recomputed ↓"},
    {...choose(n => n.phase !== "forward" && !n.recomputed), down: -1,
     title: "backward ↑"}].filter(p => p.inside.size);
  const rows = Math.max(...parts.map(p => p.rows.length));
  const top = 40, height = top + rows * rowHeight;
  const crossing = crossingValues(graph, parts);
  let x = 0;
  parts.forEach((p, i) => {
    p.left = x;
    const lift = rows - p.rows.length;
    for (const n of p.rows.flat()) {
      n.y = nodeHeight / 2 + top + rowHeight *
        (p.down > 0 ? n.row + lift : rows - 1 - n.row);
      n.x += x;
    }
    p.right = x += p.width;
    const labels = crossing.filter(k => k.part === i);
    if (i < parts.length - 1)
      x += labels.length ? 78 + Math.max(...labels.map(k => measure(k.text)))
                         : 40;
  });
  const root = svg("svg", {role: "img",
    "aria-label": `Graph of ${graph.name}`});
  const under = svg("g", {}), over = svg("g", {}), lines = [];
  root.append(under, over);
  // What a label must not cover: boxes, and labels that stand already.
  const taken = parts.flatMap(p => [...p.inside.values()]).map(n => ({
    left: n.x - n.width / 2, right: n.x + n.width / 2,
    top: n.y - nodeHeight / 2, bottom: n.y + nodeHeight / 2}));
  const labels = [];
  parts.forEach((p, i) => {
    root.append(svg("text", {class: "cap", x: p.left, y: 14}, p.title));
    drawEdges(p, p.down, under, labels, lines);
    drawCrossing(crossing.filter(k => k.part === i), p.right, height, under,
      over, lines, taken);
  });
  placeLabels(labels, over, lines, taken);
  for (const p of parts)
    for (const n of p.inside.values()) over.append(nodeBox(n, p, lines));
  $("graph").replaceChildren(root);
  // As large as what is drawn; narrower windows shrink it as far as it can be
  // read, and scroll behind that.
  const all = root.getBBox(), margin = 8;
  const width = all.width + 2 * margin, tall = all.height + 2 * margin;
  root.setAttribute("viewBox",
    `${all.x - margin} ${all.y - margin} ${width} ${tall}`);
  root.setAttribute("width", width);
  root.setAttribute("height", tall);
  root.style.minWidth = `${Math.ceil(0.7 * width)}px`;
}

/// The text with the page's colour behind it, so that no line strikes it out.
function labelled(text, attributes, rectangle) {
  const g = svg("g", {});
  g.append(svg("rect", {class: "ground", x: rectangle.left, y: rectangle.top,
    width: rectangle.right - rectangle.left,
    height: rectangle.bottom - rectangle.top}), svg("text", attributes, text));
  return g;
}

const labelHeight = 14;
const apart = (a, b) => a.right <= b.left || b.right <= a.left ||
  a.bottom <= b.top || b.bottom <= a.top;

/// Each label at the first place along its edge, the preferred one first, where
/// it covers nothing. Where there is none the bytes are the edge's title alone.
function placeLabels(labels, over, lines, taken) {
  for (const label of labels) {
    const half = measure(label.text) * 0.92 / 2 + 2;
    const free = label.places.map(({x, y}) => ({x, y, left: x - half,
      right: x + half, top: y - labelHeight / 2, bottom: y + labelHeight / 2}))
      .find(place => taken.every(other => apart(place, other)));
    if (!free) continue;
    taken.push(free);
    const element = labelled(label.text, {class: "bytes",
      "text-anchor": "middle", x: free.x, y: free.y + 4}, free);
    over.append(element);
    lines.push({element, ends: label.ends});
  }
}

function nodeBox(n, part, lines) {
  const box = svg("g", {class: "box"});
  const kind = part.down < 0 ? " back" : n.recomputed ? " again" : "";
  box.append(svg("rect", {class: "node" + kind,
    x: n.x - n.width / 2, y: n.y - nodeHeight / 2, width: n.width,
    height: nodeHeight, rx: 6}));
  const text = linesOf(n.label);
  text.forEach((t, i) => box.append(svg("text", {x: n.x, "text-anchor":
    "middle", y: n.y + 4 + 14 * (i - (text.length - 1) / 2)}, t)));
  box.append(svg("title", {}, n.label));
  // Pointing at an operation leaves only its own edges.
  box.addEventListener("pointerenter", () => lines.forEach(l =>
    l.element.classList.toggle("faded", !l.ends.includes(n.id))));
  box.addEventListener("pointerleave", () => lines.forEach(l =>
    l.element.classList.remove("faded")));
  return box;
}

/// down: 1 for forward, -1 for backward, which runs up.
function drawEdges(part, down, under, labels, lines) {
  const seen = new Set();
  for (const {edge, path} of part.paths) {
    const list = path.map(n => ({x: n.x, y: n.y}));
    list[0].y += down * nodeHeight / 2;
    list[list.length - 1].y -= down * nodeHeight / 2;
    const line = svg("path", {class: "edge", d: smooth(list)});
    line.append(svg("title", {}, `${edge.label}: ${exact(edge.bytes)} bytes`));
    under.append(line);
    lines.push({element: line, ends: [edge.from, edge.to]});
    // One label for a value, however many read it; on its first stretch.
    const key = edge.from + "\n" + edge.label;
    if (seen.has(key) || !edge.bytes) continue;
    seen.add(key);
    // Where neighbouring edges are apart: at the reader if the source makes
    // several values, else at the source.
    const several = new Set(part.paths.filter(p => p.edge.from === edge.from)
      .map(p => p.edge.label)).size > 1;
    const stretches = list.slice(1).map((q, i) => [list[i], q]);
    if (several) stretches.reverse();
    const along = [0.28, 0.4, 0.5, 0.6, 0.72, 0.2, 0.8];
    const places = stretches.flatMap(([p, q]) =>
      (several ? along.map(t => 1 - t) : along).map(t => onCurve(p, q, t)));
    labels.push({text: brief(edge.bytes), places, ends: [edge.from, edge.to]});
  }
}

/// A point of the stretch that `smooth` draws from p to q, t from 0 to 1.
function onCurve(p, q, t) {
  const u = 1 - t;
  return {x: p.x + (q.x - p.x) * (3 * t * t - 2 * t * t * t),
    y: p.y + (q.y - p.y) * (1.5 * t * u + t * t * t)};
}

/// Values read in a later column, each once: its source and all its readers.
function crossingValues(graph, parts) {
  const part = new Map(), values = new Map();
  parts.forEach((p, i) => { for (const id of p.inside.keys()) part.set(id, i); });
  for (const e of graph.edges) {
    const from = part.get(e.from), to = part.get(e.to);
    if (!(from < to)) continue;
    const key = JSON.stringify([e.from, e.label, e.saved]);
    if (!values.has(key))
      values.set(key, {source: parts[from].inside.get(e.from), part: from,
        saved: e.saved, bytes: e.bytes, label: e.label, readers: [],
        text: `${shorten(e.label)}  ${brief(e.bytes)}`});
    values.get(key).readers.push(parts[to].inside.get(e.to));
  }
  return [...values.values()];
}

function drawCrossing(values, left, height, under, over, lines, taken) {
  const step = 17;
  values.sort((x, y) => x.source.y - y.source.y);
  values.forEach((k, i) => { k.y = Math.max(k.source.y,
    i ? values[i - 1].y + step : 0); });
  // What was pushed below the drawing pushes the others back up.
  for (let i = values.length - 1, room = height - 12; i >= 0;
       i--, room = Math.min(room, values[i + 1].y) - step)
    values[i].y = Math.min(values[i].y, room);
  for (const k of values) {
    const textAt = left + 34, from = k.source.x + k.source.width / 2;
    const end = textAt + measure(k.text) * 0.93 + 4;
    const add = (element, layer, ends) => {
      layer.append(element);
      lines.push({element, ends});
    };
    const bend = (x0, y0, x1, y1) => {
      const m = (x0 + x1) / 2;
      return svg("path", {class: k.saved ? "saved" : "edge",
        d: `M${x0},${y0} C${m},${y0} ${m},${y1} ${x1},${y1}`});
    };
    const all = [k.source.id, ...k.readers.map(r => r.id)];
    add(bend(from, k.source.y, textAt - 4, k.y), under, all);
    for (const r of k.readers)
      add(bend(end, k.y, r.x - r.width / 2, r.y), under, [k.source.id, r.id]);
    const place = {left: textAt - 3, right: end - 2,
      top: k.y - labelHeight / 2, bottom: k.y + labelHeight / 2};
    taken.push(place);
    const text = labelled(k.text, {class: k.saved ? "keep" : "bytes", x: textAt,
      y: k.y + 4}, place);
    text.append(svg("title", {}, `${k.label}: ${exact(k.bytes)} bytes`));
    add(text, over, all);
  }
}

function setupGraph() {
  const graphs = data.graphs.filter(g => g.nodes.length);
  if (!graphs.length) { $("graph-section").remove(); return; }
  const select = $("graph-choice");
  graphs.forEach((g, i) => select.append(el("option", {value: i}, g.name)));
  select.parentElement.hidden = graphs.length < 2;
  select.addEventListener("change", () => drawGraph(graphs[select.value]));
  drawGraph(graphs[0]);
}
