// SPDX-License-Identifier: Apache-2.0
//
// index.json: an array with one object per compiled kernel.
//
//   name, entry    the kernel's, which is its entry in the PTX
//   file           of the PTX, beside the index
//   ops            names of the act operations in it
//   shapes         of its operands, results last: "128x64xbf16"
//   grid, block    three numbers each; grid zeros: the launch decides
//   shared_bytes   of dynamic shared memory
//   useful_flops   of the operations themselves
//   least_bytes    each input read once, each output written once
//   block_bytes    each block read once by each program that needs it, each
//                  output written once; null: numbers in memory decide
//   schedule       as an object
//   cubin          where kernels were assembled: the file of machine code,
//   registers      of a thread there,
//   spilled_bytes  and what a thread stores and loads for want of more
//
// Who makes kernels from act operations fills in CompiledKernel::about. For a
// kernel that somebody wrote it is what the attributes of the gpu.func say:
// tile.ops, tile.shapes, tile.useful_flops, tile.least_bytes, tile.schedule;
// where there are none, empty lists and zeros.
#ifndef ACT_PASSES_TILETONVVM_KERNELINDEX_H
#define ACT_PASSES_TILETONVVM_KERNELINDEX_H
#include "passes/tile-to-nvvm/CompileKernels.h"
#include "passes/tile-to-nvvm/Ptxas.h"

namespace act::tile {
/// What the attributes of `kernel` say, under the words of the index.
llvm::json::Object describe(mlir::gpu::GPUFuncOp kernel);
/// `cubins`: of each kernel, or none.
std::string kernelIndex(llvm::ArrayRef<CompiledKernel> kernels,
                        llvm::ArrayRef<Cubin> cubins = {});
} // namespace act::tile
#endif
