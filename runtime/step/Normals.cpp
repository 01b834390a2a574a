// SPDX-License-Identifier: Apache-2.0
//
// Built with -ffp-contract=off: a fused multiply-add would give different bits.
#include "runtime/step/Normals.h"
#include "act/Random/Philox.h"
#include <cmath>
#include <cstring>

using namespace act;

// The code below is compiled once per vector width, so all of it is inlined
// into one function.
#define ACT_INLINE static inline __attribute__((always_inline))

ACT_INLINE float asFloat(uint32_t bits) {
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}

ACT_INLINE uint32_t bitsOf(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return bits;
}

// -2 ln((w + 1/2) / 2^32). The number is 2^e (1 + x) with 1 + x between
// sqrt(1/2) and sqrt(2), and ln(1 + x) = x - x^2/2 + x^3 p(x); p interpolates
// at Chebyshev nodes. ln 2 is split in two parts; the larger times e is exact.
ACT_INLINE float squaredRadius(uint32_t w) {
  constexpr uint32_t sqrtHalf = 0x3f3504f3;
  uint32_t bits = bitsOf(static_cast<float>(w) + 0.5f) - sqrtHalf;
  float e = static_cast<float>(static_cast<int32_t>(bits) >> 23) - 32.0f;
  float x = asFloat((bits & 0x7fffff) + sqrtHalf) - 1.0f;
  float p = -0x1.43b246p-4f;
  p = p * x + 0x1.02814ep-3f;
  p = p * x - 0x1.0a33eap-3f;
  p = p * x + 0x1.231ce6p-3f;
  p = p * x - 0x1.54d03ep-3f;
  p = p * x + 0x1.999f14p-3f;
  p = p * x - 0x1.0000cep-2f;
  p = p * x + 0x1.555554p-2f;
  float squared = x * x;
  float log = x * squared * p + e * -2.12194440e-4f - 0.5f * squared + x +
              e * 0.693359375f;
  // A rounding error where u is almost 1 must not make this negative: its root
  // would be a NaN.
  float radius = -2.0f * log;
  return radius > 0 ? radius : 0;
}

// Cosine and sine of w / 2^32 turns: by polynomials for the distance to the
// nearest quarter turn (at most an eighth), then rotated by the quarters.
ACT_INLINE void direction(uint32_t w, float &cosine, float &sine) {
  uint32_t quarters = (w + 0x20000000u) >> 30;
  float t =
      static_cast<float>(static_cast<int32_t>(w - (quarters << 30))) * 0x1p-32f;
  float z = t * t;
  float s = -0x1.2d9b40p+6f;
  s = s * z + 0x1.465ec4p+6f;
  s = s * z - 0x1.4abbbap+5f;
  s = s * z + 0x1.921fb6p+2f;
  s = s * t;
  float c = 0x1.d9c2e8p+5f;
  c = c * z - 0x1.55c57ap+6f;
  c = c * z + 0x1.03c1dcp+6f;
  c = c * z - 0x1.3bd3ccp+4f;
  c = c * z + 1.0f;
  bool odd = quarters & 1;
  uint32_t negativeCosine = ((quarters + 1) & 2) << 30;
  uint32_t negativeSine = (quarters & 2) << 30;
  cosine = asFloat(bitsOf(odd ? s : c) ^ negativeCosine);
  sine = asFloat(bitsOf(odd ? c : s) ^ negativeSine);
}

// Counters per batch: their words fit the L1 cache.
constexpr uint64_t some = 256;

// As act::philox. Each word is the lower half of a 64-bit lane, which also
// holds its product; the upper half is ignored. So a vector of products is one
// instruction, with no shuffles of halves.
ACT_INLINE void draw(std::array<uint32_t, 2> key, uint64_t counter,
                     uint64_t counters, uint32_t (*__restrict words)[some]) {
  constexpr uint64_t low = 0xffffffff;
  for (uint64_t i = 0; i < counters; ++i) {
    uint64_t c = counter + i;
    uint64_t w0 = c, w1 = c >> 32, w2 = 0, w3 = 0;
    uint32_t k0 = key[0], k1 = key[1];
#if defined(__clang__)
#pragma clang loop unroll(full)
#else
#pragma GCC unroll 10
#endif
    for (int round = 0; round < 10; ++round) {
      uint64_t p0 = (w0 & low) * 0xD2511F53, p1 = (w2 & low) * 0xCD9E8D57;
      w0 = (p1 >> 32) ^ w1 ^ k0;
      w2 = (p0 >> 32) ^ w3 ^ k1;
      w1 = p1;
      w3 = p0;
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    words[0][i] = static_cast<uint32_t>(w0);
    words[1][i] = static_cast<uint32_t>(w1);
    words[2][i] = static_cast<uint32_t>(w2);
    words[3][i] = static_cast<uint32_t>(w3);
  }
}

ACT_INLINE void store(float *out, uint64_t i, float v) { out[i] = v; }

// Rounds to nearest, ties to even. Inputs are never infinite or NaN.
ACT_INLINE void store(uint16_t *out, uint64_t i, float v) {
  uint32_t bits = bitsOf(v);
  out[i] = static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <typename To>
ACT_INLINE void fill(std::array<uint32_t, 2> key, uint64_t counter,
                     uint64_t counters, float scale, To *__restrict out) {
  alignas(64) uint32_t words[4][some];
  for (uint64_t done = 0; done < counters; done += some, out += 4 * some) {
    uint64_t n = counters - done < some ? counters - done : some;
    draw(key, counter + done, n, words);
    for (uint64_t i = 0; i < n; ++i) {
      float cosine, sine;
      float radius = std::sqrt(squaredRadius(words[0][i])) * scale;
      direction(words[1][i], cosine, sine);
      store(out, 4 * i, radius * cosine);
      store(out, 4 * i + 1, radius * sine);
      radius = std::sqrt(squaredRadius(words[2][i])) * scale;
      direction(words[3][i], cosine, sine);
      store(out, 4 * i + 2, radius * cosine);
      store(out, 4 * i + 3, radius * sine);
    }
  }
}

template <typename To>
static void fillBaseline(std::array<uint32_t, 2> key, uint64_t counter,
                         uint64_t counters, float scale, To *out) {
  fill(key, counter, counters, scale, out);
}

#if defined(__x86_64__)
template <typename To>
__attribute__((target("avx2"))) static void
fillAvx2(std::array<uint32_t, 2> key, uint64_t counter, uint64_t counters,
         float scale, To *out) {
  fill(key, counter, counters, scale, out);
}

template <typename To>
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) static void
fillAvx512(std::array<uint32_t, 2> key, uint64_t counter, uint64_t counters,
           float scale, To *out) {
  fill(key, counter, counters, scale, out);
}
#endif

std::vector<runtime::FillNormals> runtime::normalsByWidth() {
  std::vector<FillNormals> all{{fillBaseline<float>, fillBaseline<uint16_t>}};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2"))
    all.push_back({fillAvx2<float>, fillAvx2<uint16_t>});
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    all.push_back({fillAvx512<float>, fillAvx512<uint16_t>});
#endif
  return all;
}

const runtime::FillNormals &runtime::fillNormals() {
  static const FillNormals widest = normalsByWidth().back();
  return widest;
}
