// SPDX-License-Identifier: Apache-2.0
//
// A launch as it runs: Grid → Cluster → Cta → Warp → Fragment.
//
// A warp's 32 lanes are split into fragments. The lanes of a fragment are at
// the same instruction of the same frame and step together. A divergent branch
// splits a fragment; fragments that meet again merge. The warp runs the
// fragment with the deepest call, then the lowest pc, so lanes reconverge where
// a structured program joins. A fragment that waits or has run for long yields
// to the others, so a lane that spins on another lane of its warp does not
// starve it.
//
// Blocking. A handler that cannot proceed returns Blocked and runs again later;
// there are no wake-up lists. It must have no effect when it is repeated
// (Fragment::arrived records that a barrier has already counted it). It is a
// deadlock when every warp of a cluster is blocked or only polls, no
// asynchronous operation can advance, and no other cluster can help.
// Fragment::waitingFor then says what each fragment waits for.
//
// Asynchronous operations (cp.async, bulk and tensor copies, wgmma) are objects
// with a read and a write. The seed draws when these happen: at once, or at any
// later turn of the scheduler, but no later than a wait for them returns.
//
// One cluster runs on one host thread, so only global shadows (Shadow) and
// atomics on global memory (std::atomic_ref style builtins) need
// synchronisation.
#ifndef ACT_RUNTIME_SIM_EXECUTE_MACHINE_H
#define ACT_RUNTIME_SIM_EXECUTE_MACHINE_H
#include "runtime/sim/arithmetic/Random.h"
#include "runtime/sim/execute/CtaOrder.h"
#include "runtime/sim/execute/Definedness.h"
#include "runtime/sim/memory/Clock.h"
#include "runtime/sim/memory/HeldElements.h"
#include "runtime/sim/memory/Memory.h"
#include "runtime/sim/program/Program.h"
#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace act::runtime::sim {

class Underway;
class Grid;
class Cluster;
class Cta;
class Warp;
struct Mbarrier;
struct Barrier;

/// Local memory of a thread over all active calls (the hardware's limit).
constexpr uint64_t localLimit = 512 * 1024;

/// One function activation: its registers and the offset of its locals. A
/// device function's parameters, results and .param variables are locals too.
struct Frame {
  const FunctionCode *function = nullptr;
  std::shared_ptr<Frame> caller;
  uint32_t returnPc = 0; // in the caller
  uint32_t depth = 0;    // call depth; 0: the kernel
  const Instruction *call = nullptr;
  uint64_t localBase = 0; // of the function's .local variables
  /// Lanes that used alloca in this frame, and their Warp::stackTop before it.
  uint32_t allocated = 0;
  std::array<uint32_t, 32> stackAtEntry;
  std::unique_ptr<std::byte[]> storage;
  std::byte *registers = nullptr; // 64-byte aligned
  Definedness defined;
  uint32_t carry = 0; // CC.CF of each lane (add.cc, addc ...)
  /// By slot / 64: the group of the pending wgmma that uses the register, 0 for
  /// none. Empty until the first wgmma.
  std::vector<uint64_t> inflight;
};
using FrameRef = std::shared_ptr<Frame>;

struct Fragment {
  uint32_t mask = 0;
  uint32_t pc = 0;
  FrameRef frame;
  bool blocked = false;     // its last step was Blocked
  bool arrived = false;     // at a barrier that has counted it
  uint64_t token = 0;       // the barrier generation whose end it waits for
  uint32_t members = 0;     // at a .sync: lanes it waits for
  uint32_t waitingMask = 0; // at a .sync: lanes that wait (guard applied)
  uint64_t signature = 0;   // at a .sync: only equal signatures meet
  const char *waitingFor = nullptr; // "barrier 1", for messages
  uint64_t waitingAddress = 0;
  const Barrier *barrier = nullptr; // the one it waits for
  // Its last poll that found no change: of what, at which step, and for an
  // mbarrier which phase.
  const char *polled = nullptr;
  uint64_t polledAddress = 0, polledSteps = 0;
  uint32_t looks = 0; // polls in this turn, summed over its lanes
  const Mbarrier *mbarrier = nullptr;
  uint64_t mbarrierPhase = 0;
  uint64_t steps = 0; // executed; decides whose turn it is (Warp::choose)

  /// Whether it counts as being in a polling loop: it polled recently.
  bool isLooking() const { return polled && steps - polledSteps < lookRange; }
  static constexpr uint64_t lookRange = 2048; // instructions between two polls
  // Since it diverged from its warp: the last instruction that was not a jump.
  const FunctionCode *didIn = nullptr;
  uint32_t did = 0;
};

/// A CTA barrier (bar.sync 0 ... 15).
struct Barrier {
  uint32_t expected = 0, arrived = 0; // threads; expected 0: all
  bool reduces = false;               // bar.red, not bar.sync or bar.arrive
  uint64_t generation = 0;
  bool reduceAnd = true, reduceOr = false; // bar.red, partial results
  uint32_t reduceCount = 0;
  bool resultAnd = true, resultOr = false; // of the last generation
  uint32_t resultCount = 0;
  Gathering seen, proxied;
  KnowledgeRef lastSeen, lastProxied; // of the last generation
  uint32_t site = 0;
  /// A thread of each arrival, in this generation and in the last. `left`: the
  /// warps (bits) that waited for the end of the last one.
  std::vector<Epoch> came, lastCame;
  uint32_t left = 0;
};

/// Work that runs asynchronously to the issuing thread. The issuing CTA owns it
/// until it is complete and advances it: read(), write(), complete(), each once
/// and in that order, at times drawn from the seed.
class AsyncOperation {
public:
  enum Stage : uint8_t { Issued, HasRead, HasWritten, Done };
  virtual ~AsyncOperation() = default;
  virtual void read() = 0;  // takes its sources as they are now
  virtual void write() = 0; // stores its results
  /// Whether it is a bulk copy out of shared memory: it may land at any time
  /// until it is waited for.
  virtual bool writesInGroup() const { return false; }
  virtual void complete() {} // signals its mbarrier, if any
  /// Whether it may leave `stage` now (order among operations and groups).
  virtual bool mayAdvance() const { return true; }
  void advance();
  void finish();
  Stage stage = Issued;
  uint32_t warp = 0, lane = 0; // the issuer
  uint64_t group = 0;          // the issuer's group number, from 1
  uint32_t site = 0;
};

/// The kinds of a thread's agents (Clock.h), as indices of Warp::own.
enum Own : uint8_t {
  OwnThread,
  OwnCopyAsync,
  OwnBulkRead,
  OwnBulkWrite,
  OwnWgmma,
  OwnCount
};

/// What a release or a fence passes to a thread that acquires it.
struct Told {
  KnowledgeRef seen, proxied;
};

class Warp {
public:
  Cta *cta = nullptr;
  uint32_t index = 0;     // in the CTA
  uint32_t liveLanes = 0; // not exited
  std::vector<Fragment> fragments;
  uint32_t current = 0;
  /// Lanes that exited while diverged, after executing something on their own.
  /// If the other lanes later execute a whole-warp instruction from which
  /// control can reach `did`, the exited lanes bypassed that instruction in a
  /// branch: they did not merely exit early. Warp.cpp reports that.
  struct Left {
    uint32_t lanes;
    const FunctionCode *in;
    uint32_t did;
  };
  std::vector<Left> left;
  uint32_t events = 0; // in this turn: changes that others may wait for
  /// In this turn: instructions of fragments that do more than poll.
  uint32_t worked = 0;
  uint32_t registers = 0;       // per thread, set by setmaxnreg; 0: as launched
  uint32_t registerChanges = 0; // setmaxnreg executed
  Region *lastRegion = nullptr; // of global memory: a one-entry cache
  std::byte *local = nullptr;   // [lane][localLimit], mapped when first needed
  /// Where each lane's alloca space begins in its local memory.
  std::array<uint32_t, 32> stackTop;
  Counters *counters = nullptr;
  Random random;

  // ---- clocks (checks only); one entry per lane
  uint32_t tick = 1; // of its threads
  LaneKnowledge seen, proxied;
  // The last tick known of each lane's own agents.
  std::array<std::array<uint32_t, 32>, OwnCount> own{};
  /// A proxy fence follows the own generic-proxy accesses (threads, cp.async)
  /// up to these ticks, by the fence's Reach (up to Own).
  std::array<std::array<std::array<uint32_t, 32>, 2>, 4> proxiedOwn{};
  /// What a fence passes to later relaxed writes, and takes from earlier
  /// relaxed reads. Indexed by the greatest distance of the other thread
  /// (Scope: same CTA, cluster or GPU): a fence has no effect beyond its scope.
  static constexpr unsigned distances = 3;
  std::array<std::array<Told, 32>, distances> fenced, pendingAcquire;
  /// Each lane's own mbarrier.init operations.
  std::array<KnowledgeRef, 32> inits;
  void initialised(unsigned lane, Epoch init);
  Limiter limiter;
  /// A cache for what lanes have seen when they know the same: `of`.
  struct Certain {
    KnowledgeRef of;
    KnownTicks ticks, differ; // differ: scratch for lanes that are not alike
  } certain;

  // ---- asynchronous groups that each lane has committed
  std::array<uint64_t, 32> copyGroups{}, bulkGroups{};
  /// Each cp.async.mbarrier.arrive of a lane, as the number of groups committed
  /// before it. The lane's cp.async agent ticks at these arrivals too.
  std::array<std::vector<uint64_t>, 32> copyArrivals;
  bool copiesArrived = false; // some lane has such an arrival
  /// The tick of a lane's cp.async when `groups` of its groups are complete.
  uint32_t copyTick(unsigned lane, uint64_t groups) const;
  /// The tick of the lane's next cp.async.
  uint32_t nextCopyTick(unsigned lane) const {
    return uint32_t(copyGroups[lane] + copyArrivals[lane].size() + 1);
  }
  /// The group of a lane's last bulk copy that reads shared memory; 0: none.
  std::array<uint64_t, 32> bulkReads{};
  /// Its last copies that an mbarrier counts: the epoch under which the
  /// mbarrier knows each, and the issuer's tick and knowledge.
  struct Sent {
    Epoch copy;
    uint32_t tick;
    KnowledgeRef seen;
  };
  static constexpr size_t rememberedCopies = 64;
  std::deque<Sent> copiesSent;
  uint64_t wgmmaGroups = 0;
  bool wgmmaUncommitted = false;

  /// Generation + 1 of the cluster barrier at which a lane arrived; 0: none.
  std::array<uint64_t, 32> clusterToken{};
  uint32_t clusterPassed = 0; // lanes that have waited at it

  Reach ownReach(unsigned k) const;              // of proxiedOwn[k]
  uint32_t agent(Own kind, unsigned lane) const; // Clock.h's numbers
  Epoch epoch(Own kind, unsigned lane, uint32_t tickOf) const;
  /// Lanes learn k and p (acquire).
  void learn(uint32_t lanes, const KnowledgeRef &k, const KnowledgeRef &p);
  /// Adds what lanes know, and their own epochs, to the gatherings (release).
  /// Call ticked() once after all lanes of the instruction.
  void publish(uint32_t lanes, Gathering &k, Gathering &p) const;
  void ticked() { ++tick; }
  bool laneKnows(unsigned lane, Epoch e, bool needsProxy,
                 Reach reach = Reach::All) const;

  enum class Outcome : uint8_t { Ran, Blocked, Finished };
  /// Runs up to `budget` instructions.
  Outcome run(uint32_t budget);
  /// Null when the stack is too deep.
  FrameRef newFrame(const FunctionCode &function, const FrameRef &caller);

  /// Splits `lanes` off the current fragment to `pc`; if these are all its
  /// lanes, it just moves.
  void jump(Fragment &fragment, uint32_t lanes, uint32_t pc);
  /// Ends lanes. Removes the fragment when none is left.
  void exit(uint32_t lanes);
  /// Maps local memory; false when a stack of `bytes` is too deep.
  bool needLocal(uint64_t bytes);
  /// The origin (Definedness.h) of each undefined byte of local memory, by
  /// offset from `local`. Bytes that were never written count as defined.
  std::unordered_map<uint64_t, uint32_t> undefinedLocals;
  /// Copies between a lane's variables, given as offsets from `local`.
  void copyLocals(uint64_t to, uint64_t from, uint64_t bytes);
  /// Drops what is recorded of a lane from `begin` to `end`: a new frame.
  void forgetLocals(unsigned lane, uint64_t begin, uint64_t end);
  Warp() { stackTop.fill(localLimit); }
  ~Warp();

private:
  friend struct Context;
  bool choose();                 // sets current; false: all blocked
  void merge(uint32_t fragment); // with others at the same place
  void finishMeeting(const Instruction &at);
  struct Met { // lanes of another fragment that joined the running instruction
    FrameRef frame;
    uint32_t pc, lanes, all;
    const Instruction *at;
  };
  std::vector<Met> met;
  std::vector<std::byte> saved; // the frame's operands before they joined
  Definedness savedDefined;
};

struct SharedStateBase {
  virtual ~SharedStateBase() = default;
};

class Cta {
public:
  Cluster *cluster = nullptr;
  Grid *grid = nullptr;
  uint32_t id[3] = {0, 0, 0}; // %ctaid
  /// `linear` counts across all launches under way (Grid::firstCta); `rank` is
  /// the index in the cluster.
  uint32_t linear = 0, rank = 0;
  Region shared; // static and dynamic
  std::vector<std::byte> sharedStorage;
  std::vector<std::unique_ptr<Warp>> warps;
  std::array<Barrier, 16> barriers;
  std::deque<std::unique_ptr<AsyncOperation>> operations; // in order of issue
  std::unordered_map<uint64_t, std::unique_ptr<Mbarrier>>
      mbarriers; // by offset in its shared memory (Mbarrier.h)
  /// A read of shared memory that each warp of a warpgroup issues, found free
  /// of conflicts by what the first warp had heard. It holds for a warp that
  /// has heard the same, while the shadow does not change.
  struct CommonRead {
    std::shared_ptr<const void> places; // what is read
    KnowledgeRef seen, proxied;
    uint64_t changes = 0; // of the Shadow
    uint32_t warpgroup = 0, site = 0, tick = 0;
    bool operator==(const CommonRead &o) const {
      return places == o.places && seen == o.seen && proxied == o.proxied &&
             changes == o.changes && warpgroup == o.warpgroup &&
             site == o.site && tick == o.tick;
    }
  };
  std::array<CommonRead, 16> commonReads;
  /// Per warpgroup: the knowledge that its warps' wgmma up to group `upTo` are
  /// complete.
  struct WgmmaReads {
    uint64_t upTo = 0;
    KnowledgeRef known;
  };
  std::array<WgmmaReads, 8> wgmmaReads;
  Joiner joiner; // warps that learn the same then share one Knowledge
  uint32_t nextMbarrierAgent = 0;
  std::vector<uint64_t> mbarrierWords; // a bit per 8 bytes: a live mbarrier
  /// The last fence.proxy.tensormap::generic.acquire of each map and warp, with
  /// what its lanes knew (instructions/TensorMapFamily.cpp).
  struct TensorMapAcquire {
    uint64_t address = 0;
    uint32_t warp = 0, lanes = 0, tick = 0;
    KnowledgeRef known;
  };
  std::vector<TensorMapAcquire> tensorMapAcquires;
  uint32_t threads = 0;
  uint32_t liveWarps = 0;
  /// Registers that setmaxnreg may still hand out.
  int64_t registerPool = 0;
  /// The setmaxnreg instructions that each warpgroup executed, in order.
  std::array<std::vector<uint32_t>, 8> registerSites;
  std::deque<std::string> notes; // what fragments wait for (waitingFor)
  /// The last access to its shared memory by each agent that can outlive it:
  /// threads of other CTAs, and copies that mbarriers count.
  struct Touch {
    Epoch by;
    uint32_t site;
  };
  std::unordered_map<uint64_t, Touch> touches;
  Gathering endSeen; // what its threads knew when they exited

  Cta();
  ~Cta();
  bool holdsMbarrier(uint64_t offset, uint64_t bytes) const {
    const uint64_t end = (offset + bytes + 7) / 8;
    for (uint64_t k = offset / 8, count; k < end; k += count) {
      if (k / 64 >= mbarrierWords.size())
        return false;
      count = end - k < 64 - k % 64 ? end - k : 64 - k % 64;
      if (mbarrierWords[k / 64] & ~uint64_t(0) >> (64 - count) << k % 64)
        return true;
    }
    return false;
  }
  /// Reports warps that executed fewer setmaxnreg than their warpgroup.
  void checkRegisterChanges() const;
  /// Reports touches that no thread of the CTA knew of at its end.
  void checkTouches();
  void markMbarrier(uint64_t offset, bool live) {
    uint64_t k = offset / 8;
    if (mbarrierWords.size() <= k / 64)
      mbarrierWords.resize(k / 64 + 1);
    uint64_t bit = uint64_t(1) << k % 64;
    mbarrierWords[k / 64] =
        live ? mbarrierWords[k / 64] | bit : mbarrierWords[k / 64] & ~bit;
  }
  /// Runs all of the operation, its read, or nothing of it yet, as drawn.
  void issue(std::unique_ptr<AsyncOperation> operation);
  /// Finishes the operations for which `which` is true, oldest first.
  void finish(const std::function<bool(AsyncOperation &)> &which);
  /// Advances one pending operation by a stage; false when none may advance.
  bool advanceOne(Random &random);
  /// Reports what an operation of this CTA finds when it runs.
  void report(const AsyncOperation &operation, FindingKind kind,
              std::string message) const;
};

class Cluster {
public:
  Grid *grid = nullptr;
  uint32_t linear = 0;
  std::vector<std::unique_ptr<Cta>> ctas; // by rank
  uint64_t events = 0;                    // changes that others might wait for
  Random random;
  Counters counters;
  // barrier.cluster
  uint64_t clusterGeneration = 0;
  Gathering clusterSeen, clusterProxied;
  KnowledgeRef clusterLastSeen, clusterLastProxied;

  // What it knows of other clusters (CtaOrder.h).
  Begun heard;
  Looks looks;

  enum class Outcome : uint8_t { Finished, Waiting, Paused, Stopped };
  /// Runs until it finishes, can only wait for another cluster, or its grid
  /// pauses. `patient`: polls for longer before it returns Waiting.
  Outcome run(bool patient);
  uint64_t seenEvents = 0; // Underway::events when it began to wait
  bool moved = false;      // in the last run: it did more than poll
  /// A finding for each waiting fragment, at most 16.
  std::vector<Finding> waits(FindingKind kind) const;
};

class Grid {
public:
  std::shared_ptr<const Program> program;
  const FunctionCode *kernel = nullptr;
  LaunchRequest request;
  const Options *options = nullptr;
  Underway *underway = nullptr;
  std::atomic<uint64_t> *globalEvents = nullptr; // Underway::events
  Memory *memory = nullptr;
  const Target *target = nullptr;
  uint32_t gridDim[3], blockDim[3], clusterDim[3];
  uint32_t warpsPerCta = 0, ctasPerCluster = 1;
  /// Launches under way number their CTAs consecutively (Underway.h).
  uint32_t firstCta = 0, ctaCount = 0;
  uint64_t sharedBytes = 0, dynamicSharedOffset = 0;
  uint64_t workspace = 0; // of a cooperative launch; %envreg1 and 2
  Region parameters;      // the kernel's parameter block
  std::atomic<uint64_t> instructions{0};
  std::atomic<bool> stop{false};
  bool checks = true, explicitCluster = false;
  /// Loads and stores propagate undefined values; if false, they report them.
  bool passesUndefined = true;
  bool orderedSums = false; // Options
  /// Its CTAs need not be co-resident, and some have loops that wait for others
  /// (CtaOrder.h).
  bool watchesOrder = false;

  /// Whether a CTA belongs to this launch.
  bool has(uint32_t cta) const { return cta - firstCta < ctaCount; }
  /// Whether it belongs to a launch that had ended when this one began.
  bool isPast(uint32_t cta) const;

  ThreadId threadId(uint32_t cta, uint32_t agent) const;
  /// The same; for a copy that an mbarrier counts, the thread that issued it.
  ThreadId threadId(Epoch epoch) const;
  /// The issuers of the last half million copies that mbarriers count.
  class Issuers {
  public:
    void add(Epoch copy, Epoch thread);
    std::optional<Epoch> of(Epoch copy) const;

  private:
    static constexpr size_t generation = 1 << 18;
    mutable std::mutex mutex;
    std::unordered_map<uint64_t, uint64_t> recent, earlier;
  };
  Issuers issuers;
  HeldElements heldElements;
  /// A description of an address for messages.
  std::string describe(const Cta &cta, uint64_t address) const;
  /// Whether CTA `other` is within `scope` of CTA `cta`.
  bool inScope(uint32_t cta, uint32_t other, Scope scope) const;
  /// The narrowest scope that includes both.
  Scope distance(uint32_t cta, uint32_t other) const;
  uint32_t clusterOf(uint32_t cta) const; // linear index of its cluster

  /// Thread-safe; findings of the same kind and places are counted together.
  void report(Finding finding);

  /// The number (Origins.h) for an instruction and the origin it uses, cached;
  /// `make` is called for a new pair. Thread-safe.
  uint32_t numberFor(uint32_t site, uint32_t origin,
                     const std::function<uint32_t()> &make);

  /// Registers memory from the kernel's malloc, with the finding to report if
  /// it is never freed.
  void addHeap(void *address, Finding leak);
  bool dropHeap(void *address); // and frees it

  /// Call it before the first resume().
  void prepare();
  /// Waiting: each of its clusters waits for another launch, or is deadlocked.
  enum class Outcome : uint8_t { Finished, Waiting, Paused };
  /// Runs until it finishes, all of it waits, or it has executed about
  /// `instructions` warp instructions (0: no limit).
  Outcome resume(uint64_t instructions);
  bool moved = false; // in the last resume(): some cluster did more than poll
  /// Reports a deadlock: nothing will do what it waits for.
  void giveUp();
  /// The outcome, once it has finished or was given up.
  Result<LaunchReport> finish();

private:
  friend class Simulator;
  friend class Underway;
  struct Aside {
    std::unique_ptr<Cluster> cluster;
    unsigned tries = 0; // without a change of global memory
  };
  void work();
  std::unique_ptr<Cluster> pick(std::unique_lock<std::mutex> &lock,
                                unsigned &tries);
  void suspectOrder();
  bool areAtOnce() const, hasRoom() const;

  std::map<void *, Finding> heap;
  std::mutex mutex;
  std::vector<Finding> findings;
  size_t told[2] = {0, 0}; // findings, by isTolerated()
  std::unordered_map<uint64_t, size_t> findingIndex;
  std::mutex numbering;
  std::unordered_map<uint64_t, uint32_t> numbers;
  std::vector<std::byte> parameterBlock;
  // CTAs, [first, end), of launches that were under way when this one began.
  std::vector<std::pair<uint32_t, uint32_t>> beside;

  // The clusters' schedule, guarded by `turns`.
  std::mutex turns;
  std::condition_variable changed;
  std::deque<Aside> aside;
  uint64_t clusters = 1, next = 0, stride = 1, start = 0;
  unsigned active = 0;
  bool outOfMemory = false, waiting = false;
  Counters counters;
  std::atomic<uint64_t> pauseAt{~uint64_t(0)}; // compared with `instructions`
  friend class Cluster;
  /// A cluster that waited when another one began that need not be co-resident.
  /// If the new one lets it continue, `suspicion` is reported.
  const Cluster *suspect = nullptr;
  std::vector<Finding> suspicion;
  bool toldOrder = false;
};

/// The argument of a handler: a fragment of a warp at an instruction.
struct Context {
  Warp &warp;
  Cta &cta;
  Grid &grid;
  Fragment &fragment;
  Frame &frame;
  uint32_t mask; // lanes that execute: the fragment's, less those guarded off
  bool checks;
  bool jumped = false;
  bool passes = false; // a source that it propagates is not wholly defined

  /// The 32 lanes of a slot. T is uint16_t, uint32_t, uint64_t or a type of
  /// the same size (float, int32_t, double).
  template <typename T> T *lanes(uint32_t slot) const {
    return reinterpret_cast<T *>(frame.registers + slot);
  }
  uint32_t &predicate(uint32_t slot) const { return *lanes<uint32_t>(slot); }
  bool active(unsigned lane) const { return mask >> lane & 1; }

  /// The value of a slot that must be the same in all active lanes, taken from
  /// the first one.
  template <typename T> T uniform(uint32_t slot) const {
    return lanes<T>(slot)[__builtin_ctz(mask)];
  }

  /// Marks lanes of a result defined or undefined; `origin`: Definedness.h.
  void define(uint32_t slot, uint32_t lanes) const {
    frame.defined.define(slot, lanes);
  }
  void undefine(uint32_t slot, uint32_t lanes, uint32_t origin) const {
    if (checks)
      frame.defined.undefine(slot, lanes, origin);
  }
  uint32_t definedLanes(uint32_t slot) const {
    return frame.defined.lanes(slot);
  }
  uint32_t originOf(uint32_t slot, unsigned lane) const {
    return frame.defined.origin(slot, lane);
  }
  /// For an undefined lane: "%r3, which was never written".
  std::string neverWritten(uint32_t slot, unsigned lane) const;
  /// The same for an origin alone.
  std::string nameOfOrigin(uint32_t origin) const;

  /// For .sync instructions with a member mask: true when all live `members`
  /// are here, perhaps at another instruction with the same `signature`. `mask`
  /// then includes them all, and their operands are in this frame. If false,
  /// the handler returns Blocked.
  bool meet(const Instruction &at, uint32_t members, uint64_t signature);

  /// Reports registers that the instruction touches while a wgmma uses them
  /// (Inflight.h).
  void checkInflight(const Instruction &at) const;
  /// Reports lanes that exit while their bulk copies may still read shared
  /// memory.
  void checkExit(const Instruction &at) const;

  // ---- findings
  Finding finding(FindingKind kind, const Instruction &at, unsigned lane,
                  std::string message) const;
  void report(FindingKind kind, const Instruction &at, unsigned lane,
              std::string message) const;
  void reportAt(FindingKind kind, const Instruction &at, unsigned lane,
                uint64_t address, std::string message) const;

  // ---- memory (Access.cpp)
  /// What an address refers to. `data` is null for a bad address: that is
  /// reported, and the lane reads zeros and writes nothing.
  struct Target {
    std::byte *data = nullptr;
    Region *region = nullptr; // null: local memory or parameters, unchecked
    uint64_t offset = 0;      // in the region
    Cta *owner = nullptr;     // shared memory: its CTA
  };
  Target resolve(const Instruction &at, unsigned lane, ptx::Space space,
                 uint64_t address, uint64_t bytes, uint64_t align,
                 bool write) const;
  /// For a read or read-modify-write: the manner that propagates undefined
  /// bytes, unless options say to report them at the read.
  Manner passing(Manner manner) const {
    manner.passes = grid.passesUndefined;
    return manner;
  }
  /// The same for an update of memory in one step.
  Manner updating(Manner manner, bool isFloatSum) const {
    manner.read = manner.write = true;
    manner.strong = !(isFloatSum && grid.orderedSums);
    return passing(manner);
  }
  /// Checks an access that the lane makes now, and records it under the lane's
  /// own epoch or under `self`. Returns Conflict::undefined.
  uint32_t judge(const Instruction &at, unsigned lane, const Target &where,
                 uint64_t address, uint64_t bytes, Manner manner,
                 const Epoch *self = nullptr) const;

  /// A weak access whose lanes are all in bounds, aligned and in one allocation
  /// (this CTA's, for shared memory).
  struct Lanes {
    std::byte *data = nullptr; // the allocation's
    Region *region = nullptr;
    uint64_t offsets[32]; // 0 for idle lanes
    bool aligned = false; // offsets are multiples of the size too
  };
  /// False when that does not hold; the caller then calls resolve() for each
  /// lane. `bytes`: a power of two.
  bool resolveLanes(ptx::Space space, const uint64_t (&addresses)[32],
                    unsigned bytes, bool write, Lanes &out) const;
  /// What a lane writes.
  using Value = void (*)(const Context &, const Instruction &, unsigned lane,
                         std::byte (&)[64]);
  /// judge() for all of them. Lanes of one or several warps that write the same
  /// value to the same place by one instruction do not race: the order does not
  /// matter (CUDA's guide says that one of the writes takes effect). `value` is
  /// given for writes. Returns the lanes that read undefined bytes; `undefined`
  /// gets their bits (Conflict).
  uint32_t judgeLanes(const Instruction &at, const Lanes &where,
                      const uint64_t (&addresses)[32], unsigned bytes,
                      Manner manner, Value value = nullptr,
                      uint32_t *undefined = nullptr) const;
  Target targetOf(const Lanes &where, unsigned lane) const {
    return {where.data + where.offsets[lane], where.region, where.offsets[lane],
            where.region->isShared ? &cta : nullptr};
  }

  // ---- undefined values in memory (UndefinedMemory.cpp)
  /// Which of at most 32 bytes of local memory are undefined.
  uint32_t undefinedLocals(const Target &where, uint64_t bytes) const;
  /// The origin of an undefined byte that `at` read. All bytes of never written
  /// memory that one operand reads share an origin.
  uint32_t originAt(const Instruction &at, const Target &where, uint64_t byte,
                    unsigned operand = 0) const;
  /// Records that a lane stored a value of at most 64 bytes. `undefined` has a
  /// bit per undefined byte; the others become defined. `slot`: the register
  /// that held the value, noSlot for none.
  void put(const Instruction &at, unsigned lane, const Target &where,
           uint64_t bytes, uint64_t undefined, uint32_t origin,
           uint32_t slot) const;
  /// Records a copy by a lane: undefined bytes stay undefined. Where the copy
  /// reduces into its target, one undefined byte makes its whole element (of
  /// `adds` bytes) undefined; pass `to` as `from` too for the old contents.
  void copyUndefined(const Instruction &at, unsigned lane, const Target &to,
                     const Target &from, uint64_t bytes,
                     unsigned adds = 0) const;

  /// Notes that something changed that others may wait for.
  void event() const {
    ++cta.cluster->events;
    ++warp.events;
  }
  void eventGlobal() const {
    event();
    grid.globalEvents->fetch_add(1, std::memory_order_relaxed);
  }
  void poll(uint64_t address, const char *what) const {
    ++fragment.looks;
    fragment.polled = what;
    fragment.polledAddress = address;
    fragment.polledSteps = fragment.steps;
    fragment.mbarrier = nullptr;
  }
};

/// Checks an access by an asynchronous operation when it is issued, against
/// what the issuing lane knows then, and records it under the operation's own
/// agent. `value` is what a write will store: two bulk copies of one CTA may
/// store the same bytes (Triton's warp groups do when a tile is too small to be
/// divided). From two CTAs that is a race: a tile is not a flag that any CTA
/// may set. Returns whether it propagates undefined bytes.
bool judgeAsync(Context &context, const Instruction &at, unsigned lane,
                const Context::Target &where, uint64_t address, uint64_t bytes,
                Manner manner, Epoch self, const std::byte *value = nullptr);
/// The same for reads of the CTA's own shared memory by `agents`, a mask within
/// the 32 of self's group. `places`: [first, end) in bytes, ascending multiples
/// of 16. `common` identifies operations of a warpgroup's warps that read the
/// same places.
bool judgeSharedReads(Context &context, const Instruction &at, unsigned lane,
                      const std::vector<std::pair<uint32_t, uint32_t>> &places,
                      Manner manner, Epoch self, uint32_t agents,
                      std::shared_ptr<const void> common = nullptr);
/// judgeAsync() for all active lanes, each under its own agent of `kind` (one
/// per thread), at the same tick. Returns the lanes that propagate undefined
/// bytes.
uint32_t judgeLanesAsync(Context &context, const Instruction &at,
                         const Context::Lanes &where,
                         const uint64_t (&addresses)[32], unsigned bytes,
                         Manner manner, Own kind, uint32_t tick);

} // namespace act::runtime::sim
#endif
