// SPDX-License-Identifier: Apache-2.0
//
// A launch: worker threads run its clusters, in an order drawn by the seed.
//
// A cluster that can only wait is set aside until global memory changes. When
// all clusters that have begun wait, the next one begins. If that lets a
// waiting one continue, the kernel relies on CTAs that need not be co-resident:
// a finding, unless the launch is cooperative, or promises that so many are
// (LaunchRequest::atOnce). When all have begun and wait,
// the launch waits for another launch, and if there is none, that is a deadlock
// (Simulator::advance()).
#include "runtime/sim/execute/Machine.h"
#include "runtime/sim/execute/Mbarrier.h"
#include "runtime/sim/execute/Underway.h"
#include <algorithm>
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
    return has(cta) && has(other) && clusterOf(cta) == clusterOf(other);
  return true;
}

bool Grid::isPast(uint32_t cta) const {
  return cta < firstCta && std::none_of(
                               beside.begin(), beside.end(),
                               [&](const auto &range) {
                                 return cta >= range.first &&
                                        cta < range.second;
                               });
}

Scope Grid::distance(uint32_t cta, uint32_t other) const {
  return cta == other                          ? Scope::Cta
         : inScope(cta, other, Scope::Cluster) ? Scope::Cluster
                                               : Scope::Gpu;
}

uint32_t Grid::clusterOf(uint32_t cta) const {
  cta -= firstCta;
  uint32_t x = cta % gridDim[0], y = cta / gridDim[0] % gridDim[1],
           z = cta / gridDim[0] / gridDim[1];
  uint32_t nx = gridDim[0] / clusterDim[0], ny = gridDim[1] / clusterDim[1];
  return (z / clusterDim[2] * ny + y / clusterDim[1]) * nx + x / clusterDim[0];
}

void Grid::report(Finding finding) {
  std::lock_guard lock(mutex);
  // Keep one finding per kind and pair of places, and count the others.
  uint64_t key = mix(uint64_t(finding.kind) << 32 | finding.site.ptxLine) ^
                 mix(finding.otherSite.ptxLine + 1) ^
                 std::hash<std::string>()(finding.message);
  auto [it, isNew] = findingIndex.try_emplace(key, findings.size());
  if (!isNew) {
    if (it->second < findings.size())
      ++findings[it->second].count;
    return;
  }
  // Tolerated findings have a limit of their own, so that they do not displace
  // others.
  size_t &kept = told[isTolerated(finding.kind)];
  if (kept < options->maximumFindings) {
    ++kept;
    findings.push_back(std::move(finding));
  } else {
    it->second = ~size_t(0);
  }
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

/// Random numbers are seeded by the place in the grid, not drawn from a common
/// source: a cluster draws the same whichever host thread runs it, and
/// whenever.
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
    uint32_t index =
        (cta->id[2] * grid.gridDim[1] + cta->id[1]) * grid.gridDim[0] +
        cta->id[0];
    cta->linear = grid.firstCta + index;
    cta->threads = threads;
    // The pattern of the widest swizzle repeats every 1024 bytes, so shared
    // memory begins at a multiple of that.
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
          Random(grid.options->seed, uint64_t(index) << 16 | w,
                 grid.options->drawsRounding ? grid.options->seed : 0);
      // jump() adds a fragment while it holds a reference to another one. A
      // warp has at most 32, so the vector never moves.
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

void Grid::prepare() {
  for (unsigned i = 0; i < 3; ++i)
    clusters *= gridDim[i] / clusterDim[i];
  watchesOrder =
      checks && !request.cooperative && request.atOnce <= 1 && clusters > 1 &&
      std::any_of(program->functions.begin(), program->functions.end(),
                  [](const FunctionCode &f) {
                    return std::any_of(
                        f.code.begin(), f.code.end(),
                        [](auto &i) { return i.flags & flagLooks; });
                  });
  // With a seed, clusters begin in steps of a random stride; it is coprime to
  // their number, so that the walk visits all.
  Random order(options->seed, 0);
  if (order.isQuiet() || clusters == 1) {
    stride = 1;
    return;
  }
  start = order.next() % clusters;
  do
    stride = 1 + order.next() % clusters;
  while (std::gcd(stride, clusters) != 1);
}

/// Whether as many wait as the launch promises to be there at once.
bool Grid::areAtOnce() const {
  return aside.size() * ctasPerCluster >= request.atOnce;
}

/// Whether another cluster may begin beside those that run. A device that runs
/// just as many at once as are promised begins no more, so that none waits for
/// one that this device would not have begun.
bool Grid::hasRoom() const {
  return request.atOnce > 1
             ? (active + aside.size()) * ctasPerCluster < request.atOnce
             : aside.empty();
}

// The waiting cluster may instead wait for another launch. So remember it, and
// report it only if the cluster that begins now lets it continue.
void Grid::suspectOrder() {
  if (aside.empty() || request.cooperative || toldOrder || suspect ||
      !areAtOnce())
    return;
  suspect = aside.front().cluster.get();
  suspicion = suspect->waits(FindingKind::ReliesOnCtaOrder);
}

/// The next cluster to run. Null when all wait (`waiting` is set then) or
/// nothing is left to do.
std::unique_ptr<Cluster> Grid::pick(std::unique_lock<std::mutex> &lock,
                                    unsigned &tries) {
  auto take = [&](std::deque<Aside>::iterator it) {
    std::unique_ptr<Cluster> cluster = std::move(it->cluster);
    aside.erase(it);
    return cluster;
  };
  for (;; changed.wait(lock)) {
    if (stop || outOfMemory || waiting || instructions > pauseAt)
      return nullptr;
    tries = 0;
    uint64_t now = underway->events.load();
    auto ready = std::find_if(aside.begin(), aside.end(), [&](Aside &a) {
      return a.cluster->seenEvents != now;
    });
    if (ready != aside.end())
      return take(ready);
    // Memory may have changed while the last of them was set aside.
    auto again = [&] {
      auto fresh = std::find_if(aside.begin(), aside.end(),
                                [](Aside &a) { return a.tries == 0; });
      if (fresh == aside.end())
        return std::unique_ptr<Cluster>();
      tries = fresh->tries + 1;
      return take(fresh);
    };
    if (next < clusters && (active == 0 || hasRoom())) {
      // As many are there as may wait for each other: one of them should go on.
      if (request.atOnce > 1 && areAtOnce())
        if (auto cluster = again())
          return cluster;
      suspectOrder();
      auto cluster =
          makeCluster(*this, uint32_t((start + next++ * stride) % clusters));
      outOfMemory = !cluster;
      return cluster;
    }
    if (active)
      continue;
    if (aside.empty())
      return nullptr;
    // All have begun and wait. Run each once more.
    if (auto cluster = again())
      return cluster;
    waiting = true;
    return nullptr;
  }
}

void Grid::work() {
  std::unique_lock lock(turns);
  unsigned tries = 0;
  while (std::unique_ptr<Cluster> cluster = pick(lock, tries)) {
    ++active;
    lock.unlock();
    Cluster::Outcome outcome = cluster->run(/*patient=*/tries > 0);
    lock.lock();
    --active;
    counters.add(cluster->counters);
    cluster->counters = Counters();
    bool finished = outcome == Cluster::Outcome::Finished;
    moved |= finished || cluster->moved;
    if (cluster.get() == suspect && (finished || cluster->moved)) {
      suspect = nullptr;
      toldOrder = true;
      for (Finding &f : suspicion)
        report(std::move(f));
    }
    if (outcome == Cluster::Outcome::Paused)
      cluster->seenEvents = ~uint64_t(0); // ready at once
    const bool isAside = outcome == Cluster::Outcome::Waiting ||
                         outcome == Cluster::Outcome::Paused;
    const bool inRing = request.atOnce > 1 && cluster->moved;
    if (!isAside || inRing)
      for (Aside &a : aside)
        a.tries = 0;
    if (isAside)
      aside.push_back({std::move(cluster), inRing ? 0 : tries});
    changed.notify_all();
  }
  changed.notify_all();
}

/// Starts its worker threads anew each time: a launch pauses after many
/// instructions, and between two turns nothing of it runs.
Grid::Outcome Grid::resume(uint64_t steps) {
  pauseAt = steps ? instructions + steps : ~uint64_t(0);
  moved = waiting = false;
  if (!underway->isAlone())
    suspect = nullptr; // another launch may have helped meanwhile
  for (Aside &a : aside)
    a.tries = 0;
  unsigned threads =
      options->threads ? options->threads : std::thread::hardware_concurrency();
  threads = unsigned(std::min<uint64_t>(std::max(threads, 1u), clusters));
  std::vector<std::thread> workers;
  for (unsigned i = 1; i < threads; ++i)
    workers.emplace_back([this] { work(); });
  work();
  for (std::thread &t : workers)
    t.join();
  if (stop || outOfMemory || (aside.empty() && next == clusters))
    return Outcome::Finished;
  if (waiting)
    suspect = nullptr;
  return waiting ? Outcome::Waiting : Outcome::Paused;
}

void Grid::giveUp() {
  for (Aside &a : aside)
    for (Finding &f : a.cluster->waits(FindingKind::Deadlock))
      report(std::move(f));
}

Result<LaunchReport> Grid::finish() {
  aside.clear();
  for (Finding &f : heldElements.takeAll())
    report(std::move(f));
  for (auto &[address, leak] : heap) {
    report(std::move(leak));
    (void)memory->free(address);
  }
  heap.clear();
  if (outOfMemory)
    return Error{"kernel '" + kernel->name +
                     "' needs more local memory than a thread has",
                 ""};
  LaunchReport result;
  result.counters = counters;
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
