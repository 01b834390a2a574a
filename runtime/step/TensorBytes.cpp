// SPDX-License-Identifier: Apache-2.0
//
// Conversions between tensors and ranges of elements, on several threads. Nf4
// is the only type that is not made element by element.
#include "runtime/step/TensorBytes.h"
#include "act/Artifact/Convert.h"
#include "act/Artifact/Types.h"
#include "act/Nf4/Nf4.h"
#include "act/Parallel/Parallel.h"
#include <cstring>

using namespace act;
using namespace act::runtime;
using namespace act::artifact;

// Elements per piece of a thread's work: half a megabyte or more.
constexpr uint64_t piece = 1 << 18;

Elements runtime::elementsAt(DType from, const void *source) {
  return [from, bytes = static_cast<const uint8_t *>(source)](
             uint64_t first, uint64_t count, DType to, void *target) {
    convertFloats(from, bytes + first * elementBytes(from), to, target, count);
  };
}

Elements runtime::rounded(Elements elements, DType type) {
  return [elements = std::move(elements), type](uint64_t first, uint64_t count,
                                                DType to, void *target) {
    if (to == type)
      return elements(first, count, to, target);
    std::vector<uint8_t> stored(count * elementBytes(type));
    elements(first, count, type, stored.data());
    convertFloats(type, stored.data(), to, target, count);
  };
}

template <typename Byte> static auto *floatsAt(Byte *bytes, int64_t offset) {
  using Float = std::conditional_t<std::is_const_v<Byte>, const float, float>;
  return reinterpret_cast<Float *>(bytes + offset);
}

// Elements per piece: whole blocks and whole bytes of codes.
static uint64_t nf4Piece(const TensorType &type) {
  uint64_t unit = rangeAlignment * static_cast<uint64_t>(type.blockSize);
  return (piece / 4 + unit - 1) / unit * unit;
}

/// Quantises in pieces of whole blocks, each on its own. Nested scales are
/// quantised by groups and about their mean, so the magnitudes of all blocks
/// have to be known first.
static void quantise(const TensorType &type, uint64_t n,
                     const Elements &elements, uint8_t *codes,
                     unsigned threads) {
  bool nested = type.dtype == DType::NF4Nested;
  auto block = static_cast<size_t>(type.blockSize);
  nf4::Layout at(static_cast<int64_t>(n), type.blockSize, nested);
  // Zero the padding; all bytes after it are written below.
  int64_t used = static_cast<int64_t>(n / 2 + n % 2);
  std::memset(codes + used, 0, static_cast<size_t>(at.scales - used));
  std::vector<float> magnitudes(nested ? (n + block - 1) / block : 0);
  float *absmax = nested ? magnitudes.data() : floatsAt(codes, at.scales);
  parallelPieces(threads, n, nf4Piece(type),
                 [&](uint64_t first, uint64_t count) {
                   std::vector<float> values(count);
                   elements(first, count, DType::F32, values.data());
                   nf4::quantize(values.data(), count, block, codes + first / 2,
                                 absmax + first / block);
                 });
  if (!nested)
    return;
  std::memset(codes + at.scales, 0, static_cast<size_t>(at.groups - at.scales));
  nf4::quantizeScales(absmax, magnitudes.size(), codes + at.scales,
                      floatsAt(codes, at.groups), floatsAt(codes, at.mean));
}

Status runtime::writeTensor(const TensorType &type, const Elements &elements,
                            void *target, unsigned threads) {
  auto n = elementCount(type);
  if (!n)
    return n.error();
  auto *bytes = static_cast<uint8_t *>(target);
  if (isNf4(type.dtype)) {
    quantise(type, *n, elements, bytes, threads);
    return ok();
  }
  uint64_t width = elementBytes(type.dtype);
  parallelPieces(threads, *n, piece, [&](uint64_t first, uint64_t count) {
    elements(first, count, type.dtype, bytes + first * width);
  });
  return ok();
}

Status runtime::readTensor(const TensorType &type, const void *source, DType to,
                           void *target, unsigned threads) {
  auto n = elementCount(type);
  if (!n)
    return n.error();
  auto *out = static_cast<uint8_t *>(target);
  if (!isNf4(type.dtype)) {
    Elements elements = elementsAt(type.dtype, source);
    parallelPieces(threads, *n, piece, [&](uint64_t first, uint64_t count) {
      elements(first, count, to, out + first * elementBytes(to));
    });
    return ok();
  }
  auto *codes = static_cast<const uint8_t *>(source);
  bool nested = type.dtype == DType::NF4Nested;
  auto block = static_cast<size_t>(type.blockSize);
  nf4::Layout at(static_cast<int64_t>(*n), type.blockSize, nested);
  std::vector<float> magnitudes;
  const float *absmax = nested ? nullptr : floatsAt(codes, at.scales);
  if (nested) {
    magnitudes.resize((*n + block - 1) / block);
    nf4::dequantizeScales(codes + at.scales, floatsAt(codes, at.groups),
                          *floatsAt(codes, at.mean), magnitudes.size(),
                          magnitudes.data());
    absmax = magnitudes.data();
  }
  parallelPieces(threads, *n, nf4Piece(type),
                 [&](uint64_t first, uint64_t count) {
                   std::vector<float> values(count);
                   nf4::dequantize(codes + first / 2, absmax + first / block,
                                   count, block, values.data());
                   convertFloats(DType::F32, values.data(), to,
                                 out + first * elementBytes(to), count);
                 });
  return ok();
}
