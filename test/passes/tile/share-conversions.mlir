// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-assign-layouts,cse,tile-stage-loads,tile-share-conversions))' | FileCheck %s

gpu.module @kernels {
  // One block as the operand of two products, also transposed: it is stored once,
  // and both wait at one barrier.
  // CHECK-LABEL: gpu.func @twice
  // CHECK: %[[S:.+]] = tile.dot
  // CHECK: %[[V:.+]] = arith.truncf %[[S]]
  // CHECK: %[[M:.+]] = tile.alloc_shared
  // CHECK-NEXT: tile.store_shared %[[V]], %[[M]]
  // CHECK-NEXT: tile.barrier
  // CHECK: tile.load_shared %[[M]]
  // CHECK: tile.trans
  // CHECK: tile.dot
  // CHECK: tile.load_shared %[[M]]
  // CHECK: tile.dot
  // CHECK-NOT: tile.convert_layout %[[V]]
  gpu.func @twice(%x: !tile.view<64x64xbf16>, %y: !tile.view<64x64xf32>, %z: !tile.view<64x64xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<warps = 8, stages = 1>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %a = tile.load %x[%c0 : 64, %c0 : 64] : !tile.view<64x64xbf16>
    %s = tile.dot %a, %a, %zero : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %v = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
    %t = tile.trans %v : tensor<64x64xbf16>
    %p = tile.dot %t, %a, %zero : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %q = tile.dot %v, %a, %zero : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    tile.store %p, %y[%c0 : 64, %c0 : 64] : !tile.view<64x64xf32>
    tile.store %q, %z[%c0 : 64, %c0 : 64] : !tile.view<64x64xf32>
    gpu.return
  }

  // A single one goes its own way.
  // CHECK-LABEL: gpu.func @once
  // CHECK: tile.convert_layout
  // CHECK-NOT: tile.store_shared
  gpu.func @once(%x: !tile.view<64x64xbf16>, %y: !tile.view<64x64xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<warps = 8, stages = 1>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %a = tile.load %x[%c0 : 64, %c0 : 64] : !tile.view<64x64xbf16>
    %s = tile.dot %a, %a, %zero : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %v = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
    %t = tile.trans %v : tensor<64x64xbf16>
    %p = tile.dot %t, %a, %zero : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    tile.store %p, %y[%c0 : 64, %c0 : 64] : !tile.view<64x64xf32>
    gpu.return
  }

  // A thread that carries many numbers through a loop has no room for two blocks
  // at a time: each goes behind a barrier of its own.
  // CHECK-LABEL: gpu.func @full
  // CHECK: scf.for
  // CHECK: %[[V:.+]] = arith.truncf
  // CHECK: %[[W:.+]] = arith.truncf
  // CHECK: tile.store_shared %[[V]], %[[M:.+]] :
  // CHECK-NEXT: tile.barrier
  // CHECK: tile.load_shared %[[M]]
  // CHECK: tile.store_shared %[[W]], %[[N:.+]] :
  // CHECK-NEXT: tile.barrier
  // CHECK: tile.load_shared %[[N]]
  // CHECK-NOT: tile.store_shared
  // CHECK: scf.yield
  gpu.func @full(%x: !tile.view<64x64xbf16>, %k: !tile.view<64x128xbf16>, %y: !tile.view<64x128xf32>, %z: !tile.view<64x128xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<warps = 4, stages = 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %none = arith.constant dense<0.0> : tensor<64x128xf32>
    %a = tile.load %x[%c0 : 64, %c0 : 64] : !tile.view<64x64xbf16>
    %b = tile.load %k[%c0 : 64, %c0 : 128] : !tile.view<64x128xbf16>
    %r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%p = %none, %q = %none) -> (tensor<64x128xf32>, tensor<64x128xf32>) {
      %s = tile.dot %a, %a, %zero : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
      %v = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
      %e = math.exp2 %s : tensor<64x64xf32>
      %w = arith.truncf %e : tensor<64x64xf32> to tensor<64x64xbf16>
      %vt = tile.trans %v : tensor<64x64xbf16>
      %p1 = tile.dot %vt, %b, %p : tensor<64x64xbf16>, tensor<64x128xbf16> -> tensor<64x128xf32>
      %wt = tile.trans %w : tensor<64x64xbf16>
      %q1 = tile.dot %wt, %b, %q : tensor<64x64xbf16>, tensor<64x128xbf16> -> tensor<64x128xf32>
      scf.yield %p1, %q1 : tensor<64x128xf32>, tensor<64x128xf32>
    }
    tile.store %r#0, %y[%c0 : 64, %c0 : 128] : !tile.view<64x128xf32>
    tile.store %r#1, %z[%c0 : 64, %c0 : 128] : !tile.view<64x128xf32>
    gpu.return
  }

  // Four warps beside each other have the columns that they have as rows of the
  // transposed block. For that product, two warps wait for each other; for the one
  // that takes whole rows, all do.
  // CHECK-LABEL: gpu.func @parts
  // CHECK: scf.for
  // CHECK: tile.dot {{.*}} -> tensor<64x128xf32, #[[S:.+]]>
  // CHECK: tile.store_shared %{{.+}}, %[[M:.+]] : tensor<64x128xbf16, #[[S]]>
  // CHECK-NEXT: tile.barrier parts 4{{$}}
  // CHECK-NEXT: tile.load_shared %[[M]]
  // CHECK: tile.dot
  // CHECK: tile.store_shared %{{.+}}, %[[N:.+]] : tensor<64x128xbf16, #[[S]]>
  // CHECK-NEXT: tile.barrier parts 4{{$}}
  // CHECK-NEXT: tile.load_shared %[[N]]
  // CHECK: tile.dot
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.load_shared %[[N]]
  // CHECK: tile.dot
  gpu.func @parts(%x: !tile.view<64x128xbf16>, %k: !tile.view<128x128xbf16>, %y: !tile.view<128x128xf32>, %z: !tile.view<128x128xf32>, %o: !tile.view<64x128xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<warps = 8, stages = 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant dense<0.0> : tensor<64x128xf32>
    %none = arith.constant dense<0.0> : tensor<128x128xf32>
    %a = tile.load %x[%c0 : 64, %c0 : 128] : !tile.view<64x128xbf16>
    %b = tile.load %k[%c0 : 128, %c0 : 128] : !tile.view<128x128xbf16>
    %r:2 = scf.for %i = %c0 to %c8 step %c1 iter_args(%p = %none, %q = %none) -> (tensor<128x128xf32>, tensor<128x128xf32>) {
      %s = tile.dot %a, %b, %zero : tensor<64x128xbf16>, tensor<128x128xbf16> -> tensor<64x128xf32>
      %v = arith.truncf %s : tensor<64x128xf32> to tensor<64x128xbf16>
      %e = math.exp2 %s : tensor<64x128xf32>
      %w = arith.truncf %e : tensor<64x128xf32> to tensor<64x128xbf16>
      %vt = tile.trans %v : tensor<64x128xbf16>
      %p1 = tile.dot %vt, %a, %p : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
      %wt = tile.trans %w : tensor<64x128xbf16>
      %q1 = tile.dot %wt, %a, %q : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
      %d = tile.dot %w, %b, %zero : tensor<64x128xbf16>, tensor<128x128xbf16> -> tensor<64x128xf32>
      tile.store %d, %o[%c0 : 64, %c0 : 128] : !tile.view<64x128xf32>
      scf.yield %p1, %q1 : tensor<128x128xf32>, tensor<128x128xf32>
    }
    tile.store %r#0, %y[%c0 : 128, %c0 : 128] : !tile.view<128x128xf32>
    tile.store %r#1, %z[%c0 : 128, %c0 : 128] : !tile.view<128x128xf32>
    gpu.return
  }

  // Two blocks of 64 KiB are not in memory together, though their barrier could be one.
  // CHECK-LABEL: gpu.func @large
  // CHECK-NOT: tile.store_shared
  // CHECK: gpu.return
  gpu.func @large(%x: !tile.view<128x64xbf16>, %y: !tile.view<128x128xf32>, %z: !tile.view<128x128xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<warps = 8, stages = 1>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<128x128xf32>
    %a = tile.load %x[%c0 : 128, %c0 : 64] : !tile.view<128x64xbf16>
    %b = tile.load %x[%c0 : 128, %c0 : 64] : !tile.view<128x64xbf16>
    %t = tile.trans %b : tensor<128x64xbf16>
    %s = tile.dot %a, %t, %zero : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
    %e = math.exp2 %s : tensor<128x128xf32>
    %st = tile.trans %s : tensor<128x128xf32>
    %et = tile.trans %e : tensor<128x128xf32>
    tile.store %st, %y[%c0 : 128, %c0 : 128] : !tile.view<128x128xf32>
    tile.store %et, %z[%c0 : 128, %c0 : 128] : !tile.view<128x128xf32>
    gpu.return
  }

  // Two of 32 KiB are.
  // CHECK-LABEL: gpu.func @small
  // CHECK: tile.store_shared
  // CHECK-NEXT: tile.store_shared
  // CHECK-NEXT: tile.barrier
  gpu.func @small(%x: !tile.view<128x64xbf16>, %y: !tile.view<64x128xf32>, %z: !tile.view<64x128xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<warps = 8, stages = 1>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %a = tile.load %x[%c0 : 128, %c0 : 64] : !tile.view<128x64xbf16>
    %b = tile.load %x[%c0 : 64, %c0 : 64] : !tile.view<128x64xbf16>
    %t = tile.trans %b : tensor<64x64xbf16>
    %s = tile.dot %a, %t, %zero : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    %e = math.exp2 %s : tensor<128x64xf32>
    %st = tile.trans %s : tensor<128x64xf32>
    %et = tile.trans %e : tensor<128x64xf32>
    tile.store %st, %y[%c0 : 64, %c0 : 128] : !tile.view<64x128xf32>
    tile.store %et, %z[%c0 : 64, %c0 : 128] : !tile.view<64x128xf32>
    gpu.return
  }
}
