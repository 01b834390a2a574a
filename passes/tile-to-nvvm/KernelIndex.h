// SPDX-License-Identifier: Apache-2.0
//
// index.json: an array with one object per compiled kernel.
//
//   name, entry    the kernel's name, also its entry in the PTX
//   file           the PTX file, next to the index
//   ops            names of the act operations in it
//   shapes         of its operands, results last: "128x64xbf16"
//   grid, block    three numbers each; grid zeros: the launch decides
//   shared_bytes   dynamic shared memory
//   useful_flops   FLOPs of the operations themselves
//   least_bytes    each input read once, each output written once
//   tensor_maps    only if there are any: parameters of 128 bytes behind the
//                  kernel's own (act/Artifact/Step.h)
//   block_bytes    each block read once by each program that needs it, each
//                  output written once; null: numbers in memory decide
//   schedule       as an object
//   cubin          if kernels were assembled: the machine code's file,
//   registers      registers per thread,
//   spilled_bytes  and bytes that a thread spills and reloads
//
// Code that makes kernels from act operations fills in CompiledKernel::about.
// For a user-written kernel it comes from the attributes of the gpu.func:
// tile.ops, tile.shapes, tile.useful_flops, tile.least_bytes, tile.schedule;
// missing ones are empty lists and zeros.
#ifndef ACT_PASSES_TILETONVVM_KERNELINDEX_H
#define ACT_PASSES_TILETONVVM_KERNELINDEX_H
#include "passes/tile-to-nvvm/CompiledKernel.h"
#include "passes/tile-to-nvvm/Ptxas.h"

namespace act::tile {
/// The attributes of `kernel`, under the names used in the index.
llvm::json::Object describe(mlir::gpu::GPUFuncOp kernel);
/// `cubins`: one per kernel, or none.
std::string kernelIndex(llvm::ArrayRef<CompiledKernel> kernels,
                        llvm::ArrayRef<Cubin> cubins = {});
} // namespace act::tile
#endif
