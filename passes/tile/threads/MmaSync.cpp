// SPDX-License-Identifier: Apache-2.0
//
// Dots as mma.sync. Operands and accumulator have the layouts of the
// instruction's fragments, repeated. The registers of one instruction are found
// by the coordinates that they hold in lane 0 of warp 0.
//
// f32 that may not become tf32 is split into a sum of bf16 blocks, the largest
// first; each takes the next 8 bits of what remains. Products of parts are
// exact. Two parts per operand (bf16x3) leave an error of 2^-16 of each
// product, three (ieee) about the last bit of an f32.
#include "act/Layout/Mma.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "passes/tile/threads/ThreadBuilder.h"

using namespace mlir;
using namespace act::tile;

namespace {

/// The instruction's type for this element.
std::optional<NVVM::MMATypes> multipliedAs(Type element) {
  if (element.isBF16())
    return NVVM::MMATypes::bf16;
  if (element.isF16())
    return NVVM::MMATypes::f16;
  if (element.isTF32())
    return NVVM::MMATypes::tf32;
  if (element.isInteger(8))
    return NVVM::MMATypes::s8;
  if (isa<Float8E4M3FNType>(element))
    return NVVM::MMATypes::e4m3;
  if (isa<Float8E5M2Type>(element))
    return NVVM::MMATypes::e5m2;
  if (element.isF64())
    return NVVM::MMATypes::f64;
  return std::nullopt;
}

/// The instruction of a dot. Operands are 32-bit words of `perWord` adjacent
/// elements, in one or two parts of k; f64 is used directly.
struct Instruction {
  explicit Instruction(InstructionAttr chosen)
      : type(*multipliedAs(chosen.getElement())), k(chosen.getK()), perWord(1),
        rows(chosen.getM()), parts(chosen.getParts()) {
    if (!chosen.getElement().isTF32())
      perWord = std::max<int64_t>(
          1, 32 / chosen.getElement().getIntOrFloatBitWidth());
    halves = k / (4 * perWord);
  }
  NVVM::MMATypes type;
  int64_t k, perWord, halves, rows;
  unsigned parts; // of each operand
};

class Product {
public:
  Product(DotOp op, ThreadBuilder &t)
      : op(op), t(t), instruction(op.getInstructionAttr()),
        parts(instruction.parts) {}
  void run();

private:
  using Index = std::map<Coordinates, int64_t>;
  Index index(Value block);
  Registers multiplied(const Registers &begun);
  Registers within(const Registers &begun);
  /// An operand's element, available at the builder.
  Value element(Value block, int64_t r) {
    Value v = t.of(block)[r];
    return again ? again->of(v) : v;
  }
  /// `word` with zeros outside of the window.
  Value inside(Value word, Value block, int64_t k, unsigned along);
  void forget();
  /// The elements at (row, column), (row, column + 1), … as one operand.
  Value word(Value block, const Index &index, Coordinates at, unsigned along);
  Value multiply(ArrayRef<Value> as, ArrayRef<Value> bs, ArrayRef<Value> cs);
  /// The word at this position of an f32 block, split into bf16 parts.
  ArrayRef<Value> partsOf(Value block, const Index &index, Coordinates at,
                          unsigned along);
  /// A part of an operand and its starting position.
  struct Operand {
    const Index &index;
    Coordinates at;
    unsigned part;
  };
  void addProduct(SmallVector<Value> &sum, const Operand &x, const Operand &y);
  Registers inParts(Registers registers);
  /// The distinct constants along a dimension, below `step` apart.
  static std::vector<int64_t> starts(const Index &index, unsigned dim,
                                     int64_t step);

  DotOp op;
  ThreadBuilder &t;
  const Instruction instruction;
  const unsigned parts; // of each operand
  std::map<std::pair<const void *, Coordinates>, Value> words;
  std::map<std::pair<const void *, Coordinates>, SmallVector<Value>> split;

  /// The window of k that is summed here, from `first` on; `rows` says which
  /// rows of a thread use it. Null: all of k, in all rows.
  struct Window {
    Value first, length;
    std::map<int64_t, Value> rows;
  };
  /// The old value in a row that does not use the window.
  Value chosen(int64_t row, Value sum, Value before) {
    return window ? Value(arith::SelectOp::create(
                        t.b, t.loc, window->rows.at(row), sum, before))
                  : sum;
  }
  std::optional<Window> window;
  std::map<std::pair<const void *, int64_t>, Value> masks;
  std::optional<LoadsAgain> again;
};

/// From the last register to the first, so that of several copies the first is
/// found.
Product::Index Product::index(Value block) {
  Index out;
  const act::layout::Distributed &l = t.layoutOf(block.getType());
  for (int64_t r = l.registerCount() - 1; r >= 0; --r)
    out[l.coordinates(r, 0, 0)] = r;
  return out;
}

std::vector<int64_t> Product::starts(const Index &index, unsigned dim,
                                     int64_t step) {
  std::set<int64_t> all;
  for (auto &[c, r] : index)
    all.insert(c[dim] / step * step);
  return {all.begin(), all.end()};
}

/// Operands are shared by instructions: an A word by all of its columns, a B
/// word by all of its rows. So words are kept until forget().
Value Product::word(Value block, const Index &index, Coordinates at,
                    unsigned along) {
  Value &w = words[{block.getAsOpaquePointer(), at}];
  if (w)
    return w;
  SmallVector<Value> parts;
  Coordinates c = at;
  for (int64_t i = 0; i < instruction.perWord; ++i, ++c[along])
    parts.push_back(element(block, index.at(c)));
  if (instruction.type == NVVM::MMATypes::f64)
    return w = parts[0];
  if (instruction.perWord == 1) {
    w = arith::BitcastOp::create(t.b, t.loc, t.b.getI32Type(), parts[0]);
    return w = inside(w, block, at[along], along);
  }
  Type wanted = t.b.getI32Type();
  if (instruction.type == NVVM::MMATypes::f16)
    wanted = VectorType::get(2, t.b.getF16Type());
  w = t.bitsAs(wanted, t.vectorOf(parts));
  return w = inside(w, block, at[along], along);
}

Value Product::inside(Value word, Value block, int64_t k, unsigned along) {
  if (!window)
    return word;
  // A bit mask, not a select per element: elements are packed in the word. It
  // also removes NaN, which a product with zero would keep.
  OpBuilder &b = t.b;
  Type i32 = b.getI32Type();
  Value &mask = masks[{block.getAsOpaquePointer(), k}];
  if (!mask) {
    Value from = arith::SubIOp::create(b, t.loc, t.base(block.getType(), along),
                                       window->first);
    int64_t perWord = instruction.perWord;
    for (int64_t i = 0; i < perWord; ++i) {
      // Unsigned: positions before the first are large numbers.
      Value is =
          arith::CmpIOp::create(b, t.loc, arith::CmpIPredicate::ult,
                                t.add(from, t.i32(k + i)), window->length);
      int64_t bits = perWord == 1 ? -1 : int64_t(0xffff) << (16 * i);
      Value part =
          arith::SelectOp::create(b, t.loc, is, t.i32(int32_t(bits)), t.i32(0));
      mask = mask ? Value(arith::OrIOp::create(b, t.loc, mask, part)) : part;
    }
  }
  Value kept = arith::AndIOp::create(b, t.loc, t.bitsAs(i32, word), mask);
  return t.bitsAs(word.getType(), kept);
}

/// Values made in another branch must not be reused.
void Product::forget() {
  words.clear();
  split.clear();
  masks.clear();
  if (again)
    again->forget();
}

/// One instruction; the sums as a struct.
Value Product::multiply(ArrayRef<Value> as, ArrayRef<Value> bs,
                        ArrayRef<Value> cs) {
  auto result = LLVM::LLVMStructType::getLiteral(
      t.b.getContext(), SmallVector<Type>(cs.size(), cs[0].getType()));
  if (auto b = *multipliedAs(t.element(op.getB().getType()));
      instruction.type == NVVM::MMATypes::e4m3 ||
      instruction.type == NVVM::MMATypes::e5m2) {
    // nvvm.mma.sync does not support these types. Unlike others, A and B may be
    // of different ones (e4m3 and e5m2).
    std::string name = "llvm.nvvm.mma.m16n8k32.row.col.f32." +
                       stringifyMMATypes(instruction.type).str() + "." +
                       stringifyMMATypes(b).str() + ".f32";
    SmallVector<Value> operands(as);
    operands.append(bs.begin(), bs.end());
    operands.append(cs.begin(), cs.end());
    return LLVM::CallIntrinsicOp::create(t.b, t.loc, result,
                                         t.b.getStringAttr(name), operands)
        .getResult(0);
  }
  std::optional<NVVM::MMAIntOverflow> overflow;
  if (instruction.type == NVVM::MMATypes::s8)
    overflow = NVVM::MMAIntOverflow::wrapped;
  return NVVM::MmaOp::create(
      t.b, t.loc, result, as, bs, cs,
      ArrayRef<int64_t>{instruction.rows, 8, instruction.k}, std::nullopt,
      overflow,
      std::array<NVVM::MMATypes, 2>{instruction.type, instruction.type},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                     NVVM::MMALayout::col});
}

/// Each part is what remains, rounded to bf16; the difference is exact in f32.
/// Values are kept by position, as several instructions use them.
ArrayRef<Value> Product::partsOf(Value block, const Index &index,
                                 Coordinates at, unsigned along) {
  SmallVector<Value> &all = split[{block.getAsOpaquePointer(), at}];
  if (!all.empty())
    return all;
  Coordinates next = at;
  ++next[along];
  Value rest[] = {element(block, index.at(at)), element(block, index.at(next))};
  for (unsigned i = 0; i < parts; ++i) {
    Value two = t.roundedPair(t.b.getBF16Type(), rest[0], rest[1]);
    all.push_back(
        inside(t.bitsAs(t.b.getI32Type(), two), block, at[along], along));
    for (int64_t j = 0; j < 2 && i + 1 < parts; ++j)
      rest[j] = arith::SubFOp::create(
          t.b, t.loc, rest[j],
          arith::ExtFOp::create(t.b, t.loc, t.b.getF32Type(),
                                t.elementOf(two, j)));
  }
  return all;
}

/// Tensor cores truncate the bits that a sum has no room for, which grows with
/// the sum's length, while an addition rounds to nearest. So the instructions
/// start from zero every 32 of k, and the partial sum is added to the rest.
/// Operand parts are dead by then.
Registers Product::inParts(Registers registers) {
  size_t stepsAtOnce = 32 / instruction.k;
  Index a = index(op.getA()), b = index(op.getB()), c = index(op.getAcc());
  bool isZero = !window && matchPattern(op.getAcc(), m_AnyZeroFloat());
  Value zero = arith::ConstantOp::create(t.b, t.loc, t.b.getF32FloatAttr(0.0f));
  std::vector<int64_t> all = starts(a, 1, instruction.k),
                       ms = starts(c, 0, instruction.rows);
  for (ArrayRef<int64_t> left = all; !left.empty();) {
    ArrayRef<int64_t> ks = left.take_front(stepsAtOnce);
    left = left.drop_front(ks.size());
    for (int64_t n : starts(c, 1, 8)) {
      std::vector<SmallVector<Value>> sums(ms.size(),
                                           SmallVector<Value>(4, zero));
      // The smallest products first, as a large sum would swallow them.
      // Products of parts i and j with i + j >= parts are as small as what the
      // split leaves out, so they are left out too.
      for (unsigned order = parts; order-- > 0;)
        for (unsigned i = 0; i <= order; ++i)
          for (int64_t k : ks)
            for (auto [m, sum] : llvm::zip_equal(ms, sums))
              addProduct(sum, {a, {m, k}, order - i}, {b, {k, n}, i});
      for (auto [m, sum] : llvm::zip_equal(ms, sums))
        for (auto [i, v] : llvm::enumerate(sum)) {
          int64_t dm = int64_t(i) / 2 * 8, dn = int64_t(i) % 2;
          Value &r = registers[c.at({m + dm, n + dn})];
          r = isZero
                  ? v
                  : chosen(m + dm, arith::AddFOp::create(t.b, t.loc, r, v), r);
        }
    }
    isZero = false;
  }
  return registers;
}

/// One more instruction in a sum of bf16 products.
void Product::addProduct(SmallVector<Value> &sum, const Operand &x,
                         const Operand &y) {
  SmallVector<Value> as, bs;
  for (int64_t dk = 0; dk < instruction.k; dk += 8)
    for (int64_t dm : {0, 8})
      as.push_back(
          partsOf(op.getA(), x.index, {x.at[0] + dm, x.at[1] + dk}, 1)[x.part]);
  for (int64_t dk = 0; dk < instruction.k; dk += 8)
    bs.push_back(
        partsOf(op.getB(), y.index, {y.at[0] + dk, y.at[1]}, 0)[y.part]);
  Value made = multiply(as, bs, sum);
  for (auto [r, v] : llvm::enumerate(sum))
    v = LLVM::ExtractValueOp::create(t.b, t.loc, made, r);
}

void Product::run() {
  Registers begun = t.of(op.getAcc());
  t.set(op, op.getWithin().empty() ? multiplied(begun) : within(begun));
}

/// `registers` plus the product, over the k of the window.
Registers Product::multiplied(const Registers &begun) {
  forget();
  if (op.isInParts())
    return inParts(begun);
  Registers registers = begun;
  Index a = index(op.getA()), b = index(op.getB()), c = index(op.getAcc());
  // f16 sums are packed two to a register: neighbours of a row.
  size_t sumsPerWord = t.element(op.getAcc().getType()).isF16() ? 2 : 1;
  auto steps = [](int64_t count, int64_t step) {
    return llvm::map_to_vector(llvm::seq(count),
                               [=](int64_t i) { return i * step; });
  };
  SmallVector<int64_t> alongK = steps(instruction.halves,
                                      instruction.k / instruction.halves),
                       alongM = steps(instruction.rows / 8, 8);
  // Consecutive instructions use different accumulators, so that they overlap:
  // k is the outer loop. With a window k is the inner loop, because old values
  // take a register too until the rows are chosen.
  struct Step {
    int64_t k, m, n;
  };
  std::vector<Step> order;
  for (int64_t k : starts(a, 1, instruction.k))
    for (int64_t m : starts(c, 0, instruction.rows))
      for (int64_t n : starts(c, 1, 8))
        order.push_back({k, m, n});
  if (window)
    llvm::stable_sort(order, [](const Step &x, const Step &y) {
      return std::pair(x.n, x.m) < std::pair(y.n, y.m);
    });
  for (auto [k, m, n] : order) {
    // In the order of the fragment (Mma.h): rows g and g + 8, then the next
    // part of k.
    SmallVector<Value> as, bs, cs;
    for (int64_t dk : alongK)
      for (int64_t dm : alongM)
        as.push_back(word(op.getA(), a, {m + dm, k + dk}, 1));
    for (int64_t dk : alongK)
      bs.push_back(word(op.getB(), b, {k + dk, n}, 0));
    SmallVector<int64_t> at;
    for (int64_t dm : alongM)
      for (int64_t dn : {0, 1})
        at.push_back(c.at({m + dm, n + dn}));
    for (size_t i = 0; i < at.size(); i += sumsPerWord) {
      SmallVector<Value> word;
      for (size_t j = 0; j < sumsPerWord; ++j)
        word.push_back(registers[at[i + j]]);
      cs.push_back(sumsPerWord == 1
                       ? word[0]
                       : t.bitsAs(VectorType::get(2, t.b.getF16Type()),
                                  t.vectorOf(word)));
    }
    Value sums = multiply(as, bs, cs);
    for (auto [i, r] : llvm::enumerate(at)) {
      Value word =
          LLVM::ExtractValueOp::create(t.b, t.loc, sums, i / sumsPerWord);
      registers[r] =
          sumsPerWord == 1 ? word : t.elementOf(word, i % sumsPerWord);
    }
    // The last k of a block of rows and columns.
    if (k == order.back().k)
      for (auto [i, r] : llvm::enumerate(at))
        registers[r] = chosen(m + int64_t(i) / 2 * 8, registers[r], begun[r]);
  }
  return registers;
}

/// Rows of a warp may have different windows. The windows are processed one
/// after the other: elements outside are zero, and only rows with that window
/// are kept. A window is a number, first << 16 | end, and they are taken in
/// increasing order.
///
///     if (all rows have 0 .. depth)  acc += A B
///     else for (w = least window; w != none; w = next larger of the warp)
///       new = acc + (A and B, zero outside w)
///       acc = row's window == w ? new : acc
///
/// mma.sync needs all lanes of the warp together, so the branch and the loop
/// are decided by values that redux.sync makes equal in all lanes.
Registers Product::within(const Registers &begun) {
  OpBuilder &b = t.b;
  Location loc = t.loc;
  Type i32 = b.getI32Type();
  int64_t depth = op.getA().getType().getDimSize(1);
  Value none = t.i32(INT32_MAX), zero = t.i32(0), all = t.i32(depth);
  // Operands that were loaded from shared memory are loaded again in each
  // branch, which shortens their live ranges.
  again.emplace(t);
  auto compare = [&](arith::CmpIPredicate p, Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, loc, p, x, y);
  };
  auto select = [&](Value c, Value x, Value y) -> Value {
    return arith::SelectOp::create(b, loc, c, x, y);
  };
  auto ofWarp = [&](Value v, NVVM::ReduxKind kind) -> Value {
    return NVVM::ReduxOp::create(b, loc, i32, v, kind, t.i32(-1));
  };
  Registers rows;
  for (auto [low, high] :
       llvm::zip_equal(t.of(op.getLow()), t.of(op.getHigh()))) {
    Value from = arith::MaxSIOp::create(b, loc, low, zero),
          to = arith::MinSIOp::create(b, loc, high, all);
    Value both = arith::OrIOp::create(
        b, loc, arith::ShLIOp::create(b, loc, from, t.i32(16)), to);
    rows.push_back(
        select(compare(arith::CmpIPredicate::slt, from, to), both, none));
  }
  Value least = rows[0], most = rows[0];
  for (Value row : ArrayRef(rows).drop_front()) {
    least = arith::MinSIOp::create(b, loc, least, row);
    most = arith::MaxSIOp::create(b, loc, most, row);
  }
  least = ofWarp(least, NVVM::ReduxKind::MIN);
  most = ofWarp(most, NVVM::ReduxKind::MAX);
  // 0 << 16 | depth: whether every row has the full window.
  Value whole = arith::AndIOp::create(
      b, loc, compare(arith::CmpIPredicate::eq, least, all),
      compare(arith::CmpIPredicate::eq, most, all));
  auto branch = scf::IfOp::create(b, loc, TypeRange(ValueRange(begun)), whole,
                                  /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loc, multiplied(begun));
  b.setInsertionPointToStart(branch.elseBlock());

  SmallVector<Value> carried{least};
  llvm::append_range(carried, begun);
  SmallVector<Type> types(ValueRange(carried).getTypes());
  SmallVector<Location> places(types.size(), loc);
  auto loop = scf::WhileOp::create(b, loc, types, carried);
  Block *before = b.createBlock(&loop.getBefore(), {}, types, places);
  Value more = compare(arith::CmpIPredicate::ne, before->getArgument(0), none);
  scf::ConditionOp::create(b, loc, more, before->getArguments());
  Block *body = b.createBlock(&loop.getAfter(), {}, types, places);
  Value now = body->getArgument(0);
  Value first = arith::ShRUIOp::create(b, loc, now, t.i32(16)),
        end = arith::AndIOp::create(b, loc, now, t.i32(0xffff));
  window = Window{first, arith::SubIOp::create(b, loc, end, first), {}};
  // Rows by their coordinates, like the accumulator's.
  for (auto &[at, r] : index(op.getLow()))
    window->rows[at[0]] = compare(arith::CmpIPredicate::eq, rows[r], now);
  SmallVector<Value> next(1);
  llvm::append_range(next,
                     multiplied(Registers(body->getArguments().drop_front())));
  window.reset();
  for (Value row : rows) {
    Value later =
        select(compare(arith::CmpIPredicate::sgt, row, now), row, none);
    next[0] =
        next[0] ? Value(arith::MinSIOp::create(b, loc, next[0], later)) : later;
  }
  next[0] = ofWarp(next[0], NVVM::ReduxKind::MIN);
  scf::YieldOp::create(b, loc, next);
  b.setInsertionPointAfter(loop);
  scf::YieldOp::create(b, loc, loop.getResults().drop_front());
  return Registers(branch.getResults());
}

} // namespace

void act::tile::lowerMmaSync(DotOp op, ThreadBuilder &t) {
  Product(op, t).run();
}
