// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_LOWERGROUPS_PASSES_TD
#define ACT_PASSES_LOWERGROUPS_PASSES_TD
include "mlir/Pass/PassBase.td"

def LowerGroupsPass : Pass<"lower-groups", "::mlir::ModuleOp"> {
  let summary = "turns groups into functions on tensors and launches of them";
  let description = [{
    Writes what each group runs on a target. The kernels are functions of linalg
    operations on plain tensors, in the module `@kernels`. A group keeps its body
    and gets its launches: which kernel runs, and what memory each of its
    arguments is. Groups whose kernels are equal share them.

    Most groups are one kernel. The gradient of attention, a norm's gradient with
    the sums over its rows, and on a GPU a product with few blocks and a long sum
    are several. They exchange values through workspaces of the plan.

    A group of a repeated layer may take over an operand's memory in one layer and
    not in another, such as the first, whose operand is the step's input. Its
    kernels then differ, and it has launches for each choice (`inplace`).

    The functions that no other function calls are lowered. Kernels must have been
    formed (`--form-kernels`) and shapes must be static.

    Before:
    ```mlir
    %0 = act.group "silu" (%arg1 = %arg0 : tensor<4xf32>) -> tensor<4xf32> {
      %1 = act.silu %arg1 : tensor<4xf32>
      act.yield %1 : tensor<4xf32>
    }
    ```
    After `--form-kernels --lower-groups=target=sm_80`:
    ```mlir
    %0 = act.group "silu" (%arg1 = %arg0 : tensor<4xf32>) -> tensor<4xf32> {
      %1 = act.silu %arg1 : tensor<4xf32>
      act.yield %1 : tensor<4xf32>
    } launches {
      act.launch @kernels::@k0_silu (input 0, result 0 written) main
    }
    ...
    module @kernels attributes {act.target = "sm_80"} {
      func.func @k0_silu(%arg0: tensor<4xf32>) -> tensor<4xf32> {
        %0 = tensor.empty() : tensor<4xf32>
    ```
  }];
  let options = [Option<"target", "target", "std::string", "",
    "a GPU such as sm_80, for which sums have no loops; empty: the host">];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect"];
}

def CheckLaunchesPass : Pass<"check-launches", "::mlir::ModuleOp"> {
  let summary = "checks the launches of groups against their kernels";
  let description = [{
    Every argument of a kernel has the elements and the type of the memory that
    the launch binds to it, and the launch says that it writes what the argument's
    role says. A group's launches for one choice of memory in place make every
    result once and change every buffer of a parameter once. They read a workspace
    only after it was written. `--lower-groups` runs these checks at its end.

    Before:
    ```mlir
    act.launch @kernels::@k (input 0, result 0 written) main
    act.launch @kernels::@k (input 0, result 0 written)
    ```
    After `--check-launches`, on standard error:
    ```text
    ...: error: 'act.launch' op makes result 0 of its group a second time
    ```
  }];
}
#endif
