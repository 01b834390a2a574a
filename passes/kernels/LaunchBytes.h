// SPDX-License-Identifier: Apache-2.0
//
// The minimum traffic of a launch between memory and the processor: each tensor
// that it reads counts once, each that it writes counts once. Operand tiles
// that several programs read again are not counted.
#ifndef ACT_PASSES_KERNELS_LAUNCHBYTES_H
#define ACT_PASSES_KERNELS_LAUNCHBYTES_H
#include "passes/kernels/Flatten.h"

namespace act {
/// Bytes of operands, results, and the persistent buffers of the group's
/// effects.
int64_t leastBytes(const Program &program, const FlatLaunch &launch);
/// The minimum bytes that the group reads of operand `input`, which has `whole`
/// bytes. Of an embedding table it reads at most the rows that it looks up.
int64_t readBytes(GroupOp group, unsigned input, int64_t whole);
/// The number of kernels that the host runs for the group.
int64_t kernelCount(const FlatLaunch &launch);
} // namespace act
#endif
