// SPDX-License-Identifier: Apache-2.0
//
// Curves of memory over a letter, as an SVG image.
#include "act/Report/WhatIf.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace act::report {
namespace {

constexpr double width = 860, height = 420, left = 70, right = 150, top = 20,
                 bottom = 50;
const char *const colors[] = {"#d1495b", "#edae49", "#66a182",
                              "#2e86ab", "#8d6cab", "#7a5c3e"};

/// 1, 2 or 5 times a power of ten, so that about `count` steps make `span`.
double niceStep(double span, int count) {
  double raw = span / count, power = std::pow(10, std::floor(std::log10(raw)));
  for (double m : {1.0, 2.0, 5.0})
    if (raw <= m * power)
      return m * power;
  return 10 * power;
}

struct Frame {
  double xMax, yMax;
  double x(double v) const { return left + v / xMax * (width - left - right); }
  double y(double v) const {
    return height - bottom - v / yMax * (height - top - bottom);
  }
};

std::string text(double x, double y, const std::string &anchor,
                 const std::string &what) {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y,
      anchor, what);
}

std::string line(double x1, double y1, double x2, double y2,
                 const std::string &style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" "
                     "y2=\"{:.1f}\" {}/>\n",
                     x1, y1, x2, y2, style);
}

std::string axes(const Frame &f, const std::string &letter) {
  std::string out;
  const std::string grid = "stroke=\"#888\" stroke-opacity=\"0.25\" ";
  double step = niceStep(f.yMax, 6);
  for (double v = 0; v <= f.yMax; v += step) {
    out += line(left, f.y(v), width - right, f.y(v), grid);
    out += text(left - 6, f.y(v) + 4, "end", fmt::format("{:g} GB", v / 1e9));
  }
  step = niceStep(f.xMax, 6);
  for (double v = 0; v <= f.xMax; v += step) {
    out += line(f.x(v), f.y(0), f.x(v), f.y(0) + 4, "stroke=\"#888\" ");
    out += text(f.x(v), f.y(0) + 18, "middle", fmt::format("{:.0f}", v));
  }
  return out +
         text((left + width - right) / 2, height - 10, "middle",
              letter == "s" ? "sequence length s" : "packed tokens " + letter);
}

/// The curve, clipped at the upper edge.
std::string path(const Frame &f, const PolicyFit &p) {
  std::string points;
  std::pair<double, double> last{0, 0};
  bool first = true;
  for (auto [x, y] : p.curve) {
    double px = double(x), py = double(y);
    if (py > f.yMax) {
      if (!first && last.second < f.yMax) {
        double part = (f.yMax - last.second) / (py - last.second);
        points += fmt::format(" {:.1f},{:.1f}",
                              f.x(last.first + part * (px - last.first)),
                              f.y(f.yMax));
      }
      break;
    }
    points += fmt::format(" {:.1f},{:.1f}", f.x(px), f.y(py));
    last = {px, py};
    first = false;
  }
  return points.empty() ? "" : points.substr(1);
}

} // namespace

std::string toSvg(const WhatIf &w) {
  int64_t longest = 1;
  for (const PolicyFit &p : w.policies)
    if (!p.curve.empty())
      longest = std::max(longest, p.curve.back().first);
  double highest =
      1.25 * double(w.deviceBytes); // and where curves begin above it
  for (const PolicyFit &p : w.policies)
    if (!p.curve.empty())
      highest = std::max(highest, 1.1 * double(p.curve.front().second));
  Frame f{double(longest), highest};
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"#888\" role=\"img\" "
      "aria-label=\"{} against sequence length\">\n",
      width, height, w.allocator.empty() ? "total peak" : "reserved bytes");
  out += axes(f, w.along);
  double limit = f.y(double(w.deviceBytes));
  out += line(left, limit, width - right, limit,
              "stroke=\"#888\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\" ");
  out += text(width - right + 6, limit + 4, "start",
              fmt::format("the card, {:g} GB", double(w.deviceBytes) / 1e9));
  for (size_t i = 0; i < w.policies.size(); ++i) {
    const PolicyFit &p = w.policies[i];
    const char *color = colors[i % std::size(colors)];
    out += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" "
                       "stroke-width=\"2\"/>\n",
                       path(f, p), color);
    for (const LargestFit &l : p.largest)
      if (l.letter == w.along && l.size && double(l.size) <= f.xMax)
        out += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"/>\n",
            f.x(double(l.size)),
            f.y(double(w.allocator.empty() ? l.bytes : l.reserved)), color);
    double y = limit + 30 + 18 * double(i);
    out += line(width - right + 6, y - 4, width - right + 24, y - 4,
                fmt::format("stroke=\"{}\" stroke-width=\"2\" ", color));
    out += text(width - right + 30, y, "start", p.policy);
  }
  return out + "</svg>\n";
}

} // namespace act::report
