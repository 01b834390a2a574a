// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_LIB_ARTIFACT_VALIDATEPLAN_H
#define ACT_LIB_ARTIFACT_VALIDATEPLAN_H
#include "act/Artifact/Step.h"
#include "act/Result.h"

namespace act::artifact {
/// Fails unless buffers lie in the arena, are aligned and live within the
/// function's launches, and no two that are alive at the same launch share a
/// byte.
Status validatePlan(const Function &function);
} // namespace act::artifact
#endif
