// SPDX-License-Identifier: Apache-2.0
//
// Instructions that exchange values between the lanes of a warp (PTX ISA
// 9.7.9.6, 9.7.13.9 to 9.7.13.14). Each names its members by a mask. Lanes wait
// for the other members that have not exited (Context::meet); then the lanes
// with equal masks exchange values. Several masks occur at once when tiles of a
// warp run side by side.
#include "runtime/sim/execute/MemoryOrder.h"
#include "runtime/sim/instructions/Families.h"
#include "runtime/sim/instructions/Lanes.h"

namespace act::runtime::sim {

using ptx::Operand;
using ptx::Type;

namespace {

/// A hash of the qualifiers. Lanes at different instructions meet only if it is
/// equal.
uint64_t signatureOf(const std::string &spelling) {
  uint64_t h = 0xcbf29ce484222325; // FNV-1a
  for (char ch : spelling)
    h = (h ^ uint8_t(ch)) * 0x100000001b3;
  return h;
}

/// Waits for all members (false: blocked), then calls `each` with every group,
/// the present lanes with equal masks.
template <typename Each>
bool exchange(Context &c, const Instruction &i, unsigned maskSlot, Each each) {
  const uint32_t *masks = c.lanes<uint32_t>(i.slots[maskSlot]);
  if (uint32_t bad = c.mask & ~c.definedLanes(i.slots[maskSlot]);
      bad && c.checks) {
    unsigned lane = unsigned(__builtin_ctz(bad));
    c.report(FindingKind::Uninitialised, i, lane,
             "uses " + c.neverWritten(i.slots[maskSlot], lane));
    c.define(i.slots[maskSlot], bad);
  }
  uint32_t members = c.mask;
  for (unsigned l = 0; l < 32; ++l)
    if (c.active(l))
      members |= masks[l];
  if (!c.meet(i, members, uint64_t(i.immediate)))
    return false;
  for (uint32_t rest = c.mask; rest;) {
    unsigned first = unsigned(__builtin_ctz(rest));
    uint32_t group = 0;
    for (unsigned l = first; l < 32; ++l)
      if ((rest >> l & 1) && masks[l] == masks[first])
        group |= uint32_t(1) << l;
    if (uint32_t outside = group & ~masks[first])
      c.report(FindingKind::InvalidOperation, i,
               unsigned(__builtin_ctz(outside)),
               "is not in its own member mask");
    else if (uint32_t other = masks[first] & c.mask & ~group)
      c.report(FindingKind::InvalidOperation, i, unsigned(__builtin_ctz(other)),
               "is in the member mask of another lane but has a different "
               "member mask itself");
    each(group);
    rest &= ~group;
  }
  return true;
}

// ---- shfl

enum class Shuffle : uint32_t { Up, Down, Butterfly, Index };

/// slots: d, p, a, b, c, members
/// The pseudocode of the PTX ISA. Operand c holds the clamp in its low five
/// bits and a mask in bits 8 to 12; lanes that agree under the mask form a
/// segment. A lane whose source is out of range keeps its own value.
template <Shuffle Mode> Step shuffle(Context &c, const Instruction &i) {
  const uint32_t *a = c.lanes<uint32_t>(i.slots[2]);
  const uint32_t *b = c.lanes<uint32_t>(i.slots[3]);
  const uint32_t *bounds = c.lanes<uint32_t>(i.slots[4]);
  uint32_t results[32] = {}, inRange = 0, present = 0;
  uint8_t from[32] = {};
  bool done = exchange(c, i, 5, [&](uint32_t group) {
    for (int lane = 0; lane < 32; ++lane) {
      if (!(group >> lane & 1))
        continue;
      int by = int(b[lane] & 31), clamp = int(bounds[lane] & 31);
      int segment = int(bounds[lane] >> 8 & 31);
      int most = (lane & segment) | (clamp & ~segment), j = lane;
      bool inside = false;
      switch (Mode) {
      case Shuffle::Up:
        j = lane - by;
        inside = j >= most;
        break;
      case Shuffle::Down:
        j = lane + by;
        inside = j <= most;
        break;
      case Shuffle::Butterfly:
        j = lane ^ by;
        inside = j <= most;
        break;
      case Shuffle::Index:
        j = (lane & segment) | (by & ~segment);
        inside = j <= most;
        break;
      }
      if (!inside)
        j = lane;
      from[lane] = uint8_t(j);
      results[lane] = a[j & 31];
      inRange |= uint32_t(inside) << lane;
      // The value of a lane outside the group is undefined.
      present |= (group >> (j & 31) & 1) << lane;
    }
  });
  if (!done)
    return Step::Blocked;
  if (c.checks) {
    const Definedness &defined = c.frame.defined;
    uint32_t source = c.definedLanes(i.slots[2]), good = 0;
    for (unsigned l = 0; l < 32; ++l)
      good |= (source >> from[l] & 1) << l;
    uint32_t sure =
        present & c.definedLanes(i.slots[3]) & c.definedLanes(i.slots[4]);
    good &= sure;
    uint64_t bits[32] = {};
    uint32_t origins[32];
    for (uint32_t left = c.mask & ~good; left; left &= left - 1) {
      unsigned l = unsigned(__builtin_ctz(left));
      origins[l] = c.originOf(i.slots[2], from[l]);
      for (unsigned s : {3, 4})
        if (!(c.definedLanes(i.slots[s]) >> l & 1))
          origins[l] = c.originOf(i.slots[s], l);
      bits[l] = sure >> l & 1 ? defined.undefinedBits(i.slots[2], from[l])
                              : ~uint64_t(0);
    }
    c.define(i.slots[0], c.mask & good);
    for (uint32_t left = c.mask & ~good; left; left &= left - 1) {
      unsigned l = unsigned(__builtin_ctz(left));
      c.frame.defined.setUndefinedBits(i.slots[0], l, bits[l], origins[l]);
    }
    c.define(i.slots[1], c.mask);
  }
  put(c, i.slots[0], results);
  putPredicate(c, i.slots[1], inRange);
  return Step::Next;
}

bool needsSync(Decoder &d) {
  if (d.take("sync"))
    return true;
  d.fail("'" + d.tree().spelling() +
         "' without .sync is not supported on sm_70 and higher");
  return false;
}

/// d or d|p as operand 0.
void resultAndPredicate(Decoder &d, Type t) {
  const Operand &o = d.operand(0);
  bool pair = o.kind == Operand::PredPair && o.elements.size() == 2;
  d.result(pair ? o.elements[0] : o, t);
  if (pair)
    d.resultPredicate(o.elements[1]);
  else // a sink: all forms need the same number of results to meet
    d.resultPredicate(Operand());
}
/// Stores the signature by which lanes at different instructions meet.
void sign(Decoder &d) {
  d.current().immediate = int64_t(signatureOf(d.tree().spelling()));
}

void decodeShfl(Decoder &d) {
  if (!needsSync(d))
    return;
  d.require(30, 60);
  int mode = d.oneOf({"up", "down", "bfly", "idx"}, true);
  d.type({Type::B32});
  d.begin(mode == 0   ? &shuffle<Shuffle::Up>
          : mode == 1 ? &shuffle<Shuffle::Down>
          : mode == 2 ? &shuffle<Shuffle::Butterfly>
                      : &shuffle<Shuffle::Index>,
          Class::Shuffle, flagDefinesItself);
  resultAndPredicate(d, Type::B32);
  for (unsigned s = 1; s <= 3; ++s)
    d.source(s, Type::B32);
  d.source(4, Type::U32);
  sign(d);
}

// ---- results that depend on all lanes of a group

/// Defines the results of an instruction that combines the sources of a group:
/// all are undefined if one source is. `byLane`: bit l depends on lane l only.
void defineTogether(Context &c, const Instruction &i, uint32_t source,
                    uint32_t members, bool byLane = false) {
  if (!c.checks)
    return;
  uint32_t good = c.definedLanes(source);
  for (unsigned k = 0; k < i.writeCount && !(c.mask & ~good); ++k)
    c.define(i.writes[k].slot, c.mask);
  if (!(c.mask & ~good))
    return;
  uint32_t bad[32], origins[32];
  const uint32_t *masks = c.lanes<uint32_t>(members);
  for (unsigned l = 0; l < 32; ++l) {
    bad[l] = c.active(l) ? c.mask & ~good & masks[l] : 0;
    if (bad[l])
      origins[l] = c.originOf(source, unsigned(__builtin_ctz(bad[l])));
  }
  for (unsigned k = 0; k < i.writeCount; ++k)
    for (unsigned l = 0; l < 32; ++l)
      if (c.active(l))
        c.frame.defined.setUndefinedBits(
            i.writes[k].slot, l, byLane || !bad[l] ? bad[l] : ~uint64_t(0),
            origins[l]);
}

// ---- vote

enum class Vote : uint32_t { All, Any, Uniform, Ballot };

/// slots: d, a, members; options: a is negated
template <Vote Mode> Step vote(Context &c, const Instruction &i) {
  uint32_t outcome = 0, words[32] = {};
  bool done = exchange(c, i, 2, [&](uint32_t group) {
    uint32_t p = c.predicate(i.slots[1]);
    uint32_t yes = (i.options ? ~p : p) & group;
    bool all = yes == group;
    bool holds = Mode == Vote::All   ? all
                 : Mode == Vote::Any ? yes != 0
                                     : all || yes == 0;
    outcome |= holds ? group : 0;
    for (unsigned l = 0; l < 32; ++l)
      if (group >> l & 1)
        words[l] = yes;
  });
  if (!done)
    return Step::Blocked;
  defineTogether(c, i, i.slots[1], i.slots[2], Mode == Vote::Ballot);
  if (Mode == Vote::Ballot)
    put(c, i.slots[0], words);
  else
    putPredicate(c, i.slots[0], outcome);
  return Step::Next;
}

void decodeVote(Decoder &d) {
  if (!needsSync(d))
    return;
  d.require(30, 60);
  int mode = d.oneOf({"all", "any", "uni", "ballot"}, true);
  Type t = d.type({mode == 3 ? Type::B32 : Type::Pred});
  d.begin(mode == 0   ? &vote<Vote::All>
          : mode == 1 ? &vote<Vote::Any>
          : mode == 2 ? &vote<Vote::Uniform>
                      : &vote<Vote::Ballot>,
          Class::Shuffle, flagDefinesItself);
  d.result(0, t);
  bool negated = false;
  d.sourcePredicate(1, &negated);
  d.source(2, Type::U32);
  d.current().options = negated;
  sign(d);
}

// ---- match

/// slots: d, p, a, members
template <typename T, bool All> Step match(Context &c, const Instruction &i) {
  uint32_t words[32] = {}, same = 0;
  bool done = exchange(c, i, 3, [&](uint32_t group) {
    const T *a = c.lanes<T>(i.slots[2]);
    for (unsigned l = 0; l < 32; ++l) {
      if (!(group >> l & 1))
        continue;
      uint32_t equal = 0;
      for (unsigned k = 0; k < 32; ++k)
        equal |= uint32_t((group >> k & 1) && a[k] == a[l]) << k;
      words[l] = All ? (equal == group ? group : 0) : equal;
      same |= uint32_t(equal == group) << l;
    }
  });
  if (!done)
    return Step::Blocked;
  // The ISA promises no memory ordering here, but libcu++ relies on it: the
  // lane that match elects destroys what the others used (cuda::pipeline).
  orderLanes(c);
  defineTogether(c, i, i.slots[2], i.slots[3]);
  put(c, i.slots[0], words);
  putPredicate(c, i.slots[1], same);
  return Step::Next;
}

void decodeMatch(Decoder &d) {
  if (!needsSync(d))
    return;
  d.require(70, 60);
  bool all = d.oneOf({"any", "all"}, true) == 1;
  Type t = d.type({Type::B32, Type::B64});
  bool wide = t == Type::B64;
  d.begin(all ? (wide ? &match<uint64_t, true> : &match<uint32_t, true>)
              : (wide ? &match<uint64_t, false> : &match<uint32_t, false>),
          Class::Shuffle, flagDefinesItself);
  if (!all && d.operand(0).kind == Operand::PredPair)
    return d.fail("'" + d.tree().spelling() + "' has no predicate result");
  resultAndPredicate(d, Type::U32);
  d.source(1, t);
  d.source(2, Type::U32);
  sign(d);
}

// ---- redux

struct Sum {
  static uint32_t of(uint32_t a, uint32_t b) { return a + b; }
};
template <typename T> struct Least {
  static uint32_t of(uint32_t a, uint32_t b) { return T(a) < T(b) ? a : b; }
};
template <typename T> struct Greatest {
  static uint32_t of(uint32_t a, uint32_t b) { return T(a) > T(b) ? a : b; }
};
struct AllBits {
  static uint32_t of(uint32_t a, uint32_t b) { return a & b; }
};
struct AnyBits {
  static uint32_t of(uint32_t a, uint32_t b) { return a | b; }
};
struct OddBits {
  static uint32_t of(uint32_t a, uint32_t b) { return a ^ b; }
};

/// slots: d, a, members
template <class Op> Step reduce(Context &c, const Instruction &i) {
  uint32_t words[32] = {};
  bool done = exchange(c, i, 2, [&](uint32_t group) {
    const uint32_t *a = c.lanes<uint32_t>(i.slots[1]);
    uint32_t rest = group & (group - 1);
    uint32_t total = a[__builtin_ctz(group)];
    for (; rest; rest &= rest - 1)
      total = Op::of(total, a[__builtin_ctz(rest)]);
    for (unsigned l = 0; l < 32; ++l)
      if (group >> l & 1)
        words[l] = total;
  });
  if (!done)
    return Step::Blocked;
  defineTogether(c, i, i.slots[1], i.slots[2]);
  put(c, i.slots[0], words);
  return Step::Next;
}

void decodeRedux(Decoder &d) {
  if (!needsSync(d))
    return;
  d.require(80, 70);
  int op = d.oneOf({"add", "min", "max", "and", "or", "xor"}, true);
  if (d.peek("f32"))
    return d.requireSuffix(100, 'a', 86);
  Type t = op < 3 ? d.type({Type::U32, Type::S32}) : d.type({Type::B32});
  bool isSigned = t == Type::S32;
  Handler h = nullptr;
  switch (op) {
  case 0:
    h = &reduce<Sum>;
    break;
  case 1:
    h = isSigned ? &reduce<Least<int32_t>> : &reduce<Least<uint32_t>>;
    break;
  case 2:
    h = isSigned ? &reduce<Greatest<int32_t>> : &reduce<Greatest<uint32_t>>;
    break;
  case 3:
    h = &reduce<AllBits>;
    break;
  case 4:
    h = &reduce<AnyBits>;
    break;
  default:
    h = &reduce<OddBits>;
    break;
  }
  plainOperands(d, h, Class::Shuffle, Type::U32, 2);
  d.current().flags |= flagDefinesItself;
  sign(d);
}

// ---- elect, activemask

/// slots: d, p, members. The leader is the lowest lane.
Step elect(Context &c, const Instruction &i) {
  uint32_t words[32] = {}, leaders = 0;
  bool done = exchange(c, i, 2, [&](uint32_t group) {
    uint32_t leader = uint32_t(__builtin_ctz(group));
    leaders |= uint32_t(1) << leader;
    for (unsigned l = 0; l < 32; ++l)
      if (group >> l & 1)
        words[l] = leader;
  });
  if (!done)
    return Step::Blocked;
  put(c, i.slots[0], words);
  putPredicate(c, i.slots[1], leaders);
  return Step::Next;
}
void decodeElect(Decoder &d) {
  if (!d.take("sync"))
    return d.fail("'" + d.tree().spelling() + "' needs .sync");
  d.require(90, 80);
  if (d.operand(0).kind != Operand::PredPair)
    return d.fail(
        "'" + d.tree().spelling() +
        "' expects a result of the form d|p (a register and a predicate)");
  d.begin(&elect, Class::Shuffle);
  resultAndPredicate(d, Type::U32);
  d.source(1, Type::U32);
  sign(d);
}

Step activeMask(Context &c, const Instruction &i) {
  uint32_t words[32];
  for (uint32_t &w : words)
    w = c.mask;
  put(c, i.slots[0], words);
  return Step::Next;
}
void decodeActivemask(Decoder &d) {
  d.type({Type::B32});
  d.require(30, 62);
  plainOperands(d, &activeMask, Class::Shuffle, Type::B32, 0);
}

} // namespace

void registerWarp(Families &f) {
  f["shfl"] = decodeShfl;
  f["vote"] = decodeVote;
  f["match"] = decodeMatch;
  f["redux"] = decodeRedux;
  f["elect"] = decodeElect;
  f["activemask"] = decodeActivemask;
}

} // namespace act::runtime::sim
