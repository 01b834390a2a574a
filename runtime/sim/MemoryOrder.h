// SPDX-License-Identifier: Apache-2.0
//
// Strong accesses: what synchronises through memory.
//
// A release leaves a message at the words it writes: what its thread knows. An
// acquire that reads the word takes the message, if each is in the other's
// scope. A relaxed write leaves what the thread's last fence published; a
// relaxed read keeps the message until the thread's next fence takes it. A
// read-modify-write adds to the message that it finds; a strong store ends it.
// A weak store does not, and need not: who reads behind it, and does not race
// with it, knows all that its thread does, and that knew the message's writer.
// A fence, too, orders only what is in its scope on both sides.
#ifndef ACT_RUNTIME_SIM_MEMORYORDER_H
#define ACT_RUNTIME_SIM_MEMORYORDER_H
#include "runtime/sim/Machine.h"
#include <functional>

namespace act::runtime::sim {

enum class Order : uint8_t { Weak, Relaxed, Acquire, Release, AcquireRelease };
inline bool isRelease(Order o) {
  return o == Order::Release || o == Order::AcquireRelease;
}
inline bool isAcquire(Order o) {
  return o == Order::Acquire || o == Order::AcquireRelease;
}

/// The caller ticks the warp after the lanes of a releasing instruction. A load
/// returns which of the bytes are undefined (Conflict).
uint32_t loadOrdered(Context &c, const Instruction &at, unsigned lane,
                     const Context::Target &from, uint64_t address, void *out,
                     unsigned bytes, Order order, Scope scope);
void storeOrdered(Context &c, const Instruction &at, unsigned lane,
                  const Context::Target &to, uint64_t address,
                  const void *value, unsigned bytes, Order order, Scope scope);
/// `change` gets the memory and updates it; it runs alone among all strong
/// accesses of the word. What is undefined there stays so, or is what `change`
/// makes of it. `looks`: who does it again and again while nothing changes only
/// looks.
void updateOrdered(Context &c, const Instruction &at, unsigned lane,
                   const Context::Target &where, uint64_t address,
                   unsigned bytes, Order order, Scope scope,
                   const std::function<bool(std::byte *)> &change,
                   bool looks = false);
/// fence.order.scope for the active lanes; .sc is an AcquireRelease here.
/// `reach`: the memory that a .sync_restrict leaves.
void fence(Context &c, Order order, Scope scope, Reach reach = Reach::All);
/// fence.mbarrier_init.release.cluster for the active lanes: a release of what
/// they initialised, of nothing else (PTX ISA 9.7.13.4).
void fenceInits(Context &c);
/// bar.warp.sync: what the active lanes did comes before what they do next.
void orderLanes(Context &c);
/// fence.proxy.async for the active lanes, for memory of `reach`.
void fenceProxy(Context &c, Reach reach);
/// fence.proxy.async::generic.order.sync_restrict.scope: the async proxy of who
/// acquires comes after the generic one of who releases (or is known to who
/// acquires). Order: Acquire or Release.
void fenceGenericToAsync(Context &c, Order order, Scope scope, Reach reach);

} // namespace act::runtime::sim
#endif
