// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_PASSES_EMIT_PASSES_TD
#define ACT_PASSES_EMIT_PASSES_TD
include "mlir/Pass/PassBase.td"

def EmitPass : Pass<"emit", "::mlir::ModuleOp"> {
  let summary = "compiles a copy of the module to an artifact";
  let description = [{
    Completes a copy of the module (differentiates, writes the step, forms kernels)
    and plans its memory. Compiles native code for the host, or PTX for a GPU.
    Writes everything to one file that `act-run` and `actrt_step_load` read. The
    module itself stays unchanged.

    Before:
    ```mlir
    %0 = act.mul %arg0, %arg1 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    ```
    After `--emit="file=model.act kernels=kernels.mlir"`, in `kernels.mlir`:
    ```mlir
    func.func @k0_mul(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
      %0 = tensor.empty() : tensor<64xf32>
      %1 = linalg.generic ...
      ^bb0(%in: f32, %in_0: f32, %out: f32):
        %2 = arith.mulf %in, %in_0 : f32
        linalg.yield %2 : f32
      } -> tensor<64xf32>
      return %1 : tensor<64xf32>
    }
    ```
  }];
  let options = [
    Option<"file", "file", "std::string", "\"\"", "the artifact to write">,
    Option<"mode", "mode", "std::string", "\"\"",
           "train: the step, plus the loss alone as eval; infer: the logits or hidden states; "
           "train, infer, or function: forward and backward of a differentiable "
           "function; empty: what the module is">,
    Option<"kernels", "kernels", "std::string", "\"\"",
           "also write the kernels here as linalg, before native code generation">,
    Option<"target", "target", "std::string", "\"host\"",
           "host, or the GPU to compile kernels for: sm_80, sm_86, sm_89 or sm_90a">,
    Option<"cpu", "cpu", "std::string", "\"\"",
           "for the host target: an LLVM CPU name; empty: this machine">,
    Option<"cacheDir", "cache-dir", "std::string", "\"\"",
           "folder that caches compiled kernels; empty: $XDG_CACHE_HOME/act; none: no cache">,
    Option<"f32Products", "f32-products", "std::string", "\"\"",
           "for GPUs: how f32 products are computed: ieee (in f32, as six products of bf16 parts), tf32 "
           "(ten bits of each factor) or bf16x3 (three products of bf16 parts); empty: ieee">,
    Option<"joinLaunches", "join-launches", "bool", "true",
           "for GPUs: merge launches that are independent of each other into one">,
    Option<"schedules", "schedules", "std::string", "\"\"",
           "for GPUs: a table of schedules in place of the target's own "
           "(act-to-tile/ScheduleTable.h); nothing is cached">,
    Option<"cubin", "cubin", "std::string", "\"auto\"",
           "for GPUs: whether the artifact also holds a cubin of each kernel, cached like kernels: on, off "
           "or auto (for sm_90a, if ptxas 13.3 or newer is found)">,
    Option<"drawSchedules", "draw-schedules", "uint64_t", "0",
           "for tests of GPU kernels: a number other than 0 draws rows, warps, stages and the "
           "order of programs, which leave every bit as it is">
  ];
}

def EmitPtxPass : Pass<"emit-ptx", "::mlir::ModuleOp"> {
  let summary = "compiles kernels to PTX files";
  let description = [{
    Writes DIR/NAME.ptx for every kernel and DIR/index.json, an array with one
    object per kernel. The kernels are the module's gpu.func. For a model, they are
    those that `emit` makes from a copy of it. The files appear once all kernels are
    compiled. The module itself stays unchanged.

    Before:
    ```mlir
    gpu.func @double(%arg0: !tile.view<100xf32>) kernel attributes {tile.grid = array<i64: 4, 1, 1>} {
    ...
    %1 = tile.load %arg0[%0 : 32] : !tile.view<100xf32>
    %2 = arith.addf %1, %1 : tensor<32xf32>
    tile.store %2, %arg0[%0 : 32] : !tile.view<100xf32>
    ```
    After `--emit-ptx=kernels`, in `kernels/double.ptx`:
    ```text
    .visible .entry double(
      .param .u64 .ptr .global .align 16 double_param_0
    )
    .reqntid 128, 1, 1
    ...
    add.rn.f32 %r2, %r1, %r1;
    ...
    ```
  }];
  let options = [
    Option<"dir", "dir", "std::string", "\"\"", "the folder to write to">,
    Option<"target", "target", "std::string", "\"sm_80\"",
           "sm_80, sm_86, sm_89 or sm_90a">,
    Option<"mode", "mode", "std::string", "\"\"",
           "for a model: train, infer or function; empty: what it is">,
    Option<"cacheDir", "cache-dir", "std::string", "\"\"",
           "folder that caches compiled kernels; empty: $XDG_CACHE_HOME/act; none: no cache">,
    Option<"cubin", "cubin", "bool", "false",
           "also assemble DIR/NAME.cubin with ptxas; cached like kernels">,
    Option<"f32Products", "f32-products", "std::string", "\"\"",
           "for a model: how f32 products are computed: ieee (in f32, as six products of bf16 parts), tf32 "
           "(ten bits of each factor) or bf16x3 (three products of bf16 parts); empty: ieee">,
    Option<"joinLaunches", "join-launches", "bool", "true",
           "for GPUs: merge launches that are independent of each other into one">,
    Option<"schedules", "schedules", "std::string", "\"\"",
           "for GPUs: a table of schedules in place of the target's own "
           "(act-to-tile/ScheduleTable.h); nothing is cached">,
    Option<"drawSchedules", "draw-schedules", "uint64_t", "0",
           "for tests of GPU kernels: a number other than 0 draws rows, warps, stages and the "
           "order of programs, which leave every bit as it is">
  ];
}
#endif
