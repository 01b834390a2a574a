// SPDX-License-Identifier: Apache-2.0
//
// Bulk copies: what those of bytes (cp.async.bulk) and those of tensors
// (cp.async.bulk.tensor) have in common.
//
// A lane's copy is one operation of the async proxy. How its end is learnt:
//
//     by mbarrier    it is counted by the mbarrier of each CTA that it writes
//                    to, and is there an access of the mbarrier's agent; a
//                    phase that ends tells of it (Mbarrier.h)
//     by group       it is the lane's: reads and writes are two agents, since
//                    wait_group.read waits for the reads alone (Clock.h)
//
// What was written by the generic proxy before needs a proxy fence on the way
// to the copy; what the copy writes needs none.
#ifndef ACT_RUNTIME_SIM_DECODE_BULKCOPIES_H
#define ACT_RUNTIME_SIM_DECODE_BULKCOPIES_H
#include "runtime/sim/AtomicUpdate.h"
#include "runtime/sim/Mbarrier.h"
#include "runtime/sim/decode/AddressLanes.h"
#include "runtime/sim/decode/Decoder.h"
#include <optional>
#include <vector>

namespace act::runtime::sim {

/// Where in shared memory a copy puts its bytes, and whom it tells.
struct Landing {
  Context::Target to;          // null data: reported
  uint64_t address = 0;        // of `to`, for messages
  Mbarrier *barrier = nullptr; // null: reported, or a copy of a group
  Epoch self;
};

class BulkOperation : public AsyncOperation {
public:
  Cta *cta = nullptr;   // of who issued it
  bool inGroup = false; // else mbarriers count it
  int64_t bytes = 0;    // of each landing
  std::vector<Landing> landings;
  void complete() override;
  bool writesInGroup() const override { return inGroup; }

protected:
  /// Combines `count` elements at a place that others combine into too.
  void reduce(const AtomicUpdate &how, std::byte *to, const std::byte *from,
              uint64_t count) const;
};

/// Operands of a copy that writes shared memory; addresses of that space, or
/// generic ones.
struct LandingOperands {
  Address to, barrier;
  uint32_t ctaMask = noSlot; // .multicast::cluster
  bool ownOnly = false;      // .shared::cta
};
std::vector<Landing> landingsOf(const Context &c, const Instruction &at,
                                unsigned lane, const LandingOperands &operands,
                                uint64_t bytes, uint64_t align);
/// Tells of mbarriers that the generic proxy initialised, and which a copy of
/// the async proxy signals with no fence between. Triton writes none, and that
/// goes well, so it is tolerated.
void checkInitFences(const Context &c, const Instruction &at, unsigned lane,
                     const std::vector<Landing> &landings);
/// The epoch that reads of the source are recorded under.
Epoch readerOf(const Context &c, unsigned lane,
               const std::vector<Landing> &landings);
/// The same for a copy of a group: of its reads and of its writes. Call once
/// for each.
Epoch groupReader(Context &c, unsigned lane);
Epoch groupWriter(const Context &c, unsigned lane);

/// What a copy costs in a CTA's shared memory: 128 bytes are a wavefront.
void countShared(Counters &counters, uint64_t bytes, bool isStore);
/// Fills in who issued it, and hands it over.
void issue(Context &c, const Instruction &at, unsigned lane, uint64_t bytes,
           std::unique_ptr<BulkOperation> operation);

/// .add .min ... and what types they go with; none: nothing said.
std::optional<AtomicOp> takeReduction(Decoder &d);
/// False when there is no such reduction into that space.
bool reduces(AtomicOp op, ptx::Type type, bool toShared);

/// The rest of cp{.reduce}.async.bulk (BulkFamily.cpp) and of
/// cp{.reduce}.async.bulk.tensor and its prefetch (TensorFamily.cpp).
void decodeBulk(Decoder &d, bool reduce);
void decodeTensor(Decoder &d, bool reduce, bool prefetch);

/// The rest of st.async and red.async (AsyncStoreFamily.cpp).
void decodeStoreAsync(Decoder &d);
void decodeReduceAsync(Decoder &d);

/// A copy's read of the tensor map at `address`: by the tensormap proxy, which
/// sees what other proxies wrote in this launch only behind
/// fence.proxy.tensormap::generic.acquire (TensorMapFamily.cpp).
void judgeTensorMap(Context &c, const Instruction &at, unsigned lane,
                    const Context::Target &map, uint64_t address, Epoch self);
/// fence.proxy.tensormap::generic{.release, .acquire}.scope
void decodeTensorMapFence(Decoder &d, bool acquire);

} // namespace act::runtime::sim
#endif
