// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_EMIT_PASSES_TD
#define ACT_PASSES_EMIT_PASSES_TD
include "mlir/Pass/PassBase.td"

def EmitPass : Pass<"emit", "::mlir::ModuleOp"> {
  let summary = "compiles a copy of the module to an artifact";
  let description = [{
    Completes a copy of the module, plans its memory, makes native code for the
    host, or PTX for a GPU, and writes it all to one file that `act-run` and
    `actrt_step_load` read. The module itself is left as it is.
  }];
  let options = [
    Option<"file", "file", "std::string", "\"\"", "the artifact to write">,
    Option<"mode", "mode", "std::string", "\"\"",
           "train: the step, and the loss alone as eval; infer: the logits or hidden states; "
           "empty: train when the model returns a loss, else infer">,
    Option<"kernels", "kernels", "std::string", "\"\"",
           "also write the kernels here, as linalg, before they become native code">,
    Option<"target", "target", "std::string", "\"host\"",
           "host, or the GPU that the kernels are for: sm_80, sm_86, sm_89 or sm_90a">,
    Option<"cpu", "cpu", "std::string", "\"\"",
           "for the host: an LLVM CPU name; empty: this machine">,
    Option<"cacheDir", "cache-dir", "std::string", "\"\"",
           "where compiled kernels are kept; empty: $XDG_CACHE_HOME/act; none: nowhere">,
    Option<"f32Products", "f32-products", "std::string", "\"\"",
           "of GPUs: how products of f32 are made: ieee (six products of bf16 parts, which are f32's), tf32 "
           "(ten bits of each factor) or bf16x3 (three products of bf16 parts); empty: ieee">,
    Option<"joinLaunches", "join-launches", "bool", "true",
           "of GPUs: launches that need nothing of each other are one">
  ];
}

def EmitPtxPass : Pass<"emit-ptx", "::mlir::ModuleOp"> {
  let summary = "compiles kernels to PTX files";
  let description = [{
    Writes DIR/NAME.ptx for every kernel and DIR/index.json, an array with one
    object per kernel. The kernels are those of the module's gpu.func; of a model
    they are those that `emit` makes of a copy of it. The files appear when all
    kernels are compiled.
  }];
  let options = [
    Option<"dir", "dir", "std::string", "\"\"", "the folder to write to">,
    Option<"target", "target", "std::string", "\"sm_80\"",
           "sm_80, sm_86, sm_89 or sm_90a">,
    Option<"mode", "mode", "std::string", "\"\"",
           "of a model: train or infer; empty: train when it returns a loss">,
    Option<"cacheDir", "cache-dir", "std::string", "\"\"",
           "where compiled kernels are kept; empty: $XDG_CACHE_HOME/act; none: nowhere">,
    Option<"cubin", "cubin", "bool", "false",
           "also assemble DIR/NAME.cubin with ptxas; kept as kernels are">,
    Option<"f32Products", "f32-products", "std::string", "\"\"",
           "of a model: how products of f32 are made: ieee (six products of bf16 parts, which are f32's), tf32 "
           "(ten bits of each factor) or bf16x3 (three products of bf16 parts); empty: ieee">,
    Option<"joinLaunches", "join-launches", "bool", "true",
           "of GPUs: launches that need nothing of each other are one">
  ];
}
#endif
