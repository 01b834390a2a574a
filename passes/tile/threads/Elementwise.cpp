// SPDX-License-Identifier: Apache-2.0
//
// Ops that treat elements alike become one op per register. Two are special:
// roundings to 16 bits, which PTX does for pairs, and comparisons of positions,
// which share one register.
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/tile/threads/ThreadBuilder.h"

using namespace mlir;
using namespace act::tile;

SmallVector<Value> act::tile::onScalars(Operation *op, ThreadBuilder &t,
                                        int64_t r) {
  OperationState state(op->getLoc(), op->getName());
  for (Value v : op->getOperands())
    state.addOperands(t.isBlock(v) ? t.of(v)[r] : t.scalar(v));
  for (Type type : op->getResultTypes())
    state.addTypes(t.isBlock(type) ? t.element(type) : type);
  state.addAttributes(op->getDiscardableAttrDictionary().getValue());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return SmallVector<Value>(t.b.create(state)->getResults());
}

/// f32 to bf16 or f16, two numbers at once.
static LogicalResult lowerTruncation(arith::TruncFOp op, ThreadBuilder &t) {
  const Registers &in = t.of(op.getIn());
  Type to = t.element(op.getType());
  Registers out;
  for (size_t r = 0; r + 1 < in.size(); r += 2) {
    Value two = t.roundedPair(to, in[r], in[r + 1]);
    for (int i = 0; i < 2; ++i)
      out.push_back(t.elementOf(two, i));
  }
  if (in.size() % 2)
    out.push_back(arith::TruncFOp::create(t.b, t.loc, to, in.back()));
  t.set(op, std::move(out));
  return success();
}

static arith::CmpIPredicate withSigns(arith::CmpIPredicate p) {
  using P = arith::CmpIPredicate;
  switch (p) {
  case P::ult:
    return P::slt;
  case P::ule:
    return P::sle;
  case P::ugt:
    return P::sgt;
  case P::uge:
    return P::sge;
  default:
    return p;
  }
}

/// Whether the op compares numbers of 32 bits or more whose difference is an
/// affine sum of scalars and positions. Then one register holds the difference
/// of a thread's first two elements, and the others compare it with constants.
/// 64-bit numbers would need two registers each and two instructions per
/// comparison.
static std::optional<AffineBlock> differenceOf(arith::CmpIOp op,
                                               ThreadBuilder &t) {
  constexpr int64_t most = (int64_t(1) << 30) - 1; // of constants, too
  Type element = t.element(op.getLhs().getType());
  if (!element.isIndex() && element.getIntOrFloatBitWidth() < 32)
    return std::nullopt;
  auto difference = t.sums.difference(op.getLhs(), op.getRhs());
  auto range = difference ? t.sums.rangeOf(*difference) : std::nullopt;
  if (!range || range->first < -most || range->second > most)
    return std::nullopt;
  for (auto [symbol, factor] : difference->number.symbols)
    if (t.isBlock(symbol) || factor < -most || factor > most)
      return std::nullopt;
  // x < y is x - y < 0 only if nothing wraps around; unsigned order equals
  // signed order for non-negative numbers.
  for (Value v : op.getOperands()) {
    auto own = t.sums.rangeOf(*t.sums.of(v));
    if (!own ||
        (withSigns(op.getPredicate()) != op.getPredicate() && own->first < 0))
      return std::nullopt;
  }
  return difference;
}

/// own + constant(r) < 0 is own < -constant(r): each register's comparison has
/// the same left side and an immediate on the right.
static void lowerComparison(arith::CmpIOp op, const AffineBlock &difference,
                            ThreadBuilder &t) {
  Type block = op.getLhs().getType();
  const act::layout::Distributed &l = t.layoutOf(block);
  Value own = t.i32(difference.number.constant);
  for (auto [symbol, factor] : difference.number.symbols) {
    Value v = t.scalar(symbol);
    if (v.getType().isIndex())
      v = arith::IndexCastOp::create(t.b, t.loc, t.b.getI32Type(), v);
    else if (v.getType().getIntOrFloatBitWidth() > 32)
      v = arith::TruncIOp::create(t.b, t.loc, t.b.getI32Type(), v);
    else if (v.getType().getIntOrFloatBitWidth() < 32)
      v = arith::ExtSIOp::create(t.b, t.loc, t.b.getI32Type(), v);
    own = t.add(own, t.mul(v, factor));
  }
  for (auto [d, place] : llvm::enumerate(difference.places))
    if (place)
      own = t.add(own, t.mul(t.base(block, d), place));
  Registers out;
  for (int64_t r = 0; r < l.registerCount(); ++r) {
    int64_t more = 0;
    Coordinates at = l.coordinates(r, 0, 0);
    for (auto [d, place] : llvm::enumerate(difference.places))
      more += place * at[d];
    out.push_back(arith::CmpIOp::create(
        t.b, t.loc, withSigns(op.getPredicate()), own, t.i32(-more)));
  }
  t.set(op, std::move(out));
}

LogicalResult act::tile::lowerElementwise(Operation *op, ThreadBuilder &t) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!splat)
      return op->emitOpError(
          "is a block of different constants; a kernel supports only splats");
    Value one =
        arith::ConstantOp::create(t.b, t.loc, splat.getSplatValue<TypedAttr>());
    t.set(constant, Registers(t.registersOf(constant.getType()), one));
    return success();
  }
  if (auto splat = dyn_cast<tensor::SplatOp>(op)) {
    t.set(splat, Registers(t.registersOf(splat.getType()),
                           t.scalar(splat.getInput())));
    return success();
  }
  if (auto truncation = dyn_cast<arith::TruncFOp>(op))
    if (t.element(truncation.getIn().getType()).isF32() &&
        (t.element(truncation.getType()).isBF16() ||
         t.element(truncation.getType()).isF16()))
      return lowerTruncation(truncation, t);
  if (auto comparison = dyn_cast<arith::CmpIOp>(op))
    if (auto difference = differenceOf(comparison, t)) {
      lowerComparison(comparison, *difference, t);
      return success();
    }
  if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumResults() == 0)
    return op->emitOpError("is not defined for blocks of a kernel");
  int64_t n = t.registersOf(op->getResult(0).getType());
  std::vector<Registers> results(op->getNumResults());
  for (int64_t r = 0; r < n; ++r)
    for (auto [i, v] : llvm::enumerate(onScalars(op, t, r)))
      results[i].push_back(v);
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    t.set(result, std::move(results[i]));
  return success();
}
