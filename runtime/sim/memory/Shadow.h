// SPDX-License-Identifier: Apache-2.0
//
// Shadow state for every byte of shared and global memory: whether it holds a
// defined value (DefinedBytes.h), its last writer, and the readers since then.
//
// A cell covers 16 aligned bytes while they are always accessed together. The
// first access to a part of a cell splits it into four of four bytes; an access
// to a part of one of those splits it into bytes. A write of the whole cell
// merges it again.
//
//     write   epoch of the last write, and how it was made (plain, or atomic
//             with a scope; through the generic or the async proxy)
//     reads   the epochs of the reads since, as one entry or a list. Up to
//             eight warps whose same lanes read at the same tick share an
//             entry. A list keeps the last maximumReaders: a write after more
//             unordered reads than that is compared with those only.
//
// Two conflicting accesses race unless the agent of the later one knows of the
// earlier, or both are atomic (strong, each in the other's scope). The result
// does not depend on the order in which the simulator ran them; each pair is
// checked when its second access comes.
#ifndef ACT_RUNTIME_SIM_MEMORY_SHADOW_H
#define ACT_RUNTIME_SIM_MEMORY_SHADOW_H
#include "runtime/sim/memory/Clock.h"
#include "runtime/sim/memory/DefinedBytes.h"
#include "runtime/sim/program/Scope.h"
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace act::runtime::sim {

/// How an access is made, as far as race checks depend on it.
struct Manner {
  bool write = false, read = false; // both: a read-modify-write
  bool strong = false;              // .relaxed and stronger, .volatile, atomics
  Scope scope = Scope::System;      // of a strong access
  bool async = false;               // by the async proxy
  bool deferred = false;  // by an agent that is not a thread (asynchronous)
  bool object = false;    // an operation on an mbarrier, not on its bytes
  bool anyProxy = false;  // a write that all proxies see without a proxy fence
  bool unchanged = false; // a write of the value already there
  bool partly = false;    // a read of at most 32 bytes; some may be undefined:
                          // Conflict::undefined says which
  bool passes = false;    // a read that propagates undefined bytes; in a
                          // read-modify-write they stay undefined
};

struct Conflict {
  /// In ascending order of severity.
  enum Kind : uint8_t {
    None,
    Repeated,  // the same value, by the same instruction: not reported
    SameValue, // the same value, by another instruction of the block
    Guess,     // a load whose value a compare-and-swap checks (Guesses.h)
    HeldToo,   // a write of what threads of the block read: a race, unless each
               // of them then stores the same value (HeldElements.h)
    Race,
    MissingProxyFence,
    Uninitialised
  } kind = None;
  uint64_t offset = 0; // of the first byte in conflict, in the region
  Epoch other;
  uint32_t otherSite = 0;
  bool otherWrote = false, otherAsync = false;
  /// For reads with `passes` or `partly`: a bit per undefined byte. For more
  /// than 32 bytes: all ones when any is undefined.
  uint32_t undefined = 0;
  std::vector<Epoch> readers; // HeldToo: all readers
};

/// An access that nothing orders with the one being checked.
struct OtherAccess {
  Epoch by;
  uint32_t site = 0;
  bool wrote = false, strong = false, async = false;
};

/// The agent of an access, and what it knows about earlier accesses.
class Observer {
public:
  virtual ~Observer() = default;
  Epoch self;        // recorded for this access
  uint32_t site = 0; // instruction, for messages
  Manner manner;
  /// Whether the access e is ordered before this one; `needsProxy` says that e
  /// was a write by the generic proxy and this one is async.
  virtual bool ordered(Epoch e, bool needsProxy) const = 0;
  /// The same by what others have told, without the agent's own accesses.
  virtual bool heard(Epoch, bool) const { return false; }
  /// `first` is the first of 32 agents. Returns the tick up to which heard()
  /// holds for all of them; 0 when that is not cheap to tell.
  virtual uint32_t heardTick(Epoch, bool) const { return 0; }
  /// Whether a strong access of CTA `cta` with scope `scope` and this one
  /// include each other.
  virtual bool inScope(uint32_t cta, Scope scope) const = 0;
  /// Classifies an unordered pair: this access and `other`.
  virtual Conflict::Kind weigh(const OtherAccess &) const {
    return Conflict::Race;
  }
};

/// A cache of WarpObserver::knownTick().
struct KnownTicks {
  struct Entry {
    uint64_t group = ~uint64_t(0); // of 32 agents
    uint32_t agents = 0, tick = 0;
  } entries[8];
  Entry &at(uint64_t group, uint32_t agents) {
    return entries[(group + (agents * 0x9e3779b1u >> 29)) % 8];
  }
};

/// Lanes of a warp, or their agents (`deferred`), that access memory by one
/// instruction in the same weak manner.
class WarpObserver {
public:
  /// `known` may outlive the observer while the lanes learn nothing.
  explicit WarpObserver(KnownTicks &known) : known(&known) {}
  virtual ~WarpObserver() = default;
  KnownTicks *known;
  Epoch self; // of lane 0; its agent is a multiple of 32; lane l is agent + l
  uint32_t site = 0;
  Manner manner;
  /// The tick up to which every lane knows agents `first` + l, for l in
  /// `agents`; 0 when that is not cheap to tell. `first` is a multiple of 32.
  virtual uint32_t knownTick(Epoch first, uint32_t agents) = 0;
};

class Shadow {
public:
  /// `concurrent`: several host threads use it (global memory).
  Shadow(uint64_t bytes, bool concurrent);
  ~Shadow();
  /// Checks and records the access of [offset, offset + bytes). Returns the
  /// first conflict from Race on, else the most severe of the lesser ones. The
  /// access is recorded in any case.
  Conflict access(const Observer &by, uint64_t offset, uint64_t bytes);
  /// A fast path for lanes of a warp, each at its offset: checks and records
  /// those that are cheaply seen to be free of conflicts. Returns the others:
  /// nothing was recorded for them, call access(). `bytes`: a power of two, at
  /// most 32; offsets are multiples of it.
  uint32_t accessLanes(WarpObserver &by, const uint64_t *offsets,
                       uint32_t lanes, unsigned bytes);
  using Stretch = std::pair<uint32_t, uint32_t>; // first byte, and end
  /// The same for weak reads through the async proxy, of stretches of whole
  /// cells in ascending order, by `agents`, a mask within the group of 32 that
  /// holds `by.self`. Appends stretches that need access() to `unsure`. Returns
  /// true when there were none and Observer::heard() sufficed for all.
  bool readPlainly(const Observer &by, uint32_t agents,
                   const std::vector<Stretch> &stretches,
                   std::vector<Stretch> &unsure);
  /// For shared memory: rises with every change after which a read that was
  /// free of conflicts might no longer be.
  uint64_t changes() const { return changeCount; }
  /// Forgets accesses, keeps which bytes are defined.
  void forgetAccesses();
  /// Forgets everything, as for fresh shared memory.
  void reset();
  void define(uint64_t offset, uint64_t bytes);
  /// `store`: the number (Origins.h) of the store of the undefined values; 0:
  /// as if never written.
  void undefine(uint64_t offset, uint64_t bytes, uint32_t store);
  bool isDefined(uint64_t offset, uint64_t bytes) const;
  std::vector<DefinedBytes::Part> undefined(uint64_t offset,
                                            uint64_t bytes) const;
  /// Whether a kernel ever stored an undefined value.
  bool holdsUndefined() const { return defined.everStored(); }

private:
  struct Cell;
  struct Reader;
  struct Sure;
  struct Writer;
  struct Table; // cells and lists of one stretch, allocated at first access
  static constexpr uint64_t stretchBytes = 16384;
  static constexpr unsigned cellBytes = 16;
  static constexpr size_t maximumReaders = 64;
  std::vector<std::unique_ptr<Table>> tables;
  std::unique_ptr<std::mutex[]> locks; // striped; null when not concurrent
  DefinedBytes defined;
  uint64_t changeCount = 0; // not maintained when concurrent
  void changed() {
    if (!locks)
      ++changeCount;
  }
  std::unique_lock<std::mutex> lockOf(uint64_t offset) const;
  template <typename Run>
  void byStretch(uint64_t offset, uint64_t bytes, const Run &run) const;
  void judgeDefined(const Observer &by, uint64_t first, uint64_t offset,
                    uint64_t bytes, Conflict &conflict);
  void accessStretch(const Observer &by, uint64_t first, uint64_t offset,
                     uint64_t bytes, Conflict &conflict);
  bool accessSurely(Table &table, Sure &sure, uint64_t offset, unsigned bytes,
                    uint32_t lanes);
  template <bool write>
  uint32_t accessCells(Table &table, Sure &sure, const uint64_t *offsets,
                       uint32_t &lanes);
  static void judge(Table &table, Cell &cell, const Observer &by,
                    uint64_t offset, Conflict &conflict);
};

} // namespace act::runtime::sim
#endif
