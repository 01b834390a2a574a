// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a tensor map, field by field, against the layout written down in
// runtime/TensorMap.h.
#include "runtime/TensorMap.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace act::runtime;

static uint32_t word(const TensorMap &m, unsigned offset) {
  uint32_t w;
  std::memcpy(&w, m.bytes + offset, 4);
  return w;
}

TEST(TensorMap, EveryFieldHasItsPlace) {
  TiledTensor t;
  t.type = TensorMapType::BF16;
  t.rank = 5;
  t.address = 0x7000123456789ab0;
  uint64_t sizes[5] = {64, 1, uint64_t{1} << 32, 1000, 7};
  uint64_t strides[4] = {128, 256, 0xabcdef0120, 0x10};
  uint32_t box[5] = {32, 256, 3, 1, 5}, steps[5] = {1, 8, 2, 3, 4};
  std::copy(sizes, sizes + 5, t.sizes);
  std::copy(strides, strides + 4, t.strides);
  std::copy(box, box + 5, t.box);
  std::copy(steps, steps + 5, t.elementStrides);
  t.swizzle = 2;
  t.fill = 1;
  auto m = encodeTensorMap(t);
  ASSERT_TRUE(m) << m.error().str();
  EXPECT_EQ(word(*m, 0), 0x56789ab0u);
  EXPECT_EQ(word(*m, 4), 0x70001234u);
  EXPECT_EQ(word(*m, 8), 4u << 4 | 10u << 7 | 2u << 13 | 1u << 15);
  EXPECT_EQ(word(*m, 0x0c), 8u);
  EXPECT_EQ(word(*m, 0x10), 16u);
  EXPECT_EQ(word(*m, 0x14), 0xbcdef012u);
  EXPECT_EQ(word(*m, 0x18), 1u);
  EXPECT_EQ(word(*m, 0x1c), 0xau << 8);
  EXPECT_EQ(word(*m, 0x20), 63u);
  EXPECT_EQ(word(*m, 0x24), 0u);
  EXPECT_EQ(word(*m, 0x28), 0xffffffffu);
  EXPECT_EQ(word(*m, 0x2c), 999u);
  EXPECT_EQ(word(*m, 0x30), 6u);
  EXPECT_EQ(word(*m, 0x34),
            31u << 24 | 0u | 7u << 3 | 1u << 6 | 2u << 9 | 3u << 12);
  EXPECT_EQ(word(*m, 0x38), 255u | 2u << 8 | 0u << 16 | 4u << 24);
}

// Driver numbers to the codes of tensormap.replace .elemtype.
TEST(TensorMap, TypesAreTranslated) {
  const uint32_t codes[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 11, 12};
  const unsigned bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  for (uint32_t i = 0; i < 13; ++i) {
    TiledTensor t;
    t.type = static_cast<TensorMapType>(i);
    t.rank = 1;
    t.sizes[0] = t.box[0] = 16;
    auto m = encodeTensorMap(t);
    ASSERT_TRUE(m) << m.error().str();
    EXPECT_EQ(word(*m, 8) >> 7 & 15, codes[i]) << i;
    EXPECT_EQ(bytesOf(t.type), bytes[i]);
  }
  EXPECT_EQ(bytesOf(static_cast<TensorMapType>(13)), 0u);
}

// What was encoded is read back, for every field at its ends.
TEST(TensorMap, DecodesWhatItEncodes) {
  TiledTensor t;
  t.type = TensorMapType::TF32Ftz;
  t.rank = 4;
  t.address = 0xfffffffffffffff0;
  t.sizes[0] = uint64_t{1} << 32;
  t.sizes[3] = 3;
  t.strides[0] = (uint64_t{1} << 40) - 16;
  t.strides[1] = uint64_t{1} << 36;
  t.strides[2] = 16;
  t.box[0] = 8;
  t.box[1] = 256;
  t.box[3] = 7;
  t.elementStrides[0] = 8;
  t.elementStrides[3] = 5;
  t.interleave = 1;
  t.swizzle = 3;
  t.fill = 1;
  auto m = encodeTensorMap(t);
  ASSERT_TRUE(m) << m.error().str();
  auto d = decodeTensorMap(*m);
  ASSERT_TRUE(d) << d.error().str();
  EXPECT_EQ(d->type, t.type);
  EXPECT_EQ(d->rank, t.rank);
  EXPECT_EQ(d->address, t.address);
  for (unsigned i = 0; i < 5; ++i) {
    EXPECT_EQ(d->sizes[i], t.sizes[i]) << i;
    EXPECT_EQ(d->box[i], t.box[i]) << i;
    EXPECT_EQ(d->elementStrides[i], t.elementStrides[i]) << i;
    if (i < 4)
      EXPECT_EQ(d->strides[i], t.strides[i]) << i;
  }
  EXPECT_EQ(d->interleave, t.interleave);
  EXPECT_EQ(d->swizzle, t.swizzle);
  EXPECT_EQ(d->fill, t.fill);
}

TEST(TensorMap, ReplacesOneFieldAndNoOther) {
  struct {
    TensorMapField field;
    unsigned dimension;
    uint64_t value;
    unsigned offset;
    uint32_t mask; // of the word at `offset`, all ones after
  } cases[] = {
      {TensorMapField::Rank, 0, 7, 0x08, 7u << 4},
      {TensorMapField::ElemType, 0, 15, 0x08, 15u << 7},
      {TensorMapField::InterleaveLayout, 0, 3, 0x08, 3u << 11},
      {TensorMapField::SwizzleMode, 0, 3, 0x08, 3u << 13},
      {TensorMapField::FillMode, 0, 1, 0x08, 1u << 15},
      {TensorMapField::GlobalDim, 0, 0, 0x20, ~0u},
      {TensorMapField::GlobalDim, 4, 0, 0x30, ~0u},
      {TensorMapField::ElementStride, 0, 8, 0x34, 7u},
      {TensorMapField::ElementStride, 4, 8, 0x34, 7u << 12},
      {TensorMapField::BoxDim, 0, 256, 0x34, 255u << 24},
      {TensorMapField::BoxDim, 1, 256, 0x38, 255u},
      {TensorMapField::BoxDim, 4, 256, 0x38, 255u << 24},
      {TensorMapField::GlobalStride, 0, uint64_t{0xffffffff} << 4, 0x0c, ~0u},
      {TensorMapField::GlobalStride, 3, uint64_t{15} << 36, 0x1c, 15u << 12},
  };
  for (auto &c : cases) {
    TensorMap m{};
    replaceField(m, c.field, c.dimension, c.value);
    for (unsigned at = 0; at < 128; at += 4)
      EXPECT_EQ(word(m, at), at == c.offset ? c.mask : 0u)
          << "field " << unsigned(c.field) << ", byte " << at;
  }
}

TEST(TensorMap, RefusesBytesThatAreNoMap) {
  TensorMap m{};
  auto blank = decodeTensorMap(m);
  ASSERT_FALSE(blank);
  EXPECT_NE(blank.error().message.find("a row of the box has 1 bytes"),
            std::string::npos)
      << blank.error().message;
  std::memset(m.bytes, 0xff, sizeof m.bytes);
  auto ones = decodeTensorMap(m);
  ASSERT_FALSE(ones);
  EXPECT_NE(ones.error().message.find("element type code 15"),
            std::string::npos);
}
