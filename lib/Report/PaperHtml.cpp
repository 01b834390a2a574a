// SPDX-License-Identifier: Apache-2.0
//
// The content of toJson as a page without scripts. Each figure has a table of
// its parts and two bars on one scale: what it counts and what the program
// keeps.
#include "Page.h"
#include "lib/Report/Html.h"
#include "lib/Report/Json.h"
#include <algorithm>
#include <fmt/format.h>

namespace act::report {
namespace {

const char *const colors[] = {"var(--saved-a)", "var(--saved-b)"};

std::string text(const Json &value) {
  return value.is_string() ? escaped(value.get<std::string>()) : "";
}

std::string bytes(const Json &value) {
  if (!value.is_number())
    return "";
  int64_t n = value.get<int64_t>();
  return fmt::format("<span title=\"{} bytes\">{}</span>", n, humanBytes(n));
}

std::string tile(const std::string &what, const Json &value) {
  int64_t n = value.get<int64_t>();
  return fmt::format("<div class=\"tile\"><div class=\"what\">{}</div><div "
                     "class=\"value\">{}</div><div class=\"exact\">{} "
                     "bytes</div></div>",
                     what, humanBytes(n), n);
}

std::string bar(const std::string &what, const std::string &pieces,
                const Json &total) {
  return "<div class=\"bar\"><span class=\"soft\">" + what +
         "</span><div class=\"pieces\">" + pieces + "</div><span>" +
         bytes(total) + "</span></div>";
}

std::string piece(const std::string &title, double part, const char *color) {
  return fmt::format(
      "<i title=\"{}\" style=\"width:{:.3f}%;background:{}\"></i>", title,
      100 * part, color);
}

/// Empty if a letter has no size.
std::string bars(const Json &report, const Json &figure) {
  if (!figure["bytes"].is_number())
    return "";
  double counted = figure["bytes"].get<double>(),
         kept = report["layer_retained_bytes"].get<double>(),
         scale = std::max({counted, kept, 1.0});
  std::string pieces;
  size_t i = 0;
  for (const Json &part : figure["counts"])
    if (part["bytes"].is_number())
      pieces += piece(text(part["value"]) + " " + text(part["formula"]),
                      part["bytes"].get<double>() / scale, colors[i++ % 2]);
  return "<div class=\"bars\">" + bar("counted", pieces, figure["bytes"]) +
         bar("kept", piece("by this program", kept / scale, "var(--temporary)"),
             report["layer_retained_bytes"]) +
         "</div>";
}

std::string parts(const Json &list, const std::string &head) {
  std::string rows;
  if (list.is_array())
    for (const Json &part : list)
      rows += "<tr><td class=\"name\">" + text(part["value"]) +
              "</td><td class=\"formula\">" + text(part["formula"]) +
              "</td><td class=\"number\">" + bytes(part["bytes"]) +
              "</td><td class=\"name soft\">" + text(part["why"]) +
              "</td></tr>";
  if (rows.empty())
    return "";
  return "<tbody><tr><th colspan=\"4\">" + head + "</th></tr>" + rows +
         "</tbody>";
}

std::string line(const std::string &what, const std::string &formula,
                 const std::string &behind) {
  return "<tr><td>" + what + "</td><td class=\"formula\">" + formula +
         "</td><td class=\"number\">" + behind + "</td></tr>";
}

std::string figure(const Json &report, const Json &f) {
  std::string published;
  if (f["published_formula"].is_string())
    published += line("published", text(f["published_formula"]),
                      f["agrees"].get<bool>() ? "the same" : "differs");
  if (f["published_bytes"].is_number())
    published += line("published for these sizes, all layers", "",
                      bytes(f["published_bytes"]));
  return "<h3>" + text(f["name"]) + ": " + text(f["what"]) + "</h3>" +
         bars(report, f) + "<div class=\"scroll\"><table><tbody>" +
         line("counted, of a layer", text(f["formula"]), bytes(f["bytes"])) +
         line("of all layers", "", bytes(f["all_layers_bytes"])) + published +
         line("kept by this program, of a layer",
              text(report["layer_retained_formula"]),
              bytes(report["layer_retained_bytes"])) +
         "</tbody></table></div>" +
         (text(f["note"]).empty()
              ? ""
              : "<p class=\"hint\">" + text(f["note"]) + "</p>") +
         "<details><summary>What counts and what does not</summary><div "
         "class=\"scroll\"><table>" +
         parts(f["counts"], "counts") +
         parts(f["omits"], "omits, though it is kept") +
         parts(f["adds"], "of these not kept by this program") +
         "</table></div></details>";
}

std::string publication(const Json &report, const Json &p) {
  std::string out = "<section><h2>" + text(p["selection"]) + ": " +
                    text(p["publication"]) + "</h2>";
  std::string hint = text(p["about"]);
  for (const auto &[from, to] : p["writes"].items())
    hint += " It writes " + text(to) + " for " + escaped(from) + ".";
  if (!p["letters_fit"].get<bool>())
    hint += " These are not equal here: its formulas are of another model.";
  out += "<p class=\"hint\">" + hint + "</p>";
  for (const Json &f : p["figures"])
    out += figure(report, f);
  std::string rows;
  for (const Json &r : p["readings"])
    rows += "<tr><td>" + text(r["what"]) + "</td><td class=\"number\">" +
            bytes(r["published_bytes"]) + "</td><td class=\"number\">" +
            bytes(r["bytes"]) + "</td><td class=\"name soft\">" +
            text(r["why"]) + "</td></tr>";
  if (!rows.empty())
    out += "<h3>read on a card, with remat=" + text(report["policy"]) +
           "</h3><div class=\"scroll\"><table><thead><tr><th></th><th "
           "class=\"number\">published</th><th class=\"number\">this "
           "program</th><th></th></tr></thead><tbody>" +
           rows + "</tbody></table></div>";
  return out + "</section>";
}

} // namespace

std::string toHtml(const PaperReport &report) {
  Json r = paperJson(report);
  std::string sizes;
  for (const auto &[letter, size] : r["letters"].items())
    sizes += (sizes.empty() ? "" : ", ") + escaped(letter) + " = " +
             std::to_string(size.get<int64_t>());
  std::string out =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta "
      "charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta "
      "name=\"color-scheme\" content=\"light dark\">\n<title>" +
      text(r["model"]) +
      ": memory as publications count it</title>\n<style>\n" + pageCss +
      "</style>\n</head>\n<body>\n<header><h1>" + text(r["model"]) + " @" +
      text(r["function"]) +
      "</h1><p id=\"subtitle\">view paper, remat=" + text(r["policy"]) +
      (sizes.empty() ? "" : "; " + sizes) +
      "</p></header>\n<main><section class=\"tiles\">" +
      tile("kept of a layer", r["layer_retained_bytes"]) +
      tile("kept for backward", r["retained_bytes"]) +
      tile("peak of activations", r["peak_bytes"]) +
      tile("total peak", r["total_peak_bytes"]) + "</section>\n";
  for (const Json &p : r["publications"])
    out += publication(r, p) + "\n";
  if (!report.omitsKnown)
    out +=
        "<section id=\"notes\"><p>What a layer keeps under this policy is in "
        "no one function, so nothing says what is omitted.</p></section>\n";
  return out + "</main>\n</body>\n</html>\n";
}

} // namespace act::report
