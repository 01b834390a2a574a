// SPDX-License-Identifier: Apache-2.0
#include "act/Nf4/Nf4.h"
#include <cmath>

using namespace act;

static const float borders[15] = {
    -0.8480964004993439f,   -0.6106329262256622f,  -0.4599952697753906f,
    -0.33967943489551544f,  -0.23460740596055984f, -0.13791173323988914f,
    -0.045525018125772476f, 0.03979014977812767f,  0.1202552504837513f,
    0.2035212516784668f,    0.2920137718319893f,   0.3893125355243683f,
    0.5016634166240692f,    0.6427869200706482f,   0.8614784181118011f};

// The borders ascend, so the code is how many of them lie below. A NaN exceeds
// none.
static uint8_t code(float x) {
  uint8_t c = 0;
  for (float border : borders)
    c += x > border;
  return c;
}

void nf4::quantize(const float *values, size_t n, size_t block, uint8_t *codes,
                   float *absmax) {
  float scale = 0;
  for (size_t i = 0; i < n; ++i) {
    if (i % block == 0) {
      float m = 0;
      for (size_t j = i; j < n && j < i + block; ++j)
        m = std::fmax(m, std::fabs(values[j]));
      absmax[i / block] = m;
      scale = m > 0 ? 1.0f / m : 0.0f;
    }
    uint8_t c = code(values[i] * scale);
    if (i % 2 == 0)
      codes[i / 2] = static_cast<uint8_t>(c << 4 | 7); // 7: the level 0
    else
      codes[i / 2] = static_cast<uint8_t>((codes[i / 2] & 0xf0) | c);
  }
}

void nf4::dequantize(const uint8_t *codes, const float *absmax, size_t n,
                     size_t block, float *values) {
  for (size_t i = 0; i < n; ++i) {
    uint8_t c = i % 2 == 0 ? codes[i / 2] >> 4 : codes[i / 2] & 15;
    values[i] = levels[c] * absmax[i / block];
  }
}
