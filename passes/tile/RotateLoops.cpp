// SPDX-License-Identifier: Apache-2.0
//
// Lets the product of the next iteration run under what this one computes. A
// loop's second product takes what is computed from the first one's sum:
//
//     for i {                          s = a(lower) b; p = f(s); o = g(o, s)
//       s = a(i) b                     for i from the second on, p, o {
//       p = f(s)                         begin s = a(i) b
//       o = g(o, s)                      begin o += p c(i - 1)
//       o += p c(i)                      wait for s; p' = f(s)
//     }                                  wait for o; o = g(o, s)
//                                      }
//                                      o += p c(last)
//
// The second product, with the waits of its operand's slot and the slot's
// return, is moved to the next iteration, behind the start of the first one.
// What it takes is carried: its operand in registers, its sum so far, and the
// slot.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/tile/DotWarps.h"
#include "passes/tile/Passes.h"

namespace act::tile {
#define GEN_PASS_DEF_ROTATELOOPSPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

class Rotation {
public:
  explicit Rotation(scf::ForOp loop) : loop(loop), body(*loop.getBody()) {}
  /// Whether there are two such products, found as the fields say.
  bool find();
  void apply();

private:
  bool isSummed(Value v);
  bool findSecond();
  bool isForSecond(Operation &op);
  bool sharesBlock();
  bool split();
  void clone(ArrayRef<Operation *> ops, IRMapping &map, OpBuilder &b) {
    for (Operation *op : ops)
      b.clone(*op, map);
  }
  ValueRange yielded() { return body.getTerminator()->getOperands(); }

  scf::ForOp loop;
  Block &body;
  DotAsyncOp first, second;
  DotResultOp result;             // the second product's sum,
  unsigned carried = 0;           // which the loop carries as this
  SmallVector<Operation *> start; // up to the first product
  SmallVector<Operation *> rest;  // from its wait on
  SmallVector<Operation *> last;  // of these, what reads the carried sum
  SmallVector<Operation *> late;  // the second product, up to its start,
  SmallVector<Operation *> end;   // and from its wait on
  SmallVector<Value> crossing; // what `late` and `end` read of this iteration
};

/// Whether the value is computed from the sum of a product of this iteration.
bool Rotation::isSummed(Value v) {
  SetVector<Operation *> behind;
  auto add = [&](Value v) {
    if (Operation *op = v.getDefiningOp(); op && loop->isProperAncestor(op))
      behind.insert(op);
  };
  add(v);
  for (size_t i = 0; i < behind.size(); ++i) {
    if (isa<DotResultOp>(behind[i]))
      return true;
    llvm::for_each(behind[i]->getOperands(), add);
  }
  return false;
}

/// The product whose operand in registers comes from another one of the loop,
/// and whose sum the next iteration goes on with.
bool Rotation::findSecond() {
  for (auto dot : body.getOps<DotAsyncOp>()) {
    if (!isa<RankedTensorType>(dot.getA().getType()) || !isSummed(dot.getA())) {
      if (!first)
        first = dot;
      continue;
    }
    if (second || !first || !dot.getResult().hasOneUse())
      return false;
    second = dot;
    result = dyn_cast<DotResultOp>(*dot->user_begin());
    if (!result || !result->hasOneUse() ||
        *result->user_begin() != body.getTerminator())
      return false;
    carried = result->use_begin()->getOperandNumber();
  }
  return second && llvm::hasSingleElement(first->getUsers()) &&
         isa<DotResultOp>(*first->user_begin()) &&
         second.getAcc().getDefiningOp<BeginDotOp>();
}

/// Whether the op waits for operands of the second product, and of no other
/// one: that product is the next.
bool Rotation::isForSecond(Operation &op) {
  if (!isa<MbarrierWaitOp, FenceSharedOp>(op))
    return false;
  Operation *next = &op;
  do
    next = next->getNextNode();
  while (next && !isa<DotAsyncOp>(next));
  return next == second.getOperation();
}

/// Divides the body; false if another op reads what the second product writes,
/// or is in the way.
bool Rotation::split() {
  llvm::SetVector<Operation *> moved;
  // Views and the begin, if nothing else reads them.
  std::function<void(Value)> take = [&](Value v) {
    Operation *op = v.getDefiningOp();
    if (op && op->getBlock() == &body && op->hasOneUse() &&
        isa<SharedViewOp, BeginDotOp>(op)) {
      if (isa<SharedViewOp>(op))
        take(op->getOperand(0));
      moved.insert(op);
    }
  };
  take(second.getB());
  take(second.getAcc());
  bool behindFirst = false, behindSecond = false, behindResult = false;
  llvm::SmallPtrSet<Value, 8> readers{loop.getRegionIterArg(carried)};
  for (Operation &op : body.without_terminator()) {
    if (moved.contains(&op)) {
      late.push_back(&op);
      continue;
    }
    if (&op == second.getOperation()) {
      late.push_back(&op);
      behindSecond = true;
    } else if (&op == result.getOperation()) {
      end.push_back(&op);
      behindResult = true;
    } else if (behindResult && isa<MbarrierArriveOp>(op)) {
      end.push_back(&op);
    } else if (behindFirst && !behindSecond && isForSecond(op)) {
      late.push_back(&op);
    } else if (!behindFirst) {
      start.push_back(&op);
      behindFirst = &op == first.getOperation();
    } else if (llvm::any_of(op.getOperands(),
                            [&](Value v) { return readers.contains(v); })) {
      if (!isMemoryEffectFree(&op) || op.getNumRegions())
        return false;
      readers.insert(op.result_begin(), op.result_end());
      last.push_back(&op);
    } else {
      // Nothing may happen between the second product and the next iteration.
      if (behindSecond && !isMemoryEffectFree(&op))
        return false;
      rest.push_back(&op);
    }
  }
  auto isIn = [](ArrayRef<Operation *> ops, Operation *op) {
    return llvm::is_contained(ops, op);
  };
  llvm::SetVector<Value> read;
  for (ArrayRef<Operation *> ops : {ArrayRef(late), ArrayRef(end)})
    for (Operation *op : ops)
      for (Value v : op->getOperands()) {
        Operation *def = v.getDefiningOp();
        if (def && (isIn(late, def) || isIn(end, def)))
          continue;
        if (!loop.isDefinedOutsideOfLoop(v))
          read.insert(v);
      }
  // The next iteration reads these values, so the loop carries them.
  crossing.assign(read.begin(), read.end());
  // Memory that an iteration stores to is needed again in the next one.
  if (llvm::any_of(crossing,
                   [](Value v) { return isa<SharedType>(v.getType()); }))
    return false;
  return llvm::none_of(start, [&](Operation *op) {
    return llvm::any_of(op->getOperands(),
                        [&](Value v) { return readers.contains(v); });
  });
}

/// Whether the iteration reads the second product's block for another product,
/// too. Its slot is given back behind the second one, so the next iteration's
/// block must have another slot.
bool Rotation::sharesBlock() {
  Value memory = second.getB();
  while (auto view = memory.getDefiningOp<SharedViewOp>())
    memory = view.getShared();
  SmallVector<Value> views{memory};
  int64_t products = 0;
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers())
      if (loop->isProperAncestor(user)) {
        products += isa<DotAsyncOp>(user);
        if (isa<SharedViewOp>(user))
          views.push_back(user->getResult(0));
      }
  return products > 1;
}

bool Rotation::find() {
  if (!findSecond() || !split())
    return false;
  auto kernel = loop->getParentOfType<gpu::GPUFuncOp>();
  return getSchedule(kernel).getStages() > 1 || !sharesBlock();
}

void Rotation::apply() {
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  // The loop may have no iteration.
  auto lower = getConstantIntValue(loop.getLowerBound()),
       upper = getConstantIntValue(loop.getUpperBound());
  scf::IfOp any;
  if (!lower || !upper || *lower >= *upper) {
    Value is =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                              loop.getLowerBound(), loop.getUpperBound());
    any = scf::IfOp::create(b, loc, loop.getResultTypes(), is,
                            /*withElseRegion=*/true);
    b.setInsertionPointToStart(&any.getElseRegion().front());
    scf::YieldOp::create(b, loc, loop.getInitArgs());
    b.setInsertionPointToStart(&any.getThenRegion().front());
  }
  auto all = [&](IRMapping &map, ValueRange values) {
    SmallVector<Value> out;
    for (Value v : values)
      out.push_back(map.lookupOrDefault(v));
    return out;
  };
  // The first iteration, up to the second product. In place of the sum that the
  // loop carries stands nothing: what is carried is where it goes on.
  IRMapping before;
  before.map(loop.getInductionVar(), loop.getLowerBound());
  before.map(loop.getRegionIterArgs(), loop.getInitArgs());
  clone(start, before, b);
  clone(rest, before, b);
  clone(last, before, b);
  SmallVector<Value> handed;
  for (auto [i, v] : llvm::enumerate(yielded()))
    if (i != carried)
      handed.push_back(v);
  llvm::append_range(handed, crossing);

  Value from =
      arith::AddIOp::create(b, loc, loop.getLowerBound(), loop.getStep());
  auto rotated = scf::ForOp::create(b, loc, from, loop.getUpperBound(),
                                    loop.getStep(), all(before, handed));
  // What stands for the values of the last iteration.
  auto lastOf = [&](ValueRange values) {
    IRMapping map;
    map.map(crossing, values.take_back(crossing.size()));
    return map;
  };
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(rotated.getBody());
    IRMapping now, then = lastOf(rotated.getRegionIterArgs());
    now.map(loop.getInductionVar(), rotated.getInductionVar());
    unsigned next = 0;
    for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs()))
      if (i != carried)
        now.map(argument, rotated.getRegionIterArg(next++));
    clone(start, now, b);
    clone(late, then, b);
    clone(rest, now, b);
    clone(end, then, b);
    now.map(loop.getRegionIterArg(carried), then.lookup(result.getResult()));
    clone(last, now, b);
    scf::YieldOp::create(b, loc, all(now, handed));
  }
  IRMapping after = lastOf(rotated.getResults());
  clone(late, after, b);
  clone(end, after, b);
  SmallVector<Value> results;
  unsigned next = 0;
  for (unsigned i = 0; i < loop.getNumResults(); ++i)
    results.push_back(i == carried ? after.lookup(result.getResult())
                                   : Value(rotated.getResult(next++)));
  if (any)
    scf::YieldOp::create(b, loc, results);
  loop.replaceAllUsesWith(any ? any.getResults() : ValueRange(results));
  loop.erase();
}

struct RotateLoops : act::tile::impl::RotateLoopsPassBase<RotateLoops> {
  void runOnOperation() override {
    getOperation()->walk([](gpu::GPUFuncOp kernel) {
      if (!kernel.isKernel() || !getSchedule(kernel).getRotated())
        return;
      SmallVector<scf::ForOp> loops;
      kernel.walk([&](RolesOp roles) {
        roles.getCompute().walk(
            [&](scf::ForOp loop) { loops.push_back(loop); });
      });
      bool any = false;
      for (scf::ForOp loop : loops)
        if (Rotation rotation(loop); rotation.find()) {
          rotation.apply();
          any = true;
        }
      if (any)
        return;
      kernel->setAttr(scheduleName, getSchedule(kernel).withoutRotation());
      if (isByHand(kernel) && hasGroupProducts(kernel))
        kernel.emitWarning(
            "is rotated, but has no loop of two products where copying warps "
            "load the operands, and the second product takes what is computed "
            "from the sum of the first");
    });
  }
};

} // namespace
