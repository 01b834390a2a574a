// SPDX-License-Identifier: Apache-2.0
//
// Handles, impls and storages, and what happens when the last reference to one
// goes.
#include "lib/Eager/Tensor.h"
#include "lib/Eager/Log.h"
#include <algorithm>
#include <numeric>

namespace act::eager {

int64_t size(DType type) {
  switch (type) {
  case DType::F32:
    return 4;
  case DType::F16:
  case DType::BF16:
    return 2;
  case DType::I64:
  case DType::U64:
    return 8;
  case DType::Bool:
    return 1;
  }
  return 0;
}

const char *name(DType type) {
  constexpr const char *names[] = {"float32", "float16", "bfloat16",
                                   "int64",   "uint64",  "bool"};
  return names[size_t(type)];
}

Storage::Storage(std::shared_ptr<Log> log, int64_t bytes, const char *op)
    : log(std::move(log)), number(-1), bytes(bytes) {
  if (op)
    number = this->log->born(bytes, op);
}

Storage::~Storage() {
  if (number >= 0)
    log->died(number);
}

int64_t Tensor::dim() const { return impl->sizes.size(); }
int64_t Tensor::size(int64_t d) const {
  return impl->sizes[d < 0 ? d + dim() : d];
}
int64_t Tensor::numel() const { return product(impl->sizes); }
const Shape &Tensor::sizes() const { return impl->sizes; }
DType Tensor::dtype() const { return impl->dtype; }
bool Tensor::requiresGrad() const {
  return impl && (impl->leaf || impl->gradFn);
}

/// A dimension of size 1 is never stepped over, so its stride does not matter.
bool Tensor::contiguous() const {
  int64_t expected = 1;
  for (int64_t d = dim() - 1; d >= 0; --d)
    if (impl->sizes[d] != 1) {
      if (impl->strides[d] != expected)
        return false;
      expected *= impl->sizes[d];
    }
  return true;
}

/// PyTorch's is_non_overlapping_and_dense: contiguous in some order of the
/// dimensions.
bool Tensor::dense() const {
  std::vector<std::pair<int64_t, int64_t>> order;
  for (int64_t d = 0; d < dim(); ++d)
    if (impl->sizes[d] != 1)
      order.push_back({impl->strides[d], impl->sizes[d]});
  std::sort(order.begin(), order.end());
  int64_t expected = 1;
  for (auto [stride, size] : order) {
    if (stride != expected)
      return false;
    expected *= size;
  }
  return true;
}

int64_t product(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<>());
}

Shape contiguousStrides(const Shape &shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (int64_t d = int64_t(shape.size()) - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= std::max<int64_t>(shape[d], 1);
  }
  return strides;
}

/// As ATen's computeStride: the new dimensions must tile each run of old
/// dimensions that are contiguous among themselves. False if no view has this
/// shape.
bool viewStrides(const Shape &sizes, const Shape &strides, const Shape &shape,
                 Shape &result) {
  if (sizes.empty()) {
    result.assign(shape.size(), 1);
    return true;
  }
  result.assign(shape.size(), 0);
  int64_t at = int64_t(shape.size()) - 1, chunkStride = strides.back();
  int64_t elements = 1, viewed = 1;
  for (int64_t d = int64_t(sizes.size()) - 1; d >= 0; --d) {
    elements *= sizes[d];
    // A chunk of old dimensions that are contiguous among themselves ends here.
    if (d > 0 &&
        (sizes[d - 1] == 1 || strides[d - 1] == elements * chunkStride))
      continue;
    while (at >= 0 && (viewed < elements || shape[at] == 1)) {
      result[at] = viewed * chunkStride;
      viewed *= shape[at];
      --at;
    }
    if (viewed != elements)
      return false;
    if (d > 0) {
      chunkStride = strides[d - 1];
      elements = viewed = 1;
    }
  }
  return at == -1;
}

Shape broadcast(const Shape &a, const Shape &b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (const Shape *s : {&a, &b})
    for (size_t i = 0; i < s->size(); ++i) {
      int64_t &o = out[out.size() - s->size() + i];
      if ((*s)[i] != 1)
        o = (*s)[i];
    }
  return out;
}

/// The layout of an elementwise result, as ATen's TensorIterator chooses it.
/// Equal layouts are kept. Otherwise the dimensions are sorted by the operands'
/// strides; the insertion sort is ATen's own, because its order of comparisons
/// decides cases that the strides leave open.
Shape elementwiseStrides(const Tensors &operands, const Shape &shape) {
  int64_t n = shape.size();
  bool same = true, allContiguous = true;
  for (const Tensor &t : operands) {
    same &= t.sizes() == shape;
    allContiguous &= t.contiguous();
  }
  if (same && allContiguous)
    return contiguousStrides(shape);
  if (same && operands.front().dense()) {
    bool equal = true;
    for (const Tensor &t : operands)
      equal &= t.dense() && t->strides == operands.front()->strides;
    if (equal)
      return operands.front()->strides;
  }
  std::vector<Shape> all;
  for (const Tensor &t : operands) {
    Shape strides(n, 0);
    int64_t offset = n - t.dim();
    for (int64_t d = 0; d < t.dim(); ++d)
      if (!(t.sizes()[d] == 1 && shape[offset + d] != 1))
        strides[offset + d] = t->strides[d] * size(t.dtype());
    all.push_back(std::move(strides));
  }
  // Dimensions from the fastest to the slowest.
  std::vector<int64_t> perm(n);
  for (int64_t i = 0; i < n; ++i)
    perm[i] = n - 1 - i;
  auto shouldSwap = [&](int64_t a, int64_t b) {
    for (const Shape &strides : all) {
      if (strides[a] == 0 || strides[b] == 0)
        continue;
      if (strides[a] < strides[b])
        return -1;
      if (strides[a] > strides[b])
        return 1;
      if (shape[a] > shape[b])
        return 1;
    }
    return 0;
  };
  for (int64_t i = 1; i < n; ++i) {
    int64_t moving = i;
    for (int64_t other = i - 1; other >= 0; --other) {
      int order = shouldSwap(perm[other], perm[moving]);
      if (order > 0) {
        std::swap(perm[other], perm[moving]);
        moving = other;
      } else if (order < 0) {
        break;
      }
    }
  }
  Shape strides(n);
  int64_t stride = 1;
  for (int64_t d : perm) {
    strides[d] = stride;
    stride *= std::max<int64_t>(shape[d], 1);
  }
  return strides;
}

} // namespace act::eager
