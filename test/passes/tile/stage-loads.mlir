// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-assign-layouts,cse,tile-stage-loads))' | FileCheck %s

gpu.module @kernels {
  // Three stages: copies of two iterations before the loop, then one in each; a
  // slot is read after its group is done and all threads know it.
  // CHECK-LABEL: gpu.func @loop
  // CHECK-DAG: tile.alloc_shared : !tile.shared<3x64x32xbf16
  // CHECK-DAG: tile.alloc_shared : !tile.shared<3x32x64xbf16
  // CHECK-COUNT-2: tile.copy_async
  // CHECK-NEXT: tile.commit_copies
  // CHECK-COUNT-2: tile.copy_async
  // CHECK-NEXT: tile.commit_copies
  // CHECK: scf.for
  // CHECK-NEXT: tile.wait_copies 1
  // CHECK-NEXT: tile.barrier
  // CHECK-COUNT-2: tile.copy_async
  // CHECK-NEXT: tile.commit_copies
  // CHECK-NOT: tile.load %
  // CHECK-COUNT-2: tile.load_shared
  // CHECK: tile.dot
  // CHECK: }
  // CHECK: tile.wait_copies 0
  gpu.func @loop(%x: !tile.view<64x256xbf16>, %y: !tile.view<256x64xbf16>, %z: !tile.view<64x64xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 4, stages = 3>} {
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

  // Operands of f32 are copied as they are, and read in pairs of chunks; they are
  // made parts of bf16 where they are multiplied.
  // CHECK-LABEL: gpu.func @singles
  // CHECK-DAG: tile.alloc_shared : !tile.shared<2x64x32xf32, #[[S128:shared128p.*]]>
  // CHECK-DAG: tile.alloc_shared : !tile.shared<2x32x80xf32, #[[S64:shared64p.*]]>
  // CHECK: scf.for
  // CHECK-NOT: tile.load %
  // CHECK-COUNT-2: tile.load_shared
  // CHECK: tile.dot {{.*}} : tensor<64x32xf32, {{.*}}>, tensor<32x80xf32, {{.*}}> -> tensor<64x80xf32
  gpu.func @singles(%x: !tile.view<64x256xf32>, %y: !tile.view<256x80xf32>, %z: !tile.view<64x80xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 4, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<64x80xf32>
    %r = scf.for %k = %c0 to %c256 step %c32 iter_args(%s = %zero) -> tensor<64x80xf32> {
      %a = tile.load %x[%c0 : 64, %k : 32] : !tile.view<64x256xf32>
      %b = tile.load %y[%k : 32, %c0 : 80] : !tile.view<256x80xf32>
      %d = tile.dot %a, %b, %s : tensor<64x32xf32>, tensor<32x80xf32> -> tensor<64x80xf32>
      scf.yield %d : tensor<64x80xf32>
    }
    tile.store %r, %z[%c0 : 64, %c0 : 80] : !tile.view<64x80xf32>
    gpu.return
  }

  // What the loop writes is not copied ahead of it: each iteration copies its own.
  // CHECK-LABEL: gpu.func @written
  // CHECK-NOT: tile.copy_async
  // CHECK: scf.for
  // CHECK-NEXT: tile.alloc_shared : !tile.shared<1x64x64xbf16
  // CHECK: tile.barrier
  // CHECK-NEXT: tile.copy_async
  // CHECK: tile.wait_copies 0
  // CHECK: tile.dot
  // CHECK: tile.store
  gpu.func @written(%x: !tile.view<256x64xbf16>, %y: !tile.view<64x64xbf16>) kernel attributes {tile.schedule = #tile.schedule<warps = 4, stages = 3>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c192 = arith.constant 192 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %b = tile.load %y[%c0 : 64, %c0 : 64] pad = 1.0 : !tile.view<64x64xbf16>
    scf.for %k = %c0 to %c192 step %c64 {
      %a = tile.load %x[%k : 64, %c0 : 64] : !tile.view<256x64xbf16>
      %d = tile.dot %a, %b, %zero : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      %h = arith.truncf %d : tensor<64x64xf32> to tensor<64x64xbf16>
      %next = arith.addi %k, %c64 : index
      tile.store %h, %x[%next : 64, %c0 : 64] : !tile.view<256x64xbf16>
      tile.barrier
    }
    gpu.return
  }

  // One stage: a barrier keeps the copy from what still reads the last one.
  // CHECK-LABEL: gpu.func @one
  // CHECK: scf.for
  // CHECK: tile.barrier
  // CHECK: tile.copy_async
  // CHECK: tile.wait_copies 0
  // CHECK-NEXT: tile.barrier
  gpu.func @one(%x: !tile.view<64x256xbf16>, %y: !tile.view<256x64xbf16>, %z: !tile.view<64x64xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 4, stages = 1>} {
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

  // Rows of 33 elements are not aligned to 16 bytes, and padding that is no zero
  // cannot be copied: both stay loads.
  // CHECK-LABEL: gpu.func @left
  // CHECK-NOT: tile.copy_async
  // CHECK: tile.load %{{.*}}33xbf16
  // CHECK: tile.load {{.*}} pad = 1.0
  gpu.func @left(%x: !tile.view<64x33xbf16>, %y: !tile.view<32x64xbf16>, %z: !tile.view<64x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %a = tile.load %x[%c0 : 64, %c0 : 32] : !tile.view<64x33xbf16>
    %b = tile.load %y[%c0 : 32, %c0 : 64] pad = 1.0 : !tile.view<32x64xbf16>
    %d = tile.dot %a, %b, %zero : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
    tile.store %d, %z[%c0 : 64, %c0 : 64] : !tile.view<64x64xf32>
    gpu.return
  }

  // What several ops need is copied once: two operands of dots, one of them
  // transposed, and a block that is computed with.
  // CHECK-LABEL: gpu.func @several
  // CHECK: %[[S:.*]] = tile.alloc_shared : !tile.shared<2x64x64xbf16
  // CHECK: scf.for
  // CHECK: tile.copy_async {{.*}} to %[[S]][
  // CHECK-NOT: tile.load %
  // CHECK-NOT: tile.copy_async
  // CHECK-COUNT-3: tile.load_shared %[[S]][
  // CHECK: scf.yield
  gpu.func @several(%x: !tile.view<256x64xbf16>, %y: !tile.view<64x64xbf16>, %z: !tile.view<64x64xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 4, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %y0 = tile.load %y[%c0 : 64, %c0 : 64] : !tile.view<64x64xbf16>
    %r = scf.for %k = %c0 to %c256 step %c64 iter_args(%s = %zero) -> tensor<64x64xf32> {
      %a = tile.load %x[%k : 64, %c0 : 64] : !tile.view<256x64xbf16>
      %t = tile.trans %a : tensor<64x64xbf16>
      %p = tile.dot %y0, %t, %s : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      %d = tile.dot %y0, %a, %p : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      %e = arith.extf %a : tensor<64x64xbf16> to tensor<64x64xf32>
      %f = arith.addf %d, %e : tensor<64x64xf32>
      scf.yield %f : tensor<64x64xf32>
    }
    tile.store %r, %z[%c0 : 64, %c0 : 64] : !tile.view<64x64xf32>
    gpu.return
  }

  // A loop that ends before its view does: nothing is copied that nobody reads, also
  // where there is no iteration at all.
  // CHECK-LABEL: gpu.func @part
  // CHECK-SAME: %[[END:[a-zA-Z0-9_]+]]: index
  // CHECK: %[[ANY:.+]] = arith.cmpi slt, %{{.+}}, %[[END]] : index
  // CHECK: scf.if %[[ANY]] {
  // CHECK: tile.copy_async
  // CHECK: }
  // CHECK: tile.commit_copies
  // CHECK: scf.for %[[K:[a-zA-Z0-9_]+]] =
  // CHECK: %[[AHEAD:.+]] = arith.addi %[[K]],
  // CHECK: %[[MORE:.+]] = arith.cmpi slt, %[[AHEAD]], %[[END]] : index
  // CHECK: scf.if %[[MORE]] {
  // CHECK: tile.copy_async
  // CHECK: }
  // CHECK: tile.commit_copies
  gpu.func @part(%x: !tile.view<256x64xbf16>, %y: !tile.view<64x64xbf16>, %z: !tile.view<64x64xf32>, %end: index) kernel attributes {tile.schedule = #tile.schedule<warps = 4, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %y0 = tile.load %y[%c0 : 64, %c0 : 64] : !tile.view<64x64xbf16>
    %r = scf.for %k = %c0 to %end step %c64 iter_args(%s = %zero) -> tensor<64x64xf32> {
      %a = tile.load %x[%k : 64, %c0 : 64] : !tile.view<256x64xbf16>
      %d = tile.dot %y0, %a, %s : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    tile.store %r, %z[%c0 : 64, %c0 : 64] : !tile.view<64x64xf32>
    gpu.return
  }
}
