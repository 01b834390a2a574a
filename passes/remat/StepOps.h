// SPDX-License-Identifier: Apache-2.0
//
// A step as a list of ops and values, to predict the effect of recomputation
// without writing it into the IR. It is built from launches, so values passed
// between kernels are the buffers of the memory report. It also has the values
// inside kernels, because an op that runs again alone puts them in memory.
#ifndef ACT_PASSES_REMAT_STEPOPS_H
#define ACT_PASSES_REMAT_STEPOPS_H
#include "passes/memory/OpCost.h"
#include <map>

namespace act {

/// On ops of a measured copy: their place in the original body.
inline constexpr llvm::StringLiteral placeAttr = "act.place";

/// An op of the written-out step; `reads` and `makes` are value numbers.
struct StepOp {
  int64_t cost = 0;
  bool again = true;               // may run again
  bool isTable = false;            // no result is a statistic
  int32_t launch = -1, place = -1; // the kernel it is in; placeAttr
  std::vector<int32_t> reads, makes;
};

/// The step without recomputation, op by op.
class StepOps {
public:
  StepOps(const Program &program, const Rates &rates);

  std::vector<StepOp> ops;
  std::vector<int64_t> bytes; // by value
  std::vector<size_t> begin;  // by launch: its first op
  std::vector<char> inside;   // by value: never leaves its kernel

  /// The arena values that each launch touches and reads, and the bytes that it
  /// touches, counted once where a result takes over an operand's memory.
  std::vector<std::vector<int32_t>> touched, read;
  std::vector<int64_t> touchedBytes;

private:
  int32_t fresh(int64_t size, bool within) {
    bytes.push_back(size);
    inside.push_back(within);
    return int32_t(bytes.size()) - 1;
  }
  /// The value at `place`; a part of a larger buffer is a value of its own.
  int32_t at(const Place &place) {
    auto [it, isNew] =
        known.try_emplace({place.index, place.offset, place.bytes}, 0);
    if (isNew)
      it->second = fresh(place.bytes, false);
    return it->second;
  }
  void add(const Program &program, const FlatLaunch &launch);

  Rates rates;
  std::map<std::tuple<unsigned, int64_t, int64_t>, int32_t> known;
};

} // namespace act
#endif
