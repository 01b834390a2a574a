// SPDX-License-Identifier: Apache-2.0
//
// Builds kernels in C++: what a person would write as .mlir, one function call
// per op; result types are inferred. Softmax on each row of a matrix:
//
//   KernelBuilder k(module, "softmax", loc);
//   Value x = k.view({4096, 1000}, k.bf16());
//   Value y = k.view({4096, 1000}, k.bf16());
//   k.setGrid(256);
//   k.setSchedule(/*warps=*/8, /*stages=*/2);
//
//   Value row = k.mul(k.programId(), 16);
//   Value a = k.convert(k.load(x, {{row, 16}, {0, 1024}}, -INFINITY), k.f32());
//   Value e = k.exp(k.sub(a, k.along(k.maxOf(a, 1), 1, a)));
//   Value p = k.div(e, k.along(k.sumOf(e, 1), 1, e));
//   k.store(k.convert(p, k.bf16()), y, {{row, 16}, {0, 1024}});
//   gpu::GPUFuncOp kernel = k.finish();    // null, and a diagnostic, if wrong
//
// An access has one At per dimension of the view: {index, extent} is a
// dimension of the block, {index} alone is not. Indices are values or numbers.
//
// The builder adds nothing to the dialect: `b` is at the insertion point, for
// every op without a function here. Nothing is checked until finish() runs the
// verifier, except shapes needed for result types.
#ifndef ACT_DIALECTS_TILE_KERNELBUILDER_H
#define ACT_DIALECTS_TILE_KERNELBUILDER_H
#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace act::tile {

using mlir::Type;
using mlir::Value;
using mlir::ValueRange;

/// One dimension of an access.
struct At {
  At(Value index, int64_t extent = -1) : index(index), extent(extent) {}
  At(int64_t index, int64_t extent = -1) : number(index), extent(extent) {}
  Value index; ///< null: `number`
  int64_t number = 0;
  int64_t extent;
};

class KernelBuilder {
public:
  /// Begins a kernel at the end of `module`.
  KernelBuilder(mlir::gpu::GPUModuleOp module, llvm::StringRef name,
                mlir::Location loc);

  /// Ends the kernel and verifies it: null, and a diagnostic, if it is wrong.
  mlir::gpu::GPUFuncOp finish();

  void setGrid(int64_t x, int64_t y = 1, int64_t z = 1);
  /// `raster`: nothing, or rows that start together and programs per row.
  /// `copyWarps`: warps that copy, in addition to the computing `warps`.
  void setSchedule(int64_t warps, int64_t stages,
                   llvm::ArrayRef<int64_t> raster = {}, int64_t copyWarps = 0);

  // Arguments, in the order of the calls.
  Value view(llvm::ArrayRef<int64_t> shape, Type element);
  Value pointer(Type element);
  Value scalar(Type type);

  Type f32() { return b.getF32Type(); }
  Type f16() { return b.getF16Type(); }
  Type bf16() { return b.getBF16Type(); }
  Type i32() { return b.getI32Type(); }
  Type i64() { return b.getI64Type(); }

  // The grid, and numbers.
  Value programId(GridAxis axis = GridAxis::X);
  Value numPrograms(GridAxis axis = GridAxis::X);
  Value index(int64_t number);
  /// A number of a scalar type, or a block full of it.
  Value constant(double number, Type type);
  Value full(llvm::ArrayRef<int64_t> shape, Type element, double number);

  // Memory.
  /// Views with sizes of {n} and strides of {n} elements or values; no strides:
  /// row-major.
  Value viewOf(Value pointer, llvm::ArrayRef<mlir::OpFoldResult> sizes,
               llvm::ArrayRef<mlir::OpFoldResult> strides = {});
  Value load(Value view, llvm::ArrayRef<At> at,
             std::optional<double> pad = std::nullopt);
  void store(Value value, Value view, llvm::ArrayRef<At> at);
  void atomicAdd(Value value, Value view, llvm::ArrayRef<At> at);

  // Blocks.
  Value iota(int64_t start, int64_t end);
  Value splat(Value scalar, llvm::ArrayRef<int64_t> shape);
  Value trans(Value a);
  Value reshape(Value a, llvm::ArrayRef<int64_t> shape);
  Value expandDims(Value a, int64_t axis);
  Value broadcast(Value a, llvm::ArrayRef<int64_t> shape);
  /// The opposite of a reduction: `a`, which lacks the axis, repeated along it
  /// to the shape of `like`.
  Value along(Value a, int64_t axis, Value like);
  /// acc + a b, added up in the type of acc; without acc the sum starts at 0,
  /// in f32 for blocks of f16.
  Value dot(Value a, Value b, Value acc = {},
            DotPrecision precision = DotPrecision::IEEE);
  Value reduce(CombineKind kind, Value a, int64_t axis);
  Value sumOf(Value a, int64_t axis) {
    return reduce(CombineKind::Add, a, axis);
  }
  Value maxOf(Value a, int64_t axis) {
    return reduce(CombineKind::Max, a, axis);
  }

  // Element by element; of blocks of one type, or of scalars. A number stands
  // for itself in x's type.
  Value add(Value x, Value y);
  Value add(Value x, double y) { return add(x, constant(y, x.getType())); }
  Value sub(Value x, Value y);
  Value sub(Value x, double y) { return sub(x, constant(y, x.getType())); }
  Value mul(Value x, Value y);
  Value mul(Value x, double y) { return mul(x, constant(y, x.getType())); }
  Value div(Value x, Value y);
  Value div(Value x, double y) { return div(x, constant(y, x.getType())); }
  Value max(Value x, Value y);
  Value max(Value x, double y) { return max(x, constant(y, x.getType())); }
  Value min(Value x, Value y);
  Value min(Value x, double y) { return min(x, constant(y, x.getType())); }
  Value exp(Value x);
  Value exp2(Value x);
  Value log(Value x);
  Value sqrt(Value x);
  Value rsqrt(Value x);
  Value tanh(Value x);
  /// x < y, of signed integers or floats.
  Value less(Value x, Value y);
  Value select(Value condition, Value x, Value y);
  /// In another element type: float, integer (signed), or index for scalars.
  Value convert(Value x, Type element);

  // Control.
  using Body = llvm::function_ref<llvm::SmallVector<Value>(Value index,
                                                           ValueRange carried)>;
  /// for (i = lower; i < upper; i += step) carried = body(i, carried).
  llvm::SmallVector<Value> loop(Value lower, Value upper, Value step,
                                ValueRange carried, Body body);
  void when(Value condition, llvm::function_ref<void()> body);

  mlir::OpBuilder b;
  mlir::Location loc;

private:
  struct Access {
    llvm::SmallVector<Value> indices;
    llvm::SmallVector<int64_t> extents;
  };
  Access access(llvm::ArrayRef<At> at);
  Value argument(Type type);

  mlir::gpu::GPUFuncOp kernel;
};

} // namespace act::tile
#endif
