// SPDX-License-Identifier: Apache-2.0
// Elementwise ops. Operands broadcast from the right, as in numpy: a missing or
// size-1 dimension is repeated.
include "dialects/act/OpBase.td"

class Act_ElementwiseOp<string mnemonic, list<Trait> traits = []>
    : Act_Op<mnemonic, !listconcat([Pure, Costed, LowerableToLinalg, ScalarBody], traits)>;

class Act_BinaryOp<string mnemonic, list<Trait> traits = []>
    : Act_ElementwiseOp<mnemonic, !listconcat([Differentiable], traits)> {
  let arguments = (ins Act_FloatTensor:$lhs, Act_FloatTensor:$rhs);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Act_AddOp : Act_BinaryOp<"add", [Commutative]> {
  let summary = "elementwise sum";
  let description = [{
    result = lhs + rhs.

    Example:
    ```mlir
    %0 = act.add %x, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    ```
  }];
  let hasFolder = 1;
}
def Act_SubOp : Act_BinaryOp<"sub"> {
  let summary = "elementwise difference";
  let description = [{
    result = lhs - rhs.

    Example:
    ```mlir
    %0 = act.sub %x, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    ```
  }];
}
def Act_MulOp : Act_BinaryOp<"mul", [Commutative]> {
  let summary = "elementwise product";
  let description = [{
    result = lhs * rhs.

    Example:
    ```mlir
    %0 = act.mul %x, %y : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    ```
  }];
}
def Act_DivOp : Act_BinaryOp<"div"> {
  let summary = "elementwise quotient";
  let description = [{
    result = lhs / rhs.

    Example:
    ```mlir
    %0 = act.div %x, %y : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    ```
  }];
}

def Act_ScaleOp : Act_ElementwiseOp<"scale", [Differentiable, SameTypes<["Input", "Result"]>]> {
  let summary = "product with a constant";
  let description = [{
    result = factor * input.

    Example:
    ```mlir
    %0 = act.scale %x by 5.000000e-01 : tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Act_FloatTensor:$input, F64Attr:$factor);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = "$input `by` custom<Number>($factor) attr-dict `:` type($input)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def Act_CastOp : Act_ElementwiseOp<"cast", [Differentiable]> {
  let summary = "conversion to another element type";
  let description = [{
    Rounds to nearest even between float types. i1 and integers become floats of
    the same value.

    Example:
    ```mlir
    %0 = act.cast %x : tensor<2x4xf32> to tensor<2x4xbf16>
    ```
  }];
  let arguments = (ins RankedTensorOf<[F64, F32, BF16, F16, F8E4M3FN, I1, I32, I64]>:$input);
  let results = (outs RankedTensorOf<[F64, F32, BF16, F16, F8E4M3FN, I32, I64]>:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Act_SelectOp : Act_ElementwiseOp<"select", [Differentiable]> {
  let summary = "elementwise choice";
  let description = [{
    result = condition ? if_true : if_false.

    Example:
    ```mlir
    %0 = act.select %m, %x, %c : (tensor<4x4xi1>, tensor<2x4x4xf32>, tensor<f32>) -> tensor<2x4x4xf32>
    ```
  }];
  let arguments = (ins Act_BoolTensor:$condition, Act_FloatTensor:$if_true, Act_FloatTensor:$if_false);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = "$condition `,` $if_true `,` $if_false attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Act_AndOp : Act_ElementwiseOp<"and", [Commutative]> {
  let summary = "elementwise conjunction of masks";
  let description = [{
    result = lhs and rhs.

    Example:
    ```mlir
    %0 = act.and %m, %n : (tensor<4x4xi1>, tensor<2x1x4xi1>) -> tensor<2x4x4xi1>
    ```
  }];
  let arguments = (ins Act_BoolTensor:$lhs, Act_BoolTensor:$rhs);
  let results = (outs Act_BoolTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Act_NotOp : Act_ElementwiseOp<"not", [SameTypes<["Input", "Result"]>]> {
  let summary = "elementwise negation of a mask";
  let description = [{
    result = not input.

    Example:
    ```mlir
    %0 = act.not %hide : tensor<2x4xi1>
    ```
  }];
  let arguments = (ins Act_BoolTensor:$input);
  let results = (outs Act_BoolTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

class Act_ActivationOp<string mnemonic, string meaning>
    : Act_ElementwiseOp<mnemonic, [Differentiable, SameTypes<["Input", "Result"]>]> {
  let summary = meaning;
  let arguments = (ins Act_FloatTensor:$input);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}
def Act_SiluOp : Act_ActivationOp<"silu", "x * sigmoid(x)"> {
  let description = [{
    result = x / (1 + e^-x).

    Example:
    ```mlir
    %0 = act.silu %x : tensor<2x4xf32>
    ```
  }];
}
def Act_GeluOp : Act_ActivationOp<"gelu", "x * Phi(x), by the error function"> {
  let description = [{
    0.5 x (1 + erf(x / sqrt 2)) (Hendrycks and Gimpel 2016).

    Example:
    ```mlir
    %0 = act.gelu %x : tensor<2x4xf32>
    ```
  }];
}
def Act_GeluNewOp : Act_ActivationOp<"gelu_new", "x * Phi(x), by tanh"> {
  let description = [{
    0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), GPT-2's approximation.

    Example:
    ```mlir
    %0 = act.gelu_new %x : tensor<2x4xf32>
    ```
  }];
}
def Act_TanhOp : Act_ActivationOp<"tanh", "hyperbolic tangent"> {
  let description = [{
    result = (e^x - e^-x) / (e^x + e^-x).

    Example:
    ```mlir
    %0 = act.tanh %x : tensor<2x4xf32>
    ```
  }];
}

class Act_GluOp<string mnemonic, string meaning>
    : Act_ElementwiseOp<mnemonic, [Differentiable, SameTypes<["Gate", "Up", "Result"]>, Decomposable]> {
  let summary = meaning;
  let arguments = (ins Act_FloatTensor:$gate, Act_FloatTensor:$up);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = "$gate `,` $up attr-dict `:` type($gate)";
}
def Act_SwigluOp : Act_GluOp<"swiglu", "silu(gate) * up"> {
  let description = [{
    result = silu(gate) * up.

    Example:
    ```mlir
    %0 = act.swiglu %g, %u : tensor<2x4xf32>
    ```
  }];
}
def Act_GegluOp : Act_GluOp<"geglu", "gelu(gate) * up"> {
  let description = [{
    result = gelu(gate) * up. `tanh` selects the tanh form of gelu (gelu_new).

    Example:
    ```mlir
    %0 = act.geglu %g, %u : tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Act_FloatTensor:$gate, Act_FloatTensor:$up, UnitAttr:$tanh);
  let assemblyFormat = "$gate `,` $up (`tanh` $tanh^)? attr-dict `:` type($gate)";
}

def Act_ActivationGradOp : Act_ElementwiseOp<"activation_grad", [SameTypes<["Grad", "Input", "Result"]>]> {
  let summary = "gradient of an activation";
  let description = [{
    dx = f'(x) * dy for f in silu, gelu, gelu_new.

    Example:
    ```mlir
    %0 = act.activation_grad silu %dy, %x : tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Act_ActivationAttr:$kind, Act_FloatTensor:$grad, Act_FloatTensor:$input);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = "`` $kind $grad `,` $input attr-dict `:` type($grad)";
}
def Act_TanhGradOp : Act_ElementwiseOp<"tanh_grad", [SameTypes<["Grad", "Output", "Result"]>]> {
  let summary = "gradient of tanh from its result";
  let description = [{
    dx = (1 - y^2) dy.

    Example:
    ```mlir
    %0 = act.tanh_grad %dy, %y : tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Act_FloatTensor:$grad, Act_FloatTensor:$output);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = "$grad `,` $output attr-dict `:` type($grad)";
}
def Act_GluGradOp : Act_ElementwiseOp<"glu_grad", [SameTypes<["Grad", "Gate", "Up", "DGate", "DUp"]>]> {
  let summary = "gradient of swiglu and geglu";
  let description = [{
    For y = f(gate) * up: d_gate = f'(gate) * up * dy and d_up = f(gate) * dy.

    Example:
    ```mlir
    %0:2 = act.glu_grad silu %dy, %g, %u : tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Act_ActivationAttr:$kind, Act_FloatTensor:$grad,
                       Act_FloatTensor:$gate, Act_FloatTensor:$up);
  let results = (outs Act_FloatTensor:$d_gate, Act_FloatTensor:$d_up);
  let assemblyFormat = "`` $kind $grad `,` $gate `,` $up attr-dict `:` type($grad)";
}

def Act_DropoutOp : Act_Op<"dropout", [Pure, AgreeingTypes<["Input", "Result"]>, TypeOf<"result", "input">, Costed, LowerableToLinalg, Differentiable,
    InKernels<["isElementwise"]>]> {
  let summary = "zeroes elements at random and rescales the rest";
  let description = [{
    result[i] = input[i] * (1 / (1 - p)) if random(i) >= p, else 0. The factor is
    rounded once, to the computation type. random(i) is the
    first word of Philox4x32-10 (Salmon et al. 2011) with the key `seed` and the
    counter (low half of i, high half of i + 2^20 * (site / 2^32), `step` mod
    2^32, `site` mod 2^32), divided by 2^32, where i < 2^52 is the element's
    row-major index. The bits are the same for any tiling, policy and number of
    threads. The op is linear in its input, so it is its own gradient.

    Example:
    ```mlir
    %0 = act.dropout %x p 1.000000e-01 rng(%seed, %step, %site) : tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Act_FloatTensor:$input, F64Attr:$p, I64:$seed, I64:$step, I64:$site);
  let results = (outs Act_FloatTensor:$result);
  let assemblyFormat = "$input `p` custom<Number>($p) `rng` `(` $seed `,` $step `,` $site `)` attr-dict `:` type($input)";

  let hasVerifier = 1;
  let hasFolder = 1;
}
