// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_MODULE_PASSES_TD
#define ACT_PASSES_MODULE_PASSES_TD
include "mlir/Pass/PassBase.td"

def InlineRepeatsPass : Pass<"inline-repeats", "::mlir::ModuleOp"> {
  let summary = "writes out repeated layers, one call after another";
  let description = [{
    Use it for reading and checking: liveness and plan are those of this form. The
    parameters of repeated layers become one parameter per layer. `act.kept` marks
    what enters and leaves a layer, so that no kernel reaches across. The pass runs
    before or after differentiation.

    Before:
    ```mlir
    act.parameter @w "layers.{l}.weight" : tensor<4xf32> layers(2)
    ...
    %0 = act.repeat @layer count(L = 2) carry(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    ```
    After `--inline-repeats`:
    ```mlir
    act.parameter @w.0 "layers.0.weight" : tensor<4xf32>
    act.parameter @w.1 "layers.1.weight" : tensor<4xf32>
    ...
    %0 = act.kept %arg0 : tensor<4xf32>
    %w.0 = act.param @w.0 : tensor<4xf32>
    %1 = act.mul %0, %w.0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = act.kept %1 : tensor<4xf32>
    %w.1 = act.param @w.1 : tensor<4xf32>
    %3 = act.mul %2, %w.1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %4 = act.kept %3 : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::act::ActDialect", "::mlir::func::FuncDialect"];
}
#endif
