// SPDX-License-Identifier: Apache-2.0
//
// Passes from blocks to threads, and on what one thread does.
#ifndef ACT_PASSES_TILE_THREADPASSES_TD
#define ACT_PASSES_TILE_THREADPASSES_TD
include "mlir/Pass/PassBase.td"

def LowerToThreadsPass : Pass<"tile-lower-to-threads", "::mlir::gpu::GPUModuleOp"> {
  let summary = "lowers blocks to the code of one thread";
  let description = [{
    - Blocks become one scalar per register, and ops on blocks become upstream's
      ops on scalars.
    - Memory accesses use the widest size whose alignment is certain. They are
      masked unless proven to be inside the view.
    - Masks compare the difference of a thread's first two positions with
      per-register constants (AffineBlocks.h).
    - Random numbers are computed one after the other, at their first use.
    - Loads from shared memory (other than by ldmatrix) move down as far as possible.

    Every block must have a layout (`tile-assign-layouts`). Afterwards no tensor and
    no op of the tile dialect is left. `tile.shared_bytes` holds the kernel's shared
    memory.

    Before:
    ```mlir
    gpu.func @double(%arg0: !tile.view<128xf32>) kernel {
      ...
      %0 = tile.load %arg0[%c0 : 128] : !tile.view<128xf32> -> tensor<128xf32, #layout>
      %1 = arith.addf %0, %0 : tensor<128xf32, #layout>
      tile.store %1, %arg0[%c0 : 128] : tensor<128xf32, #layout>, !tile.view<128xf32>
    ```
    After `--tile-lower-to-threads`:
    ```mlir
    gpu.func @double(%arg0: !llvm.ptr<1> {llvm.align = 16 : i64}) kernel attributes {tile.shared_bytes = 0 : i64} {
      %0 = nvvm.read.ptx.sreg.tid.x : i32
      ...
      %9 = llvm.load %8 {alignment = 4 : i64} : !llvm.ptr<1> -> i32
      %10 = llvm.bitcast %9 : i32 to f32
      %11 = arith.addf %10, %10 : f32
      ...
      llvm.store %16, %15 {alignment = 4 : i64} : i32, !llvm.ptr<1>
    ```
  }];
  let options = [Option<"target", "target", "std::string", "\"sm_80\"",
                        "sm_80, sm_86, sm_89 or sm_90a">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::gpu::GPUDialect"];
}

def FetchAheadPass : Pass<"tile-fetch-ahead", "::mlir::gpu::GPUModuleOp"> {
  let summary = "fetches the next iteration's first fragments under this one's last products";
  let description = [{
    For kernels whose schedule has `ahead`, after `tile-lower-to-threads`. An iteration
    begins with a wait for copies and a barrier, and then warps wait for the first
    fragments of their operands before they multiply. The head, up to these fragments,
    moves in front of the last products of the iteration before, which have all they
    need in registers; the first one stands before the loop. What has effects stays in
    its order, so every sum has the same bits. The last iteration's head is one too
    many: it reads what later copies have filled with zeros, or copies nothing.

    The head must not change memory besides copying, and what stands behind the next
    barrier is not fetched.

    Before:
    ```mlir
    %0:4 = scf.for %arg3 = %c0 to %c8 step %c1 iter_args(%arg4 = %cst, %arg5 = %cst, %arg6 = %cst, %arg7 = %cst) -> (f32, f32, f32, f32) {
      nvvm.cp.async.wait.group 0
      gpu.barrier
      %1 = arith.index_cast %arg3 : index to i32
      %2 = llvm.getelementptr %arg1[%1] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
      nvvm.cp.async.shared.global %arg0, %2, 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
      nvvm.cp.async.commit.group
      %3 = nvvm.ldmatrix %arg0 {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
      %4 = llvm.extractvalue %3[0] : !llvm.struct<(i32, i32, i32, i32)>
      %5 = llvm.getelementptr %arg0[512] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      %6 = nvvm.ldmatrix %5 {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
      %7 = llvm.extractvalue %6[0] : !llvm.struct<(i32, i32, i32, i32)>
      %8 = nvvm.mma.sync A[%4, %4, %4, %4]  B[%arg2, %arg2]  C[%arg4, %arg5, %arg6, %arg7]  {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
      %9 = llvm.extractvalue %8[0] : !llvm.struct<(f32, f32, f32, f32)>
      %10 = nvvm.mma.sync A[%7, %7, %7, %7]  B[%arg2, %arg2]  C[%9, %9, %9, %9]  {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
      %11 = llvm.extractvalue %10[0] : !llvm.struct<(f32, f32, f32, f32)>
      scf.yield %11, %11, %11, %11 : f32, f32, f32, f32
    }
    ```
    After `--tile-fetch-ahead`:
    ```mlir
    nvvm.cp.async.wait.group 0
    gpu.barrier
    %0 = arith.index_cast %c0 : index to i32
    %1 = llvm.getelementptr %arg1[%0] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
    nvvm.cp.async.shared.global %arg0, %1, 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    %2 = nvvm.ldmatrix %arg0 ...
    %3:5 = scf.for %arg3 = %c0 to %c8 step %c1 iter_args(%arg4 = %cst, %arg5 = %cst, %arg6 = %cst, %arg7 = %cst, %arg8 = %2) -> (f32, f32, f32, f32, !llvm.struct<(i32, i32, i32, i32)>) {
      %4 = llvm.extractvalue %arg8[0] : !llvm.struct<(i32, i32, i32, i32)>
      %5 = llvm.getelementptr %arg0[512] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      %6 = nvvm.ldmatrix %5 ...
      %7 = llvm.extractvalue %6[0] : !llvm.struct<(i32, i32, i32, i32)>
      %8 = nvvm.mma.sync A[%4, %4, %4, %4]  B[%arg2, %arg2]  C[%arg4, %arg5, %arg6, %arg7]  ...
      %9 = llvm.extractvalue %8[0] : !llvm.struct<(f32, f32, f32, f32)>
      %10 = arith.addi %arg3, %c1 : index
      nvvm.cp.async.wait.group 0
      gpu.barrier
      %11 = arith.index_cast %10 : index to i32
      %12 = llvm.getelementptr %arg1[%11] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
      nvvm.cp.async.shared.global %arg0, %12, 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
      nvvm.cp.async.commit.group
      %13 = nvvm.ldmatrix %arg0 ...
      %14 = nvvm.mma.sync A[%7, %7, %7, %7]  B[%arg2, %arg2]  C[%9, %9, %9, %9]  ...
      %15 = llvm.extractvalue %14[0] : !llvm.struct<(f32, f32, f32, f32)>
      scf.yield %15, %15, %15, %15, %13 : f32, f32, f32, f32, !llvm.struct<(i32, i32, i32, i32)>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::mlir::NVVM::NVVMDialect"];
}

def SumLanesLastPass : Pass<"tile-sum-lanes-last", "::mlir::gpu::GPUModuleOp"> {
  let summary = "sums a row across lanes after the loop, not in it";
  let description = [{
    Runs after `tile-lower-to-threads`. If each iteration adds a sum over lanes to
    a sum that the loop carries, every lane keeps its own part instead. The lanes
    exchange parts once, after the loop. An iteration may also multiply the carried
    sum, as in an online softmax, by a value that is the same in these lanes. The
    pass proves this from the exchanges that produced the value.

    The lanes go on with their parts in a loop that begins with such a sum, and in a
    block of exponentials outside of loops, which is the only iteration of one. So
    the order of a softmax's sums does not depend on the loops into which
    `tile-split-masked-loops` has divided a row.

    The order of the sum changes, but is as fixed as before.

    Before:
    ```mlir
    %0 = scf.for %arg2 = %c0 to %c4 step %c1 iter_args(%arg3 = %cst) -> (f32) {
      %1 = nvvm.shfl.sync  bfly %c-1_i32, %arg1, %c1_i32, %c31_i32 : f32 -> f32
      %2 = arith.addf %arg1, %1 : f32
      %3 = arith.addf %arg3, %2 : f32
      scf.yield %3 : f32
    }
    ```
    After `--tile-sum-lanes-last`:
    ```mlir
    %0 = scf.for %arg2 = %c0 to %c4 step %c1 iter_args(%arg3 = %cst) -> (f32) {
      %3 = arith.addf %arg3, %arg1 : f32
      scf.yield %3 : f32
    }
    ...
    %1 = nvvm.shfl.sync  bfly %c-1_i32_0, %0, %c1_i32_1, %c31_i32_2 : f32 -> f32
    %2 = arith.addf %0, %1 : f32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::NVVM::NVVMDialect"];
}

def SkipUnitScalingPass : Pass<"tile-skip-unit-scaling", "::mlir::gpu::GPUModuleOp"> {
  let summary = "skips multiplications by 1 in a whole warp";
  let description = [{
    Runs after `tile-lower-to-threads`. If a loop carries 16 registers or more that
    it multiplies by a power, it multiplies only if that power is not 1 in some
    lane of the warp. So a running maximum that does not grow costs nothing. The
    results are the same, bit for bit.

    Before:
    ```mlir
    %22 = math.exp2 %21 : f32
    %23 = arith.mulf %arg2, %22 : f32
    %24 = arith.mulf %arg3, %22 : f32
    ...
    ```
    After `--tile-skip-unit-scaling`:
    ```mlir
    %23 = arith.cmpf une, %22, %cst_1 : f32
    ...
    %24 = nvvm.vote.sync  any %c-1_i32, %23 -> i1
    %25:16 = scf.if %24 -> ...
      %27 = arith.mulf %arg2, %22 : f32
    ...
    } else {
    ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect"];
}

def HoldWaitsPass : Pass<"tile-hold-waits", "::mlir::gpu::GPUModuleOp"> {
  let summary = "keeps work that runs beside products before the wait for them";
  let description = [{
    Runs after `tile-lower-to-threads`, on loops with two waits for products of warp
    groups or more. ptxas would move the last one up, over work that was put before
    it so that it runs meanwhile. An event that never happens keeps it in its place:
    it depends on what the loop carries of that work, and ptxas does not exchange it
    with the wait.

    Before:
    ```mlir
    %1 = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 1;", "=f,0,~{memory}" %arg3 : (f32) -> f32
    %2 = arith.addf %arg4, %1 : f32
    %3 = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;", "=f,0,~{memory}" %arg5 : (f32) -> f32
    ```
    After `--tile-hold-waits`:
    ```mlir
    %2 = arith.addf %arg4, %1 : f32
    %3 = arith.bitcast %2 : f32 to i32
    llvm.inline_asm has_side_effects "{ .reg .pred %never; setp.eq.u32 %never, $0, 0x7fdeadbe; @%never pmevent 1; }", "r,~{memory}" %3 : (i32) -> ()
    %4 = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;", "=f,0,~{memory}" %arg5 : (f32) -> f32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
}

def SinkArithmeticPass : Pass<"tile-sink-arithmetic", "::mlir::gpu::GPUModuleOp"> {
  let summary = "computes what follows a product register by register";
  let description = [{
    Runs after `tile-lower-to-threads`, on kernels of warp groups, whose sums take
    most of a thread's registers. An op on a block has become one op per register.
    Where such ops follow a loop of products, each is moved to what first needs it,
    so that a number is stored before the next one is computed.

    Before:
    ```mlir
    %1 = arith.addf %0, %arg1 : f32
    %2 = arith.addf %0, %arg2 : f32
    %3 = arith.mulf %1, %arg1 : f32
    %4 = arith.mulf %2, %arg2 : f32
    llvm.store %3, %arg3 : f32, !llvm.ptr<1>
    llvm.store %4, %arg4 : f32, !llvm.ptr<1>
    ```
    After `--tile-sink-arithmetic`:
    ```mlir
    %1 = arith.addf %0, %arg1 : f32
    %2 = arith.mulf %1, %arg1 : f32
    llvm.store %2, %arg3 : f32, !llvm.ptr<1>
    %3 = arith.addf %0, %arg2 : f32
    %4 = arith.mulf %3, %arg2 : f32
    llvm.store %4, %arg4 : f32, !llvm.ptr<1>
    ```
  }];
}

#endif
