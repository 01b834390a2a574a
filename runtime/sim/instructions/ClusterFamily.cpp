// SPDX-License-Identifier: Apache-2.0
//
// mapa, getctarank (PTX ISA 9.7.9.23, 9.7.9.24), setmaxnreg (9.7.19.5),
// griddepcontrol (9.7.13.13).
//
// setmaxnreg moves registers between warps and a pool of their CTA. ptxas
// chooses the initial count:
//
//     .maxnreg 168                          168, rounded up to a multiple of 8
//     .maxntid 384 .minnctapersm 1          65536 / 384, rounded down: 168
//     .maxntid 256 .minnctapersm 1, with
//       a setmaxnreg.inc of 232 at most     232 of the 256 possible
//     neither                               unknown: setmaxnreg has no effect
#include "runtime/sim/execute/Machine.h"
#include "runtime/sim/instructions/Families.h"
#include "runtime/sim/instructions/Lanes.h"
#include <algorithm>

namespace act::runtime::sim {

using ptx::Space;
using ptx::Type;

namespace {

constexpr uint64_t offsetMask = (uint64_t(1) << sharedRankShift) - 1;

// ---- mapa, getctarank: nonzero options mean a generic address

bool isMapped(const Context &c, const Instruction &i, unsigned lane,
              uint64_t address, bool wide) {
  if (!i.options || !wide || isSharedAddress(address))
    return true;
  c.reportAt(FindingKind::InvalidOperation, i, lane, address,
             "asks for the CTA of an address that is not in shared memory");
  return false;
}

/// slots: d, a, b
template <typename T> Step mapToCta(Context &c, const Instruction &i) {
  const T *a = c.lanes<T>(i.slots[1]);
  const uint32_t *ranks = c.lanes<uint32_t>(i.slots[2]);
  const uint32_t size = c.grid.ctasPerCluster;
  T results[32] = {};
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!c.active(lane) || !isMapped(c, i, lane, a[lane], sizeof(T) == 8))
      continue;
    uint32_t rank = ranks[lane];
    if (rank >= size) {
      c.report(FindingKind::InvalidOperation, i, lane,
               "maps an address to CTA " + std::to_string(rank) +
                   " of a cluster of " + std::to_string(size));
      rank = 0;
    }
    results[lane] =
        T((a[lane] & ~T(0xffffffff)) | uint64_t(rank + 1) << sharedRankShift |
          (a[lane] & offsetMask));
  }
  put(c, i.slots[0], results);
  return Step::Next;
}

/// slots: d, a
template <typename T> Step rankOf(Context &c, const Instruction &i) {
  const T *a = c.lanes<T>(i.slots[1]);
  uint32_t results[32] = {};
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!c.active(lane) || !isMapped(c, i, lane, a[lane], sizeof(T) == 8))
      continue;
    uint32_t window = uint32_t(a[lane]) >> sharedRankShift;
    results[lane] = window ? window - 1 : c.cta.rank;
  }
  put(c, i.slots[0], results);
  return Step::Next;
}

// {.shared::cluster}.type; returns whether the address is generic.
bool takeForm(Decoder &d, Type &type) {
  d.require(90, 78);
  Space space = d.space();
  if (space != Space::Generic && !d.tookClusterSpace())
    d.fail("'" + d.tree().spelling() +
           "' takes generic addresses or .shared::cluster");
  type = d.type({Type::U32, Type::U64});
  return space == Space::Generic;
}

void decodeMapa(Decoder &d) {
  Type type;
  d.current().options = takeForm(d, type);
  d.begin(type == Type::U32 ? &mapToCta<uint32_t> : &mapToCta<uint64_t>,
          Class::Move, flagStrictReads);
  d.result(0, type);
  d.source(1, type);
  d.source(2, Type::U32);
}

void decodeRank(Decoder &d) {
  Type type;
  d.current().options = takeForm(d, type);
  d.begin(type == Type::U32 ? &rankOf<uint32_t> : &rankOf<uint64_t>,
          Class::Move, flagStrictReads);
  d.result(0, Type::U32);
  d.source(1, type);
}

// ---- setmaxnreg

struct Change {
  bool increases = false;
  uint32_t count = 0, atEntry = 0; // registers of a thread; 0: not known
};

uint32_t registersAtEntry(const ptx::Function &f, uint32_t registersPerSm) {
  const ptx::Performance &p = f.performance;
  if (p.maxRegisters)
    return std::min((p.maxRegisters + 7) / 8 * 8, 256u);
  uint32_t threads = 1;
  for (unsigned k = 0; k < 3; ++k)
    threads *= std::max({1u, p.maxThreads[k], p.requiredThreads[k]});
  if (!p.minCtasPerSm || (!p.maxThreads[0] && !p.requiredThreads[0]))
    return 0;
  threads = (std::min(threads, 1024u) + 31) / 32 * 32;
  uint32_t limit = registersPerSm / threads /
                   std::min(p.minCtasPerSm, registersPerSm / threads) / 8 * 8;
  // The largest count that a setmaxnreg.inc requests, if it fits.
  uint64_t most = 0;
  for (const ptx::Instruction &i : f.instructions)
    if (i.root == "setmaxnreg" && i.operands.size() == 1 &&
        std::find(i.modifiers.begin(), i.modifiers.end(), "inc") !=
            i.modifiers.end())
      most = std::max(most, i.operands[0].bits);
  limit = std::min(limit, 256u);
  return most ? uint32_t(std::min<uint64_t>(limit, most)) : limit;
}

/// An increase waits until the pool has enough; a decrease gives back at once.
/// A warp that executes fewer than the others of its warpgroup is reported at
/// the CTA's end.
Step changeRegisters(Context &c, const Instruction &i) {
  const Change &t = *static_cast<const Change *>(i.data);
  Warp &w = c.warp;
  unsigned first = unsigned(__builtin_ctz(c.mask));
  auto bad = [&](const std::string &what) {
    c.report(FindingKind::InvalidOperation, i, first, what);
  };
  if (!t.atEntry) {
    bad("has no effect: the kernel has neither .maxnreg nor both .maxntid and "
        ".minnctapersm");
    return Step::Next;
  }
  uint32_t have = w.registers ? w.registers : t.atEntry;
  bool possible = t.increases ? t.count >= have : t.count <= have;
  if (!possible)
    bad("cannot change the registers of a thread from " + std::to_string(have) +
        " to " + std::to_string(t.count) + " with " +
        (t.increases ? ".inc" : ".dec"));
  int64_t taken = possible ? (int64_t(t.count) - have) * 32 : 0;
  if (taken > c.cta.registerPool) {
    if (!c.fragment.arrived) {
      c.fragment.arrived = true;
      c.cta.notes.push_back(
          std::to_string(taken) +
          " registers, but the register pool of its CTA has " +
          std::to_string(c.cta.registerPool));
      c.fragment.waitingFor = c.cta.notes.back().c_str();
    }
    return Step::Blocked;
  }
  c.cta.registerPool -= taken;
  if (possible)
    w.registers = t.count;
  // All four warps of a warpgroup must execute the same setmaxnreg sequence.
  std::vector<uint32_t> &sites = c.cta.registerSites[w.index / 4];
  if (w.registerChanges == sites.size())
    sites.push_back(i.site);
  else if (sites[w.registerChanges] != i.site)
    c.report(FindingKind::DivergentBarrier, i, first,
             "differs from the setmaxnreg that other warps of its warpgroup "
             "execute");
  ++w.registerChanges;
  c.event();
  return Step::Next;
}

void decodeSetMaxRegisters(Decoder &d) {
  Change t;
  t.increases = d.oneOf({"inc", "dec"}, true) == 0;
  d.oneOf({"sync"}, true);
  d.oneOf({"aligned"}, true);
  d.type({Type::U32});
  d.requireSuffix(90, 'a', 80);
  int64_t count = d.immediate(0);
  if (count < 24 || count > 256 || count % 8)
    return d.fail("'" + d.tree().spelling() +
                  "' takes 24 to 256 registers in "
                  "steps of 8; not " +
                  std::to_string(count));
  t.count = uint32_t(count);
  if (d.function().isEntry) {
    t.atEntry = registersAtEntry(d.function(), d.target().registersPerSm);
    KernelInfo &kernel = d.code().kernel;
    kernel.registersAtEntry = t.atEntry;
    kernel.mostRegisters = std::max(kernel.mostRegisters, t.count);
  }
  d.begin(changeRegisters, Class::Other, flagAligned);
  d.current().data = d.keep(t);
}

// ---- griddepcontrol

// Launches run one after the other, so a grid's dependencies are complete.
Step nothing(Context &, const Instruction &) { return Step::Next; }

void decodeGridDependency(Decoder &d) {
  d.require(90, 78);
  d.oneOf({"launch_dependents", "wait"}, true);
  d.begin(nothing, Class::Control);
}

} // namespace

void registerCluster(Families &f) {
  f["mapa"] = decodeMapa;
  f["getctarank"] = decodeRank;
  f["setmaxnreg"] = decodeSetMaxRegisters;
  f["griddepcontrol"] = decodeGridDependency;
}

} // namespace act::runtime::sim
