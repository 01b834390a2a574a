// SPDX-License-Identifier: Apache-2.0
// The families of ops, one include each.
#ifndef ACT_OPS_TD
#define ACT_OPS_TD
include "dialects/act/ProgramOps.td"
include "dialects/act/ElementwiseOps.td"
include "dialects/act/ShapeOps.td"
include "dialects/act/MatmulOps.td"
include "dialects/act/NormOps.td"
include "dialects/act/AttentionOps.td"
include "dialects/act/LossOps.td"
include "dialects/act/OptimizerOps.td"
#endif
