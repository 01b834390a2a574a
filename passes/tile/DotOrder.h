// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_TILE_DOTORDER_H
#define ACT_PASSES_TILE_DOTORDER_H
#include "mlir/IR/Block.h"

namespace act::tile {

/// Reorders a block with asynchronous products so that other work is done while
/// they run. Among ops whose operands are there,
///
/// - products begin first whose sums are read in the block;
/// - then ops that a product needs which waits for no other one;
/// - then other ops, in their order;
/// - then products whose sums are only handed on, to the next iteration;
/// - a wait for a sum comes last, when nothing else is left to do, and where it
///   is only handed on at the end.
///
/// For a block of attention's gradient:
///
///   begin s, dp; wait for s; p; begin dv; wait for dp; ds, stored; begin dq,
///   dk; wait for dq; add it to memory; wait for dv, dk
///
/// Ops that write, and barriers, keep their order. What sums begin with is
/// computed before the first product that does not have to run for it.
void orderDots(mlir::Block &block);

} // namespace act::tile
#endif
