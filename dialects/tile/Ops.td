// SPDX-License-Identifier: Apache-2.0
// The op families, one include each.
#ifndef TILE_OPS_TD
#define TILE_OPS_TD
include "dialects/tile/ProgramOps.td"
include "dialects/tile/MemoryOps.td"
include "dialects/tile/ShapeOps.td"
include "dialects/tile/DotOps.td"
include "dialects/tile/ReduceOps.td"
include "dialects/tile/SharedOps.td"
include "dialects/tile/TurnOps.td"
include "dialects/tile/RoleOps.td"
#endif
