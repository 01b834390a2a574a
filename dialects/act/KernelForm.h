// SPDX-License-Identifier: Apache-2.0
//
// How ops take part in kernels: the questions of KernelOpInterface for any op,
// and what a stage of an op is lowered with.
#ifndef ACT_DIALECTS_ACT_KERNELFORM_H
#define ACT_DIALECTS_ACT_KERNELFORM_H
#include "dialects/act/Dialect.h"

namespace act {

// An op that implements ElementwiseOpInterface answers the first four with yes.
bool isElementwise(mlir::Operation *op);
bool readsElementwise(mlir::Operation *op);
bool takesEpilogue(mlir::Operation *op);
bool takesAccumulation(mlir::Operation *op);
bool isFree(mlir::Operation *op);
bool takesRowSum(mlir::Operation *op, mlir::Operation *sum);

/// The value before reshapes, which kernels read through.
mlir::Value beforeReshapes(mlir::Value v);

/// Lowers one stage of an op into a kernel. The kernel is a function whose
/// arguments and results are the memory that it reads and writes. `workspace`
/// is an index into the op's getWorkspaceTypes.
class StageBuilder {
public:
  StageBuilder(mlir::OpBuilder &b, LinalgForm form) : b(b), form(form) {}
  virtual ~StageBuilder() = default;

  /// What a value of the group is in this kernel; null if another makes it, or
  /// for a result that is not set yet.
  virtual mlir::Value lookup(mlir::Value v) = 0;
  llvm::SmallVector<mlir::Value> operands(mlir::Operation *op);
  /// Says what a result of the op is. Until then, it is made by another kernel.
  virtual void set(mlir::Value result, mlir::Value v) = 0;

  /// Reads what an earlier stage has written. With `rowElements`, it is stored
  /// in tiles of 8 rows, each of that many elements.
  virtual mlir::Value read(unsigned workspace, int64_t rowElements = 0) = 0;
  /// `v` has the workspace's element type and as many elements, in any shape.
  virtual void write(unsigned workspace, mlir::Value v) = 0;
  /// Lowers the op's effect on its parameter in this stage.
  virtual llvm::LogicalResult lowerEffect(ParameterEffectOpInterface op) = 0;
  virtual mlir::Value readScratch() = 0;
  virtual void writeScratch(mlir::Value v) = 0;
  /// Programs add their part of `v` to workspace `sum`, one after the other.
  /// The i32 workspaces `turns` and `ticket`, zeros before, keep the order.
  virtual void addInTurns(mlir::Value v, unsigned sum, unsigned turns,
                          unsigned ticket, int64_t rowElements = 0) = 0;
  /// `v` is a sum over rows. Each of a number of programs stores the sum of its
  /// rows in one row of the workspace.
  virtual void storeParts(mlir::Value v, unsigned workspace) = 0;

  mlir::OpBuilder &b;
  const LinalgForm form;
};

} // namespace act
#endif
