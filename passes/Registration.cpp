// SPDX-License-Identifier: Apache-2.0
#include "passes/Registration.h"
#include "dialects/act/Dialect.h"
#include "dialects/act/LinalgModels.h"
#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/act-to-tile/Passes.h"
#include "passes/autodiff/Passes.h"
#include "passes/emit/Passes.h"
#include "passes/fuse/Passes.h"
#include "passes/groups-to-host/HostKernels.h"
#include "passes/groups-to-host/Passes.h"
#include "passes/kernels/Passes.h"
#include "passes/lower-groups/Passes.h"
#include "passes/memory/Passes.h"
#include "passes/module/Passes.h"
#include "passes/raise/Passes.h"
#include "passes/remat/Passes.h"
#include "passes/report/Passes.h"
#include "passes/step/Passes.h"
#include "passes/tile-to-host/Passes.h"
#include "passes/tile-to-nvvm/EmitPtx.h"
#include "passes/tile-to-nvvm/Passes.h"
#include "passes/tile/Passes.h"
#include "passes/torch/AtenDialect.h"
#include "passes/torch/Passes.h"

void act::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<ActDialect, AtenDialect, tile::TileDialect,
                  mlir::func::FuncDialect>();
  registerLinalgModels(registry);
  registerHostKernelDialects(registry);
  tile::registerPtxDialects(registry);
}

void act::registerPasses() {
  registerActModulePasses();
  registerActRaisePasses();
  registerActFusePasses();
  registerActAutodiffPasses();
  registerActRematPasses();
  registerActStepPasses();
  registerActKernelsPasses();
  registerActMemoryPasses();
  registerActTorchPasses();
  registerLowerGroupsPasses();
  registerActEmitPasses();
  registerActReportPasses();
  registerGroupsToHostPasses();
  tile::registerActToTilePasses();
  tile::registerActTilePasses();
  tile::registerTileToNvvmPasses();
  tile::registerTileToHostPasses();
  tile::registerPtxPipeline();
}
