// SPDX-License-Identifier: Apache-2.0
#include "act-c/CompilerMlir.h"
#include "dialects/act/Dialect.h"
#include "dialects/tile/Dialect.h"
#include "mlir/CAPI/Registration.h"
#include "passes/Registration.h"

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Act, act, act::ActDialect)
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Tile, tile, act::tile::TileDialect)

void actRegisterAllDialects(MlirDialectRegistry registry) {
  act::registerDialects(*unwrap(registry));
}

void actRegisterAllPasses(void) { act::registerPasses(); }
