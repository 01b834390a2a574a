// SPDX-License-Identifier: Apache-2.0
//
// The report as text for a terminal. Names come from files, so what is not
// printable is replaced.
#include "act/Report/MemoryReport.h"
#include <algorithm>
#include <fmt/format.h>

namespace act::report {

std::string humanBytes(int64_t bytes) {
  static const char *const units[] = {"B",   "KiB", "MiB", "GiB",
                                      "TiB", "PiB", "EiB"};
  double value = double(bytes);
  size_t unit = 0;
  for (; value >= 1024 || value <= -1024; value /= 1024)
    ++unit;
  return unit == 0 ? fmt::format("{} B", bytes)
                   : fmt::format("{:.2f} {}", value, units[unit]);
}

std::string humanCount(uint64_t count) {
  return count < 100'000 ? fmt::format("{}", count)
                         : fmt::format("{:.3g}", double(count));
}

namespace {

using Rows = std::vector<std::vector<std::string>>;

/// Terminal columns of UTF-8 text, one per code point.
size_t columns(const std::string &s) {
  return std::count_if(s.begin(), s.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  });
}

/// A name from a file must not move the cursor or end the line.
std::string printable(std::string s) {
  for (char &c : s)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = '?';
  return s;
}

/// First row is the head. `align` has '<' or '>' per column.
std::string table(const Rows &rows, const std::string &align) {
  std::vector<size_t> widths(align.size());
  for (const auto &row : rows)
    for (size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], columns(row[c]));
  std::string out;
  auto line = [&](const std::vector<std::string> &row) {
    std::string text = " ";
    for (size_t c = 0; c < row.size(); ++c) {
      std::string pad(widths[c] - columns(row[c]), ' ');
      text += " " + (align[c] == '>' ? pad + row[c] : row[c] + pad) + " ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    line(rows[i]);
    if (i > 0)
      continue;
    std::vector<std::string> rule;
    for (size_t w : widths) {
      rule.emplace_back();
      for (size_t k = 0; k < w; ++k)
        rule.back() += "─";
    }
    line(rule);
  }
  return out;
}

std::string exact(int64_t bytes) {
  std::string digits = std::to_string(bytes);
  for (int at = int(digits.size()) - 3; at > (bytes < 0 ? 1 : 0); at -= 3)
    digits.insert(at, ",");
  return digits;
}

std::string shapeText(const std::vector<int64_t> &shape,
                      const std::string &dtype) {
  std::string text;
  for (int64_t d : shape)
    text += std::to_string(d) + "x";
  return text + dtype;
}

std::string formulaText(const Formula &f) {
  if (!f.known)
    return "-";
  std::string text = f.bytes.isPolynomial() || f.shownCount() > 1
                         ? f.bytes.str()
                         : f.bytes.candidates().front().str();
  if (f.alignmentBytes)
    text += " + " + exact(f.alignmentBytes) + " (alignment)";
  return text;
}

/// "2.25 GiB, 1.94 times the least"; `least` is the minimum traffic.
std::string moved(std::optional<int64_t> bytes, int64_t least) {
  if (!bytes)
    return "an amount that depends on the data";
  return fmt::format("{}, {:.2f} times the least", humanBytes(*bytes),
                     double(*bytes) / double(std::max<int64_t>(least, 1)));
}

/// The layer with the most kernels stands for the others.
std::string launches(const MemoryReport &r) {
  if (r.launches == 0)
    return "";
  std::string text = fmt::format("  kernels launched {}, at least {} moved",
                                 r.launches, humanBytes(r.leastBytes));
  const Layer *most = nullptr;
  for (const Layer &l : r.layers)
    if (!most || l.launches > most->launches)
      most = &l;
  if (most)
    text += fmt::format("; of a layer {}, {}", most->launches,
                        humanBytes(most->leastBytes));
  text += "\n";
  if (r.seconds)
    text += fmt::format("  on {} estimated to take {:.4g} ms\n", r.card,
                        *r.seconds * 1e3);
  if (r.target.empty())
    return text;
  text += fmt::format("  blocks for {} move {}", r.target,
                      moved(r.blockBytes, r.leastBytes));
  if (most)
    text += "; of a layer " + moved(most->blockBytes, most->leastBytes);
  text += "\n";
  if (r.scratchBytes.value_or(0))
    text += fmt::format(
        "  parts of small products need {} ({} bytes) behind the arena\n",
        humanBytes(*r.scratchBytes), exact(*r.scratchBytes));
  if (r.tensorMapBytes.value_or(0))
    text += fmt::format(
        "  tensor maps of the launches take {} ({} bytes) on the host\n",
        humanBytes(*r.tensorMapBytes), exact(*r.tensorMapBytes));
  return text;
}

std::string totals(const MemoryReport &r) {
  Rows rows = {{"memory", "", "bytes", ""}};
  auto add = [&](const char *what, int64_t bytes, const std::string &note) {
    rows.push_back({what, humanBytes(bytes), exact(bytes), note});
  };
  add("retained for backward", r.retainedBytes, "");
  add("peak of activations", r.peakBytes, "");
  // The lower bound is the most bytes alive at one time. No placement goes
  // below it, so the excess is what the planner loses.
  std::string over;
  if (r.lowerBoundBytes > 0)
    over = fmt::format("{:.2f} % above the bound",
                       100.0 * double(r.arenaBytes - r.lowerBoundBytes) /
                           double(r.lowerBoundBytes));
  if (r.view == "act") { // other views have no plan
    add("arena (planned)", r.arenaBytes, over);
    add("lower bound", r.lowerBoundBytes, "");
  }
  if (r.offload) {
    const Offload &o = *r.offload;
    add("arena on the host", o.arenaBytes, "");
    add("moved there and back", o.movedBytes,
        fmt::format(
            "{:.3f} ms at {:.4g} GB/s, {}", 1e3 * o.copySeconds,
            o.linkBytesPerSecond / 1e9,
            o.hidden()
                ? std::string("hidden behind compute")
                : fmt::format(
                      "{:.3f} ms of it not hidden behind {:.3f} ms of compute",
                      1e3 * o.waitSeconds, 1e3 * o.computeSeconds)));
  }
  add("parameters", r.parametersBytes, "");
  add("parameter gradients", r.gradientsBytes, "");
  if (r.view == "act" || r.optimizerBytes)
    add("optimizer state", r.optimizerBytes, "");
  add("inputs", r.inputsBytes, "");
  if (r.view == "act")
    add("outputs", r.outputsBytes, "");
  add("total peak", r.totalPeakBytes, "");
  if (r.replay) {
    add("allocated, at the peak", r.replay->allocatedPeakBytes, "by blocks");
    add("reserved, at the peak", r.replay->reservedPeakBytes,
        fmt::format("{:.2f} % never in use", 100 * r.replay->fragmentation()));
  }
  if (r.scratchBytesPerThread)
    add("scratch of each thread", *r.scratchBytesPerThread, "beside the above");
  std::string text = table(rows, "<>><");
  if (r.view == "torch")
    return text;
  std::string share =
      r.flops == 0
          ? ""
          : fmt::format(" ({:.1f} %)",
                        100.0 * double(r.recomputedFlops) / double(r.flops));
  text +=
      fmt::format("\n  FLOPs of a step {}, recomputed {}{}\n",
                  humanCount(r.flops), humanCount(r.recomputedFlops), share);
  return text + launches(r);
}

bool sameRow(const Layer &x, const Layer &y) {
  return x.name == y.name && x.variant == y.variant &&
         x.retainedBytes == y.retainedBytes &&
         x.recomputedFlops == y.recomputedFlops &&
         formulaText(x.retained) == formulaText(y.retained);
}

/// Equal consecutive layers are one row.
std::string layerTable(const MemoryReport &r) {
  bool plain = r.view != "act"; // FLOPs and formulas only for act's program
  Rows rows = {{"layers", "policy", "retained each", "all"}};
  if (!plain)
    rows[0].insert(rows[0].end(), {"recomputed FLOPs", "retained formula"});
  for (size_t i = 0; i < r.layers.size();) {
    size_t j = i + 1;
    while (j < r.layers.size() && sameRow(r.layers[i], r.layers[j]))
      ++j;
    const Layer &l = r.layers[i];
    std::string which =
        j - i == 1 ? fmt::format("{}", l.index)
                   : fmt::format("{}..{}", l.index, r.layers[j - 1].index);
    int64_t all = 0;
    for (size_t k = i; k < j; ++k)
      all += r.layers[k].retainedBytes;
    rows.push_back({printable(l.name) + " " + which, printable(l.variant),
                    humanBytes(l.retainedBytes), humanBytes(all)});
    if (!plain)
      rows.back().insert(rows.back().end(), {humanCount(l.recomputedFlops),
                                             formulaText(l.retained)});
    i = j;
  }
  return table(rows, plain ? "<<>>" : "<<>>><");
}

/// The layer shown for all: the one that saves most.
int typicalLayer(const MemoryReport &r) {
  const Layer *most = nullptr;
  for (const Layer &l : r.layers)
    if (!most || l.retainedBytes > most->retainedBytes)
      most = &l;
  return most ? most->index : noLayer;
}

/// The largest values first. Equal ones keep the report's order: the pointers
/// point into one vector.
std::string savedTable(const MemoryReport &r, int layer) {
  bool plain = r.view != "act";
  Rows rows = {{plain ? "node and value" : "value", "type", "", "bytes"}};
  if (!plain)
    rows[0].push_back("formula");
  std::vector<const SavedValue *> values;
  for (const SavedValue &v : r.saved)
    if (v.layer == layer)
      values.push_back(&v);
  if (values.empty())
    return "";
  std::sort(values.begin(), values.end(), [](auto *x, auto *y) {
    return x->bytes != y->bytes ? x->bytes > y->bytes : x < y;
  });
  for (const SavedValue *v : values)
    rows.push_back(
        {printable(v->node.empty() ? v->name : v->node + "." + v->name),
         shapeText(v->shape, v->dtype), humanBytes(v->bytes), exact(v->bytes)});
  if (!plain)
    for (size_t i = 0; i < values.size(); ++i)
      rows[i + 1].push_back(printable(values[i]->formula));
  return table(rows, plain ? "<<>>" : "<<>><");
}

/// The name, with the first occurrence of the layer's number replaced by "#".
std::string withoutLayer(const Buffer &b) {
  auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  const std::string number = std::to_string(b.layer);
  if (b.layer == noLayer)
    return b.name;
  // The digits must stand alone: layer 1 is not in "layers.12".
  for (size_t at = 0; (at = b.name.find(number, at)) != std::string::npos;
       ++at) {
    size_t end = at + number.size();
    if ((at == 0 || !isDigit(b.name[at - 1])) &&
        (end == b.name.size() || !isDigit(b.name[end])))
      return b.name.substr(0, at) + "#" + b.name.substr(end);
  }
  return b.name;
}

/// Values of the same kind in different layers are one row: "x 32".
std::string peakTable(const MemoryReport &r, size_t limit) {
  struct Group {
    const Buffer *example;
    size_t count = 0;
    int64_t bytes = 0;
  };
  std::vector<Group> groups;
  std::map<std::string, size_t> byKey;
  for (const Buffer &b : r.peakAt.alive) {
    std::string stem = withoutLayer(b);
    std::string key = fmt::format("{}\n{}\n{}\n{}", stem, b.bytes,
                                  name(b.category), b.layer == noLayer);
    auto [it, isNew] = byKey.emplace(key, groups.size());
    if (isNew)
      groups.push_back({&b});
    ++groups[it->second].count;
    groups[it->second].bytes += b.bytes;
  }
  std::sort(groups.begin(), groups.end(), [](const Group &x, const Group &y) {
    return x.bytes != y.bytes ? x.bytes > y.bytes : x.example < y.example;
  });
  Rows rows = {{"alive there", "type", "", "count", "sum", "for"}};
  size_t shown = std::min(limit, groups.size());
  for (size_t i = 0; i < shown; ++i) {
    const Group &g = groups[i];
    rows.push_back(
        {printable(g.count == 1 ? g.example->name : withoutLayer(*g.example)),
         shapeText(g.example->shape, g.example->dtype),
         humanBytes(g.example->bytes),
         g.count == 1 ? "" : fmt::format("x {}", g.count), humanBytes(g.bytes),
         name(g.example->category)});
  }
  std::string text = table(rows, "<<>>><");
  int64_t rest = 0;
  for (size_t i = shown; i < groups.size(); ++i)
    rest += groups[i].bytes;
  if (rest)
    text += fmt::format("  and {} more, {}\n", groups.size() - shown,
                        humanBytes(rest));
  return text;
}

/// A max has a line for each candidate.
std::string peakText(const MemoryReport &r) {
  const auto &candidates = r.peak.bytes.candidates();
  size_t shown = r.peak.shownCount();
  std::string text;
  if (shown == 1) {
    text = formulaText(r.peak) + "\n";
  } else {
    auto winner = r.peak.bytes.winner(r.letters);
    text = "the largest of\n";
    for (size_t i = 0; i < shown; ++i)
      text += fmt::format("             {}{}\n", candidates[i].str(),
                          winner && *winner == i ? "  <- here" : "");
    if (r.peak.alignmentBytes)
      text +=
          "             + " + exact(r.peak.alignmentBytes) + " (alignment)\n";
  }
  if (shown < candidates.size())
    text += fmt::format("             ({} more for other widths than these, in "
                        "the JSON)\n",
                        candidates.size() - shown);
  return text;
}

std::string formulas(const MemoryReport &r) {
  std::string text;
  if (r.retained.known)
    text += "  retained = " + formulaText(r.retained) + "\n";
  if (r.peak.known) {
    text += "  peak     = " + peakText(r);
  }
  if (!text.empty() && !r.letters.empty()) {
    text += "  with";
    symbolic::Letters left = r.letters;
    for (const std::string &letter : symbolic::defaultOrder())
      if (auto it = left.find(letter); it != left.end()) {
        text += fmt::format(" {} = {}", letter, it->second);
        left.erase(it);
      }
    for (const auto &[letter, value] : left)
      text += fmt::format(" {} = {}", letter, value);
    text += "\n";
  }
  std::string conditions;
  for (const MemoryReport::Condition &c : r.conditions)
    conditions += (conditions.empty() ? "  for " : "; ") + printable(c.text);
  if (!text.empty() && !conditions.empty())
    text += conditions + "\n";
  return text;
}

/// "point 12 of 40, mm in layer 3 (backward)"
std::string pointText(const MemoryReport &r, int64_t index) {
  const TimelinePoint &p = r.timeline[index];
  return fmt::format(
      "point {} of {}, {}{} ({}){}", index, r.timeline.size(), printable(p.op),
      p.layer == noLayer ? "" : fmt::format(" in layer {}", p.layer),
      name(p.phase), p.loc.empty() ? "" : ", " + printable(p.loc));
}

std::string allocatorText(const MemoryReport &r) {
  if (!r.replay || r.timeline.empty())
    return "";
  const AllocatorReplay &a = *r.replay;
  std::string text =
      fmt::format("\nAllocator {}{}\n", printable(a.allocator),
                  a.settings.empty() ? "" : ", " + printable(a.settings));
  text +=
      fmt::format("  allocated {} at {}\n", humanBytes(a.allocatedPeakBytes),
                  pointText(r, a.allocatedPeakAt));
  text += fmt::format(
      "    of that {} by rounding up; {} beside it cannot be given back\n",
      humanBytes(a.allocatedPeakBytes - a.requestedBytes),
      humanBytes(a.inactiveSplitBytes));
  text += fmt::format("  reserved {} at {}\n", humanBytes(a.reservedPeakBytes),
                      pointText(r, a.reservedPeakAt));
  if (!a.deviceBytes)
    return text;
  text += fmt::format("  a card of {} bytes ({}) ", exact(*a.deviceBytes),
                      humanBytes(*a.deviceBytes));
  if (!a.exceeded) {
    std::string times =
        a.retries == 1 ? "once" : fmt::format("{} times", a.retries);
    return text + "is enough" +
           (a.retries ? ", after cached segments were given back " + times
                      : "") +
           "\n";
  }
  std::string where =
      a.exceeded->index < 0
          ? "before the step, by parameters and what stays beside them"
          : "at " + pointText(r, a.exceeded->index);
  return text +
         fmt::format(
             "is exceeded\n    {}\n    {} asked for, {} allocated and {} "
             "reserved by then; the above is of a card with room\n",
             where, humanBytes(a.exceeded->requestedBytes),
             humanBytes(a.exceeded->allocatedBytes),
             humanBytes(a.exceeded->reservedBytes));
}

/// A line for each policy: what fits, and how full the GPU is then.
std::string whatIfText(const MemoryReport &r) {
  if (!r.whatIf)
    return "";
  const std::vector<PolicyFit> &policies = r.whatIf->policies;
  bool reserved = !r.whatIf->allocator.empty();
  Rows rows = {{"policy"}};
  std::string align = "<";
  for (const LargestFit &l : policies.front().largest) {
    rows[0].push_back(l.letter == "b" ? "largest b" : "longest " + l.letter);
    rows[0].push_back(reserved ? "reserved" : "total peak");
    align += ">>";
  }
  for (const PolicyFit &p : policies) {
    rows.push_back({printable(p.policy)});
    for (const LargestFit &l : p.largest) {
      rows.back().push_back(l.size ? std::to_string(l.size) : "none");
      rows.back().push_back(
          l.size ? exact(reserved ? l.reserved : l.bytes)
          : l.nextBytes
              ? fmt::format("{} takes {}", l.step,
                            exact(reserved ? l.nextReserved : *l.nextBytes))
              : "");
    }
  }
  std::string budgets;
  for (const LargestFit &l : policies.back().largest) {
    if (l.again)
      budgets += fmt::format("  a budget of the card at {} = {}: recompute "
                             "+{:.2f} %\n",
                             l.letter, l.size, *l.again);
    if (l.cut)
      budgets += fmt::format("  budgets are searched up to {} tokens, so not "
                             "for a larger {}\n",
                             exact(mostBudgetTokens), l.letter);
  }
  std::string others;
  for (const LargestFit &l : policies.front().largest)
    if (auto it = r.letters.find(l.letter); it != r.letters.end())
      others += fmt::format(
          "{}{} = {}{}", others.empty() ? "" : ", ", l.letter, it->second,
          l.step > 1 ? fmt::format(" (in steps of {})", l.step) : "");
  return fmt::format("\nWhat fits on a card of {} bytes ({}), changing one "
                     "of {}{}\n",
                     exact(r.whatIf->deviceBytes),
                     humanBytes(r.whatIf->deviceBytes), others,
                     reserved ? fmt::format("; reserved by {} on a card of any "
                                            "size",
                                            printable(r.whatIf->allocator))
                              : "") +
         table(rows, align) + budgets;
}

std::string peakLine(const MemoryReport &r) {
  if (r.peakAt.index < 0 || r.peakAt.index >= int64_t(r.timeline.size()))
    return "";
  const TimelinePoint &p = r.timeline[r.peakAt.index];
  return fmt::format("Peak: {} at point {} of {}, {} ({}){}\n",
                     humanBytes(p.liveBytes), r.peakAt.index, r.timeline.size(),
                     printable(p.op), name(p.phase),
                     p.loc.empty() ? "" : ", " + printable(p.loc));
}

} // namespace

std::string toText(const MemoryReport &r) {
  std::string text =
      fmt::format("{} @{}, view {}\n\n{}", printable(r.model),
                  printable(r.function), printable(r.view), totals(r));
  text += allocatorText(r);
  text += whatIfText(r);
  if (std::string f = formulas(r); !f.empty())
    text += "\nFormulas, in bytes\n" + f;
  if (!r.layers.empty())
    text += "\n" + layerTable(r);
  int layer = typicalLayer(r);
  if (layer != noLayer)
    if (std::string s = savedTable(r, layer); !s.empty())
      text += fmt::format("\nSaved for backward in layer {}\n{}", layer, s);
  if (std::string s = savedTable(r, noLayer); !s.empty())
    text += "\nSaved for backward outside of the layers\n" + s;
  if (std::string p = peakLine(r); !p.empty())
    text += "\n" + p + (r.peakAt.alive.empty() ? "" : peakTable(r, 12));
  for (const std::string &note : r.notes)
    text += "\nnote: " + printable(note);
  return text + (r.notes.empty() ? "" : "\n");
}

} // namespace act::report
