// SPDX-License-Identifier: Apache-2.0
//
// Recognises a product by its body and maps. The factors may be any
// expressions; what counts is which iteration dimensions they depend on.
#include "passes/groups-to-host/ContractionMatch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace {

/// The dimensions that `value` of the body depends on; nullopt if it depends on
/// the accumulator or has memory reads of its own.
bool collectDims(Value value, linalg::GenericOp op,
                 llvm::SmallBitVector &dims) {
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    if (arg.getOwner() != op.getBody())
      return true;
    if (arg.getArgNumber() >= op.getNumDpsInputs())
      return false;
    AffineMap map = op.getIndexingMapsArray()[arg.getArgNumber()];
    for (unsigned d = 0; d < dims.size(); ++d)
      if (map.isFunctionOfDim(d))
        dims.set(d);
    return true;
  }
  Operation *def = value.getDefiningOp();
  if (def->getBlock() != op.getBody())
    return true;
  if (def->getNumRegions() || !OpTrait::hasElementwiseMappableTraits(def)) {
    return isa<arith::ConstantOp>(def);
  }
  return llvm::all_of(def->getOperands(), [&](Value operand) {
    return collectDims(operand, op, dims);
  });
}

} // namespace

std::optional<act::Contraction>
act::matchContraction(linalg::LinalgOp linalgOp) {
  auto op = dyn_cast<linalg::GenericOp>(linalgOp.getOperation());
  if (!op || op.getNumDpsInits() != 1 || op.getNumReductionLoops() == 0)
    return std::nullopt;
  Contraction result;
  Block *body = op.getBody();
  result.add = body->getTerminator()->getOperand(0).getDefiningOp();
  if (!result.add || !isa<arith::AddFOp>(result.add))
    return std::nullopt;
  Value accumulator = body->getArguments().back();
  Value product;
  if (result.add->getOperand(0) == accumulator)
    product = result.add->getOperand(1);
  else if (result.add->getOperand(1) == accumulator)
    product = result.add->getOperand(0);
  else
    return std::nullopt;
  result.multiply = product.getDefiningOp();
  if (!result.multiply || !isa<arith::MulFOp>(result.multiply) ||
      result.multiply->getBlock() != body ||
      !accumulator.getType().isIntOrFloat() ||
      !(accumulator.getType().isF32() || accumulator.getType().isF64()))
    return std::nullopt;
  result.lhs = result.multiply->getOperand(0);
  result.rhs = result.multiply->getOperand(1);
  unsigned loops = op.getNumLoops();
  llvm::SmallBitVector inLhs(loops), inRhs(loops), inOut(loops);
  if (!collectDims(result.lhs, op, inLhs) ||
      !collectDims(result.rhs, op, inRhs))
    return std::nullopt;
  // Each dimension must be of one of the header's four kinds.
  AffineMap out = op.getIndexingMapsArray().back();
  if (!out.isProjectedPermutation())
    return std::nullopt;
  for (unsigned d = 0; d < loops; ++d) {
    if (out.isFunctionOfDim(d))
      inOut.set(d);
    if (inOut[d] && inLhs[d] && inRhs[d])
      result.batch.push_back(d);
    else if (inOut[d] && inLhs[d])
      result.m.push_back(d);
    else if (inOut[d] && inRhs[d])
      result.n.push_back(d);
    else if (!inOut[d] && inLhs[d] && inRhs[d])
      result.k.push_back(d);
    else
      return std::nullopt;
  }
  if (result.m.empty() || result.n.empty() || result.k.empty())
    return std::nullopt;
  return result;
}
