// SPDX-License-Identifier: Apache-2.0
//
// The functions that groups lower to, as PTX.
//
//   linalg function ──convert-linalg-to-tile──► kernel on blocks ──► PTX
//
// A kernel is kept in the cache by the text of its function, so one that was
// compiled before, under whatever name and in whatever model, costs no pass.
// The kernels of a whole model are a list there, by the model's text.
#ifndef ACT_PASSES_EMIT_GPUKERNELS_H
#define ACT_PASSES_EMIT_GPUKERNELS_H
#include "dialects/act/Dialect.h"
#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/emit/LowerGroup.h"
#include "passes/tile-to-nvvm/CompileKernels.h"

namespace act {

/// What a group lowers to, once for all groups that lower to the same.
struct GroupKernel {
  mlir::func::FuncOp function;
  std::string text;         ///< the function, whatever its name is
  GroupOp group;            ///< that it is of, for messages
  llvm::json::Object about; ///< for the index of kernels
};

/// A kernel to compile: what one launch does. That is one function, or several
/// that need nothing of each other, with as many sets of arguments each.
struct LaunchKernel {
  std::string name; ///< of the entry
  using Part = std::pair<const GroupKernel *, int64_t>;
  llvm::SmallVector<Part, 1> parts;
};

/// What the index of kernels says of one of `group`: ops, shapes, useful_flops,
/// least_bytes.
llvm::json::Object aboutKernel(GroupOp group, const LoweredKernel &kernel);

/// Dialects of what is made on the way from act to PTX and no more: every
/// loaded one costs a start and every text that is printed.
void registerGpuKernelDialects(mlir::DialectRegistry &registry);

struct GpuOptions {
  tile::PtxOptions ptx;
  /// How products of f32 are made.
  tile::DotPrecision f32Products = tile::DotPrecision::IEEE;
};

/// Compiles them all, in their order. What has no form for the GPU is an error
/// that names the act operation and its place. Where parts cannot be one
/// kernel, for instance because they need unlike numbers of threads, it has no
/// PTX.
mlir::FailureOr<std::vector<tile::CompiledKernel>>
compileGpuKernels(llvm::ArrayRef<LaunchKernel> kernels,
                  const GpuOptions &options, const tile::PtxCache &cache);

/// All the kernels of a model that were stored under `key`, which says what the
/// model is; nothing if one of them is not in the cache any more.
std::optional<std::vector<tile::CompiledKernel>>
findGpuKernels(const tile::PtxCache &cache, const std::string &key);
void storeGpuKernels(const tile::PtxCache &cache, const std::string &key,
                     llvm::ArrayRef<tile::CompiledKernel> kernels);

} // namespace act
#endif
