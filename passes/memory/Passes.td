// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_MEMORY_PASSES_TD
#define ACT_PASSES_MEMORY_PASSES_TD
include "mlir/Pass/PassBase.td"

def PlanMemoryPass : Pass<"plan-memory", "::mlir::ModuleOp"> {
  let summary = "gives every buffer of the step a place in one arena";
  let description = [{
    Computes liveness over groups, with every repeat written out, then offsets.
    Attaches the plan to the module as `act.plan`: arena bytes, lower bound, and one
    entry per buffer, with its first and last launch. Forms kernels first if there
    are none, and changes no op. Inputs, outputs and parameters are not in the
    arena.

    Before:
    ```mlir
    func.func @forward(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> {
      %0 = act.softmax %arg0 axis 1 : tensor<4x4xf32>
      %1 = act.softmax %0 axis 0 : tensor<4x4xf32>
      %2 = act.softmax %1 axis 1 : tensor<4x4xf32>
      return %2 : tensor<4x4xf32>
    }
    ```
    After `--plan-memory`:
    ```mlir
    module attributes {act.plan = {arena_bytes = 128 : i64, buffers = [{bytes = 64 : i64, first = 0 : i64, last = 1 : i64, name = "softmax", offset = 0 : i64}, ...
    ```
  }];
  let options = [
    Option<"function", "function", "std::string", "\"\"",
           "the function to plan; empty: the first that exists of step, grad and forward">
  ];
  let dependentDialects = ["::act::ActDialect", "::mlir::func::FuncDialect"];
}
#endif
