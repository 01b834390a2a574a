// SPDX-License-Identifier: Apache-2.0
//
// CTAs and clusters: asynchronous operations, and the turns of warps.
#include "runtime/sim/execute/Machine.h"
#include "runtime/sim/execute/Mbarrier.h"
#include "runtime/sim/execute/Underway.h"
#include <algorithm>

namespace act::runtime::sim {

namespace {

constexpr uint32_t turn = 512;          // instructions of a warp per turn
constexpr unsigned idleRounds = 64;     // only polls, before it returns Waiting
constexpr unsigned patientRounds = 512; // the same when nothing else can run

} // namespace

void AsyncOperation::advance() {
  if (stage == Issued) {
    read();
    stage = HasRead;
  } else if (stage == HasRead) {
    write();
    stage = HasWritten;
  } else if (stage == HasWritten) {
    complete();
    stage = Done;
  }
}

void AsyncOperation::finish() {
  while (stage != Done)
    advance();
}

/// When an operation takes effect is open until it is waited for. The draw
/// makes the extremes likely: kernels fail when a copy is early or when it is
/// late.
void Cta::issue(std::unique_ptr<AsyncOperation> operation) {
  ++cluster->events;
  // Quiet: all of it as soon as it may. Otherwise, by chance: everything now
  // (1/4), only the read now (1/4), or nothing yet (1/2).
  uint32_t draw = cluster->random.isQuiet() ? 0 : cluster->random.below(4);
  if (draw <= 1 && operation->mayAdvance()) {
    if (draw == 0)
      operation->finish();
    else
      operation->advance();
  }
  if (operation->stage != AsyncOperation::Done)
    operations.push_back(std::move(operation));
}

void Cta::finish(const std::function<bool(AsyncOperation &)> &which) {
  // Completing one may issue or finish others, so walk the deque by index and
  // clean it afterwards.
  bool any = false;
  for (size_t i = 0; i < operations.size(); ++i)
    if (operations[i]->stage != AsyncOperation::Done && which(*operations[i])) {
      operations[i]->finish();
      any = true;
    }
  if (!any)
    return;
  ++cluster->events;
  operations.erase(std::remove_if(operations.begin(), operations.end(),
                                  [](const auto &o) {
                                    return o->stage == AsyncOperation::Done;
                                  }),
                   operations.end());
}

bool Cta::advanceOne(Random &random) {
  if (operations.empty())
    return false;
  size_t count = operations.size();
  size_t start = random.isQuiet() ? 0 : random.below(uint32_t(count));
  for (size_t k = 0; k < count; ++k) {
    size_t i = (start + k) % count;
    AsyncOperation &o = *operations[i];
    if (o.stage != AsyncOperation::Done && o.mayAdvance()) {
      o.advance();
      ++cluster->events;
      if (o.stage == AsyncOperation::Done)
        for (size_t j = 0; j < operations.size(); ++j)
          if (operations[j].get() == &o) {
            operations.erase(operations.begin() + j);
            break;
          }
      return true;
    }
  }
  return false;
}

/// Gives each warp a turn, in rounds, until all have exited. A round in which
/// every warp only polled is idle; after enough of them the cluster returns,
/// because only another cluster can help.
Cluster::Outcome Cluster::run(bool patient) {
  std::vector<Warp *> live;
  for (auto &cta : ctas)
    for (auto &warp : cta->warps)
      if (warp->liveLanes)
        live.push_back(warp.get());
  unsigned idle = 0;
  uint64_t idleSteps = 0; // since a warp last did more than poll
  uint64_t seenLocal = events;
  seenEvents = grid->underway->events.load(std::memory_order_relaxed);
  moved = false;
  while (!live.empty()) {
    if (grid->stop.load(std::memory_order_relaxed))
      return Outcome::Stopped;
    bool ran = false;
    uint64_t enough = 0; // idle instructions per warp before it may wait
    uint64_t before = counters.totalWarpInstructions();
    if (!random.isQuiet())
      for (size_t i = live.size(); i > 1; --i)
        std::swap(live[i - 1], live[random.below(uint32_t(i))]);
    for (Warp *warp : live) {
      warp->worked = warp->events = 0;
      uint32_t budget =
          random.isQuiet() ? turn : 1 + random.below(1 << random.below(10));
      Warp::Outcome outcome = warp->run(budget);
      if (outcome == Warp::Outcome::Finished)
        --warp->cta->liveWarps;
      ran |= outcome == Warp::Outcome::Ran && (warp->worked || warp->events);
      ran |= outcome == Warp::Outcome::Finished;
      // A lane that left a polling loop counts as in it for lookRange steps, so
      // a warp that has diverged, or has not polled in this turn, needs more
      // steps before it is known to be idle.
      size_t apart = 0;
      bool polled = true;
      for (const Fragment &f : warp->fragments)
        if (!f.waitingFor) {
          ++apart;
          polled &= f.looks > 0;
        }
      if (apart > 1 || !polled)
        enough = std::max(enough, 2 * Fragment::lookRange * apart);
      if (!random.isQuiet() && random.below(4) == 0)
        warp->cta->advanceOne(random);
    }
    live.erase(std::remove_if(live.begin(), live.end(),
                              [](Warp *w) { return w->fragments.empty(); }),
               live.end());
    uint64_t steps = counters.totalWarpInstructions() - before;
    uint64_t total =
        grid->instructions.fetch_add(steps, std::memory_order_relaxed) + steps;
    if (grid->options->maximumInstructions &&
        total > grid->options->maximumInstructions) {
      grid->stop = true;
      return Outcome::Stopped;
    }
    if (total > grid->pauseAt.load(std::memory_order_relaxed)) {
      moved |= ran || events != seenLocal;
      return Outcome::Paused;
    }
    idleSteps += steps;
    if (ran || events != seenLocal) {
      idle = 0;
      idleSteps = 0;
      moved = true;
      seenLocal = events;
      seenEvents = grid->underway->events.load(std::memory_order_relaxed);
      continue;
    }
    // All warps only polled. Pending asynchronous operations may help.
    bool advanced = false;
    for (auto &cta : ctas)
      advanced |= cta->advanceOne(random);
    if (!advanced && ++idle >= (patient ? patientRounds : idleRounds) &&
        idleSteps >= enough * live.size())
      return Outcome::Waiting;
  }
  for (auto &cta : ctas)
    cta->finish([](AsyncOperation &) { return true; });
  for (auto &cta : ctas) {
    cta->checkRegisterChanges();
    cta->checkTouches();
  }
  return Outcome::Finished;
}

std::vector<Finding> Cluster::waits(FindingKind kind) const {
  std::vector<Finding> found;
  for (auto &cta : ctas)
    for (auto &warp : cta->warps)
      for (Fragment &f : warp->fragments) {
        if (found.size() == 16)
          return found;
        const Instruction &i = f.frame->function->code[f.pc];
        Context c{*warp, *cta, *grid, f, *f.frame, f.mask, true};
        bool polls = f.isLooking();
        // It waits at a whole-warp instruction; other lanes wait elsewhere.
        bool apart = i.flags & flagAligned && f.waitingFor && !f.barrier &&
                     f.mask != warp->liveLanes;
        std::string what =
            apart ? "waits at an instruction that its whole warp must execute "
                    "together, while other lanes of the warp wait elsewhere"
            : f.barrier
                ? "waits for barrier " +
                      std::to_string(f.barrier - cta->barriers.data()) + "; " +
                      std::to_string(f.barrier->arrived) + " of " +
                      (f.barrier->expected ? std::to_string(f.barrier->expected)
                                           : "the CTA's") +
                      " threads have arrived"
            : f.waitingFor ? "waits for " + std::string(f.waitingFor)
            : polls && f.mbarrier
                ? "waits for " + f.mbarrier->describe(f.mbarrierPhase)
            : polls ? "waits for " + std::string(f.polled)
                    : "spins in a loop that no other thread can end";
        uint64_t address = f.waitingFor ? f.waitingAddress
                           : polls      ? f.polledAddress
                                        : 0;
        found.push_back(c.finding(apart ? FindingKind::DivergentBarrier : kind,
                                  i, unsigned(__builtin_ctz(f.mask)), what));
        if (address && !apart) {
          found.back().hasAddress = true;
          found.back().address = address;
          found.back().where = grid->describe(*cta, address);
        }
      }
  return found;
}

void Cta::checkRegisterChanges() const {
  for (auto &warp : warps) {
    const std::vector<uint32_t> &sites = registerSites[warp->index / 4];
    if (warp->registerChanges >= sites.size())
      continue;
    Finding f;
    f.kind = FindingKind::DivergentBarrier;
    f.kernel = grid->kernel->name;
    f.message = "is not executed by all warps of a warpgroup";
    f.site = grid->program->site(sites[warp->registerChanges]);
    f.thread = grid->threadId(linear, warp->index * 32);
    grid->report(std::move(f));
  }
}

void Cta::checkTouches() {
  for (const auto &[agent, touch] : touches) {
    if (knows(endSeen.freeze(), touch.by, sharedOf(rank)))
      continue;
    Finding f;
    f.kind = FindingKind::InvalidOperation;
    f.kernel = grid->kernel->name;
    f.message = "may access shared memory of a CTA that has exited; none of "
                "the threads of that CTA waits for the access";
    f.site = grid->program->site(touch.site);
    f.thread = grid->threadId(touch.by);
    grid->report(std::move(f));
  }
  touches.clear();
}

void Context::checkExit(const Instruction &at) const {
  if (grid.ctasPerCluster > 1 || !cta.mbarriers.empty()) {
    Gathering proxied; // unused
    warp.publish(mask, cta.endSeen, proxied);
  }
  for (unsigned lane = 0; lane < 32; ++lane)
    if (active(lane) && warp.bulkReads[lane] > warp.own[OwnBulkRead][lane]) {
      report(FindingKind::InvalidOperation, at, lane,
             "exits while its bulk copies may still read shared memory; wait "
             "with cp.async.bulk.wait_group first");
      break;
    }
}

Cta::Cta() = default;
Cta::~Cta() = default;

} // namespace act::runtime::sim
