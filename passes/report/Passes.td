// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_REPORT_PASSES_TD
#define ACT_PASSES_REPORT_PASSES_TD
include "mlir/Pass/PassBase.td"

def AnalyzeMemoryPass : Pass<"memory-report", "::mlir::ModuleOp"> {
  let summary = "reports what activation memory the step takes, and where";
  let description = [{
    Completes a copy of the module (differentiates, forms kernels, plans) and
    leaves the module as it is. Parameters, gradients and optimizer state are
    counted apart from activations.

    `format=formula` prints bytes in the letters of named dimensions, a line
    `name = polynomial` each, of which `*`, `^`, `max(..)` and parentheses are all
    there is. Letters may be without sizes (`act-import --symbolic`). `L` is the
    count of a repeat.

      layer_saved        what a layer keeps for backward
      layer_peak         the most that values of one layer hold at a time
      model_saved        what forward keeps for backward
      model_peak         the most that is alive at a time
      model_alignment    what the arena's alignment adds to that at most
      layer_saved_NAME   the parts of layer_saved, by the op that made them
      model_saved_NAME   the parts of model_saved outside of the layers

    Layers that differ have their numbers in the name, `layers_0_3_saved`, and
    `layer_saved` is a max over them. Without repeats the whole is one layer. Sizes
    that passes choose are numbers: rows of a chunk of a fused loss (of several
    chunks, if batch or length are open), segments, the runs of a budget. The last
    lines say for which sizes the program is this one, so that its sums hold:

      holds_L_from           any count from this one on
      holds_L                this count alone: layers are cut into runs
      holds_chunk_rows       tokens for which the fused loss has chunks of so many
                             (a multiple; with holds_last_chunk_rows that rest)
      holds_tokens_to        tokens that the fused loss has in one chunk

    With `allocator=cuda-caching` the report also says what PyTorch's allocator
    would have allocated and reserved at each point, and whether a card of
    `device-memory` is exceeded, and where. In view torch that is PyTorch's own
    sequence of requests. In view act it is what the buffers of the step would
    take as tensors of their own; the step itself has one arena.

    With `target=sm_80` the step's kernels are compiled, or found in the cache, and
    what their blocks have to move between memory and the processors stands beside
    the least that kernels launched move at all.
  }];
  let options = [
    Option<"format", "format", "std::string", "\"text\"", "text, json, html, formula or svg">,
    Option<"file", "file", "std::string", "\"\"", "where to; empty or -: standard output">,
    Option<"function", "function", "std::string", "\"\"",
           "the function to report on; empty: step, grad or forward, the first there is">,
    Option<"view", "view", "std::string", "\"act\"",
           "act: this program; torch: PyTorch eager running the Hugging Face model that @forward is; paper: a "
           "layer as publications count it">,
    Option<"selection", "selection", "std::string", "\"\"",
           "view paper: a publication that comes with act (gpt-layer, flash-block, llama-8b) or a file that "
           "says what another counts (include/act/Report/Paper.h); empty: all whose figures fit">,
    Option<"attention", "attention", "std::string", "\"sdpa\"",
           "view torch: sdpa, the kernel that scaled_dot_product_attention chooses for the type, heads and mask; eager, "
           "sdpa-math, sdpa-flash, sdpa-efficient or flash_attention_2 (counted as sdpa-flash)">,
    Option<"checkpoint", "checkpoint", "std::string", "\"nonreentrant\"",
           "view torch: nonreentrant or reentrant, where the policy places checkpoints">,
    Option<"dims", "dims", "std::string", "\"\"", "sizes of letters that are dynamic in the module: b=1,s=4096">,
    Option<"whatIf", "what-if", "std::string", "\"\"",
           "a card, 24GB: the longest sequence and the largest batch whose total peak it holds, per policy "
           "(24GB,budget: and under budget=fit of the card; with allocator, what that reserves); "
           "html draws the peak against the length, format=svg is that drawing alone">,
    Option<"allocator", "allocator", "std::string", "\"\"",
           "cuda-caching: replays the timeline through a model of PyTorch's CUDA caching allocator">,
    Option<"allocatorConf", "allocator-conf", "std::string", "\"\"",
           "what it is told, as in PYTORCH_CUDA_ALLOC_CONF: max_split_size_mb:128,expandable_segments:True">,
    Option<"deviceMemory", "device-memory", "std::string", "\"\"",
           "of the card, for the allocator alone: 24GB (10^9) or 24GiB (2^30); empty: as much as it takes">,
    Option<"target", "target", "std::string", "\"\"",
           "a GPU, sm_80, sm_86, sm_89 or sm_90a: view act also says what the blocks of its kernels move; empty or "
           "host: it does not">,
    Option<"cacheDir", "cache-dir", "std::string", "\"\"",
           "where compiled kernels are kept; empty: $XDG_CACHE_HOME/act; none: nowhere">,
    Option<"cublasWorkspace", "cublas-workspace", "std::string", "\"\"",
           "borrowed by a product of matrices, or with ,kept kept by forward and by backward: 8.125MiB (default), "
           "32MiB,kept, 0">,
    Option<"cublasLtWorkspace", "cublaslt-workspace", "std::string", "\"\"",
           "borrowed by a product with a bias: 1MiB (default); 0: cuBLAS's is used">
  ];
  let dependentDialects = ["::act::ActDialect", "::mlir::func::FuncDialect"];
}
#endif
