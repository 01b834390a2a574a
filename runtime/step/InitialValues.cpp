// SPDX-License-Identifier: Apache-2.0
//
// Initial values as functions of ranges of elements, one for each way to
// initialise.
#include "runtime/step/InitialValues.h"
#include "act/Artifact/Convert.h"
#include "act/Artifact/Types.h"
#include "act/Random/Philox.h"
#include "runtime/step/Normals.h"
#include <algorithm>
#include <cstring>

using namespace act;
using namespace act::runtime;
using namespace act::artifact;

// Types without a direct generator are converted from f32 in batches of this
// size, which stay in the cache.
constexpr uint64_t batch = 2048;

static void convertNormals(std::array<uint32_t, 2> key, float scale,
                           uint64_t first, uint64_t count, DType to,
                           uint8_t *target) {
  alignas(64) float values[batch];
  for (uint64_t done = 0; done < count; done += batch) {
    uint64_t n = std::min(batch, count - done);
    fillNormals().f32(key, (first + done) / 4, (n + 3) / 4, scale, values);
    convertFloats(DType::F32, values, to, target + done * elementBytes(to), n);
  }
}

/// `first` is a multiple of rangeAlignment, so it is the first element of a
/// counter. The fillers write whole counters; a partial last one goes through a
/// batch.
static void normals(std::array<uint32_t, 2> key, float scale, uint64_t first,
                    uint64_t count, DType to, void *target) {
  auto *bytes = static_cast<uint8_t *>(target);
  uint64_t whole = count / 4; // a counter yields four elements
  bool aligned = reinterpret_cast<uintptr_t>(target) % elementBytes(to) == 0;
  if (aligned && to == DType::F32)
    fillNormals().f32(key, first / 4, whole, scale,
                      static_cast<float *>(target));
  else if (aligned && to == DType::BF16)
    fillNormals().bf16(key, first / 4, whole, scale,
                       static_cast<uint16_t *>(target));
  else
    whole = 0;
  uint64_t done = 4 * whole;
  convertNormals(key, scale, first + done, count - done, to,
                 bytes + done * elementBytes(to));
}

Elements runtime::initialElements(const Parameter &p, uint64_t seed) {
  // Integers are zero: they have no normal distribution.
  if (p.init == Init::Zeros || (!isFloat(p.type.dtype) && !isNf4(p.type.dtype)))
    return [](uint64_t, uint64_t count, DType to, void *target) {
      std::memset(target, 0, count * elementBytes(to));
    };
  if (p.init == Init::Ones)
    return [](uint64_t, uint64_t count, DType to, void *target) {
      for (uint64_t i = 0; i < count; ++i)
        storeFloat(to, target, i, 1);
    };
  return [key = philoxKey(seed, p.name), scale = static_cast<float>(p.initStd)](
             uint64_t first, uint64_t count, DType to, void *target) {
    normals(key, scale, first, count, to, target);
  };
}
