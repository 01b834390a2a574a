// SPDX-License-Identifier: Apache-2.0
//
// The allocations of a device by address: its own memory, and that of others
// that it may use.
#ifndef ACT_RUNTIME_BLOCKS_H
#define ACT_RUNTIME_BLOCKS_H
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

namespace act::runtime {

struct Block {
  uint64_t bytes; // as requested
  enum Kind {
    Ours,
    Adopted,   // of another owner: freeing it calls `release`
    Registered // of the host, until it is unregistered
  } kind = Ours;
  std::function<void()> release = nullptr;
};

/// Callers lock. Memory of others may overlap other blocks, and begin where
/// they do: an array may come twice, or as a whole and a part.
class Blocks {
public:
  void add(const void *address, Block block) {
    blocks.emplace(reinterpret_cast<uintptr_t>(address), std::move(block));
  }
  /// Removes the block that free() of the address ends, or the one that is
  /// registered there. Of several it is the smallest one of other owners, since
  /// what is left must cover what any of them covers. The device's own is last.
  std::optional<Block> take(const void *address, bool registered = false);
  /// How many blocks free() would end at this address.
  size_t count(const void *address) const;
  /// Whether the range lies within one block.
  bool contain(const void *address, uint64_t bytes) const;
  bool overlap(const void *address, uint64_t bytes) const;

  auto begin() { return blocks.begin(); }
  auto end() { return blocks.end(); }

private:
  std::multimap<uintptr_t, Block> blocks;
};

} // namespace act::runtime
#endif
