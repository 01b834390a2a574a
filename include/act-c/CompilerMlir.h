/* SPDX-License-Identifier: Apache-2.0
 *
 * act for hosts that have MLIR themselves, in the manner of MLIR's own C
 * interface (mlir-c/). Link with act::CAPI, which brings the MLIR that act was
 * built with, and with the archives of MLIR's C interface that the host uses.
 * A host without MLIR takes Compiler.h.
 *
 *   MlirDialectRegistry registry = mlirDialectRegistryCreate();
 *   actRegisterAllDialects(registry);
 *   mlirContextAppendDialectRegistry(context, registry);
 *   actRegisterAllPasses();
 *   ... mlirParsePassPipeline(pm, "builtin.module(fuse-attention)", ...)
 */
#ifndef ACT_C_COMPILERMLIR_H
#define ACT_C_COMPILERMLIR_H
#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/* mlirGetDialectHandle__act__() and mlirGetDialectHandle__tile__(). A dialect
 * that is registered by its handle alone can be parsed and printed; passes need
 * all that actRegisterAllDialects adds. */
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Act, act);
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Tile, tile);

/* act's dialects, and interfaces of upstream's that its passes use. */
MLIR_CAPI_EXPORTED void actRegisterAllDialects(MlirDialectRegistry registry);

/* act's passes, under the names that act-opt's flags have. Once per process. */
MLIR_CAPI_EXPORTED void actRegisterAllPasses(void);

#ifdef __cplusplus
}
#endif
#endif
