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

using namespace mlir;
using namespace act;

namespace {

/// `op` on `operands`, with plain result types.
LogicalResult cloneOn(Operation *op, OpBuilder &b, ValueRange operands,
                      SmallVectorImpl<Value> &results) {
  IRMapping map;
  for (auto [from, to] : llvm::zip_equal(op->getOperands(), operands))
    map.map(from, to);
  // Constants that a region uses.
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) {
      for (Value v : inner->getOperands()) {
        Operation *def = v.getDefiningOp();
        if (def && def->hasTrait<OpTrait::ConstantLike>() &&
            def->getBlock() == op->getBlock() && !map.contains(v))
          map.map(v, b.clone(*def)->getResult(0));
      }
    });
  Operation *made = b.clone(*op, map);
  for (Value result : made->getResults())
    if (isa<RankedTensorType>(result.getType()))
      result.setType(plainTensor(result.getType()));
  llvm::append_range(results, made->getResults());
  return success();
}

template <typename Op>
struct OwnForm : LinalgOpInterface::ExternalModel<OwnForm<Op>, Op> {
  LogicalResult lowerToLinalg(Operation *op, OpBuilder &b, ValueRange operands,
                              SmallVectorImpl<Value> &results) const {
    return cloneOn(op, b, operands, results);
  }
  LogicalResult lowerToSums(Operation *op, OpBuilder &b, ValueRange operands,
                            SmallVectorImpl<Value> &results) const {
    return cloneOn(op, b, operands, results);
  }
};

template <typename Op>
struct Free : KernelOpInterface::ExternalModel<Free<Op>, Op> {
  bool isFree(Operation *) const { return true; }
  bool readsElementwise(Operation *) const { return false; }
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
    return cast<linalg::LinalgOp>(op).getNumReductionLoops() ? CostClass::Gemm
                                                             : CostClass::Cheap;
  }
};

template <typename... Ops> void attachFree(MLIRContext *context) {
  (Ops::template attachInterface<OwnForm<Ops>, Free<Ops>, FreeCost<Ops>>(
       *context),
   ...);
}

template <typename... Ops> void attachLoops(MLIRContext *context) {
  (Ops::template attachInterface<OwnForm<Ops>, LoopCost<Ops>>(*context), ...);
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
