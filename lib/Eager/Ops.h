// SPDX-License-Identifier: Apache-2.0
//
// The aten operators that the models use: their results, which of these share
// storage, what autograd saves for each operator, and what its backward formula
// runs.
//
// An operator that PyTorch composes of others is composed here in the same way.
// One that is a kernel on CUDA makes one allocation per result; the kernel's
// own temporary memory is not counted.
#ifndef ACT_LIB_EAGER_OPS_H
#define ACT_LIB_EAGER_OPS_H
#include "lib/Eager/Autograd.h"
#include <optional>

namespace act::eager {

/// Thrown if PyTorch would refuse, or if exactness is not known; run() turns it
/// into an error.
struct Unsupported {
  std::string why;
};

/// A result of the current moment's operator.
Tensor allocate(const char *op, Shape sizes, Shape strides, DType dtype);
/// A result of the next moment's operator: contiguous, or laid out as an
/// elementwise operator does.
Tensor result(const char *op, const Shape &shape, DType dtype);
Tensor pointwise(const char *op, const Tensors &operands, DType dtype);
inline void heard(const char *op, const Tensors &operands,
                  const Tensors &results, Node *node) {
  if (session->listener)
    session->listener(op, operands, results, node);
}

// Views: TensorOps.cpp
Tensor view(const Tensor &x, const Shape &shape);
Tensor unsafeReshape(const Tensor &x,
                     const Shape &shape); // of a tensor nobody else has
Tensor transpose(const Tensor &x, int64_t a, int64_t b);
Tensor t(const Tensor &x);
Tensor unsqueeze(const Tensor &x, int64_t d);
Tensor expand(const Tensor &x, const Shape &shape);
Tensor slice(const Tensor &x, int64_t d, int64_t from, int64_t to);
Tensors split(const Tensor &x, int64_t part, int64_t d);
Tensor alias(const Tensor &x);
Tensor detach(const Tensor &x); // no operator of the graph

// Copies and fills
/// `name` is the end of the name in files: "self_attn.q_proj.weight".
Tensor parameter(const char *name, const Shape &shape, DType dtype);
Tensor buffer(const char *name, const Shape &shape,
              DType dtype); // neither logged nor trained
/// An operator without a gradient, contiguous.
Tensor make(const char *op, const Shape &shape, DType dtype,
            const Tensors &operands = {});
Tensor clone(const Tensor &x); // contiguous
Tensor contiguous(const Tensor &x);
Tensor reshape(const Tensor &x,
               const Shape &shape); // a view where one is possible
Tensor to(const Tensor &x, DType dtype);
Tensor cat(const Tensors &parts, int64_t d);
Tensor padEnd(const Tensor &x, int64_t count); // the last dimension
Tensor repeatInterleave(const Tensor &x, int64_t times, int64_t d);

// Elementwise
Tensor add(const Tensor &a, const Tensor &b);
void addInPlace(const Tensor &a, const Tensor &b);   // nobody records it
Tensor addTracked(const Tensor &a, const Tensor &b); // a.add_(b)
Tensor addScalar(const Tensor &x);
Tensor mul(const Tensor &a, const Tensor &b);
Tensor mulScalar(const Tensor &x);
Tensor neg(const Tensor &x);
Tensor pow(const Tensor &x, int exponent);
Tensor rsqrt(const Tensor &x);
Tensor tanh(const Tensor &x);
Tensor silu(const Tensor &x);
Tensor gelu(const Tensor &x);
Tensor elementwise(const char *op, const Tensors &operands,
                   DType dtype); // no gradient
Tensor dropout(const Tensor &x, double p);

// Reductions and norms
Tensor sumTo(const Tensor &x, const Shape &shape);
Tensor meanLast(const Tensor &x);
Tensor layerNorm(const Tensor &x, const Tensor &weight, const Tensor &bias);
Tensor softmax(const Tensor &x, std::optional<DType> dtype = std::nullopt);
Tensor safeSoftmax(const Tensor &x);
Tensor crossEntropy(const Tensor &logits, const Tensor &target);

// Products
Tensor mm(const Tensor &a, const Tensor &b);
Tensor matmul(const Tensor &a, const Tensor &b);
Tensor addmm(const Tensor &bias, const Tensor &a, const Tensor &b);
Tensor linear(const Tensor &x, const Tensor &weight, const Tensor &bias);
Tensor embedding(const Tensor &weight, const Tensor &indices);

// Attention kernels: q [b, a, s, d], k and v [b, k, s, d]
Tensor flashAttention(const Tensor &q, const Tensor &k, const Tensor &v);
Tensor efficientAttention(const Tensor &q, const Tensor &k, const Tensor &v,
                          const Tensor &mask);

} // namespace act::eager
#endif
