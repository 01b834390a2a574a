// SPDX-License-Identifier: Apache-2.0
#include "passes/remat/StepOps.h"
#include "dialects/act/Types.h"
#include "passes/autodiff/Autodiff.h"
#include <set>

using namespace mlir;
using namespace act;

StepOps::StepOps(const Program &program, const Rates &rates) : rates(rates) {
  for (auto [t, launch] : llvm::enumerate(program.launches)) {
    begin.push_back(ops.size());
    add(program, launch);
  }
  begin.push_back(ops.size());
}

// Appends the ops of one launch. Values get numbers that are the same in every
// launch: what leaves a kernel is named by the buffer it is in, and what stays
// inside gets a fresh number. Views are no ops here. A reader of a view reads
// what the view reads (`sources`), because running the view again is free.
void StepOps::add(const Program &program, const FlatLaunch &launch) {
  Block &body = const_cast<FlatLaunch &>(launch).group.getBody().front();
  DenseMap<Value, int32_t> ids;
  std::function<void(Value, std::vector<int32_t> &)> sources = [&](Value v,
                                                                   auto &into) {
    if (auto it = ids.find(v); it != ids.end()) {
      if (it->second >= 0)
        into.push_back(it->second);
    } else if (Operation *def = v.getDefiningOp(); def && isReplayed(def)) {
      for (Value o : def->getOperands())
        sources(o, into);
    }
  };
  for (auto [argument, place] : llvm::zip(body.getArguments(), launch.inputs))
    ids[argument] = place.kind == Place::Buffer ? at(place) : -1;
  // The values that leave the kernel, by the buffer that holds them.
  DenseMap<Value, int32_t> leaves;
  for (auto [v, place] :
       llvm::zip(body.getTerminator()->getOperands(), launch.results))
    if (place.kind == Place::Buffer)
      leaves[v] = at(place);
  // Bytes are counted by root: an operand and a result that takes over its
  // memory are two values but one piece of memory.
  std::set<int32_t> values;
  std::set<unsigned> roots;
  auto touch = [&](const Place &place) {
    if (place.kind != Place::Buffer)
      return;
    values.insert(at(place));
    roots.insert(program.root(place.index));
  };
  llvm::for_each(launch.inputs, touch);
  read.emplace_back(values.begin(), values.end());
  llvm::for_each(launch.results, touch);
  llvm::for_each(launch.workspaces, touch);
  touched.emplace_back(values.begin(), values.end());
  touchedBytes.push_back(0);
  for (unsigned r : roots)
    touchedBytes.back() += program.buffers[r].bytes;
  for (Operation &op : body.without_terminator()) {
    if (isReplayed(&op)) {
      // A view that leaves the kernel is copied into its buffer.
      for (Value r : op.getResults())
        if (auto it = leaves.find(r); it != leaves.end()) {
          StepOp copy;
          sources(r, copy.reads);
          copy.launch = int32_t(begin.size()) - 1;
          copy.makes = {it->second};
          ops.push_back(copy);
          ids[r] = it->second;
        }
      continue;
    }
    StepOp step;
    step.cost = opCost(&op, rates);
    step.launch = int32_t(begin.size()) - 1;
    if (auto place = op.getAttrOfType<IntegerAttr>(placeAttr))
      step.place = place.getInt();
    auto costed = dyn_cast<CostOpInterface>(op);
    // An effect must not happen twice: adding to a gradient again would change
    // the result.
    step.again = costed && costed.getCostClass() != CostClass::Effect;
    step.isTable = isa<RopeTableOp>(op);
    for (Value v : op.getOperands())
      sources(v, step.reads);
    for (Value r : op.getResults()) {
      auto it = leaves.find(r);
      auto tensor = dyn_cast<RankedTensorType>(r.getType());
      int32_t id = it != leaves.end()
                       ? it->second
                       : fresh(tensor ? byteSize(tensor) : 0, true);
      ids[r] = id;
      step.makes.push_back(id);
    }
    ops.push_back(std::move(step));
  }
}
