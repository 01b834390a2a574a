// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-count-block-bytes))' | FileCheck %s

gpu.module @kernels {
  // Four programs of a product of 200x192 and 192x160: x and w twice, the result
  // once, and nothing of what is outside.
  // 2 (200 * 192 * 2) + 2 (192 * 160 * 2) + 200 * 160 * 2
  // CHECK-LABEL: gpu.func @product
  // CHECK-SAME: tile.block_bytes = 340480 : i64
  gpu.func @product(%x: !tile.view<200x192xbf16>, %w: !tile.view<192x160xbf16>, %y: !tile.view<200x160xbf16>)
      kernel attributes {tile.grid = array<i64: 2, 2, 1>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c192 = arith.constant 192 : index
    %c80 = arith.constant 80 : index
    %c128 = arith.constant 128 : index
    %px = tile.program_id x
    %py = tile.program_id y
    %i = arith.muli %px, %c128 : index
    %j = arith.muli %py, %c80 : index
    %zero = arith.constant dense<0.0> : tensor<128x80xf32>
    %sum = scf.for %k = %c0 to %c192 step %c32 iter_args(%acc = %zero) -> tensor<128x80xf32> {
      %a = tile.load %x[%i : 128, %k : 32] : !tile.view<200x192xbf16>
      %b = tile.load %w[%k : 32, %j : 80] : !tile.view<192x160xbf16>
      %next = tile.dot %a, %b, %acc : tensor<128x32xbf16>, tensor<32x80xbf16> -> tensor<128x80xf32>
      scf.yield %next : tensor<128x80xf32>
    }
    %r = arith.truncf %sum : tensor<128x80xf32> to tensor<128x80xbf16>
    tile.store %r, %y[%i : 128, %j : 80] : !tile.view<200x160xbf16>
    gpu.return
  }

  // The loop ends where the program's own rows do: 1 + 2 + 3 + 4 blocks of 32
  // numbers, and 100 in place of 128 of them in the last program. The program with
  // the number 0 writes one.
  // (32 + 64 + 96 + 100) * 4 + 4
  // CHECK-LABEL: gpu.func @triangle
  // CHECK-SAME: tile.block_bytes = 1172 : i64
  gpu.func @triangle(%x: !tile.view<100xf32>, %y: !tile.view<1xf32>) kernel attributes {tile.grid = array<i64: 4, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %p = tile.program_id x
    %next = arith.addi %p, %c1 : index
    %end = arith.muli %next, %c32 : index
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %k = %c0 to %end step %c32 iter_args(%acc = %zero) -> f32 {
      %a = tile.load %x[%k : 32] : !tile.view<100xf32>
      %s = tile.reduce add %a axis 0 : tensor<32xf32>
      %t = arith.addf %acc, %s : f32
      scf.yield %t : f32
    }
    %first = arith.cmpi eq, %p, %c0 : index
    scf.if %first {
      tile.store %sum, %y[%c0] : !tile.view<1xf32>
    }
    gpu.return
  }

  // Two loops over a row, in iterations enough not to be looked at one by one, and
  // a block that stays: each once. Through another view it is the same memory. The
  // last of the ten blocks is cut: 8 * 300 * 4 + 16 * 4 bytes are read.
  // CHECK-LABEL: gpu.func @twice
  // CHECK-SAME: tile.block_bytes = 9696 : i64
  gpu.func @twice(%x: !tile.ptr<f32>, %b: !tile.view<16xf32>, %y: !tile.view<8xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c300 = arith.constant 300 : index
    %v = tile.view %x sizes [8, 300] : !tile.ptr<f32> -> !tile.view<8x300xf32>
    %u = tile.view %x sizes [1, 8, 300] : !tile.ptr<f32> -> !tile.view<1x8x300xf32>
    %zero = arith.constant dense<0.0> : tensor<8xf32>
    %sum = scf.for %k = %c0 to %c300 step %c32 iter_args(%acc = %zero) -> tensor<8xf32> {
      %a = tile.load %v[%c0 : 8, %k : 32] : !tile.view<8x300xf32>
      %c = tile.load %b[%c0 : 16] : !tile.view<16xf32>
      %s = tile.reduce add %a axis 1 : tensor<8x32xf32>
      %t = arith.addf %acc, %s : tensor<8xf32>
      scf.yield %t : tensor<8xf32>
    }
    %top = scf.for %k = %c0 to %c300 step %c32 iter_args(%acc = %sum) -> tensor<8xf32> {
      %a = tile.load %u[%c0, %c0 : 8, %k : 32] : !tile.view<1x8x300xf32>
      %s = tile.reduce max %a axis 1 : tensor<8x32xf32>
      %t = arith.addf %acc, %s : tensor<8xf32>
      scf.yield %t : tensor<8xf32>
    }
    tile.store %top, %y[%c0 : 8] : !tile.view<8xf32>
    gpu.return
  }

  // Rows wherever they are, and what is added: 16 * 4 of rows, 16 * 8 * 2 of the
  // table, 16 * 8 * 4.
  // CHECK-LABEL: gpu.func @gather
  // CHECK-SAME: tile.block_bytes = 832 : i64
  gpu.func @gather(%n: !tile.view<16xi32>, %t: !tile.view<100x8xbf16>, %y: !tile.view<100x8xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %rows = tile.load %n[%c0 : 16] : !tile.view<16xi32>
    %a = tile.load %t[%rows : tensor<16xi32>, %c0 : 8] : !tile.view<100x8xbf16>
    %w = arith.extf %a : tensor<16x8xbf16> to tensor<16x8xf32>
    tile.atomic_add %w, %y[%rows : tensor<16xi32>, %c0 : 8] : !tile.view<100x8xf32>
    gpu.return
  }

  // How many blocks there are is in memory; and how many programs is not said.
  // CHECK-LABEL: gpu.func @unknown
  // CHECK-NOT: tile.block_bytes
  // CHECK: gpu.return
  gpu.func @unknown(%n: !tile.view<1xi32>, %x: !tile.view<100xf32>, %y: !tile.view<100xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %m = tile.load %n[%c0] : !tile.view<1xi32>
    %end = arith.index_cast %m : i32 to index
    scf.for %k = %c0 to %end step %c32 {
      %a = tile.load %x[%k : 32] : !tile.view<100xf32>
      tile.store %a, %y[%k : 32] : !tile.view<100xf32>
    }
    gpu.return
  }
  // CHECK-LABEL: gpu.func @at_launch
  // CHECK-NOT: tile.block_bytes
  gpu.func @at_launch(%x: !tile.view<100xf32>, %y: !tile.view<100xf32>) kernel {
    %p = tile.program_id x
    %a = tile.load %x[%p : 32] : !tile.view<100xf32>
    tile.store %a, %y[%p : 32] : !tile.view<100xf32>
    gpu.return
  }
}
