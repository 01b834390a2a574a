// SPDX-License-Identifier: Apache-2.0
//
// A kernel written with the installed builder of the tile dialect: twice a
// vector, printed as act-opt and act-run read it.
#include "dialects/tile/KernelBuilder.h"
#include "mlir/IR/MLIRContext.h"

int main() {
  mlir::MLIRContext context;
  context.loadDialect<act::tile::TileDialect, mlir::gpu::GPUDialect>();
  auto loc = mlir::UnknownLoc::get(&context);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
  mlir::OpBuilder b(module->getBodyRegion());
  auto gpu = mlir::gpu::GPUModuleOp::create(b, loc, "kernels");

  act::tile::KernelBuilder k(gpu, "twice", loc);
  mlir::Value x = k.view({1000}, k.f32()), y = k.view({1000}, k.f32());
  k.setGrid(4);
  mlir::Value at = k.mul(k.programId(), 256);
  k.store(k.mul(k.load(x, {{at, 256}}), 2), y, {{at, 256}});
  if (!k.finish())
    return 1;
  module->print(llvm::outs());
  return 0;
}
