// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_AUTODIFF_PASSES_TD
#define ACT_PASSES_AUTODIFF_PASSES_TD
include "mlir/Pass/PassBase.td"

def AutodiffPass : Pass<"autodiff", "::mlir::ModuleOp"> {
  let summary = "writes the function that computes the gradient";
  let description = [{
    Builds `@grad` from `@forward`, whose first result is the loss. `@grad` holds
    the forward ops, `act.phase "backward"`, and the backward ops, which add to
    the gradients of the parameters (`act.accumulate`). A layer of `act.repeat`
    becomes a pair: `@layer.fwd` also returns the values to save, and
    `@layer.bwd` takes them. A value is saved if a gradient uses it, unless it is
    free to obtain again: parameters, constants, views and masks.

    `@forward` and its layers stay as they are. Kernels must not be formed yet.
    Frozen parameters get no gradient.

    Before:
    ```mlir
    func.func @forward(%arg0: tensor<2x8xf32>, %arg1: tensor<2xi32>) -> tensor<f32> {
      %w = act.param @w : tensor<4x8xf32>
      %0 = act.linear %arg0, %w : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
      %loss = act.cross_entropy %0, %arg1 ignore -100 reduction mean : (tensor<2x4xf32>, tensor<2xi32>) -> tensor<f32>
      return %loss : tensor<f32>
    }
    ```
    After `--autodiff`:
    ```mlir
    func.func @grad(%arg0: tensor<2x8xf32>, %arg1: tensor<2xi32>) -> tensor<f32> {
      %w = act.param @w : tensor<4x8xf32>
      %0 = act.linear %arg0, %w : ...
      %loss, %lse = act.cross_entropy %0, %arg1 ignore -100 reduction mean : ...
      act.phase "backward"
      %1 = act.constant dense<1.000000e+00> : tensor<f32> {act.loss_scale}
      %2 = act.cross_entropy_grad %1, %0, %arg1, %lse ignore -100 reduction mean : ...
      %3 = act.matmul %2, %arg0 transpose_lhs : ...
      act.accumulate @w, %3 : tensor<4x8xf32>
      return %loss : tensor<f32>
    }
    ```
  }];
  let dependentDialects = ["::act::ActDialect", "::mlir::func::FuncDialect"];
}
#endif
