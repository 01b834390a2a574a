// SPDX-License-Identifier: Apache-2.0
// Normalisation over the last dimension.
include "dialects/act/OpBase.td"

def Act_RmsNormOp : Act_Op<"rms_norm", [Pure, Costed, LowerableToLinalg, DifferentiableWithStatistics,
    InKernels<["takesEpilogue"]>]> {
  let summary = "root-mean-square normalisation";
  let description = [{
    rstd = 1 / sqrt(mean(input^2) + eps) in f32, result = weight * (input * rstd)
    (Zhang and Sennrich 2019). With `plus_one` it is (1 + weight) * (input * rstd), as
    in Gemma. The second result, rstd (f32, the input's shape
    without its last dimension), is present if the gradient needs it. If the first
    result has no use, only the others are computed.

    Example:
    ```mlir
    %0 = act.rms_norm %x, %g eps 1.000000e-05 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Act_FloatTensor:$input, Act_FloatTensor:$weight, F64Attr:$eps,
                       UnitAttr:$plus_one);
  let results = (outs Act_FloatTensor:$result, Optional<Act_FloatTensor>:$rstd);
  let assemblyFormat = [{
    $input `,` $weight (`plus_one` $plus_one^)? `eps` custom<Number>($eps) attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Act_RmsNormGradOp : Act_Op<"rms_norm_grad", [Pure, Costed, LowerableToLinalg,
    InKernels<["takesEpilogue", "takesRowSum"]>]> {
  let summary = "gradient of rms_norm with respect to its input";
  let description = [{
    With n = input * rstd and g = grad * weight, or grad * (1 + weight) with
    `plus_one`: result = rstd * (g - n * mean(g * n)).

    Example:
    ```mlir
    %0 = act.rms_norm_grad %dy, %x, %g, %rstd : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Act_FloatTensor:$grad, Act_FloatTensor:$input, Act_FloatTensor:$weight,
                       Act_FloatTensor:$rstd, UnitAttr:$plus_one);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = [{
    $grad `,` $input `,` $weight `,` $rstd (`plus_one` $plus_one^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Act_LayerNormOp : Act_Op<"layer_norm", [Pure, SameVariadicResultSize, Costed, LowerableToLinalg,
    DifferentiableWithStatistics, InKernels<["takesEpilogue"]>]> {
  let summary = "layer normalisation";
  let description = [{
    mean and rstd = 1 / sqrt(variance + eps) in f32,
    result = weight * (input - mean) * rstd + bias (Ba et al. 2016).

    Example:
    ```mlir
    %0 = act.layer_norm %x, %g, %b eps 1.000000e-05 : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Act_FloatTensor:$input, Act_FloatTensor:$weight, Act_FloatTensor:$bias, F64Attr:$eps);
  let results = (outs Act_FloatTensor:$result, Optional<Act_FloatTensor>:$mean, Optional<Act_FloatTensor>:$rstd);
  let assemblyFormat = "$input `,` $weight `,` $bias `eps` custom<Number>($eps) attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Act_LayerNormGradOp : Act_Op<"layer_norm_grad", [Pure, Costed, LowerableToLinalg,
    InKernels<["takesEpilogue", "takesRowSum"]>]> {
  let summary = "gradient of layer_norm with respect to its input";
  let description = [{
    With n = (input - mean) * rstd and g = grad * weight:
    result = rstd * (g - mean(g) - n * mean(g * n)).

    Example:
    ```mlir
    %0 = act.layer_norm_grad %dy, %x, %g, %mean, %rstd : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Act_FloatTensor:$grad, Act_FloatTensor:$input, Act_FloatTensor:$weight,
                       Act_FloatTensor:$mean, Act_FloatTensor:$rstd);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = "$grad `,` $input `,` $weight `,` $mean `,` $rstd attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Act_NormalizeOp : Act_Op<"normalize", [Pure, SameVariadicOperandSize, Costed, LowerableToLinalg,
    InKernels<["takesEpilogue", "isPrologue"]>]> {
  let summary = "applies a norm to its input, given the statistics";
  let description = [{
    result = weight * (input * rstd), and with a mean and a bias
    weight * ((input - mean) * rstd) + bias. `plus_one` is as in `act.rms_norm`. This is, bit by bit, the first result
    of `act.rms_norm` and `act.layer_norm`; rstd and mean are their other results.
    `--fuse-prologues` writes it in kernels that read a norm's result.

    Example:
    ```mlir
    %0 = act.normalize %x, %g rstd(%rstd) : (tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Act_FloatTensor:$input, Act_FloatTensor:$weight,
                       Optional<Act_FloatTensor>:$mean, Act_FloatTensor:$rstd,
                       Optional<Act_FloatTensor>:$bias, UnitAttr:$plus_one);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $weight (`plus_one` $plus_one^)? (`mean` `(` $mean^ `)`)? `rstd` `(` $rstd `)` (`bias` `(` $bias^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Act_NormWeightGradOp : Act_Op<"norm_weight_grad", [Pure, Costed, LowerableToLinalg,
    InKernels<["takesAccumulation", "getStages", "lowerStage", "getWorkspaceTypes"]>]> {
  let summary = "gradient of a norm's weight";
  let description = [{
    result[j] = sum over rows of grad * (input - mean) * rstd, without the mean
    for rms_norm. Rows are added in order, in f32.

    Example:
    ```mlir
    %0 = act.norm_weight_grad %dy, %x rstd(%rstd) : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Act_FloatTensor:$grad, Act_FloatTensor:$input,
                       Optional<Act_FloatTensor>:$mean, Act_FloatTensor:$rstd);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = [{
    $grad `,` $input (`mean` `(` $mean^ `)`)? `rstd` `(` $rstd `)` attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}
