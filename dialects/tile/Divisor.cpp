// SPDX-License-Identifier: Apache-2.0
//
// Divisibility of indices by walking their definitions. What is not known
// divides by 1.
#include "dialects/tile/Divisor.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;
using namespace act::tile;

int64_t act::tile::divisorOf(Value index) {
  APInt c;
  if (matchPattern(index, m_ConstantInt(&c)))
    return std::abs(c.getSExtValue());
  if (auto argument = dyn_cast<BlockArgument>(index)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (loop && argument == loop.getInductionVar())
      return std::gcd(divisorOf(loop.getLowerBound()),
                      divisorOf(loop.getStep()));
    return 1;
  }
  Operation *op = index.getDefiningOp();
  if (isa<arith::MulIOp>(op)) {
    int64_t x = divisorOf(op->getOperand(0)), y = divisorOf(op->getOperand(1)),
            product;
    return llvm::MulOverflow(x, y, product) ? std::max(x, y) : product;
  }
  if (isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp,
          arith::RemUIOp>(op))
    return std::gcd(divisorOf(op->getOperand(0)), divisorOf(op->getOperand(1)));
  if (isa<arith::DivUIOp>(op) &&
      matchPattern(op->getOperand(1), m_ConstantInt(&c)) && !c.isZero()) {
    int64_t divisor = divisorOf(op->getOperand(0)), by = c.getZExtValue();
    return divisor % by ? 1 : divisor / by;
  }
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp>(op))
    return divisorOf(op->getOperand(0));
  return 1;
}
