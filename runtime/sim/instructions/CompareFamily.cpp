// SPDX-License-Identifier: Apache-2.0
//
// set, setp, selp, slct (PTX ISA 9.7.6, 9.7.7).
//
// A comparison of 32 lanes yields a 32-bit word; combining it with a predicate
// and turning it into a result are operations on that word. One table of
// functions (comparisonOf) covers all source types and relations, for every
// instruction.
#include "runtime/sim/instructions/Families.h"
#include "runtime/sim/instructions/Lanes.h"

namespace act::runtime::sim {

using ptx::Operand;
using ptx::Type;

namespace {

// ---- comparisons

enum class Relation : uint8_t {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Equ, // from here on: true if an operand is NaN
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu,
  Num,
  Nan,
};

template <typename T> bool isUnordered(T a, T b) { return (a != a) | (b != b); }

template <Relation R> struct Compare : Plain {
  using Plain::Plain;
  template <typename T> bool operator()(T a, T b) const {
    switch (R) {
    case Relation::Eq:
      return a == b;
    case Relation::Ne: // false for NaN
      return (a < b) | (a > b);
    case Relation::Lt:
      return a < b;
    case Relation::Le:
      return a <= b;
    case Relation::Gt:
      return a > b;
    case Relation::Ge:
      return a >= b;
    case Relation::Equ:
      return !((a < b) | (a > b));
    case Relation::Neu:
      return a != b;
    case Relation::Ltu:
      return !(a >= b);
    case Relation::Leu:
      return !(a > b);
    case Relation::Gtu:
      return !(a <= b);
    case Relation::Geu:
      return !(a < b);
    case Relation::Num:
      return !isUnordered(a, b);
    case Relation::Nan:
      return isUnordered(a, b);
    }
    return false;
  }
};

// Converters from a lane's word to the value that is compared.
struct AsIs {
  template <typename T> T operator()(T a) const { return a; }
};
struct Flushed {
  float operator()(float a) const { return flush(a); }
};
template <bool Ftz> struct HalfValue {
  float operator()(uint16_t a) const {
    return fromHalf(Ftz ? flushHalf(a) : a);
  }
};
struct BFloatValue {
  float operator()(uint16_t a) const { return fromBFloat(a); }
};
/// The low or the high half of a pair.
template <class Value, unsigned Shift> struct Part {
  float operator()(uint32_t a) const { return Value()(uint16_t(a >> Shift)); }
};

template <Relation R, class Value> struct CompareValues : Compare<R> {
  using Compare<R>::Compare;
  template <typename T> bool operator()(T a, T b) const {
    return Compare<R>::operator()(Value()(a), Value()(b));
  }
};

/// Compares operands `first` and `first + 1`.
using Comparison = uint32_t (*)(const Context &, const Instruction &,
                                size_t first);

template <typename T, class Value, Relation R>
uint32_t compareLanes(const Context &c, const Instruction &i, size_t first) {
  return testLanes<CompareValues<R, Value>, T, T>(
      c, i, first, std::make_index_sequence<2>());
}

template <typename T, class Value> Comparison withRelation(Relation r) {
  switch (r) {
  case Relation::Eq:
    return &compareLanes<T, Value, Relation::Eq>;
  case Relation::Ne:
    return &compareLanes<T, Value, Relation::Ne>;
  case Relation::Lt:
    return &compareLanes<T, Value, Relation::Lt>;
  case Relation::Le:
    return &compareLanes<T, Value, Relation::Le>;
  case Relation::Gt:
    return &compareLanes<T, Value, Relation::Gt>;
  case Relation::Ge:
    return &compareLanes<T, Value, Relation::Ge>;
  default:
    break;
  }
  // Integers lack the NaN relations; the decoder has rejected them.
  if constexpr (!std::is_integral_v<T> || !std::is_same_v<Value, AsIs>)
    switch (r) {
    case Relation::Equ:
      return &compareLanes<T, Value, Relation::Equ>;
    case Relation::Neu:
      return &compareLanes<T, Value, Relation::Neu>;
    case Relation::Ltu:
      return &compareLanes<T, Value, Relation::Ltu>;
    case Relation::Leu:
      return &compareLanes<T, Value, Relation::Leu>;
    case Relation::Gtu:
      return &compareLanes<T, Value, Relation::Gtu>;
    case Relation::Geu:
      return &compareLanes<T, Value, Relation::Geu>;
    case Relation::Num:
      return &compareLanes<T, Value, Relation::Num>;
    default:
      return &compareLanes<T, Value, Relation::Nan>;
    }
  return nullptr;
}

/// The comparison of two operands of type t. For pairs it compares the low
/// halves, and `high` the high ones.
Comparison comparisonOf(Type t, Relation r, bool ftz, Comparison *high) {
  switch (t) {
  case Type::B16:
  case Type::U16:
    return withRelation<uint16_t, AsIs>(r);
  case Type::S16:
    return withRelation<int16_t, AsIs>(r);
  case Type::B32:
  case Type::U32:
    return withRelation<uint32_t, AsIs>(r);
  case Type::S32:
    return withRelation<int32_t, AsIs>(r);
  case Type::B64:
  case Type::U64:
    return withRelation<uint64_t, AsIs>(r);
  case Type::S64:
    return withRelation<int64_t, AsIs>(r);
  case Type::F64:
    return withRelation<double, AsIs>(r);
  case Type::F32:
    return ftz ? withRelation<float, Flushed>(r) : withRelation<float, AsIs>(r);
  case Type::F16:
    return ftz ? withRelation<uint16_t, HalfValue<true>>(r)
               : withRelation<uint16_t, HalfValue<false>>(r);
  case Type::BF16:
    return withRelation<uint16_t, BFloatValue>(r);
  case Type::F16x2:
    *high = ftz ? withRelation<uint32_t, Part<HalfValue<true>, 16>>(r)
                : withRelation<uint32_t, Part<HalfValue<false>, 16>>(r);
    return ftz ? withRelation<uint32_t, Part<HalfValue<true>, 0>>(r)
               : withRelation<uint32_t, Part<HalfValue<false>, 0>>(r);
  case Type::BF16x2:
    *high = withRelation<uint32_t, Part<BFloatValue, 16>>(r);
    return withRelation<uint32_t, Part<BFloatValue, 0>>(r);
  default:
    return nullptr;
  }
}

// ---- results of comparisons

enum class Boolean : uint8_t { None, And, Or, Xor };

struct Plan { // Instruction::data of set and setp
  Comparison compare = nullptr, compareHigh = nullptr;
  Boolean boolean = Boolean::None;
  bool negated = false; // the third predicate
};
uint32_t combine(const Plan &plan, uint32_t bits, uint32_t third) {
  if (plan.negated)
    third = ~third;
  switch (plan.boolean) {
  case Boolean::And:
    return bits & third;
  case Boolean::Or:
    return bits | third;
  case Boolean::Xor:
    return bits ^ third;
  default:
    return bits;
  }
}

/// slots: p, q, a, b [, c]
Step setPredicates(Context &c, const Instruction &i) {
  const Plan &plan = *static_cast<const Plan *>(i.data);
  uint32_t bits = plan.compare(c, i, 2);
  uint32_t other = plan.compareHigh ? plan.compareHigh(c, i, 2) : ~bits;
  uint32_t third = plan.boolean == Boolean::None ? 0 : c.predicate(i.slots[4]);
  putPredicate(c, i.slots[0], combine(plan, bits, third));
  putPredicate(c, i.slots[1], combine(plan, other, third));
  return Step::Next;
}
/// The common case: one result, nothing to combine. slots: p, a, b
Step setPredicate(Context &c, const Instruction &i) {
  putPredicate(c, i.slots[0],
               static_cast<const Plan *>(i.data)->compare(c, i, 1));
  return Step::Next;
}

/// Instruction::immediate of set is the word for true. slots: d, a, b [, c]
template <typename D> Step setWords(Context &c, const Instruction &i) {
  const Plan &plan = *static_cast<const Plan *>(i.data);
  uint32_t third = plan.boolean == Boolean::None ? 0 : c.predicate(i.slots[3]);
  uint32_t bits = combine(plan, plan.compare(c, i, 1), third);
  D results[32];
  for (unsigned l = 0; l < 32; ++l)
    results[l] = D(bits >> l & 1 ? i.immediate : 0);
  if (plan.compareHigh) {
    uint32_t high = combine(plan, plan.compareHigh(c, i, 1), third);
    for (unsigned l = 0; l < 32; ++l)
      results[l] |= D(high >> l & 1 ? i.immediate << 16 : 0);
  }
  put(c, i.slots[0], results);
  return Step::Next;
}

// ---- decoding set and setp

bool isHalf(Type t) {
  return t == Type::F16 || t == Type::BF16 || t == Type::F16x2 ||
         t == Type::BF16x2;
}
bool isFloat(Type t) { return t == Type::F32 || t == Type::F64 || isHalf(t); }
bool isPair(Type t) { return t == Type::F16x2 || t == Type::BF16x2; }

/// The comparison and the Boolean operator; -1 if there is none.
int takeRelation(Decoder &d) {
  return d.oneOf({"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu",
                  "leu", "gtu", "geu", "num", "nan", "lo", "ls", "hi", "hs"},
                 true);
}
Boolean takeBoolean(Decoder &d) {
  return Boolean(d.oneOf({"and", "or", "xor"}) + 1);
}

Plan planOf(Decoder &d, Type t, int relation, Boolean boolean) {
  Plan plan;
  plan.boolean = boolean;
  bool ftz = d.take("ftz");
  if (ftz && t != Type::F32 && t != Type::F16 && t != Type::F16x2)
    d.fail("'" + d.tree().spelling() + "': .ftz is for f32, f16 and f16x2");
  bool unsignedOnly = relation > int(Relation::Nan);
  bool isUnsigned = t == Type::U16 || t == Type::U32 || t == Type::U64;
  bool isBits = t == Type::B16 || t == Type::B32 || t == Type::B64;
  if (unsignedOnly && !isUnsigned)
    d.fail("'" + d.tree().spelling() +
           "': lo, ls, hi and hs compare unsigned integers");
  if (relation > int(Relation::Ge) && !unsignedOnly && !isFloat(t))
    d.fail("'" + d.tree().spelling() +
           "': comparisons that allow NaN are for floating point");
  if (isBits && relation > int(Relation::Ne))
    d.fail("'" + d.tree().spelling() +
           "': untyped bits compare by eq and ne only");
  Relation r =
      unsignedOnly
          ? Relation(int(Relation::Lt) + relation - int(Relation::Nan) - 1)
          : Relation(relation);
  if (d.failed())
    return plan;
  plan.compare = comparisonOf(t, r, ftz, &plan.compareHigh);
  if (!plan.compare)
    d.fail("'" + d.tree().spelling() + "' does not compare ." + ptx::nameOf(t));
  return plan;
}

void comparands(Decoder &d, Type t, Plan &plan) {
  d.source(1, t);
  d.source(2, t);
  if (plan.boolean != Boolean::None)
    d.sourcePredicate(3, &plan.negated);
}

void decodeSetp(Decoder &d) {
  int relation = takeRelation(d);
  Boolean boolean = takeBoolean(d);
  Type t = d.type();
  if (t == Type::BF16 || t == Type::BF16x2)
    d.require(90, 78);
  Plan plan = planOf(d, t, relation, boolean);
  const Operand &p = d.operand(0);
  bool pair = p.kind == Operand::PredPair && p.elements.size() == 2;
  if (pair && (t == Type::F16 || t == Type::BF16))
    d.fail("'" + d.tree().spelling() +
           "' has a single predicate as its result");
  if (!pair && plan.boolean == Boolean::None && !isPair(t)) {
    d.begin(&setPredicate, Class::Compare);
    d.resultPredicate(p);
  } else {
    d.begin(&setPredicates, Class::Compare);
    d.resultPredicate(pair ? p.elements[0] : p);
    if (pair)
      d.resultPredicate(p.elements[1]);
    else
      d.pushSlot(d.scratch(0));
  }
  comparands(d, t, plan);
  d.current().data = d.keep(plan);
}

void decodeSet(Decoder &d) {
  int relation = takeRelation(d);
  Boolean boolean = takeBoolean(d);
  Type to = d.type({Type::U32, Type::S32, Type::F32, Type::U16, Type::S16,
                    Type::F16, Type::BF16, Type::F16x2, Type::BF16x2});
  Type from = d.type();
  if (to == Type::BF16 || isPair(to) || isHalf(from)) {
    bool bfloat = to == Type::BF16 || to == Type::BF16x2 ||
                  from == Type::BF16 || from == Type::BF16x2;
    d.require(bfloat ? 90 : 53, bfloat ? 78 : 60);
  }
  bool to16 = to == Type::U16 || to == Type::S16;
  bool fits = !isPair(from) ? !isPair(to) && (!to16 || isHalf(from)) &&
                                  !(to == Type::F32 && isHalf(from)) &&
                                  !(to == Type::F16 && from == Type::BF16)
                            : to == from || to == Type::U32 || to == Type::S32;
  if (!fits)
    d.fail("'" + d.tree().spelling() + "': a comparison of ." +
           ptx::nameOf(from) + " does not give ." + ptx::nameOf(to));
  Plan plan = planOf(d, from, relation, boolean);
  uint32_t one = to == Type::F32                          ? 0x3f800000
                 : to == Type::F16 || to == Type::F16x2   ? F16::one
                 : to == Type::BF16 || to == Type::BF16x2 ? BF16::one
                 : isPair(from) || ptx::bytesOf(to) == 2  ? 0xffff
                                                          : 0xffffffff;
  d.begin(ptx::bytesOf(to) == 2 ? &setWords<uint16_t> : &setWords<uint32_t>,
          Class::Compare);
  d.result(0, to);
  comparands(d, from, plan);
  d.current().immediate = one;
  d.current().data = d.keep(plan);
}

// ---- selp, slct: only the chosen operand matters

// Marks lanes whose selector or chosen operand is undefined.
void chooseUndefined(Context &c, const Instruction &i, uint32_t first,
                     uint32_t lanes) {
  for (; lanes; lanes &= lanes - 1) {
    unsigned lane = unsigned(__builtin_ctz(lanes));
    uint32_t from = i.slots[first >> lane & 1 ? 1 : 2];
    if (c.definedLanes(i.slots[3]) >> lane & 1)
      c.frame.defined.setUndefinedBits(
          i.slots[0], lane, c.frame.defined.undefinedBits(from, lane),
          c.originOf(from, lane));
    else
      c.undefine(i.slots[0], 1u << lane, c.originOf(i.slots[3], lane));
  }
}

/// slots: d, a, b, selector; `first`: lanes that take a.
template <typename T>
void choose(Context &c, const Instruction &i, uint32_t first) {
  const T *a = c.lanes<T>(i.slots[1]), *b = c.lanes<T>(i.slots[2]);
  T results[32];
  for (unsigned l = 0; l < 32; ++l) {
    const T mask = T(-T((first & laneBits[l]) != 0));
    results[l] = T((a[l] & mask) | (b[l] & ~mask));
  }
  if (c.checks) {
    uint32_t good = ((first & c.definedLanes(i.slots[1])) |
                     (~first & c.definedLanes(i.slots[2]))) &
                    c.definedLanes(i.slots[3]);
    if (uint32_t bad = c.mask & ~good)
      chooseUndefined(c, i, first, bad);
    c.define(i.slots[0], c.mask & good);
  }
  put(c, i.slots[0], results);
}

template <typename T> Step selectBy(Context &c, const Instruction &i) {
  uint32_t p = c.predicate(i.slots[3]);
  choose<T>(c, i, i.options ? ~p : p);
  return Step::Next;
}
struct NotNegative : Plain {
  using Plain::Plain;
  template <typename T> bool operator()(T c) const { return c >= 0; }
};
struct NotNegativeFlushed : Plain {
  using Plain::Plain;
  bool operator()(float c) const { return flush(c) >= 0; }
};
template <typename T, typename S, class Test>
Step selectBySign(Context &c, const Instruction &i) {
  uint32_t first = testLanes<Test, S>(c, i, 3, std::make_index_sequence<1>());
  choose<T>(c, i, first);
  return Step::Next;
}

const std::initializer_list<Type> wordTypes = {
    Type::B16, Type::B32, Type::B64, Type::U16, Type::U32, Type::U64,
    Type::S16, Type::S32, Type::S64, Type::F32, Type::F64};

/// The operand that is not chosen may be undefined, so the handler marks its
/// results itself.
void decodeSelp(Decoder &d) {
  Type t = d.type(wordTypes);
  unsigned bytes = ptx::bytesOf(t);
  d.begin(bytes == 2   ? &selectBy<uint16_t>
          : bytes == 4 ? &selectBy<uint32_t>
                       : &selectBy<uint64_t>,
          Class::Compare, flagDefinesItself);
  d.result(0, t);
  d.source(1, t);
  d.source(2, t);
  bool negated = false;
  d.sourcePredicate(3, &negated);
  d.dropReads();
  d.current().options = negated;
}

template <typename S, class Test> Handler selectBySignOf(unsigned bytes) {
  return bytes == 2   ? &selectBySign<uint16_t, S, Test>
         : bytes == 4 ? &selectBySign<uint32_t, S, Test>
                      : &selectBySign<uint64_t, S, Test>;
}
void decodeSlct(Decoder &d) {
  bool ftz = d.take("ftz");
  Type t = d.type(wordTypes), by = d.type({Type::S32, Type::F32});
  unsigned bytes = ptx::bytesOf(t);
  if (ftz && by != Type::F32)
    d.fail("'" + d.tree().spelling() + "': .ftz is for a sign of f32");
  d.begin(by == Type::S32 ? selectBySignOf<int32_t, NotNegative>(bytes)
          : ftz           ? selectBySignOf<float, NotNegativeFlushed>(bytes)
                          : selectBySignOf<float, NotNegative>(bytes),
          Class::Compare, flagDefinesItself);
  d.result(0, t);
  d.source(1, t);
  d.source(2, t);
  d.source(3, by);
  d.dropReads();
}

} // namespace

void registerCompare(Families &f) {
  f["setp"] = decodeSetp;
  f["set"] = decodeSet;
  f["selp"] = decodeSelp;
  f["slct"] = decodeSlct;
}

} // namespace act::runtime::sim
