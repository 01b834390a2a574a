// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --convert-tile-to-host | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --convert-tile-to-host --split-input-file | FileCheck %s

// The manual's example.
gpu.module @kernels {
  gpu.func @double(%arg0: !tile.view<8xf32>) kernel {
    %c0 = arith.constant 0 : index
    %0 = tile.load %arg0[%c0 : 8] : !tile.view<8xf32>
    %1 = arith.addf %0, %0 : tensor<8xf32>
    tile.store %1, %arg0[%c0 : 8] : !tile.view<8xf32>
    gpu.return
  }
}
// AFTER: func.func @double(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i64) attributes {{.*}}
// AFTER:     scf.for %arg3 = %c0_6 to %c8_8 step %c1_7 {
// AFTER-NEXT:       %11 = memref.load %alloc[%arg3] : memref<8xf32>
// AFTER-NEXT:       %12 = memref.load %alloc[%arg3] : memref<8xf32>
// AFTER-NEXT:       %13 = arith.addf %11, %12 : f32
// AFTER-NEXT:       memref.store %13, %alloc_5[%arg3] : memref<8xf32>
// AFTER-NEXT:     }

// -----

// A block is a buffer, a load asks for each element whether it is inside.
// CHECK-LABEL: func.func @edge(
// CHECK-SAME:    %[[X:.*]]: !llvm.ptr, %[[CONTEXT:.*]]: !llvm.ptr, %[[PROGRAM:.*]]: i64)
// CHECK:       %[[FAILED:.*]] = llvm.load
// CHECK:       arith.cmpi eq, %[[FAILED]]
// CHECK:       scf.if
// CHECK:         %[[A:.*]] = memref.alloc() : memref<4xf32>
// CHECK:         scf.for
// CHECK-DAG:       %[[LOW:.*]] = arith.cmpi sge
// CHECK-DAG:       %[[HIGH:.*]] = arith.cmpi slt
// CHECK:           %[[V:.*]] = scf.if %{{.*}} -> (f32)
// CHECK:             llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK:           else
// CHECK:             arith.constant 1.000000e+00 : f32
// CHECK:           memref.store %[[V]], %[[A]]
// CHECK:         scf.for
// CHECK:           scf.if
// CHECK:             llvm.store
// CHECK-NOT:   gpu.module
gpu.module @kernels {
  gpu.func @edge(%x: !tile.view<10xf32>) kernel {
    %c8 = arith.constant 8 : index
    %a = tile.load %x[%c8 : 4] pad = 1.0 : !tile.view<10xf32>
    tile.store %a, %x[%c8 : 4] : !tile.view<10xf32>
    gpu.return
  }
}

// -----

// What a loop carries has one buffer; values that change places go by way of a
// third one.
// CHECK-LABEL: func.func @exchange(
// CHECK-COUNT-2: memref.alloc() : memref<4xf32>
// CHECK:       %[[A:.*]] = memref.alloc() : memref<4xf32>
// CHECK-NEXT:  %[[B:.*]] = memref.alloc() : memref<4xf32>
// CHECK-NEXT:  memref.copy %{{.*}}, %[[A]]
// CHECK-NEXT:  memref.copy %{{.*}}, %[[B]]
// CHECK:       scf.while
// CHECK:         %[[T:.*]] = memref.alloc() : memref<4xf32>
// CHECK:         memref.copy %[[B]], %[[T]]
// CHECK:         %[[U:.*]] = memref.alloc() : memref<4xf32>
// CHECK:         memref.copy %[[A]], %[[U]]
// CHECK:         memref.copy %[[T]], %[[A]]
// CHECK:         memref.copy %[[U]], %[[B]]
gpu.module @kernels {
  gpu.func @exchange(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = arith.constant dense<1.0> : tensor<4xf32>
    %y = arith.constant dense<2.0> : tensor<4xf32>
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<4xf32>, tensor<4xf32>) {
      scf.yield %b, %a : tensor<4xf32>, tensor<4xf32>
    }
    gpu.return
  }
}

// -----

// A product is a chain of fused multiply-adds in the order of k, of operands in the
// accumulator's type.
// CHECK-LABEL: func.func @dot(
// CHECK:       %[[SUM:.*]] = scf.for %{{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (f32)
// CHECK:         %[[X:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK:         %[[Y:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK:         %[[NEXT:.*]] = math.fma %[[X]], %[[Y]], %[[ACC]] : f32
// CHECK:         scf.yield %[[NEXT]]
gpu.module @kernels {
  gpu.func @dot() kernel {
    %a = arith.constant dense<1.0> : tensor<3x5xbf16>
    %b = arith.constant dense<1.0> : tensor<5x7xbf16>
    %c = arith.constant dense<0.0> : tensor<3x7xf32>
    %d = tile.dot %a, %b, %c : tensor<3x5xbf16>, tensor<5x7xbf16> -> tensor<3x7xf32>
    gpu.return
  }
}

// -----

// Sums in the order of the axis; a quotient by 0 does not stop the process; what
// may fail is listed with its place.
// CHECK-LABEL: func.func @rest(
// CHECK-SAME:    tile.checks = [
// CHECK-SAME:      convert-tile-to-host.mlir:[[#@LINE+14]]:5: an assertion failed: small
// CHECK:       scf.for %{{.*}} iter_args(%[[S:.*]] = %{{.*}}) -> (i32)
// CHECK:         arith.addi %[[S]]
// CHECK:       %[[ZERO:.*]] = arith.cmpi eq
// CHECK:       %[[D:.*]] = arith.select
// CHECK:       %[[Q:.*]] = arith.divui %{{.*}}, %[[D]] : i32
// CHECK:       arith.select %[[ZERO]], %{{.*}}, %[[Q]] : i32
gpu.module @kernels {
  gpu.func @rest(%n: i32) kernel {
    %i = tile.iota 0 to 9
    %s = tile.reduce add %i axis 0 : tensor<9xi32>
    %q = arith.divui %s, %n : i32
    %c = arith.constant 40 : i32
    %small = arith.cmpi slt, %q, %c : i32
    tile.assert %small, "small" : i1
    gpu.return
  }
}
