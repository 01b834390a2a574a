// SPDX-License-Identifier: Apache-2.0
#include "dialects/tile/Dialect.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Transforms/DialectConversion.h"
#include "passes/tile/Passes.h"

namespace act::tile {
#define GEN_PASS_DEF_SIMPLIFYCONTROLPASS
#include "passes/tile/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act::tile;

namespace {

/// One question for each case, in order; the default is what is left.
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
    if (!other->empty()) // of a branch without results
      rewriter.eraseOp(other->getTerminator());
    rewriter.setInsertionPointToEnd(other);
  }
  // Where there is no case, the default is all there is.
  Block *last = rewriter.getInsertionBlock(),
        &remaining = op.getDefaultRegion().front();
  if (outermost) {
    rewriter.mergeBlocks(&remaining, last);
    rewriter.replaceOp(op, outermost);
    return;
  }
  auto yield = cast<scf::YieldOp>(remaining.getTerminator());
  SmallVector<Value> results(yield.getOperands());
  rewriter.eraseOp(yield);
  rewriter.inlineBlockBefore(&remaining, op);
  rewriter.replaceOp(op, results);
}

/// One iteration after another, the last dimension first. Upstream's
/// parallelForToNestedFors takes none that reduces.
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

LogicalResult lowerAffine(gpu::GPUModuleOp module) {
  MLIRContext *context = module.getContext();
  RewritePatternSet patterns(context);
  populateAffineToStdConversionPatterns(patterns);
  ConversionTarget target(*context);
  target.addIllegalDialect<affine::AffineDialect>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(module, target, std::move(patterns));
}

/// Ops of one kind at a time; what stands inside of others comes first.
template <typename Op>
LogicalResult rewriteAll(gpu::GPUModuleOp module,
                         llvm::function_ref<LogicalResult(Op)> rewrite) {
  SmallVector<Op> all;
  module.walk([&](Op op) { all.push_back(op); });
  return failure(llvm::any_of(all, [&](Op op) { return failed(rewrite(op)); }));
}

struct SimplifyControl
    : act::tile::impl::SimplifyControlPassBase<SimplifyControl> {
  void runOnOperation() override {
    gpu::GPUModuleOp module = getOperation();
    bool hasAffine = false, hasOther = false;
    module.walk([&](Operation *op) {
      hasAffine |= isa<affine::AffineDialect>(op->getDialect());
      hasOther |= isa<scf::IndexSwitchOp, scf::ExecuteRegionOp, scf::ParallelOp,
                      scf::ForallOp>(op);
    });
    if (hasAffine && failed(lowerAffine(module)))
      return signalPassFailure();
    // affine.parallel is a scf.parallel now.
    if ((hasAffine || hasOther) && failed(simplify(module)))
      return signalPassFailure();
  }

  static LogicalResult simplify(gpu::GPUModuleOp module) {
    IRRewriter rewriter(module.getContext());
    return failure(failed(rewriteAll<scf::ExecuteRegionOp>(
                       module,
                       [&](scf::ExecuteRegionOp op) -> LogicalResult {
                         if (!op.getRegion().hasOneBlock())
                           return op.emitOpError("has more than one block");
                         Block &body = op.getRegion().front();
                         Operation *yield = body.getTerminator();
                         SmallVector<Value> results(yield->getOperands());
                         rewriter.eraseOp(yield);
                         rewriter.inlineBlockBefore(&body, op);
                         rewriter.replaceOp(op, results);
                         return success();
                       })) ||
                   failed(rewriteAll<scf::IndexSwitchOp>(
                       module,
                       [&](scf::IndexSwitchOp op) -> LogicalResult {
                         asBranches(op, rewriter);
                         return success();
                       })) ||
                   failed(rewriteAll<scf::ForallOp>(
                       module,
                       [&](scf::ForallOp op) -> LogicalResult {
                         if (op->getNumResults())
                           return op.emitOpError(
                               "has results; expected stores in it");
                         return scf::forallToForLoop(rewriter, op);
                       })) ||
                   failed(rewriteAll<scf::ParallelOp>(
                       module, [&](scf::ParallelOp op) -> LogicalResult {
                         asLoops(op, rewriter);
                         return success();
                       })));
  }
};

} // namespace
