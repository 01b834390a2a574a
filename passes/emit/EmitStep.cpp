// SPDX-License-Identifier: Apache-2.0
//
// Puts an artifact together:
//
//     complete ─► flatten ─► lower groups ─► place ─► compile
//
// The host runs one kernel per launch; on a GPU, several launches may be one
// (GpuLaunches.h). The file decides nothing: the passes before it do.
#include "passes/emit/EmitStep.h"
#include "act/File/AtomicFile.h"
#include "act/Report/MemoryReport.h"
#include "dialects/act/AttrNames.h"
#include "passes/emit/GpuLaunches.h"
#include "passes/emit/InputRange.h"
#include "passes/emit/PlaceFunction.h"
#include "passes/groups-to-host/HostKernels.h"
#include "passes/lower-groups/LowerGroups.h"
#include "passes/memory/MemoryModel.h"
#include "passes/module/Entries.h"
#include "passes/step/Complete.h"
#include "passes/step/DeriveInference.h"
#include "passes/step/WriteStep.h"
#include "passes/tile-to-nvvm/PtxText.h"
#include "passes/tile/KnownTarget.h"
#include "llvm/Support/FormatVariadic.h"
#include <optional>
#include <set>

using namespace mlir;
using namespace act;

namespace {

class Emitter {
public:
  Emitter(ModuleOp module, const EmitOptions &options)
      : module(module), options(options) {}

  FailureOr<artifact::Step> run();
  FailureOr<std::vector<tile::CompiledKernel>> runKernels();
  LogicalResult addTarget(const Program &program, report::MemoryReport &report);

private:
  bool onGpu() const { return !options.target.empty(); }
  LogicalResult functions();
  LogicalResult prepare();
  LogicalResult place(ArrayRef<std::pair<std::string, const Program *>> list);
  LogicalResult hostCode();
  LogicalResult compileForGpu();
  LogicalResult gpuCode();
  LogicalResult describe(size_t function);

  ModuleOp module;
  EmitOptions options;
  artifact::Step step;
  StepTables tables{step};
  StepKernels kernels;
  std::vector<Program> programs;
  std::vector<PlacedFunction> placed; // in the order of step.functions
  std::optional<GpuLaunches> gpu;
  std::optional<report::MemoryReport> described;
  std::set<uint32_t> describedKernels;
};

/// The memory report that the artifact carries, to compare runs with. It leaves
/// out what the list of launches says already.
LogicalResult Emitter::describe(size_t function) {
  const PlacedFunction &f = placed[function];
  auto report = describeMemory(module, *f.program, f.plan);
  if (failed(report))
    return failure();
  if (onGpu()) {
    report->target = options.target;
    gpu->count(function, *report);
  }
  report->timeline.clear(); // the list of launches replaces it
  report->buffers.clear();
  report->peakAt.alive.clear();
  for (const artifact::Launch &launch : f.function.launches)
    if (launch.kernel != artifact::copyKernel)
      describedKernels.insert(launch.kernel);
  described = std::move(*report);
  return success();
}

/// Completes the module to kernel form, and checks that it can be what the mode
/// asks for. A module in kernel form can no longer be differentiated, so each
/// way to get there without a step has its own message.
LogicalResult Emitter::prepare() {
  InputRange range = inputRange(module);
  step.vocabulary = range.vocabulary;
  step.maxPositions = range.maxPositions;
  if (auto next = module->getAttrOfType<BoolAttr>(predictsNextAttr))
    step.predictsNext = next.getValue();
  if (options.mode.empty()) {
    bool trains = module.lookupSymbol(stepName) ||
                  module.lookupSymbol(gradName) || returnsLoss(module);
    options.mode = isDifferentiableFunction(module) ? "function"
                   : trains                         ? "train"
                                                    : "infer";
  }
  if (options.mode == "infer") {
    if (failed(deriveInference(module)))
      return failure();
  } else if (options.mode == "function") {
    if (!isDifferentiableFunction(module))
      return emitError(module.getLoc(),
                       "mode function needs a differentiable function: "
                       "@forward with the attribute act.differentiable");
  } else if (options.mode != "train") {
    return emitError(module.getLoc()) << "unknown mode '" << options.mode
                                      << "': expected train, infer or function";
  }
  if (options.mode == "function" && lacksGradient(module))
    return emitError(module.getLoc(),
                     "the module is in kernel form without a gradient and can "
                     "no longer be differentiated; differentiate it first: "
                     "--autodiff --form-kernels");
  if (options.mode == "train" && lacksGradient(module))
    return emitError(
        module.getLoc(),
        "the module is in kernel form without a gradient and can no longer "
        "be differentiated; write the optimizer before kernels "
        "are formed: --optimizer=adamw --form-kernels");
  if (failed(completeModule(module)))
    return failure();
  if (options.mode == "train" && !module.lookupSymbol(stepName) &&
      module.lookupSymbol(gradName))
    return emitError(
        module.getLoc(),
        "the module has kernels but no @step; write the optimizer before "
        "kernels are formed: --optimizer=adamw --form-kernels");
  if (options.mode == "train" && !module.lookupSymbol(stepName))
    return emitError(
        module.getLoc(),
        "the module has no training step: @forward returns no loss, "
        "or nothing is trained");
  if (options.mode == "train") {
    stripDropout(module);
    if (auto optimizer = module->getAttrOfType<StringAttr>(optimizerAttr))
      step.optimizer = optimizer.getValue().str();
    if (auto n = module->getAttrOfType<IntegerAttr>(microBatchesAttr))
      step.microBatches = n.getInt();
    if (auto average = module->getAttrOfType<StringAttr>(lossAverageAttr))
      step.lossAverage = average == "labels"
                             ? artifact::LossAverage::Labels
                             : artifact::LossAverage::MicroBatches;
  }
  return success();
}

/// Compiles the shared kernels. The compiler decides a kernel's grid and its
/// threads' scratch, so they are filled in here.
LogicalResult Emitter::hostCode() {
  HostOptions host;
  host.cpu = options.cpu;
  host.cacheDir = options.cacheDir;
  auto code = compileHostKernels(kernelsOf(module), host);
  if (failed(code))
    return failure();
  std::map<std::string, const HostKernelInfo *> bySymbol;
  for (const HostKernelInfo &k : code->kernels)
    bySymbol[k.symbol] = &k;
  for (artifact::Kernel &k : step.kernels) {
    auto it = bySymbol.find(k.symbol);
    if (it == bySymbol.end())
      return emitError(module.getLoc())
             << "the host compiler made no kernel " << k.symbol;
    k.grid = it->second->grid;
    k.scratchBytes = it->second->scratchBytes;
  }
  if (described) {
    // A thread runs one kernel at a time, so the largest scratch serves all.
    int64_t scratch = 0;
    for (uint32_t k : describedKernels)
      scratch = std::max(scratch, int64_t(step.kernels[k].scratchBytes));
    described->scratchBytesPerThread = scratch;
  }
  step.target = code->cpu;
  step.code = code->sharedObject;
  return success();
}

/// Decides which launches are joined and compiles the kernels that this needs.
static tile::PtxCache cacheOf(const EmitOptions &options) {
  return tile::PtxCache(options.schedules.empty() ? options.cacheDir : "none");
}

LogicalResult Emitter::compileForGpu() {
  GpuOptions gpuOptions;
  gpuOptions.ptx.chip = options.target;
  if (!options.f32Products.empty()) {
    auto precision = tile::symbolizeDotPrecision(options.f32Products);
    if (!precision)
      return emitError(module.getLoc())
             << "unknown f32-products '" << options.f32Products
             << "': expected ieee, bf16x3 or tf32";
    gpuOptions.f32Products = *precision;
  }
  gpuOptions.schedules = options.schedules;
  gpuOptions.drawSchedules = options.drawSchedules;
  auto table =
      tile::schedulesFor(*findTarget(options.target), options.schedules);
  if (!table)
    return emitError(module.getLoc())
           << "schedules: " << llvm::toString(table.takeError());
  gpu.emplace(kernels, placed, options.joinLaunches);
  return gpu->compile(gpuOptions, cacheOf(options));
}

/// For a report: compiles the kernels of a program to count launches and bytes.
/// There is no artifact.
LogicalResult Emitter::addTarget(const Program &program,
                                 report::MemoryReport &report) {
  if (failed(tile::knownTarget(options.target, module.getContext())))
    return failure();
  tables.addParameters(module, options.mode != "infer");
  if (failed(place({{"", &program}})) || failed(compileForGpu()))
    return failure();
  report.target = options.target;
  gpu->count(0, report);
  return success();
}

/// Joins the kernels' texts to one PTX text, the artifact's code, and puts
/// cubins beside it.
LogicalResult Emitter::gpuCode() {
  SmallVector<tile::PtxKernel> texts;
  for (const tile::CompiledKernel &made : gpu->compiled) {
    artifact::Kernel &to = step.kernels.emplace_back();
    to.symbol = made.name;
    auto [x, y, z] = made.grid;
    if (x < 1 || y != 1 || z != 1 || made.block[1] != 1 || made.block[2] != 1)
      return emitError(module.getLoc())
             << "kernel " << made.name
             << " has a grid or a block of more than one dimension, which a "
                "step cannot launch";
    to.grid = x;
    to.persistent = made.isPersistent();
    to.atOnce = uint32_t(made.atOnce);
    to.cluster = tile::clusterIn(made.ptx);
    to.threads = made.block[0];
    to.sharedBytes = made.sharedBytes;
    to.tensorMaps = made.tensorMaps;
    texts.push_back({made.name, made.ptx});
  }
  auto joined = tile::joinPtx(texts);
  if (!joined)
    return emitError(module.getLoc()) << joined.error().str();
  step.device = "cuda";
  step.target = options.target;
  step.code.assign(joined->begin(), joined->end());
  return addCubins(step, *gpu, options.cubins, tile::PtxCache(options.cacheDir),
                   module.getLoc());
}

/// The whole artifact: functions, code, and the report of the main function.
FailureOr<artifact::Step> Emitter::run() {
  auto name = module.getSymName();
  step.model = name ? name->str() : "model";
  if (failed(functions()) || (onGpu() && failed(compileForGpu())))
    return failure();
  for (const auto &[i, f] : llvm::enumerate(placed)) {
    step.functions.push_back(onGpu() ? gpu->functions[i] : f.function);
    // The first one is the main function.
    if (i == 0 && failed(describe(i)))
      return failure();
  }
  if (!options.kernelsFile.empty()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    // As a module of its own, with what it needs to be parsed.
    OwningOpRef<ModuleOp> alone(kernelsOf(module).clone());
    (*alone)->removeAttr(targetAttr);
    (*alone)->removeAttr(SymbolTable::getSymbolAttrName());
    alone->print(os);
    if (auto written = file::writeFile(options.kernelsFile, text); !written)
      return emitError(module.getLoc()) << written.error().str();
  }
  if (failed(onGpu() ? gpuCode() : hostCode()))
    return failure();
  if (described)
    step.report = report::toJson(*described);
  return std::move(step);
}

FailureOr<std::vector<tile::CompiledKernel>> Emitter::runKernels() {
  if (failed(functions()) || failed(compileForGpu()))
    return failure();
  return std::move(gpu->compiled);
}

/// Lowers the groups of all functions, so that a training step and its
/// evaluation share kernels, and places each.
LogicalResult
Emitter::place(ArrayRef<std::pair<std::string, const Program *>> list) {
  if (failed(lowerGroups(
          module,
          llvm::map_to_vector(list, [](const auto &f) { return f.second; }),
          options.target)))
    return failure();
  for (const auto &[as, program] : list)
    kernels.add(module, *program);
  if (!onGpu())
    for (const GroupKernel &k : kernels.list())
      step.kernels.push_back({k.function.getName().str(), 1, 0});
  for (const auto &[as, program] : list) {
    auto f =
        placeFunction(as, *program, kernels, tables, onGpu(), module.getLoc());
    if (failed(f))
      return failure();
    placed.push_back(std::move(*f));
  }
  return success();
}

LogicalResult Emitter::functions() {
  if (onGpu() && failed(tile::knownTarget(options.target, module.getContext())))
    return failure();
  if (failed(prepare()))
    return failure();
  tables.addParameters(module, options.mode != "infer");
  // Their names in the module, and what they are in the step.
  SmallVector<std::pair<StringRef, std::string>> names;
  if (options.mode == "train") {
    names.push_back({stepName, "step"});
    if (module.lookupSymbol(forwardName))
      names.push_back({forwardName, "eval"});
  } else if (options.mode == "function") {
    names.push_back({gradName, "grad"});
    if (module.lookupSymbol(forwardName))
      names.push_back({forwardName, "forward"});
  } else {
    names.push_back({forwardName, "forward"});
  }
  for (const auto &[name, as] : names) {
    auto program = flatten(module, name);
    if (failed(program))
      return failure();
    programs.push_back(std::move(*program));
  }
  SmallVector<std::pair<std::string, const Program *>> list;
  for (const auto &[name, program] : llvm::zip_equal(names, programs))
    list.push_back({name.second, &program});
  return place(list);
}

} // namespace

FailureOr<std::vector<tile::CompiledKernel>>
act::compileKernelsOf(ModuleOp module, const EmitOptions &options) {
  // The whole model's text is the key: a model that was compiled before needs
  // no pass at all.
  tile::PtxOptions ptx;
  ptx.chip = options.target;
  tile::PtxCache cache = cacheOf(options);
  std::string key =
      cache.key(llvm::formatv("model\n{0}\n{1}\n{2}\n{3}\n{4}", options.mode,
                              options.f32Products, options.joinLaunches,
                              options.drawSchedules, textForKey(module))
                    .str(),
                ptx);
  if (auto kernels = findGpuKernels(cache, key))
    return std::move(*kernels);
  OwningOpRef<ModuleOp> copy(module.clone());
  auto kernels = Emitter(*copy, options).runKernels();
  if (succeeded(kernels))
    storeGpuKernels(cache, key, *kernels);
  return kernels;
}

LogicalResult act::addTarget(report::MemoryReport &report,
                             const Program &program, ModuleOp module,
                             const EmitOptions &options) {
  return Emitter(module, options).addTarget(program, report);
}

FailureOr<artifact::Step> act::emitStep(ModuleOp module,
                                        const EmitOptions &options) {
  return Emitter(module, options).run();
}
