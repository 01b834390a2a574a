// SPDX-License-Identifier: Apache-2.0
//
// Comes first in the pipelines for GPU and host, so all other passes know three
// kinds of control flow only. Loops that say "parallel" become sequential: a
// program's threads share its blocks and run the same iterations.
#include "dialects/tile/Dialect.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Transforms/DialectConversion.h"
#include "passes/tile/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace act::tile {
#define GEN_PASS_DEF_SIMPLIFYCONTROLPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// Moves the contents of `body` to `op` and replaces its results.
void replaceByBlock(Operation *op, Block &body, IRRewriter &rewriter) {
  Operation *yield = body.getTerminator();
  SmallVector<Value> results(yield->getOperands());
  rewriter.eraseOp(yield);
  rewriter.inlineBlockBefore(&body, op);
  rewriter.replaceOp(op, results);
}

/// One scf.if per case, in order, ending in the default:
///
///     if (arg == 0) { case 0 }
///     else { if (arg == 5) { case 5 } else { default } }
void asBranches(scf::IndexSwitchOp op, IRRewriter &rewriter) {
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  scf::IfOp outermost;
  for (auto [number, region] :
       llvm::zip_equal(op.getCases(), op.getCaseRegions())) {
    Value isCase = arith::CmpIOp::create(
        rewriter, loc, arith::CmpIPredicate::eq, op.getArg(),
        arith::ConstantIndexOp::create(rewriter, loc, number));
    auto branch = scf::IfOp::create(rewriter, loc, op.getResultTypes(), isCase,
                                    /*withElseRegion=*/true);
    rewriter.eraseBlock(branch.thenBlock());
    rewriter.inlineRegionBefore(region, branch.getThenRegion(),
                                branch.getThenRegion().end());
    if (outermost)
      scf::YieldOp::create(rewriter, loc, branch.getResults());
    else
      outermost = branch;
    Block *other = branch.elseBlock();
    if (!other->empty()) // a branch without results has one
      rewriter.eraseOp(other->getTerminator());
    rewriter.setInsertionPointToEnd(other);
  }
  Block &remaining = op.getDefaultRegion().front();
  if (!outermost) // no cases
    return replaceByBlock(op, remaining, rewriter);
  rewriter.mergeBlocks(&remaining, rewriter.getInsertionBlock());
  rewriter.replaceOp(op, outermost);
}

/// Sequential loops, the last dimension innermost. Upstream's
/// parallelForToNestedFors does not support reductions.
void asLoops(scf::ParallelOp op, IRRewriter &rewriter) {
  rewriter.setInsertionPoint(op);
  auto nest = scf::buildLoopNest(
      rewriter, op.getLoc(), op.getLowerBound(), op.getUpperBound(),
      op.getStep(), op.getInitVals(),
      [&](OpBuilder &b, Location, ValueRange counters, ValueRange sums) {
        IRMapping mapping;
        mapping.map(op.getInductionVars(), counters);
        for (Operation &inner : op.getBody()->without_terminator())
          b.clone(inner, mapping);
        scf::ValueVector next;
        auto reduce = cast<scf::ReduceOp>(op.getBody()->getTerminator());
        for (auto [sum, operand, region] : llvm::zip_equal(
                 sums, reduce.getOperands(), reduce.getReductions())) {
          mapping.map(region.getArgument(0), sum);
          mapping.map(region.getArgument(1), mapping.lookupOrDefault(operand));
          for (Operation &inner : region.front().without_terminator())
            b.clone(inner, mapping);
          next.push_back(mapping.lookupOrDefault(
              region.front().getTerminator()->getOperand(0)));
        }
        return next;
      });
  rewriter.replaceOp(op, nest.results);
}

/// Upstream's conversion. Everything else stays legal, so it only touches ops
/// of affine.
LogicalResult lowerAffine(gpu::GPUModuleOp module) {
  MLIRContext *context = module.getContext();
  RewritePatternSet patterns(context);
  populateAffineToStdConversionPatterns(patterns);
  ConversionTarget target(*context);
  target.addIllegalDialect<affine::AffineDialect>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(module, target, std::move(patterns));
}

LogicalResult inlineRegion(scf::ExecuteRegionOp op, IRRewriter &rewriter) {
  Block &body = op.getRegion().front();
  auto yield = dyn_cast<scf::YieldOp>(body.getTerminator());
  if (!op.getRegion().hasOneBlock() || !yield)
    return op.emitOpError("has branches, expected a single basic block");
  replaceByBlock(op, body, rewriter);
  return success();
}

LogicalResult simplify(Operation *op, IRRewriter &rewriter) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](scf::IndexSwitchOp o) {
        asBranches(o, rewriter);
        return success();
      })
      .Case([&](scf::ExecuteRegionOp o) { return inlineRegion(o, rewriter); })
      .Case([&](scf::ParallelOp o) {
        asLoops(o, rewriter);
        return success();
      })
      .Case([&](scf::ForallOp o) -> LogicalResult {
        if (o->getNumResults())
          return o.emitOpError("has results; expected stores in it");
        return scf::forallToForLoop(rewriter, o);
      });
}

struct SimplifyControl
    : act::tile::impl::SimplifyControlPassBase<SimplifyControl> {
  void runOnOperation() override {
    gpu::GPUModuleOp module = getOperation();
    bool hasAffine = false;
    SmallVector<Operation *> others; // inner ops before outer ones
    auto find = [&] {
      others.clear();
      module.walk([&](Operation *op) {
        hasAffine |= isa_and_nonnull<affine::AffineDialect>(op->getDialect());
        if (isa<scf::IndexSwitchOp, scf::ExecuteRegionOp, scf::ParallelOp,
                scf::ForallOp>(op))
          others.push_back(op);
      });
    };
    find();
    if (hasAffine) {
      if (failed(lowerAffine(module)))
        return signalPassFailure();
      find(); // affine.parallel is a scf.parallel now
    }
    IRRewriter rewriter(&getContext());
    for (Operation *op : others)
      if (failed(simplify(op, rewriter)))
        return signalPassFailure();
  }
};

} // namespace
