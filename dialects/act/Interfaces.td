// SPDX-License-Identifier: Apache-2.0
// The interfaces of ops: gradient, cost, linalg form.
#ifndef ACT_INTERFACES_TD
#define ACT_INTERFACES_TD
include "mlir/IR/OpBase.td"

def Act_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::act";
  let description = [{
    Builds the vector-Jacobian product. Its uses decide what the forward pass must
    keep: every forward value that `buildGradient` uses is saved (or recomputed),
    and no other is.
  }];
  let methods = [
    InterfaceMethod<[{
      Emits the gradient. `resultGrads` has one value per result, null where the
      loss does not depend on it. Fills `operandGrads` (one entry per operand)
      where `needed` says so; a null entry means zero. Gradients have the type
      of the value they belong to.
    }], "::llvm::LogicalResult", "buildGradient",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGrads,
           "::llvm::ArrayRef<bool>":$needed,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$operandGrads)>,
    InterfaceMethod<[{
      An equal op that also returns the statistics its gradient wants (the
      reciprocal deviation of a norm, the log-sum-exp of a softmax), or the op
      itself. The first results are the old ones, in order.
    }], "::mlir::Operation *", "withStatistics",
      (ins "::mlir::OpBuilder &":$builder), [{}], [{
        return $_op.getOperation();
      }]>
  ];
}

def Act_CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::act";
  let description = [{
    The cost of an op, and how rematerialisation and kernel forming treat it.
  }];
  let methods = [
    InterfaceMethod<[{
      Floating-point operations of one execution: a multiply-add is two, a
      transcendental one. 0 when a dimension is dynamic.
    }], "int64_t", "getFlops", (ins)>,
    InterfaceMethod<[{
      How rematerialisation and kernel forming see the op: see CostClass.
    }], "::act::CostClass", "getCostClass", (ins)>
  ];
}

def Act_LinalgOpInterface : OpInterface<"LinalgOpInterface"> {
  let cppNamespace = "::act";
  let description = [{
    The executable meaning of an op, as linalg on plain tensors: no encodings,
    static shapes, 16-bit operands widened to f32 inside the bodies. Passes that
    generate code call it; `operands` are the converted operands.
  }];
  let methods = [
    InterfaceMethod<[{
      Emits the op on `operands`; appends one value per result, of the result's
      type without its encoding.
    }], "::llvm::LogicalResult", "lowerToLinalg",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$results)>,
    InterfaceMethod<[{
      The same without loops or an order of tiles: only `linalg.generic`, one for
      every sum, even if the values in between would be large as a whole. For
      passes that compute one block of a result from its inputs.
    }], "::llvm::LogicalResult", "lowerToSums",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$results), [{}], [{
        return $_op.lowerToLinalg(builder, operands, results);
      }]>,
    InterfaceMethod<[{
      Memory that kernels of this form need in addition to operands and results.
    }], "::llvm::SmallVector<::mlir::RankedTensorType>", "getWorkspaceTypes", (ins), [{}], [{
        return {};
      }]>
  ];
}

def Act_ParameterEffectOpInterface : OpInterface<"ParameterEffectOpInterface"> {
  let cppNamespace = "::act";
  let description = [{
    An op that acts on the persistent buffers of a parameter. It names the
    parameter, not its buffers. The pass that places buffers binds them, in the
    order of `getBufferUses`.
  }];
  let methods = [
    InterfaceMethod<[{
      The parameter.
    }], "::mlir::FlatSymbolRefAttr", "getParameterName", (ins), [{}], [{
        return $_op.getNameAttr();
      }]>,
    InterfaceMethod<[{
      The buffers, in the order of a kernel's arguments. Each appears once.
    }], "::llvm::SmallVector<::act::BufferUse>", "getBufferUses", (ins)>,
    InterfaceMethod<[{
      Emits the op as linalg. `types` has the plain type of each buffer used,
      `buffers` its old contents (null for `Fill`; for `Overwrite` only their
      type may be used), `operands` the converted operands. Appends to `next` the new contents of each buffer that is
      written, and to `results` the op's results.
    }], "void", "lowerEffect",
      (ins "::mlir::OpBuilder &":$builder,
           "::llvm::ArrayRef<::mlir::RankedTensorType>":$types,
           "::llvm::ArrayRef<::mlir::Value>":$buffers,
           "::mlir::ValueRange":$operands,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$next,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$results)>
  ];
}

def Act_ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let cppNamespace = "::act";
  let description = [{
    An op whose result element depends on one element of each operand. Operands
    broadcast from the right as in numpy. `emitScalar` defines the op completely;
    the linalg form and fusion follow from it.
  }];
  let methods = [
    InterfaceMethod<[{
      The op on scalars. Floats arrive in the computation type (f32, or f64 when
      the result or an operand is f64); a float result is returned in it and is rounded by
      the caller. Appends one scalar per result.
    }], "void", "emitScalar",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::ValueRange":$scalars,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$results)>
  ];
}

def Act_DecomposableOpInterface : OpInterface<"DecomposableOpInterface"> {
  let cppNamespace = "::act";
  let description = [{
    An op that stands for several others: `decompose` writes them out. Used where
    a pass or a target has no form for the whole op (LoRA in `act.linear`), and to
    define the op in terms of others.
  }];
  let methods = [
    InterfaceMethod<[{
      Emits the primitives; appends one value per result. Fails (without
      emitting) when this use of the op has no decomposition.
    }], "::llvm::LogicalResult", "decompose",
      (ins "::mlir::OpBuilder &":$builder,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$results)>
  ];
}
#endif
