// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_TILETOHOST_PASSES_TD
#define ACT_PASSES_TILETOHOST_PASSES_TD
include "mlir/Pass/PassBase.td"

def ConvertTileToHostPass : Pass<"convert-tile-to-host", "::mlir::ModuleOp"> {
  let summary = "writes kernels on blocks as functions that the CPU calls for each program";
  let description = [{
    Every kernel of a `gpu.module` becomes a `func.func` of its name, and the
    modules go. A block is a buffer (`memref.alloc`, which `host-place-buffers`
    takes away), an op on blocks a loop over its elements, a sum one number after
    the other in the order of its axis. The function takes the kernel's
    parameters, views and pointers as `!llvm.ptr`; the context (HostContext.h),
    from which it knows the grid and to which it says what failed; and the number
    of the program, x fastest. `tile.checks` lists what may fail.

    What lies outside of a view is padding and is not written. Memory behind a
    pointer is checked against the size of its array at every access. Quotients
    by 0 are all ones and remainders the dividend, as in PTX; the smallest number
    by -1 is itself.
  }];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}
#endif
