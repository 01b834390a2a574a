// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_ACT_PASSES_TD
#define ACT_PASSES_ACT_PASSES_TD
include "mlir/Pass/PassBase.td"

def FuseAttentionPass : Pass<"fuse-attention", "::mlir::ModuleOp"> {
  let summary = "finds attention and the head's loss in primitives and fuses them";
  let description = [{
    softmax(Q K^T) V, however it is written, becomes `act.attention`: the scale
    before or after the product or as a division; masks by `act.select` or by
    addition, causal, windowed, packed, of keys, or of queries and keys, of what
    to see or what to hide; a cast to f32 around the
    softmax; keys and values expanded to the query's heads; commuted operands;
    transposes in any place; dropout of the probabilities. Left alone: a softmax
    along another axis, probabilities that are used elsewhere, a mask after the
    softmax.

    Remarks, on standard error, say of each attention that is left alone what is
    in the way, and where, and how many were fused. An attention in ops of other
    dialects (linalg, tosa; stablehlo, torch and others with
    `--allow-unregistered-dialect`) is pointed out, too; only act ops are fused.
    Nothing is said where all that was found is fused, unless `remarks=all`.

    A linear layer, with its bias, whose only use is `act.cross_entropy` becomes
    `act.linear_cross_entropy`, so that the logits are never whole in memory.

    The result may differ in the last bits: the order of summation changes.
  }];
  let options = [
    Option<"chunk", "chunk", "int64_t", "1024",
           "tokens whose logits exist at once in the fused loss">,
    Option<"remarks", "remarks", "std::string", "\"missed\"",
           "missed: what is left alone and why, and where nothing is found; all: what is fused, too; none">
  ];
}

def AutodiffPass : Pass<"autodiff", "::mlir::ModuleOp"> {
  let summary = "writes the function that computes the gradient";
  let description = [{
    From `@forward`, whose first result is the loss, makes `@grad`: the forward
    ops, `act.phase "backward"`, and the backward ops, which add to the
    gradients of the parameters (`act.accumulate`). A layer of `act.repeat`
    becomes a pair: `@layer.fwd`, which also returns the values to save, and
    `@layer.bwd`, which takes them. A value is saved if a gradient mentions it,
    except what costs nothing to have again: parameters, constants, views and
    masks.
  }];
  let dependentDialects = ["::act::ActDialect", "::mlir::func::FuncDialect"];
}

def RematerializePass : Pass<"remat", "::mlir::ModuleOp"> {
  let summary = "decides which saved values are recomputed";
  let description = [{
    Policies: `none` keeps every saved value. `selective` recomputes what is
    cheap and follows from values that are kept anyway: norm outputs,
    activations, dropout; products, attention and row statistics are kept.
    `attention` recomputes the whole attention module from its input,
    `attention-core` only scores, softmax and their product with V. `layer`
    keeps the input of every layer and recomputes the rest. `sqrt` and
    `segments=N` cut the L layers into N = round(sqrt(L)) or N segments, at
    round(i * L / N), and keep the segments' inputs.

    `budget=BYTES` bounds the report's `peak_bytes`, `budget=fit:BYTES` its
    `total_peak_bytes`, with the least time of recomputing: an op takes the
    longer of its flops and its bytes at the device's rates. Layers may differ
    in what they keep. What was found is in the attribute `act.remat_result`
    and in the memory report: the peak, the time of recomputing in percent of
    forward and backward, and how far from the least it can be. A step that is
    written later than this pass is taken to be AdamW's, with its defaults.

    `offload=25GB/s` moves every saved value of a layer to the host's memory
    when forward is done with it, and back before backward reads it.
    `budget=BYTES,offload=25GB/s` chooses for each value whether it is kept, made
    again or moved: a copy takes its bytes at that speed, there and back. The
    speed of the link is 25 GB/s if only `offload` is said.

    A forward-only module is differentiated first. Recomputed ops carry the
    attribute `act.recompute`.
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"none\"",
           "none, selective, attention, attention-core, layer, sqrt, segments=N, offload=25GB/s, "
           "budget=BYTES or budget=fit:BYTES, both with ,offload=25GB/s or without (24GB is 24*10^9, 24GiB 24*2^30)">,
    Option<"deviceMemory", "device-memory", "std::string", "\"\"",
           "with a budget, a bound on total_peak_bytes as well (budget=fit needs no other); with other "
           "policies a warning if the step needs more">,
    Option<"allocator", "allocator", "std::string", "\"\"",
           "with a budget, cuda-caching: budget=fit and device-memory bound the bytes that a replay of "
           "PyTorch's caching allocator reserves, in place of total_peak_bytes">,
    Option<"allocatorConf", "allocator-conf", "std::string", "\"\"",
           "the allocator's settings, as in PYTORCH_CUDA_ALLOC_CONF">,
    Option<"rates", "rates", "std::string", "\"\"",
           "for budgets, the device that recomputes: sm_80, sm_86, sm_89, sm_90a or FLOPS:BYTES, both "
           "per second; empty: sm_80">,
    Option<"effort", "effort", "int64_t", "4000",
           "for budgets, partial sums kept while layers are put together; when that is too few, the "
           "best found is taken and its distance from the bound says how good it is; 2 or more">
  ];
  let dependentDialects = ["::act::ActDialect", "::mlir::func::FuncDialect"];
}

def WriteStepPass : Pass<"write-step", "::mlir::ModuleOp"> {
  let summary = "writes the optimizer's update and the whole training step";
  let description = [{
    `@update` updates every parameter that is trained; `@step` zeroes the
    gradients, runs `@grad` once per micro-batch, clips, and updates. The
    learning rate (`lr`, f32) and the step's number (`step`, i64, from 1) are
    arguments.

    With micro-batches, inputs have a leading dimension for them, and the step is
    that of one batch of all: a mean over labels is the sum of all tokens' losses
    over the number of labels of the step, which are counted before the first
    micro-batch runs (4 bytes of the arena, alive until the last), and a sum is
    that over all tokens. Any other loss is averaged over the micro-batches, as
    `loss-average=micro-batches` averages every loss; a micro-batch without labels
    then counts as 0. A step without any label has the loss 0 and no gradient.

    Defaults are those of torch.optim.AdamW. The master copy is f32 where a
    parameter has 16 bits (`master=none` leaves it out); gradients have the
    parameter's type unless `grad-dtype` names another.
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "\"adamw\"", "adamw or sgd">,
    Option<"master", "master", "std::string", "\"f32\"", "f32 or none">,
    Option<"gradDtype", "grad-dtype", "std::string", "\"\"", "f32, bf16 or f16; empty: as the parameter">,
    Option<"microBatches", "micro-batches", "int64_t", "1", "gradients added up before an update">,
    Option<"lossAverage", "loss-average", "std::string", "\"labels\"",
           "labels: the loss is that of one batch of all micro-batches; micro-batches: the mean of theirs">,
    Option<"clip", "clip", "double", "0.0", "largest global norm of the gradient; 0: no clipping">,
    Option<"beta1", "beta1", "double", "0.9", "decay of AdamW's first moment">,
    Option<"beta2", "beta2", "double", "0.999", "decay of AdamW's second moment">,
    Option<"eps", "eps", "double", "1e-8", "AdamW's epsilon">,
    Option<"weightDecay", "weight-decay", "double", "0.01", "AdamW's decoupled weight decay">
  ];
  let dependentDialects = ["::act::ActDialect", "::mlir::func::FuncDialect"];
}

def FuseProloguesPass : Pass<"fuse-prologues", "::mlir::ModuleOp"> {
  let summary = "lets products compute their operands themselves";
  let description = [{
    Kernels are formed such that what is elementwise, and that products alone
    read, has no memory and no kernel: each product computes the blocks that it
    multiplies. So for activations, dropout and casts that backward makes again,
    and for norms: of these a small kernel computes the rows' statistics, where
    backward does not have them anyhow, and `act.normalize` is part of the
    products. An epilogue of what makes its operand is left one.

    The same numbers are computed, bit by bit. It costs time: a product computes
    a block of its operand once for each block of its other operand's side.
    Nothing that would keep operands in memory for longer than the result is
    taken.
  }];
}

def FormKernelsPass : Pass<"form-kernels", "::mlir::ModuleOp"> {
  let summary = "puts ops into groups, one group one kernel";
  let description = [{
    Elementwise ops join the kernel that produces their operand; reading through
    views and adding to a gradient join the kernel that uses them. The fused
    loss is written out as a loop over chunks of tokens first. Afterwards every
    op of the step is in an `act.group`, or is a view, a parameter, a repeat or
    a phase.
  }];
  let dependentDialects = ["::act::ActDialect", "::mlir::func::FuncDialect"];
}

def PlanMemoryPass : Pass<"plan-memory", "::mlir::ModuleOp"> {
  let summary = "gives every buffer of the step a place in one arena";
  let description = [{
    Liveness over groups, every repeat written out, then offsets. The plan is
    attached to the module as `act.plan`: arena bytes, lower bound, and one
    entry per buffer. Kernels are formed first if they have not been.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"\"",
           "the function to plan; empty: step, grad or forward, the first there is">
  ];
  let dependentDialects = ["::act::ActDialect", "::mlir::func::FuncDialect"];
}

def DecomposeTorchPass : Pass<"decompose", "::mlir::ModuleOp"> {
  let summary = "writes @forward as the operators that a framework executes";
  let description = [{
    Adds `@forward.torch`, what PyTorch eager runs for the Hugging Face model that
    `@forward` is: one op for each operator that reaches the device or makes a
    view, in order, of the dialect `aten`, which has names and no definitions.
    Layers that run the same operators are one function and `act.repeat`.

    `node` is what autograd records for the op, `saves` which operands (`%`) and
    results (`#`) that node keeps for backward, `storage_of` the operand whose
    memory the result is, `strides` the layout of a result that is not contiguous.
    `--memory-report=view=torch` tells what becomes of it.
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
  let summary = "writes repeated layers out, one call after the other";
  let description = [{
    For reading and for checking: liveness and plan are those of this form. The
    parameters of repeated layers become one parameter per layer.
  }];
  let dependentDialects = ["::act::ActDialect", "::mlir::func::FuncDialect"];
}
#endif
