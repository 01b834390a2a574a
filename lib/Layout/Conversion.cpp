// SPDX-License-Identifier: Apache-2.0
//
// Classifies a conversion and schedules shuffles, as Conversion.h describes.
// Conversions through shared memory need only a layout: see Shared.h.
#include "act/Layout/Conversion.h"
#include <algorithm>
#include <numeric>
#include <utility>

namespace act::layout {

const char *name(Conversion::Kind kind) {
  switch (kind) {
  case Conversion::Kind::Nothing:
    return "nothing";
  case Conversion::Kind::Registers:
    return "registers";
  case Conversion::Kind::Shuffle:
    return "shuffle";
  case Conversion::Kind::Shared:
    return "shared";
  }
  return "";
}

int32_t Conversion::place(int32_t lane) const {
  int32_t result = 0;
  for (int b = 0; b < 5; ++b)
    if (lane >> b & 1)
      result ^= image[b];
  return result;
}

bool Conversion::isButterfly() const {
  for (int b = 0; b < 5; ++b)
    if (image[b] != 1 << b)
      return false;
  return true;
}

int64_t Conversion::shuffles() const {
  int64_t n = 0;
  for (const Step &step : steps)
    n += !step.isLocal;
  return n;
}

/// Compares the two sums of the header. Shuffles of 8-byte elements are two
/// instructions, and selects are too.
bool Conversion::shuffleIsCheaper() const {
  if (kind != Kind::Shuffle)
    return false;
  // Choosing one of 2^k values takes k levels of selects.
  auto selects = [](int32_t bits) {
    int64_t values = 1;
    for (int b = 0; b < 5; ++b)
      values <<= bits >> b & 1;
    return values - 1;
  };
  int64_t words = elementBytes > 4 ? 2 : 1, count = words * steps.size();
  // In half cycles of a warp.
  int64_t exchange = 2 * words * shuffles() +
                     count * (selects(offerBits) + selects(keepBits)),
          halves = 2 * count * (lanes + std::max<int64_t>(lanes, 8)) / 32;
  return exchange <= halves + 2 * 32;
}

namespace {

constexpr int laneBits = 5;

/// A digit, or a part of one, with its weight in the list's number.
struct Atom {
  std::optional<unsigned> dim; // none: copies
  int64_t stride = 0, extent = 1, weight = 1;
  bool crosses = false; // a lane bit of the other layout
  bool isSamePlace(const Atom &o) const {
    return dim && dim == o.dim && stride == o.stride;
  }
};

} // namespace

static std::vector<Atom> atomsOf(const Digits &digits) {
  std::vector<Atom> atoms;
  int64_t weight = 1;
  for (const Digit &digit : digits) {
    atoms.push_back(
        {digit.dimension(), digit.stride(), digit.extent, weight, false});
    weight *= digit.extent;
  }
  return atoms;
}

/// The lane digits cut into bits. Lanes multiply to 32, so every extent is a
/// power of two.
static std::vector<Atom> bitsOf(const Digits &lanes) {
  std::vector<Atom> bits;
  for (const Atom &atom : atomsOf(lanes))
    for (int64_t part = 1; part < atom.extent; part *= 2)
      bits.push_back(
          {atom.dim, atom.stride * part, 2, atom.weight * part, false});
  return bits;
}

/// Splits the digit that contains the bit into the part below, the bit, and the
/// part above. Returns the bit's index, or nothing if no digit splits that way.
static std::optional<size_t> cutOut(std::vector<Atom> &atoms, const Atom &bit) {
  for (size_t i = 0; i < atoms.size(); ++i) {
    Atom atom = atoms[i];
    if (!atom.dim || atom.dim != bit.dim || bit.stride % atom.stride)
      continue;
    int64_t below = bit.stride / atom.stride;
    if (atom.extent % (2 * below))
      continue;
    std::vector<Atom> parts;
    if (below > 1)
      parts.push_back({atom.dim, atom.stride, below, atom.weight, false});
    size_t index = i + parts.size();
    parts.push_back({atom.dim, bit.stride, 2, atom.weight * below, true});
    if (int64_t above = atom.extent / (2 * below); above > 1)
      parts.push_back(
          {atom.dim, bit.stride * 2, above, atom.weight * below * 2, false});
    atoms.erase(atoms.begin() + i);
    atoms.insert(atoms.begin() + i, parts.begin(), parts.end());
    return index;
  }
  return std::nullopt;
}

namespace {

/// Makes the schedule that the header describes.
class Scheduler {
public:
  Scheduler(const Distributed &from, const Distributed &to, Conversion &result)
      : from(from), to(to), result(result) {}

  /// False if the strides of lanes and registers have no common refinement.
  bool run(int64_t elementBytes);

private:
  /// How a lane bit of `from` is set to choose a source lane.
  struct Source {
    int asker = 0;           // the bit of the reading lane that it follows
    bool isX = false;        // takes part in t
    bool follows = true;     // false for an x of a copy in `to`: t alone
    int64_t keepWeight = 0;  // isX: of the bit in a register of the result
    int64_t offerWeight = 0; // of the y that the reader's bit is, or 0
  };

  bool classify();
  void pair();
  void chooseWidth(int64_t elementBytes);
  void findOriginals();
  void writeSteps();
  Conversion::Step step(int64_t offerBase, int64_t keepBase, int64_t t) const;

  const Distributed &from, &to;
  Conversion &result;
  std::vector<Atom> fromBits, toBits, fromRegisters, toRegisters;
  std::array<Source, laneBits> sources{};
  std::array<bool, laneBits> open{}, taken{};   // not z: to be paired
  std::array<int64_t, laneBits> offerWeights{}; // of a bit of `to` that is y
  std::vector<int> xBits;                       // positions in `from`
};

} // namespace

/// Finds x, y and z, and the weights of their bits in a register's number.
bool Scheduler::classify() {
  fromBits = bitsOf(from.lanes());
  toBits = bitsOf(to.lanes());
  fromRegisters = atomsOf(from.registers());
  toRegisters = atomsOf(to.registers());
  std::array<bool, laneBits> isZ{};
  for (int p = 0; p < laneBits; ++p) {
    open[p] = true;
    for (int q = 0; q < laneBits; ++q)
      if (fromBits[p].isSamePlace(toBits[q])) {
        sources[p].asker = q;
        open[p] = false;
        isZ[q] = true;
      }
  }
  taken = isZ;
  for (int p = 0; p < laneBits; ++p)
    if (open[p] && fromBits[p].dim) {
      auto at = cutOut(toRegisters, fromBits[p]);
      if (!at)
        return false;
      sources[p].isX = true;
      sources[p].keepWeight = toRegisters[*at].weight;
      xBits.push_back(p);
    }
  for (int q = 0; q < laneBits; ++q)
    if (!isZ[q] && toBits[q].dim) {
      auto at = cutOut(fromRegisters, toBits[q]);
      if (!at)
        return false;
      offerWeights[q] = fromRegisters[*at].weight;
    }
  return true;
}

/// Pairs each x and each copy of `from` with a y or a copy of `to`. First equal
/// bits of the lane, so that a lane can read from itself; then y with x, which
/// leaves copies for copies.
void Scheduler::pair() {
  auto follow = [&](int p, int q) {
    sources[p].asker = q;
    sources[p].follows = !sources[p].isX || offerWeights[q];
    sources[p].offerWeight = offerWeights[q];
    open[p] = false;
    taken[q] = true;
  };
  for (int p = 0; p < laneBits; ++p)
    if (open[p] && !taken[p])
      follow(p, p);
  for (bool y : {true, false})
    for (int q = 0; q < laneBits; ++q)
      for (int p = 0; p < laneBits; ++p)
        if (!taken[q] && open[p] && (offerWeights[q] != 0) == y)
          follow(p, q);
}

/// Sets `width`: the registers that are adjacent on both sides and fit into 32
/// bits, what one shuffle moves. Registers count as adjacent from the fastest
/// digit on, as long as the digits agree.
void Scheduler::chooseWidth(int64_t elementBytes) {
  int64_t together = 1;
  for (size_t i = 0; i < fromRegisters.size() && i < toRegisters.size(); ++i) {
    const Atom &f = fromRegisters[i], &t = toRegisters[i];
    if (f.crosses || t.crosses || !f.isSamePlace(t))
      break;
    together *= std::gcd(f.extent, t.extent);
    if (f.extent != t.extent)
      break;
  }
  int64_t most = elementBytes < 4 ? 4 / elementBytes : 1;
  result.width = std::gcd(together, most);
}

/// A register that holds a copy of another is not shuffled: the caller copies
/// the value inside the thread.
void Scheduler::findOriginals() {
  for (int64_t r = 0; r < to.registerCount(); ++r) {
    int64_t original = r;
    for (const Atom &atom : toRegisters)
      if (!atom.dim)
        original -= r / atom.weight % atom.extent * atom.weight;
    result.original.push_back(original);
  }
}

/// One read of all lanes: `flip` is the header's t, spread over the positions
/// of the x bits.
Conversion::Step Scheduler::step(int64_t offerBase, int64_t keepBase,
                                 int64_t t) const {
  Conversion::Step s;
  for (size_t j = 0; j < xBits.size(); ++j)
    s.flip |= (t >> j & 1) << xBits[j];
  s.isLocal = true;
  for (int32_t lane = 0; lane < 32; ++lane) {
    int32_t source = result.place(lane) ^ s.flip;
    s.takesFrom[lane] = source;
    s.isLocal &= source == lane;
    // The source lane determines the bits x that a lane receives ...
    int64_t keeps = keepBase, offers = offerBase;
    for (int p = 0; p < laneBits; ++p) {
      if (source >> p & 1)
        keeps += sources[p].keepWeight;
      // ... and its reader, found by the inverse, the bits y that it offers.
      if ((lane ^ s.flip) >> p & 1)
        offers += sources[p].offerWeight;
    }
    s.keepsAs[lane] = keeps;
    s.offers[lane] = offers;
  }
  return s;
}

/// A step for each t and each group of registers that differ in no x bit.
void Scheduler::writeSteps() {
  for (int p = 0; p < laneBits; ++p) {
    if (!toBits[p].dim)
      result.lanes /= 2;
    if (sources[p].follows)
      result.image[sources[p].asker] |= 1 << p;
    if (sources[p].offerWeight)
      result.offerBits |= 1 << p;
    if (sources[p].isX && sources[p].follows)
      result.keepBits |= 1 << sources[p].asker;
  }
  for (int64_t r = 0; r < to.registerCount(); r += result.width) {
    bool isBase = result.original[r] == r;
    for (const Atom &atom : toRegisters)
      isBase &= !atom.crosses || r / atom.weight % 2 == 0;
    if (!isBase)
      continue;
    // Without bits x, the register's part of the coordinate comes from
    // registers in `from` too, because a mixed radix is unique.
    int64_t offer = from.holder(to.coordinates(r, 0, 0)).reg;
    for (int64_t t = 0; t < int64_t(1) << xBits.size(); ++t)
      result.steps.push_back(step(offer, r, t));
  }
}

bool Scheduler::run(int64_t elementBytes) {
  if (!classify())
    return false;
  pair();
  chooseWidth(elementBytes);
  findOriginals();
  writeSteps();
  return true;
}

Result<Conversion> Conversion::get(const Distributed &from,
                                   const Distributed &wanted,
                                   int64_t elementBytes) {
  if (elementBytes < 1)
    return Error{"elements have " + std::to_string(elementBytes) +
                     " bytes, expected 1 or more",
                 ""};
  if (from.rank() != wanted.rank())
    return Error{"layouts of " + std::to_string(from.rank()) + " and of " +
                     std::to_string(wanted.rank()) + " dimensions",
                 ""};
  Distributed to = wanted;
  for (unsigned d = 0; d < from.rank(); ++d) {
    if (from.shape()[d] == wanted.shape()[d])
      continue;
    if (from.shape()[d] != 1)
      return Error{"dimension " + std::to_string(d) + " has extent " +
                       std::to_string(from.shape()[d]) +
                       ", which does not become " +
                       std::to_string(wanted.shape()[d]),
                   ""};
    // Every coordinate along a dimension that grows needs the one element of
    // `from`, so its digits become copies.
    to = to.projected(d);
  }

  Conversion result;
  // Canonical lists are equal if and only if the functions are. A warp cannot
  // read another warp's registers.
  if (from.warps() != to.warps()) {
    result.kind = Kind::Shared;
    return result;
  }
  if (from.lanes() != to.lanes()) {
    bool scheduled = Scheduler(from, to, result).run(elementBytes);
    if (!scheduled)
      result = Conversion();
    result.kind = scheduled ? Kind::Shuffle : Kind::Shared;
    result.elementBytes = elementBytes;
    return result;
  }
  bool same = from.registerCount() == to.registerCount();
  for (int64_t r = 0; r < to.registerCount(); ++r) {
    result.table.push_back(from.holder(to.coordinates(r, 0, 0)).reg);
    same &= result.table.back() == r;
  }
  result.kind = same ? Kind::Nothing : Kind::Registers;
  return result;
}

} // namespace act::layout
