// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/Pipeline.h"
#include "mlir/Transforms/Passes.h"
#include "passes/tile/Passes.h"

using namespace mlir;
using namespace act;

void tile::buildCheckedKernelPipeline(OpPassManager &pm) {
  pm.addPass(createSimplifyControlPass());
  pm.addPass(createSetBlockSizesPass());
  // Before any pass asks for the width of an element.
  pm.addPass(createCheckKernelsPass());
}

void tile::buildTilePipeline(OpPassManager &pm, const TileOptions &options) {
  buildCheckedKernelPipeline(pm);
  // Fold first: a constant index is proven to be inside its view.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Fuse loops over the same blocks first; later passes treat single loops.
  // Then merge equal computations and fold factors of 1.
  pm.addPass(createFuseLoopsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createChooseRoundingPass());
  // Masks of whole blocks follow from the comparisons' operands. Fold the
  // constants that they become, and drop empty loops.
  pm.addPass(createSplitMaskedLoopsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Each loop's masks are known at this point, with one select fewer in the
  // way.
  pm.addPass(createSimplifyMathPass());
  pm.addPass(createCSEPass());
  pm.addPass(createTransposeDotsPass());
  // Count before dots are skipped at run time, depending on memory.
  pm.addPass(createCountBlockBytesPass());
  pm.addPass(createLongestFirstPass());
  pm.addPass(createShiftTurnsPass());
  pm.addPass(createSkipEmptyDotsPass());
  pm.addPass(createSelectInstructionsPass({options.chip}));
  pm.addPass(createAssignLayoutsPass());
  // Merge equal conversions: only then does a load have a single use.
  pm.addPass(createCSEPass());
  pm.addPass(createAsyncDotsPass());
  pm.addPass(createDeferTurnsPass());
  pm.addPass(createStageStoresPass({options.chip}));
  pm.addPass(createMakePersistentPass());
  // Roles take the loops that copying warps can serve; StageLoads stages the
  // rest in the computing warps.
  pm.addPass(createAssignRolesPass({options.chip}));
  pm.addPass(createRotateLoopsPass());
  pm.addPass(createAssignStoresPass());
  pm.addPass(createTakeTurnsPass());
  pm.addPass(createStageLoadsPass());
  pm.addPass(createShareConversionsPass());
  pm.addPass(createTurnsAtBarriersPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createLowerToThreadsPass({options.chip}));
  pm.addPass(createCSEPass());
  // These need lanes and registers: they see which row values need no exchange
  // in a loop, let a warp test whether its own scaling is by 1, and keep work
  // before the waits of products that it runs beside.
  pm.addPass(createFetchAheadPass());
  pm.addPass(createSumLanesLastPass());
  pm.addPass(createSkipUnitScalingPass());
  pm.addPass(createHoldWaitsPass());
  pm.addPass(createSinkArithmeticPass());
}
