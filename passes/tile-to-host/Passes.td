// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_TILETOHOST_PASSES_TD
#define ACT_PASSES_TILETOHOST_PASSES_TD
include "mlir/Pass/PassBase.td"

def ConvertTileToHostPass : Pass<"convert-tile-to-host", "::mlir::ModuleOp"> {
  let summary = "lowers kernels on blocks to functions that the CPU calls per program";
  let description = [{
    Every kernel of a `gpu.module` becomes a `func.func` of the same name, and the
    modules are removed. A block becomes a buffer (`memref.alloc`, which
    `host-place-buffers` removes). An op on blocks becomes a loop over its elements.
    Sums add one number after the other in the order of their axis. The function
    takes:

    - the kernel's parameters, with views and pointers as `!llvm.ptr`;
    - the context (HostContext.h), which gives it the grid and receives failures;
    - the number of the program, x fastest.

    `tile.checks` lists the checks that may fail. The kernels must have passed
    `tile-simplify-control`, `tile-set-block-sizes` and `tile-check-kernels`, and
    have no layouts yet. Existing functions stay as they are.

    Elements outside a view read as padding and are not written. Every access
    through a pointer is checked against the size of its array. Dividing by 0 gives
    all ones, and the remainder is the dividend, as in PTX. The smallest number
    divided by -1 is itself.

    Before:
    ```mlir
    gpu.func @double(%arg0: !tile.view<8xf32>) kernel {
      ...
      %1 = arith.addf %0, %0 : tensor<8xf32>
    ```
    After `--convert-tile-to-host`:
    ```mlir
    func.func @double(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i64) attributes ...
        ...
        scf.for %arg3 = %c0_6 to %c8_8 step %c1_7 {
          %11 = memref.load %alloc[%arg3] : memref<8xf32>
          %12 = memref.load %alloc[%arg3] : memref<8xf32>
          %13 = arith.addf %11, %12 : f32
          memref.store %13, %alloc_5[%arg3] : memref<8xf32>
        }
    ```
  }];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}
#endif
