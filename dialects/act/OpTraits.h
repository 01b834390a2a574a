// SPDX-License-Identifier: Apache-2.0
//
// Verification shared by many ops.
//
// NamedDimensions: every tensor of an act op has a size that can be stated. A
// dimension is a positive number, or a name (`#act.dims`) that stands for one,
// and a static tensor's bytes fit in 63 bits. Passes and analyses rely on it
// and do not check again.
//
// AgreeingTypes: some operands and results have the same type, and the message
// names the one that differs.
#ifndef ACT_DIALECTS_ACT_OPTRAITS_H
#define ACT_DIALECTS_ACT_OPTRAITS_H
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

namespace act {
namespace impl {
llvm::LogicalResult verifyNamedDimensions(mlir::Operation *op);
/// The rule for one tensor; `what` names it in the message.
llvm::LogicalResult verifyNamedTensor(mlir::Operation *op,
                                      const llvm::Twine &what,
                                      mlir::RankedTensorType type);
/// Names are of accessors, `DGate` for d_gate.
llvm::LogicalResult
verifyAgreeing(mlir::Operation *op,
               llvm::ArrayRef<std::pair<llvm::StringRef, mlir::Value>> values);
/// Placeholder for a comparison that AgreeingTypes or verify() makes.
constexpr bool checkedByName(mlir::Type, mlir::Type) { return true; }
} // namespace impl

template <typename ConcreteType>
class NamedDimensions
    : public mlir::OpTrait::TraitBase<ConcreteType, NamedDimensions> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return impl::verifyNamedDimensions(op);
  }
};

template <typename ConcreteType>
class AgreeingTypes
    : public mlir::OpTrait::TraitBase<ConcreteType, AgreeingTypes> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return impl::verifyAgreeing(op, llvm::cast<ConcreteType>(op).getAgreeing());
  }
};
} // namespace act
#endif
