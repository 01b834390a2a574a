// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_ACTTOTILE_PASSES_TD
#define ACT_PASSES_ACTTOTILE_PASSES_TD
include "mlir/Pass/PassBase.td"

def ConvertLinalgToTilePass : Pass<"convert-linalg-to-tile", "::mlir::ModuleOp"> {
  let summary = "turns the functions that groups lower to into kernels on blocks";
  let description = [{
    Every function on tensors becomes a kernel of the tile dialect. Its arguments
    and results are pointers. `act.role` on an argument says that a result goes
    there (`#act.role`: in place, a sum in turns, or partial sums). Its grid covers the largest result. A program
    computes one block of that result, and requests the blocks that it needs. These
    are computed in place, so a fused group stays in registers.

    Row sums and maxima are reductions of blocks. Matrix products are loops of
    `tile.dot`, whose operands may be computed too. `f32-products` selects how f32
    is multiplied: `ieee`, `bf16x3` or `tf32`.

    A kernel's shared memory is known only when it is lowered. `tightness` is for
    kernels that took too much: 0 gives the fastest blocks. Each step up to 6 gives
    products (such as attention with wide heads or in f32) smaller blocks or fewer
    stages.
  }];
  let options = [Option<"f32Products", "f32-products", "std::string", "\"ieee\"",
    "ieee, bf16x3 or tf32: how f32 is multiplied">,
    Option<"tightness", "tightness", "int64_t", "0",
    "0 to 6: higher uses smaller blocks and less shared memory">];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::gpu::GPUDialect",
    "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}
#endif
