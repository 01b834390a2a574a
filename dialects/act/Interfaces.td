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
      }]>
  ];
}

def Act_KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::act";
  let description = [{
    How an op takes part in kernels: which ops may share its kernel, whether it
    takes several kernels, and what memory these borrow. An op without this
    interface is the root of a kernel that nothing joins, unless it is
    elementwise (`dialects/act/KernelForm.h` has the questions for any op).

    An op that takes several kernels is computed in stages. Each stage is lowered
    into the kernel that its `KernelStage` names. The same list says how many
    kernels a group is, so reports and code cannot disagree.
  }];
  let methods = [
    InterfaceMethod<[{
      Whether each kernel that reads the result computes it anew, because it
      only moves or repeats elements.
    }], "bool", "isFree", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
      Whether each element of the result depends on the same element of the
      operands. Such an op may follow another in its kernel.
    }], "bool", "isElementwise", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
      Whether element i of the result reads operands of its type at i only, so
      that it may overwrite one of them.
    }], "bool", "readsElementwise", (ins), [{}], [{
        return ::llvm::cast<::act::KernelOpInterface>($_op.getOperation()).isElementwise();
      }]>,
    InterfaceMethod<[{
      Whether elementwise ops of the first result's shape may follow in the kernel.
    }], "bool", "takesEpilogue", (ins), [{}], [{
        return ::llvm::cast<::act::KernelOpInterface>($_op.getOperation()).isElementwise();
      }]>,
    InterfaceMethod<[{
      Whether the kernel may also add the result to a gradient.
    }], "bool", "takesAccumulation", (ins), [{}], [{
        return ::llvm::cast<::act::KernelOpInterface>($_op.getOperation()).isElementwise();
      }]>,
    InterfaceMethod<[{
      Whether the kernel may compute operand `operand` from others as it reads
      it, element by element.
    }], "bool", "takesPrologue", (ins "unsigned":$operand), [{}], [{
        return false;
      }]>,
    InterfaceMethod<[{
      Whether the op may be such a prologue, in addition to elementwise ops.
    }], "bool", "isPrologue", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
      Whether `sum`, a sum over the rows that this op reads, may share its kernel.
    }], "bool", "takesRowSum", (ins "::mlir::Operation *":$sum), [{}], [{
        return false;
      }]>,
    InterfaceMethod<[{
      Whether the op may end the kernel of `root`, whose result it reads as its
      first operand through reshapes and elementwise ops.
    }], "bool", "endsKernelOf", (ins "::mlir::Operation *":$root), [{}], [{
        return false;
      }]>,
    InterfaceMethod<[{
      The stages in which a kernel group computes the op; none if one kernel
      computes it as a whole. The op is in its group, and the answer may depend
      on what else is there and on which results are read. Stages run in the order
      Main, Own, Last. One of them is in Main, unless other ops of the group are
      there. An op that follows is in the first kernel that has all its operands,
      so behind the stage that sets the result.
    }], "::llvm::SmallVector<::act::KernelStage>", "getStages",
      (ins "::act::LinalgForm":$form), [{}], [{ return {}; }]>,
    InterfaceMethod<[{
      Lowers one stage: an index into `getStages`.
    }], "::llvm::LogicalResult", "lowerStage",
      (ins "::act::StageBuilder &":$builder, "unsigned":$stage), [{}], [{
        return $_op.emitOpError("has no stages");
      }]>,
    InterfaceMethod<[{
      Tensors that the group's kernels borrow from the arena in addition to
      operands and results: what stages exchange. A stage reads what an earlier
      kernel has written. The op is in its group. They are the same for every
      target, even if it does not use them. Dimensions may have names, for
      formulas.
    }], "::llvm::SmallVector<::mlir::RankedTensorType>", "getWorkspaceTypes",
      (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<[{
      A tensor that stages of this form exchange, outside the arena; null if there
      is none.
    }], "::mlir::RankedTensorType", "getScratchType",
      (ins "::act::LinalgForm":$form), [{}], [{ return {}; }]>
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
      type may be used), `operands` the converted operands. Appends to `next` the
      new contents of each buffer that is written, and to `results` the op's
      results.
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
