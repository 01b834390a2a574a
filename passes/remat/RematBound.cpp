// SPDX-License-Identifier: Apache-2.0
//
// Builds the crossing of a few moments of the written-out step and takes the
// largest of their least costs. The moments are the fullest ones and the ones
// whose kernel touches most: elsewhere, more room is left and bounds tend to be
// lower. Every moment gives a valid bound, so leaving some out is safe.
#include "passes/remat/RematBound.h"
#include "act/Remat/Crossing.h"
#include "passes/kernels/FormKernels.h"
#include "passes/module/Entries.h"
#include "passes/remat/StepOps.h"
#include <set>

using namespace mlir;
using namespace act;

namespace {

constexpr size_t momentLimit = 4; // of each kind

/// The crossing of launch `t`; the values `there` are alive in it anyway and
/// take no bytes of the crossing. Values are made from others by ops before
/// `t`, and some are needed after it. Which of them to keep across `t` is the
/// question that the graph asks.
remat::CrossingGraph crossingAt(const StepOps &step, size_t t,
                                const std::vector<int32_t> &there,
                                const Rates &rates) {
  remat::CrossingGraph g;
  size_t now = step.begin[t];
  // Only values made before and needed after `t`, and what they are made from.
  std::vector<char> wanted(step.bytes.size());
  for (size_t i = now; i < step.ops.size(); ++i)
    for (int32_t v : step.ops[i].reads)
      wanted[v] = 1;
  std::vector<char> needed = wanted;
  for (size_t i = now; i-- > 0;) {
    const StepOp &op = step.ops[i];
    if (op.again &&
        llvm::any_of(op.makes, [&](int32_t v) { return wanted[v]; }))
      for (int32_t v : op.reads)
        wanted[v] = 1;
  }
  std::vector<int32_t> id(step.bytes.size(), -1);
  std::vector<char> alive(step.bytes.size());
  for (int32_t v : there)
    alive[v] = 1;
  for (size_t i = 0; i < now; ++i) {
    const StepOp &op = step.ops[i];
    if (llvm::none_of(op.makes, [&](int32_t v) { return wanted[v]; }))
      continue;
    int32_t maker = -1;
    if (op.again) {
      maker = int32_t(g.makers.size());
      g.makers.push_back({op.cost, {}});
      for (int32_t v : op.reads)
        if (id[v] >= 0)
          g.makers.back().reads.push_back(id[v]);
    }
    for (int32_t v : op.makes) {
      if (id[v] >= 0)
        continue; // part of a value that several ops make
      id[v] = int32_t(g.values.size());
      int64_t size = alive[v] ? 0 : step.bytes[v];
      g.values.push_back({size, alive[v] ? -1 : maker, bool(needed[v]), -1});
      if (rates.moves && size > 0)
        g.values.back().move = int64_t(
            std::min(std::floor(2e15 * double(size) / rates.link), 0x1p50));
    }
  }
  return g;
}

} // namespace

FailureOr<int64_t> act::leastRecomputation(ModuleOp module, int64_t budget,
                                           const Rates &rates) {
  OwningOpRef<ModuleOp> copy(module.clone());
  if (failed(formKernels(*copy)))
    return failure();
  auto program = flatten(*copy, gradName);
  if (failed(program))
    return failure();
  if (!program->backward)
    return 0;
  StepOps step(*program, rates);
  auto live = program->liveBytes();
  // The moments at which most is kept and those at which most is touched.
  int64_t peak = *std::max_element(live.begin(), live.end());
  int64_t most =
      *std::max_element(step.touchedBytes.begin(), step.touchedBytes.end());
  std::vector<std::pair<int64_t, size_t>> full, wide;
  for (size_t t = 0; t < program->launches.size(); ++t) {
    full.push_back({-live[t], t});
    if (live[t] >= peak - 2 * most)
      wide.push_back({-step.touchedBytes[t], t});
  }
  std::set<size_t> moments;
  for (auto *order : {&full, &wide}) {
    std::sort(order->begin(), order->end());
    for (size_t i = 0; i < std::min<size_t>(momentLimit, order->size()); ++i)
      moments.insert((*order)[i].second);
  }
  int64_t bound = 0;
  for (size_t t : moments) {
    remat::CrossingGraph graph = crossingAt(step, t, step.touched[t], rates);
    if (!graph.check())
      continue;
    // No result: nothing in the space keeps so little here, because the kernels
    // of the choice that was found differ. This moment gives no bound.
    if (auto cost = remat::leastCost(graph, budget - step.touchedBytes[t]))
      bound = std::max(bound, *cost);
  }
  return bound;
}
