// SPDX-License-Identifier: Apache-2.0
// Attention as one op, and the primitives that models write it in.
include "dialects/act/OpBase.td"

def Act_PositionsOp : Act_Op<"positions", [Pure, Costed, LowerableToLinalg]> {
  let summary = "the position of every token";
  let description = [{
    0, 1, 2, ... With `cu_seqlens`, positions count from the start of the token's
    own sequence.

    Example:
    ```mlir
    %0 = act.positions : tensor<8xi32>
    ```
  }];
  let arguments = (ins Optional<RankedTensorOf<[I32]>>:$cu_seqlens);
  let results = (outs RankedTensorOf<[I32]>:$result);
  let assemblyFormat = "(`cu_seqlens` `(` $cu_seqlens^ `:` type($cu_seqlens) `)`)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Act_CausalMaskOp : Act_Op<"causal_mask", [Pure, Costed, LowerableToLinalg]> {
  let summary = "true where a query may see a key";
  let description = [{
    mask[i, j] = j <= i, and i - j < window if there is one. If [q, kv] is
    rectangular, the last query sees the last key: j <= i + kv - q. With
    `top_left` the first query sees the first key: j <= i.

    Example:
    ```mlir
    %0 = act.causal_mask window(4) : tensor<8x8xi1>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$window, UnitAttr:$top_left);
  let results = (outs Act_BoolTensor:$result);
  let assemblyFormat = "(`top_left` $top_left^)? (`window` `(` $window^ `)`)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Act_SegmentMaskOp : Act_Op<"segment_mask", [Pure, Costed, LowerableToLinalg]> {
  let summary = "true where query and key belong to the same packed sequence";
  let description = [{
    Tokens cu_seqlens[n] .. cu_seqlens[n+1]-1 form sequence n. Unused entries
    repeat the last boundary. Tokens past it form a separate sequence.

    Example:
    ```mlir
    %0 = act.segment_mask %cu : tensor<5xi32> -> tensor<8x8xi1>
    ```
  }];
  let arguments = (ins RankedTensorOf<[I32]>:$cu_seqlens);
  let results = (outs Act_BoolTensor:$result);
  let assemblyFormat = "$cu_seqlens attr-dict `:` type($cu_seqlens) `->` type($result)";
  let hasVerifier = 1;
}

def Act_SoftmaxOp : Act_Op<"softmax", [Pure, Costed, LowerableToLinalg, Differentiable, SameTypes<["Input", "Result"]>]> {
  let summary = "softmax along a dimension";
  let description = [{
    exp(x - max) / sum exp(x - max), in f32 (f64 for f64), rounded to the result
    type. A row that is all -inf gives zeros.

    Example:
    ```mlir
    %0 = act.softmax %x axis 1 : tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Act_FloatTensor:$input, I64Attr:$axis);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = "$input `axis` $axis attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Act_SoftmaxGradOp : Act_Op<"softmax_grad", [Pure, Costed, LowerableToLinalg, SameTypes<["Grad", "Output", "Result"]>]> {
  let summary = "gradient of softmax from its result";
  let description = [{
    dx = y * (dy - sum(y * dy)).

    Example:
    ```mlir
    %0 = act.softmax_grad %dy, %y axis 1 : tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Act_FloatTensor:$grad, Act_FloatTensor:$output, I64Attr:$axis);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = "$grad `,` $output `axis` $axis attr-dict `:` type($grad)";
  let hasVerifier = 1;
}

def Act_RopeTableOp : Act_Op<"rope_table", [Pure, AgreeingTypes<["Cos", "Sin"]>, TypeOf<"sin", "cos">, NamesResults, Costed, LowerableToLinalg]> {
  let summary = "cosines and sines of rotary embedding";
  let description = [{
    For position p and pair i of a head of d elements the angle is
    p * f_i, f_i = theta^(-2i/d) (Su et al. 2021). `llama3 [factor, low, high, original]`
    rescales f_i as Llama 3.1 does, by the wavelength w = 2 pi / f_i: f_i / factor
    where w > original / low, unchanged where w < original / high, and a linear
    blend in between. `linear(factor)` divides every f_i. `frequencies [...]` lists
    them instead. Angles are f32. `scaled(factor)` multiplies cosines and sines, as
    YaRN and LongRoPE do.

    Example:
    ```mlir
    %cos, %sin = act.rope_table %p theta 1.000000e+04 : tensor<8xi32> -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[I32]>:$positions, F64Attr:$theta,
    OptionalAttr<DenseF64ArrayAttr>:$llama3, OptionalAttr<F64Attr>:$linear,
    OptionalAttr<DenseF64ArrayAttr>:$frequencies, OptionalAttr<F64Attr>:$scaled);
  let results = (outs RankedTensorOf<[F32, F64]>:$cos, RankedTensorOf<[F32, F64]>:$sin);
  let assemblyFormat = [{
    $positions `theta` custom<Number>($theta) (`llama3` custom<Numbers>($llama3)^)?
    (`linear` `(` custom<Number>($linear)^ `)`)? (`frequencies` custom<Numbers>($frequencies)^)?
    (`scaled` `(` custom<Number>($scaled)^ `)`)?
    attr-dict `:` type($positions) `->` type($cos)
  }];
  let hasVerifier = 1;
}

def Act_RopeOp : Act_Op<"rope", [Pure, Costed, LowerableToLinalg, Differentiable,
    InKernels<["endsKernelOf", "getStages", "lowerStage", "getWorkspaceTypes"]>,
    AgreeingTypes<["Input", "Result"]>, TypeOf<"result", "input">, TypeOf<"sin", "cos">]> {
  let summary = "rotary position embedding";
  let description = [{
    Rotates pairs of elements of every head by the angle of the token's
    position: (x1, x2) -> (x1 cos - x2 sin, x2 cos + x1 sin). A pair is (i, i + d/2), or
    (2i, 2i + 1) with `interleaved`. `inverse` rotates back, which is the
    gradient. The input is [..., s, heads, d], or [..., heads, s, d] with
    `heads_first`. The tables are [s, d/2].

    Example:
    ```mlir
    %0 = act.rope %x, %cos, %sin : tensor<1x8x2x8xf32>, tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Act_FloatTensor:$input, Act_FloatTensor:$cos, Act_FloatTensor:$sin,
                       UnitAttr:$interleaved, UnitAttr:$heads_first, UnitAttr:$inverse);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = [{
    $input `,` $cos `,` $sin (`interleaved` $interleaved^)? (`heads_first` $heads_first^)?
    (`inverse` $inverse^)? attr-dict `:` type($input) `,` type($cos)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The dimension of the input that counts tokens.
    int64_t getTokenDim() {
      return getInput().getType().getRank() - (getHeadsFirst() ? 2 : 3);
    }
  }];
}

def Act_AttentionOp : Act_Op<"attention", [Pure, AttrSizedOperandSegments, Costed,
    LowerableToSums, DifferentiableWithStatistics]> {
  let summary = "softmax(Q K^T ...) V without the scores in memory";
  let description = [{
    For head n of the query and head n / (heads / kv_heads) of key and value:

        score[i, j] = scale * q[i] . k[j]
        score       = softcap * tanh(score / softcap)          if softcap
        score       = score + bias[b, n, i, j]                 if there is one
        score       = region(score, b, n, i, j)                if there is one
        score       = -inf where the mask forbids
        p           = exp(score - max), l = sum p (+ exp(sink - max))
        o[i]        = sum_j dropout(p[i, j] / l[i]) v[j]

    - Shapes: q is [b, s, heads, d], k [b, s_kv, kv_heads, d], v [b, s_kv,
      kv_heads, dv] and the result [b, s, heads, dv].
    - Packed: q is [t, heads, d], with `cu_seqlens` (i32 [max_sequences + 1],
      boundaries at run time). A token sees only its own sequence.
    - `causal` (j <= i) and `window` (keys with i - j < window) align the last
      query with the last key or, with `top_left`, the first with the first.
    - `mask` (i1, true where to attend) is [b, s_kv] over keys, or [b, s, s_kv]
      over pairs, where b may be 1 for all.
    - The region takes the score (f32; f64 for f64) and b, n, i, j of type index,
      and yields the new score.
    - The bias is [b, heads, s, s_kv], packed [heads, t, t], of any float type. A
      dimension of 1 applies to all. It may be -inf.
    - A query that may see nothing gives zeros.
    - `sinks` (f32 [heads]) enter only the denominator.
    - Dropout's element index is ((b * heads + n) * s + i) * s_kv + j.

    The second result is the log-sum-exp of every row (f32 [b, heads, s] or
    [heads, t]). The gradient keeps it as well as o.

    Example:
    ```mlir
    %0 = act.attention %q, %k, %v scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> tensor<1x8x4x8xf32>
    ```
  }];
  let arguments = (ins Act_FloatTensor:$q, Act_FloatTensor:$k, Act_FloatTensor:$v,
    Optional<Act_BoolTensor>:$mask, Optional<RankedTensorOf<[I32]>>:$cu_seqlens,
    Optional<Act_FloatTensor>:$sinks, Optional<Act_FloatTensor>:$bias,
    Optional<I64>:$seed, Optional<I64>:$step, Optional<I64>:$site,
    F64Attr:$scale, UnitAttr:$causal, UnitAttr:$top_left, OptionalAttr<I64Attr>:$window,
    OptionalAttr<F64Attr>:$softcap, OptionalAttr<F64Attr>:$dropout);
  let results = (outs Act_FloatTensor:$result, Optional<Act_FloatTensor>:$lse);
  let regions = (region VariadicRegion<AnyRegion>:$score);
  let assemblyFormat = [{
    $q `,` $k `,` $v `scale` custom<Number>($scale) (`causal` $causal^)? (`top_left` $top_left^)?
    (`window` `(` $window^ `)`)? (`softcap` `(` custom<Number>($softcap)^ `)`)? (`mask` `(` $mask^ `)`)?
    (`cu_seqlens` `(` $cu_seqlens^ `)`)? (`sinks` `(` $sinks^ `)`)? (`bias` `(` $bias^ `)`)?
    (`dropout` `(` custom<Number>($dropout)^ `,` $seed `,` $step `,` $site `)`)?
    (`score` $score^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool isPacked() { return getCuSeqlens() != nullptr; }
    int64_t getHeads() { return getQ().getType().getShape().drop_back().back(); }
    int64_t getKvHeads() { return getK().getType().getShape().drop_back().back(); }
  }];
}

def Act_AttentionGradOp : Act_Op<"attention_grad", [Pure, AttrSizedOperandSegments, NamesResults, Costed,
    LowerableToSums, InKernels<["getStages", "lowerStage", "getWorkspaceTypes"]>]> {
  let summary = "gradient of attention";
  let description = [{
    Recomputes the probabilities from q, k and the log-sum-exp, tile by tile
    (Dao et al. 2022): with delta = sum(o * grad), dp = grad v^T,
    ds = p * (dp - delta): dq = scale * ds k, dk = scale * ds^T q, dv = p^T grad. Key and
    value gradients are summed over the query heads that share them. Options are
    those of `act.attention`. Two optional results follow: the gradient of the
    sinks, if there are sinks, and the gradient of the bias, if requested. The
    latter is ds without the scale, summed over the dimensions along which the
    bias broadcasts.

    Example:
    ```mlir
    %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
    ```
  }];
  let arguments = (ins Act_FloatTensor:$grad, Act_FloatTensor:$q, Act_FloatTensor:$k,
    Act_FloatTensor:$v, Act_FloatTensor:$out, Act_FloatTensor:$lse,
    Optional<Act_BoolTensor>:$mask, Optional<RankedTensorOf<[I32]>>:$cu_seqlens,
    Optional<Act_FloatTensor>:$sinks, Optional<Act_FloatTensor>:$bias,
    Optional<I64>:$seed, Optional<I64>:$step, Optional<I64>:$site,
    F64Attr:$scale, UnitAttr:$causal, UnitAttr:$top_left, OptionalAttr<I64Attr>:$window,
    OptionalAttr<F64Attr>:$softcap, OptionalAttr<F64Attr>:$dropout);
  let results = (outs Act_FloatTensor:$dq, Act_FloatTensor:$dk, Act_FloatTensor:$dv,
                      Variadic<Act_FloatTensor>:$others);
  let regions = (region VariadicRegion<AnyRegion>:$score);
  let assemblyFormat = [{
    $grad `,` $q `,` $k `,` $v `,` $out `,` $lse `scale` custom<Number>($scale) (`causal` $causal^)?
    (`top_left` $top_left^)? (`window` `(` $window^ `)`)? (`softcap` `(` custom<Number>($softcap)^ `)`)? (`mask` `(` $mask^ `)`)?
    (`cu_seqlens` `(` $cu_seqlens^ `)`)? (`sinks` `(` $sinks^ `)`)? (`bias` `(` $bias^ `)`)?
    (`dropout` `(` custom<Number>($dropout)^ `,` $seed `,` $step `,` $site `)`)?
    (`score` $score^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Gradients that not every op has, or null.
    mlir::Value getDsinks() {
      return getSinks() && !getOthers().empty() ? getOthers()[0] : mlir::Value();
    }
    mlir::Value getDbias() {
      return getOthers().size() > (getSinks() ? 1 : 0) ? getOthers().back() : mlir::Value();
    }
  }];
}
