// SPDX-License-Identifier: Apache-2.0
#include "passes/emit/GpuKernels.h"
#include "act/Target/Target.h"
#include "dialects/act/Flops.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"
#include "passes/act-to-tile/Passes.h"
#include "passes/tile-to-nvvm/EmitPtx.h"
#include "passes/tile-to-nvvm/PtxText.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace act;

/// The entry's name in the cache, where kernels have no name.
static constexpr llvm::StringLiteral nameless = "act_kernel";

namespace {

/// Collects errors instead of printing them: they are about linalg or thread
/// code that the user has not written. explain() reports them at an act op.
class HeldErrors {
public:
  explicit HeldErrors(MLIRContext *context)
      : handler(context, [this](Diagnostic &d) {
          if (d.getSeverity() != DiagnosticSeverity::Error)
            return failure();
          errors.push_back(std::move(d));
          return success();
        }) {}
  std::vector<Diagnostic> errors;

private:
  ScopedDiagnosticHandler handler;
};

/// The op of a group with location `loc`.
Operation *opAt(ArrayRef<const GroupKernel *> kernels, Location loc) {
  Operation *found = nullptr;
  for (const GroupKernel *k : kernels) {
    GroupOp group = k->group;
    group.getBody().walk([&](Operation *op) {
      if (!found && op->getLoc() == loc)
        found = op;
    });
  }
  return found;
}

/// Reports the first of `errors` as an error of an act operation.
LogicalResult explain(std::vector<Diagnostic> errors,
                      ArrayRef<const GroupKernel *> kernels,
                      const GpuOptions &options) {
  if (errors.empty())
    return failure();
  Diagnostic &first = errors.front();
  Operation *op = opAt(kernels, first.getLocation());
  GroupOp group = op ? op->getParentOfType<GroupOp>() : kernels.front()->group;
  InFlightDiagnostic error = op ? op->emitOpError() : group.emitOpError();
  error << "has no kernel for " << options.ptx.chip << ", in the group '"
        << group.getName() << "'";
  // The lowering's own words follow as notes.
  for (Diagnostic &d : errors) {
    error.attachNote(d.getLocation()) << d.str();
    for (Diagnostic &note : d.getNotes())
      error.attachNote(note.getLocation()) << note.str();
  }
  return error;
}

/// Values chosen at launch, such as the learning rate, are read from memory: a
/// recorded launch that is replayed reads them anew.
///
///     gpu.func @k(%lr: f32)             gpu.func @k(%p: !tile.ptr<f32>)
///                                         %lr = tile.load (view of %p)
void passByPointer(gpu::GPUFuncOp kernel) {
  Block &entry = kernel.getBody().front();
  auto b = OpBuilder::atBlockBegin(&entry);
  for (BlockArgument argument : entry.getArguments()) {
    Type type = argument.getType();
    if (isa<tile::PtrType>(type))
      continue;
    auto view = tile::ViewType::get({}, type, {});
    argument.setType(tile::PtrType::get(b.getContext(), type));
    Value memory = tile::ViewOp::create(b, argument.getLoc(), view, argument,
                                        ArrayRef<OpFoldResult>());
    Value value = tile::LoadOp::create(b, argument.getLoc(), memory,
                                       ValueRange(), ArrayRef<int64_t>());
    argument.replaceAllUsesExcept(value, memory.getDefiningOp());
  }
  kernel.setFunctionType(
      FunctionType::get(b.getContext(), entry.getArgumentTypes(), {}));
}

/// Converts `function` to a kernel at the end of `into`, planned for
/// `sharedBytes`. It has a module of its own meanwhile, so an error concerns
/// one function.
LogicalResult convert(func::FuncOp function, int64_t sharedBytes,
                      const GpuOptions &options, gpu::GPUModuleOp into) {
  OwningOpRef<ModuleOp> alone = ModuleOp::create(function.getLoc());
  alone->push_back(function.clone());
  PassManager pm(function.getContext());
  (void)applyPassManagerCLOptions(pm); // fails if not registered
  tile::ConvertLinalgToTilePassOptions blocks;
  blocks.f32Products = tile::stringifyDotPrecision(options.f32Products).str();
  blocks.target = options.ptx.chip;
  blocks.sharedBytes = sharedBytes;
  blocks.schedules = options.schedules;
  blocks.seed = options.drawSchedules;
  pm.addPass(tile::createConvertLinalgToTilePass(blocks));
  if (failed(pm.run(*alone)))
    return failure();
  for (auto from : alone->getOps<gpu::GPUModuleOp>())
    for (Operation &op : llvm::make_early_inc_range(*from.getBody())) {
      if (auto kernel = dyn_cast<gpu::GPUFuncOp>(op);
          kernel && kernel.isKernel())
        passByPointer(kernel);
      op.moveBefore(into.getBody(), into.getBody()->end());
    }
  return success();
}

/// The shared memory that the parts of `k`, kernels in `blocks`, were planned
/// to take.
int64_t plannedBytes(const LaunchKernel &k, gpu::GPUModuleOp blocks) {
  int64_t bytes = 0;
  for (auto [part, times] : k.parts) {
    func::FuncOp function = part->function;
    auto kernel = blocks.lookupSymbol<gpu::GPUFuncOp>(function.getName());
    if (auto own = kernel->getAttrOfType<IntegerAttr>(tile::plannedBytesName))
      bytes = std::max(bytes, own.getInt());
  }
  return bytes;
}

/// A kernel, and the shared memory that it was planned to take.
using Planned = std::pair<tile::CompiledKernel, int64_t>;

/// Compiles all `kernels`, planned for at most so much shared memory. If they
/// take more than there is, that is an error only if `isLast`.
FailureOr<std::vector<Planned>> compile(ArrayRef<const LaunchKernel *> kernels,
                                        int64_t sharedBytes, bool isLast,
                                        const GpuOptions &options) {
  // Each function is lowered once, whatever launches it is a part of.
  llvm::SetVector<const GroupKernel *> functions;
  std::vector<tile::LaunchedKernel> launched;
  for (const LaunchKernel *k : kernels) {
    launched.push_back({k->name, {}});
    for (auto [part, times] : k->parts) {
      functions.insert(part);
      func::FuncOp function = part->function;
      launched.back().parts.push_back({function.getName().str(), times});
    }
  }
  func::FuncOp any = functions.front()->function;
  MLIRContext *context = any.getContext();
  Location loc = any.getLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  auto b = OpBuilder::atBlockEnd(module->getBody());
  auto blocks = gpu::GPUModuleOp::create(b, loc, "kernels");
  std::vector<Diagnostic> errors;
  for (const GroupKernel *k : functions) {
    {
      HeldErrors held(context);
      if (succeeded(convert(k->function, sharedBytes, options, blocks)))
        continue;
      errors = std::move(held.errors);
    }
    return explain(std::move(errors), k, options);
  }
  {
    HeldErrors held(context);
    auto compiled = tile::compileLaunched(*module, launched, options.ptx);
    if (succeeded(compiled) && (!isLast || succeeded(tile::checkSharedMemory(
                                               *compiled, options.ptx.chip)))) {
      std::vector<Planned> made;
      for (auto [k, launch] : llvm::zip_equal(*compiled, kernels)) {
        k.source = nullptr; // it points into `module`, which is destroyed here
        made.emplace_back(std::move(k), plannedBytes(*launch, blocks));
      }
      return made;
    }
    errors = std::move(held.errors);
  }
  return explain(std::move(errors), functions.getArrayRef(), options);
}

/// Compiles each as it was planned. The plan estimates shared memory; if it was
/// too low, the kernel is planned once more, for less by as much.
FailureOr<std::vector<tile::CompiledKernel>>
compile(ArrayRef<const LaunchKernel *> kernels, const GpuOptions &options) {
  const int64_t most = planOptions(options).sharedBytes;
  auto made = compile(kernels, most, /*isLast=*/false, options);
  if (failed(made))
    return failure();
  std::vector<tile::CompiledKernel> done;
  for (auto [i, one] : llvm::enumerate(*made)) {
    auto &[k, planned] = one;
    const LaunchKernel &launch = *kernels[i];
    const bool isOver = k.sharedBytes > most,
               isJoined = launch.parts.size() > 1 || launch.parts[0].second > 1;
    if (isOver && isJoined) {
      k.ptx.clear(); // its parts are planned again apart
    } else if (isOver) {
      auto again = compile(
          kernels[i], std::max<int64_t>(1, planned - (k.sharedBytes - most)),
          /*isLast=*/true, options);
      if (failed(again))
        return failure();
      k = std::move((*again)[0].first);
    }
    done.push_back(std::move(k));
  }
  return done;
}

/// The index entry of a launch with all its parts.
llvm::json::Object aboutAll(const LaunchKernel &k) {
  if (k.parts.size() == 1 && k.parts[0].second == 1)
    return k.parts[0].first->about;
  llvm::json::Array ops, shapes;
  // Each instance counts: it does its own work on its own memory.
  int64_t flops = 0, bytes = 0;
  for (auto [part, times] : k.parts)
    for (int64_t i = 0; i < times; ++i) {
      for (const llvm::json::Value &op : *part->about.getArray("ops"))
        ops.push_back(op);
      for (const llvm::json::Value &shape : *part->about.getArray("shapes"))
        shapes.push_back(shape);
      flops = flopsSum({flops, *part->about.getInteger("useful_flops")});
      bytes = flopsSum({bytes, *part->about.getInteger("least_bytes")});
    }
  return llvm::json::Object{{"ops", std::move(ops)},
                            {"shapes", std::move(shapes)},
                            {"useful_flops", flops},
                            {"least_bytes", bytes}};
}

/// Fills the named `k` from the cache entry of `key`. Entries have no name, so
/// models share them, whatever they call the kernel.
bool find(const tile::PtxCache &cache, const std::string &key,
          tile::CompiledKernel &k) {
  if (!cache.find(key, k))
    return false;
  k.ptx = tile::renameEntry(k.ptx, nameless, k.name);
  return true;
}

/// A launch's text without names.
std::string textOf(const LaunchKernel &k) {
  if (k.parts.size() == 1 && k.parts[0].second == 1)
    return k.parts[0].first->text;
  std::string text;
  for (auto [part, times] : k.parts)
    text += std::to_string(times) + " times\n" + part->text;
  return text;
}

} // namespace

tile::PlanOptions act::planOptions(const GpuOptions &options) {
  const Target *target = findTarget(options.ptx.chip);
  auto table = tile::schedulesFor(*target, options.schedules);
  if (!table)
    llvm::consumeError(table.takeError()); // said when it was opened
  return {target, target->limits.sharedBytesPerBlock, options.drawSchedules,
          table ? *table : nullptr};
}

void act::registerGpuKernelDialects(DialectRegistry &registry) {
  tile::registerPtxDialects(registry);
  registry
      .insert<affine::AffineDialect, func::FuncDialect, linalg::LinalgDialect,
              tensor::TensorDialect, tile::TileDialect>();
}

// Looks each launch up by its text, compiles all that are missing together, and
// fills in what only the caller knows: names, and what is in the index.
FailureOr<std::vector<tile::CompiledKernel>>
act::compileGpuKernels(ArrayRef<LaunchKernel> kernels,
                       const GpuOptions &options, const tile::PtxCache &cache) {
  std::vector<tile::CompiledKernel> compiled(kernels.size());
  SmallVector<const LaunchKernel *> missing;
  std::vector<std::string> keys;
  SmallVector<size_t> places; // indices of `missing`
  std::string variant =
      tile::stringifyDotPrecision(options.f32Products).str() + "\n";
  if (options.drawSchedules)
    variant += "drawn " + std::to_string(options.drawSchedules) + "\n";
  for (auto [i, k] : llvm::enumerate(kernels)) {
    keys.push_back(cache.key(variant + textOf(k), options.ptx));
    compiled[i].name = k.name;
    if (!find(cache, keys[i], compiled[i])) {
      missing.push_back(&k);
      places.push_back(i);
    }
  }
  if (!missing.empty()) {
    auto made = compile(missing, options);
    if (failed(made))
      return failure();
    for (auto [k, i] : llvm::zip_equal(*made, places)) {
      // Without PTX the parts cannot be one kernel; nothing to keep.
      if (!k.ptx.empty()) {
        tile::CompiledKernel entry = k;
        entry.ptx = tile::renameEntry(k.ptx, k.name, nameless);
        cache.store(keys[i], entry);
      }
      compiled[i] = std::move(k);
    }
  }
  for (auto [k, key, given] : llvm::zip_equal(compiled, keys, kernels)) {
    k.key = key;
    for (auto &[word, value] : aboutAll(given))
      k.about[word] = value;
  }
  return compiled;
}

// The list has keys and names; the kernels themselves are entries that models
// share. If one of those is gone, the model is compiled again.
std::optional<std::vector<tile::CompiledKernel>>
act::findGpuKernels(const tile::PtxCache &cache, const std::string &key) {
  auto text = cache.findText(key);
  if (!text)
    return std::nullopt;
  auto list = llvm::json::parse(*text);
  if (!list) {
    llvm::consumeError(list.takeError());
    return std::nullopt;
  }
  std::vector<tile::CompiledKernel> kernels;
  for (llvm::json::Value &entry : *list->getAsArray()) {
    llvm::json::Object &words = *entry.getAsObject();
    tile::CompiledKernel &k = kernels.emplace_back();
    k.name = *words.getString("name");
    k.key = *words.getString("key");
    if (!find(cache, k.key, k))
      return std::nullopt;
    k.about = std::move(*words.getObject("about"));
  }
  return kernels;
}

void act::storeGpuKernels(const tile::PtxCache &cache, const std::string &key,
                          ArrayRef<tile::CompiledKernel> kernels) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os);
  json.array([&] {
    for (const tile::CompiledKernel &k : kernels)
      json.object([&] {
        json.attribute("name", k.name);
        json.attribute("key", k.key);
        json.attribute("about", llvm::json::Object(k.about));
      });
  });
  cache.storeText(key, text);
}
