// SPDX-License-Identifier: Apache-2.0
//
// What the optimizer's ops require. That the parameter exists and is trained is
// checked with the symbol table, once per module.
#include "dialects/act/DynamicMap.h"
#include "dialects/act/ParameterUse.h"
#include "dialects/act/ShapeCheck.h"

using namespace mlir;
using namespace act;

// Verify that
// - the name is that of a parameter that is not frozen.
LogicalResult ZeroGradOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return lookupTrained(*this, getNameAttr(), symbols);
}
LogicalResult
GradSquareSumOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return lookupTrained(*this, getNameAttr(), symbols);
}
LogicalResult AdamWOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return lookupTrained(*this, getNameAttr(), symbols);
}
LogicalResult AdamW8bitOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(lookupTrained(*this, getNameAttr(), symbols)))
    return failure();
  auto parameter =
      symbols.lookupNearestSymbolFrom<ParameterOp>(*this, getNameAttr());
  auto type = cast<RankedTensorType>(parameter.getType());
  if (elementCount(type) % dynamicBlock != 0 || elementCount(type) == 0 ||
      type.getElementTypeBitWidth() > 32)
    return emitOpError() << "keeps moments in blocks of " << dynamicBlock
                         << " elements, which do not divide " << type;
  return success();
}
LogicalResult LionOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return lookupTrained(*this, getNameAttr(), symbols);
}
LogicalResult SgdOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return lookupTrained(*this, getNameAttr(), symbols);
}

// Verifies that
// - the sum is a scalar.
LogicalResult GradSquareSumOp::verify() {
  return checkRank(*this, "sum", getType(), 0, "for a sum");
}

static LogicalResult verifyFactor(Operation *op,
                                  TypedValue<RankedTensorType> clip) {
  return clip ? checkRank(op, "clip", clip.getType(), 0, "for a factor")
              : success();
}

// Verifies that
// - the sum is a scalar.
LogicalResult GradNormOp::verify() {
  return checkRank(*this, "square_sum", getType(), 0, "for a sum");
}

// Verifies that
// - the sum is a scalar;
// - max_norm is positive, and is there if no scale is.
LogicalResult ClipOp::verify() {
  if (failed(checkRank(*this, "square_sum", getType(), 0, "for a sum")))
    return failure();
  if (!getMaxNorm())
    return getScale() ? success()
                      : emitOpError("has neither a scale nor a max_norm");
  if (!getMaxNorm()->isFinite() || getMaxNorm()->isNegative() ||
      getMaxNorm()->isZero())
    return emitOpError() << "max_norm is " << getMaxNorm()->convertToDouble()
                         << ", expected a finite number above 0";
  return success();
}

static LogicalResult verifyNotNegative(Operation *op, StringRef name,
                                       APFloat x) {
  if (x.isFinite() && !x.isNegative())
    return success();
  return op->emitOpError() << name << " is " << x.convertToDouble()
                           << ", expected a finite number of 0 or more";
}

static LogicalResult verifyBetas(Operation *op, ArrayRef<double> betas) {
  if (betas.size() != 2)
    return op->emitOpError() << "has " << betas.size() << " betas, expected 2";
  for (double beta : betas)
    if (!(beta >= 0 && beta < 1))
      return op->emitOpError()
             << "has a beta of " << beta << ", expected 0 <= beta < 1";
  return success();
}

// Verifies that
// - there are two betas, each in [0, 1);
// - eps and weight_decay are finite and not negative;
// - clip is a scalar.
template <typename Op> static LogicalResult verifyAdamW(Op op) {
  if (failed(verifyBetas(op, op.getBetas())) ||
      failed(verifyNotNegative(op, "eps", op.getEps())) ||
      failed(verifyNotNegative(op, "weight_decay", op.getWeightDecay())))
    return failure();
  return verifyFactor(op, op.getClip());
}
LogicalResult AdamWOp::verify() { return verifyAdamW(*this); }
LogicalResult AdamW8bitOp::verify() { return verifyAdamW(*this); }

// Verifies that
// - there are two betas, each in [0, 1);
// - weight_decay is finite and not negative;
// - clip is a scalar.
LogicalResult LionOp::verify() {
  if (failed(verifyBetas(*this, getBetas())) ||
      failed(verifyNotNegative(*this, "weight_decay", getWeightDecay())))
    return failure();
  return verifyFactor(*this, getClip());
}

// Verifies that
// - momentum and weight_decay are finite and not negative;
// - clip is a scalar.
LogicalResult SgdOp::verify() {
  for (auto [name, value] : {std::pair("momentum", getMomentum()),
                             {"weight_decay", getWeightDecay()}})
    if (value && failed(verifyNotNegative(*this, name, *value)))
      return failure();
  return verifyFactor(*this, getClip());
}
