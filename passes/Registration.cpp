// SPDX-License-Identifier: Apache-2.0
#include "passes/Registration.h"
#include "dialects/act/Dialect.h"
#include "dialects/act/LinalgModels.h"
#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/act-to-tile/Passes.h"
#include "passes/act/AtenDialect.h"
#include "passes/act/Passes.h"
#include "passes/emit/Passes.h"
#include "passes/groups-to-host/HostKernels.h"
#include "passes/groups-to-host/Passes.h"
#include "passes/lower-groups/Passes.h"
#include "passes/report/Passes.h"
#include "passes/tile-to-host/Passes.h"
#include "passes/tile-to-nvvm/EmitPtx.h"
#include "passes/tile-to-nvvm/Passes.h"
#include "passes/tile/Passes.h"

void act::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<ActDialect, AtenDialect, tile::TileDialect,
                  mlir::func::FuncDialect>();
  registerLinalgModels(registry);
  registerHostKernelDialects(registry);
  tile::registerPtxDialects(registry);
}

void act::registerPasses() {
  registerActPasses();
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
