// SPDX-License-Identifier: Apache-2.0
// The parameter update. These ops act on the persistent buffers of a parameter:
// its value, gradient, master copy and moments. In the body of a repeated layer
// they refer to the tensors of the layer that runs.
include "dialects/act/OpBase.td"

class Act_UpdateOp<string mnemonic>
    : Act_Op<mnemonic, [Costed, ParameterEffect, MemoryEffects<[MemRead, MemWrite]>,
        DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

def Act_ZeroGradOp : Act_UpdateOp<"zero_grad"> {
  let summary = "sets the gradient of a parameter to zero";
  let description = [{
    grad(name) = 0. Runs at the start of a step, before the first
    `act.accumulate`.

    Example:
    ```mlir
    act.zero_grad @w
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$name);
  let assemblyFormat = "$name attr-dict";
}

def Act_GradSquareSumOp : Act_Op<"grad_square_sum", [SameTypes<["Sum", "Result"]>, Costed, ParameterEffect, MemoryEffects<[MemRead]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "adds the squares of a gradient to a sum";
  let description = [{
    result = sum + sum of grad(name)^2, in f32 and in a fixed order.

    Example:
    ```mlir
    %1 = act.grad_square_sum @w, %0 : tensor<f32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$name, RankedTensorOf<[F32]>:$sum);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = "$name `,` $sum attr-dict `:` type($sum)";
  let hasVerifier = 1;
}

def Act_GradNormOp : Act_Op<"grad_norm", [Pure, SameTypes<["SquareSum", "Result"]>, Costed, LowerableToLinalg]> {
  let summary = "the norm of gradients";
  let description = [{
    sqrt(square_sum). With `scale`, gradients are those of a loss times that
    number, and the norm is of gradients without it: sqrt(square_sum) / scale.

    Example:
    ```mlir
    %a = act.grad_norm %s : tensor<f32>
    %b = act.grad_norm %s scale(%k : tensor<f32>) : tensor<f32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$square_sum, Optional<RankedTensorOf<[F32]>>:$scale);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $square_sum (`scale` `(` $scale^ `:` type($scale) `)`)? attr-dict `:` type($square_sum)
  }];
  let hasVerifier = 1;
}

def Act_ClipOp : Act_Op<"clip", [Pure, SameTypes<["SquareSum", "Result"]>, Costed, LowerableToLinalg]> {
  let summary = "the factor that clips gradients to a norm, and takes a loss's scale back";
  let description = [{
    min(1, max_norm / (norm + 1e-6)), as torch's clip_grad_norm_, with
    norm = sqrt(square_sum).

    With `scale`, gradients are those of a loss times that number: the norm is
    sqrt(square_sum) / scale and the factor is divided by the scale. It is 0 if the
    sum is not finite, and then an update changes nothing. Without `max_norm`,
    which only `scale` allows, nothing is clipped.

    Example:
    ```mlir
    %a = act.clip %s max_norm 1.000000e+00 : tensor<f32>
    %b = act.clip %s scale(%k : tensor<f32>) : tensor<f32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$square_sum, Optional<RankedTensorOf<[F32]>>:$scale,
    OptionalAttr<F64Attr>:$max_norm);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $square_sum (`scale` `(` $scale^ `:` type($scale) `)`)? (`max_norm` custom<Number>($max_norm)^)? attr-dict `:` type($square_sum)
  }];
  let hasVerifier = 1;
}

class Act_OptimizerOp<string mnemonic> : Act_UpdateOp<mnemonic> {
  let hasVerifier = 1;
  // What every optimizer's description relies on.
  string common = [{
    g = clip * grad, in f32 (f64 for f64 parameters). A clip of 0 changes nothing.
    With `master`, w is the f32 master copy and the parameter becomes w rounded to
    its type. Moments have the type of the parameter's `act.state_type`, else f32.
  }];
}

def Act_AdamWOp : Act_OptimizerOp<"adamw"> {
  let summary = "AdamW's update of a parameter";
  let description = [{
    At step t = 1, 2, ... (Loshchilov and Hutter 2019, in the order of operations
    of torch.optim.AdamW):

        w -= lr * weight_decay * w
        m  = beta1 * m + (1 - beta1) * g
        v  = beta2 * v + (1 - beta2) * g^2
        w -= lr / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + eps)

    }] # common # [{

    Example:
    ```mlir
    act.adamw @w lr(%lr) step(%t) betas [9.000000e-01, 9.990000e-01] eps 1.000000e-08 weight_decay 1.000000e-02
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$name, F32:$lr, I64:$step,
    Optional<RankedTensorOf<[F32]>>:$clip, DenseF64ArrayAttr:$betas, F64Attr:$eps,
    F64Attr:$weight_decay, UnitAttr:$master);
  let assemblyFormat = [{
    $name `lr` `(` $lr `)` `step` `(` $step `)` (`clip` `(` $clip^ `:` type($clip) `)`)?
    `betas` custom<Numbers>($betas) `eps` custom<Number>($eps) `weight_decay` custom<Number>($weight_decay) (`master` $master^)? attr-dict
  }];
}

def Act_AdamW8bitOp : Act_OptimizerOp<"adamw8bit"> {
  let summary = "AdamW's update with moments of 8 bits";
  let description = [{
    As `act.adamw`. The moments are kept as codes of 8 bits in blocks of 256
    elements, with a scale each, the block's largest magnitude (Dettmers et al.
    2022, "8-bit Optimizers via Block-wise Quantization"): m by the signed dynamic
    map, v by the unsigned one. The update uses the new moments before they are
    quantised. The parameter has a multiple of 256 elements.

    }] # common # [{

    Example:
    ```mlir
    act.adamw8bit @w lr(%lr) step(%t) betas [9.000000e-01, 9.990000e-01] eps 1.000000e-08 weight_decay 1.000000e-02
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$name, F32:$lr, I64:$step,
    Optional<RankedTensorOf<[F32]>>:$clip, DenseF64ArrayAttr:$betas, F64Attr:$eps,
    F64Attr:$weight_decay, UnitAttr:$master);
  let assemblyFormat = [{
    $name `lr` `(` $lr `)` `step` `(` $step `)` (`clip` `(` $clip^ `:` type($clip) `)`)?
    `betas` custom<Numbers>($betas) `eps` custom<Number>($eps) `weight_decay` custom<Number>($weight_decay) (`master` $master^)? attr-dict
  }];
}

def Act_LionOp : Act_OptimizerOp<"lion"> {
  let summary = "Lion's update of a parameter";
  let description = [{
    Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms", algorithm 2:

        w -= lr * weight_decay * w
        w -= lr * sign(beta1 * m + (1 - beta1) * g)
        m  = beta2 * m + (1 - beta2) * g

    }] # common # [{

    Example:
    ```mlir
    act.lion @w lr(%lr) betas [9.000000e-01, 9.900000e-01] weight_decay 1.000000e-01
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$name, F32:$lr, Optional<RankedTensorOf<[F32]>>:$clip,
    DenseF64ArrayAttr:$betas, F64Attr:$weight_decay, UnitAttr:$master);
  let assemblyFormat = [{
    $name `lr` `(` $lr `)` (`clip` `(` $clip^ `:` type($clip) `)`)?
    `betas` custom<Numbers>($betas) `weight_decay` custom<Number>($weight_decay) (`master` $master^)? attr-dict
  }];
}

def Act_SgdOp : Act_OptimizerOp<"sgd"> {
  let summary = "gradient descent's update of a parameter";
  let description = [{
    In the order of operations of torch.optim.SGD:

        g += weight_decay * w
        m  = momentum * m + g
        w -= lr * m

    Without `momentum` there is no m, and w -= lr * g.

    }] # common # [{

    Example:
    ```mlir
    act.sgd @w lr(%lr)
    act.sgd @w lr(%lr) momentum 9.000000e-01 weight_decay 1.000000e-02
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$name, F32:$lr, Optional<RankedTensorOf<[F32]>>:$clip,
    OptionalAttr<F64Attr>:$momentum, OptionalAttr<F64Attr>:$weight_decay, UnitAttr:$master);
  let assemblyFormat = [{
    $name `lr` `(` $lr `)` (`clip` `(` $clip^ `:` type($clip) `)`)? (`momentum` custom<Number>($momentum)^)?
    (`weight_decay` custom<Number>($weight_decay)^)? (`master` $master^)? attr-dict
  }];
}
