// SPDX-License-Identifier: Apache-2.0
#include "runtime/TensorMap.h"
#include <cstring>
#include <string>

using namespace act;
using namespace act::runtime;

namespace {
struct TypeFacts {
  uint8_t bytes, code;
  bool isFloat;
};
} // namespace

// The codes are those of tensormap.replace .elemtype (PTX ISA, 9.7.9.28).
static const TypeFacts types[] = {
    {1, 0, false}, {2, 1, false}, {4, 2, false}, {4, 3, false}, {8, 4, false},
    {8, 5, false}, {2, 6, true},  {4, 7, true},  {8, 9, true},  {2, 10, true},
    {4, 8, true},  {4, 11, true}, {4, 12, true},
};
static constexpr uint32_t typeCount = sizeof types / sizeof *types;

unsigned runtime::bytesOf(TensorMapType type) {
  auto i = static_cast<uint32_t>(type);
  return i < typeCount ? types[i].bytes : 0;
}

static Error refuse(const std::string &what) {
  return Error{"tensor map: " + what, ""};
}
static std::string at(const char *what, unsigned dimension, uint64_t value) {
  return std::string(what) + " of dimension " + std::to_string(dimension) +
         " is " + std::to_string(value);
}

static Status checkDimension(const TiledTensor &t, unsigned d) {
  if (t.sizes[d] == 0 || t.sizes[d] > uint64_t{1} << 32)
    return refuse(at("size", d, t.sizes[d]) + ", expected 1 to 2^32");
  if (t.box[d] == 0 || t.box[d] > 256)
    return refuse(at("box", d, t.box[d]) + ", expected 1 to 256");
  if (t.elementStrides[d] == 0 || t.elementStrides[d] > 8)
    return refuse(at("element stride", d, t.elementStrides[d]) +
                  ", expected 1 to 8");
  if (d == 0)
    return ok();
  uint64_t multiple = t.interleave == 2 ? 32 : 16, stride = t.strides[d - 1];
  if (stride % multiple != 0 || stride >= uint64_t{1} << 40)
    return refuse(at("stride", d, stride) + " bytes, expected a multiple of " +
                  std::to_string(multiple) + " below 2^40");
  return ok();
}

Status runtime::checkTiledTensor(const TiledTensor &t) {
  unsigned bytes = bytesOf(t.type);
  if (bytes == 0)
    return refuse(
        "element type " + std::to_string(static_cast<uint32_t>(t.type)) +
        " is unknown, expected 0 to " + std::to_string(typeCount - 1));
  if (t.rank < 1 || t.rank > 5)
    return refuse("rank is " + std::to_string(t.rank) + ", expected 1 to 5");
  if (t.interleave > 2)
    return refuse("interleave is " + std::to_string(t.interleave) +
                  ", expected 0 to 2");
  if (t.interleave != 0 && t.rank < 3)
    return refuse("an interleaved layout has rank " + std::to_string(t.rank) +
                  ", expected 3 to 5");
  if (t.swizzle > 3)
    return refuse("swizzle is " + std::to_string(t.swizzle) +
                  ", expected 0 to 3");
  if (t.interleave == 2 && t.swizzle != 1)
    return refuse("interleave by 32 bytes goes with a swizzle of 32 bytes");
  if (t.l2Promotion > 3)
    return refuse("l2 promotion is " + std::to_string(t.l2Promotion) +
                  ", expected 0 to 3");
  if (t.fill > 1)
    return refuse("out-of-bounds fill is " + std::to_string(t.fill) +
                  ", expected 0 or 1");
  if (t.fill == 1 && !types[static_cast<uint32_t>(t.type)].isFloat)
    return refuse("out-of-bounds fill is NaN, but the elements are integers");
  unsigned alignment = t.interleave == 2 ? 32 : 16;
  if (t.address % alignment != 0)
    return refuse("the address is not aligned to " + std::to_string(alignment) +
                  " bytes");
  for (unsigned d = 0; d < t.rank; ++d)
    if (auto s = checkDimension(t, d); !s)
      return s;
  uint64_t row = uint64_t{t.box[0]} * bytes;
  if (t.interleave == 0 && row % 16 != 0)
    return refuse("a row of the box has " + std::to_string(row) +
                  " bytes, expected a multiple of 16");
  if (t.interleave == 0 && t.swizzle != 0 && row > 16u << t.swizzle)
    return refuse("a row of the box has " + std::to_string(row) +
                  " bytes, a swizzle of " + std::to_string(16u << t.swizzle) +
                  " allows no more than those");
  return ok();
}

Result<TensorMap> runtime::encodeTensorMap(const TiledTensor &t) {
  if (auto s = checkTiledTensor(t); !s)
    return s.error();
  TensorMap map{};
  auto put32 = [&](unsigned offset, uint64_t value) {
    auto v = static_cast<uint32_t>(value);
    std::memcpy(map.bytes + offset, &v, 4);
  };
  std::memcpy(map.bytes, &t.address, 8);
  put32(0x08, (t.rank - 1) << 4 |
                  uint32_t{types[static_cast<uint32_t>(t.type)].code} << 7 |
                  t.interleave << 11 | t.swizzle << 13 | t.fill << 15);
  uint32_t highNibbles = 0, elementStrides = 0, boxes = 0;
  for (unsigned d = 0; d < t.rank; ++d) {
    put32(0x20 + 4 * d, t.sizes[d] - 1);
    elementStrides |= (t.elementStrides[d] - 1) << (3 * d);
    if (d == 0)
      continue;
    put32(0x08 + 4 * d, t.strides[d - 1] >> 4);
    highNibbles |= uint32_t(t.strides[d - 1] >> 36 & 15) << (4 * (d - 1));
    boxes |= (t.box[d] - 1) << (8 * (d - 1));
  }
  put32(0x1c, highNibbles);
  put32(0x34, elementStrides | (t.box[0] - 1) << 24);
  put32(0x38, boxes);
  return map;
}
