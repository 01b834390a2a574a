// SPDX-License-Identifier: Apache-2.0
#include "passes/memory/OpCost.h"
#include "dialects/act/AttrNames.h"
#include "dialects/act/Flops.h"
#include "dialects/act/Types.h"
#include "passes/autodiff/Autodiff.h"
#include <charconv>
#include <cmath>

using namespace mlir;
using namespace act;

Rates::Rates() : Rates(findTarget("sm_80")->card) {}

Result<Rates> act::parseRates(const std::string &text) {
  if (text.empty())
    return Rates();
  if (const Target *target = findTarget(text))
    return Rates(target->card);
  Rates rates;
  const char *end = text.data() + text.size();
  auto good = [](const std::from_chars_result &r, double v) {
    return r.ec == std::errc() && std::isfinite(v) && v >= 1;
  };
  auto first = std::from_chars(text.data(), end, rates.flops);
  if (good(first, rates.flops) && first.ptr != end && *first.ptr == ':') {
    auto second = std::from_chars(first.ptr + 1, end, rates.bytes);
    if (good(second, rates.bytes) && second.ptr == end)
      return rates;
  }
  return Error{"remat rates '" + text + "': expected " + targetNames() +
                   ", or FLOPS:BYTES, "
                   "both per second, "
                   "such as 312e12:2.0e12",
               ""};
}

int64_t act::opCost(Operation *op, const Rates &rates) {
  auto costed = dyn_cast<CostOpInterface>(op);
  if (!costed || isReplayed(op))
    return 0;
  int64_t bytes = 0;
  auto count = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor && tensor.hasStaticShape())
      bytes = flopsSum({bytes, byteSize(tensor)});
  };
  for (Type t : op->getOperandTypes())
    count(t);
  for (Type t : op->getResultTypes())
    count(t);
  // The operand and the result of a copy are both counted; the link carries
  // one.
  if (isa<OffloadOp, FetchOp>(op))
    return int64_t(std::min(std::ceil(double(bytes) / 2 / rates.link * 1e15),
                            3.6e18 / 4096));
  double seconds = std::max(double(costed.getFlops()) / rates.flops,
                            double(bytes) / rates.bytes);
  // The cap is 0.88 s (3.6e18 fs / 4096), so sums stay far from overflowing.
  return int64_t(std::min(std::ceil(seconds * 1e15), 3.6e18 / 4096));
}

// All layers launch the same groups, so the cost of a group is computed once.
// An op counts as run again if it is marked or its launch is: in a segment, the
// repeat that runs again is marked and its ops are not.
ProgramCost act::programCost(const Program &program, const Rates &rates) {
  ProgramCost sum;
  size_t end = program.update.value_or(program.launches.size());
  struct Cost {
    int64_t all = 0, marked = 0, copies = 0;
  };
  DenseMap<Operation *, Cost> known;
  for (size_t t = 0; t < end; ++t) {
    const FlatLaunch &launch = program.launches[t];
    auto [it, fresh] = known.try_emplace(launch.group);
    auto &[all, marked, copies] = it->second;
    if (fresh)
      for (Operation &op : launch.group.getBody().front()) {
        int64_t cost = opCost(&op, rates);
        all += cost;
        if (isa<OffloadOp, FetchOp>(op))
          copies += cost;
        if (op.hasAttr(recomputeAttr) || isa<OffloadOp, FetchOp>(op))
          marked += cost;
      }
    sum.total = flopsSum({sum.total, all});
    sum.copies = flopsSum({sum.copies, copies});
    sum.again = flopsSum({sum.again, launch.recomputed ? all : marked});
  }
  return sum;
}
