// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_KERNELS_INPLACE_H
#define ACT_PASSES_KERNELS_INPLACE_H
#include "dialects/act/Dialect.h"

namespace act {

/// Whether the result of `def`, which the group yields, may be written to the
/// memory of operand `input`: the group reads that operand only at the element
/// being written, and for this result only.
bool mayOverwrite(GroupOp group, unsigned input, mlir::Operation *def);

} // namespace act
#endif
