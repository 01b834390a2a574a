// SPDX-License-Identifier: Apache-2.0
//
// Each iteration of a product begins with a barrier, behind which the copies of
// its blocks are seen, and then all warps wait for their first fragments, with
// nothing to multiply. So the next iteration's head, up to its first fragments,
// goes in front of this one's last products:
//
//     scf.for %i {                        head(0): wait, barrier, copies
//       wait, barrier, copies             %a0 = ldmatrix                   k 0
//       %a = ldmatrix           k 0       scf.for %i (%a = %a0) {
//       %b = ldmatrix           k 16        %b = ldmatrix                  k 16
//       mma %a                        ->    mma %a
//       mma %b                              head(%i + 1)
//     }                                     %n = ldmatrix            next, k 0
//                                           mma %b
//                                           scf.yield %n }
//
// A slot is free by then: what is left to multiply is in registers. The last
// iteration fetches what nobody uses; its copies are of zeros.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/tile/DotWarps.h"
#include "passes/tile/Passes.h"

namespace act::tile {
#define GEN_PASS_DEF_FETCHAHEADPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

bool isBarrier(Operation &op) {
  return isa<gpu::BarrierOp, NVVM::BarrierOp>(op);
}

/// Whether the op may be computed anywhere and again.
bool isScalar(Operation &op) { return isPure(&op) && !op.getNumRegions(); }

template <typename Op> bool hasA(Operation &op) {
  return op.walk([](Op) { return WalkResult::interrupt(); }).wasInterrupted();
}

bool changesMemory(Operation &op) {
  return op
      .walk([](Operation *inner) {
        auto ptx = dyn_cast<LLVM::InlineAsmOp>(inner);
        return isa<LLVM::StoreOp, LLVM::AtomicRMWOp>(inner) ||
                       (ptx && ptx.getHasSideEffects())
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

class Rotation {
public:
  Rotation(scf::ForOp loop, bool copiesOwn)
      : loop(loop), body(*loop.getBody()), copiesOwn(copiesOwn) {}
  bool find();
  void run();

private:
  scf::ForOp loop;
  Block &body;
  bool copiesOwn; // the head copies for its own iteration
  // The head's ops with effects, in order, up to its last fragments; of these,
  // the loads of first fragments.
  SmallVector<Operation *> head;
  SmallVector<NVVM::LdMatrixOp> first;
  // The last products and all that needs them.
  llvm::SmallPtrSet<Operation *, 32> last;

  /// What is in the body and behind the value.
  llvm::SetVector<Operation *> behind(ValueRange values) const;
  void cloneHead(OpBuilder &b, IRMapping &map, Value condition = {}) const;
};

llvm::SetVector<Operation *> Rotation::behind(ValueRange values) const {
  llvm::SetVector<Operation *> ops;
  SmallVector<Value> open(values);
  while (!open.empty())
    if (Operation *op = open.pop_back_val().getDefiningOp();
        op && op->getBlock() == &body && ops.insert(op))
      llvm::append_range(open, op->getOperands());
  return ops;
}

// The head is what stands in front of the first fragments.
bool Rotation::find() {
  if (llvm::none_of(body, isBarrier))
    return false;
  for (Operation &op : body) {
    if (isa<NVVM::MmaOp, NVVM::LdMatrixOp>(op))
      break;
    if (isScalar(op))
      continue;
    // What it reads for this iteration, the next one's head would read behind
    // the end.
    if (changesMemory(op) || op.getNumResults())
      return false;
    head.push_back(&op);
  }
  if (llvm::none_of(head, [](Operation *op) { return isBarrier(*op); }))
    return false;
  // Fragments behind the next barrier, or a store, are not there yet.
  Operation *end = body.getTerminator();
  for (Operation &op : body)
    if ((isBarrier(op) || changesMemory(op)) &&
        !llvm::is_contained(head, &op)) {
      end = &op;
      break;
    }
  llvm::SmallPtrSet<Operation *, 16> fetched;
  for (auto mma : body.getOps<NVVM::MmaOp>()) {
    // The last one of each sum is what the loop carries.
    const bool isLast = llvm::all_of(mma->getUsers(), [&](Operation *user) {
      return isa<LLVM::ExtractValueOp>(user) &&
             llvm::all_of(user->getUsers(), llvm::IsaPred<scf::YieldOp>);
    });
    const bool isFirst =
        llvm::none_of(behind(mma.getOperandC()),
                      [](Operation *op) { return isa<NVVM::MmaOp>(op); });
    if (isFirst && isLast)
      return false;
    auto operands = behind(llvm::to_vector(
        llvm::concat<Value>(llvm::to_vector(mma.getOperandA()),
                            llvm::to_vector(mma.getOperandB()))));
    if (isFirst)
      for (Operation *op : operands)
        if (auto load = dyn_cast<NVVM::LdMatrixOp>(op);
            load && load->isBeforeInBlock(end) && fetched.insert(op).second)
          first.push_back(load);
    if (isLast) {
      last.insert(mma);
      last.insert(mma->user_begin(), mma->user_end());
    }
  }
  if (first.empty() || last.empty())
    return false;
  llvm::sort(first, [](NVVM::LdMatrixOp x, NVVM::LdMatrixOp y) {
    return x->isBeforeInBlock(y);
  });
  llvm::append_range(head, first);
  // The next head must not wait for the last products.
  SmallVector<Value> needed;
  for (Operation *op : head) {
    llvm::append_range(needed, op->getOperands());
    op->walk([&](Operation *inner) {
      llvm::append_range(needed, inner->getOperands());
    });
  }
  for (size_t i = 0; i < needed.size(); ++i) {
    for (Operation *op : behind(needed[i])) {
      if (!isScalar(*op))
        return false;
      llvm::append_range(needed, op->getOperands());
    }
    auto carried = dyn_cast<BlockArgument>(needed[i]);
    if (!carried || carried.getOwner() != &body || carried.getArgNumber() == 0)
      continue;
    Value next = loop.getYieldedValues()[carried.getArgNumber() - 1];
    if (next == carried)
      continue;
    for (Operation *op : behind(next))
      if (!isScalar(*op) || last.contains(op))
        return false;
  }
  return true;
}

/// The head's ops and all scalars that they need, for an iteration that `map`
/// says.
void Rotation::cloneHead(OpBuilder &b, IRMapping &map, Value condition) const {
  llvm::SmallPtrSet<Operation *, 32> wanted(head.begin(), head.end());
  llvm::SmallPtrSet<Operation *, 32> needed;
  for (Operation *op : head)
    op->walk([&](Operation *inner) {
      for (Operation *scalar : behind(inner->getOperands()))
        needed.insert(scalar);
    });
  scf::IfOp copies;
  for (Operation &op : body) {
    if (!wanted.contains(&op) && !needed.contains(&op))
      continue;
    OpBuilder::InsertionGuard guard(b);
    if (condition && hasA<NVVM::CpAsyncOp>(op)) {
      if (!copies)
        copies = scf::IfOp::create(b, op.getLoc(), condition);
      b.setInsertionPoint(copies.thenBlock()->getTerminator());
    } else if (copies && isScalar(op)) {
      b.setInsertionPoint(copies); // what the next copy needs
    }
    b.clone(op, map);
  }
}

void Rotation::run() {
  IRRewriter b(loop);
  Location loc = loop.getLoc();
  IRMapping before;
  before.map(loop.getInductionVar(), loop.getLowerBound());
  for (auto [carried, init] :
       llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
    before.map(carried, init);
  auto isIn = [&](Value at) -> Value {
    // Copies of later iterations end by themselves.
    return copiesOwn
               ? b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt,
                                               at, loop.getUpperBound())
               : Value();
  };
  cloneHead(b, before, isIn(loop.getLowerBound()));
  SmallVector<Value> inits(loop.getInitArgs());
  for (NVVM::LdMatrixOp load : first)
    inits.push_back(before.lookup(load.getResult()));
  auto rotated =
      scf::ForOp::create(b, loc, loop.getLowerBound(), loop.getUpperBound(),
                         loop.getStep(), inits);
  rotated->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  b.setInsertionPointToStart(rotated.getBody());
  IRMapping map;
  map.map(loop.getInductionVar(), rotated.getInductionVar());
  const size_t carried = loop.getInitArgs().size();
  for (size_t i = 0; i < carried; ++i)
    map.map(loop.getRegionIterArg(i), rotated.getRegionIterArg(i));
  for (auto [i, load] : llvm::enumerate(first))
    map.map(load.getResult(), rotated.getRegionIterArg(carried + i));
  llvm::SmallPtrSet<Operation *, 32> moved(head.begin(), head.end());
  for (Operation &op : body.without_terminator())
    if (!moved.contains(&op) && !last.contains(&op))
      b.clone(op, map);
  IRMapping next;
  Value following =
      arith::AddIOp::create(b, loc, rotated.getInductionVar(), loop.getStep());
  next.map(loop.getInductionVar(), following);
  for (auto [i, yielded] : llvm::enumerate(loop.getYieldedValues()))
    next.map(loop.getRegionIterArg(i), map.lookupOrDefault(yielded));
  cloneHead(b, next, isIn(following));
  for (Operation &op : body.without_terminator())
    if (last.contains(&op))
      b.clone(op, map);
  SmallVector<Value> yielded;
  for (Value v : loop.getYieldedValues())
    yielded.push_back(map.lookupOrDefault(v));
  for (NVVM::LdMatrixOp load : first)
    yielded.push_back(next.lookup(load.getResult()));
  scf::YieldOp::create(b, loc, yielded);
  // What the head alone needs.
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(*rotated.getBody())))
    if (op.use_empty() && isScalar(op) && !op.hasTrait<OpTrait::IsTerminator>())
      b.eraseOp(&op);
  b.replaceOp(loop, rotated.getResults().take_front(carried));
}

struct FetchAhead : act::tile::impl::FetchAheadPassBase<FetchAhead> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      ScheduleAttr schedule = getSchedule(kernel);
      if (!schedule.getAhead())
        continue;
      bool any = false;
      SmallVector<scf::ForOp> loops;
      kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
      for (scf::ForOp loop : loops)
        if (Rotation rotation(loop, schedule.getStages() == 1);
            rotation.find()) {
          rotation.run();
          any = true;
        }
      if (any)
        continue;
      kernel->setAttr(scheduleName, schedule.withoutAhead());
      if (isByHand(kernel))
        kernel.emitWarning("fetches ahead, but has no loop that begins with a "
                           "barrier and multiplies fragments");
    }
  }
};

} // namespace
