// SPDX-License-Identifier: Apache-2.0
//
// The recording of nodes, and the engine that runs them in PyTorch's order.
// Both run operators, so they are no part of what operators include
// (Autograd.h).
#include "lib/Eager/Autograd.h"
#include "lib/Eager/Checkpoint.h"
#include "lib/Eager/Ops.h"
#include <limits>
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace act::eager {

Tensor SavedTensor::unpack() { return again ? again->unpack(index) : tensor; }

// Releases the graph without recursion: graphs are long chains, and nested
// destructors would overflow the stack.
Node::~Node() {
  static thread_local std::vector<std::shared_ptr<Node>> pending;
  static thread_local bool draining = false;
  for (Edge &e : next)
    if (e.node)
      pending.push_back(std::move(e.node));
  if (draining)
    return;
  draining = true;
  while (!pending.empty()) {
    std::shared_ptr<Node> node = std::move(pending.back());
    pending.pop_back();
  }
  draining = false;
}

void Node::release() {
  for (SavedTensor &s : saved)
    if (s.again)
      s.again->drop(s.index);
  saved.clear();
  saved.shrink_to_fit();
}

// A leaf's node is made on demand and lives as long as the graph needs it.
static std::shared_ptr<Node> accumulatorOf(const Tensor &leaf) {
  if (auto known = leaf->accumulator.lock())
    return known;
  auto node = std::make_shared<Node>();
  node->name = "AccumulateGrad";
  // As in PyTorch, so that the engine runs it before any other ready node and
  // the gradient is released early.
  node->sequence = std::numeric_limits<uint64_t>::max();
  node->accumulates = true;
  node->parameter = leaf->parameter;
  node->outputs = {{leaf.sizes(), leaf.dtype()}};
  Tensor variable = leaf;
  node->apply = [variable](Node &, Tensors &grads) {
    Tensor &grad = grads[0];
    if (!grad)
      return Tensors{};
    if (variable->grad) {
      addInPlace(variable->grad, grad);
      return Tensors{};
    }
    // A gradient that nobody else holds, in a layout that suits the leaf,
    // becomes the leaf's own. PyTorch copies any other, because later additions
    // in place must not reach its other holders.
    bool stealable = grad.shared().use_count() == 1 &&
                     (variable.dense() ? grad->strides == variable->strides ||
                                             grad.contiguous()
                                       : grad.contiguous());
    variable->grad = stealable ? detach(grad) : clone(grad);
    if (variable->parameter)
      session->log->apart(variable->grad);
    return Tensors{};
  };
  leaf->accumulator = node;
  return node;
}

/// No node is made if no input needs a gradient: nothing is saved then, as in
/// PyTorch.
Recorder::Recorder(const char *name, const Tensors &inputs) {
  if (!session->gradEnabled)
    return;
  bool any = false;
  for (const Tensor &t : inputs)
    any |= t.requiresGrad();
  if (!any)
    return;
  node = std::make_shared<Node>();
  node->name = name;
  node->sequence = session->sequence++;
  node->layer = session->log->layer;
  for (const Tensor &t : inputs) {
    if (!t.requiresGrad())
      node->next.push_back({});
    else if (t->gradFn)
      node->next.push_back({t->gradFn, t->outputNr});
    else
      node->next.push_back({accumulatorOf(t), 0});
  }
}

/// A hook may keep something else instead of the tensor. That is how
/// checkpointing works.
void Recorder::save(const char *name, const Tensor &tensor) {
  if (!node)
    return;
  if (session->pack) {
    SavedTensor saved = session->pack(name, tensor);
    saved.name = name;
    node->saved.push_back(std::move(saved));
    return;
  }
  SavedTensor saved;
  saved.name = name;
  saved.tensor = tensor;
  node->saved.push_back(std::move(saved));
}

void Recorder::finish(std::initializer_list<Tensor> results,
                      Node::Apply apply) {
  if (!node)
    return;
  unsigned nr = 0;
  for (const Tensor &t : results) {
    node->outputs.push_back({t.sizes(), t.dtype()});
    t->gradFn = node;
    t->outputNr = nr++;
  }
  node->apply = std::move(apply);
}

namespace {

struct Task {
  Node *node;
  Tensors inputs;
};
struct Later {
  bool operator()(const std::pair<uint64_t, size_t> &a,
                  const std::pair<uint64_t, size_t> &b) const {
    return a.first < b.first;
  }
};

/// One call of backward: nodes run by sequence number, the highest first, when
/// all gradients have arrived.
class Engine {
public:
  void run(Node *root, Tensor seed) {
    count(root);
    Tensors inputs(root->outputs.size());
    return start(root, std::move(inputs), std::move(seed));
  }
  void start(Node *root, Tensors inputs, Tensor seed) {
    inputs[rootNr] = std::move(seed);
    push(root, std::move(inputs));
    while (!ready.empty()) {
      size_t slot = ready.top().second;
      ready.pop();
      Task task = std::move(tasks[slot]);
      evaluate(task);
    }
  }
  unsigned rootNr = 0;

private:
  // How many gradients each node waits for. A node may run only when all paths
  // from the root have delivered.
  void count(Node *root) {
    std::vector<Node *> queue{root};
    std::unordered_set<Node *> seen{root};
    while (!queue.empty()) {
      Node *node = queue.back();
      queue.pop_back();
      for (const Edge &e : node->next)
        if (e.node) {
          ++dependencies[e.node.get()];
          if (seen.insert(e.node.get()).second)
            queue.push_back(e.node.get());
        }
    }
  }

  void push(Node *node, Tensors inputs) {
    tasks.push_back({node, std::move(inputs)});
    ready.push({node->sequence, tasks.size() - 1});
  }

  void evaluate(Task &task) {
    Node &node = *task.node;
    session->log->layer = node.layer;
    Tensors outputs;
    {
      Tensors inputs = std::move(task.inputs);
      outputs = node.apply(node, inputs);
      validate(node, outputs);
    }
    node.release();
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Edge &edge = node.next[i];
      if (!edge.node)
        continue;
      Node *next = edge.node.get();
      bool isReady = --dependencies[next] == 0;
      Tensors &buffer = waiting[next];
      if (buffer.empty())
        buffer.resize(next->outputs.size());
      if (outputs[i]) {
        if (next->parameter)
          session->log->apart(outputs[i]);
        add(buffer[edge.nr], std::move(outputs[i]));
        if (next->parameter)
          session->log->apart(buffer[edge.nr]);
      }
      if (isReady) {
        Tensors inputs = std::move(buffer);
        waiting.erase(next);
        push(next, std::move(inputs));
      }
    }
  }

  /// A formula may return more dimensions or another type than the operand has.
  void validate(Node &node, Tensors &outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Edge &edge = node.next[i];
      if (!edge.node || !outputs[i])
        continue;
      const Node::Meta &meta = edge.node->outputs[edge.nr];
      if (outputs[i].sizes() != meta.shape)
        outputs[i] = sumTo(outputs[i], meta.shape);
      if (outputs[i].dtype() != meta.dtype)
        outputs[i] = to(outputs[i], meta.dtype);
    }
  }

  // In place only if nothing else can see the old sum, neither through the
  // tensor nor through a view of its storage. Otherwise a third tensor is alive
  // for a moment, which counts in the peak.
  static void add(Tensor &old, Tensor &&grad) {
    if (!old) {
      old = std::move(grad);
      return;
    }
    if (old.shared().use_count() == 1 && old->storage.use_count() == 1 &&
        old.dense())
      addInPlace(old, grad);
    else
      old = eager::add(old, grad);
    grad = Tensor();
  }

  std::unordered_map<Node *, int64_t> dependencies;
  std::unordered_map<Node *, Tensors> waiting;
  std::vector<Task> tasks;
  std::priority_queue<std::pair<uint64_t, size_t>,
                      std::vector<std::pair<uint64_t, size_t>>, Later>
      ready;
};

} // namespace

void backward(const Tensor &root, const Tensor &seed) {
  GradMode off(false);
  Engine engine;
  engine.rootNr = root->outputNr;
  int layer = session->log->layer;
  engine.run(root->gradFn.get(), seed);
  session->log->layer = layer;
}

} // namespace act::eager
