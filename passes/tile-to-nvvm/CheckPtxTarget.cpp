// SPDX-License-Identifier: Apache-2.0
//
// Reports the first operation that TargetTable.cpp rejects. It runs last, since
// conversions before it make and remove operations.
#include "passes/tile-to-nvvm/EmitPtx.h"
#include "passes/tile-to-nvvm/Passes.h"
#include "passes/tile-to-nvvm/TargetTable.h"
#include "passes/tile/KnownTarget.h"
#include "passes/tile/PlaceOf.h"

namespace act::tile {
#define GEN_PASS_DEF_CHECKPTXTARGETPASS
#include "passes/tile-to-nvvm/Passes.h.inc"
} // namespace act::tile

using namespace mlir;
using namespace act;

namespace {

struct CheckPtxTarget
    : act::tile::impl::CheckPtxTargetPassBase<CheckPtxTarget> {
  using CheckPtxTargetPassBase::CheckPtxTargetPassBase;

  void runOnOperation() override {
    if (failed(tile::knownTarget(target, getOperation().getContext())))
      return signalPassFailure();
    bool wrong = false;
    getOperation().walk([&](Operation *op) {
      if (op == getOperation() || wrong)
        return;
      if (std::string reason = tile::whyNotOn(target, op); !reason.empty()) {
        emitError(tile::placeOf(op))
            << "'" << op->getName() << "' op " << reason;
        wrong = true;
      }
    });
    if (wrong)
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
