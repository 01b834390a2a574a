// SPDX-License-Identifier: Apache-2.0
//
// How layouts pass through changes of shape: registers stay as they are
// wherever that is possible.
#include "dialects/tile/Dialect.h"

using namespace mlir;
using namespace act::tile;
using act::layout::Distributed;

Distributed TransOp::swapped(const Distributed &l) {
  std::vector<unsigned> order(l.rank());
  for (unsigned d = 0; d < l.rank(); ++d)
    order[d] = d;
  std::swap(order[l.rank() - 1], order[l.rank() - 2]);
  return l.transposed(order);
}

std::optional<Distributed> TransOp::operandLayout(OpOperand &,
                                                  const Distributed &result) {
  return swapped(result);
}
std::optional<Distributed> TransOp::resultLayout(OpOperand &,
                                                 const Distributed &input) {
  return swapped(input);
}

// None where a digit would cross a border of the other shape. If that is so in
// both directions, as with 20x16 and 10x32, the reshape moves elements.
static std::optional<Distributed> reshaped(const Distributed &from,
                                           RankedTensorType to) {
  if (auto l = from.reshaped(to.getShape().vec()))
    return *l;
  return std::nullopt;
}

std::optional<Distributed> ReshapeOp::operandLayout(OpOperand &,
                                                    const Distributed &result) {
  return reshaped(result, getInput().getType());
}
std::optional<Distributed> ReshapeOp::resultLayout(OpOperand &,
                                                   const Distributed &input) {
  return reshaped(input, getType());
}

std::optional<Distributed>
ExpandDimsOp::operandLayout(OpOperand &, const Distributed &result) {
  return result.dropped(getAxis());
}
std::optional<Distributed>
ExpandDimsOp::resultLayout(OpOperand &, const Distributed &input) {
  return input.expanded(getAxis());
}

// A thread gets the one element that it repeats.
std::optional<Distributed>
BroadcastOp::operandLayout(OpOperand &, const Distributed &result) {
  Distributed in = result;
  for (auto [d, n] : llvm::enumerate(getInput().getType().getShape()))
    if (n == 1 && getType().getDimSize(d) != 1)
      in = in.projected(d);
  return in.withoutRegisterCopies();
}
// Each thread keeps its part of the operand and repeats it. Only for a few
// repetitions, and only if no other thread holds the same part.
std::optional<Distributed> BroadcastOp::resultLayout(OpOperand &,
                                                     const Distributed &input) {
  constexpr int64_t few = 4;
  Distributed out = input;
  int64_t times = 1;
  for (auto [d, from] : llvm::enumerate(getInput().getType().getShape()))
    if (int64_t to = getType().getDimSize(d); from != to) {
      out = out.broadcast(d, to);
      times *= to;
    }
  if (times > few || input.copies().total() > 1)
    return std::nullopt;
  return out;
}

// Both operands in one layout make pairs of neighbouring registers, without any
// move.
bool JoinOp::operandsDecide() { return true; }
std::optional<Distributed> JoinOp::resultLayout(OpOperand &,
                                                const Distributed &operands) {
  return operands.joined();
}

// Both halves come from one set of registers, so they get one layout.
std::optional<Distributed> SplitOp::operandLayout(OpOperand &,
                                                  const Distributed &halves) {
  return halves.joined();
}
// None if the last dimension is spread over lanes. The operand is then
// converted.
std::optional<Distributed> SplitOp::resultLayout(OpOperand &,
                                                 const Distributed &input) {
  if (auto half = input.split())
    return *half;
  return std::nullopt;
}
// Readers of the halves do not choose how pairs are loaded.
bool SplitOp::takesSuggestion(OpOperand &) { return false; }
