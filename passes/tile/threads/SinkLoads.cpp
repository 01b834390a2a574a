// SPDX-License-Identifier: Apache-2.0
//
// Moves loads from shared memory to the first use of their results. Op by op, a
// thread would hold both operands of a product at once, which for split f32 is
// as many registers as its accumulators. ldmatrix loads stay in place.
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "passes/tile/threads/ThreadBuilder.h"

using namespace mlir;

static bool isPlain(LLVM::LoadOp load) {
  return !load.getVolatile_() &&
         load.getOrdering() == LLVM::AtomicOrdering::not_atomic;
}

static bool isSharedLoad(Operation &op) {
  auto load = dyn_cast<LLVM::LoadOp>(op);
  return load && isPlain(load) &&
         cast<LLVM::LLVMPointerType>(load.getAddr().getType())
                 .getAddressSpace() == unsigned(NVVM::NVVMMemorySpace::Shared);
}

/// One of several results that an op makes at once.
static bool isPart(Operation &op) {
  return isa<LLVM::ExtractElementOp, LLVM::ExtractValueOp>(op);
}

/// Whether loads from shared memory may not cross it.
static bool keepsOrder(Operation &op) {
  if (auto call = dyn_cast<LLVM::CallIntrinsicOp>(op))
    return !call.getIntrin().starts_with("llvm.nvvm.ff2"); // only rounds
  if (auto load = dyn_cast<LLVM::LoadOp>(op))
    return !isPlain(load);
  return !isMemoryEffectFree(&op) && !isa<NVVM::LdMatrixOp, NVVM::MmaOp>(op);
}

/// From the last op to the first, so that a load's users have their final
/// place. A load stops at the first op that may write, even one without a use
/// of it.
static void sinkSharedLoads(Block &block) {
  SmallVector<Operation *> ops =
      llvm::to_vector(llvm::make_pointer_range(block));
  // The index of the op that each goes before; its own if it stays.
  llvm::DenseMap<Operation *, size_t> places;
  llvm::MapVector<size_t, SmallVector<Operation *>> moved;
  size_t barrier = ops.size(); // the next op that keeps the order
  for (size_t i = ops.size(); i-- > 0;) {
    Operation *op = ops[i];
    places[op] = i;
    if (keepsOrder(*op))
      barrier = i;
    bool loads = isSharedLoad(*op);
    if (!loads && !isPart(*op))
      continue;
    size_t first = loads ? barrier : ops.size();
    for (Operation *user : op->getUsers())
      if (Operation *at = block.findAncestorOpInBlock(*user))
        first = std::min(first, places.at(at));
    if (first == ops.size())
      continue;
    places[op] = first;
    // Users moved to the same place stay after it.
    SmallVector<Operation *> &group = moved[first];
    llvm::SmallPtrSet<Operation *, 4> users;
    for (Operation *user : op->getUsers())
      if (user != ops[first] && places.lookup(user) == first)
        users.insert(user);
    auto at = group.end();
    while (!users.empty())
      users.erase(*--at);
    group.insert(at, op);
  }
  for (auto &[place, group] : moved)
    for (Operation *op : group)
      op->moveBefore(ops[place]);
}

void act::tile::sinkSharedLoads(Operation *kernel) {
  kernel->walk([](Block *block) { ::sinkSharedLoads(*block); });
}

// The last op before the builder that may write: a load after it still reads
// the same.
act::tile::LoadsAgain::LoadsAgain(ThreadBuilder &t)
    : t(t), block(t.b.getInsertionBlock()) {
  for (Operation &op :
       llvm::reverse(llvm::make_range(block->begin(), t.b.getInsertionPoint())))
    if (keepsOrder(op)) {
      fence = &op;
      break;
    }
}

// The load of `v` once more, with the ops between them: parts of a vector, and
// bitcasts. Everything else is used as it is.
Value act::tile::LoadsAgain::of(Value v) {
  Operation *op = v.getDefiningOp();
  if (!op || op->getBlock() != block)
    return v;
  if (Value again = known.lookup(v))
    return again;
  SmallVector<Value> operands(op->getOperands());
  if (isa<NVVM::LdMatrixOp>(op) || isSharedLoad(*op)) {
    if (fence && op->isBeforeInBlock(fence))
      return v;
  } else if (isPart(*op) || isa<LLVM::BitcastOp, arith::BitcastOp>(op)) {
    operands[0] = of(operands[0]);
    if (operands[0] == op->getOperand(0))
      return v;
  } else {
    return v;
  }
  Operation *again = t.b.clone(*op);
  again->setOperands(operands);
  return known[v] = again->getResult(0);
}
