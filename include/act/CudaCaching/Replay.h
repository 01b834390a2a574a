// SPDX-License-Identifier: Apache-2.0
//
// A program's allocations, one after the other, through the allocator.
//
//   Trace trace;
//   size_t x = trace.add(4 << 20);              // a tensor of 4 MiB
//   trace.events = {Event::allocate(x), Event::free(x)};
//   Replay replay = act::cuda_caching::replay(trace, options);
//   replay.points[0].allocated;                 // 4194304
//   replay.reservedPeak;                        // 20971520
//
// What a product of matrices needs behind its tensors is an event too, and its
// size a setting, because PyTorch's versions differ
// (aten/src/ATen/cuda/CublasHandlePool.cpp):
//
//   torch          cuBLAS                           cublasLt (bias in one call)
//   before 1.13    nothing of the allocator's       borrows 1 MiB
//   1.13 .. 2.14   keeps 8.125 MiB, sm_90 32 MiB,   borrows 1 MiB; later uses
//                  for each handle                  that of cuBLAS
//   2.15           borrows as much                  borrows 1 MiB
//
// To borrow is to allocate when the product is launched, after its result, and
// to free when it is. A handle belongs to a thread, and backward runs in
// another one than forward.
#ifndef ACT_CUDACACHING_REPLAY_H
#define ACT_CUDACACHING_REPLAY_H
#include "act/CudaCaching/Allocator.h"

namespace act::cuda_caching {

struct Event {
  enum class Kind : uint8_t {
    Allocate, // value: number of the storage
    Free,     // the same
    Product,  // of matrices; value: number of the handle
    Biased,   // a product with a bias, by cublasLt; value: as of Product
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
  std::vector<int64_t> bytes; // of each storage, as asked for
  std::vector<Event> events;

  size_t add(int64_t size) {
    bytes.push_back(size);
    return bytes.size() - 1;
  }
};

struct Options {
  Settings settings;
  int64_t deviceBytes = unlimited;
  /// CUBLAS_WORKSPACE_CONFIG: :4096:2:16:8, that is 8.125 MiB, by default, on
  /// sm_90 32 MiB. 0: none.
  int64_t cublasWorkspace = 0;
  /// Kept for each handle from its first product on, not borrowed
  /// (TORCH_CUBLAS_WORKSPACE_CACHE in 2.15).
  bool keepsWorkspace = false;
  /// CUBLASLT_WORKSPACE_SIZE: 1 MiB by default. 0: cuBLAS's is used
  /// (TORCH_CUBLASLT_UNIFIED_WORKSPACE).
  int64_t cublasLtWorkspace = 0;
};

/// At an event: the most while it lasted, of what a borrowed workspace adds.
struct Point {
  int64_t allocated = 0, reserved = 0, requested = 0, inactiveSplit = 0;
  int64_t allocatedAfter = 0; // without what was borrowed
};

/// The request that the card had no room for.
struct OutOfMemory {
  size_t event = 0;
  int64_t requested = 0;               // bytes, as asked for
  int64_t allocated = 0, reserved = 0; // when it failed, after giving back all
};

struct Replay {
  std::vector<Point> points;              // one for each event that ran
  std::optional<OutOfMemory> outOfMemory; // the replay ends there
  int64_t allocatedPeak = 0, reservedPeak = 0;
  size_t allocatedPeakAt = 0, reservedPeakAt = 0; // the first such event
  int64_t retries = 0; // times that all cached segments had to be given back

  /// The part of what is reserved at most that is never used.
  double fragmentation() const {
    return reservedPeak ? 1 - double(allocatedPeak) / double(reservedPeak) : 0;
  }
};

/// Storages are allocated and freed at most once each, in that order; those of
/// 0 bytes take nothing.
Replay replay(const Trace &trace, const Options &options);

} // namespace act::cuda_caching
#endif
