// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_ACT_PASSES_TD
#define ACT_PASSES_ACT_PASSES_TD
include "mlir/Pass/PassBase.td"

def FuseAttentionPass : Pass<"fuse-attention", "::mlir::ModuleOp"> {
  let summary = "finds attention and the head's loss in primitives and fuses them";
  let description = [{
    Rewrites softmax(Q K^T) V to `act.attention`, however it is written:

    - the scale before or after the product, or as a division;
    - masks by `act.select` or by addition: causal, windowed, packed, over keys,
      or over queries and keys, marking what to see or what to hide;
    - a cast to f32 around the softmax;
    - keys and values expanded to the query's heads;
    - commuted operands, and transposes in any place;
    - dropout of the probabilities.

    The pass leaves alone a softmax along another axis, probabilities with other
    uses, and a mask after the softmax.

    Remarks on standard error say what prevents each fusion, and where, and how
    many attentions were fused. They also point out attention in ops of other
    dialects (linalg, tosa; stablehlo, torch and others with
    `--allow-unregistered-dialect`), but only act ops are fused. If everything
    found is fused, there are no remarks unless `remarks=all`.

    A linear layer, with its bias, whose only use is `act.cross_entropy` becomes
    `act.linear_cross_entropy`. The logits are then never whole in memory.

    The result may differ in the last bits because the order of summation changes.
    The model must not be differentiated yet: a backward pass reads the
    probabilities that fusion removes.

    Before:
    ```mlir
    %0 = act.matmul %arg0, %arg1 transpose_rhs : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x8xf32>
    %1 = act.scale %0 by 2.500000e-01 : tensor<2x8x8xf32>
    %2 = act.softmax %1 axis 2 : tensor<2x8x8xf32>
    %3 = act.matmul %2, %arg2 : (tensor<2x8x8xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
    ```
    After `--fuse-attention`:
    ```mlir
    %0 = act.reshape %arg0 : tensor<2x8x16xf32> -> tensor<2x8x1x16xf32>
    %1 = act.reshape %arg1 : tensor<2x8x16xf32> -> tensor<2x8x1x16xf32>
    %2 = act.reshape %arg2 : tensor<2x8x16xf32> -> tensor<2x8x1x16xf32>
    %result = act.attention %0, %1, %2 scale 2.500000e-01 : ...
    %3 = act.reshape %result : tensor<2x8x1x16xf32> -> tensor<2x8x16xf32>
    ```
  }];
  let options = [
    Option<"chunk", "chunk", "int64_t", "1024",
           "tokens whose logits exist at once in the fused loss">,
    Option<"remarks", "remarks", "std::string", "\"missed\"",
           "missed: what is left alone and why, and when nothing is found; all: also what is fused; none">
  ];
}

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

def RematerializePass : Pass<"remat", "::mlir::ModuleOp"> {
  let summary = "decides which saved values are recomputed";
  let description = [{
    Fixed policies:

    - `none` keeps every saved value.
    - `selective` recomputes what is cheap and follows from values that are kept
      anyway: norm outputs, activations, dropout. It keeps products, attention
      and row statistics.
    - `attention` recomputes the whole attention module from its input.
    - `attention-core` recomputes only scores, softmax and their product with V.
    - `layer` keeps the input of every layer and recomputes the rest.
    - `sqrt` and `segments=N` cut the L layers into N = round(sqrt(L)) or N
      segments, at round(i * L / N), and keep the segments' inputs.

    `budget=BYTES` bounds the report's `peak_bytes`; `budget=fit:BYTES` bounds its
    `total_peak_bytes`. Both minimise recompute time: an op takes the longer of
    its flops and its bytes at the device's rates. Layers may keep different
    values. The attribute `act.remat_result` and the memory report give the
    result: the peak, the recompute time in percent of forward and backward, and
    the largest possible distance from the optimum. If the step is written after
    this pass, the budget assumes AdamW with its defaults.

    `offload=25GB/s` moves every saved value of a layer to host memory when
    forward is done with it, and back before backward reads it.
    `budget=BYTES,offload=25GB/s` chooses for each value whether to keep,
    recompute or move it. A copy takes its bytes at that speed, there and back.
    `offload` alone means a link of 25 GB/s.

    A forward-only module is differentiated first. Recomputed ops carry the
    attribute `act.recompute`. The pass runs before kernels are formed, and once:
    policies do not add up. `@forward` stays as it is.

    Before:
    ```mlir
    func.func private @layer(%arg0: tensor<2x4xf32>) -> tensor<2x4xf32> {
      %w = act.param @w : tensor<4x4xf32>
      %0 = act.linear %arg0, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      %1 = act.silu %0 : tensor<2x4xf32>
      return %1 : tensor<2x4xf32>
    }
    ```
    After `--remat=layer`:
    ```mlir
    func.func private @layer.fwd(%arg0: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
      ...
      return %1, %arg0 : tensor<2x4xf32>, tensor<2x4xf32>
    }
    func.func private @layer.bwd(%arg0: tensor<2x4xf32>, %arg1: tensor<2x4xf32>) -> tensor<2x4xf32> {
      %w = act.param @w : tensor<4x4xf32>
      %0 = act.linear %arg1, %w {act.recompute} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      %1 = act.activation_grad silu %arg0, %0 : tensor<2x4xf32>
      ...
    ```
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"none\"",
           "none, selective, attention, attention-core, layer, sqrt, segments=N, offload=25GB/s, "
           "budget=BYTES or budget=fit:BYTES; either budget may add ,offload=25GB/s (24GB is 24*10^9, 24GiB 24*2^30)">,
    Option<"deviceMemory", "device-memory", "std::string", "\"\"",
           "with a budget: also bounds total_peak_bytes (budget=fit needs no other bound); with other "
           "policies: warns if the step needs more">,
    Option<"allocator", "allocator", "std::string", "\"\"",
           "cuda-caching, with a budget: budget=fit and device-memory bound the bytes that a replay of "
           "PyTorch's caching allocator reserves, not total_peak_bytes">,
    Option<"allocatorConf", "allocator-conf", "std::string", "\"\"",
           "the allocator's settings, as in PYTORCH_CUDA_ALLOC_CONF">,
    Option<"rates", "rates", "std::string", "\"\"",
           "for budgets: the device that recomputes, sm_80, sm_86, sm_89, sm_90a or FLOPS:BYTES (both "
           "per second); empty: sm_80">,
    Option<"effort", "effort", "int64_t", "4000",
           "for budgets: partial sums kept while composing layers, 2 or more; if too few, the best "
           "found is used and its distance from the bound says how good it is">
  ];
  let dependentDialects = ["::act::ActDialect", "::mlir::func::FuncDialect"];
}

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

    `loss-average=micro-batches` averages every loss over the micro-batches; a
    micro-batch without labels then counts as 0. A step without any label has the
    loss 0 and no gradient.

    Defaults are those of torch.optim.AdamW. A 16-bit parameter has an f32 master
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
    Option<"optimizer", "optimizer", "std::string", "\"adamw\"", "adamw or sgd">,
    Option<"master", "master", "std::string", "\"f32\"", "f32 or none">,
    Option<"gradDtype", "grad-dtype", "std::string", "\"\"", "f32, bf16 or f16; empty: the parameter's type">,
    Option<"microBatches", "micro-batches", "int64_t", "1", "micro-batches whose gradients are added before an update">,
    Option<"lossAverage", "loss-average", "std::string", "\"labels\"",
           "labels: the loss of one batch of all micro-batches; micro-batches: the mean of their losses">,
    Option<"clip", "clip", "double", "0.0", "largest global norm of the gradient; 0: no clipping">,
    Option<"beta1", "beta1", "double", "0.9", "decay of AdamW's first moment">,
    Option<"beta2", "beta2", "double", "0.999", "decay of AdamW's second moment">,
    Option<"eps", "eps", "double", "1e-8", "AdamW's epsilon">,
    Option<"weightDecay", "weight-decay", "double", "0.01", "AdamW's decoupled weight decay">
  ];
  let dependentDialects = ["::act::ActDialect", "::mlir::func::FuncDialect"];
}

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
  let summary = "puts ops into groups, one group per kernel";
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
    result overwrites an operand only if nothing reads that later. `--form-kernels`
    runs these checks at its end.
  }];
}

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
