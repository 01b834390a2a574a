// SPDX-License-Identifier: Apache-2.0
//
// Upstream's one-shot bufferization, with the kernel ABI around it: before it,
// results become output arguments, and the ops that make a result write there;
// after it, copies and loop-carried buffers take a form that allocates nothing.
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/groups-to-host/HostKernelForm.h"
#include "passes/groups-to-host/Passes.h"

namespace act {
#define GEN_PASS_DEF_BUFFERIZEHOSTKERNELPASS
#include "passes/groups-to-host/Passes.h.inc"
} // namespace act

using namespace mlir;

namespace {

MemRefType contiguous(RankedTensorType type) {
  return MemRefType::get(type.getShape(), type.getElementType());
}

/// Gives each result memory: an argument that it replaces, or a new one.
///
///     func @f(%x) -> tensor<8xf32> { %e = empty  %y = generic outs(%e) .. }
///     func @f(%x, %out)            { %e = to_tensor %out  .. outs(%e) .. }
///
/// The final copy of %y to %out is then one onto itself, and disappears.
class OutParameters {
public:
  OutParameters(func::FuncOp func) : func(func), builder(func.getContext()) {}

  LogicalResult run() {
    Block &entry = func.getBody().front();
    Operation *terminator = entry.getTerminator();
    unsigned numArgs = func.getNumArguments(),
             numResults = func.getNumResults();
    SmallVector<Value> outs(numResults);
    SmallVector<bool> written(numArgs, false);
    for (unsigned i = 0; i < numArgs; ++i)
      if (act::ArgumentRoleAttr role = act::roleOf(func, i)) {
        if (role.getKind() != act::ArgumentRoleKind::InPlace)
          return func.emitOpError()
                 << "argument " << i << " has the role "
                 << act::stringifyArgumentRoleKind(role.getKind())
                 << "; a kernel for the host has results in place only";
        int64_t result = role.getResult();
        if (func.getArgumentTypes()[i] != func.getResultTypes()[result])
          return func.emitOpError()
                 << "places result " << result << " of type "
                 << func.getResultTypes()[result] << " in argument " << i
                 << " of type " << func.getArgumentTypes()[i];
        outs[result] = entry.getArgument(i);
        written[i] = true;
        // The results it speaks of become arguments.
        func.removeArgAttr(i, act::ActDialect::getRoleAttrName());
      }
    builder.setInsertionPointToStart(&entry);
    for (unsigned i = 0; i < numArgs; ++i) {
      BlockArgument arg = entry.getArgument(i);
      auto type = dyn_cast<RankedTensorType>(arg.getType());
      if (!type)
        continue;
      arg.setType(contiguous(type));
      auto tensor = bufferization::ToTensorOp::create(
          builder, arg.getLoc(), type, arg, /*restrict=*/true,
          /*writable=*/written[i]);
      arg.replaceAllUsesExcept(tensor, tensor);
    }
    for (unsigned i = 0; i < numResults; ++i) {
      auto type = cast<RankedTensorType>(func.getResultTypes()[i]);
      bool fresh = !outs[i];
      if (fresh) {
        outs[i] = entry.addArgument(contiguous(type), func.getLoc());
        writeTo(terminator->getOpOperand(i), outs[i]);
      }
      builder.setInsertionPoint(terminator);
      auto copy = bufferization::MaterializeInDestinationOp::create(
          builder, func.getLoc(), Type(), terminator->getOperand(i), outs[i]);
      copy.setWritable(true);
      copy.setRestrict(true);
    }
    builder.setInsertionPoint(terminator);
    func::ReturnOp::create(builder, func.getLoc());
    terminator->erase();
    func.setFunctionType(
        FunctionType::get(func.getContext(), entry.getArgumentTypes(), {}));
    SmallVector<Attribute> none(entry.getNumArguments(),
                                DictionaryAttr::get(func.getContext()));
    func.setArgAttrsAttr(ArrayAttr::get(func.getContext(), none));
    func->removeAttr(func.getResAttrsAttrName());
    return success();
  }

private:
  /// Follows the destinations behind a result up to an undefined tensor, and
  /// makes that the memory of the output.
  void writeTo(OpOperand &use, Value out) {
    OpOperand *current = &use;
    SmallVector<Operation *> reshapes;
    while (true) {
      auto result = dyn_cast<OpResult>(current->get());
      if (!result)
        return;
      Operation *def = result.getOwner();
      if (isa<tensor::EmptyOp>(def))
        break;
      if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(def)) {
        if (!result.hasOneUse())
          return;
        reshapes.push_back(def);
        current = &def->getOpOperand(0);
      } else if (auto style = dyn_cast<DestinationStyleOpInterface>(def)) {
        current = style.getTiedOpOperand(result);
      } else if (auto forall = dyn_cast<scf::ForallOp>(def)) {
        current = forall.getTiedOpOperand(result);
      } else if (auto loop = dyn_cast<scf::ForOp>(def)) {
        current = loop.getTiedLoopInit(result);
      } else {
        return;
      }
    }
    // Undo the reshapes on the way.
    builder.setInsertionPointToStart(&func.getBody().front());
    Value memory = out;
    for (Operation *reshape : reshapes) {
      Location loc = reshape->getLoc();
      auto type =
          contiguous(cast<RankedTensorType>(reshape->getOperand(0).getType()));
      if (auto expand = dyn_cast<tensor::ExpandShapeOp>(reshape))
        memory = memref::CollapseShapeOp::create(
            builder, loc, type, memory, expand.getReassociationIndices());
      else
        memory = memref::ExpandShapeOp::create(
            builder, loc, type, memory,
            cast<tensor::CollapseShapeOp>(reshape).getReassociationIndices());
    }
    auto tensor = bufferization::ToTensorOp::create(
        builder, out.getLoc(), current->get().getType(), memory,
        /*restrict=*/true, /*writable=*/true);
    current->set(tensor);
  }

  func::FuncOp func;
  OpBuilder builder;
};

/// memref.copy of strided memory would call a library function; as linalg it
/// becomes a vector loop.
void copiesToLinalg(func::FuncOp func) {
  SmallVector<memref::CopyOp> copies;
  func.walk([&](memref::CopyOp copy) { copies.push_back(copy); });
  IRRewriter rewriter(func.getContext());
  for (memref::CopyOp copy : copies) {
    rewriter.setInsertionPoint(copy);
    if (copy.getSource() == copy.getTarget()) {
      rewriter.eraseOp(copy);
      continue;
    }
    auto type = cast<MemRefType>(copy.getTarget().getType());
    AffineMap map = rewriter.getMultiDimIdentityMap(type.getRank());
    linalg::GenericOp::create(
        rewriter, copy.getLoc(), ValueRange{copy.getSource()},
        ValueRange{copy.getTarget()}, ArrayRef<AffineMap>{map, map},
        SmallVector<utils::IteratorType>(type.getRank(),
                                         utils::IteratorType::parallel),
        [](OpBuilder &b, Location loc, ValueRange args) {
          linalg::YieldOp::create(b, loc, args[0]);
        });
    rewriter.eraseOp(copy);
  }
}

/// A loop-carried tensor that is new in every iteration would need a buffer per
/// iteration; its value is copied into the initial one instead:
///
///     scf.for iter_args(%c = %init) { .. %new ..  yield %new }
///     scf.for { .. %init .. copy %new to %init }
LogicalResult carryInOneBuffer(scf::ForOp loop, IRRewriter &rewriter) {
  for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i) {
    BlockArgument carried = loop.getRegionIterArg(i);
    if (!isa<MemRefType>(carried.getType()))
      continue;
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    Value next = yield.getOperand(i), init = loop.getInitArgs()[i];
    if (next != carried) {
      Value origin = next;
      while (auto view = origin.getDefiningOp<ViewLikeOpInterface>())
        origin = view.getViewSource();
      if (auto arg = dyn_cast<BlockArgument>(origin);
          arg && arg.getOwner() == loop.getBody())
        return loop.emitOpError("exchanges the buffers of two iteration "
                                "arguments, which a kernel cannot do");
      rewriter.setInsertionPoint(yield);
      memref::CopyOp::create(rewriter, loop.getLoc(), next, init);
      rewriter.modifyOpInPlace(yield, [&] { yield.setOperand(i, carried); });
    }
    rewriter.replaceAllUsesWith(carried, init);
    rewriter.replaceAllUsesWith(loop.getResult(i), init);
    yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    rewriter.modifyOpInPlace(yield, [&] { yield.setOperand(i, init); });
  }
  return success();
}

struct BufferizeHostKernel
    : act::impl::BufferizeHostKernelPassBase<BufferizeHostKernel> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      IRRewriter rewriter(&getContext());
      if (failed(act::checkTensorKernel(func)) ||
          failed(OutParameters(func).run()) ||
          failed(bufferization::eliminateEmptyTensors(rewriter, func)))
        return signalPassFailure();
      bufferization::OneShotBufferizationOptions options;
      options.bufferAlignment = 64;
      // Bufferization may return a new buffer from each iteration;
      // carryInOneBuffer removes that.
      options.allowReturnAllocsFromLoops = true;
      options.setFunctionBoundaryTypeConversion(
          bufferization::LayoutMapOption::IdentityLayoutMap);
      bufferization::BufferizationState state;
      if (failed(bufferization::runOneShotBufferize(func, options, state)))
        return signalPassFailure();
      SmallVector<scf::ForOp> carriers;
      func.walk([&](scf::ForOp op) { carriers.push_back(op); });
      for (scf::ForOp op : carriers)
        if (failed(carryInOneBuffer(op, rewriter)))
          return signalPassFailure();
      RewritePatternSet patterns(&getContext());
      scf::ForOp::getCanonicalizationPatterns(patterns, &getContext());
      for (Dialect *dialect : getContext().getLoadedDialects())
        dialect->getCanonicalizationPatterns(patterns);
      for (RegisteredOperationName op : getContext().getRegisteredOperations())
        if (op.getDialectNamespace() == "memref" ||
            op.getDialectNamespace() == "affine" ||
            op.getDialectNamespace() == "bufferization")
          op.getCanonicalizationPatterns(patterns, &getContext());
      (void)applyPatternsGreedily(func, std::move(patterns));
      // Equal views become one, so that copies onto themselves show.
      DominanceInfo dominance(func);
      eliminateCommonSubExpressions(rewriter, dominance, func);
      copiesToLinalg(func);
    }
  }
};

} // namespace
