// The second operand is at a column that may be the same for the programs of a
// cluster: they copy it together.
// RUN: split-file %s %t
// DEFINE: %{passes} = --tile-select-instructions=target=sm_90a --tile-assign-layouts --cse --tile-async-dots --tile-make-persistent --tile-assign-roles=target=sm_90a
// RUN: act-opt %t/product.mlir %{passes} | FileCheck %t/product.mlir
//
// Positions that are the same, and others.
// RUN: sed 's/%column = .*/%column = arith.divui %x, %c2 : index/' %t/product.mlir | act-opt %{passes} | FileCheck %s --check-prefix=SHARED
// RUN: sed 's/%column = .*/%column = arith.divui %x, %c4 : index/' %t/product.mlir | act-opt %{passes} | FileCheck %s --check-prefix=SHARED
// RUN: sed 's/%column = .*/%column = arith.divui %x, %c3 : index/' %t/product.mlir | act-opt %{passes} 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: sed 's/%column = .*/%column = arith.remui %x, %c4 : index/' %t/product.mlir | act-opt %{passes} 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: sed 's/%column = .*/%column = arith.addi %x, %y : index/' %t/product.mlir | act-opt %{passes} 2>&1 | FileCheck %s --check-prefix=ALONE
//
// From the last program on: 7, 6 are a pair, as 0, 1 are.
// RUN: sed -e 's/%column = .*/%last = arith.subi %c7, %x : index %column = arith.divui %last, %c2 : index/' %t/product.mlir | act-opt %{passes} | FileCheck %s --check-prefix=SHARED
// RUN: sed -e 's/%column = .*/%last = arith.subi %c4, %x : index %column = arith.divui %last, %c2 : index/' %t/product.mlir | act-opt %{passes} 2>&1 | FileCheck %s --check-prefix=ALONE
//
// A raster lets adjacent programs differ in their row; not the last one of three.
// RUN: sed -e 's/cluster/raster = 2x8, cluster/; s/%column = .*/%column = arith.addi %x, %c0 : index/; s/%row = .*/%row = arith.muli %y, %c64 : index/' %t/product.mlir | act-opt %{passes} | FileCheck %s --check-prefix=SHARED
// RUN: sed -e 's/cluster/raster = 2x8, persistent, cluster/; s/%column = .*/%column = arith.addi %x, %c0 : index/; s/%row = .*/%row = arith.muli %y, %c64 : index/' %t/product.mlir | act-opt %{passes} | FileCheck %s --check-prefix=SHARED
// RUN: sed -e 's/8, 4, 1/8, 3, 1/; s/cluster/raster = 2x8, cluster/; s/%column = .*/%column = arith.addi %x, %c0 : index/; s/%row = .*/%row = arith.muli %y, %c64 : index/' %t/product.mlir | act-opt %{passes} 2>&1 | FileCheck %s --check-prefix=ALONE
//
// Not all go through the loop as often.
// RUN: sed 's/to %c256 step/to %row step/' %t/product.mlir | act-opt %{passes} 2>&1 | FileCheck %s --check-prefix=ALONE
//
// Programs that wait for each other.
// RUN: sed 's/%column = .*/tile.wait_turn %waits[%c0], %x : !tile.view<1xi32> %column = arith.addi %y, %c0 : index/' %t/product.mlir | act-opt %{passes} 2>&1 | FileCheck %s --check-prefix=ALONE
//
// Too few rows for a cluster of 8.
// RUN: sed 's/cluster = 2/cluster = 8/' %t/product.mlir | act-opt %{passes} 2>&1 | FileCheck %s --check-prefix=ALONE
//
// No copy engine: threads copy, each program on its own, and nobody is told.
// RUN: act-opt %t/product.mlir --tile-assign-layouts --tile-assign-roles 2>&1 | FileCheck %s --check-prefix=OLD

// SHARED: cluster = 2
// SHARED: tile.cluster_barrier
// SHARED: tile.copy_tensor %arg0{{.*}} signals %{{.+}}[%{{.+}}] :
// SHARED: tile.copy_tensor %arg1{{.*}} multicast :
// SHARED: tile.cluster_barrier

// ALONE: warning: has clusters, but no block that their programs could copy together
// ALONE: tile.schedule = #tile.schedule<groups = 1, stages = 2{{(, raster = 2x8)?}}, roles = {copy = 1}>
// ALONE-NOT: tile.cluster_barrier
// ALONE: tile.copy_tensor %arg1{{.*}} signals %{{.+}}[%{{.+}}] :
// ALONE-NOT: tile.cluster_barrier

// OLD-NOT: warning
// OLD-NOT: cluster
// OLD: tile.copy_async

//--- product.mlir
// CHECK: tile.schedule = #tile.schedule<groups = 1, stages = 2, cluster = 2, roles = {copy = 1}>
// CHECK: tile.mbarrier_init %[[FULL:.+]], 1 :
// CHECK: tile.mbarrier_init %[[EMPTY:.+]], 8 :
// CHECK: tile.cluster_barrier
// CHECK-NEXT: tile.roles compute {
// CHECK: tile.mbarrier_wait %[[FULL]][%{{.+}}] parity %{{.+}} : !tile.shared<2xi64>
// CHECK: tile.mbarrier_arrive %[[EMPTY]][%{{.+}}] cluster : !tile.shared<2xi64>
// CHECK: } copy {
// CHECK: tile.mbarrier_wait %[[EMPTY]][%{{.+}}] parity %{{.+}} cluster : !tile.shared<2xi64>
// CHECK-NEXT: tile.mbarrier_expect %[[FULL]][%{{.+}}] bytes 8192 : !tile.shared<2xi64>
// CHECK-NEXT: tile.copy_tensor %arg0{{.*}} signals %[[FULL]][%{{.+}}] : !tile.view<512x256xbf16>,
// CHECK-NEXT: tile.copy_tensor %arg1{{.*}} signals %[[FULL]][%{{.+}}] multicast : !tile.view<256x512xbf16>,
// CHECK: tile.cluster_barrier
// CHECK-NEXT: gpu.return
gpu.module @kernels {
  gpu.func @product(%a: !tile.view<512x256xbf16>, %b: !tile.view<256x512xbf16>, %out: !tile.view<512x512xf32>, %waits: !tile.view<1xi32>)
      kernel attributes {tile.grid = array<i64: 8, 4, 1>, tile.schedule = #tile.schedule<groups = 1, stages = 2, cluster = 2, roles = {copy = 1}>} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c7 = arith.constant 7 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %x = tile.program_id x
    %y = tile.program_id y
    %row = arith.muli %x, %c64 : index
    %column = arith.addi %y, %c0 : index
    %j = arith.muli %column, %c64 : index
    %sum = scf.for %k = %c0 to %c256 step %c32 iter_args(%s = %zero) -> (tensor<64x64xf32>) {
      %p = tile.load %a[%row : 64, %k : 32] : !tile.view<512x256xbf16>
      %q = tile.load %b[%k : 32, %j : 64] : !tile.view<256x512xbf16>
      %d = tile.dot %p, %q, %s : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    tile.store %sum, %out[%row : 64, %j : 64] : !tile.view<512x512xf32>
    gpu.return
  }
}
