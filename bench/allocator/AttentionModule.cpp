// SPDX-License-Identifier: Apache-2.0
//
// Prints the published readings of an attention module beside those of the
// replay.
#include "bench/allocator/AttentionTable.h"
#include <cstdio>

using namespace act;
using namespace act::attention_table;

static double MiB(int64_t bytes) { return double(bytes) / (1 << 20); }

static int fail(const Error &error) {
  return fprintf(stderr, "%s\n", error.str().c_str()), 1;
}

static int kernel(const char *name, eager::Attention attention,
                  artifact::DType dtype, bool copies, double published) {
  eager::AttentionModule module;
  module.attention = attention;
  module.dtype = dtype;
  module.copies = copies;
  auto all = readings(module, readAtTheTime());
  if (!all)
    return fail(all.error());
  const Reading &last = all->back();
  printf("%-44s %10.2f %10.2f %10.2f %10.2f\n", name, published,
         MiB(last.allocated), MiB(last.requested), MiB(last.reserved));
  return 0;
}

int main() {
  auto all = readings({}, readAtTheTime());
  if (!all)
    return fail(all.error());
  printf("math, fp32, MiB\n%-44s %10s %10s %10s %10s %10s\n", "after",
         "published", "allocated", "change", "peak", "reserved");
  int64_t before = 0, peak = 0;
  for (size_t i = 0; i < all->size(); ++i) {
    const Reading &r = (*all)[i];
    printf("%-44s %10.2f %10.2f %+10.2f %10.2f %10.2f\n", r.after.c_str(),
           published[i].allocatedMiB, MiB(r.allocated),
           i ? MiB(r.allocated - before) : 0, MiB(r.peak), MiB(r.reserved));
    before = r.allocated;
    peak = std::max(peak, r.peak);
  }
  printf("%-44s %10.2f %10.2f\n\n", "peak", publishedPeakMiB, MiB(peak));
  printf("live after the return, MiB\n%-44s %10s %10s %10s %10s\n", "kernel",
         "published", "allocated", "requested", "reserved");
  using eager::Attention;
  // Of the memory-efficient kernel's, 1 KiB is random state that was on the
  // host when the readings were taken.
  return kernel("memory-efficient fp32, views of qkv", Attention::Efficient,
                artifact::DType::F32, false, publishedEfficientMiB) |
         kernel("memory-efficient fp32, q, k, v copied", Attention::Efficient,
                artifact::DType::F32, true, publishedEfficientMiB) |
         kernel("flash fp16, views of qkv", Attention::Flash,
                artifact::DType::F16, false, publishedFlashMiB) |
         kernel("flash fp16, q, k, v copied", Attention::Flash,
                artifact::DType::F16, true, publishedFlashMiB);
}
