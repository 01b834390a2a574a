// SPDX-License-Identifier: Apache-2.0
// Contractions.
include "dialects/act/OpBase.td"

def Act_MatmulOp : Act_Op<"matmul", [Pure, Costed, LowerableToLinalg, Differentiable,
    InKernels<["takesEpilogue", "takesAccumulation", "takesPrologue", "getStages", "lowerStage", "getScratchType"]>]> {
  let summary = "matrix product over the last two dimensions";
  let description = [{
    result[..., m, n] = sum_k lhs[..., m, k] rhs[..., k, n], accumulated in f32
    (f64 for f64). The sum is rounded to the operands' type unless the result has
    the sum's type. `transpose_lhs` and `transpose_rhs` first swap the last two
    dimensions of an operand. Leading dimensions are equal, or `rhs` is a matrix
    that every leading index of `lhs` shares.

    Example:
    ```mlir
    %0 = act.matmul %a, %b transpose_rhs : (tensor<2x4x8xf32>, tensor<2x6x8xf32>) -> tensor<2x4x6xf32>
    ```
  }];
  let arguments = (ins Act_FloatTensor:$lhs, Act_FloatTensor:$rhs,
                       UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`transpose_lhs` $transpose_lhs^)? (`transpose_rhs` $transpose_rhs^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def Act_LinearOp : Act_Op<"linear", [Pure, AttrSizedOperandSegments, Costed,
    LowerableToSums, Differentiable, Decomposable,
    InKernels<["takesEpilogue", "takesPrologue", "getStages", "lowerStage", "getScratchType"]>]> {
  let summary = "a linear layer";
  let description = [{
    result = input W^T + bias, with W of shape [out, in]. With `in_out`, W is
    [in, out] as in GPT-2's Conv1D, and result = input W + bias. `lora(A, B)`, with
    A of shape [r, in] and B of shape [out, r], adds
    `lora_scale` * (input A^T) B^T (Hu et al. 2021). The weight may be `!act.nf4`:
    it is dequantised to the input's type and has no gradient. The weight's
    `act.parameter` says whether it is trained.

    Example:
    ```mlir
    %0 = act.linear %x, %w bias(%b) : (tensor<2x4x8xf32>, tensor<6x8xf32>, tensor<6xf32>) -> tensor<2x4x6xf32>
    ```
  }];
  let arguments = (ins Act_FloatTensor:$input, Act_WeightTensor:$weight,
    Optional<Act_FloatTensor>:$bias, Optional<Act_FloatTensor>:$lora_a,
    Optional<Act_FloatTensor>:$lora_b, OptionalAttr<F64Attr>:$lora_scale, UnitAttr:$in_out);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $weight (`bias` `(` $bias^ `)`)?
    (`lora` `(` $lora_a^ `,` $lora_b `,` custom<Number>($lora_scale) `)`)? (`in_out` $in_out^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input, "::mlir::Value":$weight,
                                 CArg<"::mlir::Value", "{}">:$bias)>];
  let hasVerifier = 1;
}

def Act_DequantizeOp : Act_Op<"dequantize", [Pure, Costed, LowerableToSums]> {
  let summary = "an nf4 weight in a float type";
  let description = [{
    result = code value * absmax of the element's block, rounded to the result's
    type. A nested absmax is level of its code * the f32 of its block + the mean.

    Example:
    ```mlir
    %0 = act.dequantize %w : tensor<8x16x!act.nf4> -> tensor<8x16xbf16>
    ```
  }];
  let arguments = (ins RankedTensorOf<[Act_NF4Type]>:$input);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}
