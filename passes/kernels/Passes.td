// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_KERNELS_PASSES_TD
#define ACT_PASSES_KERNELS_PASSES_TD
include "mlir/Pass/PassBase.td"

def FuseProloguesPass : Pass<"fuse-prologues", "::mlir::ModuleOp"> {
  let summary = "computes operands inside the matrix products that read them";
  let description = [{
    Splits norms and marks the module, so that `form-kernels` makes kernels in which
    an elementwise value that only products read has no memory and no kernel of its
    own. Each product computes the blocks that it multiplies. The pass runs before
    kernels are formed. This applies to activations, dropout and casts that backward
    recomputes, and to norms. For a norm, a small kernel computes the rows'
    statistics unless backward has them anyway, and `act.normalize` becomes part of
    the products. An epilogue of the kernel that makes its operand stays one.

    Results are the same, bit by bit. The cost is time: a product computes a block
    of its operand once for each block of its other operand's side. A value is
    left alone if keeping its operands alive longer takes more bytes than it has.

    Before:
    ```mlir
    %0 = act.silu %arg0 : tensor<2x4xf32>
    %1 = act.linear %0, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    ```
    After `--fuse-prologues --form-kernels`:
    ```mlir
    %0 = act.group "linear.w" (%arg1 = %arg0 : tensor<2x4xf32>, %arg2 = %w : tensor<4x4xf32>) -> tensor<2x4xf32> {
      %1 = act.silu %arg1 : tensor<2x4xf32>
      %2 = act.linear %1, %arg2 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      act.yield %2 : tensor<2x4xf32>
    }
    ```
  }];
}

def FormKernelsPass : Pass<"form-kernels", "::mlir::ModuleOp"> {
  let summary = "puts ops into groups, usually one for each kernel";
  let description = [{
    First writes out the fused loss as a loop over chunks of tokens. Elementwise
    ops join the kernel that produces their operand, and so does the addition to
    a gradient. Views join the kernel that reads through them. Afterwards every
    op of the step is in an `act.group`, or is a view, a parameter, a repeat or
    a phase.

    Passes that change what is computed come first: fusion, differentiation,
    recomputation and the optimizer. A module that already has kernels stays as it
    is.

    Before:
    ```mlir
    %0 = act.linear %arg0, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %1 = act.silu %0 : tensor<2x4xf32>
    ```
    After `--form-kernels`:
    ```mlir
    %0 = act.group "linear.w" (%arg1 = %arg0 : tensor<2x4xf32>, %arg2 = %w : tensor<4x4xf32>) -> tensor<2x4xf32> {
      %1 = act.linear %arg1, %arg2 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      %2 = act.silu %1 : tensor<2x4xf32>
      act.yield %2 : tensor<2x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::act::ActDialect", "::mlir::func::FuncDialect"];
}

def CheckGroupsPass : Pass<"check-groups", "::mlir::ModuleOp"> {
  let summary = "checks a module in kernel form";
  let description = [{
    Every op of a function is in a group, or says only where a value is: a
    parameter, a view that costs nothing, a repeat, a call or a phase. The ops of a
    group have a linalg form, its workspaces are those that its ops need, and a
    result overwrites only an operand that it reads element by element.
    `--form-kernels` runs these checks at its end, and `--lower-groups` at its
    beginning.

    Before:
    ```mlir
    %0 = act.group "softmax" (%a = %x : tensor<4xf32>) inplace [0] -> tensor<4xf32> {
      %1 = act.softmax %a axis 0 : tensor<4xf32>
      act.yield %1 : tensor<4xf32>
    }
    ```
    After `--check-groups`, on standard error:
    ```text
    ...: error: 'act.group' op lets result 0 overwrite operand 0, which it does not read element by element, or which is read for another result
    ```
  }];
}
#endif
