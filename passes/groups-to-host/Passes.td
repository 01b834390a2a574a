// SPDX-License-Identifier: Apache-2.0
//
// Passes from linalg on tensors to the LLVM dialect with the kernel ABI of
// HostKernels.h. They run in this order, each on a module with one function.
#ifndef ACT_PASSES_GROUPSTOHOST_PASSES
#define ACT_PASSES_GROUPSTOHOST_PASSES
include "mlir/Pass/PassBase.td"

def PrepareHostKernelPass : Pass<"host-prepare-kernel", "mlir::ModuleOp"> {
  let summary = "Brings a kernel's linalg operations into the form for distribution";
  let description = [{
    - Named operations become `linalg.generic`.
    - i1 tensors become i8 tensors (one byte per element in memory).
    - Elementwise producers with one use move into their consumer.
    - Leading dimensions that every operation treats alike are collapsed into one.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::linalg::LinalgDialect",
                           "mlir::tensor::TensorDialect", "mlir::affine::AffineDialect"];
}

def DistributeHostBlocksPass : Pass<"host-distribute-blocks", "mlir::ModuleOp"> {
  let summary = "Tiles a kernel's results into a grid of blocks, producers fused";
  let description = [{
    Each root (the last operation that produces a result) is tiled along its
    parallel dimensions into an `scf.forall`. Its producers are computed in the
    tile. A kernel with its own `scf.forall` keeps it. The function's attribute
    `act.work` lists the estimated work of one iteration of each loop.
  }];
  let dependentDialects = ["mlir::scf::SCFDialect", "mlir::linalg::LinalgDialect",
                           "mlir::tensor::TensorDialect", "mlir::affine::AffineDialect"];
}

def BufferizeHostKernelPass : Pass<"host-bufferize", "mlir::ModuleOp"> {
  let summary = "Turns tensors into memory: operands, results, then temporaries";
  let dependentDialects = ["mlir::bufferization::BufferizationDialect",
                           "mlir::memref::MemRefDialect", "mlir::linalg::LinalgDialect"];
}

def LowerHostBlockLoopsPass : Pass<"host-lower-block-loops", "mlir::ModuleOp"> {
  let summary = "Replaces the kernel's parallel loops by a block argument";
  let description = [{
    Iterations of an `scf.forall` are numbered row-major and split into runs of
    equal length; block i executes the i-th run. Several independent loops take
    consecutive ranges of blocks. The attribute `act.grid` is the number of blocks.
    A kernel that also does work outside these loops gets one block.
  }];
  let dependentDialects = ["mlir::scf::SCFDialect", "mlir::arith::ArithDialect"];
}

def VectorizeHostKernelPass : Pass<"host-vectorize-kernel", "mlir::ModuleOp"> {
  let summary = "Lowers linalg operations on memory to loops over vectors";
  let dependentDialects = ["mlir::vector::VectorDialect", "mlir::scf::SCFDialect",
                           "mlir::memref::MemRefDialect", "mlir::arith::ArithDialect",
                           "mlir::math::MathDialect", "mlir::affine::AffineDialect"];
}

def PlaceHostBuffersPass : Pass<"host-place-buffers", "mlir::ModuleOp"> {
  let summary = "Places temporaries in the kernel's scratch, at fixed offsets";
  let description = [{
    Every allocation becomes a view of one scratch argument of size
    `act.scratch_bytes`; small ones go on the stack. An allocation without a
    constant bound is an error.
  }];
  let dependentDialects = ["mlir::memref::MemRefDialect", "mlir::arith::ArithDialect",
                           "mlir::affine::AffineDialect"];
}

def ExpandHostMathPass : Pass<"host-expand-math", "mlir::ModuleOp"> {
  let summary = "Replaces f32 functions by polynomials, 16-bit conversions by integers";
  let dependentDialects = ["mlir::math::MathDialect", "mlir::vector::VectorDialect",
                           "mlir::arith::ArithDialect"];
}

def WrapHostKernelPass : Pass<"host-wrap-kernel", "mlir::ModuleOp"> {
  let summary = "Adds the exported function that unpacks the argument list";
  let options = [Option<"mayAlias", "may-alias", "bool", "false",
                        "arguments may overlap in memory">];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

#endif
