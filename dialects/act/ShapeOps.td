// SPDX-License-Identifier: Apache-2.0
// Ops that move or combine elements without computing on them. reshape,
// transpose, expand, split and constant cost nothing: kernels read through them.
include "dialects/act/OpBase.td"

class Act_ViewOp<string mnemonic, list<Trait> traits = []>
    : Act_Op<mnemonic, !listconcat([Pure, Costed, LowerableToLinalg, InKernels<["isFree"]>], traits)> {
  let hasVerifier = 1;
}

def Act_ConstantOp : Act_ViewOp<"constant", [ConstantLike]> {
  let summary = "a constant tensor";
  let description = [{
    result = value. A splat repeats one element everywhere.

    Example:
    ```mlir
    %c = act.constant dense<0xFF800000> : tensor<f32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Act_Tensor:$result);
  let assemblyFormat = "custom<ConstantValue>($value, type($result)) attr-dict";
  let builders = [OpBuilder<(ins "::mlir::RankedTensorType":$type, "double":$splat)>];
  let hasFolder = 1;
}

def Act_TransposeOp : Act_ViewOp<"transpose", [Differentiable]> {
  let summary = "permutes dimensions";
  let description = [{
    Dimension i of the result is dimension permutation[i] of the input.

    Example:
    ```mlir
    %0 = act.transpose %x [0, 2, 1] : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
    ```
  }];
  let arguments = (ins Act_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Act_Tensor:$result);
  let assemblyFormat = "$input $permutation attr-dict `:` type($input) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$permutation)>];
  let hasFolder = 1;
}

def Act_ReshapeOp : Act_ViewOp<"reshape", [Differentiable]> {
  let summary = "the same elements in another shape";
  let description = [{
    Row-major order is kept.

    Example:
    ```mlir
    %0 = act.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
    ```
  }];
  let arguments = (ins Act_Tensor:$input);
  let results = (outs Act_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
}

def Act_ExpandOp : Act_ViewOp<"expand", [Differentiable]> {
  let summary = "repeats elements along dimensions";
  let description = [{
    Every dimension of the result is a multiple of the input's. Each element is
    repeated that many times in a row (torch's repeat_interleave, or expand where
    the size was 1). GQA uses it for key and value heads.

    Example:
    ```mlir
    %0 = act.expand %k : tensor<2x2x3x4xf32> -> tensor<2x6x3x4xf32>
    ```
  }];
  let arguments = (ins Act_Tensor:$input);
  let results = (outs Act_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
}

def Act_SumToOp : Act_Op<"sum_to", [Pure, Costed, LowerableToLinalg, Differentiable,
    InKernels<["takesAccumulation", "getStages", "lowerStage", "getWorkspaceTypes"]>]> {
  let summary = "sums runs of elements along dimensions";
  let description = [{
    The adjoint of `act.expand`. Every dimension of the input is a multiple of the
    result's, and that many consecutive elements are added (in f32 for 16-bit
    types, in index order). A dimension of size 1 in the result is a full sum.

    Example:
    ```mlir
    %0 = act.sum_to %x : tensor<6x4xf32> -> tensor<1x4xf32>
    ```
  }];
  let arguments = (ins Act_FloatTensor:$input);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Act_SplitOp : Act_ViewOp<"split", [Differentiable]> {
  let summary = "cuts a tensor into parts along its last dimension";
  let description = [{
    The result types give the sizes of the parts, which add up to the input's.

    Example:
    ```mlir
    %q, %k, %v = act.split %qkv : tensor<2x12xf32> -> tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Act_Tensor:$input);
  let results = (outs Variadic<Act_Tensor>:$parts);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($parts)";
}

def Act_ConcatOp : Act_Op<"concat", [Pure, Costed, LowerableToLinalg, Differentiable]> {
  let summary = "joins tensors along their last dimension";
  let description = [{
    result[.., i] = part k[.., i - o_k] for o_k <= i < o_k + size of part k, where
    o_k is the sum of the sizes of the parts before it along the last dimension.
    The inverse of `act.split`.

    Example:
    ```mlir
    %0 = act.concat %q, %k : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
    ```
  }];
  let arguments = (ins Variadic<Act_Tensor>:$parts);
  let results = (outs Act_Tensor:$result);
  let assemblyFormat = "$parts attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
