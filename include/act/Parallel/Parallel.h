// SPDX-License-Identifier: Apache-2.0
//
// A loop whose turns may run at the same time, for what is long and happens
// once: filling, copying and looking through gigabytes. (Kernels run on
// runtime/host/ThreadPool.h, which starts in nanoseconds.)
#ifndef ACT_PARALLEL_PARALLEL_H
#define ACT_PARALLEL_PARALLEL_H
#include <cstdint>
#include <functional>

namespace act {

/// The cores that this process may use, which a container or taskset limits; 1
/// at least.
unsigned availableCores();

/// Calls turn(0) to turn(count - 1), each once, in any order, on up to
/// `threads` threads (0: one per available core), and returns when all are
/// done. Where a thread cannot be started, fewer do the work. `turn` must not
/// throw.
void parallelFor(unsigned threads, uint64_t count,
                 const std::function<void(uint64_t)> &turn);

/// [0, n) in pieces of `piece` (the last one shorter), as calls of
/// turn(first, count).
void parallelPieces(
    unsigned threads, uint64_t n, uint64_t piece,
    const std::function<void(uint64_t first, uint64_t count)> &turn);

} // namespace act
#endif
