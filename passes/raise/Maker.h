// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_RAISE_MAKER_H
#define ACT_PASSES_RAISE_MAKER_H
#include "dialects/act/Dialect.h"
#include "passes/raise/LinalgForm.h"

namespace act {

/// Whether act has tensors of this type, and no letters would be needed.
inline bool isActType(mlir::Type type) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || tensor.getEncoding())
    return false;
  mlir::Type e = tensor.getElementType();
  return mlir::isa<mlir::Float64Type, mlir::Float32Type, mlir::BFloat16Type,
                   mlir::Float16Type>(e) ||
         e.isInteger(1) || e.isInteger(32) || e.isInteger(64);
}

/// Makes act ops at one place.
struct Maker {
  mlir::OpBuilder &b;
  mlir::Location loc;

  mlir::RankedTensorType shaped(mlir::RankedTensorType like,
                                llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, like.getElementType());
  }
  mlir::Value reshaped(mlir::Value v, llvm::ArrayRef<int64_t> shape) {
    if (typeOf(v).getShape() == shape)
      return v;
    return ReshapeOp::create(b, loc, shaped(typeOf(v), shape), v);
  }
  mlir::Value transposed(mlir::Value v, llvm::ArrayRef<int64_t> permutation) {
    if (llvm::equal(permutation,
                    llvm::seq<int64_t>(0, int64_t(permutation.size()))))
      return v;
    return TransposeOp::create(b, loc, v, permutation);
  }
  mlir::Value expanded(mlir::Value v, llvm::ArrayRef<int64_t> shape) {
    if (typeOf(v).getShape() == shape)
      return v;
    if (typeOf(v).getRank() == 0)
      v = reshaped(v, llvm::SmallVector<int64_t>(shape.size(), 1));
    return ExpandOp::create(b, loc, shaped(typeOf(v), shape), v);
  }
  mlir::Value constant(mlir::Type element, double number) {
    return ConstantOp::create(b, loc, mlir::RankedTensorType::get({}, element),
                              number);
  }
  /// What is read, with the dimensions in the order `order`; others have size 1
  /// and disappear.
  mlir::Value inOrder(const Read &read, llvm::ArrayRef<unsigned> order) {
    llvm::SmallVector<unsigned> present = read.present();
    llvm::SmallVector<int64_t> shape, permutation;
    for (auto [size, d] : llvm::zip(typeOf(read.value).getShape(), read.dims))
      if (d)
        shape.push_back(size);
    for (unsigned d : order)
      permutation.push_back(llvm::find(present, d) - present.begin());
    return transposed(reshaped(read.value, shape), permutation);
  }
  /// What is read, with all dimensions of the iterations; those that it lacks
  /// have size 1.
  mlir::Value aligned(const Read &read, unsigned rank) {
    llvm::SmallVector<unsigned> order = read.present();
    llvm::sort(order);
    mlir::Value v = inOrder(read, order);
    llvm::SmallVector<int64_t> shape(rank, 1);
    for (auto [size, d] : llvm::zip(typeOf(v).getShape(), order))
      shape[d] = size;
    return reshaped(v, shape);
  }
};

} // namespace act
#endif
