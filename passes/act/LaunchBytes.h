// SPDX-License-Identifier: Apache-2.0
//
// The least that a launch moves between memory and the processor: each tensor
// that it reads once, each that it writes once. What a kernel moves beyond that
// (blocks of an operand read again by other programs) is its own affair.
#ifndef ACT_PASSES_ACT_LAUNCHBYTES_H
#define ACT_PASSES_ACT_LAUNCHBYTES_H
#include "passes/act/Flatten.h"

namespace act {
/// Operands, results, and the persistent buffers of the group's effects.
int64_t leastBytes(const Program &program, const FlatLaunch &launch);
/// Of operand `input` of the group, which has `whole` bytes, what it reads at
/// least: of a table of embeddings no more than the rows that it gives.
int64_t readBytes(GroupOp group, unsigned input, int64_t whole);
/// How many kernels the group is on the host: the gradient of attention is that
/// of keys and values, that of queries and sinks, and that of the bias.
int64_t kernelCount(const FlatLaunch &launch);
} // namespace act
#endif
