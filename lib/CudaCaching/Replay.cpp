// SPDX-License-Identifier: Apache-2.0
//
// Plays a trace's events through the allocator and keeps the figures of each
// event.
#include "act/CudaCaching/Replay.h"
#include <algorithm>
#include <set>

namespace act::cuda_caching {
namespace {

class Player {
public:
  Player(const Trace &trace, const Options &options)
      : trace(trace), options(options),
        allocator(options.settings, options.deviceBytes),
        handles(trace.bytes.size(), -1) {}

  Replay play() {
    for (size_t i = 0; i < trace.events.size(); ++i) {
      most = Point();
      int64_t wanted = 0;
      if (!step(trace.events[i], wanted)) {
        const Stats &now = allocator.stats();
        out.outOfMemory = OutOfMemory{i, wanted, now.allocated, now.reserved};
        break;
      }
      look();
      most.allocatedAfter = allocator.stats().allocated;
      record(i);
    }
    out.retries = allocator.stats().retries;
    return std::move(out);
  }

private:
  /// False: no room for `wanted` bytes.
  bool step(const Event &event, int64_t &wanted) {
    switch (event.kind) {
    case Event::Kind::Allocate:
      wanted = trace.bytes[event.value];
      return wanted == 0 || allocate(wanted, handles[event.value]);
    case Event::Kind::Free:
      if (handles[event.value] >= 0)
        allocator.free(handles[event.value]);
      handles[event.value] = -1;
      return true;
    case Event::Kind::Product:
      return haveWorkspace(event.value, wanted);
    case Event::Kind::Biased:
      if (options.cublasLtWorkspace)
        return borrow(wanted = options.cublasLtWorkspace);
      return haveWorkspace(event.value, wanted);
    case Event::Kind::Mark:
      return true;
    }
    return true;
  }

  bool allocate(int64_t bytes, Allocator::Handle &handle) {
    auto block = allocator.allocate(bytes);
    if (block)
      handle = *block;
    return block.has_value();
  }

  bool haveWorkspace(int64_t handle, int64_t &wanted) {
    wanted = options.cublasWorkspace;
    if (wanted == 0)
      return true;
    if (!options.keepsWorkspace)
      return borrow(wanted);
    Allocator::Handle kept;
    return !workspaces.insert(handle).second || allocate(wanted, kept);
  }

  bool borrow(int64_t bytes) {
    Allocator::Handle handle;
    if (!allocate(bytes, handle))
      return false;
    look();
    allocator.free(handle);
    return true;
  }

  void look() {
    const Stats &now = allocator.stats();
    most.reserved = std::max(most.reserved, now.reserved);
    if (now.allocated < most.allocated)
      return;
    most.allocated = now.allocated;
    most.requested = now.requested;
    most.inactiveSplit = now.inactiveSplit;
  }

  void record(size_t event) {
    out.points.push_back(most);
    if (most.allocated > out.allocatedPeak) {
      out.allocatedPeak = most.allocated;
      out.allocatedPeakAt = event;
    }
    if (most.reserved > out.reservedPeak) {
      out.reservedPeak = most.reserved;
      out.reservedPeakAt = event;
    }
  }

  const Trace &trace;
  const Options &options;
  Allocator allocator;
  std::vector<Allocator::Handle> handles;
  std::set<int64_t> workspaces;
  Point most;
  Replay out;
};

} // namespace

Replay replay(const Trace &trace, const Options &options) {
  return Player(trace, options).play();
}

} // namespace act::cuda_caching
