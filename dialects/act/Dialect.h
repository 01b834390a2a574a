// SPDX-License-Identifier: Apache-2.0
//
// The act dialect: the one header its users include.
#ifndef ACT_DIALECTS_ACT_DIALECT_H
#define ACT_DIALECTS_ACT_DIALECT_H
#include "dialects/act/OpTraits.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/act/Dialect.h.inc"
#include "dialects/act/Enums.h.inc"

namespace act {

/// An op's cost class, for rematerialisation and kernel forming.
enum class CostClass {
  View,      ///< costs nothing: read through, replayed, never saved
  Reference, ///< a parameter, a constant, a random site: never saved
  Cheap,     ///< elementwise work, norms, masks: memory-bound
  Statistic, ///< as Cheap, but withStatistics: its small results are kept
  Gemm,      ///< a matrix product
  Attention, ///< fused attention
  Loss,      ///< fused linear + cross entropy
  Effect     ///< changes persistent buffers
};

/// What an op does to one of them.
struct BufferUse {
  enum Access {
    Read,
    Update,    ///< read and written
    Overwrite, ///< written, never read; bound in place
    Fill       ///< written only: an output of the kernel, no argument
  };
  ParameterBuffer buffer;
  Access access;
};

/// Which of its linalg forms an op is lowered to.
enum class LinalgForm {
  Tiles, ///< lowerToLinalg, for the host: attention in loops over tiles
  Sums,  ///< lowerToSums, for --convert-linalg-to-tile: no loops
};

/// Where a stage of an op runs among the kernels of its group. Own and Last
/// differ if several ops of a group have stages.
struct KernelStage {
  enum Kernel {
    Main, ///< with the group's other ops
    Own,  ///< in a kernel of its own behind that one, in the order of stages
    Last  ///< in the group's last kernel, with other such stages
  } kernel = Main;
  bool isMain = false; ///< its kernel is the one with the group's FLOPs
};
class StageBuilder; // KernelForm.h

} // namespace act

#include "dialects/act/Interfaces.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/act/Types.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/act/Attrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/act/Ops.h.inc"

namespace act {
/// The role of argument `argument` of a kernel's function, or null.
ArgumentRoleAttr roleOf(mlir::FunctionOpInterface function, unsigned argument);
} // namespace act
#endif
