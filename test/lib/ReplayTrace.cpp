// SPDX-License-Identifier: Apache-2.0
//
// Requests from standard input, and after each the allocator's figures, for
// test/python/caching_allocator_test.py:
//
//   ReplayTrace SETTINGS DEVICE_BYTES < TRACE
//     a ID BYTES    allocate        ok|full ALLOCATED RESERVED INACTIVE_SPLIT
//     f ID          free            RETRIES
//     e             empty the cache
#include "act/CudaCaching/Allocator.h"
#include <cstdio>
#include <cstdlib>
#include <map>

using namespace act::cuda_caching;

int main(int argc, char **argv) {
  if (argc != 3)
    return fprintf(stderr, "usage: ReplayTrace SETTINGS DEVICE_BYTES\n"), 2;
  auto settings = parseSettings(argv[1]);
  if (!settings)
    return fprintf(stderr, "%s\n", settings.error().str().c_str()), 1;
  Allocator allocator(*settings, strtoll(argv[2], nullptr, 10));
  std::map<long, Allocator::Handle> blocks;
  char op;
  long id, bytes;
  while (scanf(" %c", &op) == 1) {
    const char *result = "ok";
    if (op == 'a' && scanf("%ld %ld", &id, &bytes) == 2) {
      if (auto handle = allocator.allocate(bytes))
        blocks[id] = *handle;
      else
        result = "full";
    } else if (op == 'f' && scanf("%ld", &id) == 1) {
      if (blocks.count(id))
        allocator.free(blocks[id]);
      blocks.erase(id);
    } else if (op == 'e') {
      allocator.emptyCache();
    }
    const Stats &s = allocator.stats();
    printf("%s %ld %ld %ld %ld\n", result, long(s.allocated), long(s.reserved),
           long(s.inactiveSplit), long(s.retries));
  }
}
