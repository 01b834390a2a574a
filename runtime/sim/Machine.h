// SPDX-License-Identifier: Apache-2.0
//
// A launch as it runs: Grid → Cluster → Cta → Warp → Fragment.
//
// A warp's 32 lanes are split into fragments: lanes that stand at the same
// instruction of the same frame and step together. A branch on which lanes
// differ splits a fragment; fragments that meet again merge. The warp runs the
// fragment that is deepest in calls and furthest behind, which brings lanes
// together where a structured program joins; a fragment that waits, or has run
// very long, lets the others go first, so a lane that spins for another lane of
// its warp does not starve it.
//
// Blocking. A handler that cannot go on yet returns Blocked and is run again
// later; there are no wake-up lists. It must not have changed anything when it
// is run a second time (Fragment::arrived remembers that a barrier was told).
// If every warp of a cluster is blocked, or only polls, and no asynchronous
// operation is left to advance, and other clusters cannot help, that is a
// deadlock; Fragment::waitingFor says for each what it waits for.
//
// Asynchronous operations (cp.async, bulk and tensor copies, wgmma) are objects
// with a read and a write that happen when Placement says: at once, or at any
// later turn of the scheduler, at the latest when somebody waits for them.
//
// One cluster runs on one host thread, so nothing here is locked except global
// shadows (Shadow) and atomics on global memory (std::atomic_ref style
// builtins).
#ifndef ACT_RUNTIME_SIM_MACHINE_H
#define ACT_RUNTIME_SIM_MACHINE_H
#include "runtime/sim/Clock.h"
#include "runtime/sim/CtaOrder.h"
#include "runtime/sim/Definedness.h"
#include "runtime/sim/HeldElements.h"
#include "runtime/sim/Memory.h"
#include "runtime/sim/Program.h"
#include "runtime/sim/Random.h"
#include "runtime/sim/Simulator.h"
#include "runtime/sim/Underway.h"
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

class Grid;
class Cluster;
class Cta;
class Warp;
struct Mbarrier;
struct Barrier;

/// Local memory of a thread, all its calls together (the hardware's limit).
constexpr uint64_t localLimit = 512 * 1024;

/// Registers and the place of locals of one function activation. A device
/// function's parameters, results and .param variables are locals too.
struct Frame {
  const FunctionCode *function = nullptr;
  std::shared_ptr<Frame> caller;
  uint32_t returnPc = 0; // in the caller
  uint32_t depth = 0;    // of calls; 0: the kernel
  const Instruction *call = nullptr;
  uint64_t localBase = 0; // of the function's .local variables
  /// Lanes that used alloca in it, and their Warp::stackTop before.
  uint32_t allocated = 0;
  std::array<uint32_t, 32> stackAtEntry;
  std::unique_ptr<std::byte[]> storage;
  std::byte *registers = nullptr; // 64-byte aligned
  Definedness defined;
  uint32_t carry = 0; // CC.CF of each lane (add.cc, addc ...)
  /// By slot / 64: the group of the wgmma that uses the register meanwhile, 0
  /// for none. Empty as long as there never was one.
  std::vector<uint64_t> inflight;
};
using FrameRef = std::shared_ptr<Frame>;

struct Fragment {
  uint32_t mask = 0;
  uint32_t pc = 0;
  FrameRef frame;
  bool blocked = false;     // its last step was Blocked
  bool arrived = false;     // at a barrier: has been counted
  uint64_t token = 0;       // the barrier's generation it waits to end
  uint32_t members = 0;     // at a .sync: lanes it waits for
  uint32_t waitingMask = 0; // at a .sync: lanes that wait (guard applied)
  uint64_t signature = 0;   // at a .sync: only equal ones meet
  const char *waitingFor = nullptr; // "barrier 1", for messages
  uint64_t waitingAddress = 0;
  const Barrier *barrier = nullptr; // that it waits for
  // It looked at something that had not changed: what, when (steps), and for
  // an mbarrier which phase.
  const char *polled = nullptr;
  uint64_t polledAddress = 0, polledSteps = 0;
  uint32_t looks = 0; // in this turn, of all its lanes
  const Mbarrier *mbarrier = nullptr;
  uint64_t mbarrierPhase = 0;
  uint64_t steps = 0; // since it was chosen

  /// Is it in a loop that only looks? It looked a moment ago.
  bool isLooking() const { return polled && steps - polledSteps < lookRange; }
  static constexpr uint64_t lookRange = 2048; // instructions between two looks
  // The last instruction since it left the rest of its warp that did anything
  // but jump.
  const FunctionCode *didIn = nullptr;
  uint32_t did = 0;
};

/// A CTA barrier (bar.sync 0 ... 15).
struct Barrier {
  uint32_t expected = 0, arrived = 0; // threads; expected 0: all
  bool reduces = false;               // bar.red, not bar.sync or bar.arrive
  uint64_t generation = 0;
  bool reduceAnd = true, reduceOr = false; // bar.red, so far
  uint32_t reduceCount = 0;
  bool resultAnd = true, resultOr = false; // of the last generation
  uint32_t resultCount = 0;
  Gathering seen, proxied;
  KnowledgeRef lastSeen, lastProxied; // of the last generation
  uint32_t site = 0;
  /// Who came: a thread of each arrival, now and to the last generation; and
  /// the warps that waited for the end of the last one.
  std::vector<Epoch> came, lastCame;
  uint32_t left = 0;
};

/// Something that goes on behind a thread's back. Owned by the issuing CTA
/// until it is complete. Advanced by Cta::advance: read(), then write(), then
/// complete(), each once, in that order, at times drawn by the seed.
class AsyncOperation {
public:
  enum Stage : uint8_t { Issued, HasRead, HasWritten, Done };
  virtual ~AsyncOperation() = default;
  virtual void read() = 0;  // takes its sources as they are now
  virtual void write() = 0; // puts its results
  /// A bulk copy out of shared memory, which may land whenever it is not
  /// waited for.
  virtual bool writesInGroup() const { return false; }
  virtual void complete() {} // tells an mbarrier, if any
  /// Whether it may go beyond `stage` now (order among operations, groups).
  virtual bool mayAdvance() const { return true; }
  void advance();
  void finish();
  Stage stage = Issued;
  uint32_t warp = 0, lane = 0; // who issued it
  uint64_t group = 0;          // the issuer's group number, from 1
  uint32_t site = 0;
};

/// Kinds of agents that work for a thread (Clock.h), as indices of Warp::own.
enum Own : uint8_t {
  OwnThread,
  OwnCopyAsync,
  OwnBulkRead,
  OwnBulkWrite,
  OwnWgmma,
  OwnCount
};

class Warp {
public:
  Cta *cta = nullptr;
  uint32_t index = 0;     // in the CTA
  uint32_t liveLanes = 0; // not exited
  std::vector<Fragment> fragments;
  uint32_t current = 0;
  /// Lanes that exited apart from the others, after having done something
  /// apart from them. Whoever then executes an instruction that the whole warp
  /// must execute, from which control could have gone to what they did, was
  /// left behind in a branch: it did not only exit later.
  struct Left {
    uint32_t lanes;
    const FunctionCode *in;
    uint32_t did;
  };
  std::vector<Left> left;
  uint32_t events = 0; // in this turn: changes that others may wait for
  /// In this turn: instructions of fragments that do not only look.
  uint32_t worked = 0;
  uint32_t registers = 0; // of a thread, as setmaxnreg left it; 0: as launched
  uint32_t registerChanges = 0; // setmaxnreg executed
  Region *lastRegion = nullptr; // of global memory: found again quickly
  std::byte *local = nullptr;   // [lane][localLimit], mapped when first needed
  /// Of each lane's local memory, where what alloca took begins.
  std::array<uint32_t, 32> stackTop;
  Counters *counters = nullptr;
  Random random;

  // ---- clocks (checks only); one entry per lane
  uint32_t tick = 1; // of its threads
  std::array<KnowledgeRef, 32> seen, proxied;
  std::array<std::array<uint32_t, 32>, OwnCount> own{}; // known of own agents
  /// Own accesses by the generic proxy (threads, cp.async) up to these ticks
  /// have a proxy fence behind them, by its Reach (as far as Own).
  std::array<std::array<std::array<uint32_t, 32>, 2>, 4> proxiedOwn{};
  /// What a fence leaves to later relaxed writes, and takes from earlier
  /// relaxed reads; by how far the other thread is at most (Scope: its CTA, its
  /// cluster, its GPU). A fence of a narrow scope means nothing farther away.
  using Told = sim::Told;
  static constexpr unsigned distances = 3;
  std::array<std::array<Told, 32>, distances> fenced, pendingAcquire;
  /// Its own mbarrier.init.
  std::array<KnowledgeRef, 32> inits;
  void initialised(unsigned lane, Epoch init);
  Limiter limiter;
  /// What `of` knows for certain of groups of 32 agents, the last asked for.
  struct Certain {
    KnowledgeRef of;
    struct {
      uint64_t group = ~uint64_t(0);
      uint32_t tick = 0;
    } entries[8];
  } certain;

  // ---- asynchronous groups of each lane: committed so far
  std::array<uint64_t, 32> copyGroups{}, bulkGroups{};
  /// Each cp.async.mbarrier.arrive of a lane, as the groups committed before
  /// it: its cp.async tick there too.
  std::array<std::vector<uint64_t>, 32> copyArrivals;
  /// The tick of a lane's cp.async when `groups` of its groups are complete.
  uint32_t copyTick(unsigned lane, uint64_t groups) const;
  /// The tick of a lane's cp.async that come next.
  uint32_t nextCopyTick(unsigned lane) const {
    return uint32_t(copyGroups[lane] + copyArrivals[lane].size() + 1);
  }
  /// The group of a lane's last bulk copy that reads shared memory; 0: none.
  std::array<uint64_t, 32> bulkReads{};
  /// Its last copies that mbarriers count, as they know them, and what whoever
  /// issued them had seen.
  struct Sent {
    Epoch copy;
    uint32_t tick;
    KnowledgeRef seen;
  };
  static constexpr size_t rememberedCopies = 64;
  std::deque<Sent> copiesSent;
  uint64_t wgmmaGroups = 0;
  bool wgmmaUncommitted = false;

  /// Generation + 1 of the cluster's barrier that a lane has come to; 0: none.
  std::array<uint64_t, 32> clusterToken{};
  uint32_t clusterPassed = 0; // lanes that have waited at it

  Reach ownReach(unsigned k) const;              // of proxiedOwn[k]
  uint32_t agent(Own kind, unsigned lane) const; // Clock.h's numbers
  Epoch epoch(Own kind, unsigned lane, uint32_t tickOf) const;
  /// Lane `lane` learns k and p (acquire).
  void learn(unsigned lane, const KnowledgeRef &k, const KnowledgeRef &p);
  /// What lane `lane` knows, itself included, goes into the gatherings
  /// (release). Call ticked() once after the lanes of an instruction.
  void publish(unsigned lane, Gathering &k, Gathering &p) const;
  void ticked() { ++tick; }
  bool laneKnows(unsigned lane, Epoch e, bool needsProxy,
                 Reach reach = Reach::All) const;

  enum class Outcome : uint8_t { Ran, Blocked, Finished };
  /// Runs up to `budget` instructions.
  Outcome run(uint32_t budget);
  /// Null when the stack is too deep.
  FrameRef newFrame(const FunctionCode &function, const FrameRef &caller);

  /// Splits `lanes` off the current fragment to `pc`; all of it just moves.
  void jump(Fragment &fragment, uint32_t lanes, uint32_t pc);
  /// Lanes end. The fragment is gone when it has none left.
  void exit(uint32_t lanes);
  /// Maps local memory; false when a stack of `bytes` is too deep.
  bool needLocal(uint64_t bytes);
  /// Undefined bytes of local memory, by their place behind `local`, with where
  /// each came from (Definedness.h). What was never written counts as defined.
  std::unordered_map<uint64_t, uint32_t> undefinedLocals;
  /// Copies between a lane's variables, at their places behind `local`.
  void copyLocals(uint64_t to, uint64_t from, uint64_t bytes);
  /// A frame is new: what a lane has there, from `begin` to `end`.
  void forgetLocals(unsigned lane, uint64_t begin, uint64_t end);
  Warp() { stackTop.fill(localLimit); }
  ~Warp();

private:
  friend struct Context;
  bool choose();                 // sets current; false: all blocked
  void merge(uint32_t fragment); // with others at the same place
  void finishMeeting(const Instruction &at);
  struct Met { // who joined the running instruction from elsewhere
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
  /// Among the CTAs of all launches that are under way (Grid::firstCta); in
  /// the cluster.
  uint32_t linear = 0, rank = 0;
  Region shared; // static and dynamic
  std::vector<std::byte> sharedStorage;
  std::vector<std::unique_ptr<Warp>> warps;
  std::array<Barrier, 16> barriers;
  std::deque<std::unique_ptr<AsyncOperation>> operations; // in order of issue
  std::unordered_map<uint64_t, std::unique_ptr<Mbarrier>>
      mbarriers; // by offset in its shared memory (Mbarrier.h)
  /// A read of shared memory by all warps of a warpgroup, by one operation of
  /// each, that was plainly right by what the first of them had heard: so it is
  /// for another that has heard the same, while nothing changed.
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
  /// Of each warpgroup: that all wgmma of its warps are over up to a group.
  struct WgmmaReads {
    uint64_t upTo = 0;
    KnowledgeRef known;
  };
  std::array<WgmmaReads, 8> wgmmaReads;
  Joiner joiner; // warps learn the same and are to hold the same
  uint32_t nextMbarrierAgent = 0;
  std::vector<uint64_t> mbarrierWords; // a bit per 8 bytes: a live mbarrier
  /// The last fence.proxy.tensormap::generic.acquire of each map and warp, with
  /// what its lanes knew (decode/TensorMapFamily.cpp).
  struct TensorMapAcquire {
    uint64_t address = 0;
    uint32_t warp = 0, lanes = 0, tick = 0;
    KnowledgeRef known;
  };
  std::vector<TensorMapAcquire> tensorMapAcquires;
  uint32_t threads = 0;
  uint32_t liveWarps = 0;
  /// Registers that setmaxnreg may hand out.
  int64_t registerPool = 0;
  /// The setmaxnreg instructions that the warps of each warpgroup came to.
  std::array<std::vector<uint32_t>, 8> registerSites;
  std::deque<std::string> notes; // what fragments wait for (waitingFor)
  /// Who touched its shared memory and might still do so when it has ended:
  /// threads of other CTAs, copies that mbarriers count. By agent, the last.
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
  /// Reports warps that came to fewer setmaxnreg than their warpgroup.
  void checkRegisterChanges() const;
  /// Reports touches that none of its threads knew of at its end.
  void checkTouches();
  void markMbarrier(uint64_t offset, bool live) {
    uint64_t k = offset / 8;
    if (mbarrierWords.size() <= k / 64)
      mbarrierWords.resize(k / 64 + 1);
    uint64_t bit = uint64_t(1) << k % 64;
    mbarrierWords[k / 64] =
        live ? mbarrierWords[k / 64] | bit : mbarrierWords[k / 64] & ~bit;
  }
  /// Gives the operation a random time to happen, or all of it now.
  void issue(std::unique_ptr<AsyncOperation> operation);
  /// Finishes those for which `which` is true, oldest first.
  void finish(const std::function<bool(AsyncOperation &)> &which);
  /// Advances one pending operation by a stage; false when there is none that
  /// may.
  bool advanceOne(Random &random);
  /// What an operation of this CTA notices when it happens.
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

  // Of other clusters (CtaOrder.h)
  Begun heard;
  Looks looks;

  enum class Outcome : uint8_t { Finished, Waiting, Paused, Stopped };
  /// Runs until it is finished, can only wait for another cluster, or its grid
  /// is to pause. `patient`: looks for longer before it says that it waits.
  Outcome run(bool patient);
  uint64_t seenEvents = 0; // Underway::events when it began to wait
  bool moved = false;      // in the last run: it did more than look
  /// A finding for each warp that waits (deadlock).
  std::vector<Finding> waits(FindingKind kind) const;
};

class Grid {
public:
  std::shared_ptr<const Program> program;
  const FunctionCode *kernel = nullptr;
  LaunchRequest request;
  const Options *options = nullptr;
  Underway *underway = nullptr;
  Memory *memory = nullptr;
  const Target *target = nullptr;
  uint32_t gridDim[3], blockDim[3], clusterDim[3];
  uint32_t warpsPerCta = 0, ctasPerCluster = 1;
  /// The launches that are under way number their CTAs one behind the other.
  uint32_t firstCta = 0, ctaCount = 0;
  uint64_t sharedBytes = 0, dynamicSharedOffset = 0;
  uint64_t workspace = 0; // of a cooperative launch; %envreg1 and 2
  Region parameters;      // the kernel's parameter block
  std::atomic<uint64_t> instructions{0};
  std::atomic<bool> stop{false};
  bool checks = true, explicitCluster = false;
  /// Loads and stores hand on what is undefined; else they report it.
  bool passesUndefined = true;
  /// CTAs need not run at the same time, and some have loops that wait for
  /// others.
  bool watchesOrder = false;

  /// Whether a CTA is of this launch, and not of another one under way.
  bool has(uint32_t cta) const { return cta - firstCta < ctaCount; }
  /// Whether it is of a launch that had ended when this one began.
  bool isPast(uint32_t cta) const;

  ThreadId threadId(uint32_t cta, uint32_t agent) const;
  /// The same; of a copy that an mbarrier counts, the thread that issued it.
  ThreadId threadId(Epoch epoch) const;
  /// Who issued the copies that mbarriers count: the last half million.
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
  /// What an address is, for a person.
  std::string describe(const Cta &cta, uint64_t address) const;
  /// Whether CTA `other` is within `scope` of CTA `cta`.
  bool inScope(uint32_t cta, uint32_t other, Scope scope) const;
  /// The narrowest scope that holds both.
  Scope distance(uint32_t cta, uint32_t other) const;
  uint32_t clusterOf(uint32_t cta) const; // linear index of its cluster

  /// Thread-safe; findings of the same kind and places are counted together.
  void report(Finding finding);

  /// The number that `make` found (Origins.h) for what an instruction does with
  /// an origin; thread-safe.
  uint32_t numberFor(uint32_t site, uint32_t origin,
                     const std::function<uint32_t()> &make);

  /// Memory that the kernel's malloc gave out, with what to say if it stays.
  void addHeap(void *address, Finding leak);
  bool dropHeap(void *address); // and frees it

  /// What must be known before it runs.
  void prepare();
  /// Waiting: each of its clusters waits for another launch, or for nobody.
  enum class Outcome : uint8_t { Finished, Waiting, Paused };
  /// Runs until it is finished, all of it waits, or about so many warp
  /// instructions (0: no end).
  Outcome resume(uint64_t instructions);
  bool moved = false; // in the last resume(): anybody did more than look
  /// Nobody does what it waits for: a deadlock.
  void giveUp();
  /// What became of it, once it is finished or given up.
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

  std::map<void *, Finding> heap;
  std::mutex mutex;
  std::vector<Finding> findings;
  size_t told[2] = {0, 0}; // findings, by isTolerated()
  std::unordered_map<uint64_t, size_t> findingIndex;
  std::mutex numbering;
  std::unordered_map<uint64_t, uint32_t> numbers;
  std::vector<std::byte> parameterBlock;
  std::vector<std::pair<uint32_t, uint32_t>> beside; // CTAs of launches that
                                                     // were under way before

  // Clusters and who runs them, guarded by `turns`.
  std::mutex turns;
  std::condition_variable changed;
  std::deque<Aside> aside;
  uint64_t clusters = 1, next = 0, stride = 1, start = 0;
  unsigned active = 0;
  bool outOfMemory = false, waiting = false;
  Counters counters;
  std::atomic<uint64_t> pauseAt{~uint64_t(0)}; // of `instructions`
  friend class Cluster;
  /// A cluster that waited when one began which need not have; what it waits
  /// for is a finding if that one helps.
  const Cluster *suspect = nullptr;
  std::vector<Finding> suspicion;
  bool toldOrder = false;
};

/// What a handler works on: a fragment of a warp at an instruction.
struct Context {
  Warp &warp;
  Cta &cta;
  Grid &grid;
  Fragment &fragment;
  Frame &frame;
  uint32_t mask; // lanes that execute: the fragment's, less those guarded off
  bool checks;
  bool jumped = false;
  bool passes = false; // a source that it hands on is not wholly defined

  /// The 32 lanes of a slot. T is uint16_t, uint32_t, uint64_t or a type of
  /// the same size (float, int32_t, double).
  template <typename T> T *lanes(uint32_t slot) const {
    return reinterpret_cast<T *>(frame.registers + slot);
  }
  uint32_t &predicate(uint32_t slot) const { return *lanes<uint32_t>(slot); }
  bool active(unsigned lane) const { return mask >> lane & 1; }

  /// The value of a slot that must be the same in all active lanes; of the
  /// first active lane.
  template <typename T> T uniform(uint32_t slot) const {
    return lanes<T>(slot)[__builtin_ctz(mask)];
  }

  /// Lanes of a result are defined, or are not; `origin`: Definedness.h.
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
  /// Of a lane that is undefined: "%r3, which was never written".
  std::string neverWritten(uint32_t slot, unsigned lane) const;
  /// The same of an origin alone.
  std::string nameOfOrigin(uint32_t origin) const;

  /// For .sync instructions with a member mask: true when all of `members` that
  /// live are here (perhaps at another instruction with the same `signature`);
  /// mask is then all of them, and their operands are in this frame. Else the
  /// handler returns Blocked.
  bool meet(const Instruction &at, uint32_t members, uint64_t signature);

  /// Reports registers that the instruction touches while a wgmma uses them
  /// (decode/WgmmaFamily.cpp).
  void checkInflight(const Instruction &at) const;
  /// Reports lanes that exit while bulk copies of theirs may still read shared
  /// memory (decode/BulkFamily.cpp).
  void checkExit(const Instruction &at) const;

  // ---- findings
  Finding finding(FindingKind kind, const Instruction &at, unsigned lane,
                  std::string message) const;
  void report(FindingKind kind, const Instruction &at, unsigned lane,
              std::string message) const;
  void reportAt(FindingKind kind, const Instruction &at, unsigned lane,
                uint64_t address, std::string message) const;

  // ---- memory (exec/Access.cpp)
  /// Where an address leads: null when it is bad (reported, the lane then
  /// reads zeros and writes nothing).
  struct Target {
    std::byte *data = nullptr;
    Region *region = nullptr; // null: local memory or parameters, unchecked
    uint64_t offset = 0;      // in the region
    Cta *owner = nullptr;     // shared memory: whose
  };
  Target resolve(const Instruction &at, unsigned lane, ptx::Space space,
                 uint64_t address, uint64_t bytes, uint64_t align,
                 bool write) const;
  /// A read, or what reads and writes, that hands on what is undefined, unless
  /// that is reported wherever it is read.
  Manner passing(Manner manner) const {
    manner.passes = grid.passesUndefined;
    return manner;
  }
  /// Judges an access by the lane itself that happens now; recorded as its own,
  /// or as `self`. Returns Conflict::undefined.
  uint32_t judge(const Instruction &at, unsigned lane, const Target &where,
                 uint64_t address, uint64_t bytes, Manner manner,
                 const Epoch *self = nullptr) const;

  /// Lanes of a weak access that are all well: in one allocation (of this CTA,
  /// when it is shared memory), in bounds and aligned.
  struct Lanes {
    std::byte *data = nullptr; // the allocation's
    Region *region = nullptr;
    uint64_t offsets[32]; // 0 for idle lanes
    bool aligned = false; // offsets are multiples of the size too
  };
  /// False when that is not so: then each lane is for resolve(). `bytes`: a
  /// power of two.
  bool resolveLanes(ptx::Space space, const uint64_t (&addresses)[32],
                    unsigned bytes, bool write, Lanes &out) const;
  /// What a lane writes.
  using Value = void (*)(const Context &, const Instruction &, unsigned lane,
                         std::byte (&)[64]);
  /// judge() for all of them. Lanes that write the same value to the same place
  /// by one instruction do not race, of one warp or of several: whichever is
  /// last, that is there (CUDA's guide says that one of them is). `value` is
  /// given for writes. Returns the lanes that read undefined bytes, and which
  /// those are in `undefined` (Conflict).
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
  /// Where the byte came from, which `at` read and which is undefined. Of
  /// memory that was never written, all that one operand reads is one origin.
  uint32_t originAt(const Instruction &at, const Target &where, uint64_t byte,
                    unsigned operand = 0) const;
  /// A lane has put a value there, of at most 64 bytes: those of `undefined` (a
  /// bit per byte) are so, the others are not. `slot`: the register whose value
  /// it was, noSlot for none.
  void put(const Instruction &at, unsigned lane, const Target &where,
           uint64_t bytes, uint64_t undefined, uint32_t origin,
           uint32_t slot) const;
  /// Of bytes that a lane has copied, those that were undefined still are. One
  /// makes all of its element undefined (of `adds` bytes) where the copy adds
  /// to what is there; with `from` the same as `to`, what was there.
  void copyUndefined(const Instruction &at, unsigned lane, const Target &to,
                     const Target &from, uint64_t bytes,
                     unsigned adds = 0) const;

  /// Something that others may wait for has changed.
  void event() const {
    ++cta.cluster->events;
    ++warp.events;
  }
  void eventGlobal() const {
    event();
    grid.underway->events.fetch_add(1, std::memory_order_relaxed);
  }
  void poll(uint64_t address, const char *what) const {
    ++fragment.looks;
    fragment.polled = what;
    fragment.polledAddress = address;
    fragment.polledSteps = fragment.steps;
    fragment.mbarrier = nullptr;
  }
};

/// An access by an asynchronous operation: judged when it is issued, against
/// what the issuing lane knows then; recorded under the operation's own agent.
/// `value`, of a write, is what it will put there: two bulk copies of one CTA
/// may put the same (Triton's warp groups do, when a tile is too small to be
/// divided). Of two CTAs that is a race: a tile is no flag. Returns whether it
/// hands on what is undefined.
bool judgeAsync(Context &context, const Instruction &at, unsigned lane,
                const Context::Target &where, uint64_t address, uint64_t bytes,
                Manner manner, Epoch self, const std::byte *value = nullptr);
/// The same for reads of the CTA's own shared memory by `agents` of the 32 that
/// `self` is one of, from byte to byte, ascending multiples of 16. `common`:
/// the operations of a warpgroup's warps that read the same.
bool judgeSharedReads(Context &context, const Instruction &at, unsigned lane,
                      const std::vector<std::pair<uint32_t, uint32_t>> &places,
                      Manner manner, Epoch self, uint32_t agents,
                      std::shared_ptr<const void> common = nullptr);
/// The same for all lanes that execute, each by its own agent of `kind`, one
/// per thread, at the same tick. Returns the lanes that do.
uint32_t judgeLanesAsync(Context &context, const Instruction &at,
                         const Context::Lanes &where,
                         const uint64_t (&addresses)[32], unsigned bytes,
                         Manner manner, Own kind, uint32_t tick);

} // namespace act::runtime::sim
#endif
