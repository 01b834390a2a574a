// SPDX-License-Identifier: Apache-2.0
// What the models share: masks, attention, loss, and how layers are run.
#include "lib/Eager/Models.h"
#include <utility>

namespace act::eager {

/// The expansion is a view; the reshape behind it has to copy.
Tensor repeatKv(const Tensor &x, int64_t times) {
  if (times == 1)
    return x;
  Tensor wide = unsqueeze(x, 2);
  Shape sizes = wide.sizes();
  sizes[2] = times;
  Tensor expanded = expand(wide, sizes);
  Shape flat = x.sizes();
  flat[1] *= times;
  return reshape(expanded, flat);
}

// --- Masks -----------------------------------------------------------------

// sdpa_mask: true where a key is visible, [b, 1, s, s].
static Tensor booleanMask(const Context &c, std::optional<int64_t> window) {
  Tensor batch = make("arange", {c.b}, DType::I64);
  Tensor head = make("arange", {1}, DType::I64);
  auto positions = [&] {
    Tensor range = make("arange", {c.s}, DType::I64);
    return elementwise("add", {range}, DType::I64);
  };
  Tensor q = positions();
  Tensor kv = positions();
  Tensor rows = view(q, {1, 1, c.s, 1}), columns = view(kv, {1, 1, 1, c.s});
  Tensor mask;
  if (window) {
    mask = make("new_ones", {}, DType::Bool);
    Tensor inside;
    {
      Tensor from = elementwise("sub", {rows}, DType::I64);
      inside = elementwise("gt", {columns, from}, DType::Bool);
    }
    mask = elementwise("bitwise_and", {mask, inside}, DType::Bool);
    inside = Tensor();
    Tensor causal = elementwise("le", {columns, rows}, DType::Bool);
    mask = elementwise("bitwise_and", {mask, causal}, DType::Bool);
  } else {
    mask = elementwise("le", {columns, rows}, DType::Bool);
  }
  return expand(mask, {c.b, 1, c.s, c.s});
}

static Attention kernelOf(const Context &c, bool masked) {
  return masked ? c.options.masked.value_or(c.options.attention)
                : c.options.attention;
}

Tensor causalMask(const Context &c, std::optional<int64_t> window) {
  bool eager = c.options.attention == Attention::Eager;
  // A window that hides no key needs no mask.
  if (!eager && !(window && windowHides(c.model)))
    return Tensor();
  if (kernelOf(c, true) == Attention::Flash)
    throw Unsupported{"PyTorch's flash kernel takes no mask, and a window of " +
                      std::to_string(*window) + " in " + std::to_string(c.s) +
                      " tokens needs one; attention=sdpa chooses a kernel that "
                      "takes it"};
  Tensor mask = booleanMask(c, window);
  if (!eager)
    return mask;
  Tensor zero = make("zeros", {}, c.dtype);
  Tensor least = make("scalar_tensor", {}, c.dtype);
  return elementwise("where", {mask, zero, least}, c.dtype);
}

// --- Attention -------------------------------------------------------------

static Tensor additive(const Tensor &mask, DType dtype) {
  Tensor least = make("scalar_tensor", {}, dtype);
  Tensor zero = make("scalar_tensor", {}, dtype);
  return elementwise("where", {mask, zero, least}, dtype);
}

// SDPA in primitives. 16-bit operands are widened.
static Tensor mathAttention(const Context &c, const Tensor &q16,
                            const Tensor &k16, const Tensor &v16, Tensor mask,
                            double p, bool causal) {
  DType origin = q16.dtype();
  Tensor qWide = to(q16, DType::F32), kWide = to(k16, DType::F32),
         vWide = to(v16, DType::F32);
  Tensor q = mulScalar(qWide);
  if (causal) {
    Tensor ones = make("ones", {q.size(2), kWide.size(2)}, DType::Bool);
    Tensor lower = make("tril", ones.sizes(), DType::Bool, {ones});
    ones = Tensor();
    mask = lower;
    lower = Tensor();
    mask = additive(mask, q.dtype());
  }
  Tensor k = kWide, v = vWide;
  if (q.size(1) != k.size(1)) {
    int64_t times = q.size(1) / k.size(1);
    k = repeatInterleave(kWide, times, 1);
    v = repeatInterleave(vWide, times, 1);
  }
  Tensor scores;
  {
    Tensor turned = transpose(k, -2, -1);
    Tensor scaled = mulScalar(turned);
    scores = matmul(q, scaled);
  }
  if (mask)
    scores = addTracked(scores, mask);
  scores = safeSoftmax(scores);
  scores = dropout(scores, p);
  Tensor weights = to(scores, origin); // the second result, which is unused
  Tensor product = matmul(scores, v);
  return to(product, origin);
}

static Tensor padHead(const Tensor &x) {
  int64_t rest = x.size(-1) % 8;
  return rest ? padEnd(x, 8 - rest) : x;
}

Tensor attentionKernel(const Context &c, const Tensor &q, const Tensor &k,
                       const Tensor &v, const Tensor &given, double p,
                       bool causal) {
  Tensor mask = given;
  if (mask && mask.dtype() == DType::Bool)
    mask = additive(mask, q.dtype());
  switch (kernelOf(c, bool(given))) {
  case Attention::Math:
    return mathAttention(c, q, k, v, mask, p, causal);
  case Attention::Flash: {
    Tensor qp = padHead(q), kp = padHead(k), vp = padHead(v);
    Tensor out = flashAttention(qp, kp, vp);
    return out.size(-1) == q.size(-1) ? out : slice(out, -1, 0, q.size(-1));
  }
  default:
    break;
  }
  if (mask) {
    // Rows of the mask begin at multiples of 8 elements.
    bool aligned = true;
    for (int64_t d = 0; d + 1 < mask.dim(); ++d)
      aligned &= mask->strides[d] % 8 == 0;
    if (!aligned) {
      Tensor padded = padEnd(mask, 8 - mask.size(-1) % 8);
      mask = slice(padded, -1, 0, mask.size(-1));
    }
    mask = expand(mask, {q.size(0), q.size(1), q.size(2), k.size(2)});
  }
  return efficientAttention(q, k, v, mask);
}

Tensor sdpaAttention(const Context &c, const Tensor &given, const Tensor &k16,
                     const Tensor &v16, const Tensor &mask, double p,
                     bool causal) {
  Tensor q = given, k = k16, v = v16;
  int64_t groups = q.size(1) / k.size(1), rows = q.size(2);
  // Grouped heads go to the kernel as they are, if it takes them.
  bool grouped =
      (c.options.chosen || c.options.attention != Attention::Efficient) &&
      !mask && k.size(-1) <= 256;
  if (groups > 1 && !grouped) {
    if (rows == 1) { // the heads of a group become rows of one head
      q = reshape(q, {q.size(0), k.size(1), groups, q.size(3)});
    } else {
      k = repeatKv(k, groups);
      v = repeatKv(v, groups);
    }
  }
  Tensor out =
      attentionKernel(c, q, k, v, mask, p, causal && rows > 1 && !mask);
  out = reshape(out, {out.size(0), -1, rows, v.size(-1)});
  Tensor turned = transpose(out, 1, 2);
  return contiguous(turned);
}

// --- Around the layers -----------------------------------------------------

Tensor activation(const Context &c, const Tensor &x) {
  if (c.model.config.activation == hf::Activation::Silu)
    return silu(x);
  if (!c.model.config.geluInSteps)
    return gelu(x);
  Tensor half = mulScalar(x), inner;
  inner = pow(x, 3);
  inner = mulScalar(inner);
  inner = add(x, inner);
  inner = mulScalar(inner);
  inner = tanh(inner);
  inner = addScalar(inner);
  return mul(half, inner);
}

Tensor causalLoss(const Context &c, Tensor logits, const Tensor &given) {
  logits = to(logits, DType::F32);
  Tensor labels = padEnd(given, 1);
  Tensor shifted = slice(labels, -1, 1, labels.size(-1));
  shifted = contiguous(shifted);
  logits = view(logits, {-1, c.v});
  shifted = view(shifted, {-1});
  return crossEntropy(logits, shifted);
}

namespace {
/// Allocations in its scope belong to that layer. RAII, because a recomputation
/// may stop early by an exception.
class InLayer {
public:
  explicit InLayer(int layer)
      : around(std::exchange(session->log->layer, layer)) {}
  ~InLayer() { session->log->layer = around; }
  InLayer(const InLayer &) = delete;

private:
  int around;
};
} // namespace

Tensor runLayers(const Context &c, Tensor hidden, const Tensors &others,
                 const std::function<Function(int)> &bind) {
  auto arguments = [&](const Tensor &x) {
    Tensors all{x};
    all.insert(all.end(), others.begin(), others.end());
    return all;
  };
  int count = c.model.config.layers;
  auto numbered = [&](int i) -> Function {
    return [i, run = bind(i)](const Tensors &given) {
      InLayer in(i);
      return run(given);
    };
  };
  if (c.options.segments.empty()) {
    for (int i = 0; i < count; ++i)
      hidden = numbered(i)(arguments(hidden));
    return hidden;
  }
  int at = 0;
  for (int64_t to : c.options.segments) {
    std::vector<Function> layers;
    for (; at < to; ++at)
      layers.push_back(numbered(at));
    Function run = [layers](const Tensors &given) {
      Tensors now = given;
      for (const Function &layer : layers)
        now[0] = layer(now);
      return now[0];
    };
    // A reentrant checkpoint's node belongs to its first layer.
    InLayer in(at - int(layers.size()));
    hidden = checkpoint(run, arguments(hidden), c.options.reentrant);
  }
  return hidden;
}

std::pair<Tensor, Tensor> runAttention(
    const Context &c, const Tensor &hidden,
    const std::function<std::pair<Tensor, Tensor>(const Tensor &)> &module) {
  if (!c.options.checkpointAttention)
    return module(hidden);
  Function first = [module, layer = session->log->layer](const Tensors &given) {
    InLayer in(layer);
    return module(given[0]).first;
  };
  return {checkpoint(first, {hidden}, c.options.reentrant), Tensor()};
}

} // namespace act::eager
