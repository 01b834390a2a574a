// SPDX-License-Identifier: Apache-2.0
//
// Strong accesses: synchronisation through memory.
//
// - A release stores what its thread knows as a message with the words that it
//   writes. An acquire that reads such a word takes the message, if each is in
//   the other's scope.
// - A relaxed write stores what the thread's last fence published. A relaxed
//   read keeps the message until the thread's next fence takes it.
// - A read-modify-write adds to the message that it finds; a strong store
//   replaces it. A weak store need not: a thread that reads its value without a
//   race knows what its thread knows, and that knew the message's writer.
// - A fence orders only threads that are in its scope on both sides.
#ifndef ACT_RUNTIME_SIM_EXECUTE_MEMORYORDER_H
#define ACT_RUNTIME_SIM_EXECUTE_MEMORYORDER_H
#include "runtime/sim/execute/Machine.h"
#include <functional>

namespace act::runtime::sim {

enum class Order : uint8_t { Weak, Relaxed, Acquire, Release, AcquireRelease };
inline bool isRelease(Order o) {
  return o == Order::Release || o == Order::AcquireRelease;
}
inline bool isAcquire(Order o) {
  return o == Order::Acquire || o == Order::AcquireRelease;
}

/// The caller ticks the warp after all lanes of a releasing instruction. A load
/// returns the bits of the undefined bytes (Conflict::undefined).
uint32_t loadOrdered(Context &c, const Instruction &at, unsigned lane,
                     const Context::Target &from, uint64_t address, void *out,
                     unsigned bytes, Order order, Scope scope);
void storeOrdered(Context &c, const Instruction &at, unsigned lane,
                  const Context::Target &to, uint64_t address,
                  const void *value, unsigned bytes, Order order, Scope scope);
/// `change` updates the memory in place; it excludes all other strong accesses
/// of the word. Undefined bytes stay undefined unless `change` says otherwise.
/// `looks`: repeating it while nothing changes counts as polling.
void updateOrdered(Context &c, const Instruction &at, unsigned lane,
                   const Context::Target &where, uint64_t address,
                   unsigned bytes, Order order, Scope scope,
                   const std::function<bool(std::byte *)> &change,
                   bool looks = false, bool isFloatSum = false);
/// fence.order.scope for the active lanes; .sc is an AcquireRelease here.
/// `reach`: the memory to which a .sync_restrict limits it.
void fence(Context &c, Order order, Scope scope, Reach reach = Reach::All);
/// fence.mbarrier_init.release.cluster for the active lanes: a release of the
/// mbarriers they initialised, and of nothing else (PTX ISA 9.7.13.4).
void fenceInits(Context &c);
/// bar.warp.sync: orders what the active lanes did before what they do next.
void orderLanes(Context &c);
/// fence.proxy.async for the active lanes, for memory of `reach`.
void fenceProxy(Context &c, Reach reach);
/// fence.proxy.async::generic.order.sync_restrict.scope: orders async-proxy
/// accesses of the acquiring thread after generic-proxy accesses that the
/// releasing thread made or knows of. Order: Acquire or Release.
void fenceGenericToAsync(Context &c, Order order, Scope scope, Reach reach);

} // namespace act::runtime::sim
#endif
