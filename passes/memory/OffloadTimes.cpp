// SPDX-License-Identifier: Apache-2.0
//
// Replays the launches with three clocks: kernels, copies to the host and
// copies back. The offsets of the plan say which memory a copy has to wait for.
#include "passes/memory/OffloadTimes.h"

using namespace mlir;
using namespace act;

void act::setOffloadRates(ModuleOp module, const Rates &rates) {
  module->setAttr(
      offloadRatesAttr,
      DenseF64ArrayAttr::get(module.getContext(),
                             {rates.flops, rates.bytes, rates.link}));
}

static Rates ratesOf(ModuleOp module) {
  Rates rates;
  if (auto given = module->getAttrOfType<DenseF64ArrayAttr>(offloadRatesAttr);
      given && given.size() == 3 &&
      llvm::all_of(given.asArrayRef(), [](double v) { return v > 0; })) {
    rates.flops = given[0];
    rates.bytes = given[1];
    rates.link = given[2];
  }
  return rates;
}

namespace {

/// The replay. A launch starts when its operands have arrived and the memory it
/// writes is free of copies; a copy starts when its source is there and its
/// direction of the link is free.
class Clock {
public:
  Clock(const Program &program, const ArenaPlan &plan, const Rates &rates)
      : program(program), plan(plan), rates(rates),
        arrival(program.buffers.size()), left(program.buffers.size()),
        ends(program.launches.size()) {
    for (unsigned b = 0; b < program.buffers.size(); ++b)
      if (const FlatBuffer &f = program.buffers[b];
          !f.parent && !f.reuses && f.bytes && !f.onHost)
        roots.push_back(b);
  }

  void run(report::Offload &out) {
    for (unsigned t = 0; t < program.launches.size(); ++t) {
      const FlatLaunch &launch = program.launches[t];
      if (launch.copy == Copy::None)
        kernel(t, launch, out);
      else
        copy(t, launch, out);
      ends[t] = now;
    }
  }

private:
  bool overlap(unsigned a, unsigned b) const {
    return plan.offsets[a] < plan.offsets[b] + program.buffers[b].bytes &&
           plan.offsets[b] < plan.offsets[a] + program.buffers[a].bytes;
  }

  /// The time from which the memory of root `b`, first used at launch `t`, is
  /// free.
  double freeAt(unsigned b, unsigned t) const {
    double at = 0;
    for (unsigned other : roots)
      if (other != b && program.buffers[other].last < t && overlap(b, other))
        at = std::max({at, ends[program.buffers[other].last], left[other]});
    return at;
  }

  /// Copies do not advance the clock of the kernels. A copy back may start long
  /// before its launch, as soon as nothing else uses its memory.
  void copy(unsigned t, const FlatLaunch &launch, report::Offload &out) {
    double seconds = double(launch.inputs[0].bytes) / rates.link;
    out.movedBytes += launch.inputs[0].bytes;
    out.copySeconds += seconds;
    unsigned from = program.root(launch.inputs[0].index),
             to = program.root(launch.results[0].index);
    if (launch.copy == Copy::ToHost) {
      away = std::max({away, now, arrival[from]}) + seconds;
      left[from] = std::max(left[from], away);
      arrival[to] = away;
    } else {
      back = std::max({back, freeAt(to, t), arrival[from]}) + seconds;
      arrival[to] = back;
    }
  }

  /// A kernel waits for values on their way back, and for memory that a copy to
  /// the host still reads.
  void kernel(unsigned t, const FlatLaunch &launch, report::Offload &out) {
    double start = now;
    for (const Place &p : launch.inputs)
      if (p.kind == Place::Buffer)
        start = std::max(start, arrival[program.root(p.index)]);
    auto writes = [&](const Place &p) {
      if (p.kind != Place::Buffer)
        return;
      unsigned b = program.root(p.index);
      if (program.buffers[b].first == t)
        for (unsigned other : roots)
          if (left[other] > now && program.buffers[other].last < t &&
              overlap(b, other))
            start = std::max(start, left[other]);
    };
    llvm::for_each(launch.results, writes);
    llvm::for_each(launch.workspaces, writes);
    out.waitSeconds += start - now;
    double seconds = costOf(launch);
    out.computeSeconds += seconds;
    now = start + seconds;
  }

  double costOf(const FlatLaunch &launch) {
    auto [it, fresh] = costs.try_emplace(launch.group, 0);
    if (fresh)
      for (Operation &op : launch.group.getBody().front())
        it->second += double(opCost(&op, rates)) * 1e-15;
    return it->second;
  }

  const Program &program;
  const ArenaPlan &plan;
  Rates rates;
  double now = 0, away = 0, back = 0;
  std::vector<double> arrival; // by root: when the copy into it is done
  std::vector<double> left;    // by root: when the copy out of it is done
  std::vector<double> ends;    // by launch
  std::vector<unsigned> roots; // in the arena
  DenseMap<Operation *, double> costs;
};

} // namespace

std::optional<report::Offload>
act::offloadOf(ModuleOp module, const Program &program, const ArenaPlan &plan) {
  if (llvm::none_of(program.launches,
                    [](const FlatLaunch &l) { return l.copy != Copy::None; }))
    return std::nullopt;
  report::Offload out;
  Rates rates = ratesOf(module);
  out.arenaBytes = plan.hostArenaBytes;
  auto live = program.liveBytes(1, /*onHost=*/true);
  out.peakBytes = *std::max_element(live.begin(), live.end());
  out.linkBytesPerSecond = rates.link;
  Clock(program, plan, rates).run(out);
  return out;
}
