// SPDX-License-Identifier: Apache-2.0
#include "passes/tile-to-nvvm/CompileKernels.h"
#include "dialects/tile/Dialect.h"
#include "mlir/IR/Threading.h"
#include "mlir/IR/Verifier.h"
#include "passes/tile-to-nvvm/KernelIndex.h"
#include "passes/tile-to-nvvm/Schedule.h"
#include "passes/tile/BlockBytes.h"
#include "passes/tile/Pipeline.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace act;
using namespace act::tile;

namespace {

/// PTX's identifiers, which are names of files as well.
LogicalResult checkName(gpu::GPUFuncOp kernel) {
  StringRef name = kernel.getName();
  bool fine = !name.empty() && name.size() <= 200 && !llvm::isDigit(name[0]) &&
              llvm::all_of(name, [](char c) {
                return llvm::isAlnum(c) || c == '_' || c == '$';
              });
  if (fine)
    return success();
  return kernel.emitOpError("is no name for a kernel: expected up to 200 "
                            "letters, digits, _ and $, no digit first");
}

LogicalResult collect(ModuleOp module, StringRef only,
                      std::vector<CompiledKernel> &kernels) {
  llvm::StringMap<gpu::GPUFuncOp> seen;
  WalkResult walked = module.walk([&](gpu::GPUFuncOp kernel) {
    if (!kernel.isKernel() || (!only.empty() && kernel.getName() != only))
      return WalkResult::advance();
    if (failed(checkName(kernel)))
      return WalkResult::interrupt();
    auto [it, fresh] = seen.insert({kernel.getName(), kernel});
    if (!fresh) {
      auto error = kernel.emitOpError("has the name of another kernel");
      error.attachNote(it->second.getLoc()) << "which is here";
      return WalkResult::interrupt();
    }
    CompiledKernel k;
    k.name = kernel.getName().str();
    k.source = kernel;
    k.about = describe(kernel);
    kernels.push_back(k);
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

/// What `kernel` uses of its gpu.module, itself included.
llvm::SetVector<Operation *> reachable(gpu::GPUFuncOp kernel) {
  llvm::SetVector<Operation *> ops;
  ops.insert(kernel);
  for (size_t i = 0; i < ops.size(); ++i)
    if (auto uses = SymbolTable::getSymbolUses(ops[i]))
      for (const SymbolTable::SymbolUse &use : *uses)
        if (Operation *symbol = SymbolTable::lookupSymbolIn(
                kernel->getParentOp(), use.getSymbolRef().getRootReference()))
          ops.insert(symbol);
  return ops;
}

/// Whether there is something for the tile pipeline to do.
bool worksOnBlocks(gpu::GPUFuncOp kernel) {
  auto isBlock = [](Type type) {
    return isa<RankedTensorType, ViewType, PtrType>(type);
  };
  if (llvm::any_of(kernel.getArgumentTypes(), isBlock))
    return true;
  return kernel
      .walk([&](Operation *op) {
        bool found = isa<TileDialect>(op->getDialect()) ||
                     llvm::any_of(op->getResultTypes(), isBlock);
        return found ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// A gpu.module with that one kernel, at the end of `into`.
gpu::GPUModuleOp isolate(gpu::GPUFuncOp kernel, ModuleOp into) {
  auto from = kernel->getParentOfType<gpu::GPUModuleOp>();
  auto b = OpBuilder::atBlockEnd(into.getBody());
  auto copy = gpu::GPUModuleOp::create(b, from.getLoc(), kernel.getName());
  llvm::SetVector<Operation *> needed = reachable(kernel);
  b.setInsertionPointToEnd(copy.getBody());
  for (Operation &op : *from.getBody())
    if (needed.contains(&op))
      b.clone(op);
  return copy;
}

gpu::GPUFuncOp kernelOf(gpu::GPUModuleOp module) {
  for (auto function : module.getOps<gpu::GPUFuncOp>())
    if (function.isKernel())
      return function;
  return nullptr;
}

/// The launch's numbers are known when tile ops have become threads' code.
LogicalResult readLaunch(gpu::GPUModuleOp module, CompiledKernel &k) {
  gpu::GPUFuncOp kernel = kernelOf(module);
  if (!kernel)
    return module.emitError("the kernel '")
           << k.name << "' is gone after the tile pipeline";
  auto block = blockSize(kernel);
  auto shared = sharedBytes(kernel);
  if (failed(block) || failed(shared))
    return failure();
  k.block = *block;
  k.grid = gridSize(kernel);
  k.sharedBytes = *shared;
  if (auto bytes = kernel->getAttrOfType<IntegerAttr>(blockBytesName))
    k.blockBytes = bytes.getInt();
  return success();
}

LogicalResult runPasses(ModuleOp modules,
                        llvm::function_ref<void(OpPassManager &)> build) {
  PassManager pm(modules.getContext());
  (void)applyPassManagerCLOptions(pm); // fails where a tool has none
  // Once at the end, and not after each pass: threads' code is long.
  pm.enableVerifier(false);
  build(pm.nest<gpu::GPUModuleOp>());
  if (failed(pm.run(modules)))
    return failure();
  return verify(modules);
}

/// Kernels and their modules, those that the cache does not have.
LogicalResult compileMissing(
    ModuleOp modules,
    MutableArrayRef<std::pair<CompiledKernel *, gpu::GPUModuleOp>> missing,
    const PtxOptions &options) {
  // Kernels of threads stand aside.
  OwningOpRef<ModuleOp> aside = ModuleOp::create(modules.getLoc());
  for (auto &[kernel, module] : missing)
    if (!worksOnBlocks(kernelOf(module)))
      module->moveBefore(aside->getBody(), aside->getBody()->end());
  TileOptions tile;
  tile.chip = options.chip;
  if (failed(runPasses(
          modules, [&](OpPassManager &pm) { buildTilePipeline(pm, tile); })))
    return failure();
  modules.getBody()->getOperations().splice(modules.getBody()->end(),
                                            aside->getBody()->getOperations());
  for (auto &[kernel, module] : missing)
    if (failed(readLaunch(module, *kernel)))
      return failure();
  if (failed(runPasses(modules, [&](OpPassManager &pm) {
        buildGpuToLLVMPipeline(pm, options);
      })))
    return failure();
  return failableParallelForEach(
      modules.getContext(), missing, [&](auto &item) -> LogicalResult {
        PtxOptions own = options;
        // What has no room for a second stage has no registers to spare.
        auto schedule =
            item.first->source->template getAttrOfType<ScheduleAttr>(
                scheduleName);
        own.steppedAddresses = !schedule || schedule.getStages() > 1;
        auto ptx = translateToPtx(item.second, own);
        if (failed(ptx))
          return failure();
        item.first->ptx = std::move(*ptx);
        return success();
      });
}

} // namespace

FailureOr<std::vector<CompiledKernel>>
tile::compileKernels(ModuleOp module, const PtxOptions &options,
                     const PtxCache &cache, StringRef only) {
  if (failed(checkChip(options.chip, module.getLoc())))
    return failure();
  std::vector<CompiledKernel> kernels;
  if (failed(collect(module, only, kernels)))
    return failure();
  OwningOpRef<ModuleOp> copies = ModuleOp::create(module.getLoc());
  SmallVector<std::pair<CompiledKernel *, gpu::GPUModuleOp>> missing;
  std::vector<std::string> keys;
  for (CompiledKernel &k : kernels) {
    gpu::GPUModuleOp copy = isolate(k.source, *copies);
    std::string key = cache.key(copy, options);
    if (cache.find(key, k)) {
      k.cached = true;
      copy.erase();
      continue;
    }
    missing.push_back({&k, copy});
    keys.push_back(std::move(key));
  }
  if (missing.empty())
    return kernels;
  if (failed(compileMissing(*copies, missing, options)))
    return failure();
  for (auto [item, key] : llvm::zip_equal(missing, keys))
    cache.store(key, *item.first);
  return kernels;
}

LogicalResult tile::checkSharedMemory(ArrayRef<CompiledKernel> kernels,
                                      StringRef chip) {
  for (CompiledKernel k : kernels)
    if (k.sharedBytes > sharedMemoryOf(chip))
      return k.source.emitError()
             << "the kernel '" << k.name << "' needs " << k.sharedBytes
             << " bytes of shared memory; a block has " << sharedMemoryOf(chip)
             << " on " << chip;
  return success();
}
