// SPDX-License-Identifier: Apache-2.0
//
// index.json: an array with one object per compiled kernel.
//
//   name, entry    the kernel's, which is its entry in the PTX
//   file           of the PTX, beside the index
//   ops            names of the act operations in it       attribute tile.ops
//   shapes         of its operands                         attribute
//   tile.shapes grid, block    three numbers each; grid zeros: the launch
//   decides shared_bytes   of dynamic shared memory useful_flops   of the
//   operations themselves            tile.useful_flops least_bytes    each
//   input read, each output written    tile.least_bytes schedule tile.schedule
//   as an object
//
// The attributes are on the gpu.func; who makes kernels from act operations
// sets them. Where there are none: empty lists, zeros.
#ifndef ACT_PASSES_TILETONVVM_KERNELINDEX_H
#define ACT_PASSES_TILETONVVM_KERNELINDEX_H
#include "passes/tile-to-nvvm/CompileKernels.h"

namespace act::tile {
std::string kernelIndex(llvm::ArrayRef<CompiledKernel> kernels);
} // namespace act::tile
#endif
