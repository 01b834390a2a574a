// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_TORCH_PASSES_TD
#define ACT_PASSES_TORCH_PASSES_TD
include "mlir/Pass/PassBase.td"

def DecomposeTorchPass : Pass<"decompose", "::mlir::ModuleOp"> {
  let summary = "writes @forward as the operators that a framework executes";
  let description = [{
    Adds `@forward.torch`: what PyTorch eager runs for the Hugging Face model that
    `@forward` represents. It holds, in order, one op for each operator that reaches
    the device or makes a view. The ops are of the dialect `aten`, which has names
    and no definitions. Layers that run the same operators become one function and
    `act.repeat`. All other functions stay as they are. `@forward` must be a model
    as `act-import` writes it; attention and loss may be fused already.

    - `node`: what autograd records for the op.
    - `saves`: the operands (`%`) and results (`#`) that the node keeps for backward.
    - `storage_of`: the operand whose memory the result shares.
    - `strides`: the layout of a result that is not contiguous.

    `--memory-report=view=torch` reports the memory that it takes.

    Before:
    ```mlir
    %gate_proj = act.param @gate_proj : tensor<16x8xf32, #f_h>
    %22 = act.linear %result_0, %gate_proj : (tensor<1x4x8xf32, #b_s_h>, tensor<16x8xf32, #f_h>) -> tensor<1x4x16xf32, #b_s_f>
    ...
    %24 = act.swiglu %22, %23 : tensor<1x4x16xf32, #b_s_f>
    ```
    After `--decompose=torch`:
    ```mlir
    %55 = "aten.t"(%gate_proj) {node = "TBackward0", storage_of = 0 : i64, strides = array<i64: 1, 8>} : ...
    %56 = "aten.view"(%54) {node = "ViewBackward0", storage_of = 0 : i64} : ...
    %57 = "aten.mm"(%56, %55) {node = "MmBackward0", saves = ["mat2 %1", "self %0"]} : ...
    %58 = "aten._unsafe_view"(%57) {node = "UnsafeViewBackward0", storage_of = 0 : i64} : ...
    %59 = "aten.silu"(%58) {node = "SiluBackward0", saves = ["self %0"]} : ...
    ...
    %64 = "aten.mul"(%59, %63) {node = "MulBackward0", saves = ["other %1", "self %0"]} : ...
    ```
  }];
  let options = [
    Option<"torch", "torch", "bool", "false", "as PyTorch eager does">,
    Option<"attention", "attention", "std::string", "\"sdpa\"",
           "sdpa: the kernel that scaled_dot_product_attention chooses; eager, sdpa-math, sdpa-flash, sdpa-efficient "
           "or flash_attention_2 (run as sdpa-flash)">,
    Option<"dims", "dims", "std::string", "\"\"", "sizes of letters that are dynamic in the module: b=1,s=4096">
  ];
  let dependentDialects = ["::act::ActDialect", "::act::AtenDialect", "::mlir::func::FuncDialect"];
}
#endif
