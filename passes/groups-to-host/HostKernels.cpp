// SPDX-License-Identifier: Apache-2.0
//
// Compiles all kernels of a module: equal ones once, those in the cache not at
// all, the rest in parallel. Passes run on one nested module per kernel, so
// they may run at once, too.
#include "passes/groups-to-host/HostKernels.h"
#include "dialects/act/Dialect.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/IR/Threading.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Transforms/Passes.h"
#include "passes/groups-to-host/EmitSharedObject.h"
#include "passes/groups-to-host/HostKernelForm.h"
#include "passes/groups-to-host/Passes.h"
#include "passes/kernel-cache/KernelCache.h"
#include <atomic>

using namespace mlir;

namespace {

void addCleanup(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

/// For a module that holds one kernel.
void buildPipeline(OpPassManager &pm) {
  pm.addPass(act::createPrepareHostKernelPass());
  // Roots and producers are still visible on whole tensors.
  pm.addPass(act::createDistributeHostBlocksPass());
  addCleanup(pm);
  pm.addPass(act::createBufferizeHostKernelPass());
  addCleanup(pm);
  // Blocks come after bufferization, which decides what iterations share.
  pm.addPass(act::createLowerHostBlockLoopsPass());
  addCleanup(pm);
  pm.addPass(act::createVectorizeHostKernelPass());
  addCleanup(pm);
  pm.addPass(createLoopInvariantCodeMotionPass());
  // After everything that allocates, and before sizes become arithmetic.
  pm.addPass(act::createPlaceHostBuffersPass());
  pm.addPass(act::createExpandHostMathPass());
  addCleanup(pm);
  act::buildHostToLLVMPipeline(pm);
  pm.addPass(act::createWrapHostKernelPass());
}

/// A kernel in progress. Equal kernels are compiled once, under a symbol made
/// from their text; the linker adds their names.
struct Entry {
  std::string symbol; ///< in `object`: kernel_ and a digest
  std::string key;    ///< in the cache; empty without one
  ModuleOp module;    ///< to be compiled; none if it was found
  uint64_t grid = 1, scratchBytes = 0;
  std::vector<char> object; ///< relocatable
};

constexpr StringLiteral ending = ".host";

/// The cache entry: "GRID SCRATCH\n" and the object.
bool find(const act::KernelCache &cache, Entry &entry) {
  auto content = cache.find(entry.key, ending);
  if (!content)
    return false;
  auto [numbers, object] = StringRef(*content).split('\n');
  auto [grid, scratch] = numbers.split(' ');
  if (grid.getAsInteger(10, entry.grid) ||
      scratch.getAsInteger(10, entry.scratchBytes))
    return false;
  entry.object.assign(object.begin(), object.end());
  return true;
}

void store(const act::KernelCache &cache, const Entry &entry) {
  std::string content =
      (Twine(entry.grid) + " " + Twine(entry.scratchBytes) + "\n").str();
  content.append(entry.object.begin(), entry.object.end());
  cache.store(entry.key, content, ending);
}

/// The distinct kernels of a module, and their names there.
struct Entries {
  std::vector<Entry> list;
  std::vector<std::pair<std::string, size_t>> names; ///< and which of `list`
  OwningOpRef<ModuleOp> modules; ///< one nested module per kernel that is to be
                                 ///< compiled, so that several may be at once
};

/// The text with a fixed name, the target and the vector width make the symbol
/// and the key.
FailureOr<Entries> collect(ModuleOp kernels, const act::HostTarget &target,
                           const act::KernelCache &cache) {
  OpBuilder builder(kernels.getContext());
  Entries entries;
  entries.modules = ModuleOp::create(kernels.getLoc());
  std::string about = target.cpu + " " + target.features + " " +
                      std::to_string(target.vectorBits) + "\n";
  llvm::StringMap<size_t> known;
  for (Operation &op : *kernels.getBody()) {
    auto func = dyn_cast<func::FuncOp>(op);
    if (!func)
      return op.emitOpError("is not a func.func: only functions are kernels");
    if (failed(act::checkTensorKernel(func)))
      return failure();
    builder.setInsertionPointToEnd(entries.modules->getBody());
    auto inner = ModuleOp::create(builder, func.getLoc());
    inner->setAttr(act::kVectorBitsAttr,
                   builder.getI64IntegerAttr(target.vectorBits));
    builder.setInsertionPointToStart(inner.getBody());
    auto clone = cast<func::FuncOp>(builder.clone(*func));
    // Names are no part of the text: kernels that differ by name only are
    // equal.
    clone.setPublic();
    clone.setSymName("kernel");
    std::string text = about + act::textForKey(clone);
    Entry entry;
    entry.symbol = "kernel_" + act::digestOf(text).substr(0, 32);
    auto [slot, isNew] = known.try_emplace(entry.symbol, entries.list.size());
    entries.names.push_back({func.getSymName().str(), slot->second});
    entry.key = isNew ? cache.key("host 1 " + text) : "";
    if (!isNew || find(cache, entry)) {
      inner.erase();
    } else {
      clone.setSymName(entry.symbol);
      entry.module = inner;
    }
    if (isNew)
      entries.list.push_back(std::move(entry));
  }
  return entries;
}

/// Records whether a warning was emitted: kernels compiled with warnings are
/// not cached, so that the next run warns again.
class Warned {
public:
  explicit Warned(MLIRContext *context)
      : handler(context, [this](Diagnostic &) {
          any = true;
          return failure(); // let other handlers see it
        }) {}
  std::atomic<bool> any = false;

private:
  ScopedDiagnosticHandler handler;
};

LogicalResult compile(Entry &entry, const act::HostTarget &target) {
  auto object = act::emitObject(entry.module, target);
  if (failed(object))
    return failure();
  entry.object = std::move(*object);
  for (auto func : entry.module.getOps<LLVM::LLVMFuncOp>())
    if (auto grid = func->getAttrOfType<IntegerAttr>(act::kGridAttr)) {
      auto scratch = func->getAttrOfType<IntegerAttr>(act::kScratchAttr);
      entry.grid = uint64_t(grid.getInt());
      entry.scratchBytes = uint64_t(scratch.getInt());
    }
  return success();
}

} // namespace

void act::buildHostToLLVMPipeline(OpPassManager &pm) {
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  ConvertVectorToLLVMPassOptions vectorOptions;
  // The order of additions is part of the contract.
  vectorOptions.reassociateFPReductions = false;
  vectorOptions.force32BitVectorIndices = true;
  pm.addPass(createConvertVectorToLLVMPass(vectorOptions));
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions funcOptions;
  funcOptions.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(funcOptions));
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createConvertIndexToLLVMPass());
  addCleanup(pm);
  pm.addPass(createReconcileUnrealizedCastsPass());
}

FailureOr<act::HostCode> act::compileHostKernels(ModuleOp kernels,
                                                 const HostOptions &options) {
  MLIRContext *context = kernels.getContext();
  Location loc = kernels.getLoc();
  auto target = describeTarget(options.cpu, options.features, loc);
  if (failed(target))
    return failure();
  KernelCache cache(options.cacheDir);
  auto entries = collect(kernels, *target, cache);
  if (failed(entries))
    return failure();
  Warned warned(context);
  PassManager pm(context);
  (void)applyPassManagerCLOptions(pm); // fails if not registered
  buildPipeline(pm.nest<ModuleOp>());
  if (failed(pm.run(*entries->modules)))
    return failure();

  auto emit = [&](size_t i) -> LogicalResult {
    Entry &entry = entries->list[i];
    return entry.module ? compile(entry, *target) : success();
  };
  if (failed(failableParallelForEachN(context, 0, entries->list.size(), emit)))
    return failure();
  std::vector<std::vector<char>> objects;
  for (Entry &entry : entries->list) {
    if (entry.module && !warned.any)
      store(cache, entry);
    objects.push_back(std::move(entry.object));
  }
  HostCode code;
  code.cpu = target->cpu;
  std::vector<SymbolAlias> aliases;
  for (const auto &[name, i] : entries->names) {
    const Entry &entry = entries->list[i];
    code.kernels.push_back({name, entry.grid, entry.scratchBytes});
    aliases.push_back({name, entry.symbol});
  }
  auto linked = linkObjects(objects, loc, {}, aliases);
  if (failed(linked))
    return failure();
  code.sharedObject = std::move(*linked);
  return code;
}

void act::registerHostKernelDialects(DialectRegistry &registry) {
  registry.insert<ActDialect>(); // roles of arguments
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllToLLVMIRTranslations(registry);
}
