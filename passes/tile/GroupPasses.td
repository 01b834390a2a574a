// SPDX-License-Identifier: Apache-2.0
//
// Passes for warp groups: products that run beside other work.
#ifndef ACT_PASSES_TILE_GROUPPASSES_TD
#define ACT_PASSES_TILE_GROUPPASSES_TD
include "mlir/Pass/PassBase.td"

def TransposeDotsPass : Pass<"tile-transpose-dots", "::mlir::gpu::GPUModuleOp"> {
  let summary = "computes products transposed where the next one takes them so";
  let description = [{
    For kernels whose warps work in groups. A product whose first operand is the
    transpose of a block that was computed from another product would get it by way
    of shared memory. If the other product is computed transposed, and all between
    them, the operand stays in registers. Other readers get the transpose of that.
    The pass runs before `tile-select-instructions`.

    Before:
    ```mlir
    %3 = tile.trans %1 : tensor<128x32xbf16>
    %4 = tile.dot %0, %3, %cst : tensor<64x32xbf16>, tensor<32x128xbf16> -> tensor<64x128xf32>
    %5 = tile.expand_dims %2 axis 1 : tensor<64xf32>
    %6 = tile.broadcast %5 : tensor<64x1xf32> -> tensor<64x128xf32>
    %7 = arith.subf %4, %6 : tensor<64x128xf32>
    %8 = arith.truncf %7 : tensor<64x128xf32> to tensor<64x128xbf16>
    %9 = tile.trans %8 : tensor<64x128xbf16>
    %10 = tile.dot %9, %0, %cst_0 : tensor<128x64xbf16>, tensor<64x32xbf16> -> tensor<128x32xf32>
    ```
    After `--tile-transpose-dots`:
    ```mlir
    %3 = tile.trans %0 : tensor<64x32xbf16>
    %4 = tile.dot %1, %3, %cst : tensor<128x32xbf16>, tensor<32x64xbf16> -> tensor<128x64xf32>
    %5 = tile.expand_dims %2 axis 0 : tensor<64xf32>
    %6 = tile.broadcast %5 : tensor<1x64xf32> -> tensor<128x64xf32>
    %7 = arith.subf %4, %6 : tensor<128x64xf32>
    %8 = arith.truncf %7 : tensor<128x64xf32> to tensor<128x64xbf16>
    %9 = tile.dot %8, %0, %cst_0 : tensor<128x64xbf16>, tensor<64x32xbf16> -> tensor<128x32xf32>
    ```
  }];
}

def AsyncDotsPass : Pass<"tile-async-dots", "::mlir::gpu::GPUModuleOp"> {
  let summary = "starts products of warp groups and waits for them later";
  let description = [{
    A dot that becomes `wgmma` reads its second operand from shared memory, and the
    first one too if it is loaded. Loaded blocks become `tile.to_shared`, which
    `tile-assign-roles` and `tile-stage-loads` replace by slots of a ring; computed
    ones are stored.

    A sum that is only added to stays pending from one product to the next, and from
    one iteration of a loop to the next. A block that only what follows the loop
    needs is loaded there. The pass runs after `tile-assign-layouts`.

    Before:
    ```mlir
    %0 = scf.for %arg3 = %c0 to %c256 step %c32 iter_args(%arg4 = %cst) -> (tensor<64x64xf32, #layout>) {
      %3 = tile.load %arg0[%c0 : 64, %arg3 : 32] : !tile.view<64x256xbf16> -> tensor<64x32xbf16, #layout1>
      %4 = tile.load %arg1[%arg3 : 32, %c0 : 64] : !tile.view<256x64xbf16> -> tensor<32x64xbf16, #layout2>
      %5 = tile.convert_layout %3 : tensor<64x32xbf16, #layout1> -> tensor<64x32xbf16, #layout3>
      %6 = tile.convert_layout %4 : tensor<32x64xbf16, #layout2> -> tensor<32x64xbf16, #layout4>
      %7 = tile.dot %5, %6, %arg4 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : tensor<64x32xbf16, #layout3>, tensor<32x64xbf16, #layout4> -> tensor<64x64xf32, #layout>
      scf.yield %7 : tensor<64x64xf32, #layout>
    }
    ```
    After `--tile-async-dots`:
    ```mlir
    %0 = tile.begin_dot %cst : tensor<64x64xf32, #layout>
    %1:2 = scf.for %arg3 = %c0 to %c256 step %c32 iter_args(%arg4 = %cst, %arg5 = %0) -> (tensor<64x64xf32, #layout>, !tile.pending<tensor<64x64xf32, #layout>>) {
      %5 = tile.load %arg0[%c0 : 64, %arg3 : 32] : !tile.view<64x256xbf16> -> tensor<64x32xbf16, #layout1>
      %6 = tile.load %arg1[%arg3 : 32, %c0 : 64] : !tile.view<256x64xbf16> -> tensor<32x64xbf16, #layout2>
      %7 = tile.to_shared %5 : tensor<64x32xbf16, #layout1> -> !tile.shared<64x32xbf16, #shared64>
      %8 = tile.to_shared %6 : tensor<32x64xbf16, #layout2> -> !tile.shared<32x64xbf16, #shared128>
      %9 = tile.dot_async %7, %8, %arg5 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : !tile.shared<64x32xbf16, #shared64>, !tile.shared<32x64xbf16, #shared128> -> !tile.pending<tensor<64x64xf32, #layout>>
      scf.yield %arg4, %9 : tensor<64x64xf32, #layout>, !tile.pending<tensor<64x64xf32, #layout>>
    }
    %2 = tile.dot_result %1#1 : !tile.pending<tensor<64x64xf32, #layout>>
    ```
  }];
  let dependentDialects = ["::act::tile::TileDialect"];
}

def DeferTurnsPass : Pass<"tile-defer-turns", "::mlir::gpu::GPUModuleOp"> {
  let summary = "passes a turn in the next iteration";
  let description = [{
    Runs after `tile-async-dots`. A turn is passed when all threads' additions can be
    seen by other programs, which takes as long as a product. Where an iteration
    starts products before it waits for one, the turn of the iteration before is
    passed there; the first one's index is outside of the view, where no turn is. The
    last turn is passed after the loop.

    Before:
    ```mlir
    scf.for %arg3 = %c0 to %c512 step %c64 {
    %1 = tile.begin_dot %cst : tensor<64x64xf32, #layout>
    %2 = tile.dot_async %0, %0, %1 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : !tile.shared<64x64xbf16, #shared128>, !tile.shared<64x64xbf16, #shared128> -> !tile.pending<tensor<64x64xf32, #layout>>
    %3 = tile.dot_result %2 : !tile.pending<tensor<64x64xf32, #layout>>
    tile.wait_turn %arg1[%arg3], %arg2 : !tile.view<512xi32>
    tile.atomic_add %3, %arg0[%arg3 : 64, %c0 : 64] : tensor<64x64xf32, #layout>, !tile.view<512x64xf32>
    tile.pass_turn %arg1[%arg3] : !tile.view<512xi32>
    }
    ```
    After `--tile-defer-turns`:
    ```mlir
    %1 = scf.for %arg3 = %c0 to %c512 step %c64 iter_args(%arg4 = %c512_0) -> (index) {
    %2 = tile.begin_dot %cst : tensor<64x64xf32, #layout>
    %3 = tile.dot_async %0, %0, %2 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : ...
    tile.pass_turn %arg1[%arg4] : !tile.view<512xi32>
    %4 = tile.dot_result %3 : !tile.pending<tensor<64x64xf32, #layout>>
    tile.wait_turn %arg1[%arg3], %arg2 : !tile.view<512xi32>
    tile.atomic_add %4, %arg0[%arg3 : 64, %c0 : 64] : tensor<64x64xf32, #layout>, !tile.view<512x64xf32>
    scf.yield %arg3 : index
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TurnsAtBarriersPass : Pass<"tile-turns-at-barriers", "::mlir::gpu::GPUModuleOp"> {
  let summary = "lets turns share the barriers of staged loads and conversions";
  let description = [{
    Runs after `tile-stage-loads` and `tile-share-conversions`, which make barriers. A
    turn needs two of its own: one thread waits for it, and the others wait for the
    thread; and the turn is passed when all have added. If the iteration begins with a
    barrier, the turn of the one before is passed there. If a barrier stands before the
    turn, and programs reach a place one after the other (they start at different
    places, or see different ones), it is waited for at that barrier.

    Before:
    ```mlir
    scf.for %arg5 = %c0 to %c512 step %c64 {
      tile.barrier
      tile.store_shared %arg3, %0 : tensor<64x64xf32, #layout>, !tile.shared<64x64xf32, #shared>
      tile.barrier
      %1 = tile.load_shared %0 : !tile.shared<64x64xf32, #shared> -> tensor<64x64xf32, #layout>
      %2 = arith.addi %arg2, %arg5 : index
      tile.wait_turn %arg1[%arg5], %2 : !tile.view<512xi32>
      tile.atomic_add %1, %arg0[%arg5 : 64, %c0 : 64] : tensor<64x64xf32, #layout>, !tile.view<512x64xf32>
      tile.pass_turn %arg1[%arg5] : !tile.view<512xi32>
    }
    ```
    After `--tile-turns-at-barriers`:
    ```mlir
    %1 = scf.for %arg5 = %c0 to %c512 step %c64 iter_args(%arg6 = %c512_0) -> (index) {
      tile.barrier
      tile.pass_turn %arg1[%arg6] : !tile.view<512xi32>
      tile.store_shared %arg3, %0 : tensor<64x64xf32, #layout>, !tile.shared<64x64xf32, #shared128>
      %2 = arith.addi %arg2, %arg5 : index
      tile.wait_turn %arg1[%arg5], %2 : !tile.view<512xi32>
      tile.barrier
      %3 = tile.load_shared %0 : !tile.shared<64x64xf32, #shared128> -> tensor<64x64xf32, #layout>
      tile.atomic_add %3, %arg0[%arg5 : 64, %c0 : 64] : tensor<64x64xf32, #layout>, !tile.view<512x64xf32>
      scf.yield %arg5 : index
    }
    tile.pass_turn %arg1[%1] : !tile.view<512xi32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TakeTurnsPass : Pass<"tile-take-turns", "::mlir::gpu::GPUModuleOp"> {
  let summary = "lets warp groups start their products in turn";
  let description = [{
    For kernels whose schedule has `turns`, after `tile-rotate-loops`. If an iteration
    starts two products or more before it waits for one, it does so in its group's
    turn. Groups that start at the same time would wait at the same time, too, and
    then all compute while the tensor cores have nothing to do.

    Before:
    ```mlir
    %4 = tile.dot_async %0, %1, %2 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : !tile.shared<128x64xbf16, #shared128>, !tile.shared<64x64xbf16, #shared128> -> !tile.pending<tensor<128x64xf32, #layout>>
    %5 = tile.dot_async %0, %1, %3 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : !tile.shared<128x64xbf16, #shared128>, !tile.shared<64x64xbf16, #shared128> -> !tile.pending<tensor<128x64xf32, #layout>>
    %6 = tile.dot_result %4 : !tile.pending<tensor<128x64xf32, #layout>>
    ```
    After `--tile-take-turns`:
    ```mlir
    tile.await_group_turn
    %4 = tile.dot_async %0, %1, %2 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : ...
    %5 = tile.dot_async %0, %1, %3 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : ...
    tile.pass_group_turn
    %6 = tile.dot_result %4 : !tile.pending<tensor<128x64xf32, #layout>>
    ```
  }];
}

def MakePersistentPass : Pass<"tile-make-persistent", "::mlir::gpu::GPUModuleOp"> {
  let summary = "lets a program do the work of several";
  let description = [{
    For kernels whose schedule is `persistent`, before `tile-assign-roles`. A launch
    starts as many programs as run at once, and each goes through the grid's
    programs from its own number on, in steps of their count. A raster decides
    which program the n-th one is. What does not depend on the program stays before
    the loop, and so does the memory of stores by tensor maps, which are waited for
    when the next program stores, not at once. The kernel must have a `tile.grid`,
    and no `tile.ticket`: copying warps begin a program before the others have
    finished the one before it.

    Before:
    ```mlir
    %pid_x = tile.program_id x
    %0 = arith.muli %pid_x, %c128 : index
    %1 = tile.load %arg0[%0 : 128] : !tile.view<640xf32>
    tile.store %1, %arg1[%0 : 128] : !tile.view<640xf32>
    gpu.return
    ```
    After `--tile-make-persistent`:
    ```mlir
    scf.for %arg2 = %block_id_x to %c5 step %grid_dim_x {
    %pid_x = tile.program_id x of %arg2
    %0 = arith.muli %pid_x, %c128 : index
    %1 = tile.load %arg0[%0 : 128] : !tile.view<640xf32>
    tile.store %1, %arg1[%0 : 128] : !tile.view<640xf32>
    }
    gpu.return
    ```
  }];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::scf::SCFDialect",
                           "::mlir::arith::ArithDialect"];
}

def AssignStoresPass : Pass<"tile-assign-stores", "::mlir::gpu::GPUModuleOp"> {
  let summary = "moves additions to memory to a warp that only stores";
  let description = [{
    For kernels whose schedule has a storing warp, after `tile-rotate-loops`. Where
    the computing warps add a block to memory, they leave it in a ring of shared
    memory, with as many slots as the schedule has stages, and go on. One thread of
    the storing warp waits for the block's turn, lets the copy engine add the block,
    gives the slot back when it is read, and passes the turn when memory has it.

    All additions of a kernel move, or none: each must consist of runs of contiguous
    memory (`tile.reduce_bulk`), stand in no branch, and places and turns must follow
    from numbers that all warps know and from loops' counters.

    Before:
    ```mlir
    tile.wait_turn %arg1[%arg3], %arg2 : !tile.view<512xi32>
    tile.atomic_add %5, %arg0[%arg3 : 64, %c0 : 64] : tensor<64x64xf32, #layout>, !tile.view<512x64xf32>
    tile.pass_turn %arg1[%arg3] : !tile.view<512xi32>
    ```
    After `--tile-assign-stores`:
    ```mlir
    ...
    tile.mbarrier_wait %3[%7] parity %10 : !tile.shared<2xi64>
    tile.store_shared %5, %1[%7] order [0, 1] : tensor<64x64xf32, #layout>, !tile.shared<2x64x64xf32>
    tile.fence_shared
    tile.mbarrier_arrive %2[%7] : !tile.shared<2xi64>
    ...
    } store {
    ...
    tile.mbarrier_wait %2[%6] parity %8 : !tile.shared<2xi64>
    tile.wait_turn %arg1[%arg3], %arg2 : !tile.view<512xi32>
    tile.reduce_bulk %1[%6] to %arg0[%arg3 : 64, %c0 : 64] : !tile.shared<2x64x64xf32>, !tile.view<512x64xf32>
    tile.wait_stores %1 : !tile.shared<2x64x64xf32>
    tile.mbarrier_arrive %3[%6] : !tile.shared<2xi64>
    tile.wait_stores complete %1 : !tile.shared<2x64x64xf32>
    tile.pass_turn %arg1[%arg3] : !tile.view<512xi32>
    ```
  }];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::scf::SCFDialect",
                           "::mlir::arith::ArithDialect"];
}

def RotateLoopsPass : Pass<"tile-rotate-loops", "::mlir::gpu::GPUModuleOp"> {
  let summary = "lets the next iteration's product run beside this one's work";
  let description = [{
    For kernels whose schedule is `rotated`. A loop of the computing warps has two
    asynchronous products, and the second one takes what is computed from the first
    one's sum. It is moved to the next iteration, behind the start of the first one
    there; the loop carries its operand. The first iteration's start and the last
    one's end stand before and after the loop, in an `scf.if` unless the loop is
    known to have an iteration. The pass runs after `tile-assign-roles`.

    Before:
    ```mlir
    %7:3 = scf.for %arg4 = %c0 to %c256 step %c64 iter_args(%arg5 = %cst, %arg6 = %c0_i32, %arg7 = %c0_i32) -> (tensor<64x64xf32, #layout>, i32, i32) {
    ...
    %15 = tile.dot_async %10, %12, %13 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : !tile.shared<64x64xbf16, #shared128>, !tile.shared<64x64xbf16, #shared128t> -> !tile.pending<tensor<64x64xf32, #layout>>
    ...
    %17 = tile.dot_result %15 : !tile.pending<tensor<64x64xf32, #layout>>
    ...
    %18 = math.exp2 %17 : tensor<64x64xf32, #layout>
    %19 = arith.truncf %18 : tensor<64x64xf32, #layout> to tensor<64x64xbf16, #layout>
    ...
    %20 = tile.dot_async %19, %16, %14 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : tensor<64x64xbf16, #layout>, !tile.shared<64x64xbf16, #shared128> -> !tile.pending<tensor<64x64xf32, #layout>>
    %21 = tile.dot_result %20 : !tile.pending<tensor<64x64xf32, #layout>>
    ...
    scf.yield %21, %24, %27 : tensor<64x64xf32, #layout>, i32, i32
    }
    ```
    After `--tile-rotate-loops`:
    ```mlir
    %23:6 = scf.for %arg4 = %22 to %c256 step %c64 iter_args(%arg5 = %18, %arg6 = %21, %arg7 = %cst, %arg8 = %7, %arg9 = %c0_i32, %arg10 = %15) -> (i32, i32, tensor<64x64xf32, #layout>, index, i32, tensor<64x64xbf16, #layout>) {
    ...
    %34 = tile.dot_async %30, %32, %33 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : ...
    ...
    %37 = tile.dot_async %arg10, %36, %35 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : ...
    %38 = tile.dot_result %34 : !tile.pending<tensor<64x64xf32, #layout>>
    ...
    %39 = math.exp2 %38 : tensor<64x64xf32, #layout>
    %40 = arith.truncf %39 : tensor<64x64xf32, #layout> to tensor<64x64xbf16, #layout>
    ...
    %47 = tile.dot_result %37 : !tile.pending<tensor<64x64xf32, #layout>>
    ...
    scf.yield %43, %46, %47, %29, %arg6, %40 : i32, i32, tensor<64x64xf32, #layout>, index, i32, tensor<64x64xbf16, #layout>
    }
    ...
    %26 = tile.dot_async %23#5, %25, %24 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : ...
    %27 = tile.dot_result %26 : !tile.pending<tensor<64x64xf32, #layout>>
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

def StageStoresPass : Pass<"tile-stage-stores", "::mlir::gpu::GPUModuleOp"> {
  let summary = "stores products' sums by tensor maps";
  let description = [{
    For kernels whose warps work in groups, on targets with a copy engine (TMA). A
    block of 16-bit elements in the layout of a product's sum is stored by each warp
    for itself, by way of its own shared memory, which a kernel's stores use in
    turn. Views must be arguments that a
    tensor map can describe; other stores stay as they are. The pass runs after
    `tile-assign-layouts`, before `tile-assign-roles`.

    Before:
    ```mlir
    %4 = tile.convert_layout %3 : tensor<64x64xbf16, #layout> -> tensor<64x64xbf16, #layout3>
    tile.store %4, %arg2[%c0 : 64, %c0 : 64] : tensor<64x64xbf16, #layout3>, !tile.view<64x64xbf16>
    ```
    After `--tile-stage-stores=target=sm_90a`:
    ```mlir
    %4 = tile.alloc_shared : !tile.shared<4x2x16x64xbf16, #shared128>
    tile.store_tensor %3, %arg2[%c0 : 64, %c0 : 64] by %4 : tensor<64x64xbf16, #layout>, !tile.view<64x64xbf16>, !tile.shared<4x2x16x64xbf16, #shared128>
    tile.wait_stores %4 : !tile.shared<4x2x16x64xbf16, #shared128>
    ```
  }];
  let options = [Option<"target", "target", "std::string", "\"sm_80\"",
                        "sm_80, sm_86, sm_89 or sm_90a">];
  let dependentDialects = ["::act::tile::TileDialect"];
}

#endif
