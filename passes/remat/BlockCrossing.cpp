// SPDX-License-Identifier: Apache-2.0
#include "passes/remat/BlockCrossing.h"
#include "dialects/act/Types.h"
#include "passes/autodiff/Autodiff.h"
#include <cmath>

using namespace mlir;
using namespace act;

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
