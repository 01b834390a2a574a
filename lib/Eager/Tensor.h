// SPDX-License-Identifier: Apache-2.0
//
// Tensors without values: shape, strides, element type, and a storage whose
// lifetime this library tracks.
//
// Names and lifetimes are PyTorch's. A Tensor is a handle that points to an
// Impl; impls that are views of each other share a Storage. All three count
// references as PyTorch's do, because PyTorch depends on the counts: the engine
// adds to a gradient in place only if nothing else holds it, and a view holds
// the tensor that it views.
//
// So code that uses Tensors must release them where Python or C++ would: a
// local of a Python function lives until the function returns, a temporary
// argument until the call returns.
#ifndef ACT_LIB_EAGER_TENSOR_H
#define ACT_LIB_EAGER_TENSOR_H
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace act::eager {

using Shape = std::vector<int64_t>;

enum class DType : uint8_t { F32, F16, BF16, I64, U64, Bool };
int64_t size(DType type);
const char *name(DType type); // as torch prints it: "bfloat16"

class Log;
struct Node;
struct Impl;

/// Bytes on the device, from the operator that makes them to the last
/// reference.
struct Storage {
  Storage(std::shared_ptr<Log> log, int64_t bytes, const char *op);
  ~Storage();
  Storage(const Storage &) = delete;
  Storage &operator=(const Storage &) = delete;

  std::shared_ptr<Log> log;
  int64_t number; // of its record in the log; -1: not counted (a parameter)
  int64_t bytes;
};

class Tensor {
public:
  Tensor() = default;
  explicit Tensor(std::shared_ptr<Impl> impl) : impl(std::move(impl)) {}

  explicit operator bool() const { return bool(impl); }
  Impl *operator->() const { return impl.get(); }
  const std::shared_ptr<Impl> &shared() const { return impl; }
  bool same(const Tensor &other) const { return impl == other.impl; }

  int64_t dim() const;
  int64_t size(int64_t d) const; // negative: from the end
  int64_t numel() const;
  const Shape &sizes() const;
  DType dtype() const;
  bool requiresGrad() const;
  bool contiguous() const;
  /// Whether its elements fill a contiguous range of memory, in any order.
  bool dense() const;

private:
  std::shared_ptr<Impl> impl;
};
using Tensors = std::vector<Tensor>;

struct Impl {
  std::shared_ptr<Storage> storage;
  Shape sizes, strides;
  DType dtype = DType::F32;
  std::shared_ptr<Impl> base; // root of the tensors that this is a view of

  const char *name = "";  // of a parameter or buffer
  bool leaf = false;      // requires a gradient by itself
  bool parameter = false; // whose gradient is counted apart
  std::shared_ptr<Node> gradFn;
  unsigned outputNr = 0;
  std::weak_ptr<Node> accumulator; // of a leaf
  Tensor grad;                     // of a leaf
};

int64_t product(const Shape &shape);
Shape contiguousStrides(const Shape &shape);
/// Computes the strides of a view of shape `shape` on `sizes` and `strides`, if
/// one exists without a copy. As at::detail::computeStride.
bool viewStrides(const Shape &sizes, const Shape &strides, const Shape &shape,
                 Shape &result);
/// The strides of an elementwise operator's result: those of the first operand
/// that determines them. As TensorIterator.
Shape elementwiseStrides(const Tensors &operands, const Shape &shape);
Shape broadcast(const Shape &a, const Shape &b);

} // namespace act::eager
#endif
