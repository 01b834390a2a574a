// SPDX-License-Identifier: Apache-2.0
//
// Standard normals from Philox by Box-Muller, many at a time.
//
// Counter c gives the four elements 4c .. 4c+3: words 0 and 1 are a pair, words
// 2 and 3 another. The first word of a pair gives the radius, sqrt(-2 ln u)
// with u = (w + 1/2) / 2^32; the second is the angle in turns of 2^-32. All is
// computed in f32, by polynomials and operations that IEEE 754 defines to the
// bit (conversion, +, -, *, square root; no fused multiply-add), so every
// machine, vector width and compiler gives the same bits. The error is about
// 1e-7, and 4e-8 / r for small radii r. No result is larger than 6.77.
#ifndef ACT_RUNTIME_STEP_NORMALS_H
#define ACT_RUNTIME_STEP_NORMALS_H
#include <array>
#include <cstdint>
#include <vector>

namespace act::runtime {

/// The normals of counters `counter` to `counter + counters - 1`, times
/// `scale`, as 4 * counters numbers; bf16 is f32 rounded to nearest even.
struct FillNormals {
  void (*f32)(std::array<uint32_t, 2> key, uint64_t counter, uint64_t counters,
              float scale, float *out);
  void (*bf16)(std::array<uint32_t, 2> key, uint64_t counter, uint64_t counters,
               float scale, uint16_t *out);
};
/// With the widest vectors of this machine.
const FillNormals &fillNormals();
/// One per vector width of this machine, narrowest first. All give the same
/// bits.
std::vector<FillNormals> normalsByWidth();

} // namespace act::runtime
#endif
