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

    The functions are those that `emit` writes with `kernels=`: linalg ops on
    tensors of static shape. An op that has no form on blocks is an error.

    Row sums and maxima are reductions of blocks. Matrix products are loops of
    `tile.dot`, whose operands may be computed too. `f32-products` selects how f32
    is multiplied: `ieee`, `bf16x3` or `tf32`.

    Blocks, warps and stages are the largest for which the target's registers and
    shared memory are estimated to suffice ([PlanGrid.h](PlanGrid.h)). What changes
    the order of a sum is chosen from the products alone, the rest from the whole
    function.

    Before:
    ```mlir
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : tensor<1000xf32>) outs(%0 : tensor<1000xf32>) {
    ^bb0(%in: f32, %out: f32):
      %2 = arith.addf %in, %in : f32
      linalg.yield %2 : f32
    ```
    After `--convert-linalg-to-tile`:
    ```mlir
    gpu.func @double(%arg0: !tile.ptr<f32>, %arg1: !tile.ptr<f32>) kernel attributes ...
      %0 = tile.view %arg1 sizes [1000] : !tile.ptr<f32> -> !tile.view<1000xf32>
      %1 = tile.view %arg0 sizes [1000] : !tile.ptr<f32> -> !tile.view<1000xf32>
      %c0 = arith.constant 0 : index
      %pid_x = tile.program_id x
      %2 = tile.load %1[%c0 : 1024] : !tile.view<1000xf32>
      %3 = arith.addf %2, %2 : tensor<1024xf32>
      tile.store %3, %0[%c0 : 1024] : !tile.view<1000xf32>
      gpu.return
    ```
  }];
  let options = [Option<"f32Products", "f32-products", "std::string", "\"ieee\"",
    "ieee, bf16x3 or tf32: how f32 is multiplied">,
    Option<"target", "target", "std::string", "\"sm_80\"",
    "the GPU that blocks are chosen for: sm_80, sm_86, sm_89 or sm_90a">,
    Option<"sharedBytes", "shared-bytes", "int64_t", "0",
    "the shared memory that a program may take by the estimate; 0: what the target has">,
    Option<"schedules", "schedules", "std::string", "\"\"",
           "a table of schedules in place of the target's own (ScheduleTable.h)">,
    Option<"seed", "draw-schedules", "uint64_t", "0",
    "for tests: a number other than 0 draws what leaves the bits as they are (rows, "
    "warps, stages, the order of programs)">];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::gpu::GPUDialect",
    "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}
#endif
