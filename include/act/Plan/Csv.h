// SPDX-License-Identifier: Apache-2.0
//
// Problems and plans as text, in the format that minimalloc publishes:
//
//   id,lower,upper,size            id,lower,upper,size,offset
//   a,0,2,256                      a,0,2,256,0
//   b,1,3,256                      b,1,3,256,256
//
// lower and upper are the half-open lifetime. Columns may come in any order,
// and there may be more of them:
//
//   alignment  what the offset is a multiple of
//   hint       the offset that the buffer would like; -1 or empty: any
//   gaps       when others may use its place: `7-8 9-10@1:17` is from 7 to 8,
//              and from 9 to 10 but for its bytes 1 to 16
//   offset     where the buffer is; empty: anywhere. A plan says it of all.
//
// Columns that other tools write are read under their names: `buffer` or
// `buffer_id` for id, `begin` or `start` for lower, and `end` for upper, of
// which the last moment is inside: end 8 is upper 9, and a gap 7-8 lasts to 9.
//
// A field with a comma or a quote in it is written in double quotes, with
// quotes doubled.
#ifndef ACT_PLAN_CSV_H
#define ACT_PLAN_CSV_H
#include "act/Plan/Problem.h"
#include <string_view>

namespace act::plan {

/// Errors carry `name:line`.
Result<Problem> readCsv(std::string_view text, const std::string &name = "csv");
/// With the plan's offsets when `plan` is given; the columns `alignment`,
/// `hint`, `gaps` and `offset` appear when a buffer needs them.
std::string writeCsv(const Problem &problem, const Plan *plan = nullptr);

} // namespace act::plan
#endif
