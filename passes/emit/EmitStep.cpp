// SPDX-License-Identifier: Apache-2.0
//
// Puts an artifact together: lowers every group of the flattened functions,
// shares equal kernels, gives launches their addresses, and has the kernels
// compiled.
//
//     flatten ─► lower ─► share ─► placeFunction ─► hostCode
//                                               └─► join ─► compile ─► gpuCode
//
// The host calls one kernel per launch. On a GPU, several launches may be one,
// so kernels are compiled only when the plan shows which are independent. The
// file decides nothing about memory: offsets come from planArena.
#include "passes/emit/EmitStep.h"
#include "act/File/AtomicFile.h"
#include "act/Report/MemoryReport.h"
#include "dialects/act/Flops.h"
#include "dialects/act/Types.h"
#include "passes/act-to-tile/KernelGrid.h"
#include "passes/act/Complete.h"
#include "passes/act/DeriveInference.h"
#include "passes/act/Differentiate.h"
#include "passes/act/MemoryModel.h"
#include "passes/act/WriteStep.h"
#include "passes/emit/GpuKernels.h"
#include "passes/emit/InputRange.h"
#include "passes/emit/JoinLaunches.h"
#include "passes/emit/ScratchRing.h"
#include "passes/groups-to-host/HostKernels.h"
#include "passes/tile-to-nvvm/PtxText.h"
#include "passes/tile/KnownTarget.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>
#include <optional>
#include <set>

using namespace mlir;
using namespace act;

namespace {

artifact::DType dtypeOf(Type element) {
  using artifact::DType;
  if (auto nf4 = dyn_cast<NF4Type>(element))
    return nf4.getNested() ? DType::NF4Nested : DType::NF4;
  if (element.isF64())
    return DType::F64;
  if (element.isF32())
    return DType::F32;
  if (element.isBF16())
    return DType::BF16;
  if (element.isF16())
    return DType::F16;
  if (isa<FloatType>(element))
    return DType::F8E4M3FN;
  if (element.isInteger(1))
    return DType::I1;
  return element.isInteger(32) ? DType::I32 : DType::I64;
}

artifact::TensorType tensorOf(RankedTensorType type) {
  artifact::TensorType t;
  t.dtype = dtypeOf(type.getElementType());
  t.shape.assign(type.getShape().begin(), type.getShape().end());
  if (auto nf4 = dyn_cast<NF4Type>(type.getElementType()))
    t.blockSize = nf4.getBlock();
  return t;
}

/// The checkpoint name of layer `l`.
std::string layerName(StringRef name, ParameterOp op, int64_t l) {
  std::string out = name.str();
  if (size_t at = out.find("{l}"); op.getLayers() && at != std::string::npos)
    out.replace(at, 3, std::to_string(l));
  return out;
}

class Emitter {
public:
  Emitter(ModuleOp module, const EmitOptions &options)
      : module(module), options(options),
        kernels(ModuleOp::create(module.getLoc())) {}

  FailureOr<artifact::Step> run();
  FailureOr<std::vector<tile::CompiledKernel>> runKernels();
  LogicalResult addTarget(const Program &program, report::MemoryReport &report);

private:
  LogicalResult functions();
  LogicalResult prepare();
  LogicalResult hostCode();
  LogicalResult compileForGpu();
  LogicalResult gpuCode();
  void parameters();
  /// A function of the module, flattened, and its name in the step.
  struct Flat {
    std::string as;
    Program program;
  };
  /// The same with memory assigned.
  struct Placed {
    const Program *program;
    ArenaPlan plan;
    artifact::Function function; // kernels are indices into `groupKernels`
    std::vector<int> layers;     // layer of each launch
    std::vector<std::vector<uint32_t>> launches; // launches merged into one
  };
  /// A group under one choice of in-place operands, as functions in `kernels`.
  struct Lowered {
    GroupOp group;
    SmallVector<LoweredKernel> parts;
    std::vector<uint32_t> kernel; // the step's kernel for each part
  };
  using Choice = std::pair<Operation *, std::vector<int64_t>>;
  static Choice choiceOf(const FlatLaunch &launch, const Program &program);
  LogicalResult lower(const Program &program);
  const Lowered &loweredOf(const FlatLaunch &launch,
                           const Program &program) const {
    return lowered[loweredAt.at(choiceOf(launch, program))];
  }
  void share();
  LogicalResult placeFunction(const std::string &as, const Program &program);
  using Parts = std::vector<std::pair<uint32_t, int64_t>>;
  static Parts partsOf(const Placed &f, const std::vector<uint32_t> &launches);
  void join();
  uint32_t launchKernel(const Placed &f, const std::vector<uint32_t> &launches);
  int64_t kindOf(const Placed &f, uint32_t launch);
  void countLaunches(const Placed &f, report::MemoryReport &report) const;
  LogicalResult describe(const Placed &f, report::MemoryReport &report);
  artifact::Operand place(const Place &place, const ArenaPlan &plan,
                          const Program &program);
  artifact::Operand persistent(const KernelOperand &operand,
                               const FlatParameter &parameter);
  uint32_t scalar(const FlatPort &port);

  ModuleOp module;
  EmitOptions options;
  OwningOpRef<ModuleOp> kernels;
  artifact::Step step;
  std::vector<GroupKernel> groupKernels;
  std::vector<Placed> placed; // in the order of step.functions
  // For a GPU: launch kernels by their parts and by number; the numbers are
  // those of step.kernels.
  std::map<Parts, uint32_t> launchKernelAt;
  std::vector<LaunchKernel> launchKernels;
  std::vector<tile::CompiledKernel> gpuKernels;
  std::set<Parts> apart; // those that cannot be one kernel
  std::map<uint32_t, int64_t> kinds;
  std::optional<report::MemoryReport> described;
  std::set<uint32_t> describedKernels;
  std::map<std::pair<std::string, int64_t>, uint32_t> parameterIndex;
  std::map<std::pair<uint32_t, ParameterBuffer>, uint32_t> stateIndex;
  std::vector<Flat> flat;
  std::vector<Lowered> lowered;
  std::map<Choice, size_t> loweredAt;
};

/// The states of a parameter, in the order of the artifact. Each is named after
/// the parameter, with `suffix` behind it.
constexpr struct {
  ParameterBuffer buffer;
  artifact::Role role;
  const char *suffix;
} parameterStates[] = {
    {ParameterBuffer::Gradient, artifact::Role::Gradient, "grad"},
    {ParameterBuffer::Master, artifact::Role::Master, "master"},
    {ParameterBuffer::ExpAvg, artifact::Role::ExpAvg, "exp_avg"},
    {ParameterBuffer::ExpAvgSq, artifact::Role::ExpAvgSq, "exp_avg_sq"}};

/// Lists parameters and their states. A layer's parameter becomes one entry per
/// layer, as the checkpoint has it. The indices are the ones that operands name
/// (`persistent`).
void Emitter::parameters() {
  // The buffers that ops use of each parameter.
  llvm::StringMap<std::set<ParameterBuffer>> used;
  module.walk([&](ParameterEffectOpInterface op) {
    auto &of = used[op.getParameterName().getValue()];
    of.insert(ParameterBuffer::Gradient);
    for (const BufferUse &use : op.getBufferUses())
      of.insert(use.buffer);
  });
  for (auto op : module.getOps<ParameterOp>()) {
    auto type = cast<RankedTensorType>(op.getType());
    for (int64_t l = 0, n = op.getLayers().value_or(1); l < n; ++l) {
      artifact::Parameter p;
      p.name = layerName(op.getHfName(), op, l);
      p.type = tensorOf(type);
      p.frozen = op.getFrozen();
      p.init = op.getInit() == InitKind::Ones    ? artifact::Init::Ones
               : op.getInit() == InitKind::Zeros ? artifact::Init::Zeros
                                                 : artifact::Init::Normal;
      p.initStd = op.getInitStd().convertToDouble();
      if (op.getTied())
        for (StringRef name : op.getTied()->getAsValueRange<StringAttr>())
          p.tied.push_back(layerName(name, op, l));
      uint32_t index = step.parameters.size();
      parameterIndex[{op.getSymName().str(), op.getLayers() ? l : -1}] = index;
      step.parameters.push_back(p);
      // Frozen parameters, and those of inference, have no state.
      if (options.mode == "infer")
        continue;
      const std::set<ParameterBuffer> buffers = used.lookup(op.getSymName());
      for (const auto &state : parameterStates) {
        if (!buffers.count(state.buffer))
          continue;
        stateIndex[{index, state.buffer}] = step.states.size();
        step.states.push_back({p.name + "." + state.suffix,
                               tensorOf(bufferType(op, state.buffer)),
                               state.role, index});
      }
    }
  }
}

/// Functions share scalars by name: the learning rate of @step is one number,
/// however many kernels read it.
uint32_t Emitter::scalar(const FlatPort &port) {
  for (auto [i, s] : llvm::enumerate(step.scalars))
    if (s.name == port.name)
      return i;
  step.scalars.push_back({port.name, dtypeOf(port.type)});
  return step.scalars.size() - 1;
}

/// A group in a repeated layer is launched once per layer, and the plan may let
/// a result take over an operand's memory in one launch and not in another. The
/// kernel differs then, so the choice is part of the key.
Emitter::Choice Emitter::choiceOf(const FlatLaunch &launch,
                                  const Program &program) {
  std::vector<int64_t> inPlace(launch.results.size(), -1);
  for (auto [r, p] : llvm::enumerate(launch.results)) {
    if (p.kind != Place::Buffer || !program.buffers[p.index].reuses)
      continue;
    ArrayRef<int64_t> choice = launch.group.getInplace();
    if (r < choice.size())
      inPlace[r] = choice[r];
  }
  return {launch.group.getOperation(), inPlace};
}

/// Lowers every group that `program` launches, once.
LogicalResult Emitter::lower(const Program &program) {
  LinalgForm form =
      options.target.empty() ? LinalgForm::Tiles : LinalgForm::Sums;
  for (const FlatLaunch &launch : program.launches) {
    // The runtime copies by itself (artifact::copyKernel).
    if (launch.copy != Copy::None)
      continue;
    auto [it, fresh] =
        loweredAt.insert({choiceOf(launch, program), lowered.size()});
    if (!fresh)
      continue;
    auto parts = lowerGroup(launch.group, it->first.second, *kernels, form);
    if (failed(parts))
      return failure();
    lowered.push_back({launch.group, std::move(*parts), {}});
  }
  return success();
}

/// Functions with equal text become one kernel. Only here are they named, by
/// the kernel's number and its first group.
void Emitter::share() {
  std::map<std::string, uint32_t> known;
  for (Lowered &l : lowered)
    for (LoweredKernel &part : l.parts) {
      std::string text = textForKey(part.function);
      auto [it, first] = known.insert({text, uint32_t(groupKernels.size())});
      l.kernel.push_back(it->second);
      if (first)
        groupKernels.push_back(
            {part.function, text, l.group, aboutKernel(l.group, part)});
    }
  for (Lowered &l : lowered)
    for (auto [part, kernel] : llvm::zip_equal(l.parts, l.kernel))
      if (part.function != groupKernels[kernel].function)
        part.function.erase();
  for (auto [i, k] : llvm::enumerate(groupKernels)) {
    std::string symbol = "k" + std::to_string(i) + "_";
    for (char c : k.group.getName())
      symbol += llvm::isAlnum(c) ? c : '_';
    k.function.setName(symbol);
    if (options.target.empty())
      step.kernels.push_back({symbol, 1, 0});
  }
}

/// Where a value of the flattened program is at run time.
artifact::Operand Emitter::place(const Place &p, const ArenaPlan &plan,
                                 const Program &program) {
  artifact::Operand o;
  o.bytes = p.bytes;
  o.offset = p.offset;
  o.index = p.index;
  switch (p.kind) {
  case Place::Buffer:
    o.space = program.buffers[p.index].onHost ? artifact::Space::Host
                                              : artifact::Space::Arena;
    o.index = 0;
    o.offset = plan.offsets[p.index] + p.offset;
    break;
  case Place::Parameter: {
    const FlatParameter &f = program.parameters[p.index];
    o.space = artifact::Space::Parameter;
    o.index = parameterIndex.at({f.op.getSymName().str(), f.layer});
    break;
  }
  case Place::Input:
    o.space = artifact::Space::Input;
    break;
  case Place::Output:
    o.space = artifact::Space::Output;
    break;
  case Place::Scalar:
    o.space = artifact::Space::Scalar;
    o.index = scalar(program.scalars[p.index]);
    break;
  case Place::Immediate:
    o.space = artifact::Space::Immediate;
    o.index = 0;
    o.offset = uint64_t(p.value); // the number itself
    o.bytes = 8;
    break;
  case Place::Gradient:
    llvm_unreachable("gradients are effects");
  }
  return o;
}

/// The operand of an effect: a parameter, its gradient or its optimizer state.
/// These outlive the step and are not in the arena.
artifact::Operand Emitter::persistent(const KernelOperand &k,
                                      const FlatParameter &f) {
  artifact::Operand o;
  o.written = k.written;
  uint32_t parameter = parameterIndex.at({f.op.getSymName().str(), f.layer});
  if (k.buffer == ParameterBuffer::Parameter) {
    o.space = artifact::Space::Parameter;
    o.index = parameter;
    o.bytes = byteSize(cast<RankedTensorType>(f.op.getType()));
    return o;
  }
  o.space = artifact::Space::State;
  o.index = stateIndex.at({parameter, k.buffer});
  o.bytes = byteSize(bufferType(f.op, k.buffer));
  return o;
}

/// Plans a function's memory and writes its launches, still one kernel per
/// launch. Lifetimes are in launches of the program; `begin` and `end`
/// translate them to launches of the artifact.
LogicalResult Emitter::placeFunction(const std::string &as,
                                     const Program &program) {
  auto plan = planArena(program, module.getLoc());
  if (failed(plan))
    return failure();
  Placed placedHere{&program, std::move(*plan), {}, {}, {}};
  artifact::Function &f = placedHere.function;
  const ArenaPlan &at = placedHere.plan;
  f.name = as;
  for (const FlatPort &p : program.inputs)
    f.inputs.push_back({p.name, tensorOf(cast<RankedTensorType>(p.type))});
  for (const FlatPort &p : program.outputs)
    f.outputs.push_back({p.name, tensorOf(cast<RankedTensorType>(p.type))});
  f.arenaBytes = at.arenaBytes;
  f.hostArenaBytes = at.hostArenaBytes;
  std::optional<ScratchRing> scratch; // on a GPU
  if (!options.target.empty()) {
    scratch.emplace(program, at.arenaBytes);
    f.arenaBytes = scratch->arenaBytes();
  }
  // A group may take several launches: its first and its last.
  std::vector<uint32_t> begin, end;
  for (const FlatLaunch &launch : program.launches) {
    begin.push_back(f.launches.size());
    if (launch.copy != Copy::None) {
      artifact::Launch out;
      out.kernel = artifact::copyKernel;
      out.name = launch.name;
      out.args = {place(launch.inputs[0], at, program),
                  place(launch.results[0], at, program)};
      out.args[1].written = true;
      f.launches.push_back(std::move(out));
    } else {
      const Lowered &group = loweredOf(launch, program);
      // Shown in the plan, as it is memory that the step needs, but after what
      // planArena has placed.
      artifact::Operand own;
      if (scratch)
        own = scratch->next(launch);
      if (own.bytes)
        f.plan.push_back(
            {launch.name + ".parts", own.offset, own.bytes, begin.back(),
             begin.back() + uint32_t(group.parts.size()) - 1, false});
      for (auto [kernel, part] : llvm::zip_equal(group.kernel, group.parts)) {
        artifact::Launch out;
        out.kernel = kernel;
        out.name = launch.name;
        for (const KernelOperand &k : part.operands) {
          artifact::Operand o;
          if (k.kind == KernelOperand::Input)
            o = place(launch.inputs[k.index], at, program);
          else if (k.kind == KernelOperand::Result)
            o = place(launch.results[k.index], at, program);
          else if (k.kind == KernelOperand::Workspace)
            o = place(launch.workspaces[k.index], at, program);
          else if (k.kind == KernelOperand::Scratch)
            o = own;
          else
            o = persistent(k, program.parameters[launch.effects[k.index]]);
          o.written = k.written;
          out.args.push_back(o);
        }
        f.launches.push_back(std::move(out));
      }
    }
    end.push_back(f.launches.size() - 1);
    placedHere.layers.resize(f.launches.size(), launch.layer);
  }
  for (auto [i, b] : llvm::enumerate(program.buffers)) {
    // Parts of a buffer and results in place have no memory of their own.
    if (b.parent || b.reuses || b.bytes == 0)
      continue;
    f.plan.push_back(
        {(b.layer >= 0 ? "layer." + std::to_string(b.layer) + "/" : "") +
             b.name,
         uint64_t(at.offsets[i]), uint64_t(b.bytes), begin[b.first],
         end[b.last], b.onHost});
  }
  placed.push_back(std::move(placedHere));
  return success();
}

/// The memory report that the artifact carries, to compare runs with. It leaves
/// out what the list of launches says already.
LogicalResult Emitter::describe(const Placed &f, report::MemoryReport &report) {
  auto made = describeMemory(module, *f.program, f.plan);
  if (failed(made))
    return failure();
  report = std::move(*made);
  if (!options.target.empty())
    countLaunches(f, report);
  report.timeline.clear(); // the list of launches replaces it
  report.buffers.clear();
  report.peakAt.alive.clear();
  for (const artifact::Launch &launch : f.function.launches)
    if (launch.kernel != artifact::copyKernel)
      describedKernels.insert(launch.kernel);
  return success();
}

/// The kind of a launch; only equal kinds merge. Kernels of one kind have
/// equally many warps, agree on having a sum of products, and belong to one
/// layer. -1: no kind. Kernels that wait for turns number their programs
/// themselves.
int64_t Emitter::kindOf(const Placed &f, uint32_t launch) {
  uint32_t kernel = f.function.launches[launch].kernel;
  if (!options.joinLaunches || kernel == artifact::copyKernel)
    return -1;
  auto [it, fresh] = kinds.insert({kernel, -1});
  func::FuncOp function = groupKernels[kernel].function;
  bool takesTurns = llvm::any_of(
      llvm::seq<unsigned>(0, function.getNumArguments()), [&](unsigned i) {
        return function.getArgAttr(i, "act.ticket") != nullptr;
      });
  if (fresh && !takesTurns)
    if (auto kind = tile::kindOf(function);
        succeeded(kind) && kind->products <= 1)
      it->second = kind->warps * 2 + kind->products;
  if (it->second < 0)
    return -1;
  // Distinct: 1 to 32 warps, at most one product. Layer -1 is outside layers.
  return it->second + (int64_t(f.layers[launch]) + 1) * 64;
}

/// The kernels of `launches`, each with its number of consecutive repetitions.
Emitter::Parts Emitter::partsOf(const Placed &f,
                                const std::vector<uint32_t> &launches) {
  Parts parts;
  for (uint32_t i : launches) {
    uint32_t kernel = f.function.launches[i].kernel;
    if (parts.empty() || parts.back().first != kernel)
      parts.push_back({kernel, 0});
    ++parts.back().second;
  }
  return parts;
}

/// The number of the kernel that does all of `launches`, given in the order of
/// its arguments.
uint32_t Emitter::launchKernel(const Placed &f,
                               const std::vector<uint32_t> &launches) {
  Parts parts = partsOf(f, launches);
  auto [it, fresh] =
      launchKernelAt.insert({parts, uint32_t(launchKernels.size())});
  if (!fresh)
    return it->second;
  LaunchKernel k;
  for (auto [kernel, times] : parts)
    k.parts.push_back({&groupKernels[kernel], times});
  func::FuncOp first = groupKernels[parts[0].first].function;
  k.name = first.getName().str();
  if (launches.size() > 1)
    k.name += "_and_" + std::to_string(launches.size() - 1);
  auto taken = [&](StringRef name) {
    return llvm::any_of(launchKernels, [&](const LaunchKernel &other) {
      return other.name == name;
    });
  };
  const std::string name = k.name;
  for (int again = 2; taken(k.name); ++again)
    k.name = name + "_" + std::to_string(again);
  launchKernels.push_back(std::move(k));
  return it->second;
}

/// Decides which launches to merge, and their kernels. It starts over each time
/// it is called, since `apart` may have grown.
void Emitter::join() {
  launchKernelAt.clear();
  launchKernels.clear();
  step.functions.clear();
  for (Placed &f : placed) {
    f.launches.clear();
    for (std::vector<uint32_t> &one : joinLaunches(
             f.function, [&](uint32_t launch) { return kindOf(f, launch); })) {
      // Launches of one kernel are its instances, and their arguments must be
      // adjacent: q, gate, k of kernels A, B, A become q, k, gate.
      std::vector<uint32_t> kernels;
      auto rank = [&](uint32_t launch) {
        return llvm::find(kernels, f.function.launches[launch].kernel);
      };
      for (uint32_t i : one)
        if (rank(i) == kernels.end())
          kernels.push_back(f.function.launches[i].kernel);
      llvm::stable_sort(
          one, [&](uint32_t a, uint32_t b) { return rank(a) < rank(b); });
      if (!apart.count(partsOf(f, one))) {
        f.launches.push_back(std::move(one));
        continue;
      }
      llvm::sort(one);
      for (uint32_t i : one)
        f.launches.push_back({i});
    }
    step.functions.push_back(
        withLaunches(f.function, f.launches, [&](const auto &launches) {
          return f.function.launches[launches[0]].kernel == artifact::copyKernel
                     ? artifact::copyKernel
                     : launchKernel(f, launches);
        }));
  }
}

/// Completes the module to kernel form, and checks that it can be what the mode
/// asks for. A module in kernel form can no longer be differentiated, so each
/// way to get there without a step has its own message.
LogicalResult Emitter::prepare() {
  InputRange range = inputRange(module);
  step.vocabulary = range.vocabulary;
  step.maxPositions = range.maxPositions;
  if (auto next = module->getAttrOfType<BoolAttr>("act.predicts_next"))
    step.predictsNext = next.getValue();
  if (options.mode.empty()) {
    bool trains = module.lookupSymbol(stepName) ||
                  module.lookupSymbol(gradName) || returnsLoss(module);
    options.mode = trains ? "train" : "infer";
  }
  if (options.mode == "infer") {
    if (failed(deriveInference(module)))
      return failure();
  } else if (options.mode != "train") {
    return emitError(module.getLoc())
           << "unknown mode '" << options.mode << "': expected train or infer";
  }
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
    if (auto optimizer = module->getAttrOfType<StringAttr>("act.optimizer"))
      step.optimizer = optimizer.getValue().str();
    if (auto n = module->getAttrOfType<IntegerAttr>("act.micro_batches"))
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
  auto code = compileHostKernels(*kernels, host);
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
LogicalResult Emitter::compileForGpu() {
  GpuOptions gpu;
  gpu.ptx.chip = options.target;
  if (!options.f32Products.empty()) {
    auto precision = tile::symbolizeDotPrecision(options.f32Products);
    if (!precision)
      return emitError(module.getLoc())
             << "unknown f32-products '" << options.f32Products
             << "': expected ieee, bf16x3 or tf32";
    gpu.f32Products = *precision;
  }
  // Launches that cannot be one kernel stay apart. Only compiling shows that,
  // so the launches are joined anew without those. Each round names at least
  // one more, so this ends.
  for (bool all = false; !all;) {
    join();
    auto compiled =
        compileGpuKernels(launchKernels, gpu, tile::PtxCache(options.cacheDir));
    if (failed(compiled))
      return failure();
    gpuKernels = std::move(*compiled);
    all = true;
    for (auto &[parts, number] : launchKernelAt)
      if (gpuKernels[number].ptx.empty()) {
        apart.insert(parts);
        all = false;
      }
  }
  for (const LaunchKernel &k : launchKernels)
    step.kernels.push_back({k.name, 1, 0});
  return success();
}

/// On the GPU one launch may do several groups of a layer, and a group may take
/// several launches.
void Emitter::countLaunches(const Placed &f,
                            report::MemoryReport &report) const {
  report.target = options.target;
  report.scratchBytes = f.function.arenaBytes - f.plan.arenaBytes;
  report.blockBytes = 0;
  report.launches = 0;
  std::map<int, report::Layer *> layers;
  for (report::Layer &layer : report.layers) {
    layer.blockBytes = 0;
    layer.launches = 0;
    layers[layer.index] = &layer;
  }
  const artifact::Function &made = step.functions[&f - placed.data()];
  for (auto [launch, members] : llvm::zip_equal(made.launches, f.launches)) {
    if (launch.kernel == artifact::copyKernel)
      continue;
    int64_t bytes = gpuKernels[launch.kernel].blockBytes;
    auto add = [&](auto &to) {
      ++to.launches;
      if (bytes < 0)
        to.blockBytes.reset();
      if (to.blockBytes)
        to.blockBytes = flopsSum({*to.blockBytes, bytes});
    };
    add(report);
    // kindOf() keeps launches of different layers apart.
    if (auto layer = layers.find(f.layers[members[0]]); layer != layers.end())
      add(*layer->second);
  }
}

/// For a report: compiles the kernels of a program to count launches and bytes.
/// There is no artifact.
LogicalResult Emitter::addTarget(const Program &program,
                                 report::MemoryReport &report) {
  if (failed(tile::knownTarget(options.target, module.getContext())))
    return failure();
  parameters();
  if (failed(lower(program)))
    return failure();
  share();
  if (failed(placeFunction("", program)) || failed(compileForGpu()))
    return failure();
  countLaunches(placed.front(), report);
  return success();
}

/// Joins the kernels' texts to one PTX text, the artifact's code.
LogicalResult Emitter::gpuCode() {
  SmallVector<tile::PtxKernel> texts;
  for (auto [to, made] : llvm::zip_equal(step.kernels, gpuKernels)) {
    auto [x, y, z] = made.grid;
    if (x < 1 || y != 1 || z != 1 || made.block[1] != 1 || made.block[2] != 1)
      return emitError(module.getLoc())
             << "kernel " << made.name
             << " has a grid or a block of more than one dimension, which a "
                "step cannot launch";
    to.grid = x;
    to.threads = made.block[0];
    to.sharedBytes = made.sharedBytes;
    texts.push_back({made.name, made.ptx});
  }
  auto joined = tile::joinPtx(texts);
  if (!joined)
    return emitError(module.getLoc()) << joined.error().str();
  step.device = "cuda";
  step.target = options.target;
  step.code.assign(joined->begin(), joined->end());
  return success();
}

/// The whole artifact: functions, code, and the report of the main function.
FailureOr<artifact::Step> Emitter::run() {
  auto name = module.getSymName();
  step.model = name ? name->str() : "model";
  bool onHost = options.target.empty();
  if (failed(functions()) || (!onHost && failed(compileForGpu())))
    return failure();
  for (const Placed &f : placed) {
    if (onHost)
      step.functions.push_back(f.function);
    StringRef as = f.function.name;
    if ((as == "step" || as == "forward") &&
        failed(describe(f, described.emplace())))
      return failure();
  }
  if (!options.kernelsFile.empty()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    kernels->print(os);
    if (auto written = file::writeFile(options.kernelsFile, text); !written)
      return emitError(module.getLoc()) << written.error().str();
  }
  if (failed(onHost ? hostCode() : gpuCode()))
    return failure();
  if (described)
    step.report = report::toJson(*described);
  return std::move(step);
}

FailureOr<std::vector<tile::CompiledKernel>> Emitter::runKernels() {
  if (failed(functions()) || failed(compileForGpu()))
    return failure();
  return std::move(gpuKernels);
}

/// All functions are lowered before kernels are shared, so a training step and
/// its evaluation use the same ones.
LogicalResult Emitter::functions() {
  if (!options.target.empty() &&
      failed(tile::knownTarget(options.target, module.getContext())))
    return failure();
  if (failed(prepare()))
    return failure();
  parameters();
  std::vector<std::pair<StringRef, StringRef>>
      names; // and what they are in the step
  if (options.mode == "train") {
    names.push_back({stepName, "step"});
    if (module.lookupSymbol(forwardName))
      names.push_back({forwardName, "eval"});
  } else {
    names.push_back({forwardName, "forward"});
  }
  for (auto [name, as] : names) {
    auto program = flatten(module, name);
    if (failed(program) || failed(lower(*program)))
      return failure();
    flat.push_back({as.str(), std::move(*program)});
  }
  share();
  for (const Flat &f : flat)
    if (failed(placeFunction(f.as, f.program)))
      return failure();
  return success();
}

} // namespace

FailureOr<std::vector<tile::CompiledKernel>>
act::compileKernelsOf(ModuleOp module, const EmitOptions &options) {
  // The whole model's text is the key: a model that was compiled before needs
  // no pass at all.
  tile::PtxOptions ptx;
  ptx.chip = options.target;
  tile::PtxCache cache(options.cacheDir);
  std::string key =
      cache.key(llvm::formatv("model\n{0}\n{1}\n{2}\n{3}", options.mode,
                              options.f32Products, options.joinLaunches,
                              textForKey(module))
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
