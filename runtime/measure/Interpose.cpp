// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/Measure.h"
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <initializer_list>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||     \
    __has_feature(memory_sanitizer)
#define ACT_NO_INTERPOSE
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ACT_NO_INTERPOSE
#endif

namespace {
std::atomic<bool> counting{false};
std::atomic<uint64_t> calls{0}, bytes{0}, mapCalls{0}, mapBytes{0}, largest{0};

void note(size_t n, std::atomic<uint64_t> &callCount,
          std::atomic<uint64_t> &byteCount) {
  if (!counting.load(std::memory_order_relaxed))
    return;
  callCount.fetch_add(1, std::memory_order_relaxed);
  byteCount.fetch_add(n, std::memory_order_relaxed);
  uint64_t seen = largest.load(std::memory_order_relaxed);
  while (n > seen && !largest.compare_exchange_weak(seen, n))
    ;
}
[[maybe_unused]] void noteHeap(size_t n) { note(n, calls, bytes); }
} // namespace

void act::measure::start() {
  for (auto *counter : {&calls, &bytes, &mapCalls, &mapBytes, &largest})
    counter->store(0);
  counting.store(true);
}

act::measure::Obtained act::measure::stop() {
  counting.store(false);
  return {calls, bytes, mapCalls, mapBytes, largest};
}

#ifdef ACT_NO_INTERPOSE
bool act::measure::available() { return false; }
#else
bool act::measure::available() { return true; }

// glibc's own names for the functions replaced here.
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void *__libc_valloc(size_t);
void *__libc_pvalloc(size_t);

void *malloc(size_t n) {
  noteHeap(n);
  return __libc_malloc(n);
}

void *calloc(size_t count, size_t size) {
  size_t n;
  noteHeap(__builtin_mul_overflow(count, size, &n) ? 0 : n);
  return __libc_calloc(count, size);
}

// Counts the whole new size, since the block may move.
void *realloc(void *p, size_t n) {
  noteHeap(n);
  return __libc_realloc(p, n);
}

void *reallocarray(void *p, size_t count, size_t size) {
  size_t n;
  if (__builtin_mul_overflow(count, size, &n)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(p, n);
}

void *memalign(size_t alignment, size_t n) {
  noteHeap(n);
  return __libc_memalign(alignment, n);
}

void *aligned_alloc(size_t alignment, size_t n) {
  noteHeap(n);
  return __libc_memalign(alignment, n);
}

int posix_memalign(void **out, size_t alignment, size_t n) {
  if (alignment % sizeof(void *) != 0 || alignment == 0 ||
      (alignment & (alignment - 1)) != 0)
    return EINVAL;
  noteHeap(n);
  void *p = __libc_memalign(alignment, n);
  if (!p)
    return ENOMEM;
  *out = p;
  return 0;
}

void *valloc(size_t n) {
  noteHeap(n);
  return __libc_valloc(n);
}

void *pvalloc(size_t n) {
  noteHeap(n);
  return __libc_pvalloc(n);
}

void *mmap(void *address, size_t n, int protection, int flags, int fd,
           off_t offset) {
  note(n, mapCalls, mapBytes);
  return reinterpret_cast<void *>(
      syscall(SYS_mmap, address, n, protection, flags, fd, offset));
}

void *mmap64(void *address, size_t n, int protection, int flags, int fd,
             off64_t offset) {
  return mmap(address, n, protection, flags, fd, static_cast<off_t>(offset));
}
} // extern "C"
#endif
