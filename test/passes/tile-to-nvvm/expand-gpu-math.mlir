// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --expand-gpu-math | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --expand-gpu-math | FileCheck %s

// The manual's example.
gpu.module @example {
  gpu.func @add(%arg0: bf16, %arg1: bf16, %arg2: memref<bf16>) kernel {
    %0 = arith.addf %arg0, %arg1 : bf16
    memref.store %0, %arg2[] : memref<bf16>
    gpu.return
  }
}
// AFTER: %0 = arith.extf %arg0 : bf16 to f32
// AFTER-NEXT: %1 = arith.extf %arg1 : bf16 to f32
// AFTER-NEXT: %2 = arith.addf %0, %1 : f32
// AFTER-NEXT: %3 = arith.truncf %2 : f32 to bf16

// -----

gpu.module @kernels {
  // 16-bit sums are made in f32, and each is rounded.
  // CHECK-LABEL: gpu.func @narrow
  // CHECK: %[[X:.*]] = arith.extf %arg0 : bf16 to f32
  // CHECK: %[[Y:.*]] = arith.extf %arg1 : bf16 to f32
  // CHECK: %[[S:.*]] = arith.addf %[[X]], %[[Y]] : f32
  // CHECK: %[[R:.*]] = arith.truncf %[[S]] : f32 to bf16
  // CHECK: %[[W:.*]] = arith.extf %[[R]] : bf16 to f32
  // CHECK: memref.store %[[W]]
  gpu.func @narrow(%x: bf16, %y: bf16, %p: memref<f32>) kernel {
    %s = arith.addf %x, %y : bf16
    %w = arith.extf %s : bf16 to f32
    memref.store %w, %p[] : memref<f32>
    gpu.return
  }

  // Nothing is left of math, and no function of libdevice is called.
  // CHECK-LABEL: gpu.func @functions
  // CHECK-NOT: {{math\.|call @}}
  // CHECK: "llvm.nvvm.ex2.approx.ftz"
  // CHECK-NOT: {{math\.|call @}}
  // CHECK: gpu.return
  gpu.func @functions(%x: f32, %p: memref<f32>) kernel {
    %a = math.exp2 %x : f32
    %b = math.tanh %a : f32
    %c = math.log %b : f32
    %d = math.rsqrt %c : f32
    %e = math.erf %d : f32
    %f = math.exp %e : f32
    memref.store %f, %p[] : memref<f32>
    gpu.return
  }

  // What may be rough is one instruction.
  // CHECK-LABEL: gpu.func @rough
  // CHECK-NEXT: %[[T:.*]] = {{.*}}tanh.approx{{.*}}%arg0
  // CHECK-NEXT: memref.store %[[T]]
  gpu.func @rough(%x: f32, %p: memref<f32>) kernel {
    %t = math.tanh %x fastmath<afn> : f32
    memref.store %t, %p[] : memref<f32>
    gpu.return
  }

  // f64 to 16 bits goes by way of f32, as on the host.
  // CHECK-LABEL: gpu.func @steps
  // CHECK: arith.truncf %arg0 : f64 to f32
  // CHECK: arith.truncf %{{.*}} : f32 to f16
  gpu.func @steps(%x: f64, %p: memref<f16>) kernel {
    %h = arith.truncf %x : f64 to f16
    memref.store %h, %p[] : memref<f16>
    gpu.return
  }
}
