// SPDX-License-Identifier: Apache-2.0
//
// What products require of shapes and types.
#include "dialects/act/ShapeCheck.h"

using namespace mlir;
using namespace act;

// Verifies that
// - lhs has two dimensions or more, rhs as many or two;
// - the leading dimensions of lhs and rhs are equal, when rhs has any;
// - the contracted dimensions are equal;
// - the result has the leading dimensions of lhs, its rows and rhs's columns;
// - all three have one element type, or the result has the accumulator's.
LogicalResult MatmulOp::verify() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  if (lhs.getRank() < 2)
    return emitOpError() << "lhs has rank " << lhs.getRank()
                         << ", expected 2 or more";
  if (rhs.getRank() != 2 && rhs.getRank() != lhs.getRank())
    return emitOpError() << "rhs has rank " << rhs.getRank() << ", expected "
                         << lhs.getRank() << " as in lhs, or 2";
  Dims l = dimsOf(lhs), r = dimsOf(rhs);
  ArrayRef<Dim> lead = ArrayRef(l).drop_back(2);
  if (rhs.getRank() > 2 && !sameShape(lead, ArrayRef(r).drop_back(2)))
    return emitOpError() << "lhs of shape " << shapeText(l)
                         << " and rhs of shape " << shapeText(r)
                         << " differ in their leading dimensions";
  bool tl = getTransposeLhs(), tr = getTransposeRhs();
  Dim m = l[l.size() - (tl ? 1 : 2)], lk = l[l.size() - (tl ? 2 : 1)];
  Dim rk = r[r.size() - (tr ? 1 : 2)], n = r[r.size() - (tr ? 2 : 1)];
  if (lk != rk)
    return emitOpError() << "contracts " << lk.text()
                         << (tl ? " rows of transposed lhs" : " columns of lhs")
                         << " with " << rk.text()
                         << (tr ? " columns of transposed rhs"
                                : " rows of rhs");
  Dims expected(lead);
  expected.push_back(m);
  expected.push_back(n);
  if (failed(checkShape(*this, "result", getType(), expected,
                        "for lhs of shape " + shapeText(l) +
                            " and rhs of shape " + shapeText(r))) ||
      failed(
          checkElement(*this, "rhs", rhs, lhs.getElementType(), "as in lhs")))
    return failure();
  // A product may be passed on in the accumulator's type, unrounded.
  if (getType().getElementType() == computeType(lhs.getElementType()))
    return success();
  return checkElement(*this, "result", getType(), lhs.getElementType(),
                      "as in lhs");
}

// Verifies that
// - the weight is a matrix whose inputs are the input's last dimension;
// - the result has the input's shape with the weight's outputs last;
// - the bias has one element per output;
// - lora has both matrices and a finite scale, A is [r, in] and B [out, r];
// - all have the input's element type, but for an nf4 weight.
LogicalResult LinearOp::verify() {
  RankedTensorType input = getInput().getType(), weight = getWeight().getType();
  Type element = input.getElementType();
  if (input.getRank() < 1)
    return emitOpError("input has rank 0, expected 1 or more");
  if (failed(checkRank(*this, "weight", weight, 2, "for a linear layer")))
    return failure();
  Dims w = dimsOf(weight), x = dimsOf(input);
  Dim in = w[getInOut() ? 0 : 1], out = w[getInOut() ? 1 : 0];
  if (x.back() != in)
    return emitOpError() << "contracts " << x.back().text()
                         << " columns of input with " << in.text()
                         << " inputs of weight of shape " << shapeText(w);
  std::string why = "for a weight of shape " + shapeText(w);
  if (failed(checkShape(*this, "result", getType(), withLast(x, out),
                        "for an input of shape " + shapeText(x) +
                            " and a weight of shape " + shapeText(w))) ||
      failed(checkElement(*this, "result", getType(), element, "as in input")))
    return failure();
  if (!isa<NF4Type>(weight.getElementType()) &&
      failed(checkElement(*this, "weight", weight, element, "as in input")))
    return failure();
  if (getBias() &&
      (failed(checkShape(*this, "bias", getBias().getType(), {out}, why)) ||
       failed(checkElement(*this, "bias", getBias().getType(), element,
                           "as in input"))))
    return failure();
  if (!getLoraA() && !getLoraB() && !getLoraScale())
    return success();
  if (!getLoraA() || !getLoraB() || !getLoraScale())
    return emitOpError(
        "has only some of lora's A, B and scale, expected all or none");
  if (!getLoraScale()->isFinite())
    return emitOpError("lora_scale is not finite");
  RankedTensorType a = getLoraA().getType(), b = getLoraB().getType();
  if (failed(checkRank(*this, "lora's A", a, 2, why)))
    return failure();
  Dim r = dimsOf(a)[0];
  if (failed(checkShape(*this, "lora's A", a, {r, in}, why)) ||
      failed(checkShape(*this, "lora's B", b, {out, r},
                        why + " and A of shape " + shapeText(a))) ||
      failed(checkElement(*this, "lora's A", a, element, "as in input")))
    return failure();
  return checkElement(*this, "lora's B", b, element, "as in input");
}

// Verifies that
// - input and result have one shape.
LogicalResult DequantizeOp::verify() {
  return checkShape(*this, "result", getType(), dimsOf(getInput().getType()),
                    "as in input");
}
