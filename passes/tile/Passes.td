// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_TILE_PASSES_TD
#define ACT_PASSES_TILE_PASSES_TD
include "mlir/Pass/PassBase.td"

def CheckKernelsPass : Pass<"tile-check-kernels", "::mlir::gpu::GPUModuleOp"> {
  let summary = "refuses arguments and blocks that a kernel cannot have";
  let description = [{
    Arguments are views of static size without strides, pointers, integers,
    floats and indices.

    Blocks have a static shape of one element up to 2^20, of a type that memory
    has: floats of 8 to 64 bits, i1, i8, i16, i32, i64, and some layout
    that spreads them over the threads. Loops have no constant step of 0 or less.
    Other passes rely on it, and so does the host.
  }];
  let dependentDialects = ["::act::tile::TileDialect"]; // a schedule's attribute
}

def SimplifyControlPass : Pass<"tile-simplify-control", "::mlir::gpu::GPUModuleOp"> {
  let summary = "writes other control with scf.for, scf.if and scf.while";
  let description = [{
    `scf.index_switch` becomes branches, `scf.execute_region` (of one block) what
    is in it, `scf.parallel` and `scf.forall` (without results) loops of one
    iteration after another, and ops of `affine` become those of `arith` and
    `scf`. A program is one for all its threads: what of it runs in parallel is
    what is written in blocks. First in the pipelines of kernels, for a GPU and
    for the host: what comes behind knows no other control.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def SetBlockSizesPass : Pass<"tile-set-block-sizes", "::mlir::gpu::GPUModuleOp"> {
  let summary = "gives named block sizes their numbers";
  let description = [{
    `tile.block_sizes` of a kernel are the sizes that it is written with; `sizes`
    are others. Extents that are accessed by a name get its size, and with them
    all dimensions of blocks that ops make equal to those: of a dot, of what is
    computed element by element, of what a loop carries. `tile.iota`s and
    constants of one number are as long as what they meet. That a dimension
    cannot change, like an extent without a name and those that a reshape merges,
    is an error.

    Then `tile.block_size` is a constant and `#tile.grid` three numbers: what comes
    behind knows no names.
  }];
  let options = [ListOption<"sizes", "sizes", "std::string",
    "block sizes as NAME=NUMBER, in elements">];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def SplitMaskedLoopsPass : Pass<"tile-split-masked-loops", "::mlir::gpu::GPUModuleOp"> {
  let summary = "gives full, masked and empty blocks loops of their own";
  let description = [{
    In a loop over blocks a mask is a comparison of positions: of keys with
    queries, or with an end. Where its operands are sums of `tile.iota`s, the
    loop's counter and numbers of outside, it is true, or false, for whole blocks
    up to one iteration and from another one on. The loop becomes up to three
    over parts of its range: the blocks in which a mask begins, those in which
    all is seen and the comparison is constant, and those in which a mask ends.
    Blocks in which the comparison's constant leaves the carried values as they
    are, are in none of them; that they do is derived by folding the body.

    Positions are also compared with rows of numbers that do not change in the
    loop, like the beginnings of packed sequences: the smallest and the largest of
    them say where all is hidden or seen.

    Loaded numbers are assumed to be finite, so that 0 times one of them is 0: of a
    block that is left out NaN and infinity reach nobody. A `tile.dot` within ends
    is one without where comparisons say of a full block that all is between them.
    Comparisons with what is loaded in the loop stay, and so does a loop around
    one that is split.
  }];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect"];
}

def FuseLoopsPass : Pass<"tile-fuse-loops", "::mlir::gpu::GPUModuleOp"> {
  let summary = "makes one loop of several over the same numbers";
  let description = [{
    Loops of one block that have the same bounds and read blocks of the same
    tensor become one, so that what all of them need is read and computed once.
    Between them memory may not be written.

    A loop that needs the result of another one can go along where that result
    is a factor of what it adds up: `exp(x - b)` where b bounds x from above at
    every moment, or a product or quotient with a value that does not change in
    the loop. In the first case the sum so far is scaled whenever b grows (the
    recurrence of online softmax), in the second the result is scaled once. Sums
    are `acc + T` and `tile.dot(P, V, acc)`; factors are followed through
    conversions, products, `tile.reduce add`, `tile.dot`, selects with 0 and ops
    that change the shape. Where there is no such factor, as in the sum of
    (x - mean)^2, the loops stay.

    Rounding: a factor that leaves a sum leaves conversions to bf16 in it, too,
    so these round another number. Rows in which all x are -inf sum up to 0,
    where loops that do not ask for it would have a NaN.
  }];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def WidenFloat8DotsPass : Pass<"tile-widen-float8-dots", "::mlir::gpu::GPUModuleOp"> {
  let summary = "makes products of f8 from f16 where there is no instruction for them";
  let description = [{
    Operands of f8 become blocks of f16, which have all their numbers, before
    sm_89, and if k is no multiple of 32.
  }];
  let options = [Option<"target", "target", "std::string", "\"sm_80\"",
                        "sm_80, sm_86, sm_89 or sm_90a">];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def SimplifyMathPass : Pass<"tile-simplify-math", "::mlir::gpu::GPUModuleOp"> {
  let summary = "computes exponentials and maxima of loops with fewer instructions";
  let description = [{
    Of blocks of f32, in loops:

    - the maximum of s k, k a positive constant, is k times that of s, bit by bit;
    - `c ? s k : -inf` is `(c ? s : -inf) k`, so a mask is not in the way;
    - exp(s k - m), m repeated along a row, is 2 to the power
      fma(s, k log2(e), -(m log2(e))), with the second product computed per row,
      where s is a product of matrices, perhaps masked by infinity;
    - exp(x - m) of a row of which there is such a block is 2 to the power
      x log2(e) - m log2(e), with the same product, so that its rounding is in both
      and cancels when one is divided by the other;
    - any other exp(x) is 2 to the power x log2(e);
    - a maximum is not -inf where one of its numbers is a sum of products, which
      are taken to be finite: once `tile-split-masked-loops` has taken a mask away,
      the select that keeps hidden rows from NaN goes, too.

    Of exponentials these are those with `fastmath<reassoc,contract,afn>`. A weight
    then differs from the exact one by up to 2^-23 |m| of itself, by the same part
    in the whole row, where `math.exp` rounds it to the last bit. What else than a
    product is in s may be of any size, as the -1e9 that masks add: there exp(s - m)
    is 2 to the power (s - m) log2(e), which is 1 at the maximum and no more
    elsewhere, and costs an instruction more for each element.
  }];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect"];
}

def CountBlockBytesPass : Pass<"tile-count-block-bytes", "::mlir::gpu::GPUModuleOp"> {
  let summary = "says how many bytes the programs' blocks have";
  let description = [{
    `tile.block_bytes` of a kernel is the sum over its programs: of each, every
    block that it reads, once, and every block that it writes, without what is
    outside of views. It is the least that these blocks take, and what the kernel
    moves where no thread reads what another one has. A kernel whose blocks
    depend on numbers in memory, or whose grid is not known, has none; what
    `tile-skip-empty-dots` leaves out later is counted, so there it is a bound.
  }];
  let dependentDialects = ["::act::tile::TileDialect"];
}

def SkipEmptyDotsPass : Pass<"tile-skip-empty-dots", "::mlir::gpu::GPUModuleOp"> {
  let summary = "leaves out dots of blocks that a comparison with memory makes zero";
  let description = [{
    An operand of a dot in a loop may be `select(x == y, number, 0)`, of a row x that
    is not known before it is read, and a sum y of places. Then some element of the
    mask is true only if a number of the row lies between y's ends in the block.
    Where none does the operand is zero, and the dot adds nothing: it goes into a
    branch, and with it what is computed or loaded for it alone.

    The other operand is assumed to be finite, as 0 times infinity is skipped, too.
  }];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def AssignLayoutsPass : Pass<"tile-assign-layouts", "::mlir::gpu::GPUModuleOp"> {
  let summary = "says which thread holds which element of every block";
  let description = [{
    Every tensor type in a kernel gets a `#tile.layout`. Dots want the layouts of
    the tensor cores' fragments; loads and stores want threads beside each other
    to hold elements beside each other, 16 bytes each; whatever is computed from
    a block has its layout. Where an op needs a block in two ways,
    `tile.convert_layout` stands between; constants and `tile.iota` are made
    twice instead.
  }];
  let dependentDialects = ["::act::tile::TileDialect"];
}

def StageLoadsPass : Pass<"tile-stage-loads", "::mlir::gpu::GPUModuleOp"> {
  let summary = "brings the operands of dots through rings of shared memory";
  let description = [{
    A load whose only use is to become an operand of a dot becomes an
    asynchronous copy into swizzled shared memory, and a read from there in the
    operand's layout. In a loop the copies of iteration i + stages - 1 are
    started in iteration i, into a ring of as many slots as the schedule has
    stages.

    Loads whose rows are not aligned to 16 bytes, or that pad with something
    else than zero, stay as they are and are converted. What the loop writes is
    copied in the iteration that reads it.
  }];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def AssignRolesPass : Pass<"tile-assign-roles", "::mlir::gpu::GPUModuleOp"> {
  let summary = "gives the loads of loops to warps that do nothing else";
  let description = [{
    In a kernel whose schedule has warps that copy. Loads of a loop that become
    operands of dots are done by them, into rings of as many slots as
    the schedule has stages, with two mbarriers for each slot: it is full, it is
    empty. The kernel becomes a `tile.roles`, with the computation in one region
    and the loops of the copies in the other.

    The loop is one of the kernel's body, its bounds and the loads' indices follow
    from numbers alone, and the kernel does not write what they read; other loads
    stay as they are. Where no loop is left,
    the kernel loses its warps that copy, and there is a warning.
  }];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect"];
}

def ShareConversionsPass : Pass<"tile-share-conversions", "::mlir::gpu::GPUModuleOp"> {
  let summary = "lets conversions of computed blocks share memory and barriers";
  let description = [{
    A conversion of a layout that moves elements between threads, and is not
    cheaper by shuffles, goes through shared memory: a barrier, stores, a
    barrier, loads. Where a block of two dimensions is converted several times,
    also transposed, it is stored once, and what is converted at about the same
    time waits at one barrier; in a loop that carries more numbers than fit
    beside that, each block at its own.

    What does not change in a loop is exchanged in front of the outermost one of
    that kind: a matrix is stored there and read in the loop, what is smaller or
    goes by shuffles is converted there.

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
  let summary = "writes what one thread does";
  let description = [{
    Blocks become one scalar per register, ops on blocks become upstream's ops on
    scalars, and memory is reached by the widest access that surely is aligned.
    What may lie outside of a view is masked; what is proven to be inside is not.
    Positions are compared as what a thread's first two differ by and constants
    (AffineBlocks.h). Random numbers are made one after the other, where they are
    needed first; and loads from shared memory (other than by ldmatrix) stand as far
    down as they can. Afterwards no tensor and no op of the tile dialect is left; the
    kernel's shared memory is in `tile.shared_bytes`.
  }];
  let options = [Option<"target", "target", "std::string", "\"sm_80\"",
                        "sm_80, sm_86, sm_89 or sm_90a">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::gpu::GPUDialect"];
}

def SumLanesLastPass : Pass<"tile-sum-lanes-last", "::mlir::gpu::GPUModuleOp"> {
  let summary = "adds up what lanes hold of a row after the loop, not in it";
  let description = [{
    After `tile-lower-to-threads`. A sum that a loop carries, and to which each
    iteration adds a sum over lanes, is kept by every lane for its own part; the
    lanes exchange parts once, after the loop. The carried sum may be multiplied
    in each iteration by what is the same in these lanes, as in an online
    softmax, which is proven from the exchanges that made it.

    The sum's order is another one, and as fixed as before.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::NVVM::NVVMDialect"];
}

def SkipUnitScalingPass : Pass<"tile-skip-unit-scaling", "::mlir::gpu::GPUModuleOp"> {
  let summary = "does not multiply by 1 in a whole warp";
  let description = [{
    After `tile-lower-to-threads`. What a loop carries and multiplies by a power,
    16 registers or more, is multiplied only if that power is not 1 in some lane
    of the warp. So a running maximum that does not grow costs nothing; the
    numbers are the same, bit by bit.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect"];
}
#endif
