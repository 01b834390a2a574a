// SPDX-License-Identifier: Apache-2.0
// Views, copies, and other operators that only move data.
#include "lib/Eager/Ops.h"
#include <algorithm>
#include <stdexcept>

namespace act::eager {

// Each operator is one moment of the log.
static void tick() { ++session->log->now; }

// As in PyTorch, a view of a view has the first tensor as its base. It holds
// that tensor, not only the storage.
static Tensor viewOf(const Tensor &x, Shape sizes, Shape strides) {
  auto impl = std::make_shared<Impl>();
  impl->storage = x->storage;
  impl->sizes = std::move(sizes);
  impl->strides = std::move(strides);
  impl->dtype = x.dtype();
  impl->base = x->base ? x->base : x.shared();
  return Tensor(impl);
}

Tensor allocate(const char *op, Shape sizes, Shape strides, DType dtype) {
  // Sums over a step stay within 63 bits.
  constexpr int64_t most = int64_t(1) << 48;
  int64_t bytes = size(dtype);
  for (int64_t d : sizes)
    if (__builtin_mul_overflow(bytes, d, &bytes) || bytes > most)
      throw Unsupported{
          std::string("a tensor of more than 2^48 bytes, made by ") + op};
  auto impl = std::make_shared<Impl>();
  impl->storage = std::make_shared<Storage>(session->log, bytes, op);
  if (impl->storage->number >= 0) {
    Allocation &a = session->log->allocations[impl->storage->number];
    a.shape = sizes;
    a.dtype = name(dtype);
  }
  impl->sizes = std::move(sizes);
  impl->strides = std::move(strides);
  impl->dtype = dtype;
  return Tensor(impl);
}

// Shares the storage but neither the node nor the base, so it keeps no graph
// alive.
Tensor detach(const Tensor &x) {
  auto impl = std::make_shared<Impl>();
  impl->storage = x->storage;
  impl->sizes = x->sizes;
  impl->strides = x->strides;
  impl->dtype = x->dtype;
  return Tensor(impl);
}

// Without an operator the storage is not logged: it exists before and after the
// step, and is listed as resident.
Tensor buffer(const char *name, const Shape &shape, DType dtype) {
  auto impl = std::make_shared<Impl>();
  impl->storage = std::make_shared<Storage>(
      session->log, product(shape) * size(dtype), nullptr);
  session->log->resident.push_back({name, impl->storage->bytes});
  impl->name = name;
  impl->sizes = shape;
  impl->strides = contiguousStrides(shape);
  impl->dtype = dtype;
  return Tensor(impl);
}

Tensor parameter(const char *name, const Shape &shape, DType dtype) {
  Tensor p = buffer(name, shape, dtype);
  p->leaf = p->parameter = true;
  return p;
}

Tensor result(const char *op, const Shape &shape, DType dtype) {
  tick();
  return allocate(op, shape, contiguousStrides(shape), dtype);
}

Tensor make(const char *op, const Shape &shape, DType dtype,
            const Tensors &operands) {
  Tensor out = result(op, shape, dtype);
  heard(op, operands, {out}, nullptr);
  return out;
}

Tensor elementwise(const char *op, const Tensors &operands, DType dtype) {
  Tensor out = pointwise(op, operands, dtype);
  heard(op, operands, {out}, nullptr);
  return out;
}

Tensor pointwise(const char *op, const Tensors &operands, DType dtype) {
  tick();
  Shape shape;
  for (const Tensor &t : operands)
    shape = broadcast(shape, t.sizes());
  Shape strides = elementwiseStrides(operands, shape);
  Tensor out = allocate(op, std::move(shape), std::move(strides), dtype);
  return out;
}

// Backward reshapes, because the gradient that arrives may have a layout that
// allows no view.
Tensor view(const Tensor &x, const Shape &shape) {
  Recorder node("ViewBackward0", {x});
  tick();
  Shape sizes = shape, strides;
  int64_t known = 1, open = -1;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] < 0)
      open = i;
    else
      known *= sizes[i];
  if (open >= 0)
    sizes[open] = x.numel() / known;
  if (!viewStrides(x.sizes(), x->strides, sizes, strides))
    throw std::logic_error("a view of a tensor whose layout does not allow it");
  Tensor out = viewOf(x, sizes, strides);
  node.finish({out}, [shape = x.sizes()](Node &, Tensors &g) {
    return Tensors{reshape(g[0], shape)};
  });
  heard("view", {x}, {out}, node.get());
  return out;
}

// As view, for a tensor without other users; autograd does not treat it as one.
Tensor unsafeReshape(const Tensor &x, const Shape &shape) {
  Recorder node("UnsafeViewBackward0", {x});
  tick();
  Shape strides;
  viewStrides(x.sizes(), x->strides, shape, strides);
  Tensor out = viewOf(x, shape, strides);
  out->base = nullptr;
  node.finish({out}, [shape = x.sizes()](Node &, Tensors &g) {
    return Tensors{reshape(g[0], shape)};
  });
  heard("_unsafe_view", {x}, {out}, node.get());
  return out;
}

Tensor transpose(const Tensor &x, int64_t a, int64_t b) {
  if (a < 0)
    a += x.dim();
  if (b < 0)
    b += x.dim();
  Recorder node("TransposeBackward0", {x});
  tick();
  Shape sizes = x.sizes(), strides = x->strides;
  std::swap(sizes[a], sizes[b]);
  std::swap(strides[a], strides[b]);
  Tensor out = viewOf(x, std::move(sizes), std::move(strides));
  node.finish({out}, [a, b](Node &, Tensors &g) {
    return Tensors{transpose(g[0], a, b)};
  });
  heard("transpose", {x}, {out}, node.get());
  return out;
}

Tensor t(const Tensor &x) {
  Recorder node("TBackward0", {x});
  tick();
  Shape sizes = x.sizes(), strides = x->strides;
  std::swap(sizes[0], sizes[1]);
  std::swap(strides[0], strides[1]);
  Tensor out = viewOf(x, std::move(sizes), std::move(strides));
  node.finish({out}, [](Node &, Tensors &g) { return Tensors{t(g[0])}; });
  heard("t", {x}, {out}, node.get());
  return out;
}

// Used only by a backward formula, which runs without recording. So it makes no
// node.
static Tensor squeeze(const Tensor &x, int64_t d) {
  tick();
  Shape sizes = x.sizes(), strides = x->strides;
  sizes.erase(sizes.begin() + d);
  strides.erase(strides.begin() + d);
  return viewOf(x, std::move(sizes), std::move(strides));
}

Tensor unsqueeze(const Tensor &x, int64_t d) {
  if (d < 0)
    d += x.dim() + 1;
  Recorder node("UnsqueezeBackward0", {x});
  tick();
  Shape sizes = x.sizes(), strides = x->strides;
  int64_t stride = d < x.dim() ? sizes[d] * strides[d] : 1;
  sizes.insert(sizes.begin() + d, 1);
  strides.insert(strides.begin() + d, stride);
  Tensor out = viewOf(x, std::move(sizes), std::move(strides));
  node.finish({out},
              [d](Node &, Tensors &g) { return Tensors{squeeze(g[0], d)}; });
  heard("unsqueeze", {x}, {out}, node.get());
  return out;
}

Tensor expand(const Tensor &x, const Shape &shape) {
  Recorder node("ExpandBackward0", {x});
  tick();
  Shape sizes = shape, strides(shape.size(), 0);
  int64_t offset = int64_t(shape.size()) - x.dim();
  // As expand does: a dimension that grows has stride 0; a new one of extent 1
  // continues the one after it.
  for (int64_t i = int64_t(shape.size()) - 1; i >= 0; --i) {
    int64_t d = i - offset;
    int64_t have = d >= 0 ? x.sizes()[d] : 1;
    int64_t stride =
        d >= 0 ? x->strides[d]
               : (i + 1 < int64_t(sizes.size()) ? sizes[i + 1] * strides[i + 1]
                                                : 1);
    if (sizes[i] < 0)
      sizes[i] = have;
    strides[i] = have != sizes[i] ? 0 : stride;
  }
  Tensor out = viewOf(x, std::move(sizes), std::move(strides));
  node.finish({out}, [shape = x.sizes()](Node &, Tensors &g) {
    return Tensors{sumTo(g[0], shape)};
  });
  heard("expand", {x}, {out}, node.get());
  return out;
}

Tensor alias(const Tensor &x) {
  Recorder node("AliasBackward0", {x});
  tick();
  Tensor out = viewOf(x, x.sizes(), x->strides);
  node.finish({out}, [](Node &, Tensors &g) { return Tensors{g[0]}; });
  heard("alias", {x}, {out}, node.get());
  return out;
}

// Backward makes a tensor of the whole size, zero outside of the slice.
Tensor slice(const Tensor &x, int64_t d, int64_t from, int64_t to) {
  if (d < 0)
    d += x.dim();
  Recorder node("SliceBackward0", {x});
  tick();
  Shape sizes = x.sizes();
  sizes[d] = to - from;
  Tensor out = viewOf(x, std::move(sizes), x->strides);
  node.finish({out}, [shape = x.sizes()](Node &, Tensors &g) {
    return Tensors{result("slice_backward", shape, g[0].dtype())};
  });
  heard("slice", {x}, {out}, node.get());
  return out;
}

Tensors split(const Tensor &x, int64_t part, int64_t d) {
  Recorder node("SplitBackward0", {x});
  tick();
  Tensors out;
  for (int64_t from = 0; from < x.sizes()[d]; from += part) {
    Shape sizes = x.sizes();
    sizes[d] = std::min(part, x.sizes()[d] - from);
    out.push_back(viewOf(x, std::move(sizes), x->strides));
  }
  // The models split only into queries, keys and values.
  if (out.size() == 3)
    node.finish({out[0], out[1], out[2]}, [d](Node &, Tensors &g) {
      return Tensors{cat({g[0], g[1], g[2]}, d)};
    });
  heard("split", {x}, out, node.get());
  return out;
}

Tensor clone(const Tensor &x) {
  Recorder node("CloneBackward0", {x});
  tick();
  Tensor out =
      allocate("clone", x.sizes(), contiguousStrides(x.sizes()), x.dtype());
  node.finish({out}, [](Node &, Tensors &g) { return Tensors{g[0]}; });
  heard("clone", {x}, {out}, node.get());
  return out;
}

Tensor contiguous(const Tensor &x) { return x.contiguous() ? x : clone(x); }

// A view if the layout allows it, else a copy. Whether it copies decides much
// of a model's memory: attention's heads, transposed, have no view with heads
// and elements merged.
Tensor reshape(const Tensor &x, const Shape &shape) {
  Shape sizes = shape, strides;
  int64_t known = 1, open = -1;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] < 0)
      open = i;
    else
      known *= sizes[i];
  if (open >= 0)
    sizes[open] = x.numel() / known;
  if (viewStrides(x.sizes(), x->strides, sizes, strides))
    return view(x, sizes);
  Tensor copy = clone(x);
  return unsafeReshape(copy, sizes);
}

// A conversion to the tensor's own type returns the tensor itself and makes no
// node, as in PyTorch.
Tensor to(const Tensor &x, DType dtype) {
  if (x.dtype() == dtype)
    return x;
  Recorder node("ToCopyBackward0", {x});
  tick();
  Shape strides = x.dense() ? x->strides : elementwiseStrides({x}, x.sizes());
  Tensor out = allocate("_to_copy", x.sizes(), std::move(strides), dtype);
  node.finish({out}, [from = x.dtype()](Node &, Tensors &g) {
    return Tensors{to(g[0], from)};
  });
  heard("_to_copy", {x}, {out}, node.get());
  return out;
}

Tensor cat(const Tensors &parts, int64_t d) {
  if (d < 0)
    d += parts.front().dim();
  Recorder node("CatBackward0", parts);
  tick();
  Shape sizes = parts.front().sizes();
  sizes[d] = 0;
  std::vector<int64_t> widths;
  for (const Tensor &p : parts) {
    sizes[d] += p.sizes()[d];
    widths.push_back(p.sizes()[d]);
  }
  Tensor out =
      allocate("cat", sizes, contiguousStrides(sizes), parts.front().dtype());
  node.finish({out}, [widths, d](Node &, Tensors &g) {
    Tensors grads;
    int64_t from = 0;
    for (int64_t w : widths) {
      grads.push_back(slice(g[0], d, from, from + w));
      from += w;
    }
    return grads;
  });
  heard("cat", parts, {out}, node.get());
  return out;
}

Tensor padEnd(const Tensor &x, int64_t count) {
  Recorder node("ConstantPadNdBackward0", {x});
  tick();
  Shape sizes = x.sizes();
  sizes.back() += count;
  Tensor out =
      allocate("constant_pad_nd", sizes, contiguousStrides(sizes), x.dtype());
  // Padding by a negative amount, which makes a copy.
  node.finish({out}, [count](Node &, Tensors &g) {
    tick();
    Shape sizes = g[0].sizes();
    sizes.back() -= count;
    return Tensors{allocate("constant_pad_nd", sizes, contiguousStrides(sizes),
                            g[0].dtype())};
  });
  heard("constant_pad_nd", {x}, {out}, node.get());
  return out;
}

// Composed as in PyTorch: a new dimension, expanded, merged with its neighbour.
Tensor repeatInterleave(const Tensor &x, int64_t times, int64_t d) {
  if (d < 0)
    d += x.dim();
  Tensor wide = unsqueeze(x, d + 1);
  Shape sizes = wide.sizes();
  sizes[d + 1] = times;
  Tensor expanded = expand(wide, sizes);
  Tensor copy = clone(expanded);
  Shape flat = x.sizes();
  flat[d] *= times;
  return view(copy, flat);
}

} // namespace act::eager
