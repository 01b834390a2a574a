// SPDX-License-Identifier: Apache-2.0
//
// What ops about turns require: a counter of i32, and an index for each
// dimension.
#include "dialects/tile/ShapeCheck.h"

using namespace mlir;
using namespace act::tile;

void TicketOp::getAsmResultNames(OpAsmSetValueNameFn set) {
  set(getResult(), "ticket");
}

void TicketOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                 SetIntRangeFn set) {
  int64_t programs = 1;
  for (int64_t n :
       getGrid(*this).empty() ? ArrayRef(mostPrograms, 1) : getGrid(*this))
    programs *= n;
  set(getResult(),
      ConstantIntRanges::fromUnsigned(APInt(64, 0), APInt(64, programs - 1)));
}

// Verifies that
// - the view is of i32, the hardware's counter type;
// - there is an index for each of its dimensions.
template <typename Op> static LogicalResult verifyTurn(Op op) {
  ViewType view = op.getView().getType();
  if (!view.getElementType().isInteger(32))
    return op.emitOpError() << "counts in elements of type "
                            << view.getElementType() << ", expected i32";
  if (int64_t(op.getIndices().size()) != view.getRank())
    return op.emitOpError() << "has " << op.getIndices().size()
                            << " indices for a view of rank " << view.getRank();
  return success();
}

LogicalResult TicketOp::verify() { return verifyTurn(*this); }
LogicalResult WaitTurnOp::verify() { return verifyTurn(*this); }
LogicalResult PassTurnOp::verify() { return verifyTurn(*this); }
