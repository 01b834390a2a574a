// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_ACTTOTILE_PASSES_TD
#define ACT_PASSES_ACTTOTILE_PASSES_TD
include "mlir/Pass/PassBase.td"

def ConvertLinalgToTilePass : Pass<"convert-linalg-to-tile", "::mlir::ModuleOp"> {
  let summary = "makes kernels on blocks of the functions that groups lower to";
  let description = [{
    Every function on tensors becomes a kernel of the tile dialect: its arguments
    and results are pointers, its grid covers the largest result, and a program
    computes one block of it by asking for what the block needs. Whatever is
    asked for is computed in place, so that what was fused into a group stays in
    registers.

    Row sums and maxima are reductions of blocks; products of matrices are loops
    of `tile.dot` whose operands may be computed too. `f32-products` says how those
    of f32 are made: `ieee`, `bf16x3` or `tf32`.

    How much shared memory a kernel takes is known only when it is lowered.
    `tightness` is for those that took too much: 0 are the blocks that are
    fastest, and with each step up to 6 products (attention of wide heads, of
    f32) have smaller blocks or fewer stages.
  }];
  let options = [Option<"f32Products", "f32-products", "std::string", "\"ieee\"",
    "ieee, bf16x3 or tf32: how products of f32 are made">,
    Option<"tightness", "tightness", "int64_t", "0",
    "0 to 6: smaller blocks, for less shared memory">];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::gpu::GPUDialect",
    "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}
#endif
