// SPDX-License-Identifier: Apache-2.0
//
// A step as a list of ops and values, for asking what recomputation would do
// without writing it into the IR. Made from launches, so the values that
// kernels hand to each other are the buffers of the memory report; values
// inside of kernels are there, too, for an op that runs again alone puts them
// in memory.
#ifndef ACT_PASSES_ACT_STEPOPS_H
#define ACT_PASSES_ACT_STEPOPS_H
#include "passes/act/RematCost.h"
#include <map>

namespace act {

/// On ops of a copy that is measured: where they stand in the body they come
/// from.
inline constexpr llvm::StringLiteral placeAttr = "act.place";

/// An op of the step, written out: what it reads and makes, by values' numbers.
struct StepOp {
  int64_t cost = 0;
  bool again = true;               // may run again
  bool isTable = false;            // all its results are what it is for
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
  std::vector<char> inside;   // by value: it never leaves its kernel

  /// What each launch reads and makes of the arena, by value; and the memory of
  /// it, once where a result takes over an operand's.
  std::vector<std::vector<int32_t>> touched, read;
  std::vector<int64_t> touchedBytes;

private:
  int32_t fresh(int64_t size, bool within) {
    bytes.push_back(size);
    inside.push_back(within);
    return int32_t(bytes.size()) - 1;
  }
  /// The value that lies in a buffer; parts of a larger one are values, too.
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
