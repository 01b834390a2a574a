// SPDX-License-Identifier: Apache-2.0
//
// Counts every byte that a process obtains from the C library or the kernel
// while counting is on: malloc, calloc, realloc, aligned_alloc, posix_memalign,
// memalign, valloc, pvalloc, C++'s new (which calls malloc) and mmap (anonymous
// or not).
//
//   act::measure::start();
//   ... one training step ...
//   auto m = act::measure::stop();   // m.calls == 0 when nothing was obtained
//
// Linked into an executable, Interpose.cpp replaces those functions for the
// whole process, kernels in a loaded shared object included. It allocates
// nothing itself and may be called from any thread.
#ifndef ACT_RUNTIME_MEASURE_MEASURE_H
#define ACT_RUNTIME_MEASURE_MEASURE_H
#include <cstdint>

namespace act::measure {

struct Obtained {
  uint64_t calls = 0, bytes = 0;       // heap
  uint64_t mapCalls = 0, mapBytes = 0; // mmap
  uint64_t largest = 0;
};

/// False when the interposition is not in effect (under a sanitizer).
bool available();
void start();
Obtained stop();

} // namespace act::measure
#endif
