// SPDX-License-Identifier: Apache-2.0
// Products of matrices, embeddings, and attention in one kernel.
#include "lib/Eager/Ops.h"

namespace act::eager {

namespace {
struct Layout {
  Shape sizes, strides;
  explicit Layout(const Tensor &x) : sizes(x.sizes()), strides(x->strides) {}
  bool columns() const { return strides[0] == 1 && strides[1] == sizes[0]; }
};
} // namespace

// The gradient of a factor gets the factor's layout, so that the gradient of a
// transposed weight already has the layout of its parameter.
static Tensor gradOfLeft(const Tensor &grad, const Tensor &right,
                         const Layout &left) {
  if (left.columns()) {
    Tensor transposed = t(grad);
    Tensor product = mm(right, transposed);
    return t(product);
  }
  Tensor transposed = t(right);
  return mm(grad, transposed);
}

static Tensor gradOfRight(const Tensor &grad, const Tensor &left,
                          const Layout &right) {
  if (right.columns()) {
    Tensor transposed = t(grad);
    Tensor product = mm(transposed, left);
    return t(product);
  }
  Tensor transposed = t(left);
  return mm(transposed, grad);
}

// Each operand is saved only for the gradient of the other one.
Tensor mm(const Tensor &a, const Tensor &b) {
  Recorder node("MmBackward0", {a, b});
  bool left = node.needs(0), right = node.needs(1);
  if (left)
    node.save("mat2", b);
  if (right)
    node.save("self", a);
  Tensor out = result("mm", {a.size(0), b.size(1)}, a.dtype());
  session->log->product(false);
  if (node)
    node.finish({out}, [la = Layout(a), lb = Layout(b), left,
                        right](Node &n, Tensors &g) {
      Tensors grads(2);
      Tensor mat2 = left ? n.unpack(0) : Tensor();
      Tensor self = right ? n.unpack(left ? 1 : 0) : Tensor();
      if (right)
        grads[1] = gradOfRight(g[0], self, lb);
      if (left)
        grads[0] = gradOfLeft(g[0], mat2, la);
      return grads;
    });
  heard("mm", {a, b}, {out}, node.get());
  return out;
}

// The bias needs nothing saved: its gradient is the sum of the result's, which
// the engine makes when it fits the gradient to the bias's shape.
Tensor addmm(const Tensor &bias, const Tensor &a, const Tensor &b) {
  Recorder node("AddmmBackward0", {bias, a, b});
  bool left = node.needs(1), right = node.needs(2);
  if (right)
    node.save("mat1", a);
  if (left)
    node.save("mat2", b);
  Tensor out = result("addmm", {a.size(0), b.size(1)}, a.dtype());
  session->log->product(true);
  if (node)
    node.finish({out}, [la = Layout(a), lb = Layout(b), left,
                        right](Node &n, Tensors &g) {
      Tensors grads(3);
      Tensor mat1 = right ? n.unpack(0) : Tensor();
      Tensor mat2 = left ? n.unpack(right ? 1 : 0) : Tensor();
      if (left)
        grads[1] = gradOfLeft(g[0], mat2, la);
      if (right)
        grads[2] = gradOfRight(g[0], mat1, lb);
      if (n.needs(0))
        grads[0] = g[0];
      return grads;
    });
  heard("addmm", {bias, a, b}, {out}, node.get());
  return out;
}

static Tensor bmm(const Tensor &a, const Tensor &b) {
  Recorder node("BmmBackward0", {a, b});
  bool left = node.needs(0), right = node.needs(1);
  if (left)
    node.save("mat2", b);
  if (right)
    node.save("self", a);
  Tensor out = result("bmm", {a.size(0), a.size(1), b.size(2)}, a.dtype());
  session->log->product(false);
  node.finish({out}, [left, right](Node &n, Tensors &g) {
    Tensors grads(2);
    Tensor mat2 = left ? n.unpack(0) : Tensor();
    Tensor self = right ? n.unpack(left ? 1 : 0) : Tensor();
    if (right) {
      Tensor transposed = transpose(self, 1, 2);
      grads[1] = bmm(transposed, g[0]);
    }
    if (left) {
      Tensor transposed = transpose(mat2, 1, 2);
      grads[0] = bmm(g[0], transposed);
    }
    return grads;
  });
  heard("bmm", {a, b}, {out}, node.get());
  return out;
}

// A batch of matrices times one matrix is folded into one product. Otherwise
// both sides are expanded to one batch, which copies non-contiguous operands.
Tensor matmul(const Tensor &a, const Tensor &b) {
  if (a.dim() == 2 && b.dim() == 2)
    return mm(a, b);
  if (b.dim() == 2) {
    Shape out(a.sizes());
    out.back() = b.size(1);
    Tensor folded = reshape(a, {-1, a.size(-1)});
    Tensor product = mm(folded, b);
    return unsafeReshape(product, out);
  }
  Shape batch = broadcast(Shape(a.sizes().begin(), a.sizes().end() - 2),
                          Shape(b.sizes().begin(), b.sizes().end() - 2));
  auto expanded = [&](const Tensor &x) {
    Shape sizes = batch;
    sizes.push_back(x.size(-2));
    sizes.push_back(x.size(-1));
    Tensor wide = expand(x, sizes);
    return reshape(wide, {product(batch), x.size(-2), x.size(-1)});
  };
  Tensor left = expanded(a);
  Tensor right = expanded(b);
  Shape out = batch;
  out.push_back(a.size(-2));
  out.push_back(b.size(-1));
  Tensor product = bmm(left, right);
  return unsafeReshape(product, out);
}

// PyTorch runs one kernel with the bias (addmm) on a flat view, and a plain
// product without one.
Tensor linear(const Tensor &x, const Tensor &weight, const Tensor &bias) {
  if (!bias) {
    Tensor transposed = t(weight);
    return matmul(x, transposed);
  }
  Tensor flat = reshape(x, {-1, x.size(-1)});
  Tensor transposed = t(weight);
  Tensor result = addmm(bias, flat, transposed);
  Shape out(x.sizes());
  out.back() = weight.size(0);
  return view(result, out);
}

Tensor embedding(const Tensor &weight, const Tensor &indices) {
  Recorder node("EmbeddingBackward0", {weight});
  node.save("indices", indices);
  Shape sizes = indices.sizes();
  sizes.push_back(weight.size(1));
  Tensor out = result("embedding", sizes, weight.dtype());
  node.finish({out}, [shape = weight.sizes()](Node &n, Tensors &g) {
    Tensor indices = n.unpack(0);
    return Tensors{result("embedding_dense_backward", shape, g[0].dtype())};
  });
  heard("embedding", {weight, indices}, {out}, node.get());
  return out;
}

// --- Attention kernels -----------------------------------------------------

// A tensor with the layout of `x` viewed with heads after positions.
static Shape likeRows(const Tensor &x) {
  return x.dense() ? x->strides : elementwiseStrides({x}, x.sizes());
}

// Strides of [b, a, s, d] stored as [b, s, a, d].
static Shape rowStrides(const Shape &s) {
  return {s[2] * s[1] * s[3], s[3], s[1] * s[3], 1};
}

// Saves the operands, the result and a log-sum-exp for each row, but no
// probabilities: backward computes these again block by block. Hence memory
// grows with s, not with s^2.
Tensor flashAttention(const Tensor &q, const Tensor &k, const Tensor &v) {
  constexpr const char *op = "_scaled_dot_product_flash_attention";
  Recorder node("ScaledDotProductFlashAttentionBackward0", {q, k, v});
  node.save("key", k);
  node.save("query", q);
  node.save("value", v);
  ++session->log->now;
  Tensor out = allocate(op, q.sizes(), likeRows(q), q.dtype());
  Shape rows{q.size(0), q.size(1), q.size(2)};
  Tensor lse = allocate(op, rows, contiguousStrides(rows), DType::F32);
  Tensor rng = allocate(op, {2}, {1}, DType::U64);
  Tensor unused = allocate(op, {}, {}, DType::U64);
  if (node)
    node.save("output", detach(out));
  node.save("logsumexp", lse);
  node.save("rng_state", rng);
  node.save("unused", unused);
  node.finish({out}, [](Node &n, Tensors &) {
    constexpr const char *op = "_scaled_dot_product_flash_attention_backward";
    Tensors kept;
    for (size_t i = 0; i < 7; ++i)
      kept.push_back(n.unpack(i));
    ++session->log->now;
    const Tensor &k = kept[0], &q = kept[1], &v = kept[2];
    Tensor dq = allocate(op, q.sizes(), likeRows(q), q.dtype());
    Tensor dk = allocate(op, k.sizes(), likeRows(k), k.dtype());
    Tensor dv = allocate(op, v.sizes(), likeRows(v), v.dtype());
    return Tensors{dq, dk, dv};
  });
  heard(op, {q, k, v}, {out, lse, rng, unused}, node.get());
  return out;
}

Tensor efficientAttention(const Tensor &q, const Tensor &k, const Tensor &v,
                          const Tensor &mask) {
  constexpr const char *op = "_scaled_dot_product_efficient_attention";
  Recorder node("ScaledDotProductEfficientAttentionBackward0", {q, k, v});
  if (mask)
    node.save("attn_bias", mask);
  node.save("key", k);
  node.save("query", q);
  node.save("value", v);
  ++session->log->now;
  Tensor out = allocate(op, q.sizes(), rowStrides(q.sizes()), q.dtype());
  // The kernel writes whole blocks of 32 rows.
  Shape rows{q.size(0), q.size(1), (q.size(2) + 31) / 32 * 32};
  Tensor lse = allocate(op, rows, contiguousStrides(rows), DType::F32);
  Tensor seed = allocate(op, {}, {}, DType::I64);
  Tensor offset = allocate(op, {}, {}, DType::I64);
  node.save("log_sumexp", lse);
  if (node)
    node.save("output", detach(out));
  node.save("philox_offset", offset);
  node.save("philox_seed", seed);
  node.finish({out}, [masked = bool(mask)](Node &n, Tensors &) {
    constexpr const char *op =
        "_scaled_dot_product_efficient_attention_backward";
    Tensors kept;
    for (size_t i = 0; i < n.saved.size(); ++i)
      kept.push_back(n.unpack(i));
    ++session->log->now;
    const Tensor &k = kept[masked], &q = kept[masked + 1],
                 &v = kept[masked + 2];
    Tensors grads;
    for (const Tensor *x : {&q, &k, &v})
      grads.push_back(
          allocate(op, x->sizes(), rowStrides(x->sizes()), x->dtype()));
    return grads;
  });
  heard(op, {q, k, v}, {out, lse, seed, offset}, node.get());
  return out;
}

} // namespace act::eager
