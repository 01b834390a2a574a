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
    ["outputs", data.outputs_bytes],
    ["total peak", data.total_peak_bytes, "", true],
    ...(data.allocator ? [
      ["allocated", data.allocated_peak_bytes, "by blocks, at the peak"],
      ["reserved", data.reserved_peak_bytes, (100 *
        data.allocator.fragmentation).toFixed(2) + " % never in use", true],
      ...(data.allocator.fits === null ? [] :
        [["the card", data.allocator.device_memory_bytes, data.allocator.fits
          ? "is enough" : exceededText(data.allocator.exceeded)]])] : []),
    ...(data.scratch_bytes_per_thread === null ? [] :
      [["scratch of each thread", data.scratch_bytes_per_thread,
        "beside the total"]])];
  for (const [what, value, note, main] of tiles.filter(t => t[1] !== null))
    $("totals").append(el("div", {class: main ? "tile main" : "tile"},
      el("div", {class: "what"}, what), el("div", {class: "value"},
        bytes(value)),
      el("div", {class: "exact"}, exact(value) + " bytes"),
      note ? el("div", {class: "exact"}, note) : null));
  if (data.flops !== null)
    $("totals").append(el("div", {class: "tile"},
      el("div", {class: "what"}, "FLOPs of a step"),
      el("div", {class: "value"}, count(data.flops)),
      el("div", {class: "exact"},
        `${count(data.recomputed_flops)} recomputed (${share.toFixed(1)} %)`)));
  if (data.launches)
    $("totals").append(el("div", {class: "tile"},
      el("div", {class: "what"}, "kernels launched"),
      el("div", {class: "value"}, exact(data.launches)),
      el("div", {class: "exact"}, `at least ${bytes(data.least_bytes)} moved`),
      data.target ? el("div", {class: "exact"}, `${movedText(data)} by blocks for ` +
        data.target) : null,
      data.scratch_bytes ? el("div", {class: "exact"},
        `${bytes(data.scratch_bytes)} behind the arena for parts of small products`) : null));
  $("notes").append(...data.notes.map(n => el("p", {}, n)));
  if (!data.notes.length) $("notes").remove();
}

/// What the blocks of a step's or a layer's kernels move.
function movedText(of) {
  return of.block_bytes === null ? "memory decides what" : bytes(of.block_bytes);
}

function exceededText(e) {
  if (e.index === null) return "is exceeded before the step";
  return `is exceeded at ${e.op}${e.layer === null ? "" : " in layer " +
    e.layer} (${e.phase}), point ${e.index}`;
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
    const shown = f.candidates.slice(0, f.shown);
    const hidden = f.candidates.length - shown.length;
    if (shown.length === 1) dd.append(shown[0]);
    else {
      const worth = shown.map(evaluate), most = Math.max(...worth);
      dd.append("the largest of");
      shown.forEach((c, i) => dd.append(el("span",
        {class: worth[i] === most ? "candidate wins" : "candidate"},
        c + (worth[i] === most ? "  ← here" : ""))));
    }
    if (f.alignment_bytes)
      dd.append(` + ${exact(f.alignment_bytes)} (alignment)`);
    if (hidden)
      dd.append(el("span", {class: "candidate"},
        `(${hidden} more for other widths than these, in the JSON)`));
    list.append(el("dt", {}, title), dd);
  };
  add("retained", data.formulas.retained);
  add("peak", data.formulas.peak);
  for (const [what, field] of [["retained", "retained_formula"],
                               ["peak", "peak_formula"]]) {
    const same = new Map();
    for (const g of layerGroups()) {
      const key = JSON.stringify([g.layer.name, g.layer[field]]);
      if (!same.has(key)) same.set(key, {formula: g.layer[field], where: []});
      const where = same.get(key).where;
      where.push(where.length ? g.text.slice(g.layer.name.length + 1) : g.text);
    }
    for (const {formula, where} of same.values())
      add(`${what}, ${where.join(", ")}`, formula);
  }
  if (!list.children.length) $("formulas-section").remove();
}

// ---- layers and saved values ------------------------------------------------

/// Equal consecutive layers are one row.
function layerGroups() {
  const key = l => JSON.stringify([l.name, l.variant, l.retained_bytes,
    l.recomputed_flops, l.launches, l.least_bytes, l.block_bytes,
    l.retained_formula, l.peak_formula]);
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
  const own = data.flops !== null; // not of a framework
  table($("layers"),
    ["layers", "policy", "retained each", "all of them",
     ...(own ? ["recomputed FLOPs", "kernels", "least moved"] : []),
     ...(data.target ? ["moved by blocks"] : []), "retained formula"],
    layerGroups().map(g => [g.text, g.layer.variant || "",
      bytes(g.layer.retained_bytes), bytes(g.layer.retained_bytes * g.count),
      ...(own ? [count(g.layer.recomputed_flops), g.layer.launches,
        bytes(g.layer.least_bytes)] : []),
      ...(data.target ? [movedText(g.layer)] : []), g.layer.formula || "–"]),
    ["name", "", ...Array(2 + (own ? 3 : 0) + (data.target ? 1 : 0))
      .fill("number"), "formula"]);
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
  const most = groups.reduce((x, y) => !x || y.layer.retained_bytes >
    x.layer.retained_bytes ? y : x, null);
  if (most) select.value = most.from;
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

// ---- all of it: called when every script has been read -----------------------

function start() {
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
}
