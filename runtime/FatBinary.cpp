// SPDX-License-Identifier: Apache-2.0
#include "runtime/FatBinary.h"
#include "runtime/sim/program/Target.h"
#include <algorithm>
#include <cstring>
#include <lz4.h>
#include <optional>
#include <zstd.h>

using namespace act;
using namespace act::runtime;

namespace {

constexpr std::string_view magic("\x50\xed\x55\xba", 4);
constexpr size_t containerHeader = 16, entryHeader = 64;
constexpr uint64_t isLz4 = 0x2000, isZstd = 0x8000;
// A bound, because a damaged file may claim any size. No module's PTX is
// longer.
constexpr uint64_t mostBytes = uint64_t(256) << 20;

// The caller has checked the bounds.
template <typename T> T at(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

Error damaged(const std::string &how) {
  return {"the fat binary is damaged: " + how, ""};
}

Result<std::string> decompress(std::string_view from, uint64_t flags,
                               uint64_t bytes) {
  if (bytes > mostBytes || from.size() > mostBytes)
    return damaged("an entry claims " + std::to_string(bytes) + " bytes");
  std::string to(bytes, '\0');
  uint64_t got = 0;
  bool good = true;
  if (flags & isLz4) {
    int n = LZ4_decompress_safe(from.data(), to.data(), int(from.size()),
                                int(to.size()));
    good = n >= 0;
    got = uint64_t(std::max(n, 0));
  } else {
    size_t n = ZSTD_decompress(to.data(), to.size(), from.data(), from.size());
    good = !ZSTD_isError(n);
    got = good ? n : 0;
  }
  if (!good || got != bytes)
    return damaged("an entry does not decompress to the " +
                   std::to_string(bytes) + " bytes that it claims");
  return to;
}

std::string nameOf(const PtxTarget &t) {
  return "sm_" + std::to_string(t.sm) +
         (t.suffix ? std::string(1, t.suffix) : "");
}

// The entries of consecutive containers.
class Entries {
public:
  explicit Entries(std::string_view image) : rest(image) {}
  struct Entry {
    uint16_t kind;
    uint32_t architecture;
    uint64_t flags, decompressed;
    uint32_t compressed;
    std::string_view payload;
    Result<std::string> text() const {
      std::string_view bytes = payload;
      if (flags & (isLz4 | isZstd)) {
        if (compressed > bytes.size())
          return damaged("an entry's compressed bytes go beyond it");
        return decompress(bytes.substr(0, compressed), flags, decompressed);
      }
      return std::string(bytes);
    }
  };
  /// Returns nothing at the end.
  Result<std::optional<Entry>> next() {
    while (entries.empty()) {
      if (!isFatBinary(rest))
        return std::optional<Entry>();
      if (rest.size() < containerHeader)
        return damaged("it ends in its header");
      uint64_t header = at<uint16_t>(rest, 6), bytes = at<uint64_t>(rest, 8);
      if (at<uint16_t>(rest, 4) != 1)
        return Error{"the fat binary has version " +
                         std::to_string(at<uint16_t>(rest, 4)) + ", expected 1",
                     ""};
      if (header < containerHeader || header > rest.size() ||
          bytes > rest.size() - header)
        return damaged("its header claims " + std::to_string(bytes) +
                       " bytes, but there are " + std::to_string(rest.size()));
      entries = rest.substr(header, bytes);
      rest.remove_prefix(header + bytes);
    }
    if (entries.size() < entryHeader)
      return damaged("it ends in the header of an entry");
    Entry e;
    e.kind = at<uint16_t>(entries, 0);
    uint64_t header = at<uint32_t>(entries, 4),
             bytes = at<uint64_t>(entries, 8);
    e.compressed = at<uint32_t>(entries, 16);
    e.architecture = at<uint32_t>(entries, 28);
    e.flags = at<uint64_t>(entries, 40);
    e.decompressed = at<uint64_t>(entries, 56);
    if (header < entryHeader || header > entries.size() ||
        bytes > entries.size() - header)
      return damaged("an entry of " + std::to_string(bytes) +
                     " bytes goes beyond its end");
    e.payload = entries.substr(header, bytes);
    entries.remove_prefix(header + bytes);
    return std::optional<Entry>(e);
  }

private:
  std::string_view rest, entries;
};

Result<std::string> choose(std::string_view image,
                           const std::function<bool(const PtxTarget &)> &runs) {
  Entries entries(image);
  std::string best, ptx, others; // others: the other entries, for messages
  PtxTarget bestTarget;
  uint64_t total = 0;
  auto tell = [](std::string &list, const std::string &name) {
    list += (list.empty() ? "" : ", ") + name;
  };
  for (;;) {
    auto entry = entries.next();
    if (!entry)
      return entry.error();
    if (!*entry)
      break;
    if ((*entry)->kind != 1) {
      tell(others, "sm_" + std::to_string((*entry)->architecture));
      continue;
    }
    auto text = (*entry)->text();
    if (!text)
      return text.error();
    if ((total += text->size()) > mostBytes)
      return damaged("it has more than " + std::to_string(mostBytes) +
                     " bytes of PTX");
    auto target = ptxTarget(*text);
    if (!target)
      return target.error();
    if (!runs(*target)) {
      tell(ptx, nameOf(*target));
    } else if (best.empty() || target->sm > bestTarget.sm ||
               (target->sm == bestTarget.sm && target->suffix)) {
      best = std::move(*text);
      bestTarget = *target;
    }
  }
  if (!best.empty())
    return best;
  return Error{"the fat binary has no PTX that this device runs; it has " +
                   (ptx.empty() ? "none at all" : "PTX for " + ptx) +
                   (others.empty() ? "" : ", and machine code for " + others),
               ""};
}

} // namespace

bool runtime::isFatBinary(std::string_view image) {
  return image.substr(0, magic.size()) == magic;
}

Result<std::string>
runtime::ptxOf(std::string_view image,
               const std::function<bool(const PtxTarget &)> &runs) {
  if (image.substr(0, 4) == "\x7f"
                            "ELF")
    return Error{"the module is machine code (a cubin), which only a GPU runs; "
                 "a simulator takes PTX, or a fat binary that contains PTX",
                 ""};
  if (!isFatBinary(image)) {
    while (!image.empty() && image.back() == '\0')
      image.remove_suffix(1);
    return std::string(image);
  }
  auto text = choose(image, runs);
  while (text && !text->empty() && text->back() == '\0')
    text->pop_back();
  return text;
}

Result<std::string> runtime::simulatorFor(std::string_view image) {
  auto text = ptxOf(image, [](const PtxTarget &t) {
    return bool(sim::targetFor(t.sm, t.suffix));
  });
  if (!text)
    return text.error();
  auto target = ptxTarget(*text);
  if (!target)
    return target.error();
  auto simulated = sim::targetFor(target->sm, target->suffix);
  if (!simulated)
    return simulated.error();
  return "sim:" + simulated->name;
}
