// SPDX-License-Identifier: Apache-2.0
//
// The one rule that holds for every tensor an act op touches: its size can be
// stated. A dimension is a positive number, or a name (`#act.dims`) that stands
// for one, and a static tensor's bytes fit in 63 bits. Passes and analyses rely
// on it and do not check again.
#ifndef ACT_DIALECTS_ACT_NAMEDDIMENSIONS_H
#define ACT_DIALECTS_ACT_NAMEDDIMENSIONS_H
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

namespace act {
namespace impl {
llvm::LogicalResult verifyNamedDimensions(mlir::Operation *op);
/// The rule for one tensor; `what` names it in the message.
llvm::LogicalResult verifyNamedTensor(mlir::Operation *op,
                                      const llvm::Twine &what,
                                      mlir::RankedTensorType type);
} // namespace impl

template <typename ConcreteType>
class NamedDimensions
    : public mlir::OpTrait::TraitBase<ConcreteType, NamedDimensions> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return impl::verifyNamedDimensions(op);
  }
};
} // namespace act
#endif
