// SPDX-License-Identifier: Apache-2.0
//
// ACT_WIDE before a function compiles it for AVX2 and AVX-512 too; the loader
// picks the best version for the machine. For loops over 32 lanes.
#ifndef ACT_RUNTIME_SIM_ARITHMETIC_WIDE_H
#define ACT_RUNTIME_SIM_ARITHMETIC_WIDE_H
#include <cstdint>

#if defined(__x86_64__) && defined(__ELF__) && defined(__linux__) &&           \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define ACT_WIDE                                                               \
  __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#endif
#else
#define ACT_WIDE                                                               \
  __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#endif
#endif
#ifndef ACT_WIDE
#define ACT_WIDE
#endif

namespace act::runtime::sim {

typedef uint32_t FourWords __attribute__((vector_size(16)));

/// Rows of four words become columns, in place.
__attribute__((always_inline)) inline void transpose(FourWords x[4]) {
  FourWords a = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);
  FourWords b = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
  FourWords c = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
  FourWords d = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
  x[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  x[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  x[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  x[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

typedef uint16_t EightHalves __attribute__((vector_size(16)));

/// The same for eight rows of eight halves.
__attribute__((always_inline)) inline void transpose(EightHalves x[8]) {
  // Each of three rounds interleaves row i with row i + 4.
  for (unsigned round = 0; round < 3; ++round) {
    EightHalves y[8];
    for (unsigned i = 0; i < 4; ++i) {
      y[2 * i] =
          __builtin_shufflevector(x[i], x[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      y[2 * i + 1] =
          __builtin_shufflevector(x[i], x[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    for (unsigned i = 0; i < 8; ++i)
      x[i] = y[i];
  }
}

} // namespace act::runtime::sim

#endif
