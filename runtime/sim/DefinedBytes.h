// SPDX-License-Identifier: Apache-2.0
//
// Which bytes of a stretch of memory hold a defined value: a bit per byte.
//
// A byte is undefined because nobody ever wrote it, or because a kernel stored
// an undefined value there. Of the second kind a number is kept, which says who
// stored it (Origins.h): by words of four bytes, and only for the parts of
// memory where such a value was ever stored.
//
// Not locked: the Shadow that it belongs to is (Shadow.h).
#ifndef ACT_RUNTIME_SIM_DEFINEDBYTES_H
#define ACT_RUNTIME_SIM_DEFINEDBYTES_H
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace act::runtime::sim {

class DefinedBytes {
public:
  /// Neighbours that are undefined for one reason.
  struct Part {
    uint64_t offset, bytes;
    uint32_t store; // number in Origins; 0: never written
  };

  explicit DefinedBytes(uint64_t bytes)
      : bits((bytes + 63) / 64), stores((bytes + chunk - 1) / chunk) {}

  bool all(uint64_t offset, uint64_t bytes) const {
    const uint64_t end = offset + bytes;
    if (!bytes)
      return true;
    if (offset / 64 == (end - 1) / 64)
      return has(offset / 64, ones(bytes) << offset % 64);
    const uint64_t first = (offset + 63) / 64, last = end / 64;
    return (offset % 64 == 0 ||
            has(offset / 64, ~uint64_t(0) << offset % 64)) &&
           std::all_of(bits.begin() + first, bits.begin() + last,
                       [](uint64_t word) { return word == ~uint64_t(0); }) &&
           (end % 64 == 0 || has(last, ones(end % 64)));
  }
  void define(uint64_t offset, uint64_t bytes) {
    for (uint64_t at = offset, end = offset + bytes; at < end;) {
      uint64_t count = std::min<uint64_t>(64 - at % 64, end - at);
      bits[at / 64] |= ones(count) << at % 64;
      at += count;
    }
  }
  /// The bits of the 64 bytes around `offset`.
  uint64_t &word(uint64_t offset) { return bits[offset / 64]; }

  /// `store` 0: as if nobody had ever written them.
  void undefine(uint64_t offset, uint64_t bytes, uint32_t store);
  /// Those in [offset, offset + bytes) that are undefined, in order.
  std::vector<Part> undefined(uint64_t offset, uint64_t bytes) const;
  /// Whether an undefined value was ever stored.
  bool everStored() const { return stored.load(std::memory_order_relaxed); }
  /// Nothing was ever written.
  void reset();

private:
  static constexpr uint64_t chunk = 4096;
  static uint64_t ones(uint64_t count) {
    return count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1;
  }
  bool has(uint64_t word, uint64_t mask) const {
    return (bits[word] & mask) == mask;
  }
  bool isDefined(uint64_t at) const { return bits[at / 64] >> at % 64 & 1; }
  uint32_t storeAt(uint64_t at) const;

  std::vector<uint64_t> bits;
  /// By chunk, of each word: the store's number times 16, and a bit for each of
  /// its bytes that the store wrote. Where a byte is defined, what stands here
  /// is out of date.
  std::vector<std::unique_ptr<uint32_t[]>> stores;
  std::atomic<bool> stored{false};
};

} // namespace act::runtime::sim
#endif
