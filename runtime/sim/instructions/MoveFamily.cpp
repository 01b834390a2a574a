// SPDX-License-Identifier: Apache-2.0
//
// mov with its packing and unpacking forms (PTX ISA 9.7.9.3, 9.7.9.4), cvta and
// isspacep (9.7.9.19, 9.7.9.20).
#include "runtime/sim/decode/Specials.h"
#include "runtime/sim/instructions/Families.h"
#include "runtime/sim/instructions/Lanes.h"

namespace act::runtime::sim {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

struct Copy : Plain {
  using Plain::Plain;
  template <typename T> T operator()(T a) const { return a; }
};

Step copyPredicate(Context &c, const Instruction &i) {
  uint32_t p = c.predicate(i.slots[1]);
  putPredicate(c, i.slots[0], i.options ? ~p : p);
  return Step::Next;
}

// A .b128 register is two adjacent 64-bit ones (Program.h).
constexpr uint32_t upperHalf = 32 * sizeof(uint64_t);

void copyHalf(const Context &c, uint32_t to, uint32_t from) {
  uint64_t lanes[32];
  std::memcpy(lanes, c.lanes<uint64_t>(from), sizeof lanes);
  put(c, to, lanes);
}
Step copy128(Context &c, const Instruction &i) {
  copyHalf(c, i.slots[0], i.slots[1]);
  copyHalf(c, i.slots[0] + upperHalf, i.slots[1] + upperHalf);
  return Step::Next;
}

// ---- vectors. W: a lane of the whole; P: a lane of a part (16 bits for an
// 8-bit part).

/// slots: whole, parts
template <typename W, typename P, unsigned Bits>
Step pack(Context &c, const Instruction &i) {
  constexpr unsigned count = 8 * sizeof(W) / Bits;
  W results[32] = {};
  for (unsigned k = 0; k < count; ++k) {
    const P *part = c.lanes<P>(i.slots[k + 1]);
    for (unsigned l = 0; l < 32; ++l)
      results[l] |= W(W(Bits == 8 ? part[l] & 255 : part[l]) << (Bits * k));
  }
  put(c, i.slots[0], results);
  return Step::Next;
}
/// slots: parts, whole
template <typename W, typename P, unsigned Bits>
Step unpack(Context &c, const Instruction &i) {
  constexpr unsigned count = 8 * sizeof(W) / Bits;
  W whole[32]; // a part may be the register of the whole
  std::memcpy(whole, c.lanes<W>(i.slots[count]), sizeof whole);
  for (unsigned k = 0; k < count; ++k) {
    P results[32];
    for (unsigned l = 0; l < 32; ++l)
      results[l] =
          P(Bits == 8 ? whole[l] >> (Bits * k) & 255 : whole[l] >> (Bits * k));
    put(c, i.slots[k], results);
  }
  return Step::Next;
}

template <bool Pack> Step between128And64(Context &c, const Instruction &i) {
  uint32_t whole = i.slots[Pack ? 0 : 2];
  const uint32_t *parts = i.slots + (Pack ? 1 : 0);
  for (unsigned k = 0; k < 2; ++k)
    Pack ? copyHalf(c, whole + k * upperHalf, parts[k])
         : copyHalf(c, parts[k], whole + k * upperHalf);
  return Step::Next;
}
Step pack128From32(Context &c, const Instruction &i) {
  uint64_t halves[2][32];
  for (unsigned h = 0; h < 2; ++h) {
    const uint32_t *low = c.lanes<uint32_t>(i.slots[1 + 2 * h]);
    const uint32_t *high = c.lanes<uint32_t>(i.slots[2 + 2 * h]);
    for (unsigned l = 0; l < 32; ++l)
      halves[h][l] = uint64_t(high[l]) << 32 | low[l];
  }
  put(c, i.slots[0], halves[0]);
  put(c, i.slots[0] + upperHalf, halves[1]);
  return Step::Next;
}
Step unpack128To32(Context &c, const Instruction &i) {
  for (unsigned k = 0; k < 4; ++k) {
    const uint64_t *half = c.lanes<uint64_t>(i.slots[4] + (k / 2) * upperHalf);
    uint32_t results[32];
    for (unsigned l = 0; l < 32; ++l)
      results[l] = uint32_t(half[l] >> (32 * (k % 2)));
    put(c, i.slots[k], results);
  }
  return Step::Next;
}

struct Packing {
  unsigned wholeBytes, parts;
  Handler pack, unpack;
  Type part;
};
const Packing packings[] = {
    {2, 2, &pack<uint16_t, uint16_t, 8>, &unpack<uint16_t, uint16_t, 8>,
     Type::B8},
    {4, 2, &pack<uint32_t, uint16_t, 16>, &unpack<uint32_t, uint16_t, 16>,
     Type::B16},
    {4, 4, &pack<uint32_t, uint16_t, 8>, &unpack<uint32_t, uint16_t, 8>,
     Type::B8},
    {8, 2, &pack<uint64_t, uint32_t, 32>, &unpack<uint64_t, uint32_t, 32>,
     Type::B32},
    {8, 4, &pack<uint64_t, uint16_t, 16>, &unpack<uint64_t, uint16_t, 16>,
     Type::B16},
    {16, 2, &between128And64<true>, &between128And64<false>, Type::B64},
    {16, 4, &pack128From32, &unpack128To32, Type::B32},
};

void decodeVector(Decoder &d, Type t, const Operand &vector, bool packs) {
  for (const Packing &p : packings) {
    if (p.wholeBytes != ptx::bytesOf(t) || p.parts != vector.elements.size())
      continue;
    if (t != Type::B16 && t != Type::B32 && t != Type::B64 && t != Type::B128)
      return d.fail("'" + d.tree().spelling() +
                    "': vectors are packed and unpacked as bits (.b" +
                    std::to_string(8 * p.wholeBytes) + ")");
    for (const Operand &element : vector.elements)
      if (element.kind == Operand::Reg &&
          ptx::bytesOf(d.declared(element)) != ptx::bytesOf(p.part))
        return d.fail("'" + d.tree().spelling() + "' expects elements of " +
                      std::to_string(8 * ptx::bytesOf(p.part)) + " bits");
    d.begin(packs ? p.pack : p.unpack, Class::Move);
    bool allSinks = true;
    for (const Operand &element : vector.elements)
      allSinks &= element.kind == Operand::Sink;
    if (allSinks)
      return d.fail("'" + d.tree().spelling() +
                    "' needs a register among the elements of its vector");
    if (packs)
      d.result(0, t);
    for (const Operand &element : vector.elements)
      packs ? d.source(element, p.part) : d.result(element, p.part);
    if (!packs)
      d.source(1, t);
    return d.byBits();
  }
  d.fail("'" + d.tree().spelling() + "' does not fit a vector of " +
         std::to_string(vector.elements.size()) + " elements");
}

// ---- mov of a vector: slots of the results, then those of the sources

template <typename T> Step moveVector(Context &c, const Instruction &i) {
  unsigned count = i.slotCount / 2;
  T values[4][32];
  for (unsigned k = 0; k < count; ++k)
    std::memcpy(values[k], c.lanes<T>(i.slots[count + k]), sizeof values[k]);
  for (unsigned k = 0; k < count; ++k)
    put(c, i.slots[k], values[k]);
  return Step::Next;
}

void decodeMoveVector(Decoder &d, Type t, unsigned count) {
  std::vector<Operand> from;
  if (d.operand(1).kind == Operand::Special && count == 4)
    for (char part : {'x', 'y', 'z', 'w'}) {
      from.push_back(d.operand(1));
      from.back().name += std::string(".") + part;
    }
  else
    for (const Operand *element : d.elements(1, count))
      from.push_back(*element);
  unsigned bytes = ptx::bytesOf(t);
  if (count > 4 || bytes < 2 || bytes > 8)
    return d.fail("'" + d.tree().spelling() + "' cannot move this vector");
  d.begin(bytes == 2   ? &moveVector<uint16_t>
          : bytes == 4 ? &moveVector<uint32_t>
                       : &moveVector<uint64_t>,
          Class::Move);
  for (const Operand *element : d.elements(0, count))
    d.result(*element, t);
  for (const Operand &element : from)
    d.source(element, t);
  d.byBits();
}

// ---- clocks

enum Clock : uint32_t { Cycles, Other };

/// A reproducible clock: it counts the warp instructions that this cluster has
/// executed, one nanosecond each.
template <typename T> Step readClock(Context &c, const Instruction &i) {
  uint64_t now = c.warp.counters->totalWarpInstructions();
  if (i.options == Other)
    now = 0; // performance monitors: nothing is measured
  T results[32];
  for (T &r : results)
    r = T(now >> i.immediate);
  put(c, i.slots[0], results);
  return Step::Next;
}
void decodeClock(Decoder &d, Type t, const std::string &name) {
  bool wide = name == "%clock64" || name == "%globaltimer" ||
              name.find("_64") != std::string::npos;
  if (t == Type::F32 || t == Type::F64 || ptx::bytesOf(t) != (wide ? 8 : 4))
    return d.fail("'" + d.tree().spelling() + "': " + name + " has " +
                  (wide ? "64" : "32") + " bits");
  d.begin(wide ? &readClock<uint64_t> : &readClock<uint32_t>, Class::Move);
  d.result(0, t);
  bool high = name.size() > 3 && name.compare(name.size() - 3, 3, "_hi") == 0;
  bool counts = name.rfind("%clock", 0) == 0 || name.rfind("%global", 0) == 0;
  d.current().immediate = high ? 32 : 0;
  d.current().options = counts ? Cycles : Other;
}

void decodeMov(Decoder &d) {
  Type t = d.type({Type::Pred, Type::B16, Type::B32, Type::B64, Type::B128,
                   Type::U16, Type::U32, Type::U64, Type::S16, Type::S32,
                   Type::S64, Type::F32, Type::F64});
  if (t == Type::B128)
    d.require(70, 83);
  if (unsigned count = d.vector(); count > 1)
    return decodeMoveVector(d, t, count);
  const Operand &to = d.operand(0), &from = d.operand(1);
  if (from.kind == Operand::Vector)
    return decodeVector(d, t, from, true);
  if (to.kind == Operand::Vector)
    return decodeVector(d, t, to, false);
  if (from.kind == Operand::Special && isChangingSpecial(from.name))
    return decodeClock(d, t, from.name);
  if (from.kind == Operand::SymbolRef &&
      (t == Type::Pred || t == Type::F32 || t == Type::F64))
    return d.fail("'" + d.tree().spelling() +
                  "': an address is an integer, not a ." + ptx::nameOf(t));
  if (t == Type::Pred) {
    d.begin(&copyPredicate, Class::Move);
    d.result(0, t);
    bool negated = false;
    d.sourcePredicate(1, &negated);
    d.current().options = negated;
    return;
  }
  unsigned bytes = ptx::bytesOf(t);
  plainOperands(d,
                bytes == 2   ? &map<Copy, uint16_t, uint16_t>
                : bytes == 4 ? &map<Copy, uint32_t, uint32_t>
                : bytes == 8 ? &map<Copy, uint64_t, uint64_t>
                             : &copy128,
                Class::Move, t, 1);
  d.byBits();
}

// ---- addresses

/// Converts between an address in a window and a generic one: keeps the low 32
/// bits and sets the window's base, `immediate`.
struct IntoWindow {
  uint64_t window;
  explicit IntoWindow(const Instruction &i) : window(uint64_t(i.immediate)) {}
  uint64_t operator()(uint64_t a) const { return window | uint32_t(a); }
};

/// Global addresses are generic addresses already. Shared and local ones are
/// offsets from their windows (Memory.h).
void decodeCvta(Decoder &d) {
  bool to = d.take("to");
  Space space = d.space();
  Type t = d.type({Type::U32, Type::U64});
  if (space == Space::Generic)
    return d.fail("'" + d.tree().spelling() + "' needs a state space");
  if (space == Space::Param)
    d.require(70, 77);
  if (t == Type::U32)
    return d.fail("'" + d.tree().spelling() +
                  "': addresses have 64 bits; expected .u64");
  if (to && d.operand(1).kind == Operand::SymbolRef)
    return d.fail("'" + d.tree().spelling() +
                  "' takes a generic address from a register; a variable's "
                  "name is an address in its state space");
  bool window = space == Space::Shared || space == Space::Local;
  plainOperands(d,
                window ? &map<IntoWindow, uint64_t, uint64_t>
                       : &map<Copy, uint64_t, uint64_t>,
                Class::Move, t, 1);
  d.current().immediate = int64_t(to                       ? 0
                                  : space == Space::Shared ? sharedWindow
                                                           : localWindow);
}

enum Window : uint32_t {
  Const,
  Global,
  Local,
  SharedCta,
  SharedCluster,
  Param
};

bool isConstant(const Program &program, uint64_t address) {
  const auto &variables = program.tree->variables;
  for (size_t v = 0; v < variables.size(); ++v)
    if (variables[v].space == Space::Const &&
        address - reinterpret_cast<uint64_t>(program.variables[v]) <
            variables[v].bytes)
      return true;
  return false;
}
/// Rank 0 is the executing CTA in its own addresses; mapa gives rank + 1, for
/// itself too.
bool isIn(const Context &c, Window window, uint64_t a) {
  switch (window) {
  case Local:
    return isLocalAddress(a);
  case SharedCluster:
    return isSharedAddress(a);
  case SharedCta: {
    uint64_t rank = (a - sharedWindow) >> sharedRankShift;
    return isSharedAddress(a) && (rank == 0 || rank == c.cta.rank + 1);
  }
  case Const:
    return isConstant(*c.grid.program, a);
  case Param:
    return a - reinterpret_cast<uint64_t>(c.grid.parameters.data) <
           c.grid.parameters.bytes;
  case Global:
    return !isSharedAddress(a) && !isLocalAddress(a) &&
           !isConstant(*c.grid.program, a);
  }
  return false;
}
Step isSpace(Context &c, const Instruction &i) {
  const uint64_t *a = c.lanes<uint64_t>(i.slots[1]);
  uint32_t bits = 0;
  for (unsigned l = 0; l < 32; ++l)
    bits |= uint32_t(isIn(c, Window(i.options), a[l])) << l;
  putPredicate(c, i.slots[0], bits);
  return Step::Next;
}
void decodeIsspacep(Decoder &d) {
  Space space = d.space();
  Window window = Global;
  switch (space) {
  case Space::Const:
    window = Const;
    break;
  case Space::Global:
    break;
  case Space::Local:
    window = Local;
    break;
  case Space::Shared:
    window = d.tookClusterSpace() ? SharedCluster : SharedCta;
    break;
  case Space::Param:
    d.require(70, 77);
    window = Param;
    break;
  default:
    return d.fail("'" + d.tree().spelling() + "' needs a state space");
  }
  d.begin(&isSpace, Class::Move);
  d.result(0, Type::Pred);
  d.source(1, Type::U64);
  d.current().options = window;
}

} // namespace

void registerMove(Families &f) {
  f["mov"] = decodeMov;
  f["cvta"] = decodeCvta;
  f["isspacep"] = decodeIsspacep;
}

} // namespace act::runtime::sim
