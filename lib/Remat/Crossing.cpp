// SPDX-License-Identifier: Apache-2.0
//
// Minimum cuts for the choices of Crossing.h, and their frontier over all
// prices of a byte.
#include "act/Remat/Crossing.h"
#include <algorithm>
#include <limits>

namespace act::remat {
namespace {

/// A capacity is a price times bytes or cost. Prices are differences of such
/// sums, each below 2^60, so a cut stays below 2^122 and `infinite` is above
/// all of them.
using Wide = __int128;
constexpr Wide infinite = Wide(1) << 124;

/// Maximum flow by levels (Dinic 1970). Iterative, because chains are long.
class Network {
public:
  explicit Network(int32_t nodes) : first(nodes, -1), level(nodes), at(nodes) {}

  void edge(int32_t from, int32_t to, Wide capacity) {
    half(from, to, capacity);
    half(to, from, 0);
  }

  void saturate(int32_t source, int32_t sink) {
    while (levels(source, sink)) {
      at = first;
      while (push(source, sink))
        ;
    }
  }

  /// After saturate(): whether the source still reaches the node.
  bool reached(int32_t node) const { return level[node] >= 0; }

private:
  struct Edge {
    int32_t to, next;
    Wide rest;
  };

  // Edges come in pairs: e ^ 1 is the reverse of e.
  void half(int32_t from, int32_t to, Wide capacity) {
    edges.push_back({to, first[from], capacity});
    first[from] = int32_t(edges.size()) - 1;
  }

  bool levels(int32_t source, int32_t sink) {
    std::fill(level.begin(), level.end(), -1);
    std::vector<int32_t> queue{source};
    level[source] = 0;
    for (size_t i = 0; i < queue.size(); ++i)
      for (int32_t e = first[queue[i]]; e >= 0; e = edges[e].next)
        if (edges[e].rest > 0 && level[edges[e].to] < 0) {
          level[edges[e].to] = level[queue[i]] + 1;
          queue.push_back(edges[e].to);
        }
    return level[sink] >= 0;
  }

  // One augmenting path along ascending levels. `at` remembers how far each
  // node's edges were tried in this phase, which makes a phase O(nodes *
  // edges).
  bool push(int32_t source, int32_t sink) {
    std::vector<int32_t> path; // edges
    int32_t node = source;
    while (node != sink) {
      int32_t &e = at[node];
      while (e >= 0 &&
             !(edges[e].rest > 0 && level[edges[e].to] == level[node] + 1))
        e = edges[e].next;
      if (e >= 0) {
        path.push_back(e);
        node = edges[e].to;
        continue;
      }
      if (path.empty())
        return false;
      level[node] = -1; // a dead end
      node = edges[path.back() ^ 1].to;
      path.pop_back();
    }
    Wide amount = infinite;
    for (int32_t e : path)
      amount = std::min(amount, edges[e].rest);
    for (int32_t e : path) {
      edges[e].rest -= amount;
      edges[e ^ 1].rest += amount;
    }
    return true;
  }

  std::vector<int32_t> first, level, at;
  std::vector<Edge> edges;
};

/// Minimises costs * perCost + bytes * perByte. On the source's side of the cut
/// are the values that are wanted and the makers that run again. An infinite
/// edge from a maker to what it reads wants those values too.
Crossing cheapest(const CrossingGraph &g, Wide perCost, Wide perByte) {
  const auto values = int32_t(g.values.size());
  const auto makers = int32_t(g.makers.size());
  // On the source's side of the cut: needed values, makers that run again.
  const int32_t source = values + makers, sink = source + 1;
  Network net(sink + 1);
  auto moves = [&](const CrossingGraph::Value &value) {
    return value.move >= 0 && perCost * value.move < perByte * value.bytes;
  };
  for (int32_t v = 0; v < values; ++v) {
    const CrossingGraph::Value &value = g.values[v];
    if (value.needed)
      net.edge(source, v, infinite);
    // Cut if the value is needed and its maker does not run: kept or moved.
    net.edge(v, value.maker < 0 ? sink : values + value.maker,
             moves(value) ? perCost * value.move : perByte * value.bytes);
  }
  for (int32_t m = 0; m < makers; ++m) {
    net.edge(values + m, sink, perCost * g.makers[m].cost);
    for (int32_t v : g.makers[m].reads)
      net.edge(values + m, v, infinite);
  }
  net.saturate(source, sink);
  Crossing c;
  c.again.resize(makers);
  c.kept.resize(values);
  c.moved.resize(values);
  for (int32_t m = 0; m < makers; ++m)
    if (net.reached(values + m)) {
      c.again[m] = true;
      c.cost += g.makers[m].cost;
    }
  for (int32_t v = 0; v < values; ++v) {
    const int32_t maker = g.values[v].maker;
    if (net.reached(v) && (maker < 0 || !c.again[maker])) {
      bool away = moves(g.values[v]);
      (away ? c.moved : c.kept)[v] = true;
      (away ? c.cost : c.bytes) += away ? g.values[v].move : g.values[v].bytes;
    }
  }
  return c;
}

int64_t totalCost(const CrossingGraph &g) {
  int64_t sum = 0;
  for (const CrossingGraph::Maker &m : g.makers)
    sum += m.cost;
  for (const CrossingGraph::Value &v : g.values)
    sum += std::max<int64_t>(v.move, 0);
  return sum;
}

int64_t totalBytes(const CrossingGraph &g) {
  int64_t sum = 0;
  for (const CrossingGraph::Value &v : g.values)
    sum += v.bytes;
  return sum;
}

// The ends of the frontier: fewest bytes, then lowest cost, and the reverse.
// One unit of the first criterion outweighs all of the second.
Crossing leastBytes(const CrossingGraph &g) {
  return cheapest(g, 1, Wide(totalCost(g)) + 1);
}
Crossing nothingAgain(const CrossingGraph &g) {
  return cheapest(g, Wide(totalBytes(g)) + 1, 1);
}

/// A corner below the line from `a` to `b`; `b` keeps less and costs more.
std::optional<Crossing> between(const CrossingGraph &g, const Crossing &a,
                                const Crossing &b) {
  const Wide perCost = a.bytes - b.bytes, perByte = b.cost - a.cost;
  if (perCost <= 0 || perByte <= 0)
    return std::nullopt;
  // The prices make both ends cost the same, so anything cheaper is a corner
  // below the line. The comparison is exact: with rounding, the search might
  // find the same corners for ever.
  Crossing c = cheapest(g, perCost, perByte);
  if (perCost * c.cost + perByte * c.bytes <
      perCost * a.cost + perByte * a.bytes)
    return c;
  return std::nullopt;
}

} // namespace

Status CrossingGraph::check() const {
  constexpr int64_t most = int64_t(1) << 60;
  int64_t bytes = 0, cost = 0;
  for (size_t v = 0; v < values.size(); ++v) {
    const Value &value = values[v];
    if (value.bytes < 0 || value.bytes > most || (bytes += value.bytes) > most)
      return Error{"value " + std::to_string(v) +
                       ": bytes are negative, or 2^60 or more in all",
                   ""};
    if (value.move < -1 || value.move > most ||
        (cost += std::max<int64_t>(value.move, 0)) > most)
      return Error{"value " + std::to_string(v) +
                       ": cost of moving is negative, or costs are 2^60 or "
                       "more in all",
                   ""};
    if (value.maker < -1 || value.maker >= int32_t(makers.size()))
      return Error{"value " + std::to_string(v) + ": there is no maker " +
                       std::to_string(value.maker),
                   ""};
  }
  for (size_t m = 0; m < makers.size(); ++m) {
    if (makers[m].cost < 0 || makers[m].cost > most ||
        (cost += makers[m].cost) > most)
      return Error{"maker " + std::to_string(m) +
                       ": costs are negative, or 2^60 or more in all",
                   ""};
    for (int32_t v : makers[m].reads)
      if (v < 0 || v >= int32_t(values.size()) || values[v].maker >= int32_t(m))
        return Error{"maker " + std::to_string(m) + ": reads value " +
                         std::to_string(v) + ", which no maker before it makes",
                     ""};
  }
  return ok();
}

/// Refines every side of the hull until no corner lies below it. Each cut
/// either adds a corner or proves a side, so there are about twice as many cuts
/// as corners.
std::vector<Crossing> frontier(const CrossingGraph &graph) {
  std::vector<Crossing> corners{nothingAgain(graph)};
  Crossing last = leastBytes(graph);
  if (last.bytes < corners.front().bytes)
    corners.push_back(std::move(last));
  for (size_t i = 0; i + 1 < corners.size();) {
    auto c = between(graph, corners[i], corners[i + 1]);
    if (c)
      corners.insert(corners.begin() + i + 1, std::move(*c));
    else
      ++i;
  }
  return corners;
}

std::optional<int64_t> leastCost(const CrossingGraph &graph, int64_t bytes) {
  Crossing a = nothingAgain(graph);
  if (bytes >= a.bytes)
    return 0;
  Crossing b = leastBytes(graph);
  if (bytes < b.bytes)
    return std::nullopt;
  while (auto c = between(graph, a, b))
    (c->bytes > bytes ? a : b) = std::move(*c);
  // On the line, rounded up because costs are integers.
  const Wide run = a.bytes - b.bytes;
  const Wide rise = Wide(b.cost - a.cost) * (a.bytes - bytes);
  return a.cost + int64_t((rise + run - 1) / run);
}

} // namespace act::remat
