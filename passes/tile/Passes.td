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
    spreads them over the threads. Loops have no constant step of 0 or less.
    Other passes and the host rely on this.
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
    passes see no names.
  }];
  let options = [ListOption<"sizes", "sizes", "std::string",
    "block sizes as NAME=NUMBER, in elements">];
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
  }];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def WidenFloat8DotsPass : Pass<"tile-widen-float8-dots", "::mlir::gpu::GPUModuleOp"> {
  let summary = "multiplies f8 as f16 where no f8 instruction exists";
  let description = [{
    Before sm_89, or if k is not a multiple of 32, f8 operands become blocks of
    f16, which represents every f8 number exactly.
  }];
  let options = [Option<"target", "target", "std::string", "\"sm_80\"",
                        "sm_80, sm_86, sm_89 or sm_90a">];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def SimplifyMathPass : Pass<"tile-simplify-math", "::mlir::gpu::GPUModuleOp"> {
  let summary = "computes exponentials and maxima in loops with fewer instructions";
  let description = [{
    On blocks of f32 in loops:

    - the maximum of s k, k a positive constant, is k times that of s, bit for bit;
    - `c ? s k : -inf` is `(c ? s : -inf) k`, so a mask does not block the others;
    - exp(s k - m), m repeated along a row, is 2 to the power
      fma(s, k log2(e), -(m log2(e))), where s is a matrix product, possibly masked
      by infinity; the second product is computed once per row;
    - exp(x - m) of a row, where such a block has the same m, is 2 to the power
      x log2(e) - m log2(e), with the same product: its rounding is in both and
      cancels when one is divided by the other;
    - any other exp(x) is 2 to the power x log2(e);
    - a maximum is not -inf if one of its numbers is a sum of products, which are
      assumed to be finite: once `tile-split-masked-loops` has removed a mask, the
      select that keeps hidden rows from NaN goes too.

    Exponentials must have `fastmath<reassoc,contract,afn>`. A weight then has a
    relative error of up to 2^-23 |m|, the same for the whole row, where `math.exp`
    rounds it to the last bit. If s contains more than a product, such as the -1e9
    that masks add, it may be of any size. Then exp(s - m) is 2 to the power
    (s - m) log2(e), which is 1 at the maximum and no more elsewhere. That costs one
    more instruction per element.
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
  }];
  let dependentDialects = ["::act::tile::TileDialect"];
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
  }];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def AssignLayoutsPass : Pass<"tile-assign-layouts", "::mlir::gpu::GPUModuleOp"> {
  let summary = "decides which thread holds which element of every block";
  let description = [{
    Every tensor type in a kernel gets a `#tile.layout`. Dots need the layouts of
    the tensor cores' fragments. Loads and stores prefer adjacent threads to hold
    adjacent elements, 16 bytes each. A value computed from a block takes its
    layout. Where a block is needed in two layouts, `tile.convert_layout` converts
    it; constants and `tile.iota` are duplicated instead.
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

    Loads whose rows are not aligned to 16 bytes, or whose padding is not zero,
    stay as they are and are converted. Memory that the loop writes is copied in
    the iteration that reads it.
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

    A loop qualifies if it is in the kernel's body, its bounds and the loads'
    indices depend only on scalars, and the kernel does not write the memory they
    read. Other loads stay as they are. If no loop qualifies, the pass warns and
    removes the copy warps from the kernel.
  }];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect"];
}

def ShareConversionsPass : Pass<"tile-share-conversions", "::mlir::gpu::GPUModuleOp"> {
  let summary = "lets conversions of computed blocks share memory and barriers";
  let description = [{
    A layout conversion that moves elements between threads, and is not cheaper by
    shuffles, goes through shared memory: barrier, stores, barrier, loads. A
    two-dimensional block with several conversions, also transposed ones, is
    stored once. Conversions at about the same time share one barrier. If the loop
    carries so many values that registers run short, each block has its own.

    A block that does not change in a loop is exchanged before the outermost such
    loop. A matrix is stored there and read in the loop; smaller blocks, and those
    that use shuffles, are converted there.

    Example: with %ds and %p as the operands of three dots, before and after
    ```mlir
    %a = tile.convert_layout %ds ...         %s = tile.alloc_shared ...
    %t = tile.trans %p                       %r = tile.alloc_shared ...
    %b = tile.convert_layout %t ...          tile.store_shared %ds, %s ...
    %u = tile.trans %ds                      tile.store_shared %p, %r ...
    %c = tile.convert_layout %u ...          tile.barrier
                                             %a = tile.load_shared %s ...
    ```
  }];
  let dependentDialects = ["::act::tile::TileDialect"];
}

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

    Afterwards no tensor and no op of the tile dialect is left. `tile.shared_bytes`
    holds the kernel's shared memory.
  }];
  let options = [Option<"target", "target", "std::string", "\"sm_80\"",
                        "sm_80, sm_86, sm_89 or sm_90a">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::gpu::GPUDialect"];
}

def SumLanesLastPass : Pass<"tile-sum-lanes-last", "::mlir::gpu::GPUModuleOp"> {
  let summary = "sums a row across lanes after the loop, not in it";
  let description = [{
    Runs after `tile-lower-to-threads`. If each iteration adds a sum over lanes to
    a sum that the loop carries, every lane keeps its own part instead. The lanes
    exchange parts once, after the loop. An iteration may also multiply the carried
    sum, as in an online softmax, by a value that is the same in these lanes. The
    pass proves this from the exchanges that produced the value.

    The order of the sum changes, but is as fixed as before.
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
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect"];
}
#endif
