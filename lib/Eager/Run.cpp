// SPDX-License-Identifier: Apache-2.0
//
// Runs a model's training step in this small PyTorch and turns the log into a
// Run.
#include "act/Eager/Eager.h"
#include "lib/Eager/Models.h"
#include <algorithm>
#include <map>
#include <set>

namespace act::eager {

static DType elementType(artifact::DType type) {
  switch (type) {
  case artifact::DType::BF16:
    return DType::BF16;
  case artifact::DType::F16:
    return DType::F16;
  default:
    return DType::F32;
  }
}

// Throws if PyTorch would refuse, or would do something not modelled here.
static void checkSupported(const Context &c) {
  const hf::ModelConfig &config = c.model.config;
  bool bert = config.family == hf::Family::Bert;
  if (bert ? config.head != hf::Head::MaskedLM
           : config.head != hf::Head::CausalLM)
    throw Unsupported{"a model without a loss has no backward pass"};
  if (config.layers > 10000)
    throw Unsupported{"more than 10,000 layers"};
  bool wide = c.dtype == DType::F32;
  if (c.options.attention == Attention::Flash && (wide || c.d > 256))
    throw Unsupported{
        "flash attention takes 16-bit heads of at most 256 elements, not " +
        std::string(wide ? "f32" : std::to_string(c.d)) +
        "; attention=sdpa chooses a kernel that does"};
  int64_t unit = wide ? 4 : 8;
  if (c.options.attention == Attention::Efficient && c.d % unit)
    throw Unsupported{
        "memory-efficient attention takes heads of a multiple of " +
        std::to_string(unit) + " elements, not " + std::to_string(c.d) +
        "; attention=sdpa chooses a kernel that does"};
  for (double p : {config.embeddingDropout, config.attentionDropout,
                   config.residualDropout})
    if (p >= 1)
      throw Unsupported{"a dropout probability of 1"};
}

// The graph in the order in which backward runs it.
static std::vector<Node *> graphOf(const Tensor &root) {
  std::vector<Node *> all, queue{root->gradFn.get()};
  std::set<Node *> seen{root->gradFn.get()};
  while (!queue.empty()) {
    Node *node = queue.back();
    queue.pop_back();
    all.push_back(node);
    for (const Edge &e : node->next)
      if (e.node && seen.insert(e.node.get()).second)
        queue.push_back(e.node.get());
  }
  std::sort(all.begin(), all.end(),
            [](Node *a, Node *b) { return a->sequence > b->sequence; });
  return all;
}

// Lists which node keeps each storage that is alive when backward begins. A
// storage that no node keeps is an argument of a checkpoint.
static void listSaved(Run &run, const Tensor &loss, const Log &log) {
  std::set<int64_t> listed{loss->storage->number};
  // A checkpointed run of layers keeps the arguments of its first layer.
  std::map<const Recomputation *, int> firstLayer;
  for (Node *node : graphOf(loss))
    for (const SavedTensor &s : node->saved) {
      if (s.again) {
        auto [it, fresh] = firstLayer.insert({s.again.get(), node->layer});
        it->second = std::min(it->second, node->layer);
      }
      if (s.again || !s.tensor || s.tensor->storage->number < 0 ||
          !listed.insert(s.tensor->storage->number).second)
        continue;
      size_t number = s.tensor->storage->number;
      const Allocation &a = log.allocations[number];
      // A value made once per model belongs to no layer, whichever layer keeps
      // it first. A checkpoint's argument belongs to the layer that runs again.
      bool given = node->name == std::string_view(checkpointNode) &&
                   &s == &node->saved.front();
      run.saved.push_back({node->name, s.name, s.tensor.sizes(),
                           name(s.tensor.dtype()), a.bytes,
                           a.layer < 0 && !given ? -1 : node->layer, number});
    }
  std::map<size_t, int> givenTo;
  for (auto [again, layer] : firstLayer)
    if (int64_t n = again->arguments.front()->storage->number; n >= 0)
      givenTo[n] = layer;
  for (size_t i = 0; i < log.allocations.size(); ++i) {
    const Allocation &a = log.allocations[i];
    if (a.died >= 0 || listed.count(i))
      continue;
    auto given = givenTo.find(i);
    run.saved.push_back({"checkpoint", a.op, a.shape, a.dtype, a.bytes,
                         given == givenTo.end() ? a.layer : given->second, i});
  }
}

// A saved result is another tensor with the same storage.
static void keep(Step &step, const SavedTensor &saved, const Tensors &operands,
                 const Tensors &results) {
  if (!saved.tensor)
    return;
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i].same(saved.tensor)) {
      step.saves.push_back({saved.name, false, i});
      return;
    }
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i]->storage == saved.tensor->storage) {
      step.saves.push_back({saved.name, true, i});
      return;
    }
}

std::vector<int64_t> liveBytes(const Run &run) {
  std::vector<int64_t> live(run.moments + 2, 0);
  for (const Allocation &a : run.allocations)
    if (!a.apart) {
      live[a.born] += a.bytes;
      live[a.died] -= a.bytes;
    }
  for (size_t i = 1; i < live.size(); ++i)
    live[i] += live[i - 1];
  live.resize(run.moments + 1);
  return live;
}

Result<Run> run(const Model &model, const Options &options, bool record) {
  const hf::ModelConfig &g = model.config;
  Context c{model,          options,   elementType(g.dtype),
            model.batch,    model.seq, g.hidden,
            g.heads,        g.kvHeads, g.headDim,
            g.intermediate, g.vocab};
  Session mine;
  InSession in(mine);
  Run out;
  try {
    checkSupported(c);
    Log &log = *mine.log;
    std::map<const Impl *, int64_t> numbers;
    Tensors heldForNumbers; // held so that no address is reused
    if (record)
      mine.listener = [&](const char *op, const Tensors &operands,
                          const Tensors &results, Node *node) {
        Step step;
        step.op = op;
        step.layer = log.layer;
        auto value = [&](const Tensor &t) {
          auto [it, fresh] =
              numbers.insert({t.shared().get(), int64_t(numbers.size())});
          if (fresh)
            heldForNumbers.push_back(t);
          return Step::Value{it->second,      t.sizes(),          t->strides,
                             name(t.dtype()), t->storage->number, t->name};
        };
        for (const Tensor &t : operands)
          if (t)
            step.operands.push_back(value(t));
        for (const Tensor &t : results)
          step.results.push_back(value(t));
        if (node) {
          step.node = node->name;
          for (const SavedTensor &s : node->saved)
            keep(step, s, operands, results);
        }
        out.steps.push_back(std::move(step));
      };
    Tensor loss = g.family == hf::Family::Gpt2   ? gpt2Loss(c)
                  : g.family == hf::Family::Bert ? bertLoss(c)
                                                 : llamaLoss(c);
    mine.listener = nullptr;
    out.backwardMoment = ++log.now;
    if (!record) {
      for (const Allocation &a : log.allocations)
        if (a.died < 0)
          out.retainedBytes += a.bytes;
      out.retainedBytes -= loss->storage->bytes;
      listSaved(out, loss, log);
      log.phase = Phase::Backward;
      Tensor seed = make("ones_like", {}, loss.dtype());
      backward(loss, seed);
    }
    loss = Tensor();
    out.moments = ++log.now;
    out.allocations = log.allocations;
    out.events = log.events;
    out.resident = log.resident;
    for (Allocation &a : out.allocations)
      if (a.died < 0)
        a.died = out.moments;
  } catch (const Unsupported &unsupported) {
    return Error{unsupported.why, ""};
  }
  std::vector<int64_t> live = liveBytes(out);
  auto most = std::max_element(live.begin(), live.end());
  out.peakBytes = *most;
  out.peakMoment = most - live.begin();
  return out;
}

} // namespace act::eager
