// SPDX-License-Identifier: Apache-2.0
//
// Turns a run of lib/Eager into a report. All bytes come from the run; this
// file only places them on a timeline and names what is assumed.
#include "act/Eager/AllocatorTrace.h"
#include "act/Eager/Formulas.h"
#include "act/Eager/StepLog.h"
#include "act/File/MappedFile.h"
#include "dialects/act/AttrNames.h"
#include "dialects/act/Types.h"
#include "passes/torch/TorchModel.h"
#include <algorithm>
#include <map>

using namespace mlir;

namespace act {
namespace {

/// A moment is an operator. One that allocates nothing belongs to the previous
/// point.
int64_t pointAt(const std::map<int64_t, int64_t> &points, int64_t moment) {
  auto after = points.upper_bound(moment);
  return after == points.begin() ? 0 : std::prev(after)->second;
}

/// The report of one run. Moments of the run are numbered by operator; points
/// of the timeline are the moments at which something is allocated.
class Describer {
public:
  Describer(ModuleOp module, const eager::Model &model,
            const eager::Options &options, const eager::Run &run)
      : module(module), model(model), options(options), run(run) {}

  void describe();
  // Call after describe().
  void add(const eager::Formulas &formulas);
  PlacedTrace trace() const;
  report::MemoryReport take() { return std::move(out); }

private:
  void persistent();
  void saved();
  void timeline();
  void notes();

  ModuleOp module;
  const eager::Model &model;
  const eager::Options &options;
  const eager::Run &run;
  report::MemoryReport out;
  std::map<int64_t, int64_t> points; // moment -> point of the timeline
};

// Parameters and gradients as PyTorch has them. The optimizer is not part of
// this view. Ids and labels are i64.
void Describer::persistent() {
  for (auto p : module.getOps<ParameterOp>())
    out.parametersBytes += byteSize(cast<RankedTensorType>(p.getType())) *
                           p.getLayers().value_or(1);
  out.gradientsBytes =
      out.parametersBytes; // every parameter is trained, in its own type
  out.inputsBytes = 2 * 8 * model.batch * model.seq;
  for (const eager::Resident &r : run.resident)
    out.resident.push_back(r.bytes);
}

// Layers come from the configuration and not from what is saved: a layer inside
// a checkpoint saves nothing and is still a row of the report.
void Describer::saved() {
  std::map<int, report::Layer> layers;
  for (int64_t i = 0; i < model.config.layers; ++i) {
    layers[i].name = "layer";
    layers[i].index = i;
    if (auto policy = module->getAttrOfType<StringAttr>(rematAttr))
      layers[i].variant = policy.getValue().str();
  }
  for (const eager::Saved &s : run.saved) {
    report::SavedValue value;
    value.name = s.name;
    value.node = s.node;
    value.shape = s.shape;
    value.dtype = s.dtype;
    value.bytes = s.bytes;
    value.layer = s.layer;
    if (s.layer >= 0)
      layers[s.layer].retainedBytes += s.bytes;
    out.saved.push_back(std::move(value));
  }
  out.retainedBytes = run.retainedBytes;
  for (auto &[index, layer] : layers)
    out.layers.push_back(layer);
}

// One point per operator that allocates; between two of them nothing is
// allocated.
void Describer::timeline() {
  for (const eager::Allocation &a : run.allocations)
    if (!a.apart && a.bytes)
      points[a.born];
  int64_t count = 0;
  for (auto &[moment, point] : points)
    point = count++;
  out.timeline.resize(count);
  for (const eager::Allocation &a : run.allocations) {
    if (a.apart || !a.bytes)
      continue;
    // A storage that dies between two points is alive until the later one.
    int64_t first = points.at(a.born);
    auto after = points.lower_bound(a.died);
    report::TimelinePoint &point = out.timeline[first];
    point.op = a.op;
    point.layer = a.layer;
    point.phase = a.phase == eager::Phase::Backward ? report::Phase::Backward
                                                    : report::Phase::Forward;
    report::Buffer buffer;
    buffer.name = a.op;
    buffer.shape = a.shape;
    buffer.dtype = a.dtype;
    buffer.bytes = a.bytes;
    buffer.layer = a.layer;
    buffer.first = first;
    buffer.last = after == points.end() ? count : after->second;
    bool forward = a.phase == eager::Phase::Forward;
    buffer.category = forward && a.died > run.backwardMoment
                          ? report::Category::Saved
                      : !forward && !a.recomputed ? report::Category::Gradient
                                                  : report::Category::Temporary;
    out.buffers.push_back(std::move(buffer));
  }
  out.peakBytes = run.peakBytes;
}

PlacedTrace Describer::trace() const {
  PlacedTrace out;
  out.trace = eager::allocatorTrace(run);
  out.points.assign(run.resident.size(), -1);
  for (const eager::Event &e : run.events)
    out.points.push_back(pointAt(points, e.moment));
  return out;
}

// What the figure depends on and the module does not say.
void Describer::notes() {
  std::string what = std::string("PyTorch eager, transformers' ") +
                     std::string(hf::name(model.config.family)) +
                     ", attention " + eager::describeAttention(model, options);
  if (!options.segments.empty() || options.checkpointAttention)
    what += options.reentrant ? ", reentrant checkpoints"
                              : ", non-reentrant checkpoints";
  out.notes.push_back(what);
  if (options.chosen)
    out.notes.push_back(
        "sdpa: the kernel that scaled_dot_product_attention chooses for the "
        "type, heads and mask; on sm_90 and sm_100 it may be cuDNN's, which is "
        "not known here");
  out.notes.push_back(
      "training mode, no cache, no attention mask given, outputs released "
      "before "
      "backward; what kernels borrow while they run is not counted");
}

// Formulas are derived value by value, so those of a layer are sums.
void Describer::add(const eager::Formulas &f) {
  out.letters = f.letters;
  out.retained = {symbolic::Expr(f.retained), 0, true};
  out.peak = {f.peak, 0, true};
  std::map<int, symbolic::Polynomial> layers;
  for (auto [value, bytes] : llvm::zip_equal(out.saved, f.saved)) {
    value.formula = bytes.str();
    layers[value.layer] += bytes;
  }
  for (report::Layer &layer : out.layers)
    layer.retained = {symbolic::Expr(layers[layer.index]), 0, true};
  for (const eager::Formulas::Condition &c : f.conditions)
    out.conditions.push_back({c.name, c.text, c.value});
}

void Describer::describe() {
  out.view = "torch";
  auto name = module.getSymName();
  out.model = name ? name->str() : "model";
  out.function = "forward";
  persistent();
  saved();
  timeline();
  notes();
  out.totalPeakBytes = out.peakBytes + out.parametersBytes +
                       out.gradientsBytes + out.inputsBytes;
}

} // namespace

static FailureOr<report::MemoryReport> finished(Location loc,
                                                report::MemoryReport report) {
  if (auto status = report::complete(report); !status)
    return emitError(loc) << status.error().str();
  if (auto status = report::check(report); !status)
    return emitError(loc) << "the memory report contradicts itself: "
                          << status.error().str();
  return report;
}

FailureOr<report::MemoryReport>
describeTorch(ModuleOp module, StringRef attention, StringRef checkpoint,
              const std::optional<AllocatorChoice> &allocator, bool formulas) {
  auto model = torchModel(module);
  if (failed(model))
    return failure();
  auto options = torchOptions(module, *model, attention, checkpoint);
  if (failed(options))
    return failure();
  auto run = eager::run(*model, *options);
  if (!run)
    return emitError(module.getLoc()) << "view torch: " << run.error().str();
  Describer describer(module, *model, *options, *run);
  describer.describe();
  if (formulas) {
    auto found = eager::formulas(*model, *options, *run);
    if (!found)
      return emitError(module.getLoc())
             << "view torch: " << found.error().str();
    describer.add(*found);
  }
  PlacedTrace trace = describer.trace();
  report::MemoryReport report = describer.take();
  if (allocator) {
    replayAllocator(report, trace, *allocator);
    report.notes.push_back(
        "the allocator sees a model moved to the card, ids and labels, and one "
        "step up to its last gradient; no optimizer, and of what kernels "
        "borrow only the workspaces of products");
  }
  return finished(module.getLoc(), std::move(report));
}

/// One point per operator that allocates, as above; the optimizer is the
/// update.
static report::MemoryReport describeSteps(const eager::StepLog &log,
                                          std::map<int64_t, int64_t> &points) {
  report::MemoryReport out;
  out.view = "torch";
  out.model = log.model;
  out.function = "step";
  out.parametersBytes = log.parameterBytes + log.bufferBytes;
  out.gradientsBytes = log.gradientBytes;
  out.optimizerBytes = log.optimizerBytes;
  out.inputsBytes = log.inputBytes;
  out.retainedBytes = log.retainedBytes;
  out.totalPeakBytes = log.totalPeakBytes;
  out.resident = log.residents;
  for (size_t i : log.saved) {
    report::SavedValue value;
    value.name = log.storages[i].op;
    value.bytes = log.storages[i].bytes;
    out.saved.push_back(std::move(value));
  }
  auto counts = [](const eager::StepLog::Storage &s) {
    return !s.apart && s.bytes && s.died > s.born;
  };
  for (const auto &s : log.storages)
    if (counts(s))
      points[s.born];
  int64_t count = 0;
  for (auto &[moment, point] : points)
    point = count++;
  out.timeline.resize(count);
  std::vector<int64_t> change(count + 1);
  for (const auto &s : log.storages) {
    if (!counts(s))
      continue;
    const bool forward = s.phase == eager::StepLog::Phase::Forward;
    report::Buffer buffer;
    buffer.name = s.op;
    buffer.bytes = s.bytes;
    buffer.first = points.at(s.born);
    auto after = points.lower_bound(s.died);
    buffer.last = after == points.end() ? count : after->second;
    buffer.category = forward && s.died > log.backward ? report::Category::Saved
                      : s.phase == eager::StepLog::Phase::Backward
                          ? report::Category::Gradient
                          : report::Category::Temporary;
    report::TimelinePoint &point = out.timeline[buffer.first];
    point.op = s.op;
    point.phase = forward ? report::Phase::Forward
                  : s.phase == eager::StepLog::Phase::Backward
                      ? report::Phase::Backward
                      : report::Phase::Update;
    change[buffer.first] += s.bytes;
    change[buffer.last] -= s.bytes;
    out.buffers.push_back(std::move(buffer));
  }
  int64_t live = 0;
  for (int64_t c : change)
    out.peakBytes = std::max(out.peakBytes, live += c);
  out.notes.push_back(
      "PyTorch eager, by a log of act.torch_memory, attention " +
      log.attention);
  out.notes.push_back(
      "parameters with buffers; the total peak is that of the whole step, with "
      "gradients as they are made; the peak of activations includes what the "
      "optimizer makes for itself");
  llvm::append_range(out.notes, log.notes);
  return out;
}

FailureOr<report::MemoryReport>
describeTorchLog(Location loc, StringRef path,
                 const std::optional<AllocatorChoice> &allocator) {
  auto file = file::MappedFile::open(path.str());
  if (!file)
    return emitError(loc) << "view torch: " << file.error().str();
  auto log = eager::readStepLog(file->text());
  if (!log)
    return emitError(loc) << "view torch: " << path << ": "
                          << log.error().str();
  std::map<int64_t, int64_t> points;
  report::MemoryReport report = describeSteps(*log, points);
  if (allocator) {
    PlacedTrace placed;
    std::vector<int64_t> moments;
    placed.trace = eager::allocatorTrace(*log, moments);
    for (int64_t moment : moments) {
      placed.points.push_back(moment < 0 ? -1 : pointAt(points, moment));
    }
    replayAllocator(report, placed, *allocator);
    report.notes.push_back(
        "the allocator sees a model moved to the card, the optimizer's states, "
        "inputs and one step; of what kernels borrow only the workspaces of "
        "products");
  }
  return finished(loc, std::move(report));
}

} // namespace act
