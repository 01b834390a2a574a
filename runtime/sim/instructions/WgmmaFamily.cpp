// SPDX-License-Identifier: Apache-2.0
//
// wgmma: matrix products of a warpgroup, asynchronous.
//
// Each of the four warps issues its quarter (16 of the 64 rows) as its own
// operation, which reads its rows of A and all of B and writes its
// accumulators. wait_group still treats the warpgroup as a unit, as in
// hardware: it waits until all four warps have committed the group, then knows
// the reads of all four. Kernels rely on that: one thread of the warpgroup
// hands the buffer back. Inflight.h has the registers that are in use.
#include "runtime/sim/arithmetic/Wide.h"
#include "runtime/sim/execute/Inflight.h"
#include "runtime/sim/instructions/Families.h"
#include "runtime/sim/instructions/SharedOperand.h"
#include "runtime/sim/instructions/TileRegisters.h"
#include "runtime/sim/instructions/UndefinedProduct.h"
#include <algorithm>

namespace act::runtime::sim {

using namespace inflight;

namespace {

struct Wgmma {
  Extent extent; // m is 64
  Element a, b;
  Accumulation how;
  bool half = false, saturate = false;
  bool registersA = false, majorMA = false, majorNB = false;
  bool negateA = false, negateB = false;
  bool scaleNegated = false;
  unsigned ofA, ofScale; // slots: D, then A or its descriptor, B's, scale-d
  unsigned countA, countD;
  RegisterMatrix inA, inD; // a warp's 16 rows, to track undefined elements
};

/// The sign bits of a word of packed numbers.
uint32_t signsOf(Element type) {
  uint32_t signs = 0;
  for (unsigned bits = bitsOf(type), at = bits; at <= 32; at += bits)
    signs |= 1u << (at - 1);
  return signs;
}

class WgmmaOperation final : public AsyncOperation {
public:
  const Wgmma *plan;
  const uint32_t *slots;
  FrameRef frame;
  Cta *cta;
  bool accumulate;
  Accumulation how;
  std::shared_ptr<const SharedPlaces> placesA, placesB;
  /// A warp's operations write in order: one that is run early first completes
  /// the earlier ones.
  WgmmaOperation *previous = nullptr;
  std::shared_ptr<bool> previousWritten;
  std::shared_ptr<bool> written = std::make_shared<bool>(false);

  void read() override {
    const Wgmma &p = *plan;
    const std::byte *shared = cta->shared.data;
    if (p.registersA)
      takeWords(*frame, slots + p.ofA, p.countA, 1, wordsA);
    else
      for (unsigned half = 0; half < 2; ++half)
        placesA->fetch(shared, half, wordsA[half], wordsA[2 + half]);
    right = rightOperand(*placesB, shared, p.b, p.extent.k,
                         p.negateB ? signsOf(p.b) : 0);
  }
  void write() override {
    while (previous && !*previousWritten)
      previous->advance();
    compute();
    *written = true;
  }

private:
  alignas(64) uint32_t wordsA[LeftTile::mostRegisters][32] = {};
  std::shared_ptr<const RightOperand> right;

  // The tile is large and is rebuilt for each operation, so each host thread
  // keeps one.
  const LeftTile &left() const {
    thread_local LeftTile tile;
    tile.type = plan->a;
    tile.k = plan->extent.k;
    tile.registers = LeftTile::mostRegisters;
    const uint32_t flip = plan->negateA ? signsOf(plan->a) : 0;
    for (unsigned r = 0; r < LeftTile::mostRegisters; ++r)
      for (unsigned lane = 0; lane < 32; ++lane)
        tile.words[r][lane] = wordsA[r][lane] ^ flip;
    takeApart(tile);
    return tile;
  }

  void compute() {
    const Wgmma &p = *plan;
    const LeftTile &a = left();
    const unsigned count = p.half ? 2 : 4; // registers of D in a tile
    TileSums sums = {}, results;
    for (const RightTile &b : *right) {
      const uint32_t *d = slots + (&b - right->data()) * count;
      if (accumulate)
        takeSums(*frame, d, count, p.half, sums);
      if (p.a == Element::B1)
        multiplyBits(a, b, sums, results);
      else if (isFloating(p.a))
        multiply(how, a, b, sums, results);
      else
        multiply(a, b, p.saturate, sums, results);
      putSums(results, d, count, p.half, ~0u, *frame);
    }
  }
};

/// Marks the operation's registers as in use; reports those it may not use.
void claim(Context &c, const Instruction &at, const Wgmma &p, uint64_t group) {
  if (!c.checks)
    return;
  Frame &f = c.frame;
  unsigned lane = unsigned(__builtin_ctz(c.mask));
  bool unfenced = f.inflight.empty(), clash = false;
  if (unfenced)
    f.inflight.assign(f.function->frameBytes / 64, 0);
  for (unsigned i = 0; i < p.countD; ++i) {
    uint64_t *w = wordOf(f, at.slots[i]);
    if (!w)
      continue;
    uint64_t shape = *w & shapeMask;
    unfenced |= *w & touched;
    clash |= (*w & groupMask) &&
             ((*w & asA) || (shape && shape >> shapeShift != p.extent.n));
    *w = group | uint64_t(p.extent.n) << shapeShift;
  }
  for (unsigned i = 0; p.registersA && i < p.countA; ++i) {
    uint64_t *w = wordOf(f, at.slots[p.ofA + i]);
    if (!w)
      continue;
    unfenced |= *w & touched;
    clash |= (*w & groupMask) && !(*w & asA);
    *w = group | asA;
  }
  if (unfenced)
    c.report(FindingKind::InvalidOperation, at, lane,
             "uses registers that other instructions have accessed since the "
             "last wgmma.fence; execute wgmma.fence first");
  if (clash)
    c.report(FindingKind::InvalidOperation, at, lane,
             "uses registers that a pending wgmma of another shape still "
             "accesses; wait with wgmma.wait_group first");
}

/// Calls `line` for each row of A or column of B (operand 0 or 1) whose chunks
/// hold undefined bytes.
template <typename Line>
void findUndefined(const Context &c, const Instruction &at,
                   const SharedPlaces &places, unsigned operand,
                   const Line &line) {
  Context::Target shared = {c.cta.shared.data, &c.cta.shared, 0, &c.cta};
  for (size_t k = 0; k < places.offsets.size(); ++k) {
    const uint32_t a = places.offsets[k];
    if (a == SharedPlaces::outside)
      continue;
    const unsigned first = unsigned(k / SharedPlaces::perGroup) * 8;
    for (const auto &part : c.cta.shared.shadow->undefined(a, 16)) {
      const uint32_t origin = c.originAt(at, shared, part.offset, operand);
      for (uint64_t byte = part.offset; byte < part.offset + part.bytes; ++byte)
        line(first +
                 (places.mnMajor ? unsigned(byte - a) / 2 : unsigned(k % 8)),
             origin);
    }
  }
}

/// Judges the reads of an operand by `agents` of the warpgroup; counts them if
/// `counts`. Returns whether any bytes are undefined.
bool judgeReads(Context &c, const Instruction &at,
                const std::shared_ptr<const SharedPlaces> &of, Epoch self,
                uint32_t agents, bool counts) {
  const SharedPlaces &places = *of;
  unsigned lane = unsigned(__builtin_ctz(c.mask));
  if (places.firstOutside != SharedPlaces::outside)
    c.resolve(at, lane, ptx::Space::Shared, places.firstOutside, 16, 16, false);
  if (counts) {
    Counters &n = *c.warp.counters;
    n.wgmmaSharedBytes += 16 * places.offsets.size();
    n.sharedLoadWavefronts += places.wavefronts;
    n.sharedConflicts += places.conflicts;
  }
  Manner manner;
  manner.read = manner.async = true;
  return judgeSharedReads(c, at, lane, places.stretches, c.passing(manner),
                          self, agents, agents & (agents - 1) ? of : nullptr);
}

/// The matrix descriptor is one value for the warp; PTX requires that all lanes
/// have the same.
uint64_t descriptorAt(Context &c, const Instruction &at, uint32_t slot) {
  const uint64_t *lanes = c.lanes<uint64_t>(slot);
  unsigned first = unsigned(__builtin_ctz(c.mask));
  for (unsigned lane = 0; c.checks && lane < 32; ++lane)
    if (c.active(lane) && lanes[lane] != lanes[first]) {
      c.report(
          FindingKind::InvalidOperation, at, lane,
          "has a different matrix descriptor than the other lanes of its warp");
      break;
    }
  return lanes[first];
}

// The descriptors and scale-d must be defined; the other operands are data.
void checkOperands(const Context &c, const Instruction &at, const Wgmma &p) {
  uint32_t slots[] = {at.slots[p.ofScale], at.slots[p.ofScale - 1],
                      at.slots[p.registersA ? p.ofScale : p.ofA]};
  for (uint32_t slot : slots)
    if (uint32_t bad = c.mask & ~c.definedLanes(slot)) {
      unsigned lane = unsigned(__builtin_ctz(bad));
      c.report(FindingKind::Uninitialised, at, lane,
               "uses " + c.neverWritten(slot, lane));
      return;
    }
}

/// Each warp of the warpgroup executes its quarter of the rows as an operation
/// of its own. Reads are judged now, when the instruction is issued, because a
/// wait for the group is all that orders them afterwards.
Step wgmmaMultiply(Context &c, const Instruction &at) {
  const Wgmma &p = *static_cast<const Wgmma *>(at.data);
  needsWholeWarp(c, at);
  if (c.checks)
    checkOperands(c, at, p);
  if (c.checks && (c.warp.index | 3) >= c.cta.warps.size())
    c.report(FindingKind::InvalidOperation, at, 0,
             "is executed by a warpgroup with fewer than four warps");
  uint64_t group = c.warp.wgmmaGroups + 1;
  auto op = std::make_unique<WgmmaOperation>();
  op->plan = &p;
  op->slots = at.slots;
  op->frame = c.fragment.frame;
  op->cta = &c.cta;
  op->warp = c.warp.index;
  op->group = group;
  op->site = at.site;
  uint32_t scale = c.predicate(at.slots[p.ofScale]);
  // scale-d: without accumulation the product overwrites D. This is how kernels
  // avoid setting the accumulators to zero before the loop.
  op->accumulate = (scale >> __builtin_ctz(c.mask) & 1) != p.scaleNegated;
  op->how = p.how;
  if (isFloating(p.a) && !c.warp.random.roundsPlainly())
    op->how = seededAccumulation(c.warp.random, p.extent.k, p.half);

  claim(c, at, p, group);
  UndefinedProduct undefined(16, p.extent.n);
  if (c.checks && p.registersA && undefinedLanes(c, at.slots + p.ofA, p.countA))
    undefined.addA(c, at.slots + p.ofA, p.inA, p.countA);
  if (c.checks && op->accumulate && undefinedLanes(c, at.slots, p.countD))
    undefined.addC(c, at.slots, p.inD, p.countD);

  Epoch self = c.warp.epoch(OwnWgmma, 0, uint32_t(group));
  const uint64_t shared = c.cta.shared.bytes;
  const unsigned warp = c.warp.index % 4;
  if (!p.registersA) {
    op->placesA = SharedPlaces::of(descriptorAt(c, at, at.slots[p.ofA]),
                                   p.majorMA, 2 * warp, 2, shared);
    if (judgeReads(c, at, op->placesA, self, 1u << (c.warp.index & 31), true))
      findUndefined(c, at, *op->placesA, 0, [&](unsigned i, uint32_t origin) {
        undefined.row(i, origin);
      });
  }
  // All four warps read all of B at the same time. A thread that knows one of
  // these reads knows all four (wait_group), so one may stand for all.
  op->placesB = SharedPlaces::of(descriptorAt(c, at, at.slots[p.ofScale - 1]),
                                 p.majorNB, 0, p.extent.n / 8, shared);
  const unsigned first = c.warp.index - warp;
  const unsigned warps =
      std::min<unsigned>(4, unsigned(c.cta.warps.size()) - first);
  if (judgeReads(c, at, op->placesB, self, ((1u << warps) - 1) << (first & 31),
                 warp == 0))
    findUndefined(c, at, *op->placesB, 1, [&](unsigned j, uint32_t origin) {
      undefined.column(j, origin);
    });
  undefined.define(c, at.slots, p.inD);

  // The warp's last wgmma that is still under way; this one writes after it.
  for (size_t i = c.cta.operations.size(); i-- > 0 && !op->previous;)
    if (c.cta.operations[i]->warp == c.warp.index)
      op->previous = dynamic_cast<WgmmaOperation *>(c.cta.operations[i].get());
  if (op->previous)
    op->previousWritten = op->previous->written;
  c.warp.counters->tensorFlops[unsigned(tensorKindOf(p.a))] +=
      uint64_t(2) * 16 * p.extent.n * p.extent.k;
  c.warp.wgmmaUncommitted = true;
  c.cta.issue(std::move(op));
  return Step::Next;
}

/// Orders accesses to registers, in callers' frames too: a function may contain
/// the fence for a wgmma of its caller.
Step wgmmaFence(Context &c, const Instruction &) {
  if (!c.checks)
    return Step::Next;
  for (Frame *f = &c.frame; f; f = f->caller.get()) {
    if (f->inflight.empty())
      f->inflight.assign(f->function->frameBytes / 64, 0);
    for (uint64_t &w : f->inflight)
      w &= ~(touched | shapeMask);
  }
  return Step::Next;
}

Step wgmmaCommit(Context &c, const Instruction &) {
  ++c.warp.wgmmaGroups;
  c.warp.wgmmaUncommitted = false;
  c.event();
  return Step::Next;
}

// Registers of wgmma up to group `target` are free again.
ACT_WIDE void release(uint64_t *words, size_t count, uint64_t target) {
  for (size_t i = 0; i < count; ++i) {
    const uint64_t group = words[i] & groupMask;
    words[i] = group && group <= target ? 0 : words[i];
  }
}

/// B is read for all four warps, so a warp that goes on must know the reads of
/// all of them.
Step wgmmaWait(Context &c, const Instruction &at) {
  uint64_t groups = c.warp.wgmmaGroups, pending = uint64_t(at.immediate);
  uint64_t target = groups > pending ? groups - pending : 0;
  uint32_t first = c.warp.index & ~3u;
  uint32_t end = std::min<uint32_t>(first + 4, uint32_t(c.cta.warps.size()));
  for (uint32_t i = first; i < end; ++i) {
    const Warp &other = *c.cta.warps[i];
    if (other.liveLanes && other.wgmmaGroups < target) {
      c.fragment.waitingFor = "the other warps of its warpgroup to commit";
      return Step::Blocked;
    }
  }
  c.cta.finish([&](AsyncOperation &o) {
    return o.warp / 4 == c.warp.index / 4 && o.group <= target &&
           dynamic_cast<WgmmaOperation *>(&o);
  });
  if (!c.checks || !target)
    return Step::Next;
  for (Frame *f = &c.frame; f; f = f->caller.get())
    release(f->inflight.data(), f->inflight.size(), target);
  auto &[upTo, known] = c.cta.wgmmaReads[c.warp.index / 4];
  if (upTo != target) {
    Gathering reads;
    for (uint32_t i = first; i < end; ++i)
      reads.add(c.cta.warps[i]->epoch(OwnWgmma, 0, uint32_t(target)));
    known = reads.freeze();
    upTo = target;
  }
  for (unsigned lane = 0; lane < 32; ++lane)
    if (c.active(lane)) {
      uint32_t &own = c.warp.own[OwnWgmma][lane];
      own = std::max(own, uint32_t(target));
    }
  c.warp.learn(c.mask, known, known);
  return Step::Next;
}

// ---- decoding

/// The shapes and types that wgmma.mma_async has (PTX ISA), and the optional
/// immediates behind the operands, whose number depends on them.
void decodeMultiply(Decoder &d) {
  const std::string spelling = "'" + d.tree().spelling() + "'";
  Wgmma p;
  p.saturate = d.take("satfinite");
  bool conjunction = d.take("and"), popc = d.take("popc");
  std::string shape;
  std::vector<std::string> types;
  for (std::string word = d.nextWord(); !word.empty(); word = d.nextWord())
    if (word[0] == 'm' && shape.empty())
      shape = word;
    else
      types.push_back(word);
  p.extent = extentNamed(shape);
  if (types.size() != 3 || !elementNamed(types[1], p.a) ||
      !elementNamed(types[2], p.b))
    return d.fail(spelling + " needs the types of d, a and b that a matrix "
                             "product has");
  const unsigned bits = bitsOf(p.a), n = p.extent.n;
  const bool eight = p.a == Element::E4M3 || p.a == Element::E5M2;
  const bool floating = isFloating(p.a), single = p.a == Element::B1;
  if (p.a == Element::F64 || p.a == Element::S4 || p.a == Element::U4)
    return d.fail("there is no wgmma for ." + types[1]);
  // 256 bits along K. Integers allow fewer values of N.
  unsigned k = 256 / bits;
  bool knownN =
      n >= 8 && n <= 256 && n % 8 == 0 && (floating || n <= 32 || n % 16 == 0);
  if (p.extent.m != 64 || p.extent.k != k || !knownN)
    return d.fail("there is no wgmma of shape ." + shape + " for ." + types[1] +
                  "; expected .m64n(8...256)k" + std::to_string(k));
  bool typesFit = p.a == p.b;
  if (eight)
    typesFit = p.b == Element::E4M3 || p.b == Element::E5M2;
  else if (!floating && !single)
    typesFit = p.b == Element::S8 || p.b == Element::U8;
  if (typesFit && p.a != p.b && !floating)
    d.require(90, 84);
  p.half = types[0] == "f16";
  if (floating)
    typesFit &= types[0] == "f32" ||
                (p.half && (eight || bits == 16) && p.a != Element::BF16);
  else
    typesFit &= types[0] == "s32";
  if (!typesFit)
    return d.fail("the types of " + spelling + " cannot be combined");
  if ((p.saturate && (floating || single)) || conjunction != single ||
      popc != single)
    return d.fail(spelling + ": .satfinite goes with integers only, .and.popc "
                             "with .b1 only and always");

  const auto &operands = d.tree().operands;
  p.registersA =
      operands.size() > 1 && operands[1].kind == ptx::Operand::Vector;
  bool transposable = floating && bits == 16;
  size_t expected = 4;
  if (floating)
    expected += 2;
  if (transposable)
    expected += p.registersA ? 1 : 2;
  if (operands.size() != expected)
    return d.fail(spelling + " expects " + std::to_string(expected) +
                  " operands, found " + std::to_string(operands.size()));
  auto place = [](Role role, unsigned width) {
    return [=](unsigned row, unsigned col) {
      return placeInMma(role, width, row, col);
    };
  };
  unsigned bitsD = p.half ? 16 : 32;
  if (p.registersA)
    p.inA =
        RegisterMatrix::make(16, p.extent.k, bits, false, place(Role::A, bits));
  p.inD = RegisterMatrix::make(16, n, bitsD, false,
                               place(Role::Accumulator, bitsD));
  p.countA = p.registersA ? p.inA.registers : 1;
  p.countD = p.inD.registers;
  p.ofA = p.countD;
  p.ofScale = p.ofA + p.countA + 1;
  if (floating)
    p.how = accumulationOf(d.target().sm, Unit::Wgmma, p.a, p.half);
  d.begin(wgmmaMultiply, Class::Matrix, flagAligned | flagDefinesItself);
  matrixResults(d, 0, p.countD, bits == 64 ? 64 : 32);
  if (p.registersA)
    matrixSources(d, 1, p.countA, 32);
  else
    d.source(1, ptx::Type::B64);
  d.source(2, ptx::Type::B64);
  d.sourcePredicate(3, &p.scaleNegated);
  auto flag = [&](size_t index, int64_t off, int64_t on, const char *what) {
    int64_t v = d.immediate(index);
    if (v != off && v != on)
      d.fail(std::string(what) + " of " + spelling + " is " +
             std::to_string(v) + ", expected " + std::to_string(off) + " or " +
             std::to_string(on));
    return v == on;
  };
  if (floating) {
    p.negateA = flag(4, 1, -1, "imm-scale-a");
    p.negateB = flag(5, 1, -1, "imm-scale-b");
  }
  if (transposable && !p.registersA)
    p.majorMA = flag(6, 0, 1, "imm-trans-a");
  if (transposable)
    p.majorNB = flag(expected - 1, 0, 1, "imm-trans-b");
  d.current().data = d.keep(std::move(p));
}

void decodeWgmma(Decoder &d) {
  d.requireSuffix(90, 'a', 80);
  int which =
      d.oneOf({"fence", "commit_group", "wait_group", "mma_async"}, true);
  if (d.failed())
    return;
  if (!d.take("sync") || !d.take("aligned"))
    return d.fail("'" + d.tree().spelling() + "' must be .sync.aligned");
  switch (which) {
  case 0:
    return d.begin(wgmmaFence, Class::Other, flagAligned);
  case 1:
    return d.begin(wgmmaCommit, Class::Other, flagAligned);
  case 2:
    d.begin(wgmmaWait, Class::Other, flagAligned);
    d.current().immediate = d.immediate(0);
    if (d.current().immediate < 0)
      d.fail("wgmma.wait_group takes a number of groups, found " +
             std::to_string(d.current().immediate));
    return;
  default:
    return decodeMultiply(d);
  }
}

} // namespace

/// Most instructions use no register of any wgmma. Marking the others once
/// spares the check at every execution.
void findNearWgmma(FunctionCode &function) {
  std::vector<bool> used(function.frameBytes / 64);
  auto use = [&](uint32_t slot) {
    if (slot / 64 < used.size())
      used[slot / 64] = true;
  };
  auto isWgmma = [](const Instruction &i) { return i.run == wgmmaMultiply; };
  for (const Instruction &i : function.code) {
    if (!isWgmma(i))
      continue;
    const Wgmma &p = *static_cast<const Wgmma *>(i.data);
    for (unsigned k = 0; k < p.countD; ++k)
      use(i.slots[k]);
    for (unsigned k = 0; p.registersA && k < p.countA; ++k)
      use(i.slots[p.ofA + k]);
  }
  auto isUsed = [&](const SlotUse &u) {
    return u.slot / 64 < used.size() && used[u.slot / 64];
  };
  for (Instruction &i : function.code)
    if (!isWgmma(i) && // claim() checks its registers
        (std::any_of(i.reads, i.reads + i.readCount, isUsed) ||
         std::any_of(i.writes, i.writes + i.writeCount, isUsed)))
      i.flags |= flagNearWgmma;
}

void registerWgmma(Families &f) { f["wgmma"] = decodeWgmma; }

} // namespace act::runtime::sim
