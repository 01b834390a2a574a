// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_STEP_PASSES_TD
#define ACT_PASSES_STEP_PASSES_TD
include "mlir/Pass/PassBase.td"

def WriteStepPass : Pass<"write-step", "::mlir::ModuleOp"> {
  let summary = "writes the optimizer's update and the whole training step";
  let description = [{
    `@update` updates every trained parameter. `@step` zeroes the gradients, runs
    `@grad` once per micro-batch, clips, and updates. The learning rate (`lr`, f32)
    and the step number (`step`, i64, from 1) are arguments. A forward-only module
    is differentiated first. Kernels must not be formed yet.

    With micro-batches, inputs have a leading micro-batch dimension. The step
    equals the step of one batch of all micro-batches:

    - A mean over labels is the sum of all tokens' losses over the number of
      labels of the step. The labels are counted before the first micro-batch
      runs (4 bytes of the arena, alive until the last).
    - A sum runs over all tokens.
    - Any other loss is averaged over the micro-batches.

    With `loss-scale`, gradients are those of the loss times `loss_scale`, so that
    small ones do not vanish in f16; the update divides by it, and `grad_norm` is
    the norm without it. If a gradient is not finite, the step changes neither
    parameters nor states, and `grad_norm` is not finite: the caller then tries a
    smaller factor.

    `loss-average=micro-batches` averages every loss over the micro-batches; a
    micro-batch without labels then counts as 0. A step without any label has the
    loss 0 and no gradient.

    Defaults are those of torch.optim and of Lion's paper. A 16-bit parameter has an f32 master
    copy (`master=none` leaves it out). Gradients have the parameter's type unless
    `grad-dtype` names another.

    Before:
    ```mlir
    act.parameter @w "w" : tensor<4x8xf32>
    func.func @forward(%arg0: tensor<2x8xf32>, %arg1: tensor<2xi32>) -> tensor<f32> {
      ...
      return %loss : tensor<f32>
    }
    ```
    After `--write-step`:
    ```mlir
    func.func @update(%arg0: f32 {act.name = "lr"}, %arg1: i64 {act.name = "step"}) {
      act.adamw @w lr(%arg0) step(%arg1) betas [9.000000e-01, 9.990000e-01] eps 1.000000e-08 weight_decay 1.000000e-02
      return
    }
    func.func @step(%arg0: tensor<2x8xf32>, %arg1: tensor<2xi32>, %arg2: f32 {act.name = "lr"}, %arg3: i64 {act.name = "step"}) -> ...
      act.zero_grad @w
      %0 = call @grad(%arg0, %arg1) : (tensor<2x8xf32>, tensor<2xi32>) -> tensor<f32>
      act.phase "update"
      call @update(%arg2, %arg3) : (f32, i64) -> ()
      return %0 : tensor<f32>
    }
    ```
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "\"adamw\"", "adamw, adamw8bit, lion or sgd">,
    Option<"master", "master", "std::string", "\"f32\"", "f32 or none">,
    Option<"gradDtype", "grad-dtype", "std::string", "\"\"", "f32, bf16 or f16; empty: the parameter's type">,
    Option<"microBatches", "micro-batches", "int64_t", "1", "micro-batches whose gradients are added before an update">,
    Option<"lossAverage", "loss-average", "std::string", "\"labels\"",
           "labels: the loss of one batch of all micro-batches; micro-batches: the mean of their losses">,
    Option<"clip", "clip", "double", "0.0", "largest global norm of the gradient; 0: no clipping">,
    Option<"beta1", "beta1", "double", "0.9", "AdamW and Lion: decay of the first moment; Lion: its share in the direction">,
    Option<"beta2", "beta2", "double", "", "AdamW: decay of the second moment (0.999); Lion: of its only one (0.99)">,
    Option<"eps", "eps", "double", "1e-8", "AdamW's epsilon">,
    Option<"momentum", "momentum", "double", "0.0", "sgd's; 0: none">,
    Option<"weightDecay", "weight-decay", "double", "",
           "decoupled, with sgd added to the gradient (adamw: 0.01, else 0)">,
    Option<"decayOn", "decay-on", "std::string", "\"all\"", "parameters that decay: all, or matrices (no norms and biases)">,
    Option<"stateDtype", "state-dtype", "std::string", "\"\"", "of moments: f32 or bf16; empty: f32">,
    Option<"gradNorm", "grad-norm", "bool", "false", "@step also returns the gradient's norm before clipping, grad_norm">,
    Option<"lossScale", "loss-scale", "bool", "false",
           "@step takes a factor of its loss, the input loss_scale (tensor<f32>), for f16; a step whose gradients overflow changes nothing">
  ];
  let dependentDialects = ["::act::ActDialect", "::mlir::func::FuncDialect"];
}
#endif
