// SPDX-License-Identifier: Apache-2.0
//
// Counts wavefronts in shared memory, and chooses layouts by these counts.
#include "act/Layout/Ldmatrix.h"
#include "act/Layout/Shared.h"
#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>

namespace act::layout {

/// Lanes served together, for an access of `bytes`.
static size_t lanesAtOnce(int64_t bytes) {
  return bytes >= 16 ? 8 : bytes == 8 ? 16 : 32;
}

// A bank serves one word at a time; lanes that access the same word share it.
// An access of at most 16 bytes has at most one word per bank, so a bank sees
// at most as many words as there are lanes.
int64_t wavefronts(const std::vector<int64_t> &addresses, int64_t bytes) {
  constexpr int64_t banks = 32, wordBytes = 4;
  assert(bytes >= 1 && bytes <= 16 && "no such access");
  std::array<std::array<int64_t, Distributed::laneCount>, banks> words;
  int64_t total = 0;
  size_t step = lanesAtOnce(bytes);
  for (size_t first = 0; first < addresses.size(); first += step) {
    std::array<int64_t, banks> turns{};
    int64_t most = 0;
    size_t end = std::min(addresses.size(), first + step);
    for (size_t lane = first; lane < end; ++lane) {
      if (addresses[lane] < 0)
        continue;
      int64_t last = (addresses[lane] + bytes - 1) / wordBytes;
      for (int64_t word = addresses[lane] / wordBytes; word <= last; ++word) {
        int64_t bank = word % banks;
        auto *begin = words[bank].data(), *stop = begin + turns[bank];
        if (std::find(begin, stop, word) != stop)
          continue;
        *stop = word;
        most = std::max(most, ++turns[bank]);
      }
    }
    total += most;
  }
  return total;
}

/// The minimum for the bytes accessed: every wavefront full.
static int64_t leastWavefronts(const std::vector<int64_t> &addresses,
                               int64_t bytes) {
  int64_t total = 0;
  size_t step = lanesAtOnce(bytes);
  for (size_t first = 0; first < addresses.size(); first += step)
    for (size_t lane = first; lane < first + step; ++lane)
      if (lane < addresses.size() && addresses[lane] >= 0) {
        ++total;
        break;
      }
  return total;
}

int64_t Shared::vectorFor(const Distributed &layout) const {
  if (layout.rank() == 0)
    return 1;
  // Register copies are not stored, and are loaded once.
  Distributed d = layout.withoutRegisterCopies();
  int64_t side = d.contiguous(d.rank() - 1), vector = 1;
  auto fits = [&](int64_t bytes) {
    for (const Panel &panel : parts)
      if (panel.bytes % bytes || panel.pitch % bytes)
        return false;
    return true;
  };
  while (side % (vector * 2) == 0 && vector * 2 * width <= 16 &&
         fits(vector * 2 * width))
    vector *= 2;
  return vector;
}

namespace {

struct Position {
  int64_t slot, row, column;
  Position operator+(const Position &o) const {
    return {slot + o.slot, row + o.row, column + o.column};
  }
};

} // namespace

/// The part of the coordinate that a register, lane or warp adds, as slot, row
/// and column.
static Position positionOf(const Distributed &d, int64_t reg, int64_t lane,
                           int64_t warp) {
  Coordinates c = d.coordinates(reg, lane, warp);
  Position position{0, c.size() > 1 ? c[c.size() - 2] : 0,
                    c.empty() ? 0 : c.back()};
  for (size_t k = 0; k + 2 < c.size(); ++k)
    position.slot = position.slot * d.shape()[k] + c[k];
  return position;
}

/// Keeps `most` of the values, evenly spread.
template <typename T> static void thin(std::vector<T> &values, size_t most) {
  if (values.size() <= most)
    return;
  for (size_t i = 0; i < most; ++i)
    values[i] = values[i * values.size() / most];
  values.resize(most, values[0]);
}

static constexpr size_t all = SIZE_MAX;

/// The coordinate is a sum over register, lane and warp, so the three parts are
/// computed once and added. `warps` and `mostPerWarp` limit the count to a
/// sample. A lane that holds a copy loads but does not store.
Traffic Shared::traffic(const Distributed &layout, bool store, int64_t warps,
                        size_t mostPerWarp) const {
  assert(layout.rank() <= extents.size() &&
         std::equal(layout.shape().rbegin(), layout.shape().rend(),
                    extents.rbegin()) &&
         "the layout is of another block");
  constexpr int64_t lanes = Distributed::laneCount;
  Distributed d = layout.withoutRegisterCopies();
  int64_t vector = vectorFor(d);
  Traffic result;
  result.bytes = vector * width;
  std::vector<Position> lanePositions;
  for (int64_t lane = 0; lane < lanes; ++lane)
    lanePositions.push_back(positionOf(d, 0, lane, 0));
  std::vector<Position> registerPositions;
  for (int64_t reg = 0; reg < d.registerCount(); reg += vector)
    registerPositions.push_back(positionOf(d, reg, 0, 0));
  thin(registerPositions, mostPerWarp);
  std::vector<int64_t> addresses(lanes);
  for (int64_t warp = 0; warp < warps; ++warp) {
    Position warpPosition = positionOf(d, 0, 0, warp);
    bool takesPart[lanes], any = false;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      takesPart[lane] = !store || d.isFirst(lane, warp);
      any |= takesPart[lane];
    }
    if (!any)
      continue;
    for (const Position &registerPosition : registerPositions) {
      for (int64_t lane = 0; lane < lanes; ++lane) {
        Position p = lanePositions[lane] + (registerPosition + warpPosition);
        addresses[lane] =
            takesPart[lane] ? offset(p.slot, p.row, p.column) : -1;
      }
      ++result.instructions;
      result.wavefronts += layout::wavefronts(addresses, result.bytes);
      result.least += leastWavefronts(addresses, result.bytes);
    }
  }
  return result;
}

Traffic Shared::stores(const Distributed &layout) const {
  return traffic(layout, true, layout.warpCount(), all);
}

Traffic Shared::loads(const Distributed &layout) const {
  return traffic(layout, false, layout.warpCount(), all);
}

bool Shared::hasMatrixRows() const {
  return std::all_of(parts.begin(), parts.end(), [](const Panel &panel) {
    return panel.bytes % 16 == 0 && panel.pitch % 16 == 0;
  });
}

std::optional<Traffic> Shared::matrixTraffic(const Distributed &layout,
                                             int64_t warps,
                                             size_t mostPerWarp) const {
  if (!hasMatrixRows())
    return std::nullopt;
  auto plan = Ldmatrix::get(layout, width);
  if (!plan)
    return std::nullopt;
  thin(plan->firstRegisters, mostPerWarp);
  Traffic result;
  result.bytes = 16;
  std::vector<int64_t> rows(8);
  for (int64_t warp = 0; warp < warps; ++warp)
    for (size_t i = 0; i < plan->firstRegisters.size(); ++i) {
      for (int64_t m = 0; m < plan->matrices; ++m) {
        for (int64_t r = 0; r < 8; ++r) {
          Place p = plan->pointer(layout, i, m * 8 + r, warp);
          rows[r] = offset(0, p[0], p[1]);
        }
        result.wavefronts += layout::wavefronts(rows, 16);
        ++result.least;
      }
      ++result.instructions;
    }
  return result;
}

std::optional<Traffic> Shared::matrixLoads(const Distributed &layout) const {
  return matrixTraffic(layout, layout.warpCount(), all);
}

/// Compares forms by the cost of a sample of the first warp's instructions.
struct Chooser {
  struct Cost {
    std::array<double, 3> worth; // wavefronts, instructions, bytes
    bool byLdmatrix;
  };
  static Cost cost(const Shared &shared, const Distributed &from,
                   const Distributed &to) {
    constexpr size_t some = 16;
    auto instructions = [&](const Distributed &d) {
      return d.withoutRegisterCopies().registerCount() / shared.vectorFor(d);
    };
    Traffic w = shared.traffic(from, true, 1, some),
            r = shared.traffic(to, false, 1, some);
    auto m = shared.matrixTraffic(to, 1, some);
    // Scales the sample to all instructions.
    auto scaled = [](const Traffic &t, double all) {
      return std::array<double, 2>{t.wavefronts * all / t.instructions, all};
    };
    auto writes = scaled(w, instructions(from));
    auto worth = [&](std::array<double, 2> reads) {
      return std::array<double, 3>{writes[0] + reads[0], writes[1] + reads[1],
                                   double(shared.size())};
    };
    auto plain = worth(scaled(r, instructions(to)));
    if (!m)
      return {plain, false};
    auto matrices = worth(scaled(
        *m, Ldmatrix::get(to, shared.elementBytes())->firstRegisters.size()));
    return matrices < plain ? Cost{matrices, true} : Cost{plain, false};
  }
};

/// Tries every form on a sample, then counts the best one in full. Warps of one
/// layout access the same pattern at other places, so the first one stands for
/// all.
Result<Passage> choose(const Distributed &from, const Distributed &to,
                       int64_t elementBytes) {
  if (from.shape() != to.shape())
    return Error{"layouts of different shapes", ""};
  // A value without dimensions is stored as one element.
  bool scalar = from.rank() == 0;
  Distributed f = scalar ? from.expanded(0) : from,
              t = scalar ? to.expanded(0) : to;
  std::vector<unsigned> reversed(f.rank());
  std::iota(reversed.rbegin(), reversed.rend(), 0u);

  std::optional<Passage> best;
  std::array<double, 3> least{};
  Error last;
  for (bool transposed : {false, true}) {
    if (transposed && f.rank() < 2)
      break;
    Distributed a = transposed ? f.transposed(reversed) : f,
                b = transposed ? t.transposed(reversed) : t;
    auto consider = [&](const Result<Shared> &shared) {
      if (!shared) {
        last = shared.error();
        return;
      }
      auto [worth, byLdmatrix] = Chooser::cost(*shared, a, b);
      if (best && least <= worth)
        return;
      least = worth;
      best = Passage{*shared, transposed, byLdmatrix, {}, {}};
    };
    for (Swizzle swizzle : {Swizzle::chunks, Swizzle::pairs})
      consider(Shared::evenly(a.shape(), elementBytes, swizzle));
    int64_t row = a.shape().back() * elementBytes;
    for (int64_t padding : {0, 4, 8, 16, 32, 48, 64})
      if (padding % elementBytes == 0)
        consider(Shared::get(a.shape(), elementBytes,
                             {{row}, Swizzle::none, padding}));
  }
  if (!best)
    return last;
  if (best->transposed) {
    f = f.transposed(reversed);
    t = t.transposed(reversed);
  }
  best->writes = best->shared.stores(f);
  best->reads =
      best->byLdmatrix ? *best->shared.matrixLoads(t) : best->shared.loads(t);
  return *best;
}

} // namespace act::layout
