// SPDX-License-Identifier: Apache-2.0
#include "runtime/step/InitialValues.h"
#include "act/Artifact/Convert.h"
#include "act/Artifact/Types.h"
#include "act/Nf4/Nf4.h"
#include "act/Random/Philox.h"
#include <cmath>
#include <cstring>

using namespace act;
using namespace act::artifact;

// Four standard normals from one counter.
static void normals(uint64_t counter, std::array<uint32_t, 2> key,
                    double out[4]) {
  auto w = philox({static_cast<uint32_t>(counter),
                   static_cast<uint32_t>(counter >> 32), 0, 0},
                  key);
  for (int pair = 0; pair < 2; ++pair) {
    // Half a step above zero, so that the logarithm is finite.
    double u = (w[2 * pair] + 0.5) * 0x1p-32;
    double angle = 2 * 3.14159265358979323846 * (w[2 * pair + 1] * 0x1p-32);
    double radius = std::sqrt(-2 * std::log(u));
    out[2 * pair] = radius * std::cos(angle);
    out[2 * pair + 1] = radius * std::sin(angle);
  }
}

Status runtime::initialise(const Parameter &p, uint64_t seed, void *target) {
  auto n = elementCount(p.type);
  if (!n)
    return n.error();
  bool plain = isFloat(p.type.dtype);
  if (!plain && !isNf4(p.type.dtype)) {
    auto bytes = byteSize(p.type);
    if (!bytes)
      return bytes.error();
    std::memset(target, 0, *bytes);
    return ok();
  }
  // Quantisation needs whole blocks, so nf4 goes through a buffer.
  std::vector<float> values(plain ? 0 : *n);
  auto key = philoxKey(seed, p.name);
  double four[4];
  for (uint64_t i = 0; i < *n; ++i) {
    double v = p.init == Init::Ones ? 1.0 : 0.0;
    if (p.init == Init::Normal) {
      if (i % 4 == 0)
        normals(i / 4, key, four);
      v = p.initStd * four[i % 4];
    }
    if (plain)
      storeFloat(p.type.dtype, target, i, v);
    else
      values[i] = static_cast<float>(v);
  }
  return plain ? ok() : storeValues(p.type, DType::F32, values.data(), target);
}

template <typename Byte> static auto *floatsAt(Byte *bytes, int64_t offset) {
  using Float = std::conditional_t<std::is_const_v<Byte>, const float, float>;
  return reinterpret_cast<Float *>(bytes + offset);
}

Status runtime::storeValues(const TensorType &type, DType from,
                            const void *source, void *target) {
  auto n = elementCount(type);
  if (!n)
    return n.error();
  if (!isNf4(type.dtype)) {
    convertFloats(from, source, type.dtype, target, *n);
    return ok();
  }
  std::vector<float> converted;
  auto *values = static_cast<const float *>(source);
  if (from != DType::F32 || reinterpret_cast<uintptr_t>(source) % 4 != 0) {
    converted.resize(*n);
    convertFloats(from, source, DType::F32, converted.data(), *n);
    values = converted.data();
  }
  auto *codes = static_cast<uint8_t *>(target);
  bool nested = type.dtype == DType::NF4Nested;
  auto block = static_cast<size_t>(type.blockSize);
  nf4::Layout at(static_cast<int64_t>(*n), type.blockSize, nested);
  std::memset(codes, 0, static_cast<size_t>(at.bytes));
  if (!nested) {
    nf4::quantize(values, *n, block, codes, floatsAt(codes, at.scales));
    return ok();
  }
  std::vector<float> absmax((*n + block - 1) / block);
  nf4::quantize(values, *n, block, codes, absmax.data());
  nf4::quantizeScales(absmax.data(), absmax.size(), codes + at.scales,
                      floatsAt(codes, at.groups), floatsAt(codes, at.mean));
  return ok();
}

Status runtime::loadValues(const TensorType &type, const void *source, DType to,
                           void *target) {
  auto n = elementCount(type);
  if (!n)
    return n.error();
  if (!isNf4(type.dtype)) {
    convertFloats(type.dtype, source, to, target, *n);
    return ok();
  }
  std::vector<float> values(*n);
  auto *codes = static_cast<const uint8_t *>(source);
  bool nested = type.dtype == DType::NF4Nested;
  auto block = static_cast<size_t>(type.blockSize);
  nf4::Layout at(static_cast<int64_t>(*n), type.blockSize, nested);
  std::vector<float> absmax;
  if (nested) {
    absmax.resize((*n + block - 1) / block);
    nf4::dequantizeScales(codes + at.scales, floatsAt(codes, at.groups),
                          *floatsAt(codes, at.mean), absmax.size(),
                          absmax.data());
  }
  nf4::dequantize(codes, nested ? absmax.data() : floatsAt(codes, at.scales),
                  *n, block, values.data());
  convertFloats(DType::F32, values.data(), to, target, *n);
  return ok();
}
