// SPDX-License-Identifier: Apache-2.0
//
// Which bytes of a memory range hold a defined value: a bit per byte.
//
// A byte is undefined because it was never written, or because a kernel stored
// an undefined value there. In the second case the number of the store
// (Origins.h) is kept: per four-byte word, and only for the parts of memory
// that ever received such a value.
//
// Not thread-safe: the Shadow that owns it locks (Shadow.h).
#ifndef ACT_RUNTIME_SIM_MEMORY_DEFINEDBYTES_H
#define ACT_RUNTIME_SIM_MEMORY_DEFINEDBYTES_H
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace act::runtime::sim {

class DefinedBytes {
public:
  /// A run of bytes that are undefined for the same reason.
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
  /// The same for 16 bytes at a multiple of 16.
  bool holdsCell(uint64_t offset) const { return cell(offset) == 0xffff; }
  void defineCell(uint64_t offset) {
    bits[offset / 64] |= uint64_t(0xffff) << offset % 64;
  }

  /// `store` 0: as if they were never written.
  void undefine(uint64_t offset, uint64_t bytes, uint32_t store);
  /// The undefined parts of [offset, offset + bytes), in order.
  std::vector<Part> undefined(uint64_t offset, uint64_t bytes) const;
  /// Whether an undefined value was ever stored.
  bool everStored() const { return stored.load(std::memory_order_relaxed); }
  /// Makes all bytes undefined, as never written.
  void reset();

private:
  static constexpr uint64_t chunk = 4096;
  static uint64_t ones(uint64_t count) {
    return count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1;
  }
  uint16_t cell(uint64_t offset) const {
    return uint16_t(bits[offset / 64] >> offset % 64);
  }
  bool has(uint64_t word, uint64_t mask) const {
    return (bits[word] & mask) == mask;
  }
  bool isDefined(uint64_t at) const { return bits[at / 64] >> at % 64 & 1; }
  uint32_t storeAt(uint64_t at) const;

  std::vector<uint64_t> bits;
  /// By chunk, for each word: the store's number times 16, plus a bit for each
  /// byte that the store wrote. Entries of defined bytes are out of date.
  std::vector<std::unique_ptr<uint32_t[]>> stores;
  std::atomic<bool> stored{false};
};

} // namespace act::runtime::sim
#endif
