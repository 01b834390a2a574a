// SPDX-License-Identifier: Apache-2.0
//
// 4-bit NormalFloat (Dettmers et al., QLoRA, NeurIPS 2023), compatible with
// bitsandbytes: codes of blocks with a scale each, and 8-bit codes for nested
// scales.
#include "act/Nf4/Nf4.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace act;

// The midpoints between neighbouring levels.
static const float borders[15] = {
    -0.8480964004993439f,   -0.6106329262256622f,  -0.4599952697753906f,
    -0.33967943489551544f,  -0.23460740596055984f, -0.13791173323988914f,
    -0.045525018125772476f, 0.03979014977812767f,  0.1202552504837513f,
    0.2035212516784668f,    0.2920137718319893f,   0.3893125355243683f,
    0.5016634166240692f,    0.6427869200706482f,   0.8614784181118011f};

// The borders ascend, so the code is the number of borders below x. A NaN
// exceeds none.
static uint8_t code(float x) {
  uint8_t c = 0;
  for (float border : borders)
    c += x > border;
  return c;
}

// Magnitudes order like their bit patterns, and an integer maximum vectorises.
// NaNs are ignored.
static float largestMagnitude(const float *values, size_t n) {
  uint32_t most = 0;
  for (size_t i = 0; i < n; ++i) {
    uint32_t bits;
    std::memcpy(&bits, values + i, 4);
    bits &= 0x7fffffff;
    bits = bits > 0x7f800000 ? 0 : bits;
    most = bits > most ? bits : most;
  }
  float out;
  std::memcpy(&out, &most, 4);
  return out;
}

static void put(uint8_t *codes, size_t i, uint8_t c) {
  if (i % 2 == 0)
    codes[i / 2] = static_cast<uint8_t>(c << 4 | 7); // 7: the level 0
  else
    codes[i / 2] = static_cast<uint8_t>((codes[i / 2] & 0xf0) | c);
}

void nf4::quantize(const float *values, size_t n, size_t block, uint8_t *codes,
                   float *absmax) {
  constexpr size_t some = 64; // at a time, for vectorisation
  uint8_t found[some];
  for (size_t begin = 0; begin < n; begin += block) {
    size_t end = std::min(n, begin + block);
    float m = largestMagnitude(values + begin, end - begin);
    absmax[begin / block] = m;
    float scale = m > 0 ? 1.0f / m : 0.0f;
    for (size_t i = begin; i < end; i += some) {
      size_t count = std::min(some, end - i);
      for (size_t k = 0; k < count; ++k)
        found[k] = code(values[i + k] * scale);
      for (size_t k = 0; k < count; ++k)
        put(codes, i + k, found[k]);
    }
  }
}

void nf4::dequantize(const uint8_t *codes, const float *absmax, size_t n,
                     size_t block, float *values) {
  for (size_t i = 0; i < n; ++i) {
    uint8_t c = i % 2 == 0 ? codes[i / 2] >> 4 : codes[i / 2] & 15;
    values[i] = levels[c] * absmax[i / block];
  }
}

// The dynamic 8-bit type: seven decades, each with twice as many levels as the
// one before, of both signs, and 0 and 1.
std::array<float, 256> nf4::scaleLevels() {
  std::array<float, 256> out{};
  out[254] = 0;
  out[255] = 1;
  size_t next = 0;
  double unit = 1e-6;
  for (int e = 0; e < 7; ++e, unit *= 10)
    for (int parts = 1 << e, i = 0; i < parts; ++i) {
      auto level =
          static_cast<float>(unit * (0.1 + 0.9 * (2 * i + 1) / (2 * parts)));
      out[next++] = level;
      out[next++] = -level;
    }
  std::sort(out.begin(), out.end());
  return out;
}

void nf4::quantizeScales(const float *absmax, size_t n, uint8_t *codes,
                         float *groups, float *mean) {
  static const std::array<float, 256> levels = scaleLevels();
  double sum = 0;
  for (size_t i = 0; i < n; ++i)
    sum += absmax[i];
  *mean = n ? static_cast<float>(sum / static_cast<double>(n)) : 0.0f;
  for (size_t begin = 0; begin < n; begin += scaleBlock) {
    size_t end = std::min(n, begin + size_t{scaleBlock});
    float most = 0;
    for (size_t i = begin; i < end; ++i)
      most = std::fmax(most, std::fabs(absmax[i] - *mean));
    groups[begin / scaleBlock] = most;
    for (size_t i = begin; i < end; ++i) {
      float x = most > 0 ? (absmax[i] - *mean) / most : 0.0f;
      // The nearest level: the first that is not below, or the one before it.
      const float *above =
          std::lower_bound(levels.data(), levels.data() + 255, x);
      bool before = above != levels.data() && x - above[-1] < above[0] - x;
      codes[i] = static_cast<uint8_t>(above - levels.data() - before);
    }
  }
}

void nf4::dequantizeScales(const uint8_t *codes, const float *groups,
                           float mean, size_t n, float *absmax) {
  static const std::array<float, 256> levels = scaleLevels();
  for (size_t i = 0; i < n; ++i)
    absmax[i] = levels[codes[i]] * groups[i / scaleBlock] + mean;
}
