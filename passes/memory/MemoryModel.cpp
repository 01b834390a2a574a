// SPDX-License-Identifier: Apache-2.0
//
// Turns a flattened program and its plan into the report's plain data. Bytes
// are counted here; how they are printed is lib/Report's part, and polynomials
// are derived in MemoryFormulas.
#include "passes/memory/MemoryModel.h"
#include "dialects/act/AttrNames.h"
#include "dialects/act/Flops.h"
#include "dialects/act/Types.h"
#include "passes/kernels/LaunchBytes.h"
#include "passes/memory/MemoryFormulas.h"
#include "passes/memory/OffloadTimes.h"
#include "passes/module/Letters.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <set>

using namespace mlir;
using namespace act;
using symbolic::Polynomial;

namespace {

std::string dtypeName(Type element) {
  if (auto nf4 = dyn_cast<NF4Type>(element))
    return nf4.getNested() ? "nf4-nested" : "nf4";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << element;
  return text;
}

/// Fills one report. The order of the steps in `run` matters: layers and the
/// graph read the timeline, and layers read the formulas.
class Describer {
public:
  Describer(ModuleOp module, const Program &program, const ArenaPlan &plan)
      : module(module), program(program), plan(plan) {}

  FailureOr<report::MemoryReport> run();

private:
  LogicalResult collectLetters();
  void buffers();
  void timeline();
  void formulas();
  void layers();
  void graph();
  bool crosses(const FlatBuffer &b) const {
    return program.backward && b.first < *program.backward &&
           b.last >= *program.backward;
  }
  /// The value that holds the memory of root `r` at launch `t`. Ops that work
  /// in place hand the memory on, and a report names what is in it at that
  /// time: at the start of backward, for instance, the value that is saved.
  const FlatBuffer &holder(unsigned r, unsigned t) const {
    const FlatBuffer *best = &program.buffers[r];
    for (unsigned i : chain.at(r))
      if (program.buffers[i].first <= t &&
          program.buffers[i].first >= best->first)
        best = &program.buffers[i];
    return *best;
  }

  ModuleOp module;
  const Program &program;
  const ArenaPlan &plan;
  report::MemoryReport out;
  std::map<int, symbolic::Expr> layerPeak;
  symbolic::Letters counts; // of layers
  std::map<unsigned, std::vector<unsigned>>
      chain; // root -> in-place successors
};

// Formulas are meaningful only if a letter has one size in the whole module.
LogicalResult Describer::collectLetters() {
  std::map<std::string, Location> from;
  LogicalResult ok = success();
  auto note = [&](const std::string &letter, int64_t size, Location loc) {
    auto [it, fresh] = out.letters.insert({letter, size});
    if (fresh)
      from.insert({letter, loc});
    if (it->second == size || failed(ok))
      return;
    InFlightDiagnostic error =
        emitError(loc) << "the letter " << letter << " is " << size
                       << " here and " << it->second
                       << " elsewhere; formulas need one size for each letter";
    error.attachNote(from.at(letter))
        << letter << " is " << it->second << " here";
    ok = failure();
  };
  auto noteType = [&](Type type, Location loc) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return;
    auto names = dimNames(tensor);
    for (int64_t i = 0; i < tensor.getRank(); ++i)
      if (StringRef(names[i]).find('*') == StringRef::npos &&
          !llvm::isDigit(names[i][0]))
        note(names[i], tensor.getDimSize(i), loc);
  };
  for (auto p : module.getOps<ParameterOp>())
    noteType(p.getType(), p.getLoc());
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Type t : op->getOperandTypes())
      noteType(t, op->getLoc());
    for (Type t : op->getResultTypes())
      noteType(t, op->getLoc());
    if (auto r = dyn_cast<RepeatOp>(op); r && !r.getLetter().empty()) {
      note(r.getLetter().str(), r.getCount(), r.getLoc());
      counts[r.getLetter().str()] = r.getCount();
    }
  });
  return ok;
}

// Counts parameters, gradients and optimizer state, by the ops that touch them.
// A parameter that no act.adamw updates has no moments, and a frozen one has no
// gradient. `resident` gets each tensor alone, because an allocator rounds
// each.
void countPersistent(ModuleOp module, const Program &program,
                     report::MemoryReport &out) {
  // The state that an update keeps of each parameter.
  llvm::StringMap<SmallVector<ParameterBuffer>> states;
  module.walk([&](ParameterEffectOpInterface op) {
    for (const BufferUse &use : op.getBufferUses())
      if (isOptimizerState(use.buffer)) {
        auto &of = states[op.getParameterName().getValue()];
        if (!llvm::is_contained(of, use.buffer))
          of.push_back(use.buffer);
      }
  });
  bool trains = bool(module.lookupSymbol("grad"));
  std::vector<int64_t> gradients, kept; // tensor by tensor
  auto keep = [](std::vector<int64_t> &tensors, int64_t n, int64_t bytes) {
    tensors.insert(tensors.end(), n, bytes);
    return n * bytes;
  };
  for (auto p : module.getOps<ParameterOp>()) {
    auto type = cast<RankedTensorType>(p.getType());
    int64_t n = p.getLayers().value_or(1);
    out.parametersBytes += keep(out.resident, n, byteSize(type));
    if (!trains || p.getFrozen() || !isa<FloatType>(type.getElementType()))
      continue;
    out.gradientsBytes +=
        keep(gradients, n, byteSize(bufferType(p, ParameterBuffer::Gradient)));
    for (ParameterBuffer state : states.lookup(p.getSymName()))
      out.optimizerBytes += keep(kept, n, byteSize(bufferType(p, state)));
  }
  for (const std::vector<int64_t> *more : {&gradients, &kept})
    out.resident.insert(out.resident.end(), more->begin(), more->end());
  for (const FlatPort &port : program.inputs)
    out.inputsBytes +=
        keep(out.resident, 1, byteSize(cast<RankedTensorType>(port.type)));
  for (const FlatPort &port : program.outputs)
    out.outputsBytes +=
        keep(out.resident, 1, byteSize(cast<RankedTensorType>(port.type)));
}

int64_t sumPersistent(const report::MemoryReport &r) {
  return r.parametersBytes + r.gradientsBytes + r.optimizerBytes +
         r.inputsBytes + r.outputsBytes;
}

// One entry per root buffer of the device arena. What lies in another buffer or
// took its memory over is part of that entry.
void Describer::buffers() {
  for (unsigned i = 0; i < program.buffers.size(); ++i)
    if (program.buffers[program.root(i)].onHost)
      continue; // in the other arena
    else if (program.buffers[i].reuses)
      chain[program.root(i)].push_back(i);
    else if (!program.buffers[i].parent)
      chain[i];
  for (auto &[r, members] : chain) {
    const FlatBuffer &b = program.buffers[r];
    if (b.bytes == 0)
      continue;
    report::Buffer buffer;
    // A saved buffer is named after what it holds when backward begins.
    const FlatBuffer &named = crosses(b) ? holder(r, *program.backward - 1) : b;
    buffer.name = named.name;
    buffer.shape.assign(named.type.getShape().begin(),
                        named.type.getShape().end());
    buffer.dtype = dtypeName(named.type.getElementType());
    buffer.bytes = b.bytes;
    buffer.layer = named.layer;
    buffer.first = b.first;
    buffer.last = b.last + 1;
    buffer.offset = plan.offsets[r];
    buffer.category = b.workspaceOf ? report::Category::Workspace
                      : crosses(b)  ? report::Category::Saved
                      : b.backward && !b.recomputed
                          ? report::Category::Gradient
                          : report::Category::Temporary;
    if (crosses(b)) {
      out.saved.push_back({buffer.name, buffer.shape, buffer.dtype,
                           buffer.bytes, buffer.layer,
                           bytesInLetters(named.type).str()});
      out.retainedBytes += buffer.bytes;
    }
    out.buffers.push_back(std::move(buffer));
  }
}

// One point per launch. Its place is the file and line of the model if the IR
// has one, else the launch's name.
void Describer::timeline() {
  auto live = program.liveBytes();
  for (unsigned t = 0; t < program.launches.size(); ++t) {
    const FlatLaunch &launch = program.launches[t];
    report::TimelinePoint point;
    point.op = launch.group.getName().str();
    point.loc = launch.name;
    if (auto file = launch.group.getLoc()->findInstanceOf<FileLineColLoc>())
      point.loc =
          file.getFilename().getValue().rsplit('/').second.empty()
              ? file.getFilename().str() + ":" + std::to_string(file.getLine())
              : file.getFilename().getValue().rsplit('/').second.str() + ":" +
                    std::to_string(file.getLine());
    point.liveBytes = live[t];
    point.layer = launch.layer;
    point.phase = program.update && t >= *program.update ? report::Phase::Update
                  : program.backward && t >= *program.backward
                      ? report::Phase::Backward
                      : report::Phase::Forward;
    out.peakBytes = std::max(out.peakBytes, live[t]);
    out.timeline.push_back(std::move(point));
  }
}

// Formulas and the conditions under which they hold. A formula is exact for the
// program that it was derived from; a condition names what would make another
// program of it.
void Describer::formulas() {
  MemoryFormulas f = deriveFormulas(program, out.letters);
  if (program.backward)
    out.retained = {symbolic::Expr(f.retained), 0, true};
  if (!program.launches.empty())
    out.peak = {f.peak, 0, true, f.shown};
  out.alignment = {f.alignment, 0, !program.launches.empty()};
  layerPeak = std::move(f.layerPeak);
  auto hold = [&](std::string name, int64_t value, std::string text) {
    out.conditions.push_back({std::move(name), std::move(text), value});
  };
  // The first layer and the last ones differ from those between, so a formula
  // in the number of layers starts at two.
  for (const auto &[letter, count] : counts)
    if (count < 2 || f.layersAreCut || f.layersAreTooFew)
      hold(letter, count,
           letter + " = " + std::to_string(count) +
               (f.layersAreCut      ? ", cut as they are"
                : f.layersAreTooFew ? ", where values are moved"
                                    : " alone"));
    else
      hold(letter + "_from", 2, letter + " of 2 or more");
  for (auto &[letter, value] : f.letters) {
    out.letters.insert({letter, value});
    out.chosen.insert({letter, value});
    out.notes.push_back(letter + ": " + f.meaning[letter]);
  }
  if (auto given = module->getAttrOfType<DictionaryAttr>(lettersAttr))
    for (NamedAttribute entry : given)
      if (auto pair = dyn_cast<ArrayAttr>(entry.getValue());
          pair && pair.size() == 2 && isa<StringAttr>(pair[1]) &&
          out.letters.count(entry.getName().str())) {
        std::string letter = entry.getName().str();
        out.notes.push_back(letter + ": " + cast<StringAttr>(pair[1]).str());
        out.chosen.insert({letter, out.letters[letter]});
      }
  // At other numbers of tokens the fused loss may have other chunks.
  if (auto rows = module->getAttrOfType<DenseI64ArrayAttr>(lossRowsAttr)) {
    if (!rows[0])
      hold("tokens_to", rows[1],
           "a loss of one chunk, which " + std::to_string(rows[1]) +
               " tokens are at most");
    else
      hold("chunk_rows", rows[0], "a loss of several equal chunks");
    if (rows[0] && rows[1])
      hold("last_chunk_rows", rows[1], "a last one that is smaller");
  }
  module.walk([&](RopeOp op) {
    std::string half = dimNames(op.getCos().getType()).back();
    std::string whole = dimNames(op.getInput().getType()).back();
    if (out.letters.count(half) && out.letters.count(whole))
      out.halves[half] = whole;
  });
}

// Per layer: what it keeps for backward, its launches and its FLOPs. A launch
// belongs to the layer in which it runs, in forward or backward.
void Describer::layers() {
  std::map<int, report::Layer> byIndex;
  std::map<int, std::vector<const FlatBuffer *>> saved;
  for (auto &[r, members] : chain) {
    if (!program.buffers[r].bytes || !crosses(program.buffers[r]))
      continue;
    const FlatBuffer &b = holder(r, *program.backward - 1);
    if (b.layer >= 0)
      saved[b.layer].push_back(&b);
  }
  for (const FlatLaunch &launch : program.launches) {
    int64_t kernels = kernelCount(launch), bytes = leastBytes(program, launch);
    out.launches += kernels;
    out.leastBytes = flopsSum({out.leastBytes, bytes});
    if (launch.layer < 0)
      continue;
    report::Layer &layer = byIndex[launch.layer];
    layer.index = launch.layer;
    layer.launches += kernels;
    layer.leastBytes = flopsSum({layer.leastBytes, bytes});
    launch.group.getBody().walk([&](CostOpInterface op) {
      int64_t flops = op.getFlops();
      layer.flops = llvm::SaturatingAdd(layer.flops, uint64_t(flops));
      if (launch.recomputed || op->hasAttr(recomputeAttr))
        layer.recomputedFlops =
            llvm::SaturatingAdd(layer.recomputedFlops, uint64_t(flops));
    });
  }
  std::map<int, int64_t> peak;
  for (unsigned t = 0; t < out.timeline.size(); ++t)
    if (int l = program.launches[t].layer; l >= 0)
      peak[l] = std::max(peak[l], out.timeline[t].liveBytes);
  for (auto &[index, layer] : byIndex) {
    layer.name = "layer";
    Polynomial sum;
    for (const FlatBuffer *b : saved[index]) {
      layer.retainedBytes += b->bytes;
      sum += bytesInLetters(b->type);
    }
    if (auto policy = module->getAttrOfType<StringAttr>(rematAttr))
      layer.variant = policy.getValue().str();
    if (program.backward)
      layer.retained = {symbolic::Expr(sum), 0, true};
    if (auto found = layerPeak.find(index); found != layerPeak.end())
      layer.peak = {found->second, 0, true};
    out.layers.push_back(layer);
  }
}

// The graph of the first layer: one node per launch, one edge per value and
// reader. Values that come from elsewhere share two nodes, "input" and
// "gradient from above", so that the graph shows one layer only.
void Describer::graph() {
  report::LayerGraph graph;
  graph.name = "layer 0";
  std::map<unsigned, std::string> producer; // buffer -> node
  std::set<std::string> nodes;
  auto node = [&](const std::string &id, const std::string &label,
                  report::Phase phase, bool again) {
    if (nodes.insert(id).second)
      graph.nodes.push_back({id, label, phase, again});
  };
  for (unsigned t = 0; t < program.launches.size(); ++t) {
    const FlatLaunch &launch = program.launches[t];
    if (launch.layer != 0 || out.timeline[t].phase == report::Phase::Update ||
        (launch.inputs.empty() &&
         launch.results.empty())) // sets gradients to zero
      continue;
    std::string id = "n" + std::to_string(t);
    node(id, launch.group.getName().str(), out.timeline[t].phase,
         launch.recomputed);
    for (const Place &p : launch.results)
      if (p.kind == Place::Buffer)
        producer[p.index] = id;
    for (const Place &p : launch.inputs) {
      if (p.kind != Place::Buffer)
        continue;
      const FlatBuffer &b = program.buffers[p.index];
      auto it = producer.find(p.index);
      std::string from = it == producer.end()
                             ? (b.backward ? "gradient" : "input")
                             : it->second;
      if (it == producer.end())
        node(from, b.backward ? "gradient from above" : "input",
             b.backward ? report::Phase::Backward : report::Phase::Forward,
             false);
      graph.edges.push_back(
          {from, id, b.name, p.bytes,
           crosses(b) && out.timeline[t].phase == report::Phase::Backward});
    }
  }
  if (!graph.nodes.empty())
    out.graphs.push_back(std::move(graph));
}

FailureOr<report::MemoryReport> Describer::run() {
  auto name = module.getSymName();
  out.model = name ? name->str() : "model";
  out.function = program.function;
  if (failed(collectLetters()))
    return failure();
  countPersistent(module, program, out);
  buffers();
  timeline();
  formulas();
  layers();
  graph();
  out.arenaBytes = plan.arenaBytes;
  out.lowerBoundBytes = plan.lowerBoundBytes;
  out.offload = offloadOf(module, program, plan);
  out.flops = program.flops;
  out.recomputedFlops = program.recomputedFlops;
  if (auto result = module->getAttrOfType<StringAttr>(rematResultAttr))
    out.notes.push_back("recomputation: " + result.getValue().str());
  if (program.flops == mostFlops)
    out.notes.push_back("more than " + report::humanCount(mostFlops) +
                        " FLOPs; the count stops there");
  out.totalPeakBytes = out.peakBytes + sumPersistent(out);
  if (auto status = report::complete(out); !status)
    return emitError(module.getLoc()) << status.error().str();
  // A report that adds up is the contract of every format, so it is checked
  // once here, before any is written.
  if (auto status = report::check(out); !status)
    return emitError(module.getLoc())
           << "the memory report contradicts itself: " << status.error().str();
  return std::move(out);
}

} // namespace

FailureOr<report::MemoryReport> act::describeMemory(ModuleOp module,
                                                    const Program &program,
                                                    const ArenaPlan &plan) {
  return Describer(module, program, plan).run();
}

report::MemoryReport act::tensorsOf(ModuleOp module, const Program &program) {
  report::MemoryReport out;
  countPersistent(module, program, out);
  for (const FlatBuffer &b : program.buffers) {
    if (b.parent || b.reuses || b.onHost || !b.bytes)
      continue;
    report::Buffer &buffer = out.buffers.emplace_back();
    buffer.bytes = b.bytes;
    buffer.first = b.first;
    buffer.last = b.last + 1;
  }
  out.timeline.resize(program.launches.size());
  return out;
}

int64_t act::persistentBytes(ModuleOp module, const Program &program) {
  report::MemoryReport counted;
  countPersistent(module, program, counted);
  return sumPersistent(counted);
}
