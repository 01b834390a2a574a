// SPDX-License-Identifier: Apache-2.0
//
// Blocks and the pools of free ones.
//
// A segment is a chain of blocks by address. Free neighbours are merged, except
// that mapped and unmapped blocks stay separate.
#ifndef ACT_LIB_CUDACACHING_POOL_H
#define ACT_LIB_CUDACACHING_POOL_H
#include "act/CudaCaching/Settings.h"
#include <set>

namespace act::cuda_caching {

struct Pool;

/// The addresses of an expandable segment: whole pages, some of them mapped.
struct Expandable {
  int64_t address = 0, bytes = 0, page = 0;
};

struct Block {
  int64_t address = 0, bytes = 0, requested = 0;
  Pool *pool = nullptr;
  bool used = false;
  bool mapped = true; // false: addresses without memory behind them
  Block *before = nullptr, *after = nullptr;
  Expandable *expandable = nullptr; // null: in an ordinary segment
  int64_t cachedAt = 0;             // Pool::searches when it was cached

  bool isSplit() const { return before || after; }
};

struct BySize {
  bool operator()(const Block *a, const Block *b) const {
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->address < b->address;
  }
};
struct ByAddress {
  bool operator()(const Block *a, const Block *b) const {
    return a->address < b->address;
  }
};

struct Pool {
  explicit Pool(bool small) : small(small) {}
  const bool small;
  std::set<Block *, BySize> free; // and mapped
  std::set<Block *, ByAddress> unmapped;
  int64_t searches = 0; // counted if garbage is collected

  void cache(Block *block) {
    block->cachedAt = searches;
    free.insert(block);
  }
};

} // namespace act::cuda_caching
#endif
