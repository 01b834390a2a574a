// SPDX-License-Identifier: Apache-2.0
//
// PYTORCH_CUDA_ALLOC_CONF: its parser, and the rounding that it sets. What
// PyTorch refuses is refused here.
#include "act/CudaCaching/Settings.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

namespace act::cuda_caching {

static int floorLog2(int64_t value) {
  return 63 - __builtin_clzll(uint64_t(value));
}
static bool isPowerOf2(int64_t value) {
  return value > 0 && (value & (value - 1)) == 0;
}

/// One entry for each power of two from 1 MiB on. Sizes below and above use the
/// first and the last.
static int64_t divisionsFor(const Settings &settings, int64_t bytes) {
  int last = int(settings.roundupPower2Divisions.size()) - 1;
  int index = floorLog2(bytes) - floorLog2(MiB);
  return settings.roundupPower2Divisions[std::clamp(index, 0, last)];
}

/// PyTorch's round_size. With divisions, a power of two and the next are split
/// into so many equal steps: with 4, 5000 bytes become 5120, since 4096 is
/// followed by 5120, 6144, 7168. Without, sizes are multiples of 512.
int64_t roundSize(const Settings &settings, int64_t bytes) {
  if (bytes < minBlockSize)
    return minBlockSize;
  int64_t divisions = divisionsFor(settings, bytes);
  if (divisions > 1 && bytes > minBlockSize * divisions) {
    if (isPowerOf2(bytes))
      return bytes;
    // roundup_power2_next_division
    int64_t floor = int64_t(1) << floorLog2(bytes);
    int64_t step = floor >> floorLog2(divisions);
    return (bytes + step - 1) / step * step;
  }
  return (bytes + minBlockSize - 1) / minBlockSize * minBlockSize;
}

/// PyTorch's get_allocation_size: how much is reserved from the GPU for a block
/// of this size when no cached one fits.
int64_t segmentSize(const Settings &settings, int64_t bytes) {
  if (bytes <= smallSize)
    return smallBuffer;
  if (bytes < minLargeAlloc)
    return settings.largeSegmentSize;
  return (bytes + roundLarge - 1) / roundLarge * roundLarge;
}

namespace {

/// Words and the signs , : [ ] between them, without spaces.
class Reader {
public:
  explicit Reader(const std::string &text) {
    std::string word;
    auto flush = [&] {
      if (!word.empty())
        words.push_back(std::move(word));
      word.clear();
    };
    for (char c : text)
      if (c == ',' || c == ':' || c == '[' || c == ']') {
        flush();
        words.push_back(std::string(1, c));
      } else if (c != ' ' && c != '\t') {
        word += c;
      }
    flush();
  }

  bool done() const { return at == words.size(); }
  const std::string &peek() const {
    static const std::string end = "the end";
    return done() ? end : words[at];
  }
  std::string next() { return done() ? peek() : words[at++]; }
  bool take(const char *sign) {
    bool there = !done() && words[at] == sign;
    at += there;
    return there;
  }

private:
  std::vector<std::string> words;
  size_t at = 0;
};

Error wrong(const std::string &key, const std::string &expected,
            const std::string &found) {
  return Error{"allocator option '" + key + "': expected " + expected +
                   ", found '" + found + "'",
               ""};
}

/// A whole number from least to most.
Result<int64_t> whole(const std::string &key, const std::string &word,
                      int64_t least, int64_t most) {
  int64_t value = 0;
  const char *end = word.data() + word.size();
  auto r = std::from_chars(word.data(), end, value);
  if (r.ec != std::errc() || r.ptr != end || value < least || value > most)
    return wrong(key,
                 "a whole number from " + std::to_string(least) + " to " +
                     std::to_string(most),
                 word);
  return value;
}

/// A number from 0 to 1; with `inside`, for the threshold, both excluded.
Result<double> fraction(const std::string &key, const std::string &word,
                        bool inside) {
  double value = 0;
  const char *end = word.data() + word.size();
  auto r = std::from_chars(word.data(), end, value);
  if (r.ec != std::errc() || r.ptr != end || !(value >= 0 && value <= 1) ||
      (inside && (value == 0 || value == 1)))
    return wrong(key,
                 inside ? "a number between 0 and 1" : "a number from 0 to 1",
                 word);
  return value;
}

Result<int64_t> division(const std::string &key, const std::string &word) {
  auto value = whole(key, word, 0, 1 << 20);
  if (value && *value != 0 && !isPowerOf2(*value))
    return wrong(key, "a power of two, or 0 for none", word);
  return value;
}

/// N, or [256:1,512:2,>:4]: from 256 MiB on 1, from 512 on 2, above those 4;
/// below the first as at the first.
Status readDivisions(const std::string &key, Reader &reader,
                     std::array<int64_t, 16> &out) {
  if (!reader.take("[")) {
    auto value = division(key, reader.next());
    if (!value)
      return value.error();
    out.fill(*value);
    return ok();
  }
  size_t last = 0;
  bool first = true;
  while (!reader.take("]")) {
    std::string from = reader.next();
    if (!reader.take(":"))
      return wrong(key, "':' after " + from, reader.peek());
    auto value = division(key, reader.next());
    if (!value)
      return value.error();
    if (from == ">") {
      std::fill(out.begin() + (first ? 0 : last + 1), out.end(), *value);
    } else {
      auto mib = whole(key, from, 1, int64_t(1) << 40);
      if (!mib)
        return mib.error();
      if (!isPowerOf2(*mib))
        return wrong(key, "an interval that begins at a power of two", from);
      last = std::min(size_t(floorLog2(*mib)), out.size() - 1);
      if (first)
        std::fill(out.begin(), out.begin() + last, *value);
      first = false;
      out[last] = *value;
    }
    if (reader.peek() != "]" && !reader.take(","))
      return wrong(key, "',' or ']'", reader.peek());
  }
  return ok();
}

/// Options that do not affect what this library models.
bool isOfNoConcern(const std::string &key) {
  constexpr const char *keys[] = {
      "release_lock_on_cudamalloc", "release_lock_on_hipmalloc",
      "graph_capture_record_stream_reuse", "throw_on_cudamalloc_oom"};
  return key.rfind("pinned_", 0) == 0 ||
         std::find(std::begin(keys), std::end(keys), key) != std::end(keys);
}

Status readOption(const std::string &key, Reader &reader, Settings &out) {
  constexpr int64_t mostMiB = int64_t(1) << 40;
  auto mib = [&](int64_t &field, int64_t least, int64_t most) -> Status {
    auto value = whole(key, reader.next(), least, most);
    if (!value)
      return value.error();
    field = *value * MiB;
    return ok();
  };
  if (key == "max_split_size_mb")
    return mib(out.maxSplitSize, 1, mostMiB);
  if (key == "max_non_split_rounding_mb")
    return mib(out.maxNonSplitRounding, 1, mostMiB);
  if (key == "large_segment_size_mb")
    return mib(out.largeSegmentSize, 11, 1 << 20);
  if (key == "roundup_power2_divisions")
    return readDivisions(key, reader, out.roundupPower2Divisions);
  if (key == "expandable_segments") {
    std::string word = reader.next();
    if (word != "True" && word != "False")
      return wrong(key, "True or False", word);
    out.expandableSegments = word == "True";
    return ok();
  }
  if (key == "garbage_collection_threshold" ||
      key == "per_process_memory_fraction") {
    bool threshold = key[0] == 'g';
    auto value = fraction(key, reader.next(), threshold);
    if (!value)
      return value.error();
    if (threshold)
      out.garbageCollectionThreshold = *value;
    else if (*value < 1) // 1 is the same as no setting, in PyTorch too
      out.memoryFraction = *value;
    return ok();
  }
  if (key == "backend") {
    std::string word = reader.next();
    if (word != "native")
      return wrong(key, "native, the only allocator that is modelled", word);
    return ok();
  }
  if (isOfNoConcern(key)) {
    reader.next();
    return ok();
  }
  return Error{
      "unknown allocator option '" + key +
          "': expected one of max_split_size_mb, max_non_split_rounding_mb, "
          "large_segment_size_mb, roundup_power2_divisions, "
          "expandable_segments, garbage_collection_threshold, "
          "per_process_memory_fraction, backend",
      ""};
}

} // namespace

Result<Settings> parseSettings(const std::string &text) {
  Settings out;
  out.maxNonSplitRounding = 0; // not set
  Reader reader(text);
  while (!reader.done()) {
    std::string key = reader.next();
    if (!reader.take(":"))
      return wrong(key, "':' after it", reader.peek());
    if (Status s = readOption(key, reader, out); !s)
      return s.error();
    if (!reader.done() && !reader.take(","))
      return wrong(key, "',' after its value", reader.peek());
  }
  if (out.maxNonSplitRounding == 0)
    out.maxNonSplitRounding = out.largeSegmentSize;
  for (auto [key, bytes] :
       {std::pair("max_split_size_mb", out.maxSplitSize),
        std::pair("max_non_split_rounding_mb", out.maxNonSplitRounding)})
    if (bytes < out.largeSegmentSize)
      return wrong(key,
                   "at least large_segment_size_mb, " +
                       std::to_string(out.largeSegmentSize / MiB),
                   std::to_string(bytes / MiB));
  return out;
}

} // namespace act::cuda_caching
