// SPDX-License-Identifier: Apache-2.0
//
// Compares computations of two loops by structure. Both sides are traced
// backwards together, and a pair that was found equal stays equal. So a block
// that each loop loads and masks for itself is the same value in both.
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/tile/FuseLoops.h"

using namespace mlir;
using namespace act::tile;

/// Whether the op reads nothing that may change: the loops, and the ops between
/// them, do not write.
static bool isSteady(Operation *op, scf::ForOp loop) {
  return isMemoryEffectFree(op) || (loop && loop->isAncestor(op));
}

bool SameValue::operator()(Value inA, Value inB) {
  if (inA == inB)
    return true;
  if (auto it = pairs.find(inA); it != pairs.end() && it->second == inB)
    return true;
  auto x = dyn_cast<OpResult>(inA), y = dyn_cast<OpResult>(inB);
  if (!x || !y || x.getResultNumber() != y.getResultNumber() ||
      x.getType() != y.getType() || !isSteady(x.getOwner(), a) ||
      !isSteady(y.getOwner(), b))
    return false;
  auto before = pairs;
  bool equal = OperationEquivalence::isEquivalentTo(
      x.getOwner(), y.getOwner(),
      [&](Value p, Value q) { return success((*this)(p, q)); },
      [&](Value p, Value q) { pairs[p] = q; },
      OperationEquivalence::IgnoreLocations);
  if (!equal)
    pairs = std::move(before);
  return equal;
}
