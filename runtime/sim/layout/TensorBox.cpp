// SPDX-License-Identifier: Apache-2.0
//
// The rows of a box, which of their elements lie inside the tensor, and the
// stretches of shared memory that they fill.
#include "runtime/sim/layout/TensorBox.h"
#include <algorithm>

namespace act::runtime::sim {

namespace {

// For `count` elements at start, start + step ...: `first` lie before the
// tensor, `end` before its end.
void clip(int64_t start, int64_t size, int64_t step, uint32_t count,
          uint32_t &first, uint32_t &end) {
  auto reach = [&](int64_t to) {
    int64_t n = to <= start ? 0 : (to - start + step - 1) / step;
    return uint32_t(std::min<int64_t>(n, count));
  };
  first = reach(0);
  end = std::max(first, reach(size));
}

// The element stride in dimension d, and the number of elements taken.
uint32_t stepOf(const TiledTensor &t, unsigned d) {
  return d < t.rank && (d > 0 || t.interleave) ? t.elementStrides[d] : 1;
}
uint32_t countOf(const TiledTensor &t, unsigned d) {
  return d < t.rank ? (t.box[d] + stepOf(t, d) - 1) / stepOf(t, d) : 1;
}

} // namespace

uint64_t bytesOfBox(const TiledTensor &t) {
  uint64_t bytes = bytesOf(t.type);
  for (unsigned d = 0; d < t.rank; ++d)
    bytes *= countOf(t, d); // at most 2^43
  return bytes;
}

TensorBox::TensorBox(const TiledTensor &t, const int32_t (&start)[5])
    : elementBytes(bytesOf(t.type)), swizzle(Swizzle(t.swizzle)) {
  uint32_t count[5], steps[5];
  for (unsigned d = 0; d < 5; ++d) {
    steps[d] = stepOf(t, d);
    count[d] = countOf(t, d);
  }
  rowElements = count[0];
  step = elementBytes * steps[0];
  uint32_t first, end;
  clip(start[0], int64_t(t.sizes[0]), steps[0], count[0], first, end);
  uint64_t total = uint64_t(count[1]) * count[2] * count[3] * count[4];
  rows.reserve(total);
  uint32_t at[5] = {0, 0, 0, 0, 0};
  for (uint64_t n = 0; n < total; ++n) {
    Row row;
    uint64_t offset = 0;
    bool inside = true;
    for (unsigned d = 1; d < t.rank; ++d) {
      int64_t x = int64_t(start[d]) + int64_t(at[d]) * steps[d];
      inside &= x >= 0 && x < int64_t(t.sizes[d]);
      offset += uint64_t(x) * t.strides[d - 1];
    }
    if (inside && first < end) {
      row.first = first;
      row.end = end;
      int64_t x = int64_t(start[0]) + int64_t(first) * steps[0];
      row.global = t.address + offset + uint64_t(x) * elementBytes;
    }
    rows.push_back(row);
    for (unsigned d = 1; d < 5 && ++at[d] == count[d]; ++d)
      at[d] = 0;
  }
  bytes = bytesOfBox(t);
}

bool TensorBox::isWhole() const {
  return std::all_of(rows.begin(), rows.end(), [&](const Row &r) {
    return r.first == 0 && r.end == rowElements;
  });
}

// Few and long stretches make judging cheap: a box that fills whole swizzle
// patterns is one. Otherwise chunks are placed one by one, sorted and joined.
std::vector<TensorBox::Stretch> TensorBox::stretches(uint64_t offset,
                                                     bool insideOnly) const {
  uint64_t span = sim::rowBytes(swizzle);
  bool whole = !insideOnly || isWhole();
  // The swizzle moves chunks only within `span` bytes.
  if (whole &&
      (swizzle == Swizzle::None || (offset % span == 0 && bytes % span == 0)))
    return {{offset, bytes}};
  std::vector<Stretch> parts;
  auto add = [&](uint64_t from, uint64_t to) {
    while (from < to) {
      uint64_t next = std::min(to, from / 16 * 16 + 16);
      parts.push_back(
          {swizzled(uint32_t(offset + from), swizzle), next - from});
      from = next;
    }
  };
  for (size_t r = 0; r < rows.size(); ++r) {
    uint64_t at = r * rowBytes();
    if (whole)
      add(at, at + rowBytes());
    else
      add(at + uint64_t(rows[r].first) * elementBytes,
          at + uint64_t(rows[r].end) * elementBytes);
  }
  std::sort(parts.begin(), parts.end(), [](const Stretch &a, const Stretch &b) {
    return a.offset < b.offset;
  });
  std::vector<Stretch> merged;
  for (const Stretch &p : parts)
    if (!merged.empty() &&
        merged.back().offset + merged.back().bytes == p.offset)
      merged.back().bytes += p.bytes;
    else
      merged.push_back(p);
  return merged;
}

} // namespace act::runtime::sim
