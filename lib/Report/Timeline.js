// ---- the timeline -----------------------------------------------------------

const canvas = $("timeline");
const chart = {mode: "stack", hover: -1, pinned: peak, samples: [], bands: []};
const margin = {left: 74, right: 14, top: 26, bottom: 44};

/// What is there during the whole step, beside what the points are about. Bytes
/// that a report does not know are null; of one whose total is another sum
/// nothing is drawn.
const knownParts = [["weights", data.parameters_bytes, "weights"],
  ["gradients of weights", data.gradients_bytes, "weight-gradients"],
  ["optimizer states", data.optimizer_bytes, "states"],
  ["inputs", data.inputs_bytes, "input"],
  ["outputs", data.outputs_bytes, "output"]].filter(([, b]) => b)
  .map(([name, bytes, color]) => ({name, bytes, color}));
const sumOf = list => list.reduce((sum, part) => sum + part.bytes, 0);
const standing =
  sumOf(knownParts) + data.peak_bytes === data.total_peak_bytes ? knownParts
                                                                : [];
const standingBytes = sumOf(standing);
/// Where the points' bytes begin in the drawing at hand.
const baseBytes = () => chart.mode === "whole" ? standingBytes : 0;

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
  chart.top = Math.max(...(chart.mode === "allocator"
    ? [data.reserved_peak_bytes, data.allocator.device_memory_bytes || 0]
    : [data.arena_bytes, data.peak_bytes].map(b => b + baseBytes())), 1) * 1.04;
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
  const allocator = chart.mode === "allocator";
  if (allocator) paintAllocator(g);
  else if (chart.mode === "arena") paintArena(g); else paintStack(g);
  paintPhases(g, floor);
  if (allocator) return;
  if (data.arena_bytes) {
    g.setLineDash([5, 4]);
    g.strokeStyle = color("soft");
    g.beginPath();
    const y = yOf(data.arena_bytes + baseBytes());
    g.moveTo(margin.left, y);
    g.lineTo(width - margin.right, y);
    g.stroke();
    g.setLineDash([]);
  }
  if (peak >= 0) paintPeak(g);
}

function paintStack(g) {
  if (chart.mode === "whole") {
    let below = 0;
    for (const s of standing) {
      const y = yOf(below += s.bytes);
      g.fillStyle = color(s.color);
      g.fillRect(xOf(0), y, xOf(points.length) - xOf(0),
        yOf(below - s.bytes) - y);
    }
  }
  const base = new Float64Array(chart.samples.length).fill(baseBytes());
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

/// Allocated as an area, reserved as a line above it, the card as a dashed one.
/// All that is there counts, parameters too.
function paintAllocator(g) {
  const most = (curve, s) => {
    let m = 0;
    for (let t = s.from; t < s.to; t++) m = Math.max(m, curve[t]);
    return m;
  };
  const steps = curve => chart.samples.forEach((s, i) => {
    const y = yOf(most(curve, s));
    if (!i) g.moveTo(xOf(s.from), y); else g.lineTo(xOf(s.from), y);
    g.lineTo(xOf(s.to), y);
  });
  g.fillStyle = color("saved-a");
  g.beginPath();
  steps(data.allocated);
  g.lineTo(xOf(points.length), yOf(0));
  g.lineTo(xOf(0), yOf(0));
  g.closePath();
  g.fill();
  g.strokeStyle = color("accent");
  g.lineWidth = 1.5;
  g.beginPath();
  steps(data.reserved);
  g.stroke();
  g.lineWidth = 1;
  g.fillStyle = color("soft");
  g.textAlign = "left";
  g.fillText("allocated (area) and reserved (line), parameters too",
    margin.left + 6, margin.top - 14);
  const card = data.allocator.device_memory_bytes;
  if (!card) return;
  g.setLineDash([5, 4]);
  g.strokeStyle = color("text");
  g.beginPath();
  g.moveTo(margin.left, yOf(card));
  g.lineTo(chart.width - margin.right, yOf(card));
  g.stroke();
  g.setLineDash([]);
  g.fillStyle = color("text");
  g.fillText(`the card, ${bytes(card)}`, margin.left + 6, yOf(card) - 9);
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
  const x = xOf(peak + 0.5), y = yOf(points[peak].live + baseBytes());
  g.strokeStyle = g.fillStyle = color("accent");
  g.beginPath();
  g.moveTo(x, y);
  g.lineTo(x, margin.top - 6);
  g.stroke();
  g.beginPath();
  g.arc(x, y, 4, 0, 7);
  g.fill();
  const text = `peak ${bytes(points[peak].live + baseBytes())}, ` +
    points[peak].op;
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
    ...(standingBytes ? [el("div", {class: "soft"},
      `beside ${bytes(standingBytes)} of weights and the like`)] : []),
    ...(data.allocator ? [el("div", {}, bytes(data.allocated[t]) +
      ` allocated · ${bytes(data.reserved[t])} reserved`)] : []),
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

/// The total peak on a scale of its own: what stands, and the peak above.
function drawWhole() {
  if (!standingBytes || !data.peak_bytes) { $("whole").remove(); return; }
  const parts = [...standing, {name: "peak of activations",
    bytes: data.peak_bytes, color: "saved-a"}];
  const total = sumOf(parts);
  const share = p => (100 * p.bytes / total).toFixed(1) + " %";
  const legend = el("div", {class: "legend"});
  const bar = el("div", {class: "pieces", role: "img",
    "aria-label": "The parts of the total peak"});
  for (const p of parts) {
    bar.append(el("i", {title: `${p.name}: ${exact(p.bytes)} bytes`,
      style: `width: ${100 * p.bytes / total}%; background: var(--${p.color})`}));
    if (p.bytes * 1000 > total)
      legend.append(el("span", {}, swatch(p.color),
        `${p.name}, ${bytes(p.bytes)} (${share(p)})`));
  }
  $("whole").append(`The total peak, ${bytes(total)}; the drawing below is of ` +
    "its activations", bar, legend);
}

function setupTimeline() {
  if (!points.length) { canvas.closest("section").remove(); return; }
  drawLegend();
  drawWhole();
  const modes = [["stack", "by category"]];
  if (standingBytes) modes.push(["whole", "with the weights"]);
  if (buffers.some(b => b.offset >= 0)) modes.push(["arena", "in the arena"]);
  if (data.allocator) modes.push(["allocator", "by the allocator"]);
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
