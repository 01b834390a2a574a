// SPDX-License-Identifier: Apache-2.0
//
// ptxas moves a wait for products up, over arithmetic that does not need them,
// as soon as something behind it does: then nothing runs beside the products.
// It does not move a wait over an event, nor an event over what decides on it:
//
//     %l = arith.addf %l0, %sum            %l = arith.addf %l0, %sum
//     "wgmma.wait_group …"          ->     "@p pmevent …", p: %l is a certain
//     NaN scf.yield %l, …                      "wgmma.wait_group …"
//
// The event never happens, and would only be counted by a profiler. What a loop
// carries and needs no product that is waited for is computed before the wait,
// with all that it is computed from.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/tile/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace act::tile {
#define GEN_PASS_DEF_HOLDWAITSPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;

namespace {

bool isWait(Operation &op) {
  auto ptx = dyn_cast<LLVM::InlineAsmOp>(op);
  return ptx && ptx.getAsmString().starts_with("wgmma.wait_group");
}

/// Ops of the block that `v` is computed from.
llvm::SetVector<Operation *> behind(Value v, Block &block) {
  llvm::SetVector<Operation *> found;
  auto add = [&](Value o) {
    if (Operation *op = o.getDefiningOp())
      if (Operation *own = block.findAncestorOpInBlock(*op))
        found.insert(own);
  };
  add(v);
  for (size_t i = 0; i < found.size(); ++i)
    found[i]->walk([&](Operation *op) {
      for (Value o : op->getOperands())
        add(o);
    });
  return found;
}

/// The last wait of a loop's body is held, if there is one before it: the
/// products that it waits for run beside what the earlier ones let go on.
void hold(scf::ForOp loop) {
  Block &body = *loop.getBody();
  Operation *wait = nullptr;
  int waits = 0;
  for (Operation &op : body)
    if (isWait(op)) {
      wait = &op;
      ++waits;
    }
  if (waits < 2)
    return;
  // Of what is carried, that from which no other is computed.
  SmallVector<Value> carried;
  SmallVector<llvm::SetVector<Operation *>> computed;
  for (Value v : body.getTerminator()->getOperands()) {
    Operation *op = v.getDefiningOp();
    if (!op || op->getBlock() != &body || !v.getType().isF32() ||
        !isa<arith::AddFOp, arith::MulFOp, math::FmaOp>(op) ||
        !op->isBeforeInBlock(wait) || llvm::is_contained(carried, v))
      continue;
    carried.push_back(v);
    computed.push_back(behind(v, body));
  }
  OpBuilder b(wait);
  Location loc = wait->getLoc();
  Value bits;
  for (auto [i, v] : llvm::enumerate(carried)) {
    bool isInside = llvm::any_of(llvm::enumerate(computed), [&](auto other) {
      return other.index() != i && other.value().contains(v.getDefiningOp());
    });
    if (isInside)
      continue;
    Value own = arith::BitcastOp::create(b, loc, b.getI32Type(), v);
    bits = bits ? Value(arith::XOrIOp::create(b, loc, bits, own)) : own;
  }
  if (!bits)
    return;
  LLVM::InlineAsmOp::create(
      b, loc, TypeRange(), ValueRange{bits},
      "{ .reg .pred %never; setp.eq.u32 %never, $0, 0x7fdeadbe; "
      "@%never pmevent 1; }",
      "r,~{memory}", /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
}

struct HoldWaits : act::tile::impl::HoldWaitsPassBase<HoldWaits> {
  void runOnOperation() override { getOperation()->walk(hold); }
};

} // namespace
