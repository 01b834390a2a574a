// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(canonicalize,tile-assign-layouts,cse,tile-assign-roles,tile-stage-loads))' --split-input-file --verify-diagnostics | FileCheck %s

gpu.module @kernels {
  // The warp that copies waits for an empty slot and says when it is full, once the
  // copies are there; those that compute say at the end that it is empty.
  // CHECK-LABEL: gpu.func @loop
  // CHECK-DAG: %[[A:.*]] = tile.alloc_shared : !tile.shared<3x64x32xbf16
  // CHECK-DAG: %[[B:.*]] = tile.alloc_shared : !tile.shared<3x32x64xbf16
  // CHECK: tile.mbarrier_init %[[FULL:.*]], 32 : !tile.shared<3xi64>
  // CHECK: tile.mbarrier_init %[[EMPTY:.*]], 4 : !tile.shared<3xi64>
  // CHECK: tile.barrier
  // CHECK: tile.roles compute {
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[S:.*]] = %{{.*}}, %[[P:.*]] = %{{.*}})
  // CHECK-NEXT: %[[SLOT:.*]] = arith.index_cast %[[S]]
  // CHECK-NEXT: tile.mbarrier_wait %[[FULL]][%[[SLOT]]] parity %[[P]]
  // CHECK-NEXT: tile.load_shared %[[A]][%[[SLOT]]]
  // CHECK-NEXT: tile.load_shared %[[B]][%[[SLOT]]]
  // CHECK-NEXT: tile.dot
  // CHECK-NOT: scf.yield
  // CHECK: tile.mbarrier_arrive %[[EMPTY]][%[[SLOT]]]
  // CHECK-NOT: tile.copy_async
  // CHECK: } copy {
  // CHECK: scf.for {{.*}} iter_args(%[[S:.*]] = %{{.*}}, %[[P:.*]] = %{{.*}})
  // CHECK-NEXT: %[[SLOT:.*]] = arith.index_cast %[[S]]
  // CHECK: %[[BEFORE:.*]] = arith.xori %[[P]],
  // CHECK-NEXT: tile.mbarrier_wait %[[EMPTY]][%[[SLOT]]] parity %[[BEFORE]]
  // CHECK-NEXT: tile.copy_async {{.*}} to %[[A]][%[[SLOT]]]
  // CHECK-NEXT: tile.copy_async {{.*}} to %[[B]][%[[SLOT]]]
  // CHECK-NEXT: tile.mbarrier_arrive_copies %[[FULL]][%[[SLOT]]]
  // CHECK: tile.wait_copies 0
  gpu.func @loop(%x: !tile.view<64x256xbf16>, %y: !tile.view<256x64xbf16>, %z: !tile.view<64x64xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 4, stages = 3, roles = {copy = 1}>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %r = scf.for %k = %c0 to %c256 step %c32 iter_args(%s = %zero) -> tensor<64x64xf32> {
      %a = tile.load %x[%c0 : 64, %k : 32] : !tile.view<64x256xbf16>
      %b = tile.load %y[%k : 32, %c0 : 64] : !tile.view<256x64xbf16>
      %d = tile.dot %a, %b, %s : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    tile.store %r, %z[%c0 : 64, %c0 : 64] : !tile.view<64x64xf32>
    gpu.return
  }

  // The second loop goes on in the ring of the first, where it has ended. How far it
  // goes is read from memory by all warps, before they part; what is loaded before the
  // loops is brought by who computes.
  // CHECK-LABEL: gpu.func @two
  // CHECK: tile.load %{{.*}} : !tile.view<1xi32>
  // CHECK-COUNT-2: tile.mbarrier_init
  // CHECK-NOT: tile.mbarrier_init
  // CHECK: tile.roles compute {
  // CHECK: tile.copy_async
  // CHECK: %[[L:.*]]:2 = scf.for
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[L]]#0, %{{.*}} = %[[L]]#1)
  // CHECK: } copy {
  // CHECK: %[[C:.*]] = scf.for
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[C]])
  gpu.func @two(%x: !tile.view<64x32xbf16>, %y: !tile.view<256x32xbf16>, %n: !tile.view<1xi32>, %z: !tile.view<64x64xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 4, stages = 2, roles = {copy = 2}>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %m = tile.load %n[%c0] : !tile.view<1xi32>
    %end = arith.index_cast %m : i32 to index
    %a = tile.load %x[%c0 : 64, %c0 : 32] : !tile.view<64x32xbf16>
    %r = scf.for %k = %c0 to %c128 step %c64 iter_args(%s = %zero) -> tensor<64x64xf32> {
      %b = tile.load %y[%k : 64, %c0 : 32] : !tile.view<256x32xbf16>
      %t = tile.trans %b : tensor<64x32xbf16>
      %d = tile.dot %a, %t, %s : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    %q = scf.for %k = %c128 to %end step %c64 iter_args(%s = %r) -> tensor<64x64xf32> {
      %b = tile.load %y[%k : 64, %c0 : 32] : !tile.view<256x32xbf16>
      %t = tile.trans %b : tensor<64x32xbf16>
      %d = tile.dot %a, %t, %s : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    tile.store %q, %z[%c0 : 64, %c0 : 64] : !tile.view<64x64xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // Where the loop ends is computed from blocks, of which warps that copy have none.
  // CHECK-LABEL: gpu.func @computed
  // CHECK-SAME: tile.schedule = #tile.schedule<warps = 4, stages = 2>
  // CHECK-NOT: tile.roles
  // expected-warning@+1 {{has copying warps, but no loop whose blocks they could load}}
  gpu.func @computed(%x: !tile.view<64x256xbf16>, %y: !tile.view<256x64xbf16>, %n: !tile.view<8xi32>, %z: !tile.view<64x64xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 4, roles = {copy = 1}>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %ns = tile.load %n[%c0 : 8] : !tile.view<8xi32>
    %m = tile.reduce max %ns axis 0 : tensor<8xi32>
    %end = arith.index_cast %m : i32 to index
    %r = scf.for %k = %c0 to %end step %c32 iter_args(%s = %zero) -> tensor<64x64xf32> {
      %a = tile.load %x[%c0 : 64, %k : 32] : !tile.view<64x256xbf16>
      %b = tile.load %y[%k : 32, %c0 : 64] : !tile.view<256x64xbf16>
      %d = tile.dot %a, %b, %s : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    tile.store %r, %z[%c0 : 64, %c0 : 64] : !tile.view<64x64xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // The barrier says that what is read was written before: it is one of those who
  // compute, so they read it.
  // CHECK-LABEL: gpu.func @written
  // CHECK-NOT: tile.roles
  // expected-warning@+1 {{has copying warps, but no loop whose blocks they could load}}
  gpu.func @written(%x: !tile.view<64x64xbf16>, %y: !tile.view<256x64xbf16>, %z: !tile.view<64x64xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 4, roles = {copy = 1}>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %one = arith.constant dense<1.0> : tensor<256x64xbf16>
    tile.store %one, %y[%c0 : 256, %c0 : 64] : !tile.view<256x64xbf16>
    tile.barrier
    %a = tile.load %x[%c0 : 64, %c0 : 64] : !tile.view<64x64xbf16>
    %r = scf.for %k = %c0 to %c256 step %c64 iter_args(%s = %zero) -> tensor<64x64xf32> {
      %b = tile.load %y[%k : 64, %c0 : 64] : !tile.view<256x64xbf16>
      %d = tile.dot %a, %b, %s : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    tile.store %r, %z[%c0 : 64, %c0 : 64] : !tile.view<64x64xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // A number that is written before the end of the loop is read is written once: it
  // stays with those who compute, and so the loop does.
  // CHECK-LABEL: gpu.func @counted
  // CHECK-NOT: tile.roles
  // expected-warning@+1 {{has copying warps, but no loop whose blocks they could load}}
  gpu.func @counted(%x: !tile.view<16x64xbf16>, %y: !tile.view<64x64xbf16>, %n: !tile.view<1xi32>, %z: !tile.view<16x64xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 1, roles = {copy = 1}>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %one = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<16x64xf32>
    tile.atomic_add %one, %n[%c0] : !tile.view<1xi32>
    %m = tile.load %n[%c0] : !tile.view<1xi32>
    %end = arith.index_cast %m : i32 to index
    %r = scf.for %k = %c0 to %end step %c32 iter_args(%s = %zero) -> tensor<16x64xf32> {
      %a = tile.load %x[%c0 : 16, %k : 32] : !tile.view<16x64xbf16>
      %b = tile.load %y[%k : 32, %c0 : 64] : !tile.view<64x64xbf16>
      %d = tile.dot %a, %b, %s : tensor<16x32xbf16>, tensor<32x64xbf16> -> tensor<16x64xf32>
      scf.yield %d : tensor<16x64xf32>
    }
    tile.store %r, %z[%c0 : 16, %c0 : 64] : !tile.view<16x64xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // What has its roles already is left alone.
  // CHECK-LABEL: gpu.func @given
  // CHECK-SAME: roles = {copy = 1}
  // CHECK-COUNT-1: tile.roles
  // CHECK-NOT: tile.roles
  gpu.func @given() kernel attributes {tile.schedule = #tile.schedule<roles = {copy = 1}>} {
    tile.roles compute {
      tile.barrier
    } copy {
      tile.barrier
    }
    gpu.return
  }
}
