// SPDX-License-Identifier: Apache-2.0
#include "passes/act/RematBound.h"
#include "dialects/act/Types.h"
#include "passes/act/Differentiate.h"
#include "passes/act/FormKernels.h"
#include <map>
#include <set>

using namespace mlir;
using namespace act;

namespace {

constexpr size_t momentLimit = 4; // of each kind

/// An op of the step, written out: what it reads and makes, by values' numbers.
struct StepOp {
  int64_t cost = 0;
  bool again = true; // may run again
  std::vector<int32_t> reads, makes;
};

/// The step without recomputation, op by op.
class StepOps {
public:
  StepOps(const Program &program, const Rates &rates) : rates(rates) {
    for (auto [t, launch] : llvm::enumerate(program.launches)) {
      begin.push_back(ops.size());
      add(program, launch);
    }
    begin.push_back(ops.size());
  }

  std::vector<StepOp> ops;
  std::vector<int64_t> bytes; // by value
  std::vector<size_t> begin;  // by launch: its first op

  /// What each launch reads and makes of the arena, by value; and the memory of
  /// it, once where a result takes over an operand's.
  std::vector<std::vector<int32_t>> touched;
  std::vector<int64_t> touchedBytes;

private:
  int32_t fresh(int64_t size) {
    bytes.push_back(size);
    return int32_t(bytes.size()) - 1;
  }
  /// The value that lies in a buffer; parts of a larger one are values, too.
  int32_t at(const Place &place) {
    auto [it, isNew] =
        known.try_emplace({place.index, place.offset, place.bytes}, 0);
    if (isNew)
      it->second = fresh(place.bytes);
    return it->second;
  }
  void add(const Program &program, const FlatLaunch &launch);

  Rates rates;
  std::map<std::tuple<unsigned, int64_t, int64_t>, int32_t> known;
};

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
  // What leaves the kernel is what others read of its buffers.
  DenseMap<Value, int32_t> leaves;
  for (auto [v, place] :
       llvm::zip(body.getTerminator()->getOperands(), launch.results))
    if (place.kind == Place::Buffer)
      leaves[v] = at(place);
  std::set<int32_t> values;
  std::set<unsigned> roots;
  auto touch = [&](const Place &place) {
    if (place.kind != Place::Buffer)
      return;
    values.insert(at(place));
    roots.insert(program.root(place.index));
  };
  llvm::for_each(launch.inputs, touch);
  llvm::for_each(launch.results, touch);
  if (launch.workspace)
    touch(*launch.workspace);
  touched.emplace_back(values.begin(), values.end());
  touchedBytes.push_back(0);
  for (unsigned r : roots)
    touchedBytes.back() += program.buffers[r].bytes;
  for (Operation &op : body.without_terminator()) {
    if (isReplayed(&op)) {
      // A view that leaves the kernel is a copy.
      for (Value r : op.getResults())
        if (auto it = leaves.find(r); it != leaves.end()) {
          StepOp copy;
          sources(r, copy.reads);
          copy.makes = {it->second};
          ops.push_back(copy);
          ids[r] = it->second;
        }
      continue;
    }
    StepOp step;
    step.cost = opCost(&op, rates);
    auto costed = dyn_cast<CostOpInterface>(op);
    step.again = costed && costed.getCostClass() != CostClass::Effect;
    for (Value v : op.getOperands())
      sources(v, step.reads);
    for (Value r : op.getResults()) {
      auto it = leaves.find(r);
      auto tensor = dyn_cast<RankedTensorType>(r.getType());
      int32_t id = it != leaves.end() ? it->second
                                      : fresh(tensor ? byteSize(tensor) : 0);
      ids[r] = id;
      step.makes.push_back(id);
    }
    ops.push_back(std::move(step));
  }
}

/// What to keep across launch `t`, in which `there` are alive anyway.
remat::CrossingGraph crossingAt(const StepOps &step, size_t t,
                                const std::vector<int32_t> &there) {
  remat::CrossingGraph g;
  size_t now = step.begin[t];
  // Only what is made before and needed after, and what that is made of.
  std::vector<char> wanted(step.bytes.size());
  for (size_t i = now; i < step.ops.size(); ++i)
    for (int32_t v : step.ops[i].reads)
      wanted[v] = 1;
  std::vector<char> needed = wanted;
  for (size_t i = now; i-- > 0;) {
    const StepOp &op = step.ops[i];
    if (op.again &&
        llvm::any_of(op.makes, [&](int32_t v) { return wanted[v]; }))
      for (int32_t v : op.reads)
        wanted[v] = 1;
  }
  std::vector<int32_t> id(step.bytes.size(), -1);
  std::vector<char> alive(step.bytes.size());
  for (int32_t v : there)
    alive[v] = 1;
  for (size_t i = 0; i < now; ++i) {
    const StepOp &op = step.ops[i];
    if (llvm::none_of(op.makes, [&](int32_t v) { return wanted[v]; }))
      continue;
    int32_t maker = -1;
    if (op.again) {
      maker = int32_t(g.makers.size());
      g.makers.push_back({op.cost, {}});
      for (int32_t v : op.reads)
        if (id[v] >= 0)
          g.makers.back().reads.push_back(id[v]);
    }
    for (int32_t v : op.makes) {
      if (id[v] >= 0)
        continue; // parts of a whole that is made bit by bit
      id[v] = int32_t(g.values.size());
      g.values.push_back({alive[v] ? 0 : step.bytes[v], alive[v] ? -1 : maker,
                          bool(needed[v])});
    }
  }
  return g;
}

} // namespace

FailureOr<int64_t> act::leastRecomputation(ModuleOp module, int64_t budget,
                                           const Rates &rates) {
  OwningOpRef<ModuleOp> copy(module.clone());
  if (failed(formKernels(*copy)))
    return failure();
  auto program = flatten(*copy, gradName);
  if (failed(program))
    return failure();
  if (!program->backward)
    return 0;
  StepOps step(*program, rates);
  auto live = program->liveBytes();
  // Moments at which most is kept and most is touched.
  int64_t peak = *std::max_element(live.begin(), live.end());
  int64_t most =
      *std::max_element(step.touchedBytes.begin(), step.touchedBytes.end());
  std::vector<std::pair<int64_t, size_t>> full, wide;
  for (size_t t = 0; t < program->launches.size(); ++t) {
    full.push_back({-live[t], t});
    if (live[t] >= peak - 2 * most)
      wide.push_back({-step.touchedBytes[t], t});
  }
  std::set<size_t> moments;
  for (auto *order : {&full, &wide}) {
    std::sort(order->begin(), order->end());
    for (size_t i = 0; i < std::min<size_t>(momentLimit, order->size()); ++i)
      moments.insert((*order)[i].second);
  }
  int64_t bound = 0;
  for (size_t t : moments) {
    remat::CrossingGraph graph = crossingAt(step, t, step.touched[t]);
    if (!graph.check())
      continue;
    // Where nothing keeps so little, the kernels of the choice that was found
    // differ from those of the space, and this moment says nothing.
    if (auto cost = remat::leastCost(graph, budget - step.touchedBytes[t]))
      bound = std::max(bound, *cost);
  }
  return bound;
}
