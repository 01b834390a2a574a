// SPDX-License-Identifier: Apache-2.0
//
// Lowers each linalg op on memory: a matrix product by LowerContraction.cpp,
// where its memory suits that, everything else by VectorizeGeneric.cpp.
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "passes/groups-to-host/HostVectorizer.h"
#include "passes/groups-to-host/Passes.h"

namespace act {
#define GEN_PASS_DEF_VECTORIZEHOSTKERNELPASS
#include "passes/groups-to-host/Passes.h.inc"
} // namespace act

using namespace mlir;

namespace {

struct VectorizeHostKernel
    : act::impl::VectorizeHostKernelPassBase<VectorizeHostKernel> {
  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp op : ops) {
      rewriter.setInsertionPoint(op);
      auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
      if (!generic) {
        auto general = linalg::generalizeNamedOp(rewriter, op);
        if (failed(general)) {
          op->emitOpError("has no generic form");
          return signalPassFailure();
        }
        generic = *general;
      }
      if (!generic.hasPureBufferSemantics()) {
        generic.emitOpError("still works on tensors");
        return signalPassFailure();
      }
      if (succeeded(act::lowerContraction(generic, rewriter)))
        continue;
      if (failed(act::vectorizeGeneric(generic, rewriter)))
        return signalPassFailure();
    }
  }
};

} // namespace
