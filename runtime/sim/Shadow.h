// SPDX-License-Identifier: Apache-2.0
//
// What is remembered of every byte of shared and global memory: whether it
// holds a defined value (DefinedBytes.h), who wrote it last, who has read it
// since.
//
// Sixteen neighbouring bytes share a cell as long as they are always accessed
// together; the first access to a part of them splits the cell into four, of
// four bytes, and an access to a part of these one of them into bytes. A write
// of all makes them one again.
//
//     write   epoch of the last write, and how it was made (plain, or atomic
//             with a scope; through the generic or the async proxy)
//     reads   the epochs of reads since, one, or a list; up to eight warps of
//             which the same lanes read at the same tick are one entry. Lists
//             keep the last maximumReaders: whoever writes after more unordered
//             readers than that is judged by those.
//
// Conflicting accesses are a race unless the earlier is known to the later
// one's agent, or both are atomic (strong, each in the other's scope). The
// checks do not depend on the order in which the simulator ran them, except
// that each pair is judged when the second of it comes.
#ifndef ACT_RUNTIME_SIM_SHADOW_H
#define ACT_RUNTIME_SIM_SHADOW_H
#include "runtime/sim/Clock.h"
#include "runtime/sim/DefinedBytes.h"
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace act::runtime::sim {

/// Of the index of an instruction, as accesses are remembered with it.
constexpr unsigned siteBits = 23;

enum class Scope : uint8_t { Cta, Cluster, Gpu, System };

/// How an access is made; what a race is judged by.
struct Manner {
  bool write = false, read = false; // both: a read-modify-write
  bool strong = false;              // .relaxed and stronger, .volatile, atomics
  Scope scope = Scope::System;      // of a strong access
  bool async = false;               // by the async proxy
  bool deferred = false;  // by an agent that is not a thread (asynchronous)
  bool object = false;    // an operation on an mbarrier: not on its bytes
  bool anyProxy = false;  // a write that all proxies see without a proxy fence
  bool unchanged = false; // a write of the bytes that are there
  bool partly = false;    // a read of at most 32 bytes of which some may be
                          // undefined: Conflict::undefined says which
  bool passes = false;    // a read that hands on what is undefined; of one that
                          // writes, too, such bytes stay so
};

struct Conflict {
  /// What is worse comes later.
  enum Kind : uint8_t {
    None,
    Repeated,  // the same value, by the same instruction: nobody is told
    SameValue, // by another instruction of the block
    Guess,     // a load that a compare-and-swap then judges (Guesses.h)
    HeldToo,   // a write of what threads of the block read: a race, unless each
               // of them then stores the same (HeldElements.h)
    Race,
    MissingProxyFence,
    Uninitialised
  } kind = None;
  uint64_t offset = 0; // first byte of it, in the region
  Epoch other;
  uint32_t otherSite = 0;
  bool otherWrote = false, otherAsync = false;
  /// Of a read that passes or is `partly` so: a bit per byte that is undefined;
  /// all of them when some are, of more than 32 bytes.
  uint32_t undefined = 0;
  std::vector<Epoch> readers; // HeldToo: all of them
};

/// An access that nothing orders with the one that is judged.
struct OtherAccess {
  Epoch by;
  uint32_t site = 0;
  bool wrote = false, strong = false, async = false;
};

/// The agent of an access and all it may ask about what came before.
class Observer {
public:
  virtual ~Observer() = default;
  Epoch self;        // recorded for this access
  uint32_t site = 0; // instruction, for messages
  Manner manner;
  /// Whether the access e is ordered before this one; `needsProxy` says that e
  /// was a write by the generic proxy and this one is async.
  virtual bool ordered(Epoch e, bool needsProxy) const = 0;
  /// The same by what others have told, which is all of it but for the agent's
  /// own accesses.
  virtual bool heard(Epoch, bool) const { return false; }
  /// `first` is the first of 32 agents: up to which tick heard(e, true) holds
  /// of all of them; 0 when that is not easily said.
  virtual uint32_t fencedTick(Epoch) const { return 0; }
  /// Whether a strong access of CTA `cta` with scope `scope` and this one
  /// include each other.
  virtual bool inScope(uint32_t cta, Scope scope) const = 0;
  /// What a race of the two is.
  virtual Conflict::Kind weigh(const OtherAccess &) const {
    return Conflict::Race;
  }
};

/// Lanes of a warp, or agents of theirs (`deferred`), that access memory at
/// once, in one weak manner.
class WarpObserver {
public:
  virtual ~WarpObserver() = default;
  Epoch self; // of lane 0, an agent of a multiple of 32; lane l's is agent + l
  uint32_t site = 0;
  Manner manner;
  /// `first` is the first of 32 agents: up to which tick every lane knows all
  /// of them; 0 when that is not easily said.
  virtual uint32_t knownTick(Epoch first) = 0;
};

class Shadow {
public:
  /// `concurrent`: several host threads use it (global memory).
  Shadow(uint64_t bytes, bool concurrent);
  ~Shadow();
  /// Judges and records the access of [offset, offset + bytes). The first
  /// conflict is returned; the access is recorded all the same.
  Conflict access(const Observer &by, uint64_t offset, uint64_t bytes);
  /// The same for lanes of a warp, each at its offset, as far as it is plain
  /// that nothing is wrong. Returns the lanes for which it is not: nothing was
  /// recorded of them, they want access(). `bytes`: a power of two, at most 32;
  /// offsets are multiples of it.
  uint32_t accessLanes(WarpObserver &by, const uint64_t *offsets,
                       uint32_t lanes, unsigned bytes);
  using Stretch = std::pair<uint32_t, uint32_t>; // first byte, and end
  /// Weak reads through the async proxy, of stretches of whole cells in
  /// ascending order, by `agents` of the 32 that `by.self` is one of. Appends
  /// to `unsure` those of which it is not plain that nothing is wrong: they
  /// want access(). Whether none was, by what `by` has heard alone.
  bool readPlainly(const Observer &by, uint32_t agents,
                   const std::vector<Stretch> &stretches,
                   std::vector<Stretch> &unsure);
  /// Of shared memory: rises with whatever could make a read that was plain
  /// another one.
  uint64_t changes() const { return changeCount; }
  /// Forgets accesses, keeps what is defined.
  void forgetAccesses();
  /// Forgets everything: fresh shared memory.
  void reset();
  void define(uint64_t offset, uint64_t bytes);
  /// `store`: who put undefined values there, by number; 0: as if never
  /// written.
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
  struct Table; // cells and lists of one stretch, made when first touched
  static constexpr uint64_t stretchBytes = 16384;
  static constexpr unsigned cellBytes = 16;
  static constexpr size_t maximumReaders = 64;
  std::vector<std::unique_ptr<Table>> tables;
  std::unique_ptr<std::mutex[]> locks; // striped; null when not concurrent
  DefinedBytes defined;
  uint64_t changeCount = 0; // stays where it is when concurrent
  void changed() { changeCount += !locks; }
  std::unique_lock<std::mutex> lockOf(uint64_t offset) const;
  template <typename Run>
  void byStretch(uint64_t offset, uint64_t bytes, const Run &run) const;
  void judgeDefined(const Observer &by, uint64_t first, uint64_t offset,
                    uint64_t bytes, Conflict &conflict);
  void accessStretch(const Observer &by, uint64_t first, uint64_t offset,
                     uint64_t bytes, Conflict &conflict);
  bool accessSurely(Table &table, Sure &sure, uint64_t offset, unsigned bytes,
                    uint32_t lanes);
  bool accessCell(Table &table, Sure &sure, uint64_t offset, uint32_t lanes);
  static void judge(Table &table, Cell &cell, const Observer &by,
                    uint64_t offset, Conflict &conflict);
};

} // namespace act::runtime::sim
#endif
