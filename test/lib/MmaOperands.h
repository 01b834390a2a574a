// SPDX-License-Identifier: Apache-2.0
//
// Operands of a product whose warps stand below and beside each other, as tests
// name them.
#ifndef ACT_TEST_LIB_MMAOPERANDS_H
#define ACT_TEST_LIB_MMAOPERANDS_H
#include "act/Layout/Mma.h"

namespace act::layout {

inline Result<Distributed> mmaOperandA(const std::vector<int64_t> &shape,
                                       int64_t warpsM, int64_t warpsN,
                                       int64_t elementBits) {
  auto accumulator = mmaAccumulator({shape[0], 8 * warpsN}, warpsM, warpsN);
  if (!accumulator)
    return accumulator.error();
  return mmaOperandA(shape, *accumulator, elementBits);
}

inline Result<Distributed> mmaOperandB(const std::vector<int64_t> &shape,
                                       int64_t warpsM, int64_t warpsN,
                                       int64_t elementBits) {
  auto accumulator = mmaAccumulator({16 * warpsM, shape[1]}, warpsM, warpsN);
  if (!accumulator)
    return accumulator.error();
  return mmaOperandB(shape, *accumulator, elementBits);
}

} // namespace act::layout
#endif
