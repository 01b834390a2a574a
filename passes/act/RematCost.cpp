// SPDX-License-Identifier: Apache-2.0
//
// The time of an op, and the graph of what a body keeps for later
// (act/Remat/Crossing.h) with these times as costs. The bytes and lifetimes of
// kernels are not considered here.
#include "passes/act/RematCost.h"
#include "dialects/act/Flops.h"
#include "dialects/act/Types.h"
#include "passes/act/Differentiate.h"
#include "passes/act/SavedValues.h"
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
        if (op.hasAttr("act.recompute") || isa<OffloadOp, FetchOp>(op))
          marked += cost;
      }
    sum.total = flopsSum({sum.total, all});
    sum.copies = flopsSum({sum.copies, copies});
    sum.again = flopsSum({sum.again, launch.recomputed ? all : marked});
  }
  return sum;
}

OpSet BlockCrossing::set(const std::vector<char> &makers) const {
  OpSet set(setSize);
  for (auto [m, place] : llvm::enumerate(places))
    if (makers[m])
      set.set(place);
  return set;
}

OpSet BlockCrossing::set(const remat::Crossing &choice) const {
  OpSet out = set(choice.again);
  for (auto [v, moved] : llvm::enumerate(choice.moved))
    if (moved)
      out.set(bodySize + numbers[v]);
  return out;
}

// Goes back from what is needed: a value whose maker runs again needs what that
// reads, any other value has to be there.
std::vector<int32_t> BlockCrossing::saved(const OpSet &set) const {
  std::vector<char> needed(graph.values.size());
  std::vector<int32_t> out;
  for (size_t v = graph.values.size();
       v-- > 0;) { // readers before their operands
    const auto &value = graph.values[v];
    needed[v] |= value.needed;
    if (!needed[v])
      continue;
    if (value.maker < 0 || !set.test(places[value.maker])) {
      out.push_back(int32_t(v));
      continue;
    }
    for (int32_t r : graph.makers[value.maker].reads)
      needed[r] = true;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

// Values are numbered in the order of the body, as Crossing.h requires. An op
// with an effect makes values but cannot run again, so these have no maker.
BlockCrossing act::crossingOf(Block &body, Operation *end,
                              ArrayRef<Value> needed, ValueRange shared,
                              bool statisticsStay, const Rates &rates) {
  BlockCrossing out;
  auto &g = out.graph;
  DenseMap<Value, unsigned> number;
  for (auto [i, v] : llvm::enumerate(numberedValues(body)))
    number[v] = i;
  out.bodySize = allOps(body).size();
  out.setSize = out.bodySize + (rates.moves ? number.size() : 0);
  DenseMap<Value, int32_t> ids;
  auto add = [&](Value v, int32_t maker) {
    auto tensor = dyn_cast<RankedTensorType>(v.getType());
    if (!tensor)
      return;
    ids[v] = int32_t(g.values.size());
    int64_t bytes = llvm::is_contained(shared, v) ? 0 : byteSize(tensor);
    g.values.push_back({bytes, maker, false, -1});
    // Both directions.
    if (rates.moves && bytes > 0)
      g.values.back().move = int64_t(
          std::min(std::ceil(2e15 * double(bytes) / rates.link), 0x1p50));
    out.numbers.push_back(number.lookup(v));
  };
  // The values that must be in memory to read `v`: for views and masks, their
  // operands.
  std::function<void(Value, std::vector<int32_t> &)> sources = [&](Value v,
                                                                   auto &into) {
    if (auto it = ids.find(v); it != ids.end())
      into.push_back(it->second);
    else if (Operation *def = v.getDefiningOp();
             def && (isReplayed(def) || isa<KeptOp>(def)))
      for (Value o : def->getOperands())
        sources(o, into);
  };
  for (BlockArgument a : body.getArguments())
    add(a, -1);
  unsigned place = 0;
  for (Operation &op : body) {
    if (&op == end)
      break;
    ++place;
    if (isReplayed(&op) || isa<KeptOp>(op))
      continue;
    auto costed = dyn_cast<CostOpInterface>(op);
    int32_t maker = -1;
    if (costed && costed.getCostClass() != CostClass::Effect) {
      maker = int32_t(g.makers.size());
      g.makers.push_back({opCost(&op, rates), {}});
      out.places.push_back(place - 1);
      for (Value v : op.getOperands())
        sources(v, g.makers.back().reads);
    }
    for (OpResult r : op.getResults())
      add(r, statisticsStay && r.getResultNumber() > 0 && !isa<RopeTableOp>(op)
                 ? -1
                 : maker);
  }
  for (Value v : needed) {
    std::vector<int32_t> from;
    sources(v, from);
    for (int32_t id : from)
      g.values[id].needed = true;
  }
  return out;
}
