// SPDX-License-Identifier: Apache-2.0
//
// Implements the rules of the header. `compute` numbers one value, `isFinite`
// answers the side condition that many rules have, and `proves` puts both
// together for a loop's body.
#include "passes/tile/SplitMaskedLoopsNumbering.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace act::tile;

/// The shape is no part of the key: a splat, its broadcast and the scalar are
/// one number, so shape changes need no rules for constants.
Numbering::Number Numbering::constant(TypedAttr element) {
  auto [it, fresh] =
      constants.try_emplace(element.getAsOpaquePointer(), entries.size());
  if (fresh) {
    entries.push_back({});
    entries.back().constant = element;
  }
  return it->second;
}

TypedAttr act::tile::elementOf(Attribute constant) {
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(constant))
    return splat.getSplatValue<TypedAttr>();
  if (isa_and_nonnull<FloatAttr, IntegerAttr>(constant))
    return cast<TypedAttr>(constant);
  return nullptr;
}

Numbering::Number Numbering::of(Value v) {
  auto it = numbers.find(v);
  if (it != numbers.end())
    return it->second;
  Number n = compute(v);
  numbers[v] = n;
  return n;
}

Numbering::Number Numbering::compute(Value v) {
  Operation *op = v.getDefiningOp();
  if (!op)
    return leaf();
  Attribute value;
  if (matchPattern(v, m_Constant(&value)))
    if (TypedAttr element = elementOf(value))
      return constant(element);
  unsigned result = cast<OpResult>(v).getResultNumber();
  if (auto choice = dyn_cast<scf::IfOp>(op))
    return branch(choice, result);
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    // A loop that does nothing has numbered its results when it was visited,
    // before its users. Of any other loop at most finiteness is known.
    Number n = leaf();
    if (staysFinite(loop, result))
      finite[n] = true;
    return n;
  }
  // Two loads of one place are not equal: memory may change between them. Nor
  // are ops with regions compared, but the region of a reduction with a kind is
  // empty.
  bool word = isa<ReduceOp>(op) && cast<ReduceOp>(op).getKind();
  if ((op->getNumRegions() && !word) || op->getNumResults() != 1 ||
      isa<LoadOp>(op) || !isMemoryEffectFree(op)) {
    Number n = leaf();
    entries[n].op = op;
    return n;
  }
  SmallVector<Number> in;
  for (Value operand : op->getOperands())
    in.push_back(of(operand));
  if (auto n = simplified(op, in))
    return *n;
  if (auto n = folded(op, in))
    return *n;
  std::vector<const void *> name{op->getName().getAsOpaquePointer(),
                                 v.getType().getAsOpaquePointer(),
                                 op->getAttrDictionary().getAsOpaquePointer()};
  auto [it, fresh] = computed.try_emplace(
      {name, std::vector<Number>(in.begin(), in.end())}, entries.size());
  if (fresh) {
    entries.push_back({});
    entries.back().op = op;
    entries.back().operands = in;
  }
  return it->second;
}

/// What upstream's folder makes of the op if its constant operands are the
/// assumed ones. This covers integers and comparisons without rules of their
/// own.
std::optional<Numbering::Number> Numbering::folded(Operation *op,
                                                   ArrayRef<Number> in) {
  if (op->getNumRegions())
    return std::nullopt;
  SmallVector<Attribute> attributes;
  for (auto [operand, n] : llvm::zip(op->getOperands(), in)) {
    Attribute c = entries[n].constant;
    auto block = dyn_cast<RankedTensorType>(operand.getType());
    if (c && block)
      c = block.getElementType() == entries[n].constant.getType()
              ? Attribute(SplatElementsAttr::get(block, c))
              : nullptr;
    attributes.push_back(c);
  }
  // Fold a copy, as folding may change the op.
  Operation *copy = op->clone();
  // Folds of commutative ops look for constants on the right.
  if (copy->hasTrait<OpTrait::IsCommutative>() && in.size() == 2 &&
      attributes[0] && !attributes[1]) {
    std::swap(attributes[0], attributes[1]);
    copy->setOperands({op->getOperand(1), op->getOperand(0)});
  }
  SmallVector<OpFoldResult> results;
  bool done = succeeded(copy->fold(attributes, results)) && !results.empty();
  copy->destroy();
  if (!done)
    return std::nullopt;
  if (auto v = dyn_cast<Value>(results[0]))
    return of(v);
  TypedAttr element = elementOf(cast<Attribute>(results[0]));
  return element ? std::optional(constant(element)) : std::nullopt;
}

/// x + y, or x - y. -inf stays -inf next to a finite number. There is no rule
/// for -inf - -inf, which is NaN.
std::optional<Numbering::Number> Numbering::sum(Operation *op, Number x,
                                                Number y, bool minus) {
  if (isZero(y))
    return x;
  if (isZero(x) && !minus)
    return y;
  if (minus && x == y && isFinite(x))
    return constant(
        FloatAttr::get(getElementTypeOrSelf(op->getResult(0).getType()), 0));
  if (isMinusInfinity(x) && isFinite(y))
    return x;
  if (isMinusInfinity(y) && !minus && isFinite(x))
    return y;
  return std::nullopt;
}

/// The header's rules for floats. They hold under the assumptions of
/// SplitMaskedLoopsNeutral.h, so a general folder must not use them.
std::optional<Numbering::Number> Numbering::simplified(Operation *op,
                                                       ArrayRef<Number> in) {
  if (isa<arith::AddFOp, arith::SubFOp>(op))
    return sum(op, in[0], in[1], isa<arith::SubFOp>(op));
  // 0 times infinity is NaN, so the other factor must be finite.
  auto product = [&]() -> std::optional<Number> {
    for (int i : {0, 1}) {
      if (isOne(in[i]))
        return in[1 - i];
      if (isZero(in[i]) && isFinite(in[1 - i]))
        return in[i];
    }
    return std::nullopt;
  };
  if (isa<arith::MulFOp>(op))
    return product();
  if (isa<math::FmaOp>(op))
    if (auto xy = product())
      return sum(op, *xy, in[2], false);
  if (isa<arith::SelectOp>(op) && in[1] == in[2])
    return in[1];
  if (auto compared = dyn_cast<arith::CmpFOp>(op)) {
    Builder b(op->getContext());
    auto x = dyn_cast_or_null<FloatAttr>(entries[in[0]].constant),
         y = dyn_cast_or_null<FloatAttr>(entries[in[1]].constant);
    if (x && y)
      return constant(b.getBoolAttr(arith::applyCmpPredicate(
          compared.getPredicate(), x.getValue(), y.getValue())));
    // A finite number is not -inf: after a maximum that is assumed to be
    // finite, the guard's comparison is known.
    auto guard = guardOf(compared.getPredicate(), in);
    if (guard && isFinite(guard->number))
      return constant(b.getBoolAttr(!guard->isInfinite));
  }
  if (auto dot = dyn_cast<DotOp>(op))
    if ((isZero(in[0]) && isFinite(in[1])) ||
        (isZero(in[1]) && isFinite(in[0])))
      return in[2];
  if (auto reduce = dyn_cast<ReduceOp>(op); reduce && entries[in[0]].constant)
    switch (*reduce.getKind()) {
    case CombineKind::Max:
    case CombineKind::Min:
    case CombineKind::And:
    case CombineKind::Or:
      return in[0];
    case CombineKind::Add:
      if (isZero(in[0]))
        return in[0];
      break;
    case CombineKind::Mul:
      if (isZero(in[0]) || isOne(in[0]))
        return in[0];
      break;
    }
  if (isa<tensor::SplatOp, ExpandDimsOp, BroadcastOp, TransOp, ReshapeOp>(op) &&
      entries[in[0]].constant)
    return in[0];
  return std::nullopt;
}

/// Recognises the guard `m == -inf ? 0 : m` that online softmax has for rows in
/// which nothing is visible yet.
std::optional<Numbering::Guard> Numbering::guardOf(arith::CmpFPredicate p,
                                                   ArrayRef<Number> in) {
  using P = arith::CmpFPredicate;
  if (in.size() != 2 || isMinusInfinity(in[0]) == isMinusInfinity(in[1]))
    return std::nullopt;
  bool right = isMinusInfinity(in[1]);
  Number x = in[right ? 0 : 1];
  if (p == P::OEQ || p == P::UEQ)
    return Guard{x, true};
  if (p == P::ONE || p == P::UNE || (right && (p == P::OGT || p == P::UGT)) ||
      (!right && (p == P::OLT || p == P::ULT)))
    return Guard{x, false};
  return std::nullopt;
}

bool Numbering::isFinite(Number n) {
  auto it = finite.find(n);
  if (it != finite.end())
    return it->second;
  bool is = computesFinite(n);
  finite[n] = is;
  return is;
}

/// Infinity comes only from a mask's -inf. So a maximum with one finite operand
/// is finite, and exp of -inf is 0.
bool Numbering::computesFinite(Number n) {
  const Entry &e = entries[n];
  if (e.constant) {
    auto number = dyn_cast<FloatAttr>(e.constant);
    return !number || number.getValue().isFinite();
  }
  if (!e.op)
    return false;
  if (auto load = dyn_cast<LoadOp>(e.op)) {
    auto pad = dyn_cast_or_null<FloatAttr>(load.getPadAttr());
    return !pad || pad.getValue().isFinite();
  }
  if (!getElementTypeOrSelf(e.op->getResult(0).getType()).isFloat())
    return true;
  if (isa<arith::SelectOp>(e.op)) {
    // Each arm must be finite only where it is selected.
    const Entry &condition = entries[e.operands[0]];
    std::optional<Guard> guard;
    if (auto compared = dyn_cast_or_null<arith::CmpFOp>(condition.op))
      guard = guardOf(compared.getPredicate(), condition.operands);
    int guarded = !guard ? -1 : guard->isInfinite ? 2 : 1;
    for (int i : {1, 2})
      if (!(i == guarded && e.operands[i] == guard->number) &&
          !isFinite(e.operands[i]))
        return false;
    return true;
  }
  if (e.operands.empty())
    return false;
  if (isa<math::ExpOp, math::Exp2Op, math::TanhOp>(e.op))
    return true; // also for -inf
  auto finite = [&](Number m) { return isFinite(m); };
  if (isa<arith::MaximumFOp, arith::MaxNumFOp>(e.op))
    return llvm::any_of(e.operands, finite);
  if (isa<DotOp, ReduceOp, tensor::SplatOp, ExpandDimsOp, BroadcastOp, TransOp,
          ReshapeOp, ConvertLayoutOp, arith::AddFOp, arith::SubFOp,
          arith::MulFOp, arith::NegFOp, arith::ExtFOp, arith::TruncFOp,
          arith::MinimumFOp, arith::MinNumFOp, math::FmaOp, math::AbsFOp,
          arith::SIToFPOp, arith::UIToFPOp>(e.op))
    return llvm::all_of(e.operands, finite);
  return false;
}

// A result of scf.if: both branches may agree although the condition is
// unknown, as where one skips a dot that the other finds to add zeros.
Numbering::Number Numbering::branch(scf::IfOp op, unsigned result) {
  auto yielded = [&](Block *block) {
    return of(block->getTerminator()->getOperand(result));
  };
  auto condition =
      dyn_cast_or_null<IntegerAttr>(entries[of(op.getCondition())].constant);
  if (condition)
    return yielded(condition.getValue().isZero() ? op.elseBlock()
                                                 : op.thenBlock());
  Number a = yielded(op.thenBlock()), b = yielded(op.elseBlock());
  return a == b ? a : leaf();
}

/// By induction: if an iteration that starts from the loop's inputs yields them
/// again, so does every iteration.
bool Numbering::loopDoesNothing(scf::ForOp loop) {
  for (auto [argument, init] :
       llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
    numbers[argument] = of(init);
  if (!isWithoutEffect(*loop.getBody()))
    return false;
  for (auto [argument, yielded] :
       llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues()))
    if (of(argument) != of(yielded))
      return false;
  for (auto [result, init] : llvm::zip(loop.getResults(), loop.getInitArgs()))
    numbers[result] = of(init);
  return true;
}

bool Numbering::staysFinite(scf::ForOp loop, unsigned result) {
  if (!getElementTypeOrSelf(loop.getResult(result).getType()).isFloat() ||
      !isFinite(of(loop.getInitArgs()[result])))
    return false;
  // The induction's assumption. If the step fails, all conclusions drawn from
  // it must go as well.
  auto before = finite;
  finite[of(loop.getRegionIterArgs()[result])] = true;
  if (isFinite(of(loop.getYieldedValues()[result])))
    return true;
  finite = std::move(before);
  return false;
}

bool Numbering::isWithoutEffect(Block &block) {
  return llvm::all_of(block.without_terminator(),
                      [&](Operation &op) { return isWithoutEffect(op); });
}

// Whether the op writes nothing that another op could see. Of a branch whose
// condition is known, only the branch that is taken counts.
bool Numbering::isWithoutEffect(Operation &op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return loopDoesNothing(loop);
  if (auto choice = dyn_cast<scf::IfOp>(op)) {
    auto condition = dyn_cast_or_null<IntegerAttr>(
        entries[of(choice.getCondition())].constant);
    bool then = !condition || !condition.getValue().isZero(),
         otherwise = !condition || condition.getValue().isZero();
    return (!then || isWithoutEffect(*choice.thenBlock())) &&
           (!otherwise || !choice.elseBlock() ||
            isWithoutEffect(*choice.elseBlock()));
  }
  // Adding zeros to memory leaves it as it is.
  if (auto atomic = dyn_cast<AtomicAddOp>(op))
    return isZero(of(atomic.getValue()));
  // Turns do not affect computed values.
  if (isa<WaitTurnOp, PassTurnOp>(op))
    return true;
  return isa<LoadOp>(op) || isMemoryEffectFree(&op);
}

bool Numbering::proves(scf::ForOp loop,
                       ArrayRef<std::pair<Value, bool>> facts) {
  Builder b(loop.getContext());
  for (auto [v, holds] : facts)
    numbers[v] = constant(b.getBoolAttr(holds));
  if (!isWithoutEffect(*loop.getBody()))
    return false;
  return llvm::all_of(
      llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues()),
      [&](auto pair) {
        return of(std::get<0>(pair)) == of(std::get<1>(pair));
      });
}
