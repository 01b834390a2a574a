// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_LIB_PLAN_OUTCOME_H
#define ACT_LIB_PLAN_OUTCOME_H

namespace act::plan {

/// Result of a search: a plan, a proof that there is none, or neither within
/// the effort allowed.
enum class Outcome { Found, Impossible, GaveUp };

} // namespace act::plan
#endif
