// SPDX-License-Identifier: Apache-2.0
//
// linalg operations in act's place: they are grouped, counted and lowered as
// ops of the dialect are. They are their own linalg form, on plain tensors.
// `tensor.empty`, `linalg.fill` and constants are free: each kernel makes its
// own.
#include "dialects/act/LinalgModels.h"
#include "dialects/act/Dialect.h"
#include "dialects/act/Flops.h"
#include "dialects/act/LinalgBuilder.h"
#include "dialects/act/LinalgGradient.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace act;

namespace {

/// `op` on `operands`, with plain result types.
FailureOr<Operation *> cloneOn(Operation *op, OpBuilder &b,
                               ValueRange operands) {
  IRMapping map;
  for (auto [from, to] : llvm::zip_equal(op->getOperands(), operands))
    map.map(from, to);
  // Of the values around it, a region may use constants.
  for (Region &region : op->getRegions()) {
    WalkResult walked = region.walk([&](Operation *inner) {
      for (Value v : inner->getOperands()) {
        Operation *def = v.getDefiningOp();
        if (region.isAncestor(v.getParentRegion()) || map.contains(v))
          continue;
        if (!def || !def->hasTrait<OpTrait::ConstantLike>()) {
          op->emitOpError("uses a value from outside in its region, expected a "
                          "constant; make it an operand");
          return WalkResult::interrupt();
        }
        map.map(v, b.clone(*def)->getResult(0));
      }
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return failure();
  }
  Operation *made = b.clone(*op, map);
  for (Value result : made->getResults())
    if (isa<RankedTensorType>(result.getType()))
      result.setType(plainTensor(result.getType()));
  if (auto constant = dyn_cast<arith::ConstantOp>(made))
    if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()))
      constant.setValueAttr(
          dense.reshape(cast<RankedTensorType>(constant.getType())));
  return made;
}

template <typename Op>
struct OwnForm : LinalgOpInterface::ExternalModel<OwnForm<Op>, Op> {
  LogicalResult lowerToLinalg(Operation *op, OpBuilder &b, ValueRange operands,
                              SmallVectorImpl<Value> &results) const {
    auto made = cloneOn(op, b, operands);
    if (failed(made))
      return failure();
    llvm::append_range(results, (*made)->getResults());
    return success();
  }
  /// Kernels on blocks are made of generics.
  LogicalResult lowerToSums(Operation *op, OpBuilder &b, ValueRange operands,
                            SmallVectorImpl<Value> &results) const {
    auto made = cloneOn(op, b, operands);
    if (failed(made))
      return failure();
    auto named = dyn_cast<linalg::LinalgOp>(*made);
    if (!named || isa<linalg::GenericOp, linalg::FillOp>(*made)) {
      llvm::append_range(results, (*made)->getResults());
      return success();
    }
    IRRewriter rewriter(b);
    auto generic = linalg::generalizeNamedOp(rewriter, named);
    if (failed(generic))
      return op->emitOpError("has no generic form");
    llvm::append_range(results, generic->getResults());
    b.setInsertionPointAfter(*generic);
    return success();
  }
};

template <typename Op>
struct Free : KernelOpInterface::ExternalModel<Free<Op>, Op> {
  // What writes to memory is not a value.
  bool isFree(Operation *op) const { return op->getNumResults() > 0; }
};

template <typename Op>
struct FreeCost : CostOpInterface::ExternalModel<FreeCost<Op>, Op> {
  int64_t getFlops(Operation *) const { return 0; }
  CostClass getCostClass(Operation *) const { return CostClass::Reference; }
};

/// The iterations times the floating-point operations of the body.
template <typename Op>
struct LoopCost : CostOpInterface::ExternalModel<LoopCost<Op>, Op> {
  int64_t getFlops(Operation *op) const {
    auto loops = cast<linalg::LinalgOp>(op);
    int64_t each = 0;
    for (Operation &inner : *loops.getBlock())
      each += llvm::any_of(inner.getResultTypes(),
                           [](Type t) { return isa<FloatType>(t); }) &&
              !isa<arith::ConstantOp, CastOpInterface>(inner);
    int64_t flops = each;
    for (int64_t range : loops.getStaticLoopRanges())
      flops = ShapedType::isDynamic(range) ? 0 : flopsProduct({flops, range});
    return flops;
  }
  CostClass getCostClass(Operation *op) const {
    auto loops = cast<linalg::LinalgOp>(op);
    return loops.getNumReductionLoops() && loops.getNumDpsInputs() > 1
               ? CostClass::Gemm
               : CostClass::Cheap;
  }
};

template <typename Op>
struct LoopGradient
    : DifferentiableOpInterface::ExternalModel<LoopGradient<Op>, Op> {
  LogicalResult buildGradient(Operation *op, OpBuilder &b,
                              ValueRange resultGrads, ArrayRef<bool> needed,
                              SmallVectorImpl<Value> &operandGrads) const {
    return buildLinalgGradient(cast<linalg::LinalgOp>(op), b, resultGrads[0],
                               needed, operandGrads);
  }
  Operation *withStatistics(Operation *op, OpBuilder &) const { return op; }
};

template <typename... Ops> void attachFree(MLIRContext *context) {
  (Ops::template attachInterface<OwnForm<Ops>, Free<Ops>, FreeCost<Ops>>(
       *context),
   ...);
}

template <typename... Ops> void attachLoops(MLIRContext *context) {
  (Ops::template attachInterface<OwnForm<Ops>, LoopCost<Ops>,
                                 LoopGradient<Ops>>(*context),
   ...);
}

} // namespace

void act::registerLinalgModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attachFree<arith::ConstantOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    attachFree<tensor::EmptyOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    attachFree<linalg::FillOp>(context);
    attachLoops<linalg::GenericOp, linalg::MatmulOp, linalg::BatchMatmulOp,
                linalg::MatvecOp, linalg::MapOp, linalg::ReduceOp,
                linalg::TransposeOp, linalg::BroadcastOp, linalg::AddOp,
                linalg::SubOp, linalg::MulOp, linalg::DivOp>(context);
  });
}
