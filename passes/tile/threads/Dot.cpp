// SPDX-License-Identifier: Apache-2.0
//
// Dots as mma.sync. Operands and accumulator have the layouts of the
// instruction's fragments, repeated; which registers belong to one instruction
// is found by the coordinates that they hold in lane 0 of warp 0.
//
// f32 that is not to be tf32 is multiplied in parts: as a sum of blocks of
// bf16, the largest first, each of which has 8 bits of what the ones before
// leave. Products of these are exact. With two parts of each operand (bf16x3)
// an error of 2^-16 of each product is left, with three (ieee) about the last
// bit of an f32.
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "passes/tile/threads/ThreadBuilder.h"

using namespace mlir;
using namespace act::tile;

namespace {

/// An instruction for rows x k by k x 8. Operands come as words of 32 bits with
/// `perWord` elements side by side, in two halves of k; f64 as itself, in one.
struct Instruction {
  int64_t k;
  NVVM::MMATypes type;
  int64_t perWord;
  int64_t rows = 16, halves = 2;
};

std::optional<Instruction> instructionFor(Type element) {
  if (element.isBF16())
    return Instruction{16, NVVM::MMATypes::bf16, 2};
  if (element.isF16())
    return Instruction{16, NVVM::MMATypes::f16, 2};
  if (element.isF32())
    return Instruction{8, NVVM::MMATypes::tf32, 1};
  if (element.isInteger(8))
    return Instruction{32, NVVM::MMATypes::s8, 4};
  if (isa<Float8E4M3FNType>(element))
    return Instruction{32, NVVM::MMATypes::e4m3, 4};
  if (isa<Float8E5M2Type>(element))
    return Instruction{32, NVVM::MMATypes::e5m2, 4};
  if (element.isF64())
    return Instruction{4, NVVM::MMATypes::f64, 1, 8, 1};
  return std::nullopt;
}

class Product {
public:
  Product(DotOp op, ThreadBuilder &t) : op(op), t(t) {}
  LogicalResult run();

private:
  using Index = std::map<Coordinates, int64_t>;
  Index index(Value block);
  /// The elements at (row, column), (row, column + 1), … as one operand.
  Value word(Value block, const Index &index, Coordinates at, unsigned along);
  Value multiply(ArrayRef<Value> as, ArrayRef<Value> bs, ArrayRef<Value> cs);
  /// The word there of a block of f32, as parts of bf16.
  ArrayRef<Value> partsOf(Value block, const Index &index, Coordinates at,
                          unsigned along);
  /// Which part of an operand, and from where on.
  struct Operand {
    const Index &index;
    Coordinates at;
    unsigned part;
  };
  void addProduct(SmallVector<Value> &sum, const Operand &x, const Operand &y);
  Registers inParts();
  /// The distinct constants along a dimension, below `step` apart.
  static std::vector<int64_t> starts(const Index &index, unsigned dim,
                                     int64_t step);

  DotOp op;
  ThreadBuilder &t;
  Instruction instruction;
  unsigned parts = 1; // of each operand
  std::map<std::pair<const void *, Coordinates>, Value> words;
  std::map<std::pair<const void *, Coordinates>, SmallVector<Value>> split;
};

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

Value Product::word(Value block, const Index &index, Coordinates at,
                    unsigned along) {
  Value &w = words[{block.getAsOpaquePointer(), at}];
  if (w)
    return w;
  SmallVector<Value> parts;
  Coordinates c = at;
  for (int64_t i = 0; i < instruction.perWord; ++i, ++c[along])
    parts.push_back(t.of(block)[index.at(c)]);
  if (instruction.type == NVVM::MMATypes::f64)
    return w = parts[0];
  if (instruction.perWord == 1)
    return w = arith::BitcastOp::create(t.b, t.loc, t.b.getI32Type(), parts[0]);
  Type wanted = t.b.getI32Type();
  if (instruction.type == NVVM::MMATypes::f16)
    wanted = VectorType::get(2, t.b.getF16Type());
  return w = t.bitsAs(wanted, t.vectorOf(parts));
}

/// One instruction; the sums as a struct.
Value Product::multiply(ArrayRef<Value> as, ArrayRef<Value> bs,
                        ArrayRef<Value> cs) {
  auto result = LLVM::LLVMStructType::getLiteral(
      t.b.getContext(), SmallVector<Type>(cs.size(), cs[0].getType()));
  if (auto b = instructionFor(t.element(op.getB().getType()))->type;
      instruction.type == NVVM::MMATypes::e4m3 ||
      instruction.type == NVVM::MMATypes::e5m2) {
    // nvvm.mma.sync does not know these.
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

ArrayRef<Value> Product::partsOf(Value block, const Index &index,
                                 Coordinates at, unsigned along) {
  SmallVector<Value> &all = split[{block.getAsOpaquePointer(), at}];
  if (!all.empty())
    return all;
  Coordinates next = at;
  ++next[along];
  Value rest[] = {t.of(block)[index.at(at)], t.of(block)[index.at(next)]};
  for (unsigned i = 0; i < parts; ++i) {
    Value two = t.roundedPair(t.b.getBF16Type(), rest[0], rest[1]);
    all.push_back(t.bitsAs(t.b.getI32Type(), two));
    for (int64_t j = 0; j < 2 && i + 1 < parts; ++j)
      rest[j] = arith::SubFOp::create(
          t.b, t.loc, rest[j],
          arith::ExtFOp::create(t.b, t.loc, t.b.getF32Type(),
                                t.elementOf(two, j)));
  }
  return all;
}

/// Tensor cores cut off what a sum has no bits for, which grows with the sum's
/// length, where an addition rounds to nearest. So what the instructions add up
/// begins with nothing every 32 of k, and is added to what there was. Parts of
/// an operand are needed no longer than that.
Registers Product::inParts() {
  constexpr size_t stepsAtOnce = 2;
  Index a = index(op.getA()), b = index(op.getB()), c = index(op.getAcc());
  bool isZero = matchPattern(op.getAcc(), m_AnyZeroFloat());
  Registers registers = t.of(op.getAcc());
  Value zero = arith::ConstantOp::create(t.b, t.loc, t.b.getF32FloatAttr(0.0f));
  std::vector<int64_t> all = starts(a, 1, instruction.k),
                       ms = starts(c, 0, instruction.rows);
  for (ArrayRef<int64_t> left = all; !left.empty();) {
    ArrayRef<int64_t> ks = left.take_front(stepsAtOnce);
    left = left.drop_front(ks.size());
    for (int64_t n : starts(c, 1, 8)) {
      std::vector<SmallVector<Value>> sums(ms.size(),
                                           SmallVector<Value>(4, zero));
      // The smallest products first.
      for (unsigned order = parts; order-- > 0;)
        for (unsigned i = 0; i <= order; ++i)
          for (int64_t k : ks)
            for (auto [m, sum] : llvm::zip_equal(ms, sums))
              addProduct(sum, {a, {m, k}, order - i}, {b, {k, n}, i});
      for (auto [m, sum] : llvm::zip_equal(ms, sums))
        for (auto [i, v] : llvm::enumerate(sum)) {
          int64_t dm = int64_t(i) / 2 * 8, dn = int64_t(i) % 2;
          Value &r = registers[c.at({m + dm, n + dn})];
          r = isZero ? v : arith::AddFOp::create(t.b, t.loc, r, v);
        }
    }
    isZero = false;
  }
  return registers;
}

/// One instruction more in a sum of bf16's products.
void Product::addProduct(SmallVector<Value> &sum, const Operand &x,
                         const Operand &y) {
  SmallVector<Value> as, bs;
  for (int64_t dk : {0, 8})
    for (int64_t dm : {0, 8})
      as.push_back(
          partsOf(op.getA(), x.index, {x.at[0] + dm, x.at[1] + dk}, 1)[x.part]);
  for (int64_t dk : {0, 8})
    bs.push_back(
        partsOf(op.getB(), y.index, {y.at[0] + dk, y.at[1]}, 0)[y.part]);
  Value made = multiply(as, bs, sum);
  for (auto [r, v] : llvm::enumerate(sum))
    v = LLVM::ExtractValueOp::create(t.b, t.loc, made, r);
}

LogicalResult Product::run() {
  auto found = instructionFor(t.element(op.getA().getType()));
  if (!found)
    return op.emitOpError() << "has no tensor core instruction for "
                            << t.element(op.getA().getType());
  instruction = *found;
  if (op.isInParts()) {
    instruction = *instructionFor(t.b.getBF16Type());
    parts = op.getPrecision() == DotPrecision::BF16x3 ? 2 : 3;
    t.set(op, inParts());
    return success();
  }
  Index a = index(op.getA()), b = index(op.getB()), c = index(op.getAcc());
  auto steps = [](int64_t count, int64_t step) {
    return llvm::map_to_vector(llvm::seq(count),
                               [=](int64_t i) { return i * step; });
  };
  SmallVector<int64_t> alongK = steps(instruction.halves,
                                      instruction.k / instruction.halves),
                       alongM = steps(instruction.rows / 8, 8);
  Registers registers = t.of(op.getAcc());
  // The accumulators that one instruction makes are not read by the next, so
  // that they can overlap: k is the outer loop.
  for (int64_t k : starts(a, 1, instruction.k))
    for (int64_t m : starts(c, 0, instruction.rows))
      for (int64_t n : starts(c, 1, 8)) {
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
        for (int64_t r : at)
          cs.push_back(registers[r]);
        Value sums = multiply(as, bs, cs);
        for (auto [i, r] : llvm::enumerate(at))
          registers[r] = LLVM::ExtractValueOp::create(t.b, t.loc, sums, i);
      }
  t.set(op, std::move(registers));
  return success();
}

} // namespace

LogicalResult act::tile::lowerDot(Operation *op, ThreadBuilder &t) {
  return Product(cast<DotOp>(op), t).run();
}
