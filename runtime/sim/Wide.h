// SPDX-License-Identifier: Apache-2.0
//
// ACT_WIDE before a function compiles it for AVX2 and AVX-512 too; the loader
// takes the best that the machine has. For loops over 32 lanes.
#ifndef ACT_RUNTIME_SIM_WIDE_H
#define ACT_RUNTIME_SIM_WIDE_H

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

#endif
