// SPDX-License-Identifier: Apache-2.0
//
// Problems and plans as text, in the format that minimalloc publishes:
//
//   id,lower,upper,size            id,lower,upper,size,offset
//   a,0,2,256                      a,0,2,256,0
//   b,1,3,256                      b,1,3,256,256
//
// The lifetime is half-open: [lower, upper). Columns may come in any order, and
// there are optional ones:
//
//   alignment  the offset is a multiple of it
//   hint       the preferred offset; -1 or empty: any
//   gaps       when others may use its place: `7-8 9-10@1:17` is from 7 to 8,
//              and from 9 to 10 except its bytes 1 to 16
//   offset     fixed offset; empty: free. A plan has one for every buffer.
//
// The reader also accepts the column names of other tools: `buffer` or
// `buffer_id` for id, `begin` or `start` for lower, and `end` for upper. `end`
// is inclusive: end 8 is upper 9, and a gap 7-8 then lasts to 9.
//
// A field with a comma or a quote is written in double quotes, its quotes
// doubled.
#ifndef ACT_PLAN_CSV_H
#define ACT_PLAN_CSV_H
#include "act/Plan/Problem.h"
#include <string_view>

namespace act::plan {

/// Errors carry `name:line`.
Result<Problem> readCsv(std::string_view text, const std::string &name = "csv");
/// Includes the plan's offsets if `plan` is given. The columns `alignment`,
/// `hint`, `gaps` and `offset` appear only if a buffer needs them.
std::string writeCsv(const Problem &problem, const Plan *plan = nullptr);

} // namespace act::plan
#endif
