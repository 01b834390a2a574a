// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes graphs as lines of numbers (TextFormat.h).
#include "act/Remat/TextFormat.h"
#include <algorithm>
#include <charconv>

namespace act::remat {
namespace {

class Reader {
public:
  Reader(std::string_view text, const std::string &name)
      : text(text), name(name) {}
  Result<Graph> read();

private:
  Status pair(const std::string &what, int64_t &a, int64_t &b);
  bool nextLine();
  Error error(const std::string &message) const {
    return Error{message, name + ":" + std::to_string(line)};
  }

  std::string_view text, current;
  std::string name;
  size_t line = 0;
};

constexpr std::string_view blanks = " \t\r";

/// Skips blank lines. At the end it counts one line more, so that an error
/// about missing text names the line that should have come.
bool Reader::nextLine() {
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    current = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
    if (current.find_first_not_of(blanks) != std::string_view::npos)
      return true;
  }
  ++line;
  return false;
}

/// The line for a message: short and printable.
std::string shown(std::string_view s) {
  std::string out;
  for (char c : s.substr(0, 40))
    if (c != '\r')
      out += c >= ' ' && c < 127 ? c : '?';
  return "'" + out + (s.size() > 40 ? "...'" : "'");
}

Status Reader::pair(const std::string &what, int64_t &a, int64_t &b) {
  if (!nextLine())
    return error("expected " + what + ", found the end");
  std::string_view rest = current;
  int64_t *out[] = {&a, &b};
  bool good = true;
  for (int64_t *value : out) {
    rest.remove_prefix(std::min(rest.find_first_not_of(blanks), rest.size()));
    auto r = std::from_chars(rest.data(), rest.data() + rest.size(), *value);
    if (r.ec == std::errc::result_out_of_range)
      return error("expected " + what + " below 2^63, found " + shown(current));
    good &= r.ec == std::errc();
    rest.remove_prefix(r.ptr - rest.data());
    good &= rest.empty() || blanks.find(rest[0]) != std::string_view::npos;
  }
  if (!good || rest.find_first_not_of(blanks) != std::string_view::npos)
    return error("expected " + what + ", two whole numbers, found " +
                 shown(current));
  return ok();
}

Result<Graph> Reader::read() {
  int64_t nodes = 0, edges = 0;
  if (auto s = pair("'nodes edges'", nodes, edges); !s)
    return s.error();
  if (nodes < 1 || nodes > 1 << 30 || edges < 0)
    return error("expected from 1 to 2^30 nodes and from 0 edges, found " +
                 shown(current));
  Graph graph;
  for (int64_t i = 0; i < nodes; ++i) {
    Node n;
    auto s = pair("'bytes cost' of node " + std::to_string(i), n.bytes, n.cost);
    if (!s)
      return s.error();
    if (n.bytes < 0 || n.cost < 0)
      return error("expected bytes and cost from 0, found " + shown(current));
    graph.nodes.push_back(std::move(n));
  }
  for (int64_t e = 0; e < edges; ++e) {
    int64_t from = 0, to = 0;
    if (auto s = pair("'from to' of edge " + std::to_string(e), from, to); !s)
      return s.error();
    if (from < 0 || to < 0 || from >= nodes || to >= nodes)
      return error("expected nodes from 0 to " + std::to_string(nodes - 1) +
                   ", found " + shown(current));
    if (from >= to)
      return error("expected an edge to a later node, found " + shown(current) +
                   ": nodes are numbered in the order they are computed");
    graph.nodes[to].inputs.push_back(static_cast<int32_t>(from));
  }
  if (nextLine())
    return error("expected the end after " + std::to_string(edges) +
                 " edges, found " + shown(current));
  // An edge may be given twice; it is one input all the same.
  for (Node &n : graph.nodes) {
    std::sort(n.inputs.begin(), n.inputs.end());
    n.inputs.erase(std::unique(n.inputs.begin(), n.inputs.end()),
                   n.inputs.end());
  }
  if (auto s = graph.check(); !s)
    return Error{s.error().str(), name};
  return graph;
}

} // namespace

Result<Graph> readText(std::string_view text, const std::string &name) {
  return Reader(text, name).read();
}

Result<std::string> writeText(const Graph &graph) {
  size_t edges = 0;
  std::string nodeLines, edgeLines;
  for (int32_t i = 0; i < graph.size(); ++i) {
    const Node &n = graph.nodes[i];
    if (n.pinned || n.viewOf >= 0 || n.workspace > 0)
      return Error{"is pinned, a view or has a workspace, which the text "
                   "format cannot express",
                   "node " + std::to_string(i)};
    nodeLines += std::to_string(n.bytes) + " " + std::to_string(n.cost) + "\n";
    for (int32_t a : n.inputs)
      edgeLines += std::to_string(a) + " " + std::to_string(i) + "\n";
    edges += n.inputs.size();
  }
  return std::to_string(graph.size()) + " " + std::to_string(edges) + "\n" +
         nodeLines + edgeLines;
}

} // namespace act::remat
