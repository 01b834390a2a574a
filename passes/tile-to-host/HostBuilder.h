// SPDX-License-Identifier: Apache-2.0
//
// Builds a kernel on blocks as code for one CPU thread.
//
// Every block value has its own buffer, written once where the value is
// defined, or at the end of each iteration for loop-carried blocks. Blocks and
// buffers have static shapes, so nothing is allocated at run time. Scalars stay
// scalars.
#ifndef ACT_PASSES_TILETOHOST_HOSTBUILDER_H
#define ACT_PASSES_TILETOHOST_HOSTBUILDER_H
#include "mlir/IR/IRMapping.h"
#include "passes/tile-to-host/Passes.h"

namespace act::tile {

class HostBuilder {
public:
  HostBuilder(mlir::gpu::GPUFuncOp kernel, mlir::OpBuilder &b)
      : b(b), loc(kernel.getLoc()), kernel(kernel) {}

  static bool isBlock(mlir::Type type) {
    return mlir::isa<mlir::RankedTensorType>(type);
  }
  static bool isBlock(mlir::Value v) { return isBlock(v.getType()); }

  /// The buffer of a block value that has been lowered.
  mlir::Value of(mlir::Value block);
  /// A fresh buffer for a block value.
  mlir::Value make(mlir::Value block);
  mlir::Value buffer(mlir::RankedTensorType type);
  void set(mlir::Value block, mlir::Value memory) { buffers[block] = memory; }
  mlir::Value scalar(mlir::Value v) { return scalars.lookup(v); }

  /// One element; positions have type index.
  mlir::Value read(mlir::Value memory, mlir::ValueRange at, mlir::Type element);
  void write(mlir::Value v, mlir::Value memory, mlir::ValueRange at);
  /// The element of a block at `at`, or the scalar.
  mlir::Value element(mlir::Value value, mlir::ValueRange at);
  void copy(mlir::Value from, mlir::Value to);
  /// Calls `body` once, inside loops over the shape.
  void forEach(llvm::ArrayRef<int64_t> shape,
               llvm::function_ref<void(mlir::ValueRange)> body);
  /// A loop over [from, to) that carries scalars.
  llvm::SmallVector<mlir::Value>
  loop(int64_t from, int64_t to, mlir::ValueRange inits,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                         mlir::ValueRange)>
           body);

  mlir::Value index(int64_t v);
  mlir::Value i64(int64_t v);
  mlir::Value asIndex(mlir::Value v); // signed
  mlir::Value word(int number);       // of the context
  void setWord(int number, mlir::Value v);
  /// If `fails`, records the message and the current location as the failure.
  void check(mlir::Value fails, const llvm::Twine &message) {
    check(fails, message, 1);
  }
  /// Charges the steps of `bodies`, without those of inner loops; false if the
  /// launch has run out of steps.
  mlir::Value takeSteps(llvm::ArrayRef<mlir::Block *> bodies);

  mlir::OpBuilder &b;
  mlir::Location loc; // of the current op
  mlir::gpu::GPUFuncOp kernel;
  mlir::IRMapping scalars;
  mlir::Value context, programNumber; // !llvm.ptr, i64
  llvm::SmallVector<mlir::Attribute> checks;

private:
  void check(mlir::Value fails, const llvm::Twine &message, int sign);

  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
};

/// Unsupported cases are reported at the op.
mlir::LogicalResult lowerOp(mlir::Operation *op, HostBuilder &h);
mlir::LogicalResult lowerBlockOp(mlir::Operation *op, HostBuilder &h);
mlir::LogicalResult lowerShape(mlir::Operation *op, HostBuilder &h);
mlir::LogicalResult lowerMemory(mlir::Operation *op, HostBuilder &h);
mlir::LogicalResult lowerTurn(mlir::Operation *op, HostBuilder &h);
mlir::LogicalResult lowerCombine(mlir::Operation *op, HostBuilder &h);
mlir::LogicalResult lowerDot(DotOp op, HostBuilder &h);
mlir::LogicalResult lowerDebug(mlir::Operation *op, HostBuilder &h);
mlir::LogicalResult lowerControl(mlir::Operation *op, HostBuilder &h);

} // namespace act::tile
#endif
