// SPDX-License-Identifier: Apache-2.0
//
// The page holds the report as JSON and draws it in the browser. All
// user-supplied names go through JSON into textContent, so they are never
// parsed as markup.
#include "lib/Report/Html.h"
#include "Page.h"
#include "lib/Report/Json.h"
#include <fmt/format.h>
#include <unordered_map>

namespace act::report {

std::string escaped(const std::string &text) {
  std::string out;
  for (char c : text)
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += c;
    }
  return out;
}

namespace {

/// Strings by number: op names and shapes repeat thousands of times.
class StringTable {
public:
  size_t add(const std::string &s) {
    auto [it, isNew] = numbers.emplace(s, strings.size());
    if (isNew)
      strings.push_back(s);
    return it->second;
  }
  std::vector<std::string> strings;

private:
  std::unordered_map<std::string, size_t> numbers;
};

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t d : shape)
    text += (text.empty() ? "" : "×") + std::to_string(d);
  return text;
}

/// Rows instead of objects: a third of the size.
Json pageData(const MemoryReport &r) {
  StringTable table;
  Json points = Json::array(), buffers = Json::array();
  for (const TimelinePoint &p : r.timeline) {
    Json row = {table.add(p.op), table.add(p.loc), p.liveBytes, size_t(p.phase),
                p.layer};
    if (r.buffers.empty())
      row.push_back(p.categories);
    points.push_back(std::move(row));
  }
  for (const Buffer &b : r.buffers)
    buffers.push_back({table.add(b.name), table.add(shapeText(b.shape)),
                       table.add(b.dtype), b.bytes, b.layer, size_t(b.category),
                       b.first, b.last, b.offset});
  Json data = summaryJson(r);
  data["peak_index"] = r.peakAt.index;
  Json names = Json::array();
  for (size_t c = 0; c < categoryCount; ++c)
    names.push_back(name(Category(c)));
  data["category_names"] = names;
  if (r.replay) {
    data["allocated"] = r.replay->allocated;
    data["reserved"] = r.replay->reserved;
  }
  data["points"] = points;
  data["buffers"] = buffers;
  data["strings"] = table.strings;
  return data;
}

/// Escapes "<", which alone can end a script element or begin a comment in it.
std::string scriptSafe(const std::string &json) {
  std::string out;
  for (char c : json)
    out += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return out;
}

/// Fills in the marks in one pass, so that a value that looks like a mark is
/// left alone.
std::string
fill(std::string_view page,
     const std::vector<std::pair<std::string, std::string>> &values) {
  std::string out;
  while (!page.empty()) {
    size_t mark = page.find("{{");
    out += page.substr(0, mark);
    if (mark == std::string_view::npos)
      break;
    page.remove_prefix(mark);
    bool found = false;
    for (const auto &[key, value] : values)
      if (page.substr(0, key.size()) == key) {
        out += value;
        page.remove_prefix(key.size());
        found = true;
        break;
      }
    if (!found) {
      out += page[0];
      page.remove_prefix(1);
    }
  }
  return out;
}

/// The plot, and the figures as a table.
std::string whatIf(const MemoryReport &r) {
  if (!r.whatIf)
    return "";
  const WhatIf &w = *r.whatIf;
  bool reserved = !w.allocator.empty();
  std::string head, body, steps;
  for (const LargestFit &l : w.policies.front().largest)
    if (l.step > 1)
      steps += fmt::format(", {} in steps of {}", escaped(l.letter), l.step);
  for (const LargestFit &l : w.policies.front().largest)
    head += "<th class=\"number\">" +
            std::string(l.letter == "b" ? "largest " : "longest ") +
            escaped(l.letter) + "</th><th class=\"number\">" +
            (reserved ? "reserved" : "total peak") + "</th>";
  for (const PolicyFit &p : w.policies) {
    body += "<tr><td>" + escaped(p.policy) + "</td>";
    for (const LargestFit &l : p.largest)
      body +=
          "<td class=\"number\">" + (l.size ? std::to_string(l.size) : "none") +
          "</td><td class=\"number\">" +
          (l.size ? humanBytes(reserved ? l.reserved : l.bytes) : "") +
          (l.again ? fmt::format(", recompute +{:.1f} %", *l.again) : "") +
          (l.cut ? fmt::format(", searched up to {} tokens", mostBudgetTokens)
                 : "") +
          "</td>";
    body += "</tr>";
  }
  return "<section id=\"what-if\"><h2>What fits on a card of " +
         humanBytes(w.deviceBytes) + "</h2>" +
         (w.along.empty() ? "" : toSvg(w)) +
         "<p class=\"hint\">One letter changed at a time" + steps + ". " +
         (reserved ? "Reserved is what " + escaped(w.allocator) +
                         " would take of a card of any size."
                   : "The total peak has parameters, gradients and the "
                     "optimizer's state in it. Curves are the formulas; the "
                     "dots were written out.") +
         "</p><div class=\"scroll\"><table>"
         "<thead><tr><th>policy</th>" +
         head + "</tr></thead><tbody>" + body +
         "</tbody></table></div></section>";
}

} // namespace

std::string toHtml(const MemoryReport &report) {
  return fill(pageHtml, {{"{{title}}", escaped(report.model)},
                         {"{{css}}", pageCss},
                         {"{{what-if}}", whatIf(report)},
                         {"{{js}}", pageJs},
                         {"{{data}}", scriptSafe(dump(pageData(report), -1))}});
}

} // namespace act::report
