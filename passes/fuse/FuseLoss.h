// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_FUSE_FUSELOSS_H
#define ACT_PASSES_FUSE_FUSELOSS_H
#include "dialects/act/Dialect.h"

namespace act {

/// Replaces the loss and the linear layer that makes its logits with
/// `act.linear_cross_entropy` in chunks of at most `chunk` tokens, if nothing
/// else reads the logits. Returns whether it did.
bool fuseLoss(CrossEntropyOp loss, int64_t chunk);

} // namespace act
#endif
