// SPDX-License-Identifier: Apache-2.0
// Embeddings, cross entropy and their gradients.
include "dialects/act/OpBase.td"

def Act_EmbeddingOp : Act_Op<"embedding", [Pure, Costed, LowerableToLinalg, Differentiable,
    InKernels<["takesEpilogue"]>]> {
  let summary = "looks up rows of a table";
  let description = [{
    result[..., :] = table[ids[...], :]. An id outside the table is read as the
    nearest row; `act-run` refuses such ids before a step runs. The row
    `padding_idx` is read like any other and gets no gradient.

    Example:
    ```mlir
    %0 = act.embedding %table, %ids : (tensor<16x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>
    ```
  }];
  let arguments = (ins Act_FloatTensor:$table, Act_IndexTensor:$ids,
                       OptionalAttr<I64Attr>:$padding_idx);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = [{
    $table `,` $ids (`padding_idx` $padding_idx^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Act_EmbeddingGradOp : Act_Op<"embedding_grad", [Pure, Costed, LowerableToSums, InKernels<["takesAccumulation"]>]> {
  let summary = "gradient of an embedding's table";
  let description = [{
    result[v, :] = sum of grad[i, :] over the i with ids[i] = v, in the order of i;
    zeros for v = `padding_idx`.

    Example:
    ```mlir
    %0 = act.embedding_grad %dy, %ids : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<16x4xf32>
    ```
  }];
  let arguments = (ins Act_FloatTensor:$grad, Act_IndexTensor:$ids,
                       OptionalAttr<I64Attr>:$padding_idx);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = [{
    $grad `,` $ids (`padding_idx` $padding_idx^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Act_CrossEntropyOp : Act_Op<"cross_entropy", [Pure, Costed, LowerableToLinalg, DifferentiableWithStatistics]> {
  let summary = "negative log-likelihood of labels under a softmax";
  let description = [{
    Per token i with label y_i: lse(logits[i]) - logits[i, y_i], in f32; zero
    where y_i is `ignore`. `mean` divides the sum by the number of tokens that are
    not ignored, `sum` does not divide, `none` returns the per-token losses. The
    second result is the log-sum-exp of every token.

    Example:
    ```mlir
    %0 = act.cross_entropy %logits, %labels ignore -100 reduction mean : (tensor<2x3x16xf32>, tensor<2x3xi32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Act_FloatTensor:$logits, Act_IndexTensor:$labels,
    I64Attr:$ignore, Act_ReductionAttr:$reduction);
  let results = (outs Act_FloatTensor:$loss, Optional<Act_FloatTensor>:$lse);
  let assemblyFormat = [{
    $logits `,` $labels `ignore` $ignore `reduction` `` $reduction attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Act_CrossEntropyGradOp : Act_Op<"cross_entropy_grad", [Pure, Costed, LowerableToLinalg,
    InKernels<["readsElementwise"]>]> {
  let summary = "gradient of cross_entropy with respect to the logits";
  let description = [{
    result[i, v] = weight_i (exp(logits[i, v] - lse[i]) - [v = y_i]). weight_i is
    the gradient of the loss (for `mean`, divided by the number of tokens), or 0
    for ignored tokens.

    Example:
    ```mlir
    %0 = act.cross_entropy_grad %dl, %logits, %labels, %lse ignore -100 reduction mean : (tensor<f32>, tensor<2x3x16xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> tensor<2x3x16xf32>
    ```
  }];
  let arguments = (ins Act_FloatTensor:$grad, Act_FloatTensor:$logits, Act_IndexTensor:$labels,
    Act_FloatTensor:$lse, I64Attr:$ignore, Act_ReductionAttr:$reduction);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = [{
    $grad `,` $logits `,` $labels `,` $lse `ignore` $ignore `reduction` `` $reduction attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Act_LinearCrossEntropyOp : Act_Op<"linear_cross_entropy", [Pure, Costed, DifferentiableWithStatistics, Decomposable]> {
  let summary = "linear layer and cross entropy without the logits in memory";
  let description = [{
    cross_entropy(input W^T + bias, labels), computed for `chunk` tokens at a
    time. Only chunk * vocabulary logits exist at once. A chunk begins at a
    multiple of 64 bytes in every tensor of tokens, so `chunk` is rounded down
    (but not to 0) to such a number of tokens. It is then rounded down to a divisor
    of all tokens if one of at least half the size exists; otherwise the last
    chunk is smaller. W is [vocabulary, in]. The gradient recomputes the logits of
    a chunk and uses the saved log-sum-exp. With `softcap` the logits are
    softcap * tanh(logits / softcap), as gemma 2 has them. Options and results are
    those of `act.cross_entropy`.

    Example:
    ```mlir
    %0 = act.linear_cross_entropy %x, %w, %labels ignore -100 reduction mean chunk 4 : (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Act_FloatTensor:$input, Act_FloatTensor:$weight,
    Optional<Act_FloatTensor>:$bias, Act_IndexTensor:$labels,
    I64Attr:$ignore, Act_ReductionAttr:$reduction, I64Attr:$chunk, OptionalAttr<F64Attr>:$softcap);
  let results = (outs Act_FloatTensor:$loss, Optional<Act_FloatTensor>:$lse);
  let assemblyFormat = [{
    $input `,` $weight (`bias` `(` $bias^ `)`)? `,` $labels `ignore` $ignore
    `reduction` `` $reduction `chunk` $chunk (`softcap` custom<Number>($softcap)^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// All logits: input W^T + bias, in the input's type, capped.
    ::mlir::Value buildLogits(::mlir::OpBuilder &builder);
  }];
}

def Act_LinearCrossEntropyGradOp : Act_Op<"linear_cross_entropy_grad", [Pure, Costed]> {
  let summary = "gradients of linear_cross_entropy";
  let description = [{
    For each chunk, recomputes the logits, then their gradient d_logits as in
    `act.cross_entropy_grad`, then d_input = d_logits W. Optional further results
    are the gradient of the weight, d_logits^T input, and of the bias, the sum of
    d_logits over the tokens.

    Example:
    ```mlir
    %0:2 = act.linear_cross_entropy_grad %dl, %x, %w, %labels, %lse ignore -100 reduction mean chunk 4 : (tensor<f32>, tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<2x4xi32>, tensor<2x4xf32>) -> (tensor<2x4x8xf32>, tensor<16x8xf32>)
    ```
  }];
  let arguments = (ins Act_FloatTensor:$grad, Act_FloatTensor:$input, Act_FloatTensor:$weight,
    Optional<Act_FloatTensor>:$bias, Act_IndexTensor:$labels, Act_FloatTensor:$lse,
    I64Attr:$ignore, Act_ReductionAttr:$reduction, I64Attr:$chunk, OptionalAttr<F64Attr>:$softcap);
  let results = (outs Act_FloatTensor:$d_input, Variadic<Act_FloatTensor>:$d_parameters);
  let assemblyFormat = [{
    $grad `,` $input `,` $weight (`bias` `(` $bias^ `)`)? `,` $labels `,` $lse `ignore` $ignore
    `reduction` `` $reduction `chunk` $chunk (`softcap` custom<Number>($softcap)^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The gradients of weight and bias, or null.
    ::mlir::Value getDWeight() {
      return getDParameters().empty() ? ::mlir::Value() : getDParameters()[0];
    }
    ::mlir::Value getDBias() {
      return getDParameters().size() < 2 ? ::mlir::Value() : getDParameters()[1];
    }
  }];
}

def Act_LabelCountOp : Act_Op<"label_count", [Pure, Costed, LowerableToLinalg]> {
  let summary = "number of labels that are not ignored";
  let description = [{
    A float of at least 1. `mean` divides by it.

    Example:
    ```mlir
    %0 = act.label_count %labels ignore -100 : tensor<2x3xi32> -> tensor<f32>
    ```
  }];
  let arguments = (ins Act_IndexTensor:$labels, I64Attr:$ignore);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = "$labels `ignore` $ignore attr-dict `:` type($labels) `->` type($result)";
  let hasVerifier = 1;
}
