// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_TILE_PASSES_TD
#define ACT_PASSES_TILE_PASSES_TD
include "mlir/Pass/PassBase.td"

def CheckKernelsPass : Pass<"tile-check-kernels", "::mlir::gpu::GPUModuleOp"> {
  let summary = "rejects arguments and blocks that a kernel must not have";
  let description = [{
    Arguments are views of static size without strides, pointers, integers,
    floats and indices.

    Blocks have a static shape of 1 to 2^20 elements, an element type that memory
    supports (floats of 8 to 64 bits, i1, i8, i16, i32, i64), and a layout that
    spreads them over the threads. Loops have no constant step of 0 or less. Other
    passes and the host rely on this. The pass changes nothing. Block sizes must be
    numbers: it runs after `tile-set-block-sizes`.

    Before:
    ```mlir
    gpu.func @copy(%arg0: !tile.view<?x8xf32>) kernel {
      gpu.return
    }
    ```
    After `--tile-check-kernels`, on standard error:
    ```text
    ...: error: 'gpu.func' op argument 0 is of type '!tile.view<?x8xf32>', expected ...
    ```
  }];
  let dependentDialects = ["::act::tile::TileDialect"]; // a schedule's attribute
}

def SimplifyControlPass : Pass<"tile-simplify-control", "::mlir::gpu::GPUModuleOp"> {
  let summary = "rewrites other control flow to scf.for, scf.if and scf.while";
  let description = [{
    - `scf.index_switch` becomes branches;
    - `scf.execute_region` (of one block) is inlined;
    - `scf.parallel` and `scf.forall` (without results) become sequential loops;
    - `affine` ops become ops of `arith` and `scf`.

    All threads of a program run the same control flow; only operations on blocks
    are parallel. The pass comes first in the kernel pipelines for GPU and host;
    later passes support no other control flow.

    Before:
    ```mlir
    %1 = scf.index_switch %arg1 -> tensor<8xf32>
    case 7 {
      %2 = arith.negf %0 : tensor<8xf32>
      scf.yield %2 : tensor<8xf32>
    }
    default {
      scf.yield %0 : tensor<8xf32>
    }
    ```
    After `--tile-simplify-control`:
    ```mlir
    %c7 = arith.constant 7 : index
    %1 = arith.cmpi eq, %arg1, %c7 : index
    %2 = scf.if %1 -> (tensor<8xf32>) {
      %3 = arith.negf %0 : tensor<8xf32>
      scf.yield %3 : tensor<8xf32>
    } else {
      scf.yield %0 : tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def SetBlockSizesPass : Pass<"tile-set-block-sizes", "::mlir::gpu::GPUModuleOp"> {
  let summary = "replaces named block sizes by numbers";
  let description = [{
    A kernel's `tile.block_sizes` are the sizes that it is written with; `sizes`
    overrides them. Extents with a name get its size. So do all block dimensions
    that ops tie to them: of dots, elementwise ops and values that a loop carries.
    `tile.iota` and splat constants take the length of the blocks they are used
    with. It is an error if a dimension cannot change, such as an extent without a
    name or dimensions that a reshape merges.

    `tile.block_size` becomes a constant and `#tile.grid` three numbers: later
    passes see no names. The pass runs before layouts are assigned. Dimensions
    without a name that nothing ties to a named one stay.

    Before:
    ```mlir
    gpu.func @double(%arg0: !tile.view<100xf32>) kernel attributes {tile.block_sizes = {M = 64 : i64}, tile.grid = #tile.grid<100/M>} {
      %M = tile.block_size M
      %pid_x = tile.program_id x
      %0 = arith.muli %pid_x, %M : index
      %1 = tile.load %arg0[%0 : M = 64] : !tile.view<100xf32>
      %2 = arith.addf %1, %1 : tensor<64xf32>
    ```
    After `--tile-set-block-sizes=sizes=M=32`:
    ```mlir
    gpu.func @double(%arg0: !tile.view<100xf32>) kernel attributes {tile.grid = array<i64: 4, 1, 1>} {
      %c32 = arith.constant 32 : index
      %pid_x = tile.program_id x
      %0 = arith.muli %pid_x, %c32 : index
      %1 = tile.load %arg0[%0 : 32] : !tile.view<100xf32>
      %2 = arith.addf %1, %1 : tensor<32xf32>
    ```
  }];
  let options = [ListOption<"sizes", "sizes", "std::string",
    "block sizes as NAME=NUMBER, in elements">];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def ChooseRoundingPass : Pass<"tile-choose-rounding", "::mlir::gpu::GPUModuleOp"> {
  let summary = "decides where results of blocks are rounded";
  let description = [{
    How a loop is split by its masks depends on the rows that a block has, and a
    schedule must not change a bit of a result. So what rounds differently is decided
    before `tile-split-masked-loops`, on blocks of f32:

    - a b - m, m repeated along a row, where nothing else reads the product: it
      begins with -m;
    - x / r, where x is a sum of products, r is repeated along its rows and the
      quotient is only rounded to 16 bits, is x times (1 / r): off by one and a half
      ulp of f32;
    - exp(s k - m), m repeated along a row, where s is a matrix product, possibly
      masked by infinity, and k a constant (1 if there is none), is marked with k.
      `tile-simplify-math` computes it by one fma.

    Exponentials must have `fastmath<reassoc,contract,afn>`. If s contains more than a
    product, such as the -1e9 that masks add, it may be of any size and has no mark.

    Before:
    ```mlir
    %6 = arith.mulf %5, %cst_0 : tensor<16x32xf32>
    %7 = arith.subf %6, %4 : tensor<16x32xf32>
    %8 = math.exp %7 fastmath<reassoc,contract,afn> : tensor<16x32xf32>
    ```
    After `--tile-choose-rounding`:
    ```mlir
    %6 = arith.mulf %5, %cst_0 : tensor<16x32xf32>
    %7 = arith.subf %6, %4 : tensor<16x32xf32>
    %8 = math.exp %7 fastmath<reassoc,contract,afn> {tile.exponent_scale = 2.500000e-01 : f64} : tensor<16x32xf32>
    ```
  }];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def SplitMaskedLoopsPass : Pass<"tile-split-masked-loops", "::mlir::gpu::GPUModuleOp"> {
  let summary = "splits loops into separate ones for full, masked and empty blocks";
  let description = [{
    In a loop over blocks a mask compares positions: keys with queries, or with an
    end. If its operands are sums of `tile.iota`s, the loop counter and values from
    outside the loop, the comparison is constant over whole blocks up to one
    iteration, and again from a later one on. The loop's range is split into up to
    three loops:

    - the blocks in which a mask begins;
    - full blocks, in which the comparison is constant;
    - the blocks in which a mask ends.

    Blocks in which the comparison's constant leaves the carried values unchanged
    are skipped. Folding the body proves that.

    Positions may also be compared with rows of numbers that do not change in the
    loop, such as the starts of packed sequences. The smallest and the largest of
    them then tell which blocks are fully hidden or visible.

    Loaded numbers are assumed to be finite, so that 0 times one of them is 0: NaN
    and infinity in a skipped block have no effect. In full blocks a `tile.dot`
    drops its `within` if the comparisons prove that all lies between the ends.
    Comparisons with values loaded in the loop stay, and so does a loop around one
    that is split.

    Before:
    ```mlir
    %1 = scf.for %arg3 = %c0 to %c256 step %c16 iter_args(%arg4 = %cst) -> (tensor<16xf32>) {
      %2 = arith.index_cast %arg3 : index to i32
      %splat_0 = tensor.splat %2 : tensor<16xi32>
      %3 = arith.addi %splat_0, %0 : tensor<16xi32>
      %4 = arith.cmpi slt, %3, %splat : tensor<16xi32>
      %5 = tile.load %arg0[%arg3 : 16] : !tile.view<256xf32>
      %6 = arith.select %4, %5, %cst : tensor<16xi1>, tensor<16xf32>
      %7 = arith.addf %arg4, %6 : tensor<16xf32>
      scf.yield %7 : tensor<16xf32>
    }
    ```
    After `--tile-split-masked-loops --canonicalize`:
    ```mlir
    %6 = scf.for %arg3 = %c0 to %5 step %c16 iter_args(%arg4 = %cst) -> (tensor<16xf32>) {
      %19 = tile.load %arg0[%arg3 : 16] : !tile.view<256xf32>
      %20 = arith.addf %arg4, %19 : tensor<16xf32>
      scf.yield %20 : tensor<16xf32>
    }
    ...
    %18 = scf.for %arg3 = %11 to %17 step %c16 iter_args(%arg4 = %6) -> (tensor<16xf32>) {
      ...
      %21 = arith.cmpi slt, %20, %splat : tensor<16xi32>
    ```
  }];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect"];
}

def FuseLoopsPass : Pass<"tile-fuse-loops", "::mlir::gpu::GPUModuleOp"> {
  let summary = "fuses loops over the same numbers";
  let description = [{
    Loops in one block become one if they have the same bounds and read blocks of
    the same tensor. What they share is then read and computed once. No memory may
    be written between them.

    A loop that needs the result of another can still be fused if that result is a
    factor of its terms. There are two cases:

    - `exp(x - b)`, where b bounds x from above at every moment: the sum so far is
      scaled whenever b grows (the recurrence of online softmax);
    - a product or quotient with a value that does not change in the loop: the
      result is scaled once.

    Sums are `acc + T` and `tile.dot(P, V, acc)`. Factors are followed through
    conversions, products, `tile.reduce add`, `tile.dot`, selects with 0 and ops
    that change the shape. Without such a factor, as in the sum of (x - mean)^2,
    the loops stay.

    Rounding: a factor that moves out of a sum also moves past conversions to bf16
    in it, so these round another number. Rows in which all x are -inf sum to 0;
    the original loops give NaN unless they handle such rows.

    The pass runs after `tile-simplify-control` and `tile-set-block-sizes`. Loops
    whose memory another write may reach stay apart.

    Before:
    ```mlir
    %0 = scf.for %arg3 = %c0 to %c96 step %c32 iter_args(%arg4 = %cst) -> (tensor<8x32xf32>) {
      %4 = tile.load %arg0[%c0 : 8, %arg3 : 32] : !tile.view<8x96xf32>
      %5 = arith.addf %arg4, %4 : tensor<8x32xf32>
      scf.yield %5 : tensor<8x32xf32>
    }
    %1 = scf.for %arg3 = %c0 to %c96 step %c32 iter_args(%arg4 = %cst) -> (tensor<8x32xf32>) {
      %4 = tile.load %arg0[%c0 : 8, %arg3 : 32] : !tile.view<8x96xf32>
      %5 = arith.maximumf %arg4, %4 : tensor<8x32xf32>
      scf.yield %5 : tensor<8x32xf32>
    }
    ```
    After `--tile-fuse-loops`:
    ```mlir
    %0:2 = scf.for %arg3 = %c0 to %c96 step %c32 iter_args(%arg4 = %cst, %arg5 = %cst) -> (tensor<8x32xf32>, tensor<8x32xf32>) {
      %3 = tile.load %arg0[%c0 : 8, %arg3 : 32] : !tile.view<8x96xf32>
      %4 = arith.addf %arg4, %3 : tensor<8x32xf32>
      %5 = arith.maximumf %arg5, %3 : tensor<8x32xf32>
      scf.yield %4, %5 : tensor<8x32xf32>, tensor<8x32xf32>
    }
    ```
  }];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def SelectInstructionsPass : Pass<"tile-select-instructions", "::mlir::gpu::GPUModuleOp"> {
  let summary = "chooses the instruction that each dot becomes";
  let description = [{
    The choice stands on the op. It comes before layouts are assigned, because the
    fragments of instructions differ, and lowering goes by it. A dot that has an
    instruction already keeps it.

    In a kernel whose warps work in groups (`groups = 2` in its schedule), products of
    bf16 and f16 become `wgmma` where the target has it and the block fits: 64 rows
    for each group, columns a multiple of 8 (16 if b is not transposed). All others
    become `mma_sync`.

    f8 operands need sm_89 or later and a k that is a multiple of 32. Elsewhere they
    become blocks of f16, which represents every f8 number exactly.

    Before:
    ```mlir
    %2 = tile.dot %0, %1, %cst : tensor<16x32xf8E4M3FN>, tensor<32x8xf8E4M3FN> -> tensor<16x8xf32>
    ```
    After `--tile-select-instructions`:
    ```mlir
    %2 = arith.extf %0 : tensor<16x32xf8E4M3FN> to tensor<16x32xf16>
    %3 = arith.extf %1 : tensor<32x8xf8E4M3FN> to tensor<32x8xf16>
    %4 = tile.dot %2, %3, %cst {instruction = #tile.instruction<mma_sync, m = 16, n = 8, k = 16, element = f16>} : tensor<16x32xf16>, tensor<32x8xf16> -> tensor<16x8xf32>
    ```
  }];
  let options = [Option<"target", "target", "std::string", "\"sm_80\"",
                        "sm_80, sm_86, sm_89 or sm_90a">];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def SimplifyMathPass : Pass<"tile-simplify-math", "::mlir::gpu::GPUModuleOp"> {
  let summary = "computes exponentials and maxima of blocks with fewer instructions";
  let description = [{
    On blocks of f32 in loops, and on those of a loop's only iteration, which become
    operands of another product:

    - the maximum of s k, k a positive constant, is k times that of s, bit for bit;
    - `c ? s k : -inf` is `(c ? s : -inf) k`, so a mask does not block the others;
    - exp(s k - m), m repeated along a row, which `tile-choose-rounding` has marked
      with k, is 2 to the power fma(s, k log2(e), -(m log2(e))); the second product
      is computed once per row;
    - exp(x - m) of a row, where such a block has the same m, is 2 to the power
      x log2(e) - m log2(e), with the same product: its rounding is in both and
      cancels when one is divided by the other;
    - any other exp(x) is 2 to the power x log2(e);
    - a maximum is not -inf if one of its numbers is a sum of products, which are
      assumed to be finite: once `tile-split-masked-loops` has removed a mask, the
      select that keeps hidden rows from NaN goes too.

    Exponentials must have `fastmath<reassoc,contract,afn>`; others stay. A weight
    then has a relative error of up to 2^-23 |m|, the same for the whole row, where
    `math.exp` rounds it to the last bit. Without a mark, exp(s - m) is 2 to the power
    (s - m) log2(e), which is 1 at the maximum and no more elsewhere. That costs one
    more instruction per element.

    Before:
    ```mlir
    scf.for %arg1 = %c0 to %c256 step %c32 {
      %0 = tile.load %arg0[%arg1 : 32] : !tile.view<256xf32>
      %1 = math.exp %0 fastmath<reassoc,contract,afn> : tensor<32xf32>
    ```
    After `--tile-simplify-math`:
    ```mlir
    scf.for %arg1 = %c0 to %c256 step %c32 {
      %0 = tile.load %arg0[%arg1 : 32] : !tile.view<256xf32>
      %cst = arith.constant dense<1.44269502> : tensor<32xf32>
      %1 = arith.mulf %0, %cst : tensor<32xf32>
      %2 = math.exp2 %1 fastmath<reassoc,contract,afn> : tensor<32xf32>
    ```
  }];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect"];
}

def CountBlockBytesPass : Pass<"tile-count-block-bytes", "::mlir::gpu::GPUModuleOp"> {
  let summary = "counts the bytes of the programs' blocks";
  let description = [{
    `tile.block_bytes` of a kernel is a sum over its programs. Each counts every
    block that it reads, once, and every block that it writes, without elements
    outside views. This is the minimum traffic for these blocks, and the kernel's
    actual traffic if no thread reads what another one has. A kernel does not get
    the attribute if its blocks depend on numbers in memory or its grid is unknown.
    Blocks that `tile-skip-empty-dots` skips later are counted, so there the number
    is an upper bound.

    Before:
    ```mlir
    gpu.func @double(%arg0: !tile.view<100xf32>) kernel attributes {tile.grid = array<i64: 4, 1, 1>} {
      %c32 = arith.constant 32 : index
      %pid_x = tile.program_id x
      %0 = arith.muli %pid_x, %c32 : index
      %1 = tile.load %arg0[%0 : 32] : !tile.view<100xf32>
      %2 = arith.addf %1, %1 : tensor<32xf32>
      tile.store %2, %arg0[%0 : 32] : !tile.view<100xf32>
    ```
    After `--tile-count-block-bytes`:
    ```mlir
    gpu.func @double(%arg0: !tile.view<100xf32>) kernel attributes {tile.block_bytes = 800 : i64, tile.grid = array<i64: 4, 1, 1>} {
    ```
  }];
  let dependentDialects = ["::act::tile::TileDialect"];
}

def LongestFirstPass : Pass<"tile-longest-first", "::mlir::gpu::GPUModuleOp"> {
  let summary = "starts the programs with the most work first";
  let description = [{
    For kernels that `tile-count-block-bytes` has marked (`tile.growing_bytes`), as
    causal attention, whose later rows see more: a card starts programs in the order
    of their numbers, and those that start last should be short. The programs' numbers
    are reversed. Programs that wait for each other keep theirs.

    Before:
    ```mlir
    %pid_x = tile.program_id x
    %0 = arith.muli %pid_x, %c64 : index
    ```
    After `--tile-longest-first`:
    ```mlir
    %pid_x = tile.program_id x
    %c7 = arith.constant 7 : index
    %0 = arith.subi %c7, %pid_x : index
    %1 = arith.muli %0, %c64 : index
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ShiftTurnsPass : Pass<"tile-shift-turns", "::mlir::gpu::GPUModuleOp"> {
  let summary = "starts programs that take turns at different places of their loop";
  let description = [{
    For kernels with `tile.shift_turns`, as attention's gradient without a mask. If all
    programs of a sum start at its first place, each follows the one before closely,
    and waits for it all the time. So neighbours form rings of up to 16. A program of a
    ring starts some iterations behind the one before, goes around the loop, and its
    turn at a place is the order in which the ring comes by. The programs of a ring
    wait for each other, so a card must hold all of them at once: their tickets follow
    each other, and `tile.at_once` says how many they are.

    The size of a ring follows from the shape: 4, 8 or 16, so that 256 programs of
    other sums begin before the next ring of the same one. The sums' order is that of
    the turns, so it follows from the shape, too.

    The loop must run over all of its range, its iterations must matter to each other
    only as sums, and a turn's place must have the loop's index. Otherwise the kernel
    stays as it is.

    Here are two sums of eight programs each, whose numbers are counted down from the
    ticket.

    Before:
    ```mlir
    %ticket = tile.ticket %arg2[%c0] : !tile.view<1xi32>
    %0 = arith.subi %c15, %ticket : index
    %1 = arith.divui %0, %c2 : index
    %2 = arith.subi %c7, %1 : index
    scf.for %arg4 = %c0 to %c512 step %c64 {
      tile.wait_turn %arg1[%arg4], %2 : !tile.view<512xi32>
      tile.atomic_add %arg3, %arg0[%arg4 : 64, %c0 : 64] : tensor<64x64xf32>, !tile.view<512x64xf32>
      tile.pass_turn %arg1[%arg4] : !tile.view<512xi32>
    }
    ```
    After `--tile-shift-turns`:
    ```mlir
    %ticket = tile.ticket %arg2[%c0] : !tile.view<1xi32>
    %c16 = arith.constant 16 : index
    %0 = arith.remui %ticket, %c16 : index
    %c16_0 = arith.constant 16 : index
    %1 = arith.divui %ticket, %c16_0 : index
    %c8 = arith.constant 8 : index
    %2 = arith.divui %0, %c8 : index
    %c8_1 = arith.constant 8 : index
    %3 = arith.remui %ticket, %c8_1 : index
    %c8_2 = arith.constant 8 : index
    %c8_3 = arith.constant 8 : index
    %4 = arith.muli %1, %c8_3 : index
    %5 = arith.addi %4, %3 : index
    %c7_4 = arith.constant 7 : index
    %6 = arith.minui %5, %c7_4 : index
    %c2_5 = arith.constant 2 : index
    %7 = arith.divui %2, %c2_5 : index
    %c16_6 = arith.constant 16 : index
    %8 = arith.muli %7, %c16_6 : index
    %c2_7 = arith.constant 2 : index
    %9 = arith.muli %6, %c2_7 : index
    %c2_8 = arith.constant 2 : index
    %10 = arith.remui %2, %c2_8 : index
    %11 = arith.addi %9, %10 : index
    %12 = arith.addi %8, %11 : index
    %13 = arith.subi %c15, %ticket : index
    %14 = arith.divui %12, %c2 : index
    %15 = arith.subi %c7, %14 : index
    %c64_9 = arith.constant 64 : index
    %16 = arith.muli %3, %c64_9 : index
    %c8_10 = arith.constant 8 : index
    %17 = arith.muli %1, %c8_10 : index
    %c1 = arith.constant 1 : index
    %c7_11 = arith.constant 7 : index
    scf.for %arg4 = %c0 to %c512 step %c64 {
      %18 = arith.addi %arg4, %16 : index
      %c512_12 = arith.constant 512 : index
      %19 = arith.remui %18, %c512_12 : index
      %c64_13 = arith.constant 64 : index
      %20 = arith.divui %19, %c64_13 : index
      %21 = arith.minui %20, %c7_11 : index
      %22 = arith.subi %21, %3 : index
      %23 = arith.cmpi ult, %21, %3 : index
      %24 = arith.addi %22, %c8_2 : index
      %25 = arith.select %23, %24, %22 : index
      %26 = arith.addi %17, %25 : index
      tile.wait_turn %arg1[%19], %26 : !tile.view<512xi32>
      tile.atomic_add %arg3, %arg0[%19 : 64, %c0 : 64] : !tile.view<512x64xf32>
      tile.pass_turn %arg1[%19] : !tile.view<512xi32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def SkipEmptyDotsPass : Pass<"tile-skip-empty-dots", "::mlir::gpu::GPUModuleOp"> {
  let summary = "skips dots of blocks that a comparison with memory makes zero";
  let description = [{
    An operand of a dot in a loop may be `select(x == y, number, 0)`, with a row x
    that is read from memory and a sum y of positions. An element of the mask can
    be true only if a number of the row lies between y's ends in the block. If
    none does, the operand is zero and the dot adds nothing. So the dot moves into
    a branch, with everything computed or loaded only for it.

    The other operand is assumed to be finite, as 0 times infinity is skipped too.

    If a loop of 16 steps or more does nothing else, all its numbers are loaded and
    compared before it, up to 64 steps at once, and a number gets one bit for each
    step. The loop then goes through the bits that are set.

    Before:
    ```mlir
    %7 = arith.cmpi eq, %6, %2 : tensor<64x32xi32>
    %8 = arith.select %7, %cst_1, %cst_0 : tensor<64x32xi1>, tensor<64x32xbf16>
    %9 = tile.load %arg1[%arg3 : 32, %c0 : 16] : !tile.view<256x16xbf16>
    %10 = tile.dot %8, %9, %arg4 : tensor<64x32xbf16>, tensor<32x16xbf16> -> tensor<64x16xf32>
    ```
    After `--tile-skip-empty-dots`:
    ```mlir
    %11 = tile.reduce or %10 axis 0 : tensor<32xi1>
    %12 = scf.if %11 -> (tensor<64x16xf32>) {
      %13 = tile.expand_dims %4 axis 0 : tensor<32xi32>
      %14 = tile.broadcast %13 : tensor<1x32xi32> -> tensor<64x32xi32>
      %15 = arith.cmpi eq, %14, %2 : tensor<64x32xi32>
      %16 = arith.select %15, %cst_1, %cst_0 : tensor<64x32xi1>, tensor<64x32xbf16>
      %17 = tile.load %arg1[%arg3 : 32, %c0 : 16] : !tile.view<256x16xbf16>
      %18 = tile.dot %16, %17, %arg4 : tensor<64x32xbf16>, tensor<32x16xbf16> -> tensor<64x16xf32>
      scf.yield %18 : tensor<64x16xf32>
    } else {
      scf.yield %arg4 : tensor<64x16xf32>
    }
    ```
  }];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def AssignLayoutsPass : Pass<"tile-assign-layouts", "::mlir::gpu::GPUModuleOp"> {
  let summary = "decides which thread holds which element of every block";
  let description = [{
    Every tensor type in a kernel gets a `#tile.layout`; arithmetic stays as it is.
    Dots need the layouts of the tensor cores' fragments. Loads and stores prefer
    adjacent threads to hold adjacent elements, 16 bytes each. A value computed from
    a block takes its layout. Where a block is needed in two layouts,
    `tile.convert_layout` converts it; constants and `tile.iota` are duplicated
    instead.

    Beside a sum of warp groups (`wgmma`), a block is loaded in the sum's layout, and
    32-bit numbers are stored in it: the operands' rings leave no shared memory for a
    conversion.

    Before:
    ```mlir
    %0 = tile.load %arg0[%c0 : 256] : !tile.view<256xf32>
    %1 = arith.addf %0, %0 : tensor<256xf32>
    tile.store %1, %arg0[%c0 : 256] : !tile.view<256xf32>
    ```
    After `--tile-assign-layouts`:
    ```mlir
    #layout = #tile.layout<register = [2:(1)], lane = [32:(2)], warp = [4:(64)]>
    ...
    %0 = tile.load %arg0[%c0 : 256] : !tile.view<256xf32> -> tensor<256xf32, #layout>
    %1 = arith.addf %0, %0 : tensor<256xf32, #layout>
    tile.store %1, %arg0[%c0 : 256] : tensor<256xf32, #layout>, !tile.view<256xf32>
    ```
  }];
  let dependentDialects = ["::act::tile::TileDialect"];
}

def StageLoadsPass : Pass<"tile-stage-loads", "::mlir::gpu::GPUModuleOp"> {
  let summary = "stages the operands of dots through rings in shared memory";
  let description = [{
    A load used only as an operand of a dot becomes an asynchronous copy into
    swizzled shared memory and a read from there in the operand's layout. In a
    loop, iteration i starts the copies of iteration i + stages - 1. The ring has
    as many slots as the schedule has stages.

    Loads whose rows are not aligned to 16 bytes, or whose padding is not zero, stay
    as they are and are converted. Memory that the loop writes is copied in the
    iteration that reads it. The pass runs after `tile-assign-layouts`, with equal
    conversions merged (`cse`), and leaves the loads that copy warps do to
    `tile-assign-roles`.

    Before:
    ```mlir
    %0 = scf.for %arg3 = %c0 to %c256 step %c32 iter_args(%arg4 = %cst) -> (tensor<64x64xf32, #layout>) {
      %2 = tile.load %arg0[%c0 : 64, %arg3 : 32] : !tile.view<64x256xbf16> -> tensor<64x32xbf16, #layout1>
      %3 = tile.load %arg1[%arg3 : 32, %c0 : 64] : !tile.view<256x64xbf16> -> tensor<32x64xbf16, #layout2>
      %4 = tile.convert_layout %2 : tensor<64x32xbf16, #layout1> -> tensor<64x32xbf16, #layout3>
      %5 = tile.convert_layout %3 : tensor<32x64xbf16, #layout2> -> tensor<32x64xbf16, #layout4>
      %6 = tile.dot %4, %5, %arg4 : tensor<64x32xbf16, #layout3>, tensor<32x64xbf16, #layout4> -> tensor<64x64xf32, #layout>
      scf.yield %6 : tensor<64x64xf32, #layout>
    }
    ```
    After `--tile-stage-loads`:
    ```mlir
    %0 = tile.alloc_shared : !tile.shared<2x64x32xbf16, #shared64>
    ...
    %2:2 = scf.for %arg3 = %c0 to %c256 step %c32 iter_args(%arg4 = %cst, %arg5 = %c0_i32) -> (tensor<64x64xf32, #layout>, i32) {
      tile.wait_copies 0
      tile.barrier
      ...
      tile.copy_async %arg0[%c0 : 64, %4 : 32] to %0[%8] : ...
      ...
      %10 = tile.load_shared %0[%9] : !tile.shared<2x64x32xbf16, #shared64> -> tensor<64x32xbf16, #layout1>
      ...
      %12 = tile.dot %10, %11, %arg4 : ...
    ```
  }];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def AssignRolesPass : Pass<"tile-assign-roles", "::mlir::gpu::GPUModuleOp"> {
  let summary = "moves the loads of loops to warps that only copy";
  let description = [{
    Warp specialisation, for kernels whose schedule has copy warps. These warps do
    the loads in loops that become operands of dots, into rings of as many slots
    as the schedule has stages. Each slot has two mbarriers: full and empty. The
    kernel becomes a `tile.roles`, with the computation in one region and the copy
    loops in the other.

    Where the target has a copy engine (TMA), it copies the blocks of a loop if it
    can copy all of them: one thread starts it, and the mbarrier counts bytes.

    If the schedule has a cluster, its programs copy together what they have in
    common: blocks of at least 8 rows for each, at a position that is the same for
    all, in loops that all go through as often. A slot of such blocks is empty when
    the computing warps of all programs have said so. Without any such block each
    program is on its own; the pass warns of it, and removes the cluster.

    A loop qualifies if it is in the kernel's body, its bounds and the loads'
    indices depend only on scalars, and the kernel does not write the memory they
    read. Other loads stay as they are. The pass runs between `tile-assign-layouts`
    and `tile-stage-loads`. If no loop qualifies, the pass warns and removes the
    copy warps from the kernel.

    Before:
    ```mlir
    %0 = scf.for %arg3 = %c0 to %c256 step %c32 iter_args(%arg4 = %cst) -> (tensor<64x64xf32, #layout>) {
      %2 = tile.load %arg0[%c0 : 64, %arg3 : 32] : !tile.view<64x256xbf16> -> tensor<64x32xbf16, #layout1>
      %3 = tile.load %arg1[%arg3 : 32, %c0 : 64] : !tile.view<256x64xbf16> -> tensor<32x64xbf16, #layout2>
      %4 = tile.convert_layout %2 : tensor<64x32xbf16, #layout1> -> tensor<64x32xbf16, #layout3>
      %5 = tile.convert_layout %3 : tensor<32x64xbf16, #layout2> -> tensor<32x64xbf16, #layout4>
      %6 = tile.dot %4, %5, %arg4 : tensor<64x32xbf16, #layout3>, tensor<32x64xbf16, #layout4> -> tensor<64x64xf32, #layout>
      scf.yield %6 : tensor<64x64xf32, #layout>
    }
    ```
    After `--tile-assign-roles`:
    ```mlir
    tile.roles compute {
        ...
        tile.mbarrier_wait %2[%7] parity %9 : !tile.shared<2xi64>
        %10 = tile.load_shared %0[%7] : !tile.shared<2x64x32xbf16, #shared64> -> tensor<64x32xbf16, #layout1>
        ...
        tile.mbarrier_arrive %3[%7] : !tile.shared<2xi64>
    ...
    } copy {
        ...
        tile.mbarrier_wait %3[%6] parity %9 : !tile.shared<2xi64>
        tile.copy_async %arg0[%c0 : 64, %arg3 : 32] to %0[%6] : ...
        tile.copy_async %arg1[%arg3 : 32, %c0 : 64] to %1[%6] : ...
        tile.mbarrier_arrive_copies %2[%6] : !tile.shared<2xi64>
    ```
  }];
  let options = [Option<"target", "target", "std::string", "\"sm_80\"",
                        "sm_80, sm_86, sm_89 or sm_90a">];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect"];
}

def ShareConversionsPass : Pass<"tile-share-conversions", "::mlir::gpu::GPUModuleOp"> {
  let summary = "lets conversions of computed blocks share memory and barriers";
  let description = [{
    A layout conversion that moves elements between threads, and is not cheaper by
    shuffles, goes through shared memory: barrier, stores, barrier, loads. A
    two-dimensional block with several conversions, also transposed ones, is
    stored once. Conversions at about the same time share one barrier, up to 64 KiB
    of blocks. If the loop carries so many values that registers run short, each
    block has its own. Its first read then waits only for the warps that it needs
    (`tile.barrier parts N`), and a later one that needs more of them for these.

    A block that does not change in a loop is exchanged before the outermost such
    loop. A matrix is stored there and read in the loop; smaller blocks, and those
    that use shuffles, are converted there.

    The pass runs after `tile-assign-layouts`, with equal conversions merged
    (`cse`). Other conversions stay and get a store and barriers of their own when
    they are lowered.

    Before:
    ```mlir
    %4 = arith.truncf %3 : tensor<64x64xf32, #layout> to tensor<64x64xbf16, #layout>
    %5 = tile.trans %4 : tensor<64x64xbf16, #layout> -> tensor<64x64xbf16, #layout4>
    %6 = tile.convert_layout %5 : tensor<64x64xbf16, #layout4> -> tensor<64x64xbf16, #layout2>
    %7 = tile.dot %6, %2, %cst : tensor<64x64xbf16, #layout2>, tensor<64x64xbf16, #layout3> -> tensor<64x64xf32, #layout>
    %8 = tile.convert_layout %4 : tensor<64x64xbf16, #layout> -> tensor<64x64xbf16, #layout2>
    %9 = tile.dot %8, %2, %cst : tensor<64x64xbf16, #layout2>, tensor<64x64xbf16, #layout3> -> tensor<64x64xf32, #layout>
    ```
    After `--tile-share-conversions`:
    ```mlir
    %5 = arith.truncf %4 : tensor<64x64xf32, #layout> to tensor<64x64xbf16, #layout>
    %6 = tile.alloc_shared : !tile.shared<64x64xbf16, #shared128>
    tile.store_shared %5, %6 : tensor<64x64xbf16, #layout>, !tile.shared<64x64xbf16, #shared128>
    tile.barrier
    %7 = tile.load_shared %6 : !tile.shared<64x64xbf16, #shared128> -> tensor<64x64xbf16, #layout4>
    %8 = tile.trans %7 : tensor<64x64xbf16, #layout4> -> tensor<64x64xbf16, #layout2>
    %9 = tile.dot %8, %3, %cst : tensor<64x64xbf16, #layout2>, tensor<64x64xbf16, #layout3> -> tensor<64x64xf32, #layout>
    %10 = tile.load_shared %6 : !tile.shared<64x64xbf16, #shared128> -> tensor<64x64xbf16, #layout2>
    %11 = tile.dot %10, %3, %cst : tensor<64x64xbf16, #layout2>, tensor<64x64xbf16, #layout3> -> tensor<64x64xf32, #layout>
    ```
  }];
  let dependentDialects = ["::act::tile::TileDialect"];
}

include "passes/tile/GroupPasses.td"
include "passes/tile/ThreadPasses.td"

#endif
