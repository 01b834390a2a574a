// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --convert-kernels-to-llvm | FileCheck %s --check-prefix=AFTER --match-full-lines
// All dialects of a kernel in one conversion, those that say their own patterns among them.
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(convert-kernels-to-llvm,reconcile-unrealized-casts))' | FileCheck %s

// The manual's example.
gpu.module @example {
  gpu.func @double(%arg0: !llvm.ptr<1>, %arg1: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %thread_id_x = gpu.thread_id  x
    %0 = arith.index_cast %thread_id_x : index to i32
    %1 = arith.addf %arg1, %arg1 : f32
    %2 = llvm.getelementptr %arg0[%0] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %1, %2 : f32, !llvm.ptr<1>
    gpu.return
  }
}
// AFTER: llvm.func @double(%arg0: !llvm.ptr<1>, %arg1: f32) attributes {{.*}}
// AFTER-NEXT:   %0 = nvvm.read.ptx.sreg.tid.x range <i32, 0, 32> : i32
// AFTER-NEXT:   %1 = llvm.sext %0 : i32 to i64
// AFTER-NEXT:   %2 = llvm.trunc %1 : i64 to i32
// AFTER-NEXT:   %3 = llvm.fadd %arg1, %arg1 : f32
// AFTER-NEXT:   %4 = llvm.getelementptr %arg0[%2] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
// AFTER-NEXT:   llvm.store %3, %4 : f32, !llvm.ptr<1>

// -----

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @sum
  // CHECK-SAME: %[[N:.*]]: i64
  // CHECK: nvvm.read.ptx.sreg.ctaid.x
  // CHECK: llvm.cond_br
  // CHECK: llvm.intr.fma
  // CHECK: nvvm.barrier
  // CHECK: llvm.return
  gpu.func @sum(%p: !llvm.ptr<1>, %n: index) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = index.constant 1
    %zero = arith.constant 0.0 : f32
    %b = gpu.block_id x
    %i = arith.index_cast %b : index to i32
    %x = arith.sitofp %i : i32 to f32
    %s = scf.for %k = %c0 to %n step %c1 iter_args(%a = %zero) -> f32 {
      %f = math.fma %a, %x, %x : f32
      scf.yield %f : f32
    }
    gpu.barrier
    llvm.store %s, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @others
  // CHECK: llvm.mlir.poison : i32
  // CHECK: llvm.insertelement
  // CHECK: llvm.return
  gpu.func @others(%p: !llvm.ptr<1>, %a: i32) kernel {
    %u = ub.poison : i32
    %v = vector.from_elements %a, %u : vector<2xi32>
    llvm.store %v, %p : vector<2xi32>, !llvm.ptr<1>
    gpu.return
  }

  // What becomes other operations of gpu does so first.
  // CHECK-LABEL: llvm.func @global
  // CHECK-DAG: nvvm.read.ptx.sreg.ctaid.x
  // CHECK-DAG: nvvm.read.ptx.sreg.ntid.x
  // CHECK-DAG: nvvm.read.ptx.sreg.tid.x
  gpu.func @global(%p: !llvm.ptr<1>) kernel {
    %g = gpu.global_id x
    %i = arith.index_cast %g : index to i32
    llvm.store %i, %p : i32, !llvm.ptr<1>
    gpu.return
  }
}

// An index has 32 bits where all kernels say so.
gpu.module @small {
  // CHECK-LABEL: llvm.func @small_index
  // CHECK: %[[B:.*]] = nvvm.read.ptx.sreg.ctaid.x {{.*}}: i32
  // CHECK: %[[N:.*]] = llvm.mul %[[B]], %{{.*}} overflow<nsw> : i32
  // CHECK: llvm.sext %[[N]] : i32 to i64
  gpu.func @small_index(%p: !llvm.ptr<1>) kernel attributes {tile.index_bits = 32 : i32, known_block_size = array<i32: 32, 1, 1>} {
    %c48 = arith.constant 48 : index
    %b = gpu.block_id x
    %i = arith.muli %b, %c48 : index
    %n = arith.index_cast %i : index to i64
    llvm.store %n, %p : i64, !llvm.ptr<1>
    gpu.return
  }
}

gpu.module @both {
  // CHECK-LABEL: llvm.func @one_of_two
  // CHECK: llvm.mul %{{.*}}, %{{.*}} : i64
  gpu.func @one_of_two(%p: !llvm.ptr<1>) kernel attributes {tile.index_bits = 32 : i32, known_block_size = array<i32: 32, 1, 1>} {
    %c48 = arith.constant 48 : index
    %b = gpu.block_id x
    %i = arith.muli %b, %c48 : index
    %n = arith.index_cast %i : index to i64
    llvm.store %n, %p : i64, !llvm.ptr<1>
    gpu.return
  }
  gpu.func @other() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    gpu.return
  }
}
