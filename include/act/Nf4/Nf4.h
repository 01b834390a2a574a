// SPDX-License-Identifier: Apache-2.0
//
// NormalFloat4 as bitsandbytes makes it.
//
// The tensor is taken as a flat row-major list and cut into blocks. A block
// keeps its largest magnitude (absmax). Every value, times 1/absmax, becomes
// the code of the nearest of 16 levels. Two codes share a byte, the first in
// the high nibble. The levels are those of Dettmers et al., QLoRA (2023),
// appendix E. The borders between them are the constants that bitsandbytes
// compares with (dQuantizeNF4): x > border[i] means code > i. A block of zeros
// has absmax 0 and code 7, the level 0. Compared with bitsandbytes 0.50.2: the
// same bytes on 4096 random blocks, from f32 and from bf16.
//
// Nested (QLoRA's double quantisation), the absmax values take 8 bits. Their
// mean is subtracted, and the rest is cut into groups of 256 blocks. A group
// keeps its largest magnitude; every value, divided by it, becomes the nearest
// of 256 levels: those of bitsandbytes' signed dynamic map, except for their
// last bit. The elements' codes do not change. A weight of 4096 x 4096 takes
// 4.127 bits per element instead of 4.5. Compared with bitsandbytes 0.50.2 on
// 512 x 512 normals: the same mean and groups, and 4092 of 4096 codes; the
// others lie between two levels.
#ifndef ACT_NF4_NF4_H
#define ACT_NF4_NF4_H
#include <array>
#include <cstddef>
#include <cstdint>

namespace act::nf4 {

/// Blocks per group of nested absmax values.
inline constexpr int64_t scaleBlock = 256;

/// Where the parts of a tensor of `n` elements begin, in bytes: codes at 0,
/// then per block an f32 or, nested, a byte; then, nested, an f32 per group and
/// the mean. Codes and bytes are padded to a multiple of 64.
struct Layout {
  int64_t scales, groups, mean, bytes;
  constexpr Layout(int64_t n, int64_t block, bool nested)
      : scales(padded(n / 2 + n % 2)), groups(0), mean(0), bytes(0) {
    int64_t blocks = n / block + (n % block != 0);
    groups = nested ? scales + padded(blocks) : 0;
    mean = nested
               ? groups + 4 * (blocks / scaleBlock + (blocks % scaleBlock != 0))
               : 0;
    bytes = nested ? mean + 4 : scales + 4 * blocks;
  }

private:
  static constexpr int64_t padded(int64_t n) { return (n + 63) / 64 * 64; }
};

/// The 16 levels, ascending from -1 to 1.
inline constexpr float levels[16] = {-1.0f,
                                     -0.6961928009986877f,
                                     -0.5250730514526367f,
                                     -0.39491748809814453f,
                                     -0.28444138169288635f,
                                     -0.18477343022823334f,
                                     -0.09105003625154495f,
                                     0.0f,
                                     0.07958029955625534f,
                                     0.16093020141124725f,
                                     0.24611230194568634f,
                                     0.33791524171829224f,
                                     0.44070982933044434f,
                                     0.5626170039176941f,
                                     0.7229568362236023f,
                                     1.0f};

/// `codes` takes (n + 1) / 2 bytes, `absmax` one float per block.
void quantize(const float *values, size_t n, size_t block, uint8_t *codes,
              float *absmax);
void dequantize(const uint8_t *codes, const float *absmax, size_t n,
                size_t block, float *values);

/// The 256 levels of nested absmax values, ascending: 0, 1, and, for e = 0 to
/// 6, the midpoints of 2^e equal parts of [0.1, 1] times 10^(e - 6), and their
/// negatives.
std::array<float, 256> scaleLevels();

/// `codes` takes a byte per absmax value, `groups` an f32 per `scaleBlock` of
/// them.
void quantizeScales(const float *absmax, size_t n, uint8_t *codes,
                    float *groups, float *mean);
void dequantizeScales(const uint8_t *codes, const float *groups, float mean,
                      size_t n, float *absmax);

} // namespace act::nf4
#endif
