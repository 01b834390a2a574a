// SPDX-License-Identifier: Apache-2.0
//
// A parallel loop for long, one-off work: filling, copying and scanning
// gigabytes. (Kernels run on runtime/host/ThreadPool.h, which starts in
// nanoseconds.)
#ifndef ACT_PARALLEL_PARALLEL_H
#define ACT_PARALLEL_PARALLEL_H
#include <cstdint>
#include <functional>

namespace act {

/// The number of cores that this process may use, at least 1. A container or
/// taskset may limit it.
unsigned availableCores();

/// Calls turn(0) to turn(count - 1), each once, in any order, on up to
/// `threads` threads (0: one per available core), and returns when all are
/// done. If a thread cannot be started, fewer do the work. `turn` must not
/// throw.
void parallelFor(unsigned threads, uint64_t count,
                 const std::function<void(uint64_t)> &turn);

/// Splits [0, n) into pieces of `piece` (the last may be shorter) and calls
/// turn(first, count) for each, as parallelFor does.
void parallelPieces(
    unsigned threads, uint64_t n, uint64_t piece,
    const std::function<void(uint64_t first, uint64_t count)> &turn);

} // namespace act
#endif
