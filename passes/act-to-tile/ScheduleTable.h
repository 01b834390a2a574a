// SPDX-License-Identifier: Apache-2.0
//
// Schedules that a search found (bench/search.py), for one target:
//
//     {"target": "sm_90a",
//      "found_by": "...",
//      "products": [
//       {"rows": 4096, "columns": 2048, "sum": 8192, "beside": 1,
//        "block": [128, 256], "groups": 2, "together": 16},
//       ...],
//      "attention": [
//       {"kind": "forward", "width": 128, "values": 128, "causal": true,
//        "queries": 4096, "keys": 4096, "heads": 64,
//        "groups": 2, "stages": 2, "rotated": true, "turns": true},
//       {"kind": "backward", "width": 128, "values": 128, "causal": true,
//        "queries": 4096, "keys": 4096, "heads": 64,
//        "stages": 2, "stores": true},
//       ...]}
//
// Of products, `rows` x `columns` is the result, counted over all its other
// dimensions, and `beside` what a thread reads next to the sum
// (registersBeside). An entry may also have a `cluster`, of 2, 4 or 8 programs
// that share copies.
//
// Of attention, `width` is a query's, `values` a value's, and `heads` counts
// the heads of all sequences (backward those of keys). A forward entry has
// `groups` of warps, with 64 queries each, and may be `persistent`; backward,
// the order of sums decides how many keys a program has. Where warps multiply
// on their own, as on sm_80, entries have `warps` instead, forward also the
// `rows` of queries of a program, and may be `early` and fetch `ahead`:
//
//     {"kind": "forward", "width": 64, "values": 64, "causal": true,
//      "queries": 4096, "keys": 4096, "heads": 16,
//      "rows": 128, "warps": 4, "stages": 2, "ahead": true}
//
// No schedule says anything about the order of sums, which depends on shapes,
// types and the target only (SumOrder.h).
//
// The tables of schedules/ are part of the compiler.
#ifndef ACT_PASSES_ACTTOTILE_SCHEDULETABLE_H
#define ACT_PASSES_ACTTOTILE_SCHEDULETABLE_H
#include "act/Target/Target.h"
#include "dialects/tile/Dialect.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace act::tile {

struct ProductSize {
  int64_t rows = 1, columns = 1, sum = 1;
  /// Registers for each pair of the sum's elements.
  int64_t beside = 0;
};

struct ProductSchedule {
  ProductSize size;
  int64_t blockRows = 128, blockColumns = 128; // of a program
  int64_t groups = 2;                          // of warps, which share the rows
  int64_t together = 1;                        // KernelGrid::rowsTogether
  int64_t cluster = 1;                         // programs that share copies
  FirstOperand a = FirstOperand::WhereItIs;
};

struct AttentionSize {
  bool backward = false;
  int64_t width = 1, values = 1;
  /// Whether positions are compared, so that blocks may be hidden.
  bool causal = false;
  int64_t queries = 1, keys = 1, heads = 1;
};

struct AttentionSchedule {
  AttentionSize size;
  int64_t groups = 1; // of warps, 64 queries each; backward: not said
  /// Warps that multiply on their own, and the queries of a program; 0: warps
  /// work in groups.
  int64_t warps = 0, rows = 0;
  int64_t stages = 2;
  bool early = false, ahead = false;
  bool rotated = false, turns = false, persistent = false, stores = false;
  FirstOperand a = FirstOperand::WhereItIs;
};

class ScheduleTable {
public:
  static llvm::Expected<ScheduleTable> parse(llvm::StringRef json);

  /// Whether a thread has registers for its part of such a block: of its own
  /// 240, but with three groups of the 128 that it begins with, which ptxas
  /// takes for the limit of one instruction (C7602).
  static bool hasRegisters(int64_t rows, int64_t columns, int64_t groups) {
    return rows / groups * columns / 128 <= (groups > 2 ? 104 : 216);
  }

  /// The schedule of the listed product that is nearest: as much is read beside
  /// the sum, or else the next more that is listed, and the sizes differ by the
  /// smallest factor, all three multiplied. Null if that is more than 8.
  const ProductSchedule *nearest(const ProductSize &size) const;
  /// The same for attention of this kind, with positions compared or not:
  /// widths differ by the smallest factor, both multiplied, and then queries,
  /// keys and heads do. Null if the widths' is more than 2. Warps work in
  /// groups, or on their own: then only wider heads are near.
  const AttentionSchedule *nearest(const AttentionSize &size,
                                   bool inGroups) const;

private:
  std::vector<ProductSchedule> products;
  std::vector<AttentionSchedule> attention;
};

/// The table in `file`, or the compiler's own for the target if the name is
/// empty; null if it has none. It is read once and stays.
llvm::Expected<const ScheduleTable *> schedulesFor(const Target &target,
                                                   llvm::StringRef file);

} // namespace act::tile
#endif
