// SPDX-License-Identifier: Apache-2.0
//
// A warp's fragments: which one runs, and how they split, meet and merge.
#include "runtime/sim/execute/Machine.h"
#include "runtime/sim/execute/SpecialValues.h"
#include "runtime/sim/execute/UndefinedBits.h"
#include "runtime/sim/program/ControlFlow.h"
#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace act::runtime::sim {

namespace {

// A fragment yields after 2^turnShift steps until the others have run as many.
constexpr unsigned turnShift = 11;
// After this many vain polls per lane, a fragment yields until the next turn.
constexpr uint32_t looksOfATurn = 8;

unsigned laneStride(unsigned bytes) { return bytes < 8 ? bytes : 8; }

// Copies lanes of a slot with `bytes` per lane (0: predicate; 16: two halves).
void copyLanes(std::byte *to, const std::byte *from, unsigned bytes,
               uint32_t lanes) {
  if (bytes == 0) {
    uint32_t a, b;
    std::memcpy(&a, to, 4);
    std::memcpy(&b, from, 4);
    a = (a & ~lanes) | (b & lanes);
    std::memcpy(to, &a, 4);
    return;
  }
  unsigned stride = laneStride(bytes);
  for (unsigned half = 0; half < (bytes == 16 ? 2 : 1); ++half)
    for (unsigned lane = 0; lane < 32; ++lane)
      if (lanes >> lane & 1)
        std::memcpy(to + half * 256 + lane * stride,
                    from + half * 256 + lane * stride, stride);
}

uint32_t slotSize(unsigned bytes) { return bytes <= 2 ? 64 : 32 * bytes; }

} // namespace

Warp::~Warp() {
  if (local)
    munmap(local, 32 * localLimit);
}

// Reserves the address space of 32 full stacks and no memory: pages come when
// they are touched.
bool Warp::needLocal(uint64_t bytes) {
  if (bytes > *std::min_element(stackTop.begin(), stackTop.end()))
    return false;
  if (!local && bytes) {
    void *p = mmap(nullptr, 32 * localLimit, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
      return false;
    local = static_cast<std::byte *>(p);
  }
  return true;
}

// Registers begin undefined. Constants (the function's image) and special
// registers get their values here, so that instructions read them like any
// other register.
FrameRef Warp::newFrame(const FunctionCode &function, const FrameRef &caller) {
  auto frame = std::make_shared<Frame>();
  frame->function = &function;
  frame->caller = caller;
  if (caller) {
    frame->depth = caller->depth + 1;
    // A call without variables takes space too, so that endless recursion hits
    // the limit.
    uint64_t bytes = caller->function->localBytes;
    frame->localBase = caller->localBase + (bytes ? bytes : 64);
  }
  if (!needLocal(frame->localBase + function.localBytes))
    return nullptr;
  frame->storage = std::make_unique<std::byte[]>(function.frameBytes + 64);
  uintptr_t address = reinterpret_cast<uintptr_t>(frame->storage.get());
  frame->registers = frame->storage.get() + (64 - address % 64) % 64;
  std::copy(function.image.begin(), function.image.end(),
            frame->registers + function.registerBytes);
  frame->defined.reset(function.frameBytes, function.registerBytes);
  for (const FunctionCode::SpecialSlot &s : function.specials) {
    uint32_t bits = 0; // of a predicate
    for (unsigned lane = 0; lane < 32; ++lane) {
      uint64_t value = valueOf(s.special, *this, *frame, lane) + s.addend;
      std::memcpy(frame->registers + s.slot + lane * s.bytes, &value, s.bytes);
      bits |= uint32_t(value != 0) << lane;
    }
    if (s.bytes == 0)
      std::memcpy(frame->registers + s.slot, &bits, sizeof bits);
  }
  return frame;
}

// By turns first, so that no fragment starves. Within a turn by depth and pc:
// the fragment that is behind runs, and the others wait for it where paths
// join.
bool Warp::choose() {
  if (fragments.size() == 1) {
    current = 0;
    return !fragments[0].blocked;
  }
  const Fragment *best = nullptr;
  auto key = [](const Fragment &f) {
    return std::make_tuple(f.steps >> turnShift, ~f.frame->depth, f.pc);
  };
  for (const Fragment &f : fragments)
    if (!f.blocked && (!best || key(f) < key(*best)))
      best = &f;
  if (!best)
    return false;
  current = uint32_t(best - fragments.data());
  return true;
}

// Joins the fragment with one that stands at the same place of the same frame.
// Fragments at a barrier that has counted them stay apart until it lets them
// go.
void Warp::merge(uint32_t index) {
  Fragment &f = fragments[index];
  for (uint32_t i = 0; i < fragments.size(); ++i) {
    Fragment &o = fragments[i];
    if (i == index || o.pc != f.pc || o.frame != f.frame || o.arrived ||
        f.arrived)
      continue;
    f.mask |= o.mask;
    if (fragments.size() == 2)
      f.didIn = nullptr;
    else if (!f.didIn)
      f.didIn = o.didIn, f.did = o.did;
    // The merged fragment counts as polling if one of the two does.
    uint64_t sinceLook = f.steps - f.polledSteps;
    if (o.isLooking() && !f.isLooking()) {
      sinceLook = o.steps - o.polledSteps;
      f.polled = o.polled;
      f.polledAddress = o.polledAddress;
      f.mbarrier = o.mbarrier;
      f.mbarrierPhase = o.mbarrierPhase;
    }
    f.looks += o.looks;
    f.steps = std::min(f.steps, o.steps);
    f.polledSteps = f.steps - sinceLook;
    f.blocked = false;
    fragments.erase(fragments.begin() + i);
    return; // at most one other: earlier arrivals have merged already
  }
}

// The other lanes go on with the next instruction.
void Warp::jump(Fragment &fragment, uint32_t lanes, uint32_t pc) {
  if (lanes == fragment.mask) {
    fragment.pc = pc;
    return;
  }
  Fragment other = fragment;
  other.mask = lanes;
  other.pc = pc;
  fragment.mask &= ~lanes;
  ++fragment.pc;
  fragments.push_back(std::move(other));
}

// Since Volta, a .sync instruction with a member mask may be executed by its
// lanes at different places of the program. The instruction runs once, in the
// last fragment to come, for all of them.
bool Context::meet(const Instruction &at, uint32_t members,
                   uint64_t signature) {
  if (mask & ~members)
    report(FindingKind::InvalidOperation, at, __builtin_ctz(mask & ~members),
           "executes an instruction whose member mask does not include it");
  uint32_t wanted = members & warp.liveLanes;
  if ((wanted & ~mask) == 0)
    return true;
  fragment.members = members;
  fragment.signature = signature;
  fragment.waitingMask = mask;
  fragment.waitingFor = "the other lanes of its member mask";
  uint32_t here = mask;
  for (const Fragment &f : warp.fragments)
    if (&f != &fragment && f.blocked && f.members == members &&
        f.signature == signature)
      here |= f.waitingMask;
  if (wanted & ~here)
    return false;
  // All are here, some at other instructions. Copy their operands into this
  // frame while the instruction runs (Warp::finishMeeting undoes it).
  auto eachSlot = [&](auto visit) {
    for (unsigned k = 0; k < at.readCount; ++k)
      visit(at.reads[k]);
    for (unsigned k = 0; k < at.writeCount; ++k)
      visit(at.writes[k]);
  };
  warp.saved.clear();
  warp.savedDefined = frame.defined;
  eachSlot([&](const SlotUse &use) {
    const std::byte *from = frame.registers + use.slot;
    warp.saved.insert(warp.saved.end(), from, from + slotSize(use.bytes));
  });
  for (Fragment &f : warp.fragments) {
    if (&f == &fragment || !f.blocked || f.members != members ||
        f.signature != signature)
      continue;
    const Instruction &other = f.frame->function->code[f.pc];
    if (other.run != at.run || other.readCount != at.readCount ||
        other.writeCount != at.writeCount)
      continue;
    for (unsigned k = 0; k < at.readCount; ++k) {
      uint32_t to = at.reads[k].slot, from = other.reads[k].slot;
      copyLanes(frame.registers + to, f.frame->registers + from,
                at.reads[k].bytes, f.waitingMask);
      frame.defined.copy(to, f.waitingMask, f.frame->defined, from);
    }
    mask |= f.waitingMask;
    warp.met.push_back({f.frame, f.pc, f.waitingMask, f.mask, &other});
  }
  return true;
}

void Warp::finishMeeting(const Instruction &at) {
  Frame &frame = *fragments[current].frame;
  // Copy the results to their lanes' frames, then restore this frame.
  uint32_t lanes = 0;
  for (Met &m : met) {
    lanes |= m.lanes;
    for (unsigned k = 0; k < at.writeCount; ++k) {
      uint32_t from = at.writes[k].slot, to = m.at->writes[k].slot;
      copyLanes(m.frame->registers + to, frame.registers + from,
                at.writes[k].bytes, m.lanes);
      m.frame->defined.copy(to, m.lanes, frame.defined, from);
    }
  }
  size_t offset = 0;
  auto restore = [&](const SlotUse &use) {
    // A joined lane of this same frame keeps a result in its own register.
    uint32_t keep = 0;
    for (const Met &m : met)
      for (unsigned k = 0; k < at.writeCount; ++k)
        if (m.frame.get() == &frame && m.at->writes[k].slot == use.slot)
          keep |= m.lanes;
    copyLanes(frame.registers + use.slot, saved.data() + offset, use.bytes,
              lanes & ~keep);
    frame.defined.copy(use.slot, lanes & ~keep, savedDefined, use.slot);
    offset += slotSize(use.bytes);
  };
  for (unsigned k = 0; k < at.readCount; ++k)
    restore(at.reads[k]);
  for (unsigned k = 0; k < at.writeCount; ++k)
    restore(at.writes[k]);
  for (Met &m : met)
    for (Fragment &f : fragments)
      if (f.frame == m.frame && f.pc == m.pc && f.mask == m.all) {
        ++f.pc;
        f.blocked = false;
        f.members = 0;
        f.waitingFor = nullptr;
        f.barrier = nullptr;
        break;
      }
  met.clear();
}

void Warp::exit(uint32_t lanes) {
  liveLanes &= ~lanes;
  Fragment &f = fragments[current];
  if (cta->grid->checks && f.didIn && liveLanes && f.mask == lanes)
    left.push_back({lanes, f.didIn, f.did});
  f.mask &= ~lanes;
  if (!f.mask)
    fragments.erase(fragments.begin() + current);
  else
    ++f.pc;
}

namespace {

// The whole warp executes `i`, as it must, except for lanes that bypassed it
// and then exited: reports those (Warp::Left).
void checkLeft(Context &c, const Instruction &i) {
  for (const Warp::Left &l : c.warp.left)
    if (l.in == c.fragment.frame->function) {
      const Program &program = *c.grid.program;
      const ptx::Function &tree =
          program.tree->functions[size_t(l.in - program.functions.data())];
      if (reaches(tree, c.fragment.pc, l.did))
        c.report(FindingKind::DivergentBarrier, i, __builtin_ctz(l.lanes),
                 "exited without executing an instruction that its whole warp "
                 "must execute together");
    }
  c.warp.left.clear();
}

} // namespace

Warp::Outcome Warp::run(uint32_t budget) {
  for (Fragment &f : fragments) {
    f.blocked = false;
    f.looks = 0;
  }
  const bool checks = cta->grid->checks;
  bool moved = false; // executed a step that did not only wait
  for (uint32_t ran = 0; ran < budget; ++ran) {
    if (fragments.empty())
      return Outcome::Finished;
    if (!choose())
      break;
    Fragment &f = fragments[current];
    if (f.looks &&
        f.looks >= looksOfATurn * uint32_t(__builtin_popcount(f.mask))) {
      f.blocked = true; // until the next turn
      continue;
    }
    const bool works = !f.isLooking();
    const Instruction &i = f.frame->function->code[f.pc];
    uint32_t mask = f.mask;
    if (i.guard != noSlot) {
      uint32_t p;
      std::memcpy(&p, f.frame->registers + i.guard, 4);
      if (checks)
        if (uint32_t bad = mask & ~f.frame->defined.lanes(i.guard)) {
          Context c{*this, *cta, *cta->grid, f, *f.frame, mask, checks};
          c.report(FindingKind::Uninitialised, i, __builtin_ctz(bad),
                   "is guarded by " +
                       c.neverWritten(i.guard, unsigned(__builtin_ctz(bad))));
          c.define(i.guard, bad);
        }
      mask &= i.guardNegated ? ~p : p;
    }
    if (!mask) {
      ++f.pc;
      ++f.steps;
      moved = true;
      worked += works;
      if (fragments.size() > 1)
        merge(current);
      continue;
    }
    Context c{*this, *cta, *cta->grid, f, *f.frame, mask, checks};
    if (i.flags & flagAligned && mask != liveLanes) {
      // The missing lanes exited or are guarded off here, so they cannot come.
      // Otherwise another fragment may still bring them.
      if (f.mask == liveLanes || mask != f.mask) {
        c.report(FindingKind::DivergentBarrier, i,
                 __builtin_ctz(liveLanes & ~mask ? liveLanes & ~mask : mask),
                 "does not execute an instruction that its whole warp must "
                 "execute together");
      } else {
        f.blocked = true;
        f.waitingFor = "the other lanes of its warp";
        // If the rest never comes, that is reported as a deadlock.
        continue;
      }
    }
    if (checks) {
      if (i.flags & flagAligned && !left.empty())
        checkLeft(c, i);
      if (i.flags & flagStrictReads && undefinedLanes(c, i))
        reportUndefined(c, i);
      if (i.flags & flagNearWgmma && !f.frame->inflight.empty())
        c.checkInflight(i);
      if (i.flags & flagByBits)
        propagate(c, i); // before it overwrites its sources
    }
    size_t fragmentCount = fragments.size();
    Step step = i.run(c, i);
    if (step == Step::Blocked) {
      f.blocked = true;
      continue;
    }
    moved = true;
    worked += works;
    counters->warpInstructions[unsigned(i.kind)] += 1;
    counters->laneInstructions +=
        c.mask == ~0u ? 32 : unsigned(__builtin_popcount(c.mask));
    if (step == Step::Next) {
      if (checks && !(i.flags & (flagDefinesItself | flagByBits)))
        propagate(c, i);
      if (!met.empty())
        finishMeeting(i);
      Fragment &again = fragments[current];
      if (fragments.size() > 1) {
        again.didIn = again.frame->function;
        again.did = again.pc;
      }
      ++again.pc;
      ++again.steps;
      again.arrived = false;
      again.members = 0;
      again.waitingFor = nullptr;
      again.barrier = nullptr;
    } else if (step == Step::Jumped) {
      ++fragments[current].steps;
      if (fragments.size() > fragmentCount) {
        fragments[current].didIn = nullptr;
        for (size_t k = fragmentCount; k < fragments.size(); ++k)
          fragments[k].didIn = nullptr;
      }
    } else {
      if (checks)
        c.checkExit(i);
      c.event();
      exit(c.mask);
      if (fragments.empty())
        return Outcome::Finished;
      continue;
    }
    if (fragments.size() > 1) {
      merge(current);
      // The other half of a branch may meet lanes that took it before.
      if (step == Step::Jumped)
        merge(uint32_t(fragments.size() - 1));
    }
  }
  return moved ? Outcome::Ran : Outcome::Blocked;
}

} // namespace act::runtime::sim
