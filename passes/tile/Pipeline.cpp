// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/Pipeline.h"
#include "mlir/Transforms/Passes.h"
#include "passes/tile/Passes.h"

using namespace mlir;
using namespace act;

void tile::buildCheckedKernelPipeline(OpPassManager &pm) {
  pm.addPass(createSimplifyControlPass());
  pm.addPass(createSetBlockSizesPass());
  // Before anything asks for the width of an element.
  pm.addPass(createCheckKernelsPass());
}

void tile::buildTilePipeline(OpPassManager &pm, const TileOptions &options) {
  buildCheckedKernelPipeline(pm);
  // Folded first: an index that is a constant is proven to be inside.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Loops over the same blocks first: the others are about what one loop does.
  // What was computed in each is equal then, and factors 1 are folded.
  pm.addPass(createFuseLoopsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // What a mask is for whole blocks is seen in what it compares; the constants
  // that it becomes are folded, and loops without an iteration go.
  pm.addPass(createSplitMaskedLoopsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Each loop's own masks are known now, and one fewer select is in the way.
  pm.addPass(createSimplifyMathPass());
  pm.addPass(createCSEPass());
  // Counted with what memory may decide to leave out.
  pm.addPass(createCountBlockBytesPass());
  pm.addPass(createSkipEmptyDotsPass());
  pm.addPass(createWidenFloat8DotsPass({options.chip}));
  pm.addPass(createAssignLayoutsPass());
  // Conversions of equal values are one, and only then are they recognised as
  // the one use of a load.
  pm.addPass(createCSEPass());
  // Loops that have warps to copy for them; the rest is staged by who computes.
  pm.addPass(createAssignRolesPass());
  pm.addPass(createStageLoadsPass());
  pm.addPass(createShareConversionsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createLowerToThreadsPass({options.chip}));
  pm.addPass(createCSEPass());
  // Lanes and registers are known now: what of a row needs no exchange in a
  // loop, and that a warp can ask whether its own scaling is by 1.
  pm.addPass(createSumLanesLastPass());
  pm.addPass(createSkipUnitScalingPass());
}
