// SPDX-License-Identifier: Apache-2.0
//
// A launch: clusters taken by worker threads, in an order that the seed draws.
//
// A cluster that can only wait is put aside. It is taken up again when global
// memory has changed. When all that have begun wait and some have not begun,
// the kernel relies on CTAs running at the same time that need not: that is a
// finding (unless the launch is cooperative), and another one begins. When none
// is left to begin, it is a deadlock.
#include "runtime/sim/Machine.h"
#include "runtime/sim/Mbarrier.h"
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <numeric>
#include <thread>
#include <tuple>

namespace act::runtime::sim {

bool Grid::inScope(uint32_t cta, uint32_t other, Scope scope) const {
  if (cta == other)
    return true;
  if (scope == Scope::Cta)
    return false;
  if (scope == Scope::Cluster)
    return clusterOf(cta) == clusterOf(other);
  return true;
}

Scope Grid::distance(uint32_t cta, uint32_t other) const {
  return cta == other                         ? Scope::Cta
         : clusterOf(cta) == clusterOf(other) ? Scope::Cluster
                                              : Scope::Gpu;
}

uint32_t Grid::clusterOf(uint32_t cta) const {
  uint32_t x = cta % gridDim[0], y = cta / gridDim[0] % gridDim[1],
           z = cta / gridDim[0] / gridDim[1];
  uint32_t nx = gridDim[0] / clusterDim[0], ny = gridDim[1] / clusterDim[1];
  return (z / clusterDim[2] * ny + y / clusterDim[1]) * nx + x / clusterDim[0];
}

void Grid::report(Finding finding) {
  std::lock_guard lock(mutex);
  // One of a kind and pair of places is enough; the others are counted.
  uint64_t key = mix(uint64_t(finding.kind) << 32 | finding.site.ptxLine) ^
                 mix(finding.otherSite.ptxLine + 1) ^
                 std::hash<std::string>()(finding.message);
  auto [it, isNew] = findingIndex.try_emplace(key, findings.size());
  if (!isNew) {
    if (it->second < findings.size())
      ++findings[it->second].count;
    return;
  }
  if (findings.size() < options->maximumFindings)
    findings.push_back(std::move(finding));
  else
    it->second = ~size_t(0);
}

void Grid::addHeap(void *address, Finding leak) {
  std::lock_guard lock(mutex);
  heap.emplace(address, std::move(leak));
}

bool Grid::dropHeap(void *address) {
  {
    std::lock_guard lock(mutex);
    if (!heap.erase(address))
      return false;
  }
  return bool(memory->free(address));
}

namespace {

std::unique_ptr<Cluster> makeCluster(Grid &grid, uint32_t linear) {
  auto cluster = std::make_unique<Cluster>();
  cluster->grid = &grid;
  cluster->linear = linear;
  cluster->random = Random(grid.options->seed, linear + 1);
  uint32_t n[3], at[3];
  for (unsigned i = 0; i < 3; ++i)
    n[i] = grid.gridDim[i] / grid.clusterDim[i];
  at[0] = linear % n[0];
  at[1] = linear / n[0] % n[1];
  at[2] = linear / n[0] / n[1];
  uint32_t threads = grid.blockDim[0] * grid.blockDim[1] * grid.blockDim[2];
  for (uint32_t rank = 0; rank < grid.ctasPerCluster; ++rank) {
    auto cta = std::make_unique<Cta>();
    const uint32_t *c = grid.clusterDim;
    uint32_t in[3] = {rank % c[0], rank / c[0] % c[1], rank / c[0] / c[1]};
    for (unsigned i = 0; i < 3; ++i)
      cta->id[i] = at[i] * c[i] + in[i];
    cta->cluster = cluster.get();
    cta->grid = &grid;
    cta->rank = rank;
    cta->linear =
        (cta->id[2] * grid.gridDim[1] + cta->id[1]) * grid.gridDim[0] +
        cta->id[0];
    cta->threads = threads;
    cta->sharedStorage.assign(grid.sharedBytes + 1024, std::byte(0));
    auto base = reinterpret_cast<uintptr_t>(cta->sharedStorage.data());
    cta->shared.data = cta->sharedStorage.data() + (1024 - base % 1024) % 1024;
    cta->shared.bytes = grid.sharedBytes;
    cta->shared.name = "shared memory";
    cta->shared.isShared = true;
    cta->shared.ctaRank = rank;
    if (grid.checks)
      cta->shared.shadow = std::make_unique<Shadow>(grid.sharedBytes, false);
    cta->liveWarps = grid.warpsPerCta;
    for (uint32_t w = 0; w < grid.warpsPerCta; ++w) {
      auto warp = std::make_unique<Warp>();
      warp->cta = cta.get();
      warp->index = w;
      uint32_t lanes = std::min(32u, threads - w * 32);
      warp->liveLanes = lanes == 32 ? ~0u : (1u << lanes) - 1;
      warp->counters = &cluster->counters;
      warp->random =
          Random(grid.options->seed, uint64_t(cta->linear) << 16 | w,
                 grid.options->drawsRounding ? grid.options->seed : 0);
      warp->fragments.reserve(33);
      Fragment f;
      f.mask = warp->liveLanes;
      f.frame = warp->newFrame(*grid.kernel, nullptr);
      if (!f.frame)
        return nullptr;
      warp->fragments.push_back(std::move(f));
      cta->warps.push_back(std::move(warp));
    }
    cluster->counters.ctas += 1;
    cluster->counters.warps += grid.warpsPerCta;
    cluster->ctas.push_back(std::move(cta));
  }
  return cluster;
}

} // namespace

Result<LaunchReport> Grid::run() {
  uint64_t clusters = 1;
  for (unsigned i = 0; i < 3; ++i)
    clusters *= gridDim[i] / clusterDim[i];
  watchesOrder =
      checks && !request->cooperative && clusters > 1 &&
      std::any_of(program->functions.begin(), program->functions.end(),
                  [](const FunctionCode &f) {
                    return std::any_of(
                        f.code.begin(), f.code.end(),
                        [](auto &i) { return i.flags & flagLooks; });
                  });
  LaunchReport result;
  std::mutex lockable;
  std::condition_variable changed;
  uint64_t next = 0;
  unsigned active = 0;
  bool outOfMemory = false, deadlocked = false, toldOrder = false;
  struct Aside {
    std::unique_ptr<Cluster> cluster;
    unsigned tries = 0; // without a change of global memory
  };
  std::deque<Aside> aside;
  Random order(options->seed, 0);
  // The k-th to begin: for a seed, a walk through all with a stride that has no
  // factor in common with their number.
  uint64_t stride = 1, start = 0;
  if (!order.isQuiet() && clusters > 1) {
    start = order.next() % clusters;
    do
      stride = 1 + order.next() % clusters;
    while (std::gcd(stride, clusters) != 1);
  }

  auto work = [&] {
    std::unique_lock lock(lockable);
    for (;;) {
      if (stop || outOfMemory || deadlocked)
        return;
      std::unique_ptr<Cluster> cluster;
      unsigned tries = 0;
      uint64_t now = events.load();
      auto ready = std::find_if(aside.begin(), aside.end(), [&](Aside &a) {
        return a.cluster->seenEvents != now;
      });
      if (ready != aside.end()) {
        cluster = std::move(ready->cluster);
        aside.erase(ready);
      } else if (next < clusters && (aside.empty() || active == 0)) {
        if (!aside.empty() && !request->cooperative && !toldOrder) {
          toldOrder = true;
          aside.front().cluster->reportWaiting(FindingKind::ReliesOnCtaOrder);
        }
        cluster =
            makeCluster(*this, uint32_t((start + next++ * stride) % clusters));
        if (!cluster) {
          outOfMemory = true;
          changed.notify_all();
          return;
        }
      } else if (aside.empty() && next == clusters && active == 0) {
        return;
      } else if (active == 0) {
        // All have begun and wait. Each is looked at once more, since a change
        // may have come while the last of them was put aside.
        auto fresh = std::find_if(aside.begin(), aside.end(),
                                  [](Aside &a) { return a.tries == 0; });
        if (fresh == aside.end()) {
          deadlocked = true;
          for (Aside &a : aside)
            a.cluster->reportWaiting(FindingKind::Deadlock);
          changed.notify_all();
          return;
        }
        cluster = std::move(fresh->cluster);
        tries = fresh->tries + 1;
        aside.erase(fresh);
      } else {
        changed.wait(lock);
        continue;
      }
      ++active;
      lock.unlock();
      Cluster::Outcome outcome = cluster->run(/*patient=*/tries > 0);
      lock.lock();
      --active;
      result.counters.add(cluster->counters);
      cluster->counters = Counters();
      if (outcome == Cluster::Outcome::Waiting)
        aside.push_back({std::move(cluster), tries});
      else
        for (Aside &a : aside)
          a.tries = 0;
      changed.notify_all();
    }
  };
  unsigned threads =
      options->threads ? options->threads : std::thread::hardware_concurrency();
  threads = unsigned(std::min<uint64_t>(std::max(threads, 1u), clusters));
  std::vector<std::thread> workers;
  for (unsigned i = 1; i < threads; ++i)
    workers.emplace_back(work);
  work();
  for (std::thread &t : workers)
    t.join();
  for (auto &[address, leak] : heap) {
    report(std::move(leak));
    (void)memory->free(address);
  }
  if (outOfMemory)
    return Error{"kernel '" + kernel->name +
                     "' needs more local memory than a thread has",
                 ""};
  if (stop)
    result.stoppedAfter = instructions.load();
  std::sort(
      findings.begin(), findings.end(), [](const Finding &a, const Finding &b) {
        return std::tie(a.kind, a.site.ptxLine, a.otherSite.ptxLine,
                        a.message) <
               std::tie(b.kind, b.site.ptxLine, b.otherSite.ptxLine, b.message);
      });
  result.findings = std::move(findings);
  return result;
}

} // namespace act::runtime::sim
