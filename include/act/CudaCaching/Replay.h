// SPDX-License-Identifier: Apache-2.0
//
// Replays a program's allocations through the allocator.
//
//   Trace trace;
//   size_t x = trace.add(4 << 20);              // a tensor of 4 MiB
//   trace.events = {Event::allocate(x), Event::free(x)};
//   Replay replay = act::cuda_caching::replay(trace, options);
//   replay.points[0].allocated;                 // 4194304
//   replay.reservedPeak;                        // 20971520
//
// A matrix product's workspace is an event too. Its size is a setting, because
// PyTorch's versions differ (aten/src/ATen/cuda/CublasHandlePool.cpp):
//
//   torch          cuBLAS                           cublasLt (bias in one call)
//   before 1.13    nothing of the allocator's       borrows 1 MiB
//   1.13 .. 2.14   keeps 8.125 MiB, sm_90 32 MiB,   borrows 1 MiB; later uses
//                  for each handle                  that of cuBLAS
//   2.15           borrows as much                  borrows 1 MiB
//
// A borrowed workspace is allocated at the product's launch, after its result,
// and freed right after the launch. A handle belongs to a thread, and backward
// runs in another thread than forward.
#ifndef ACT_CUDACACHING_REPLAY_H
#define ACT_CUDACACHING_REPLAY_H
#include "act/CudaCaching/Allocator.h"

namespace act::cuda_caching {

struct Event {
  enum class Kind : uint8_t {
    Allocate, // value: number of the storage
    Free,     // value: number of the storage
    Product,  // of matrices; value: number of the handle
    Biased,   // a product with a bias, by cublasLt; value: as for Product
    Mark,     // nothing happens; value: the caller's
  };
  Kind kind = Kind::Mark;
  int64_t value = 0;

  static Event allocate(size_t storage) {
    return {Kind::Allocate, int64_t(storage)};
  }
  static Event free(size_t storage) { return {Kind::Free, int64_t(storage)}; }
  static Event product(int64_t handle) { return {Kind::Product, handle}; }
  static Event biased(int64_t handle) { return {Kind::Biased, handle}; }
  static Event mark(int64_t value) { return {Kind::Mark, value}; }
};

struct Trace {
  std::vector<int64_t> bytes; // of each storage, as requested
  std::vector<Event> events;

  size_t add(int64_t size) {
    bytes.push_back(size);
    return bytes.size() - 1;
  }
};

struct Options {
  Settings settings;
  int64_t deviceBytes = unlimited;
  /// CUBLAS_WORKSPACE_CONFIG, in bytes. PyTorch's default is :4096:2:16:8, that
  /// is 8.125 MiB, and 32 MiB on sm_90. 0: none.
  int64_t cublasWorkspace = 0;
  /// Each handle keeps its workspace from its first product on, not borrowed
  /// (TORCH_CUBLAS_WORKSPACE_CACHE in 2.15).
  bool keepsWorkspace = false;
  /// CUBLASLT_WORKSPACE_SIZE, in bytes; PyTorch's default is 1 MiB. 0: cuBLAS's
  /// workspace is used (TORCH_CUBLASLT_UNIFIED_WORKSPACE).
  int64_t cublasLtWorkspace = 0;
};

/// The maxima during an event, borrowed workspace included, in bytes.
struct Point {
  int64_t allocated = 0, reserved = 0, requested = 0, inactiveSplit = 0;
  int64_t allocatedAfter = 0; // without borrowed workspace
};

/// The request that did not fit on the GPU.
struct OutOfMemory {
  size_t event = 0;
  int64_t requested = 0;               // bytes, before rounding
  int64_t allocated = 0, reserved = 0; // at the failure, cache released
};

struct Replay {
  std::vector<Point> points;              // one for each event that ran
  std::optional<OutOfMemory> outOfMemory; // the replay ends there
  int64_t allocatedPeak = 0, reservedPeak = 0;
  size_t allocatedPeakAt = 0, reservedPeakAt = 0; // the first such event
  int64_t retries = 0; // how often all cached segments were released

  /// The fraction of the reserved peak that is never used.
  double fragmentation() const {
    return reservedPeak ? 1 - double(allocatedPeak) / double(reservedPeak) : 0;
  }
};

/// Each storage is allocated and freed at most once, in that order. A storage
/// of 0 bytes takes nothing.
Replay replay(const Trace &trace, const Options &options);

} // namespace act::cuda_caching
#endif
