// SPDX-License-Identifier: Apache-2.0
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/tile/threads/ThreadBuilder.h"

using namespace mlir;
using namespace act::tile;

/// The same op on the scalars of one register.
static SmallVector<Value> onScalars(Operation *op, ThreadBuilder &t,
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

LogicalResult act::tile::lowerElementwise(Operation *op, ThreadBuilder &t) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!splat)
      return op->emitOpError("is a block of different constants; only splats "
                             "are taken in a kernel");
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
  if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumResults() == 0)
    return op->emitOpError("has no meaning for blocks of a kernel");
  int64_t n = t.registersOf(op->getResult(0).getType());
  std::vector<Registers> results(op->getNumResults());
  for (int64_t r = 0; r < n; ++r)
    for (auto [i, v] : llvm::enumerate(onScalars(op, t, r)))
      results[i].push_back(v);
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    t.set(result, std::move(results[i]));
  return success();
}
