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

TiledTensor runtime::tiledTensor(const artifact::TensorMap &map,
                                 uint64_t address) {
  TiledTensor t;
  t.type = static_cast<TensorMapType>(map.type);
  t.rank = static_cast<uint32_t>(map.sizes.size());
  t.address = address;
  for (size_t i = 0; i < map.sizes.size() && i < 5; ++i) {
    t.sizes[i] = static_cast<uint64_t>(map.sizes[i]);
    t.box[i] = static_cast<uint32_t>(map.box[i]);
    if (i > 0)
      t.strides[i - 1] = static_cast<uint64_t>(map.strides[i]);
  }
  t.swizzle = map.swizzle == 128  ? 3
              : map.swizzle == 64 ? 2
              : map.swizzle == 32 ? 1
                                  : 0;
  t.l2Promotion = 3; // 256 bytes
  return t;
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

// Bits [low, low + count) of the 32-bit word at `offset`: one field of the
// descriptor.
static uint32_t bitsAt(const TensorMap &map, unsigned offset, unsigned low,
                       unsigned count) {
  uint32_t word;
  std::memcpy(&word, map.bytes + offset, 4);
  return count == 32 ? word : word >> low & ((1u << count) - 1);
}
static void setBits(TensorMap &map, unsigned offset, unsigned low,
                    unsigned count, uint32_t value) {
  uint32_t word, mask = count == 32 ? ~0u : ((1u << count) - 1) << low;
  std::memcpy(&word, map.bytes + offset, 4);
  word = (word & ~mask) | (value << low & mask);
  std::memcpy(map.bytes + offset, &word, 4);
}

void runtime::replaceField(TensorMap &map, TensorMapField field, unsigned d,
                           uint64_t value) {
  auto v = static_cast<uint32_t>(value);
  switch (field) {
  case TensorMapField::GlobalAddress:
    std::memcpy(map.bytes, &value, 8);
    return;
  case TensorMapField::Rank:
    return setBits(map, 0x08, 4, 3, v);
  case TensorMapField::BoxDim:
    return d == 0 ? setBits(map, 0x34, 24, 8, v - 1)
                  : setBits(map, 0x38, 8 * (d - 1), 8, v - 1);
  case TensorMapField::GlobalDim:
    return setBits(map, 0x20 + 4 * d, 0, 32, v - 1);
  case TensorMapField::GlobalStride:
    setBits(map, 0x0c + 4 * d, 0, 32, static_cast<uint32_t>(value >> 4));
    return setBits(map, 0x1c, 4 * d, 4, static_cast<uint32_t>(value >> 36));
  case TensorMapField::ElementStride:
    return setBits(map, 0x34, 3 * d, 3, v - 1);
  case TensorMapField::ElemType:
    return setBits(map, 0x08, 7, 4, v);
  case TensorMapField::InterleaveLayout:
    return setBits(map, 0x08, 11, 2, v);
  case TensorMapField::SwizzleMode:
    return setBits(map, 0x08, 13, 2, v);
  case TensorMapField::FillMode:
    return setBits(map, 0x08, 15, 1, v);
  }
}

Result<TensorMap> runtime::encodeTensorMap(const TiledTensor &t) {
  if (auto s = checkTiledTensor(t); !s)
    return s.error();
  TensorMap map{};
  auto put = [&](TensorMapField field, unsigned d, uint64_t value) {
    replaceField(map, field, d, value);
  };
  put(TensorMapField::GlobalAddress, 0, t.address);
  put(TensorMapField::Rank, 0, t.rank - 1);
  put(TensorMapField::ElemType, 0, types[static_cast<uint32_t>(t.type)].code);
  put(TensorMapField::InterleaveLayout, 0, t.interleave);
  put(TensorMapField::SwizzleMode, 0, t.swizzle);
  put(TensorMapField::FillMode, 0, t.fill);
  for (unsigned d = 0; d < t.rank; ++d) {
    put(TensorMapField::GlobalDim, d, t.sizes[d]);
    put(TensorMapField::BoxDim, d, t.box[d]);
    put(TensorMapField::ElementStride, d, t.elementStrides[d]);
    if (d > 0)
      put(TensorMapField::GlobalStride, d - 1, t.strides[d - 1]);
  }
  return map;
}

Result<TiledTensor> runtime::decodeTensorMap(const TensorMap &map) {
  TiledTensor t;
  std::memcpy(&t.address, map.bytes, 8);
  t.rank = bitsAt(map, 0x08, 4, 3) + 1;
  uint32_t code = bitsAt(map, 0x08, 7, 4), type = 0;
  while (type < typeCount && types[type].code != code)
    ++type;
  if (type == typeCount)
    return refuse("element type code " + std::to_string(code) +
                  " is unknown, expected 0 to 12");
  t.type = static_cast<TensorMapType>(type);
  t.interleave = bitsAt(map, 0x08, 11, 2);
  t.swizzle = bitsAt(map, 0x08, 13, 2);
  t.fill = bitsAt(map, 0x08, 15, 1);
  for (unsigned d = 0; d < 5 && d < t.rank; ++d) {
    t.sizes[d] = uint64_t{bitsAt(map, 0x20 + 4 * d, 0, 32)} + 1;
    t.box[d] = (d == 0 ? bitsAt(map, 0x34, 24, 8)
                       : bitsAt(map, 0x38, 8 * (d - 1), 8)) +
               1;
    t.elementStrides[d] = bitsAt(map, 0x34, 3 * d, 3) + 1;
    if (d > 0)
      t.strides[d - 1] = uint64_t{bitsAt(map, 0x08 + 4 * d, 0, 32)} << 4 |
                         uint64_t{bitsAt(map, 0x1c, 4 * (d - 1), 4)} << 36;
  }
  if (auto s = checkTiledTensor(t); !s)
    return s.error();
  return t;
}
