// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_REMAT_PASSES_TD
#define ACT_PASSES_REMAT_PASSES_TD
include "mlir/Pass/PassBase.td"

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
    `offload` alone means what the card of `rates` reaches: 25 GB/s for sm_80.

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
#endif
