// SPDX-License-Identifier: Apache-2.0
//
// Each kernel gets a module of its own: it is the unit of the cache and of
// parallel compilation, and its text has only the symbols that it uses. Both
// pipelines run on all these modules at once.
//
//     collect ─► isolate ─► compileBlocks ─► (joinParts) ─► compileThreads
//
// compileBlocks goes from blocks to threads, compileThreads to PTX. Kernels are
// joined in between: launch sizes are known, and code is not in LLVM's dialect
// yet.
#include "passes/tile-to-nvvm/CompileKernels.h"
#include "dialects/tile/Dialect.h"
#include "mlir/IR/Threading.h"
#include "mlir/IR/Verifier.h"
#include "passes/tile-to-nvvm/JoinKernels.h"
#include "passes/tile-to-nvvm/KernelIndex.h"
#include "passes/tile-to-nvvm/Schedule.h"
#include "passes/tile-to-nvvm/TensorMaps.h"
#include "passes/tile/BlockBytes.h"
#include "passes/tile/KnownTarget.h"
#include "passes/tile/Pipeline.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace act;
using namespace act::tile;

namespace {

/// Kernel names are PTX identifiers and also file names.
LogicalResult checkName(gpu::GPUFuncOp kernel) {
  StringRef name = kernel.getName();
  bool fine = !name.empty() && name.size() <= 200 && !llvm::isDigit(name[0]) &&
              llvm::all_of(name, [](char c) {
                return llvm::isAlnum(c) || c == '_' || c == '$';
              });
  if (fine)
    return success();
  return kernel.emitOpError(
      "is not a valid kernel name: expected up to 200 letters, digits, _ and "
      "$, without a leading digit");
}

/// The kernels of all gpu.modules. Their names become files and entries of one
/// index, so they must differ across modules.
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
      auto error = kernel.emitOpError("has the same name as another kernel");
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

/// The ops of the gpu.module that `kernel` uses, including itself. The list
/// grows while it is read, so uses of uses are followed too.
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

/// Whether the kernel needs the tile pipeline.
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

/// A gpu.module with only this kernel, at the end of `into`.
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

/// Launch sizes are known once tile ops are lowered to threads.
LogicalResult readLaunch(gpu::GPUModuleOp module, CompiledKernel &k) {
  gpu::GPUFuncOp kernel = kernelOf(module);
  if (!kernel)
    return emitError(module.getLoc(), "the kernel '")
           << k.name << "' disappeared in the tile pipeline";
  auto block = blockSize(kernel);
  auto shared = sharedBytes(kernel);
  if (failed(block) || failed(shared))
    return failure();
  k.block = *block;
  k.grid = gridSize(kernel);
  k.sharedBytes = *shared;
  k.tensorMaps = tensorMapsOf(kernel);
  if (auto bytes = kernel->getAttrOfType<IntegerAttr>(blockBytesName))
    k.blockBytes = bytes.getInt();
  if (auto programs = kernel->getAttrOfType<IntegerAttr>(atOnceName))
    k.atOnce = programs.getInt();
  // Without what the passes found to be in vain.
  llvm::json::Object about = describe(kernel);
  llvm::json::Object *asked = k.about.getObject("schedule");
  llvm::json::Object *kept = about.getObject("schedule");
  if (asked && kept)
    for (StringRef key : {"rotated", "turns", "early", "ahead"})
      if (!kept->get(key))
        asked->erase(key);
  return success();
}

LogicalResult runPasses(ModuleOp modules,
                        llvm::function_ref<void(OpPassManager &)> build) {
  PassManager pm(modules.getContext());
  (void)applyPassManagerCLOptions(pm); // fails if not registered
  // Verifying after each pass would be slow: thread code is long.
  pm.enableVerifier(false);
  build(pm.nest<gpu::GPUModuleOp>());
  return pm.run(modules);
}

/// A kernel and a module with nothing else.
using Isolated = std::pair<CompiledKernel *, gpu::GPUModuleOp>;

/// Lowers blocks to threads and reads the launch sizes.
LogicalResult compileBlocks(ModuleOp modules, MutableArrayRef<Isolated> kernels,
                            const PtxOptions &options) {
  // Kernels that are thread code already are set aside.
  OwningOpRef<ModuleOp> aside = ModuleOp::create(modules.getLoc());
  for (auto &[kernel, module] : kernels)
    if (!worksOnBlocks(kernelOf(module)))
      module->moveBefore(aside->getBody(), aside->getBody()->end());
  // The verifier runs once, on what the pipeline has made.
  TileOptions tile;
  tile.chip = options.chip;
  if (failed(runPasses(
          modules, [&](OpPassManager &pm) { buildTilePipeline(pm, tile); })) ||
      failed(verify(modules)))
    return failure();
  modules.getBody()->getOperations().splice(modules.getBody()->end(),
                                            aside->getBody()->getOperations());
  for (auto &[kernel, module] : kernels)
    if (failed(readLaunch(module, *kernel)))
      return failure();
  return success();
}

/// Whether loops of `k` may keep addresses in registers: a kernel without room
/// for a second stage has no registers to spare.
bool stepsAddresses(gpu::GPUFuncOp kernel) {
  auto schedule = kernel->getAttrOfType<ScheduleAttr>(scheduleName);
  return !schedule || schedule.getStages() > 1;
}

/// Compiles thread code to PTX; LLVM verifies its input.
LogicalResult compileThreads(ModuleOp modules,
                             MutableArrayRef<Isolated> kernels,
                             const PtxOptions &options) {
  if (failed(runPasses(modules, [&](OpPassManager &pm) {
        buildGpuToLLVMPipeline(pm, options);
      })))
    return failure();
  return failableParallelForEach(
      modules.getContext(), kernels, [&](auto &item) -> LogicalResult {
        PtxOptions own = options;
        own.steppedAddresses = stepsAddresses(item.first->source);
        auto ptx = translateToPtx(item.second, own);
        if (failed(ptx))
          return failure();
        item.first->ptx = std::move(*ptx);
        return success();
      });
}

/// Joins `parts` into one kernel `k`, in a module at the end of `into`; null if
/// impossible. Grids and bytes add up, shared memory is the largest.
gpu::GPUModuleOp joinParts(StringRef name, CompiledKernel &k,
                           ArrayRef<KernelPart> parts,
                           ArrayRef<const CompiledKernel *> alone,
                           ModuleOp into) {
  for (const CompiledKernel *part : alone)
    if (stepsAddresses(part->source) != stepsAddresses(alone[0]->source))
      return nullptr;
  gpu::GPUModuleOp module = joinKernels(name, parts, into);
  if (!module)
    return nullptr;
  k.source = alone[0]->source;
  k.about = alone[0]->about;
  k.block = alone[0]->block;
  k.grid = {0, 1, 1};
  k.tensorMaps = tensorMapsOf(kernelOf(module));
  k.blockBytes = k.atOnce = 0;
  for (auto [part, one] : llvm::zip_equal(parts, alone)) {
    k.grid[0] += part.times * one->grid[0];
    k.sharedBytes = std::max(k.sharedBytes, one->sharedBytes);
    k.atOnce = std::max(k.atOnce, one->atOnce);
    k.blockBytes = one->blockBytes < 0 || k.blockBytes < 0
                       ? -1
                       : k.blockBytes + part.times * one->blockBytes;
  }
  return module;
}

} // namespace

FailureOr<std::vector<CompiledKernel>>
tile::compileKernels(ModuleOp module, const PtxOptions &options,
                     const PtxCache &cache, StringRef only) {
  if (failed(knownTarget(options.chip, module.getContext())))
    return failure();
  std::vector<CompiledKernel> kernels;
  if (failed(collect(module, only, kernels)))
    return failure();
  OwningOpRef<ModuleOp> copies = ModuleOp::create(module.getLoc());
  SmallVector<Isolated> missing;
  for (CompiledKernel &k : kernels) {
    gpu::GPUModuleOp copy = isolate(k.source, *copies);
    k.key = cache.key(copy, options);
    if (cache.find(k.key, k))
      copy.erase();
    else
      missing.push_back({&k, copy});
  }
  if (missing.empty())
    return kernels;
  bool warned = false;
  ScopedDiagnosticHandler listener(
      module.getContext(), [&](Diagnostic &diagnostic) {
        warned |= diagnostic.getSeverity() == DiagnosticSeverity::Warning;
        return failure(); // let other handlers print it
      });
  if (failed(compileBlocks(*copies, missing, options)) ||
      failed(compileThreads(*copies, missing, options)))
    return failure();
  // A kernel from the cache would not warn again.
  if (warned)
    return kernels;
  for (auto &[kernel, module] : missing)
    cache.store(kernel->key, *kernel);
  return kernels;
}

FailureOr<std::vector<CompiledKernel>>
tile::compileLaunched(ModuleOp module, ArrayRef<LaunchedKernel> launched,
                      const PtxOptions &options) {
  std::vector<CompiledKernel> alone;
  if (failed(knownTarget(options.chip, module.getContext())) ||
      failed(collect(module, "", alone)))
    return failure();
  OwningOpRef<ModuleOp> copies = ModuleOp::create(module.getLoc());
  SmallVector<Isolated> blocks;
  llvm::StringMap<size_t> number;
  for (CompiledKernel &k : alone) {
    number[k.name] = blocks.size();
    blocks.push_back({&k, isolate(k.source, *copies)});
  }
  if (failed(compileBlocks(*copies, blocks, options)))
    return failure();
  std::vector<CompiledKernel> made(launched.size());
  OwningOpRef<ModuleOp> modules = ModuleOp::create(module.getLoc());
  SmallVector<Isolated> threads;
  std::vector<int64_t> uses(blocks.size());
  for (const LaunchedKernel &what : launched)
    for (const LaunchedKernel::Part &part : what.parts)
      ++uses[number.at(part.kernel)];
  auto b = OpBuilder::atBlockEnd(modules->getBody());
  for (auto [k, what] : llvm::zip_equal(made, launched)) {
    SmallVector<KernelPart> parts;
    SmallVector<const CompiledKernel *> single;
    for (const LaunchedKernel::Part &part : what.parts) {
      auto &[one, own] = blocks[number.at(part.kernel)];
      parts.push_back({kernelOf(own), part.times});
      single.push_back(one);
    }
    gpu::GPUModuleOp own;
    if (parts.size() == 1 && parts[0].times == 1) {
      k = *single[0];
      own = parts[0].kernel->getParentOfType<gpu::GPUModuleOp>();
      // Another launch may need the thread code too; only then is it cloned.
      if (uses[number.at(what.parts[0].kernel)] == 1)
        own->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
      else
        own = cast<gpu::GPUModuleOp>(b.clone(*own));
      kernelOf(own).setName(what.name);
    } else {
      own = joinParts(what.name, k, parts, single, *modules);
      b.setInsertionPointToEnd(modules->getBody());
    }
    k.name = what.name;
    if (own)
      threads.push_back({&k, own});
  }
  if (failed(compileThreads(*modules, threads, options)))
    return failure();
  return made;
}

LogicalResult tile::checkSharedMemory(ArrayRef<CompiledKernel> kernels,
                                      StringRef chip) {
  const int64_t most = findTarget(chip.str())->limits.sharedBytesPerBlock;
  for (CompiledKernel k : kernels)
    if (k.sharedBytes > most)
      return emitError(k.source.getLoc())
             << "the kernel '" << k.name << "' needs " << k.sharedBytes
             << " bytes of shared memory, but a block has only " << most
             << " on " << chip;
  return success();
}
