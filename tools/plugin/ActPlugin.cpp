// SPDX-License-Identifier: Apache-2.0
//
// act as a plugin of a stock mlir-opt:
//
//   mlir-opt --load-dialect-plugin=libActPlugin.so
//     --load-pass-plugin=libActPlugin.so
//     --pass-pipeline='builtin.module(fuse-attention,remat{policy=selective},memory-report)'
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "passes/Registration.h"
#include "llvm/Config/llvm-config.h"

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Act", LLVM_VERSION_STRING,
          [](mlir::DialectRegistry *registry) {
            act::registerDialects(*registry);
          }};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "ActPasses", LLVM_VERSION_STRING,
          [] { act::registerPasses(); }};
}
