// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_REPORT_PASSES_TD
#define ACT_PASSES_REPORT_PASSES_TD
include "mlir/Pass/PassBase.td"

def AnalyzeMemoryPass : Pass<"memory-report", "::mlir::ModuleOp"> {
  let summary = "reports how much activation memory the step takes, and where";
  let description = [{
    Completes a copy of the module (differentiates, forms kernels, plans) and
    leaves the module unchanged. Counts parameters, gradients and optimizer state
    separately from activations.

    `format=formula` prints bytes in the letters of named dimensions, one line
    `name = polynomial` each. Apart from sums, a polynomial uses only `*`, `^`,
    `max(..)` and parentheses. Letters may lack sizes (`act-import --symbolic`).
    `L` is the count of a repeat.

      layer_saved        bytes that a layer keeps for backward
      layer_peak         peak bytes of the values of one layer
      model_saved        bytes that forward keeps for backward
      model_peak         peak live bytes
      model_alignment    upper bound on what arena alignment adds to model_peak
      layer_saved_NAME   the parts of layer_saved, by the op that made them
      model_saved_NAME   the parts of model_saved outside the layers

    If layers differ, the names carry their numbers, `layers_0_3_saved`, and
    `layer_saved` is a max over them. Without repeats the whole program is one
    layer. Sizes that passes choose are numbers: rows of a chunk of a fused loss
    (of several chunks, if batch or length are open), segments, the runs of a
    budget. The last lines say for which sizes the program, and so its sums, hold:

      holds_L_from           any count from this one on
      holds_L                only this count: layers are cut into runs
      holds_chunk_rows       token counts that give chunks of this many rows in the
                             fused loss (a multiple; with holds_last_chunk_rows
                             that remainder)
      holds_tokens_to        token counts up to this one: the fused loss has one
                             chunk

    With `allocator=cuda-caching` the report also gives what PyTorch's allocator
    would have allocated and reserved at each point. It says whether, and where,
    this exceeds a card of `device-memory`. View torch replays PyTorch's own
    sequence of requests. View act replays the buffers of the step as separate
    tensors; the step itself has one arena.

    With `target=sm_80` the pass compiles the step's kernels or takes them from
    the cache. The report then puts what their blocks move between memory and the
    SMs next to the minimum traffic of the launched kernels.

    Before:
    ```mlir
    %0 = act.linear %arg0, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %1 = act.silu %0 : tensor<2x4xf32>
    ...
    %0 = act.repeat @layer count(L = 3) carry(%arg0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    ```
    After `--memory-report`, on standard output:
    ```text
      memory                           bytes
      ─────────────────────  ────────  ─────  ──────────────────────
      retained for backward     200 B    200
      peak of activations       212 B    212
    ...
    Formulas, in bytes
      retained = 64*L + 8
      peak     = 64*L + 20
      with L = 3
      ...
    ```
  }];
  let options = [
    Option<"format", "format", "std::string", "\"text\"", "text, json, html, formula or svg">,
    Option<"file", "file", "std::string", "\"\"", "output file; empty or -: standard output">,
    Option<"function", "function", "std::string", "\"\"",
           "the function to report on; empty: the first that exists of step, grad and forward">,
    Option<"view", "view", "std::string", "\"act\"",
           "act: this program; torch: PyTorch eager running the Hugging Face model of @forward; paper: a "
           "layer as publications count it">,
    Option<"selection", "selection", "std::string", "\"\"",
           "view paper: a publication that act ships (gpt-layer, flash-block, llama-8b) or a file that "
           "describes another one's counts (include/act/Report/Paper.h); empty: all whose figures fit">,
    Option<"attention", "attention", "std::string", "\"sdpa\"",
           "view torch: sdpa, the kernel that scaled_dot_product_attention chooses for the type, heads and mask; eager, "
           "sdpa-math, sdpa-flash, sdpa-efficient or flash_attention_2 (counted as sdpa-flash)">,
    Option<"log", "log", "std::string", "\"\"",
           "view torch: a step of any PyTorch module, in a file that act.torch_memory of the Python package wrote; the "
           "module itself is not read">,
    Option<"checkpoint", "checkpoint", "std::string", "\"nonreentrant\"",
           "view torch: nonreentrant or reentrant, where the policy places checkpoints">,
    Option<"dims", "dims", "std::string", "\"\"", "sizes of letters that are dynamic in the module: b=1,s=4096">,
    Option<"whatIf", "what-if", "std::string", "\"\"",
           "a card size, 24GB: the longest sequence and the largest batch whose total peak fits, per policy "
           "(24GB,budget: also under budget=fit of the card; with allocator: what that reserves must fit); "
           "html plots the peak against the length, format=svg is that plot alone">,
    Option<"allocator", "allocator", "std::string", "\"\"",
           "cuda-caching: replays the timeline through a model of PyTorch's CUDA caching allocator">,
    Option<"allocatorConf", "allocator-conf", "std::string", "\"\"",
           "the allocator's settings, as in PYTORCH_CUDA_ALLOC_CONF: max_split_size_mb:128,expandable_segments:True">,
    Option<"deviceMemory", "device-memory", "std::string", "\"\"",
           "memory of the card, for the allocator only: 24GB (10^9) or 24GiB (2^30); empty: unlimited">,
    Option<"target", "target", "std::string", "\"\"",
           "a GPU, sm_80, sm_86, sm_89 or sm_90a: view act also reports what its kernels' blocks move; empty or "
           "host: it does not">,
    Option<"card", "card", "std::string", "\"\"",
           "view act: also estimates the time on a100, rtx3090, rtx4090, h100 or h200">,
    Option<"cacheDir", "cache-dir", "std::string", "\"\"",
           "folder that caches compiled kernels; empty: $XDG_CACHE_HOME/act; none: no cache">,
    Option<"cublasWorkspace", "cublas-workspace", "std::string", "\"\"",
           "borrowed by a matrix product, or with ,kept one each kept for forward and backward: 8.125MiB (default), "
           "32MiB,kept, 0">,
    Option<"cublasLtWorkspace", "cublaslt-workspace", "std::string", "\"\"",
           "borrowed by a matrix product with a bias: 1MiB (default); 0: uses cuBLAS's">
  ];
  let dependentDialects = ["::act::ActDialect", "::mlir::func::FuncDialect"];
}
#endif
