"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const phaseNames = ["forward", "backward", "update"];
const SAVED = 0;

// ---- small things -----------------------------------------------------------

function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
  e.append(...children.filter(c => c !== null && c !== undefined));
  return e;
}
function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let u = 0, v = n;
  while (Math.abs(v) >= 1024 && u < 6) { v /= 1024; u++; }
  return u ? v.toFixed(2) + " " + units[u] : n + " B";
}
/// Three digits: for labels in drawings.
function brief(n) {
  const [v, unit] = bytes(n).split(" ");
  return `${unit === "B" ? v : +Number(v).toPrecision(3)} ${unit}`;
}
const exact = n => n.toLocaleString("en-US");
const count = n => n < 1e5 ? exact(n) : n.toExponential(2).replace("e+", "e");
const color = name => getComputedStyle(document.documentElement)
  .getPropertyValue("--" + name).trim();
const colorOf = category =>
  category === SAVED ? "saved-a" : data.category_names[category];
const swatch = name => el("i", {class: "swatch",
  style: `background: var(--${name})`});
function table(target, heads, rows, classes) {
  target.replaceChildren(
    el("thead", {}, el("tr", {}, ...heads.map((h, i) =>
      el("th", {class: classes[i] === "number" ? "number" : ""}, h)))),
    el("tbody", {}, ...rows.map(r => el("tr", {}, ...r.map((c, i) =>
      el("td", {class: classes[i]}, c))))));
}
const layerText = l => l === null || l === -1 ? "" : String(l);

// ---- the report's data ------------------------------------------------------

const points = data.points.map(p => ({op: data.strings[p[0]],
  loc: data.strings[p[1]], live: p[2], phase: p[3], layer: p[4],
  categories: p[5]}));
const buffers = data.buffers.map(b => ({name: data.strings[b[0]],
  shape: data.strings[b[1]], dtype: data.strings[b[2]], bytes: b[3],
  layer: b[4], category: b[5], first: b[6], last: b[7], offset: b[8]}));
const peak = data.peak_index;
const aliveAt = t => buffers.filter(b => b.first <= t && t < b.last && b.bytes)
  .sort((x, y) => y.bytes - x.bytes);

// ---- head, totals, formulas -------------------------------------------------

function drawHead() {
  $("title").textContent = data.model || "model";
  const known = ["b", "s", "h", "a", "d"];
  const rank = k => known.includes(k) ? known.indexOf(k) : known.length;
  const letters = Object.entries(data.letters).sort((x, y) =>
    rank(x[0]) - rank(y[0]) || (x[0] < y[0] ? -1 : 1)).map(([k, v]) => `${k} = ${v}`);
  $("subtitle").textContent =
    [`@${data.function}`, `view ${data.view}`, ...letters].join("  ·  ");
  const over = data.lower_bound_bytes ? 100 *
    (data.arena_bytes - data.lower_bound_bytes) / data.lower_bound_bytes : 0;
  const share = data.flops ? 100 * data.recomputed_flops / data.flops : 0;
  const tiles = [
    ["retained for backward", data.retained_bytes, "", true],
    ["peak of activations", data.peak_bytes, "", true],
    ["arena", data.arena_bytes, data.lower_bound_bytes
      ? `${over.toFixed(2)} % above the lower bound` : ""],
    ["parameters", data.parameters_bytes],
    ["parameter gradients", data.gradients_bytes],
    ["optimizer state", data.optimizer_bytes],
    ["inputs", data.inputs_bytes],
    ["total peak", data.total_peak_bytes, "", true]];
  for (const [what, value, note, main] of tiles)
    $("totals").append(el("div", {class: main ? "tile main" : "tile"},
      el("div", {class: "what"}, what), el("div", {class: "value"},
        bytes(value)),
      el("div", {class: "exact"}, exact(value) + " bytes"),
      note ? el("div", {class: "exact"}, note) : null));
  $("totals").append(el("div", {class: "tile"},
    el("div", {class: "what"}, "FLOPs of a step"),
    el("div", {class: "value"}, count(data.flops)),
    el("div", {class: "exact"},
      `${count(data.recomputed_flops)} recomputed (${share.toFixed(1)} %)`)));
  $("notes").append(...data.notes.map(n => el("p", {}, n)));
  if (!data.notes.length) $("notes").remove();
}

function drawFormulas() {
  const values = new Map(Object.entries(data.letters));
  // The text is a sum of products as lib/Symbolic prints it; evaluated here
  // only to mark which candidate of a max wins.
  function evaluate(text) {
    let at = 0;
    const skip = () => { while (text[at] === " ") at++; };
    const atom = () => {
      skip();
      if (text[at] === "(") { at++; const v = sum(); skip(); at++; return v; }
      const word = /^[A-Za-z0-9_]+/.exec(text.slice(at));
      if (!word) return NaN;
      at += word[0].length;
      return /^[0-9]/.test(word[0]) ? Number(word[0]) : values.get(word[0]);
    };
    const power = () => {
      let v = atom(); skip();
      if (text[at] === "^") { at++; v = v ** atom(); }
      return v;
    };
    const product = () => {
      let v = power();
      for (skip(); text[at] === "*"; skip()) { at++; v *= power(); }
      return v;
    };
    const sum = () => {
      skip();
      let sign = 1;
      if (text[at] === "-") { sign = -1; at++; }
      let v = sign * product();
      for (skip(); text[at] === "+" || text[at] === "-"; skip())
        v += (text[at++] === "-" ? -1 : 1) * product();
      return v;
    };
    return sum();
  }
  const list = $("formulas");
  const add = (title, f) => {
    if (!f) return;
    const dd = el("dd", {});
    if (f.candidates.length === 1) dd.append(f.bytes);
    else {
      const worth = f.candidates.map(evaluate), most = Math.max(...worth);
      dd.append("the largest of");
      f.candidates.forEach((c, i) => dd.append(el("span",
        {class: worth[i] === most ? "candidate wins" : "candidate"},
        c + (worth[i] === most ? "  ← here" : ""))));
    }
    if (f.alignment_bytes)
      dd.append(` + ${exact(f.alignment_bytes)} (alignment)`);
    list.append(el("dt", {}, title), dd);
  };
  add("retained", data.formulas.retained);
  add("peak", data.formulas.peak);
  for (const g of layerGroups()) {
    add(`retained, ${g.text}`, g.layer.retained_formula);
    add(`peak, ${g.text}`, g.layer.peak_formula);
  }
  if (!list.children.length) $("formulas-section").remove();
}

// ---- layers and saved values ------------------------------------------------

/// Equal consecutive layers are one row.
function layerGroups() {
  const key = l => JSON.stringify([l.name, l.variant, l.retained_bytes,
    l.recomputed_flops, l.retained_formula, l.peak_formula]);
  const groups = [];
  for (const l of data.layers) {
    const last = groups[groups.length - 1];
    if (last && key(last.layer) === key(l)) last.to = l.index, last.count++;
    else groups.push({layer: l, from: l.index, to: l.index, count: 1});
  }
  for (const g of groups)
    g.text = `${g.layer.name} ` +
      (g.count > 1 ? `${g.from}..${g.to}` : `${g.from}`);
  return groups;
}

function drawLayers() {
  if (!data.layers.length) { $("layers-section").remove(); return; }
  const most = Math.max(...data.layers.map(l => l.retained_bytes), 1);
  table($("layers"),
    ["layers", "policy", "retained each", "all of them", "recomputed FLOPs",
     "retained formula"],
    layerGroups().map(g => [g.text, g.layer.variant || "",
      bytes(g.layer.retained_bytes), bytes(g.layer.retained_bytes * g.count),
      count(g.layer.recomputed_flops), g.layer.formula || "–"]),
    ["name", "", "number", "number", "number", "formula"]);
}

function drawSaved() {
  if (!data.saved.length) { $("saved-section").remove(); return; }
  const select = $("saved-layer");
  const groups = layerGroups();
  for (const g of groups)
    select.append(el("option", {value: g.from}, "layer " + (g.count > 1
      ? `${g.from} (as in ${g.from}..${g.to})` : g.from)));
  if (data.saved.some(v => v.layer === null))
    select.append(el("option", {value: "none"}, "no layer"));
  select.append(el("option", {value: "all"}, "all"));
  const show = () => {
    const values = data.saved.filter(v => select.value === "all" ||
      (select.value === "none" ? v.layer === null
                               : v.layer === Number(select.value)))
      .sort((x, y) => y.bytes - x.bytes);
    const sum = values.reduce((s, v) => s + v.bytes, 0);
    const rows = values.slice(0, 400).map(v => [v.name, layerText(v.layer),
      v.shape.join("×"), v.dtype, bytes(v.bytes), exact(v.bytes),
      v.formula || ""]);
    if (values.length > 400)
      rows.push([`and ${values.length - 400} more`, "", "", "", "", "", ""]);
    rows.push([el("b", {}, "sum"), "", "", "", el("b", {}, bytes(sum)),
      exact(sum), ""]);
    table($("saved"), ["value", "layer", "shape", "type", "", "bytes",
      "formula"], rows,
      ["name", "number", "", "", "number", "number", "formula"]);
  };
  select.addEventListener("change", show);
  show();
}

// ---- the timeline -----------------------------------------------------------

const canvas = $("timeline");
const chart = {mode: "stack", hover: -1, pinned: peak, samples: [], bands: []};
const margin = {left: 74, right: 14, top: 26, bottom: 44};

/// One band per layer's saved values, then one per category.
function makeBands() {
  const layers = [...new Set(buffers.filter(b => b.category === SAVED &&
    b.layer >= 0).map(b => b.layer))].sort((x, y) => x - y);
  const bands = layers.map((l, i) => ({name: `saved, layer ${l}`, layer: l,
    category: SAVED, color: i % 2 ? "saved-b" : "saved-a"}));
  for (const c of [0, 4, 5, 1, 2, 3])
    bands.push({name: data.category_names[c], layer: -1, category: c,
      color: c === SAVED ? "saved-rest" : data.category_names[c]});
  return bands;
}

/// Of each pixel column the point with the most live bytes, so that no maximum
/// is lost however many points there are.
function sample(width) {
  const n = points.length, columns = Math.max(1, Math.min(n, width | 0));
  const chosen = [];
  for (let c = 0; c < columns; c++) {
    const from = Math.floor(c * n / columns);
    const to = Math.max(from + 1, Math.floor((c + 1) * n / columns));
    let best = from;
    for (let i = from; i < to; i++) if (points[i].live > points[best].live)
      best = i;
    chosen.push({index: best, from, to});
  }
  return chosen;
}

/// Bytes of each band at the chosen points, by sums of differences.
function bandBytes(bands, chosen) {
  const n = points.length;
  if (!buffers.length)
    return bands.map(b => Float64Array.from(chosen, c =>
      b.layer < 0 && points[c.index].categories
        ? points[c.index].categories[b.category] : 0));
  const byLayer = new Map(), byCategory = new Map();
  bands.forEach((b, i) => b.layer >= 0 ? byLayer.set(b.layer, i)
                                       : byCategory.set(b.category, i));
  const lists = bands.map(() => []);
  for (const b of buffers) {
    const saved = b.category === SAVED && b.layer >= 0;
    lists[saved ? byLayer.get(b.layer) : byCategory.get(b.category)].push(b);
  }
  const difference = new Float64Array(n + 1);
  return lists.map(list => {
    difference.fill(0);
    for (const b of list) {
      difference[b.first] += b.bytes;
      difference[b.last] -= b.bytes;
    }
    const out = new Float64Array(chosen.length);
    let sum = 0, t = 0;
    chosen.forEach((c, i) => {
      while (t <= c.index) sum += difference[t++];
      out[i] = sum;
    });
    return out;
  });
}

function niceStep(range, ticks) {
  let unit = 1;
  while (range / unit >= 1024) unit *= 1024;
  const raw = range / unit / ticks, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find(s => s * power >= raw) * power;
  return {step: Math.max(step * unit, 1), unit};
}

function prepare() {
  const box = canvas.getBoundingClientRect();
  chart.width = box.width;
  chart.height = box.height;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(box.width * ratio);
  canvas.height = Math.round(box.height * ratio);
  const inner = box.width - margin.left - margin.right;
  chart.samples = sample(inner);
  chart.bands = makeBands();
  chart.values = bandBytes(chart.bands, chart.samples);
  chart.top = Math.max(data.arena_bytes, data.peak_bytes, 1) * 1.04;
  // What does not change under the pointer is painted once.
  chart.picture = document.createElement("canvas");
  chart.picture.width = canvas.width;
  chart.picture.height = canvas.height;
  const g = chart.picture.getContext("2d");
  g.scale(ratio, ratio);
  paint(g);
  overlay();
}

const xOf = t => margin.left +
  t / points.length * (chart.width - margin.left - margin.right);
const yOf = b => chart.height - margin.bottom -
  b / chart.top * (chart.height - margin.top - margin.bottom);

function paint(g) {
  const {width, height} = chart, floor = height - margin.bottom;
  g.font = "12px system-ui, 'DejaVu Sans', sans-serif";
  g.textBaseline = "middle";
  const {step, unit} = niceStep(chart.top, 5);
  const unitName = bytes(unit).split(" ")[1];
  for (let b = 0; b <= chart.top; b += step) {
    g.fillStyle = color("grid");
    g.fillRect(margin.left, Math.round(yOf(b)), width - margin.left -
      margin.right, 1);
    g.fillStyle = color("soft");
    g.textAlign = "right";
    g.fillText(`${+(b / unit).toFixed(3)} ${unitName}`, margin.left - 8,
      yOf(b));
  }
  if (chart.mode === "stack") paintStack(g); else paintArena(g);
  paintPhases(g, floor);
  if (data.arena_bytes) {
    g.setLineDash([5, 4]);
    g.strokeStyle = color("soft");
    g.beginPath();
    g.moveTo(margin.left, yOf(data.arena_bytes));
    g.lineTo(width - margin.right, yOf(data.arena_bytes));
    g.stroke();
    g.setLineDash([]);
  }
  if (peak >= 0) paintPeak(g);
}

function paintStack(g) {
  const base = new Float64Array(chart.samples.length);
  const palette = new Map();
  chart.bands.forEach((band, k) => {
    const values = chart.values[k];
    if (!values.some(v => v)) return;
    if (!palette.has(band.color)) palette.set(band.color, color(band.color));
    g.fillStyle = palette.get(band.color);
    g.beginPath();
    chart.samples.forEach((s, i) => {
      const y = yOf(base[i] + values[i]);
      if (!i) g.moveTo(xOf(s.from), y); else g.lineTo(xOf(s.from), y);
      g.lineTo(xOf(s.to), y);
    });
    for (let i = chart.samples.length - 1; i >= 0; i--) {
      const s = chart.samples[i], y = yOf(base[i]);
      g.lineTo(xOf(s.to), y);
      g.lineTo(xOf(s.from), y);
      base[i] += values[i];
    }
    g.closePath();
    g.fill();
  });
}

/// Every buffer where the plan puts it.
function paintArena(g) {
  const line = color("card");
  for (const b of buffers) {
    if (b.offset < 0 || !b.bytes) continue;
    const x = xOf(b.first), w = Math.max(xOf(b.last) - x, 0.5);
    const y = yOf(b.offset + b.bytes), h = Math.max(yOf(b.offset) - y, 0.5);
    g.fillStyle = color(b.category === SAVED && b.layer % 2
      ? "saved-b" : colorOf(b.category));
    g.fillRect(x, y, w, h);
    if (w > 3 && h > 3) {
      g.strokeStyle = line;
      g.lineWidth = 0.5;
      g.strokeRect(x, y, w, h);
    }
  }
  g.lineWidth = 1;
}

function paintPhases(g, floor) {
  g.textAlign = "center";
  for (let from = 0; from < points.length;) {
    let to = from;
    while (to < points.length && points[to].phase === points[from].phase) to++;
    const x0 = xOf(from), x1 = xOf(to), name = phaseNames[points[from].phase];
    g.fillStyle = color("line");
    g.fillRect(x0 + 1, floor + 7, Math.max(x1 - x0 - 2, 1), 3);
    g.fillStyle = color("soft");
    if (g.measureText(name).width < x1 - x0 - 4)
      g.fillText(name, (x0 + x1) / 2, floor + 22);
    from = to;
  }
  g.textAlign = "right";
  g.fillText(`${exact(points.length)} operations`, chart.width - margin.right,
    floor + 36);
}

function paintPeak(g) {
  // Only above the point: a peak is often one operation wide.
  const x = xOf(peak + 0.5), y = yOf(points[peak].live);
  g.strokeStyle = g.fillStyle = color("accent");
  g.beginPath();
  g.moveTo(x, y);
  g.lineTo(x, margin.top - 6);
  g.stroke();
  g.beginPath();
  g.arc(x, y, 4, 0, 7);
  g.fill();
  const text = `peak ${bytes(points[peak].live)}, ${points[peak].op}`;
  const w = g.measureText(text).width;
  g.textAlign = "left";
  const at = Math.min(Math.max(x - w / 2, margin.left), chart.width - w - 8);
  g.fillText(text, at, margin.top - 14);
}

function overlay() {
  const g = canvas.getContext("2d"), ratio = window.devicePixelRatio || 1;
  g.setTransform(1, 0, 0, 1, 0, 0);
  g.clearRect(0, 0, canvas.width, canvas.height);
  g.drawImage(chart.picture, 0, 0);
  g.scale(ratio, ratio);
  const line = (t, name, width) => {
    if (t < 0) return;
    g.strokeStyle = color(name);
    g.lineWidth = width;
    g.beginPath();
    g.moveTo(xOf(t + 0.5), margin.top);
    g.lineTo(xOf(t + 0.5), chart.height - margin.bottom);
    g.stroke();
  };
  if (chart.pinned !== peak) line(chart.pinned, "focus", 1.5);
  line(chart.hover, "text", 1);
}

function sumByCategory(alive, point) {
  if (!buffers.length) return point.categories || [];
  const sums = data.category_names.map(() => 0);
  for (const b of alive) sums[b.category] += b.bytes;
  return sums;
}

function showTip(t, pixelX) {
  const tip = $("tip"), p = points[t], alive = aliveAt(t);
  const categories = el("table", {});
  sumByCategory(alive, p).forEach((v, c) => {
    if (v) categories.append(el("tr", {}, el("td", {}, swatch(colorOf(c)), " ",
      data.category_names[c]), el("td", {class: "number"}, bytes(v))));
  });
  const top = el("table", {});
  const groups = alike(alive);
  for (const b of groups.slice(0, 6))
    top.append(el("tr", {}, el("td", {}, b.name + (b.count > 1
      ? ` × ${b.count}` : "")),
      el("td", {class: "number"}, bytes(b.bytes * b.count))));
  tip.replaceChildren(el("b", {}, p.op),
    el("div", {class: "where"}, p.loc),
    el("div", {}, `${bytes(p.live)} live · ${phaseNames[p.phase]}` +
      (p.layer >= 0 ? ` · layer ${p.layer}` : "") + ` · point ${t}`),
    el("hr"), categories);
  if (alive.length) tip.append(el("hr"), top);
  if (groups.length > 6)
    tip.append(el("div", {class: "soft"}, `and ${groups.length - 6} more`));
  tip.hidden = false;
  const room = chart.width - tip.offsetWidth - 8;
  const right = pixelX + 18;
  tip.style.left = Math.max(4, right > room ? pixelX - tip.offsetWidth - 18
                                            : right) + "px";
  tip.style.top = "34px";
}

function hover(t, pixelX) {
  chart.hover = t;
  if (t < 0) $("tip").hidden = true;
  else showTip(t, pixelX === undefined ? xOf(t + 0.5) : pixelX);
  overlay();
}

function pointAt(x) {
  const inner = chart.width - margin.left - margin.right;
  const i = Math.floor((x - margin.left) / inner * chart.samples.length);
  return chart.samples[Math.min(Math.max(i, 0), chart.samples.length - 1)]
    .index;
}

function drawLegend() {
  const legend = $("legend");
  const present = new Set(buffers.length ? buffers.map(b => b.category)
    : points.flatMap(p => (p.categories || []).flatMap((v, c) => v ? [c] : [])));
  const entry = (mark, text) => legend.append(el("span", {}, mark, text));
  const meaning = ["saved for backward, a band per layer",
    "gradients of activations", "temporaries", "workspace", "inputs",
    "outputs"];
  for (const c of [0, 1, 2, 3, 4, 5])
    if (present.has(c)) entry(swatch(colorOf(c)), meaning[c]);
  if (data.arena_bytes) entry(el("i", {class: "swatch line"}), "arena");
}

function setupTimeline() {
  if (!points.length) { canvas.closest("section").remove(); return; }
  drawLegend();
  const modes = [["stack", "by category"]];
  if (buffers.some(b => b.offset >= 0)) modes.push(["arena", "in the arena"]);
  if (modes.length > 1)
    for (const [mode, text] of modes) {
      const button = el("button", {type: "button",
        "aria-pressed": String(mode === chart.mode)}, text);
      button.addEventListener("click", () => {
        chart.mode = mode;
        for (const b of $("mode").children)
          b.setAttribute("aria-pressed", String(b === button));
        prepare();
      });
      $("mode").append(button);
    }
  canvas.addEventListener("pointermove", e =>
    hover(pointAt(e.offsetX), e.offsetX));
  canvas.addEventListener("pointerleave", () => hover(-1));
  canvas.addEventListener("blur", () => hover(-1));
  canvas.addEventListener("click", e => pin(pointAt(e.offsetX)));
  canvas.addEventListener("keydown", e => {
    const from = chart.hover < 0 ? Math.max(chart.pinned, 0) : chart.hover;
    const to = {ArrowLeft: from - 1, ArrowRight: from + 1,
      PageUp: from - 50, PageDown: from + 50, Home: peak}[e.key];
    if (e.key === "Enter") pin(from);
    if (to === undefined) return;
    e.preventDefault();
    hover(Math.min(Math.max(to, 0), points.length - 1));
  });
  new ResizeObserver(prepare).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change",
    prepare);
}

// ---- who is alive -----------------------------------------------------------

let aliveLimit = 15;
function pin(t) {
  chart.pinned = t;
  aliveLimit = 15;
  drawAlive();
  overlay();
}

/// Buffers that differ only in their layer, largest sum first.
function alike(list) {
  const groups = new Map();
  for (const b of list) {
    if (!b.kind) {
      b.stem = b.layer < 0 ? b.name : b.name.replace(
        new RegExp(`(?<![0-9])${b.layer}(?![0-9])`), "#");
      b.kind = JSON.stringify([b.stem, b.layer < 0, b.shape, b.dtype, b.bytes,
        b.category]);
    }
    if (!groups.has(b.kind))
      groups.set(b.kind, {...b, count: 0, in: new Set()});
    const g = groups.get(b.kind);
    g.count++;
    g.in.add(b.layer);
  }
  for (const g of groups.values()) {
    const layers = [...g.in].filter(l => l >= 0).sort((x, y) => x - y);
    const first = layers[0], last = layers[layers.length - 1];
    if (layers.length > 1) g.name = g.stem;
    g.layers = !layers.length ? "" : layers.length === 1 ? String(first)
      : last - first + 1 === layers.length ? `${first}–${last}`
      : `${layers.length} of ${first}–${last}`;
  }
  return [...groups.values()].sort((x, y) =>
    y.count * y.bytes - x.count * x.bytes);
}

function drawAlive() {
  const t = chart.pinned;
  if (!$("alive")) return; // removed: there are no buffers to list
  if (t < 0 || !buffers.length) {
    $("alive").closest("section").remove();
    return;
  }
  const p = points[t], all = aliveAt(t), groups = alike(all);
  $("alive-title").textContent = (t === peak ? "Alive at the peak: "
                                             : `Alive at point ${t}: `) + p.op;
  $("alive-where").textContent = `${bytes(p.live)} in ${all.length} buffers · `
    + `${phaseNames[p.phase]}${p.loc ? " · " + p.loc : ""}`;
  table($("alive"), ["buffer", "layers", "shape", "type", "each", "count", "sum",
    "share", "for"], groups.slice(0, aliveLimit).map(g => [
      el("span", {}, swatch(colorOf(g.category)), g.name), g.layers,
      g.shape, g.dtype, bytes(g.bytes), exact(g.count),
      el("span", {title: exact(g.count * g.bytes) + " bytes"},
        bytes(g.count * g.bytes)),
      (100 * g.count * g.bytes / p.live).toFixed(1) + " %",
      data.category_names[g.category]]),
    ["name", "", "", "", "number", "number", "number", "number", ""]);
  const more = $("alive-more");
  const left = groups.length - aliveLimit;
  more.hidden = left <= 0;
  more.textContent = left <= 200 ? `show ${left} more`
                                 : `show 200 more of ${left}`;
}

// ---- the graph of a layer ---------------------------------------------------

const svgName = "http://www.w3.org/2000/svg";
function svg(tag, attributes, text) {
  const e = document.createElementNS(svgName, tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  return e;
}
const shorten = s => s.length > 30 ? s.slice(0, 14) + "…" + s.slice(-14) : s;
const nodeHeight = 28, rowHeight = 66, nodeGap = 22;
const measure = (() => {
  const g = document.createElement("canvas").getContext("2d");
  g.font = "12px system-ui, 'DejaVu Sans', sans-serif";
  return text => g.measureText(text).width;
})();

/// Rows by longest path, an invisible node wherever an edge passes a row, and
/// an order within the rows by the mean of the neighbours (Sugiyama).
function layered(nodes, edges) {
  const inside = new Map(nodes.map(n => [n.id, {...n, outs: [], ins: [],
    row: 0, width: Math.max(56, measure(shorten(n.label)) + 22)}]));
  const order = topological(nodes, edges);
  const own = edges.filter(e => inside.has(e.from) && inside.has(e.to) &&
    order.get(e.from) < order.get(e.to));
  const sorted = [...inside.values()].sort((x, y) =>
    order.get(x.id) - order.get(y.id));
  for (const n of sorted)
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
  const choose = test => layered(graph.nodes.filter(test), graph.edges);
  const parts = [
    {...choose(n => n.phase === "forward" && !n.recomputed), down: 1,
     title: "forward ↓"},
    {...choose(n => n.recomputed), down: 1, title: "recomputed ↓"},
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
      x += labels.length ? 96 + Math.max(...labels.map(k => measure(k.text)))
                         : 40;
  });
  const root = svg("svg", {width: x + 12, height,
    viewBox: `-4 0 ${x + 12} ${height}`, role: "img",
    "aria-label": `Graph of ${graph.name}`});
  const under = svg("g", {}), over = svg("g", {}), lines = [];
  root.append(under, over);
  parts.forEach((p, i) => {
    root.append(svg("text", {class: "cap", x: p.left, y: 14}, p.title));
    drawEdges(p, p.down, under, over, lines);
    drawCrossing(crossing.filter(k => k.part === i), p.right, height, under,
      over, lines);
  });
  for (const p of parts)
    for (const n of p.inside.values()) over.append(nodeBox(n, p, lines));
  $("graph").replaceChildren(root);
}

function nodeBox(n, part, lines) {
  const box = svg("g", {class: "box"});
  const kind = part.down < 0 ? " back" : n.recomputed ? " again" : "";
  box.append(svg("rect", {class: "node" + kind,
    x: n.x - n.width / 2, y: n.y - nodeHeight / 2, width: n.width,
    height: nodeHeight, rx: 6}),
    svg("text", {x: n.x, y: n.y + 4, "text-anchor": "middle"},
      shorten(n.label)), svg("title", {}, n.label));
  // Pointing at an operation leaves only its own edges.
  box.addEventListener("pointerenter", () => lines.forEach(l =>
    l.element.classList.toggle("faded", !l.ends.includes(n.id))));
  box.addEventListener("pointerleave", () => lines.forEach(l =>
    l.element.classList.remove("faded")));
  return box;
}

/// down: 1 for forward, -1 for backward, which runs up.
function drawEdges(part, down, under, over, lines) {
  const labelled = new Set();
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
    if (labelled.has(key) || !edge.bytes) continue;
    labelled.add(key);
    // Where neighbouring edges are apart: at the reader if the source makes
    // several values, else at the source.
    const several = new Set(part.paths.filter(p => p.edge.from === edge.from)
      .map(p => p.edge.label)).size > 1;
    const [p, q] = several ? list.slice(-2) : list;
    const t = several ? 0.72 : 0.28, u = 1 - t;
    const text = svg("text", {class: "bytes", "text-anchor": "middle",
      x: p.x + (q.x - p.x) * (3 * t * t - 2 * t * t * t),
      y: p.y + (q.y - p.y) * (1.5 * t * u + t * t * t) + 4},
      brief(edge.bytes));
    over.append(text);
    lines.push({element: text, ends: [edge.from, edge.to]});
  }
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

function drawCrossing(values, left, height, under, over, lines) {
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
    const text = svg("text", {class: k.saved ? "keep" : "bytes", x: textAt,
      y: k.y + 4}, k.text);
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

drawHead();
setupTimeline();
drawAlive();
$("alive-more") && $("alive-more").addEventListener("click", () => {
  aliveLimit += 200;
  drawAlive();
});
drawFormulas();
drawLayers();
drawSaved();
setupGraph();
