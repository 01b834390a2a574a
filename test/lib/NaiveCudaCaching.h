// SPDX-License-Identifier: Apache-2.0
//
// The rules of the CUDA caching allocator without any data structure: what is
// stored is which stretches are used and which pages are mapped. Free blocks
// are what lies between, found by looking at everything every time.
#ifndef ACT_TEST_LIB_NAIVECUDACACHING_H
#define ACT_TEST_LIB_NAIVECUDACACHING_H
#include "act/CudaCaching/Allocator.h"
#include <algorithm>
#include <map>

namespace act::cuda_caching::naive {

struct Stretch {
  int64_t from, to;
  bool mapped;
  int64_t size() const { return to - from; }
};

struct Segment {
  bool small;
  int64_t address, bytes, page;    // page 0: mapped as a whole
  std::map<int64_t, int64_t> used; // from -> to, offsets
  std::vector<bool> pages;

  bool isMapped(int64_t at) const { return !page || pages[at / page]; }
  /// Maximal stretches that are not used and all mapped, or all not.
  std::vector<Stretch> gaps() const {
    std::vector<Stretch> all;
    auto add = [&](int64_t from, int64_t to) {
      for (int64_t at = from; at < to;) {
        int64_t end = page ? std::min(to, (at / page + 1) * page) : to;
        if (!all.empty() && all.back().to == at &&
            all.back().mapped == isMapped(at))
          all.back().to = end;
        else
          all.push_back({at, end, isMapped(at)});
        at = end;
      }
    };
    int64_t at = 0;
    for (auto [from, to] : used) {
      add(at, from);
      at = to;
    }
    add(at, bytes);
    return all;
  }
};

class Model {
public:
  Model(const Settings &settings, int64_t device)
      : s(settings), device(device) {}

  struct Place {
    size_t segment;
    int64_t from;
  };

  std::optional<Place> allocate(int64_t bytes) {
    int64_t size = roundSize(s, bytes);
    bool small = size <= 1048576;
    auto found = bestFit(small, size);
    for (int attempt = 0; !found && attempt < 3; ++attempt) {
      if (attempt == 1 && !releaseOversize(small, size))
        continue;
      if (attempt == 2)
        releaseAll();
      found = make(small, size);
    }
    if (!found)
      return std::nullopt;
    Segment &g = segments[found->segment];
    int64_t have = 0;
    for (const Stretch &gap : g.gaps())
      if (gap.from == found->from)
        have = gap.size();
    int64_t rest = have - size;
    bool splits = small || s.expandableSegments
                      ? rest >= 512
                      : size < s.maxSplitSize && rest > 1048576;
    g.used[found->from] = found->from + (splits ? size : have);
    return found;
  }

  void free(Place place) { segments[place.segment].used.erase(place.from); }

  void releaseAll() {
    for (bool small : {false, true})
      for (Segment &g : segments)
        if (g.small == small) {
          if (!g.page && g.used.empty())
            g.bytes = 0; // gone; keeps its number
          if (g.page)
            unmap(g);
        }
  }

  int64_t allocated() const {
    int64_t sum = 0;
    for (const Segment &g : segments)
      for (auto [from, to] : g.used)
        sum += to - from;
    return sum;
  }
  int64_t reserved() const {
    int64_t sum = 0;
    for (const Segment &g : segments)
      sum += g.page ? g.page * std::count(g.pages.begin(), g.pages.end(), true)
                    : g.bytes;
    return sum;
  }
  int64_t inactiveSplit() const {
    int64_t sum = 0;
    for (const Segment &g : segments)
      if (!g.page && !g.used.empty())
        for (const Stretch &gap : g.gaps())
          sum += gap.size();
    return sum;
  }
  std::vector<Segment> segments;

private:
  std::optional<Place> bestFit(bool small, int64_t size) {
    std::optional<Place> best;
    int64_t bestSize = 0;
    // By size, then by address; growing ones are compared by what they can
    // become, one with the next larger.
    struct Candidate {
      int64_t size, address, becomes;
      Place place;
    };
    std::vector<Candidate> all;
    for (size_t i = 0; i < segments.size(); ++i) {
      const Segment &g = segments[i];
      if (g.small != small || !g.bytes)
        continue;
      std::vector<Stretch> gaps = g.gaps();
      for (size_t j = 0; j < gaps.size(); ++j)
        if (gaps[j].mapped && gaps[j].size() >= size) {
          bool grows = j + 1 < gaps.size() && gaps[j + 1].from == gaps[j].to;
          all.push_back({gaps[j].size(),
                         g.address + gaps[j].from,
                         gaps[j].size() + (grows ? gaps[j + 1].size() : 0),
                         {i, gaps[j].from}});
        }
    }
    std::sort(all.begin(), all.end(), [](auto &a, auto &b) {
      return std::pair(a.size, a.address) < std::pair(b.size, b.address);
    });
    size_t at = 0;
    while (s.expandableSegments && at + 1 < all.size() &&
           all[at + 1].becomes < all[at].becomes)
      ++at;
    if (at < all.size()) {
      best = all[at].place;
      bestSize = all[at].size;
    }
    if (!best || (size < s.maxSplitSize && bestSize >= s.maxSplitSize) ||
        (size >= s.maxSplitSize && bestSize >= size + s.maxNonSplitRounding))
      return std::nullopt;
    return best;
  }

  std::optional<Place> make(bool small, int64_t size) {
    if (s.expandableSegments)
      return grow(small, size);
    int64_t bytes = segmentSize(s, size);
    if (reserved() + bytes > device)
      return std::nullopt;
    segments.push_back({small, next, bytes, 0, {}, {}});
    next += bytes;
    return Place{segments.size() - 1, 0};
  }

  std::optional<Place> grow(bool small, int64_t size) {
    for (size_t i = 0; i < segments.size(); ++i)
      if (segments[i].small == small && segments[i].bytes)
        if (auto place = growIn(i, size))
          return fill(*place, size);
    int64_t page = small ? 2 * MiB : s.largeSegmentSize;
    int64_t bytes = (std::max(size, device / 8 * 9) + page - 1) / page * page;
    segments.push_back({small, next, bytes, page, {}, {}});
    segments.back().pages.resize(bytes / page);
    next += bytes;
    return fill({segments.size() - 1, 0}, size);
  }
  // Where unused addresses, with or without memory, begin that suffice; one of
  // them has to be without.
  std::optional<Place> growIn(size_t i, int64_t size) {
    std::vector<Stretch> gaps = segments[i].gaps();
    for (size_t j = 0; j < gaps.size(); ++j) {
      if (gaps[j].mapped)
        continue;
      size_t k = j && gaps[j - 1].to == gaps[j].from ? j - 1 : j;
      int64_t start = gaps[k].from, end = gaps[k].to;
      while (++k < gaps.size() && gaps[k].from == end)
        end = gaps[k].to;
      if (end - start >= size)
        return Place{i, start};
    }
    return std::nullopt;
  }
  std::optional<Place> fill(Place place, int64_t size) {
    Segment &g = segments[place.segment];
    // One stretch without memory after the other; one that does not fit on the
    // card leaves those before it mapped.
    for (int64_t at = place.from; at < place.from + size;) {
      if (g.isMapped(at)) {
        at = (at / g.page + 1) * g.page;
        continue;
      }
      int64_t first = at / g.page, last = first;
      while (last * g.page < place.from + size &&
             last < int64_t(g.pages.size()) && !g.pages[last])
        ++last;
      if (reserved() + (last - first) * g.page > device)
        return std::nullopt;
      std::fill(g.pages.begin() + first, g.pages.begin() + last, true);
      at = last * g.page;
    }
    return place;
  }

  static void unmap(Segment &g) {
    std::vector<bool> keep(g.pages.size(), false);
    for (auto [from, to] : g.used)
      for (int64_t p = from / g.page; p * g.page < to; ++p)
        keep[p] = true;
    for (size_t p = 0; p < keep.size(); ++p)
      if (!keep[p])
        g.pages[p] = false;
    if (g.used.empty())
      g.bytes = 0, g.pages.clear();
  }

  bool releaseOversize(bool small, int64_t size) {
    if (s.maxSplitSize == unlimited)
      return false;
    int64_t wanted = std::max(size, s.maxSplitSize), released = 0;
    std::vector<Segment *> cached; // by size, then address
    for (Segment &g : segments)
      if (g.small == small && g.bytes >= s.maxSplitSize && g.used.empty())
        cached.push_back(&g);
    std::sort(cached.begin(), cached.end(), [](auto *a, auto *b) {
      return std::pair(a->bytes, a->address) < std::pair(b->bytes, b->address);
    });
    for (Segment *g : cached)
      if (g->bytes >= wanted) {
        g->bytes = 0;
        return true;
      }
    for (; !cached.empty() && released < wanted; cached.pop_back()) {
      released += cached.back()->bytes;
      cached.back()->bytes = 0;
    }
    return released >= wanted;
  }

  Settings s;
  int64_t device, next = int64_t(1) << 40;
};

} // namespace act::cuda_caching::naive
#endif
