// SPDX-License-Identifier: Apache-2.0
//
// Code shared by bulk copies of bytes (cp.async.bulk) and of tensors
// (cp.async.bulk.tensor).
//
// A lane's copy is one operation of the async proxy. It completes in one of
// two ways:
//
//     by mbarrier    the mbarrier of each CTA that it writes to counts it. The
//                    access belongs to the mbarrier's agent; the end of the
//                    phase makes it known (Mbarrier.h)
//     by group       the access belongs to the lane. Reads and writes are two
//                    agents, since wait_group.read waits only for the reads
//                    (Clock.h)
//
// Earlier writes of the generic proxy need a proxy fence before the copy; what
// the copy writes needs none.
#ifndef ACT_RUNTIME_SIM_INSTRUCTIONS_BULKCOPIES_H
#define ACT_RUNTIME_SIM_INSTRUCTIONS_BULKCOPIES_H
#include "runtime/sim/arithmetic/AtomicUpdate.h"
#include "runtime/sim/decode/Decoder.h"
#include "runtime/sim/execute/Mbarrier.h"
#include "runtime/sim/instructions/AddressLanes.h"
#include <optional>
#include <vector>

namespace act::runtime::sim {

/// Where in shared memory a copy puts its bytes, and the mbarrier it signals.
struct Landing {
  Context::Target to;          // null data: reported
  uint64_t address = 0;        // of `to`, for messages
  Mbarrier *barrier = nullptr; // null: reported, or a copy of a group
  Epoch self;
};

class BulkOperation : public AsyncOperation {
public:
  Cta *cta = nullptr;   // of the issuing lane
  bool inGroup = false; // else mbarriers count it
  int64_t bytes = 0;    // of each landing
  std::vector<Landing> landings;
  void complete() override;
  bool writesInGroup() const override { return inGroup; }

protected:
  /// Combines `count` elements into `to`; others may update it concurrently.
  void reduce(const AtomicUpdate &how, std::byte *to, const std::byte *from,
              uint64_t count) const;
};

/// Operands of a copy that writes shared memory. Addresses are in that space or
/// generic.
struct LandingOperands {
  Address to, barrier;
  uint32_t ctaMask = noSlot; // .multicast::cluster
  bool ownOnly = false;      // .shared::cta
};
std::vector<Landing> landingsOf(const Context &c, const Instruction &at,
                                unsigned lane, const LandingOperands &operands,
                                uint64_t bytes, uint64_t align);
/// Notes mbarriers that the generic proxy initialised and an async copy signals
/// with no fence between. Tolerated: Triton omits the fence, and its kernels
/// work.
void checkInitFences(const Context &c, const Instruction &at, unsigned lane,
                     const std::vector<Landing> &landings);
/// The epoch under which reads of the source are recorded.
Epoch readerOf(const Context &c, unsigned lane,
               const std::vector<Landing> &landings);
/// The epochs of a group copy's reads and writes. Call each once per copy.
Epoch groupReader(Context &c, unsigned lane);
Epoch groupWriter(const Context &c, unsigned lane);

/// Counts a copy's shared memory wavefronts: 128 bytes each.
void countShared(Counters &counters, uint64_t bytes, bool isStore);
/// Fills in the issuer and queues the operation.
void issue(Context &c, const Instruction &at, unsigned lane, uint64_t bytes,
           std::unique_ptr<BulkOperation> operation);

/// .add .min ...; none if the instruction names no reduction.
std::optional<AtomicOp> takeReduction(Decoder &d);
/// Whether PTX has this reduction into that space.
bool reduces(AtomicOp op, ptx::Type type, bool toShared);

/// The rest of cp{.reduce}.async.bulk (BulkFamily.cpp) and of
/// cp{.reduce}.async.bulk.tensor and its prefetch (TensorFamily.cpp).
void decodeBulk(Decoder &d, bool reduce);
void decodeTensor(Decoder &d, bool reduce, bool prefetch);

/// The rest of st.async and red.async (AsyncStoreFamily.cpp).
void decodeStoreAsync(Decoder &d);
void decodeReduceAsync(Decoder &d);

/// Checks a copy's read of the tensor map at `address`. The tensormap proxy
/// sees other proxies' writes of this launch only after
/// fence.proxy.tensormap::generic.acquire (TensorMapFamily.cpp).
void judgeTensorMap(Context &c, const Instruction &at, unsigned lane,
                    const Context::Target &map, uint64_t address, Epoch self);
/// fence.proxy.tensormap::generic{.release, .acquire}.scope
void decodeTensorMapFence(Decoder &d, bool acquire);

} // namespace act::runtime::sim
#endif
