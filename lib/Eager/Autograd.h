// SPDX-License-Identifier: Apache-2.0
//
// The autograd graph that operators record, and the engine that runs it.
#ifndef ACT_LIB_EAGER_AUTOGRAD_H
#define ACT_LIB_EAGER_AUTOGRAD_H
#include "lib/Eager/Session.h"
#include <initializer_list>

namespace act::eager {

struct Edge {
  std::shared_ptr<Node> node;
  unsigned nr = 0; // which of the node's outputs (its inputs in backward)
};

struct Node {
  using Apply = std::function<Tensors(Node &, Tensors &grads)>;
  struct Meta {
    Shape shape;
    DType dtype;
  };

  const char *name = "";
  uint64_t sequence = 0;
  int layer = -1;
  std::vector<Edge> next;
  std::vector<Meta> outputs; // of the forward operator
  std::vector<SavedTensor> saved;
  Apply apply;
  bool accumulates = false; // the end of a path: adds to a leaf's gradient
  bool parameter = false;   // and the leaf is a parameter

  Node() = default;
  ~Node();
  Tensor unpack(size_t i) { return saved[i].unpack(); }
  bool needs(size_t i) const { return bool(next[i].node); }
  void release();
};

/// Records an operator. No node is made unless an operand requires a gradient.
///
///   Recorder node("MulBackward0", {a, b});
///   if (node.needs(0)) node.save("other", b);
///   ...
///   node.finish({result}, [](Node &n, Tensors &grads) { ... });
class Recorder {
public:
  Recorder(const char *name, const Tensors &inputs);
  explicit operator bool() const { return bool(node); }
  bool needs(size_t i) const { return node && node->needs(i); }
  void save(const char *name, const Tensor &tensor);
  /// The results that are differentiable, in order.
  void finish(std::initializer_list<Tensor> results, Node::Apply apply);
  Node *get() const { return node.get(); }

private:
  std::shared_ptr<Node> node;
};

/// Backward from `root`, which gets the gradient `seed`.
void backward(const Tensor &root, const Tensor &seed);

} // namespace act::eager
#endif
