// SPDX-License-Identifier: Apache-2.0
//
// Finds what looks like attention, for remarks only; nothing found here is
// rewritten. Ops of dialects that are not registered have only a name to go by,
// so names are compared loosely.
#include "passes/fuse/FindAttention.h"
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace act {
namespace {

/// The name without its dialect: "aten.softmax.int" of torch.aten.softmax.int.
/// Works for registered and unregistered ops.
std::string nameOf(Operation *op) {
  return op->getName().getStringRef().split('.').second.lower();
}

bool isAnyOf(StringRef name, std::initializer_list<StringRef> names) {
  return llvm::is_contained(names, name);
}

template <typename... Ops> bool bodyHas(linalg::LinalgOp op) {
  return llvm::any_of(op.getBlock()->getOperations(),
                      [](Operation &o) { return isa<Ops...>(o); });
}

bool isProduct(Operation *op) {
  if (isa<linalg::GenericOp>(op)) {
    auto generic = cast<linalg::LinalgOp>(op);
    return generic.getNumReductionLoops() && generic.getNumDpsInputs() >= 2 &&
           bodyHas<arith::MulFOp>(generic) && bodyHas<arith::AddFOp>(generic);
  }
  std::string name = nameOf(op);
  StringRef n = name;
  return n.contains("matmul") || n.contains("gemm") || n.contains("bmm") ||
         n.contains("einsum") || n.ends_with(".mm") || n.ends_with("linear") ||
         isAnyOf(n, {"dot", "dot_general", "contract", "mm"});
}

bool isSoftmax(Operation *op) {
  return StringRef(nameOf(op)).contains("softmax");
}

bool isExponential(Operation *op) {
  if (auto linalg = dyn_cast<linalg::LinalgOp>(op))
    return !linalg.getNumReductionLoops() &&
           bodyHas<math::ExpOp, math::Exp2Op>(linalg);
  std::string name = nameOf(op);
  return isAnyOf(name, {"exp", "exp2", "exponential", "aten.exp"});
}

bool isSum(Operation *op) {
  if (auto linalg = dyn_cast<linalg::LinalgOp>(op))
    return linalg.getNumReductionLoops() && !isProduct(op);
  std::string name = nameOf(op);
  StringRef n = name;
  return n.contains("reduce") || n.contains("sum");
}

bool isView(Operation *op) {
  std::string name = nameOf(op);
  StringRef n = name;
  return llvm::any_of(ArrayRef<StringRef>{"reshape", "cast", "convert",
                                          "transpose", "broadcast", "expand",
                                          "collapse"},
                      [&](StringRef view) { return n.contains(view); });
}

/// Whether `next` leads from `op`, through ops other than products, to an op
/// that `found` accepts. Visits at most 256 ops: attention has far fewer
/// between its two products.
template <typename Next, typename Found>
bool leads(Operation *op, Next next, Found found) {
  constexpr size_t most = 256;
  llvm::SmallPtrSet<Operation *, 32> seen{op};
  SmallVector<Operation *> list{op};
  for (size_t i = 0; i < list.size() && i < most; ++i)
    for (Operation *other : next(list[i])) {
      if (!other || !seen.insert(other).second)
        continue;
      if (found(other))
        return true;
      if (!isProduct(other))
        list.push_back(other);
    }
  return false;
}

SmallVector<Operation *> sources(Operation *op) {
  SmallVector<Operation *> ops;
  for (Value operand : op->getOperands())
    ops.push_back(operand.getDefiningOp());
  return ops;
}

SmallVector<Operation *> readers(Operation *op) {
  return llvm::to_vector(op->getUsers());
}

/// A sigmoid also divides by an exponential, but only a softmax sums it.
bool isSummedUp(Operation *exponential) {
  return leads(
      exponential,
      [](Operation *op) {
        return llvm::filter_to_vector(
            readers(op), [](Operation *o) { return isSum(o) || isView(o); });
      },
      isSum);
}

} // namespace

bool standsBetweenProducts(Operation *op) {
  return leads(op, sources, isProduct) && leads(op, readers, isProduct);
}

// An attention is one op with a telling name, or a softmax between two
// products, where a softmax may also be an exponential whose results are
// summed.
SmallVector<Operation *> findForeignAttention(ModuleOp module) {
  SmallVector<Operation *> found;
  module.walk([&](Operation *op) {
    if (isa_and_nonnull<ActDialect>(op->getDialect()) || !op->getNumResults())
      return;
    std::string name = nameOf(op);
    bool attends = StringRef(name).contains("scaled_dot_product") ||
                   StringRef(name).contains("attention");
    bool weighs = isSoftmax(op) || (isExponential(op) && isSummedUp(op));
    if (attends || (weighs && standsBetweenProducts(op)))
      found.push_back(op);
  });
  return found;
}

} // namespace act
