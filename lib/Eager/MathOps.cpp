// SPDX-License-Identifier: Apache-2.0
// Elementwise operators, reductions, norms and the loss.
#include "lib/Eager/Ops.h"

namespace act::eager {

static Shape denseStrides(const Tensor &x) {
  return x.dense() ? x->strides : elementwiseStrides({x}, x.sizes());
}

// Both operands get the same tensor as their gradient. As it then has two
// owners, the engine can neither add to it in place nor hand it to a leaf
// without a copy.
Tensor add(const Tensor &a, const Tensor &b) {
  Recorder node("AddBackward0", {a, b});
  Tensor out = pointwise("add", {a, b}, a.dtype());
  node.finish({out}, [](Node &n, Tensors &g) {
    return Tensors{n.needs(0) ? g[0] : Tensor(), n.needs(1) ? g[0] : Tensor()};
  });
  heard("add", {a, b}, {out}, node.get());
  return out;
}

// Allocates nothing, but is an operator: the log's clock advances.
void addInPlace(const Tensor &, const Tensor &) { ++session->log->now; }

// The result is a new tensor on the same storage: the node changes, the bytes
// do not.
Tensor addTracked(const Tensor &a, const Tensor &b) {
  Recorder node("AddBackward0", {a, b});
  ++session->log->now;
  Tensor out = detach(a);
  node.finish({out}, [](Node &n, Tensors &g) {
    return Tensors{n.needs(0) ? g[0] : Tensor(), n.needs(1) ? g[0] : Tensor()};
  });
  heard("add_", {a, b}, {out}, node.get());
  return out;
}

Tensor addScalar(const Tensor &x) {
  Recorder node("AddBackward0", {x});
  Tensor out = pointwise("add", {x}, x.dtype());
  node.finish({out}, [](Node &, Tensors &g) { return Tensors{g[0]}; });
  heard("add", {x}, {out}, node.get());
  return out;
}

Tensor mul(const Tensor &a, const Tensor &b) {
  Recorder node("MulBackward0", {a, b});
  // Saved in operand order, because unpack() goes by index.
  if (node.needs(0))
    node.save("other", b);
  if (node.needs(1))
    node.save("self", a);
  Tensor out = pointwise("mul", {a, b}, a.dtype());
  node.finish({out}, [](Node &n, Tensors &g) {
    Tensors grads(2);
    if (n.needs(1)) {
      Tensor self = n.unpack(n.needs(0) ? 1 : 0);
      if (n.needs(0)) {
        Tensor other = n.unpack(0);
        grads[1] = mul(g[0], self);
        grads[0] = mul(g[0], other);
        return grads;
      }
      grads[1] = mul(g[0], self);
      return grads;
    }
    Tensor other = n.unpack(0);
    grads[0] = mul(g[0], other);
    return grads;
  });
  heard("mul", {a, b}, {out}, node.get());
  return out;
}

// The number takes no memory on the device. It has its place among the saved
// tensors all the same, because unpack() goes by index.
Tensor mulScalar(const Tensor &x) {
  Recorder node("MulBackward0", {x});
  node.save("other", Tensor()); // a number on the host
  Tensor out = pointwise("mul", {x}, x.dtype());
  node.finish({out}, [](Node &n, Tensors &g) {
    n.unpack(0);
    return Tensors{mulScalar(g[0])};
  });
  heard("mul", {x}, {out}, node.get());
  return out;
}

Tensor neg(const Tensor &x) {
  Recorder node("NegBackward0", {x});
  Tensor out = pointwise("neg", {x}, x.dtype());
  node.finish({out}, [](Node &, Tensors &g) { return Tensors{neg(g[0])}; });
  heard("neg", {x}, {out}, node.get());
  return out;
}

Tensor pow(const Tensor &x, int exponent) {
  Recorder node("PowBackward0", {x});
  node.save("self", x);
  Tensor out = pointwise("pow", {x}, x.dtype());
  node.finish({out}, [exponent](Node &n, Tensors &g) {
    Tensor self = n.unpack(0);
    Tensor power = pow(self, exponent - 1);
    Tensor scaled = mulScalar(power);
    return Tensors{mul(g[0], scaled)};
  });
  heard("pow", {x}, {out}, node.get());
  return out;
}

// A result is saved detached: saved as it is, it would hold its own node.
Tensor rsqrt(const Tensor &x) {
  Recorder node("RsqrtBackward0", {x});
  Tensor out = pointwise("rsqrt", {x}, x.dtype());
  if (node)
    node.save("result", detach(out));
  node.finish({out}, [](Node &n, Tensors &g) {
    Tensor result = n.unpack(0);
    Tensor cube = pow(result, 3);
    Tensor half = mulScalar(g[0]);
    return Tensors{mul(half, cube)};
  });
  heard("rsqrt", {x}, {out}, node.get());
  return out;
}

Tensor tanh(const Tensor &x) {
  Recorder node("TanhBackward0", {x});
  Tensor out = pointwise("tanh", {x}, x.dtype());
  if (node)
    node.save("result", detach(out));
  node.finish({out}, [](Node &n, Tensors &g) {
    Tensor result = n.unpack(0);
    return Tensors{pointwise("tanh_backward", {g[0], result}, g[0].dtype())};
  });
  heard("tanh", {x}, {out}, node.get());
  return out;
}

Tensor silu(const Tensor &x) {
  Recorder node("SiluBackward0", {x});
  node.save("self", x);
  Tensor out = pointwise("silu", {x}, x.dtype());
  node.finish({out}, [](Node &n, Tensors &g) {
    Tensor self = n.unpack(0);
    return Tensors{pointwise("silu_backward", {g[0], self}, g[0].dtype())};
  });
  heard("silu", {x}, {out}, node.get());
  return out;
}

Tensor gelu(const Tensor &x) {
  Recorder node("GeluBackward0", {x});
  node.save("self", x);
  Tensor out = pointwise("gelu", {x}, x.dtype());
  node.finish({out}, [](Node &n, Tensors &g) {
    Tensor self = n.unpack(0);
    return Tensors{pointwise("gelu_backward", {g[0], self}, g[0].dtype())};
  });
  heard("gelu", {x}, {out}, node.get());
  return out;
}

// The fused kernel, which keeps one byte per element.
Tensor dropout(const Tensor &x, double p) {
  if (p == 0)
    return x;
  Recorder node("NativeDropoutBackward0", {x});
  Tensor out = pointwise("native_dropout", {x}, x.dtype());
  Tensor mask =
      allocate("native_dropout", x.sizes(), out->strides, DType::Bool);
  node.save("result1", mask);
  node.finish({out}, [](Node &n, Tensors &g) {
    Tensor mask = n.unpack(0);
    return Tensors{
        pointwise("native_dropout_backward", {g[0], mask}, g[0].dtype())};
  });
  heard("native_dropout", {x}, {out, mask}, node.get());
  return out;
}

// Sums over the broadcast dimensions, then views without the leading ones.
Tensor sumTo(const Tensor &x, const Shape &shape) {
  if (x.sizes() == shape)
    return x;
  Shape kept = x.sizes();
  int64_t leading = x.dim() - int64_t(shape.size());
  bool sums = false;
  for (int64_t d = 0; d < x.dim(); ++d)
    if (d < leading || (shape[d - leading] == 1 && kept[d] != 1)) {
      kept[d] = 1;
      sums = true;
    }
  Tensor out = x;
  if (sums)
    out = result("sum", kept, x.dtype());
  return leading > 0 ? view(out, shape) : out;
}

Tensor meanLast(const Tensor &x) {
  Recorder node("MeanBackward1", {x});
  Shape sizes = x.sizes();
  sizes.back() = 1;
  Tensor out = result("mean", sizes, x.dtype());
  node.finish({out}, [shape = x.sizes()](Node &, Tensors &g) {
    Tensor wide = expand(g[0], shape);
    return Tensors{pointwise("div", {wide}, wide.dtype())};
  });
  heard("mean", {x}, {out}, node.get());
  return out;
}

// On CUDA the kernel keeps mean and reciprocal deviation in f32 for 16-bit
// inputs too.
Tensor layerNorm(const Tensor &x, const Tensor &weight, const Tensor &bias) {
  Recorder node("NativeLayerNormBackward0", {x, weight, bias});
  node.save("bias", bias);
  node.save("input", x);
  Tensor out = result("native_layer_norm", x.sizes(), x.dtype());
  Shape rows = x.sizes();
  rows.back() = 1;
  Tensor mean =
      allocate("native_layer_norm", rows, contiguousStrides(rows), DType::F32);
  Tensor rstd =
      allocate("native_layer_norm", rows, contiguousStrides(rows), DType::F32);
  node.save("weight", weight);
  node.save("result1", mean);
  node.save("result2", rstd);
  node.finish({out}, [](Node &n, Tensors &g) {
    Tensors kept;
    for (size_t i = 0; i < 5; ++i)
      kept.push_back(n.unpack(i));
    const Tensor &input = kept[1], &weight = kept[2];
    Tensor dx =
        result("native_layer_norm_backward", input.sizes(), input.dtype());
    Tensors grads{dx};
    for (int i = 0; i < 2; ++i)
      grads.push_back(allocate("native_layer_norm_backward", weight.sizes(),
                               contiguousStrides(weight.sizes()),
                               weight.dtype()));
    return grads;
  });
  heard("native_layer_norm", {x, weight, bias}, {out, mean, rstd}, node.get());
  return out;
}

static Tensor softmaxKernel(const char *name, const char *op, const Tensor &x,
                            DType dtype) {
  Recorder node(name, {x});
  ++session->log->now;
  Tensor out = allocate(op, x.sizes(), denseStrides(x), dtype);
  if (node)
    node.save("result", detach(out));
  node.finish({out}, [from = x.dtype()](Node &n, Tensors &g) {
    Tensor result = n.unpack(0);
    ++session->log->now;
    return Tensors{allocate("_softmax_backward_data", g[0].sizes(),
                            denseStrides(g[0]), from)};
  });
  heard(op, {x}, {out}, node.get());
  return out;
}

// The kernel that writes f32 reads f16 directly; other types are cast first.
Tensor softmax(const Tensor &x, std::optional<DType> dtype) {
  if (dtype && x.dtype() == DType::F16 && *dtype == DType::F32)
    return softmaxKernel("SoftmaxBackward0", "_softmax", x, *dtype);
  Tensor converted = dtype ? to(x, *dtype) : x;
  return softmaxKernel("SoftmaxBackward0", "_softmax", converted,
                       converted.dtype());
}

Tensor safeSoftmax(const Tensor &x) {
  return softmaxKernel("SafeSoftmaxBackward0", "_safe_softmax", x, x.dtype());
}

// Composed as in PyTorch. Both nodes save the log-probabilities, which are one
// storage, so the logits' size is kept once.
Tensor crossEntropy(const Tensor &logits, const Tensor &target) {
  Tensor logProbabilities;
  {
    Recorder node("LogSoftmaxBackward0", {logits});
    logProbabilities = result("_log_softmax", logits.sizes(), logits.dtype());
    node.save("result", detach(logProbabilities));
    node.finish({logProbabilities}, [](Node &n, Tensors &g) {
      Tensor saved = n.unpack(0);
      return Tensors{
          result("_log_softmax_backward_data", g[0].sizes(), g[0].dtype())};
    });
    heard("_log_softmax", {logits}, {logProbabilities}, node.get());
  }
  Recorder node("NllLossBackward0", {logProbabilities});
  node.save("self", logProbabilities);
  node.save("target", target);
  Tensor loss = result("nll_loss_forward", {}, logits.dtype());
  Tensor weight = allocate("nll_loss_forward", {}, {}, logits.dtype());
  node.save("total_weight", weight);
  node.finish({loss}, [](Node &n, Tensors &) {
    Tensor self = n.unpack(0), target = n.unpack(1), weight = n.unpack(2);
    return Tensors{result("nll_loss_backward", self.sizes(), self.dtype())};
  });
  heard("nll_loss_forward", {logProbabilities, target}, {loss, weight},
        node.get());
  return loss;
}

} // namespace act::eager
