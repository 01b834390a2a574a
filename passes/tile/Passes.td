// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_TILE_PASSES_TD
#define ACT_PASSES_TILE_PASSES_TD
include "mlir/Pass/PassBase.td"

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

    Loaded numbers are assumed to be finite, so that 0 times one of them is 0.
    Comparisons with what is loaded stay, and so does a loop around one that is
    split.
  }];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect"];
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
    else than zero, stay as they are and are converted.
  }];
  let dependentDialects = ["::act::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def LowerToThreadsPass : Pass<"tile-lower-to-threads", "::mlir::gpu::GPUModuleOp"> {
  let summary = "writes what one thread does";
  let description = [{
    Blocks become one scalar per register, ops on blocks become upstream's ops on
    scalars, and memory is reached by the widest access that surely is aligned.
    What may lie outside of a view is masked; what is proven to be inside is not.
    Afterwards no tensor and no op of the tile dialect is left; the kernel's
    shared memory is in `tile.shared_bytes`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::gpu::GPUDialect"];
}
#endif
