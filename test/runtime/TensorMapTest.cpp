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
