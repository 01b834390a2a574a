// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/Pipeline.h"

using namespace act;

void tile::buildTilePipeline(mlir::OpPassManager &, const TileOptions &) {}
