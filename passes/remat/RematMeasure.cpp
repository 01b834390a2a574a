// SPDX-License-Identifier: Apache-2.0
//
// Writes plans into copies of the module and reads figures off the launches. It
// does not choose. The copies have up to three units of each pair, so measuring
// does not take longer for a deeper model.
#include "passes/remat/RematMeasure.h"
#include "passes/kernels/FormKernels.h"
#include "passes/module/Entries.h"
#include "passes/module/EraseDead.h"

using namespace mlir;
using namespace act;

static PhaseOp boundaryOf(func::FuncOp grad) {
  for (auto phase : grad.getBody().front().getOps<PhaseOp>())
    if (phase.getName() == "backward")
      return phase;
  return {};
}

// Ops are numbered by their place in the unchanged body, so all bits are looked
// up before the first rewrite. Layers come first: their repeats are replaced in
// @grad, and what crosses the boundary there is then final.
LogicalResult act::applyPlan(ModuleOp module, const RematPlan &plan) {
  auto grad = module.lookupSymbol<func::FuncOp>(gradName);
  auto pairs = findSavedPairs(grad);
  if (failed(pairs))
    return failure();
  DenseSet<Operation *> body, apart;
  unsigned apartFrom = apartBegin(grad.getBody().front());
  for (auto [i, op] : llvm::enumerate(grad.getBody().front())) {
    if (i < plan.body.size() && plan.body.test(i))
      body.insert(&op);
    if (apartFrom + i < plan.body.size() && plan.body.test(apartFrom + i))
      apart.insert(&op);
  }
  SmallVector<Value> moved = valuesOf(grad.getBody().front(), plan.body);
  SymbolTable symbols(module);
  for (auto [pair, runs] : llvm::zip(*pairs, plan.pairs))
    if (!runs.empty() && failed(writeRuns(pair, runs, symbols)))
      return failure();
  if (PhaseOp boundary = boundaryOf(grad); boundary && !body.empty())
    recomputeAcross(boundary, body, apart);
  if (PhaseOp boundary = boundaryOf(grad); boundary && !moved.empty())
    offloadAcross(boundary, moved);
  eraseDead(grad.getBody().front());
  return success();
}

// Functions that @grad does not call are dropped, because every measurement
// clones the module. Ops get their place as an attribute, which survives kernel
// forming, so that the predictor can tell a launch's ops from the set's bits.
RematMeter::RematMeter(ModuleOp module, const Rates &rates)
    : base(module.clone()), rates(rates) {
  DenseSet<StringRef> called{gradName};
  SmallVector<Operation *> work{base->lookupSymbol(gradName)};
  while (!work.empty())
    work.pop_back_val()->walk([&](Operation *op) {
      StringRef name;
      if (auto repeat = dyn_cast<RepeatOp>(op))
        name = repeat.getCallee();
      else if (auto call = dyn_cast<func::CallOp>(op))
        name = call.getCallee();
      if (!name.empty() && called.insert(name).second)
        if (Operation *callee = base->lookupSymbol(name))
          work.push_back(callee);
    });
  for (auto f : llvm::make_early_inc_range(base->getOps<func::FuncOp>()))
    if (!called.contains(f.getName()))
      f.erase();
  auto number = [](Block &block) {
    OpBuilder b(block.getParentOp()->getContext());
    for (auto [i, op] : llvm::enumerate(block))
      op.setAttr(placeAttr, b.getI64IntegerAttr(i));
  };
  auto grad = base->lookupSymbol<func::FuncOp>(gradName);
  number(grad.getBody().front());
  if (auto pairs = findSavedPairs(grad); succeeded(pairs))
    for (SavedPair &pair : *pairs)
      number(base->lookupSymbol<func::FuncOp>(pair.forward.getCallee())
                 .getBody()
                 .front());
}

namespace {

/// Where a pair's layers are in a written-out program.
struct Span {
  std::string forward, backward; // prefixes of its functions' names; writeRuns
                                 // appends to them
  int64_t from = 0, layers = 0, unit = 1;
  bool reverse = false;

  bool owns(const Program &program, const FlatLaunch &launch) const {
    if (launch.run < 0)
      return false;
    StringRef callee = program.runs[launch.run].callee;
    return (callee.starts_with(forward) || callee.starts_with(backward)) &&
           launch.layer >= from && launch.layer < from + layers;
  }
  int64_t unitOf(int layer) const {
    int64_t u = (layer - from) / unit;
    return reverse ? layers / unit - 1 - u : u;
  }
};

/// Splits the live bytes of each launch into what the units have saved by then
/// and the rest (see the drawing in RematMeasure.h). Subtracting the saved
/// bytes makes the figures valid for any number of layers.
PlanFigures read(const Program &program, ArrayRef<Span> spans,
                 const Rates &rates) {
  PlanFigures out;
  auto live = program.liveBytes();
  unsigned n = program.launches.size(), boundary = program.backward.value_or(n);
  out.peak = n ? *std::max_element(live.begin(), live.end()) : 0;
  out.cost = programCost(program, rates);
  std::vector<int> owner(n, -1);
  std::vector<unsigned> lastForward(spans.size()),
      firstBackward(spans.size(), n);
  for (unsigned t = 0; t < n; ++t)
    for (auto [p, span] : llvm::enumerate(spans))
      if (span.owns(program, program.launches[t])) {
        owner[t] = p;
        if (t < boundary)
          lastForward[p] = t;
        else
          firstBackward[p] = std::min(firstBackward[p], t);
      }
  // Take what a unit saves from the last but one, so that the input of the next
  // unit is counted.
  out.pairs.resize(spans.size());
  out.behind.resize(spans.size());
  for (const FlatBuffer &b : program.buffers) {
    if (b.parent || b.reuses || b.onHost || b.first >= boundary ||
        b.last < boundary || owner[b.first] < 0)
      continue;
    const Span &span = spans[owner[b.first]];
    int64_t units = span.layers / span.unit;
    if (span.unitOf(program.launches[b.first].layer) ==
        std::max<int64_t>(0, units - 2))
      out.pairs[owner[b.first]].saved += b.bytes;
  }
  // What is alive beside saved values: of earlier pairs all, of the own pair
  // those of the units that have run in forward and not yet in backward.
  for (unsigned t = 0; t < n; ++t) {
    int64_t beside = live[t];
    if (int p = owner[t]; p >= 0) {
      for (int q = 0; q < p; ++q)
        beside -= out.pairs[q].saved * (spans[q].layers / spans[q].unit);
      beside -= out.pairs[p].saved * spans[p].unitOf(program.launches[t].layer);
      out.pairs[p].working = std::max(out.pairs[p].working, beside);
      continue;
    }
    int region = -1; // the last pair whose forward has run, but not backward
    for (unsigned p = 0; p < spans.size(); ++p)
      if (lastForward[p] < t && firstBackward[p] > t) {
        beside -= out.pairs[p].saved * (spans[p].layers / spans[p].unit);
        region = p;
      }
    int64_t &most = region < 0 ? out.apart : out.behind[region];
    most = std::max(most, beside);
  }
  return out;
}

} // namespace

/// A program of a few units, and the IR that it refers to.
struct RematMeter::Written {
  OwningOpRef<ModuleOp> copy;
  Program program;
  SmallVector<Span> spans;
};

// Three units show a first one, a last one, and one between that all others are
// like. A pair with fewer layers has fewer.
FailureOr<RematMeter::Written> RematMeter::write(ArrayRef<LayerRun> unitOfPair,
                                                 const OpSet &body) {
  OwningOpRef<ModuleOp> copy(base->clone());
  auto pairs = findSavedPairs(copy->lookupSymbol<func::FuncOp>(gradName));
  if (failed(pairs))
    return failure();
  RematPlan plan;
  plan.body = body;
  SmallVector<Span> spans;
  for (auto [i, pair] : llvm::enumerate(*pairs)) {
    LayerRun unit = i < unitOfPair.size() ? unitOfPair[i] : LayerRun();
    int64_t count = pair.forward.getCount(),
            n = std::clamp<int64_t>(count / unit.layers, 1, 3);
    spans.push_back({pair.forward.getCallee().str(),
                     pair.backward.getCallee().str(),
                     int64_t(pair.forward.getFrom()), n * unit.layers,
                     unit.layers, pair.forward.getReverse()});
    SmallVector<LayerRun> &runs = plan.pairs.emplace_back();
    if (unit.segment)
      runs.assign(n, unit);
    else
      runs.assign(1, LayerRun{n * unit.layers, unit.recompute, false});
  }
  if (failed(applyPlan(*copy, plan)) || failed(formKernels(*copy)))
    return failure();
  auto program = flatten(*copy, gradName);
  if (failed(program))
    return failure();
  return Written{std::move(copy), std::move(*program), std::move(spans)};
}

FailureOr<PlanFigures> RematMeter::units(ArrayRef<LayerRun> unitOfPair,
                                         const OpSet &body) {
  auto written = write(unitOfPair, body);
  if (failed(written))
    return failure();
  PlanFigures out = read(written->program, written->spans, rates);
  // Only one pair recomputes at a time, or costs could not be told apart.
  for (auto [figures, unit, span] :
       llvm::zip(out.pairs, unitOfPair, written->spans))
    if (unit.segment || unit.recompute.any())
      figures.cost = out.cost.again / (span.layers / span.unit);
  return out;
}

FailureOr<Predictor> RematMeter::predictor(int p) {
  auto written = write({}, OpSet());
  if (failed(written))
    return failure();
  const Program &program = written->program;
  std::vector<int> unitOf(program.launches.size(), p < 0 ? 0 : -1);
  for (auto [t, launch] : llvm::enumerate(program.launches))
    for (auto [q, span] : llvm::enumerate(written->spans))
      if (span.owns(program, launch))
        unitOf[t] = int(q) == p ? int(span.unitOf(launch.layer)) : -1;
  int64_t units = p < 0 ? 1 : written->spans[p].layers;
  std::optional<unsigned> apart;
  if (p < 0)
    apart = apartBegin(
        base->lookupSymbol<func::FuncOp>(gradName).getBody().front());
  return Predictor(program, rates, std::move(unitOf), units, apart);
}

FailureOr<PlanFigures> RematMeter::whole(const RematPlan &plan) {
  OwningOpRef<ModuleOp> copy(base->clone());
  if (failed(applyPlan(*copy, plan)) || failed(formKernels(*copy)))
    return failure();
  auto program = flatten(*copy, gradName);
  if (failed(program))
    return failure();
  return read(*program, {}, rates);
}
