// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-assign-layouts))' | FileCheck %s

// Of @tall: vectors of 16 bytes would leave each thread all rows in 16 columns, more
// than a thread can have.
// CHECK: register = [65519:(1,0)], lane = [16:(0,1), 2:(0,0)]

gpu.module @kernels {
  // A load has a layout made for memory, and what follows has the same: no
  // conversion.
  // CHECK-LABEL: gpu.func @elementwise
  // CHECK: %[[A:.+]] = tile.load {{.*}} -> tensor<256xf32, #[[L:.+]]>
  // CHECK: %[[B:.+]] = arith.addf %[[A]], %[[A]] : tensor<256xf32, #[[L]]>
  // CHECK-NEXT: tile.store %[[B]], {{.*}} : tensor<256xf32, #[[L]]>
  gpu.func @elementwise(%x: !tile.view<1000xf32>, %y: !tile.view<1000xf32>) kernel {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 256] : !tile.view<1000xf32>
    %b = arith.addf %a, %a : tensor<256xf32>
    tile.store %b, %y[%c0 : 256] : !tile.view<1000xf32>
    gpu.return
  }

  // Operands of a dot are converted to fragments; the accumulator is made as one.
  // CHECK-LABEL: gpu.func @product
  // CHECK: %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #[[ACC:.+]]>
  // CHECK: %[[X:.+]] = tile.load
  // CHECK: %[[Y:.+]] = tile.load
  // CHECK: %[[A:.+]] = tile.convert_layout %[[X]]
  // CHECK: %[[B:.+]] = tile.convert_layout %[[Y]]
  // CHECK: %[[D:.+]] = tile.dot %[[A]], %[[B]], %[[ZERO]] : {{.*}} -> tensor<64x64xf32, #[[ACC]]>
  // CHECK: %[[OUT:.+]] = tile.convert_layout %[[D]] : tensor<64x64xf32, #[[ACC]]>
  // CHECK: tile.store %[[OUT]]
  gpu.func @product(%x: !tile.view<64x32xbf16>, %y: !tile.view<32x64xbf16>, %z: !tile.view<64x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %a = tile.load %x[%c0 : 64, %c0 : 32] : !tile.view<64x32xbf16>
    %b = tile.load %y[%c0 : 32, %c0 : 64] : !tile.view<32x64xbf16>
    %d = tile.dot %a, %b, %zero : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
    tile.store %d, %z[%c0 : 64, %c0 : 64] : !tile.view<64x64xf32>
    gpu.return
  }

  // Rows of a reduction are the operand's rows.
  // CHECK-LABEL: gpu.func @rows
  // CHECK-NOT: convert_layout
  // CHECK: tile.store
  gpu.func @rows(%x: !tile.view<64x32xf32>, %y: !tile.view<64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 64, %c0 : 32] : !tile.view<64x32xf32>
    %m = tile.reduce max %a axis 1 : tensor<64x32xf32>
    tile.store %m, %y[%c0 : 64] : !tile.view<64xf32>
    gpu.return
  }

  // A row's sum has the same order whatever else is stored of its shape: 8 numbers
  // of bf16 in each thread, not 4 of f32.
  // CHECK-LABEL: gpu.func @sum
  // CHECK: tile.reduce add %{{.+}} axis 1 : tensor<16x256xf32, #[[SUM:.+]]>
  // CHECK-LABEL: gpu.func @sum_and_more
  // CHECK: tile.reduce add %{{.+}} axis 1 : tensor<16x256xf32, #[[SUM]]>
  gpu.func @sum(%x: !tile.view<16x256xbf16>, %y: !tile.view<16xf32>) kernel {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 16, %c0 : 256] : !tile.view<16x256xbf16>
    %w = arith.extf %a : tensor<16x256xbf16> to tensor<16x256xf32>
    %m = tile.reduce add %w axis 1 : tensor<16x256xf32>
    tile.store %m, %y[%c0 : 16] : !tile.view<16xf32>
    gpu.return
  }
  gpu.func @sum_and_more(%x: !tile.view<16x256xbf16>, %y: !tile.view<16xf32>, %z: !tile.view<16x256xf32>) kernel {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 16, %c0 : 256] : !tile.view<16x256xbf16>
    %w = arith.extf %a : tensor<16x256xbf16> to tensor<16x256xf32>
    %m = tile.reduce add %w axis 1 : tensor<16x256xf32>
    tile.store %m, %y[%c0 : 16] : !tile.view<16xf32>
    tile.store %w, %z[%c0 : 16, %c0 : 256] : !tile.view<16x256xf32>
    gpu.return
  }

  // A scan's results are held as its operands are.
  // CHECK-LABEL: gpu.func @scanned
  // CHECK-NOT: convert_layout
  // CHECK: %[[A:.+]]:2 = tile.scan %{{.+}}, %{{.+}} axis 1 : tensor<16x32xf32, #[[L:.+]]>, tensor<16x32xbf16, #[[L]]> {
  // CHECK-NOT: convert_layout
  // CHECK: tile.store %[[A]]#0, {{.*}} : tensor<16x32xf32, #[[L]]>
  gpu.func @scanned(%x: !tile.view<16x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 16, %c0 : 32] : !tile.view<16x32xf32>
    %b = arith.truncf %a : tensor<16x32xf32> to tensor<16x32xbf16>
    %s:2 = tile.scan %a, %b axis 1 : tensor<16x32xf32>, tensor<16x32xbf16> {
    ^bb0(%p: f32, %q: bf16, %r: f32, %t: bf16):
      %u = arith.mulf %p, %r : f32
      %v = arith.mulf %q, %t : bf16
      tile.yield %u, %v : f32, bf16
    }
    tile.store %s#0, %x[%c0 : 16, %c0 : 32] : !tile.view<16x32xf32>
    gpu.return
  }

  // What a loop carries has one layout everywhere.
  // CHECK-LABEL: gpu.func @carried
  // CHECK: scf.for {{.*}} -> (tensor<64xf32, #[[L:.+]]>)
  // CHECK: scf.yield %{{.+}} : tensor<64xf32, #[[L]]>
  gpu.func @carried(%x: !tile.view<256xf32>, %y: !tile.view<64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<64xf32>
    %r = scf.for %i = %c0 to %c256 step %c64 iter_args(%s = %zero) -> tensor<64xf32> {
      %a = tile.load %x[%i : 64] : !tile.view<256xf32>
      %n = arith.addf %s, %a : tensor<64xf32>
      scf.yield %n : tensor<64xf32>
    }
    tile.store %r, %y[%c0 : 64] : !tile.view<64xf32>
    gpu.return
  }

  // So does what a scf.while carries, in both of its regions.
  // CHECK-LABEL: gpu.func @repeated
  // CHECK: scf.while {{.*}} : (index, tensor<64xf32, #[[L:.+]]>) -> (index, tensor<64xf32, #[[L]]>)
  // CHECK: scf.condition(%{{.+}}) %{{.+}}, %{{.+}} : index, tensor<64xf32, #[[L]]>
  // CHECK: ^bb0(%{{.+}}: index, %{{.+}}: tensor<64xf32, #[[L]]>):
  gpu.func @repeated(%x: !tile.view<64xf32>, %y: !tile.view<64xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tile.load %x[%c0 : 64] : !tile.view<64xf32>
    %r:2 = scf.while (%i = %c0, %s = %a) : (index, tensor<64xf32>) -> (index, tensor<64xf32>) {
      %more = arith.cmpi slt, %i, %n : index
      scf.condition(%more) %i, %s : index, tensor<64xf32>
    } do {
    ^bb0(%i: index, %s: tensor<64xf32>):
      %t = arith.addf %s, %a : tensor<64xf32>
      %j = arith.addi %i, %c1 : index
      scf.yield %j, %t : index, tensor<64xf32>
    }
    tile.store %r#1, %y[%c0 : 64] : !tile.view<64xf32>
    gpu.return
  }

  // A constant that is wanted in two layouts is made twice, not converted.
  // CHECK-LABEL: gpu.func @free
  // CHECK-NOT: convert_layout
  // CHECK: gpu.return
  gpu.func @free(%x: !tile.view<64xf32>, %y: !tile.view<16x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %one = arith.constant dense<1.0> : tensor<64xf32>
    %a = tile.load %x[%c0 : 64] : !tile.view<64xf32>
    %b = arith.addf %a, %one : tensor<64xf32>
    tile.store %b, %x[%c0 : 64] : !tile.view<64xf32>
    %e = tile.expand_dims %one axis 0 : tensor<64xf32>
    %w = tile.broadcast %e : tensor<1x64xf32> -> tensor<16x64xf32>
    tile.store %w, %y[%c0 : 16, %c0 : 64] : !tile.view<16x64xf32>
    gpu.return
  }

  // A row that all warps need is read once, and handed on; in a loop each reads it.
  // CHECK-LABEL: gpu.func @row
  // CHECK: tile.load {{.*}} : !tile.view<8x512xbf16>
  // CHECK: %[[W:.+]] = tile.load {{.*}} -> tensor<512xbf16, #[[ONCE:.+]]>
  // CHECK: tile.convert_layout %[[W]] : tensor<512xbf16, #[[ONCE]]>
  // CHECK: scf.for
  // CHECK: %[[V:.+]] = tile.load
  // CHECK-NOT: convert_layout
  // CHECK: scf.yield
  gpu.func @row(%x: !tile.view<8x512xbf16>, %w: !tile.view<512xbf16>, %y: !tile.view<8x512xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %a = tile.load %x[%c0 : 8, %c0 : 512] : !tile.view<8x512xbf16>
    %r = tile.load %w[%c0 : 512] : !tile.view<512xbf16>
    %e = tile.expand_dims %r axis 0 : tensor<512xbf16>
    %b = tile.broadcast %e : tensor<1x512xbf16> -> tensor<8x512xbf16>
    %p = arith.mulf %a, %b : tensor<8x512xbf16>
    %sum = scf.for %k = %c0 to %c9 step %c1 iter_args(%acc = %p) -> tensor<8x512xbf16> {
      %v = tile.load %w[%k : 512] : !tile.view<512xbf16>
      %f = tile.expand_dims %v axis 0 : tensor<512xbf16>
      %g = tile.broadcast %f : tensor<1x512xbf16> -> tensor<8x512xbf16>
      %q = arith.addf %acc, %g : tensor<8x512xbf16>
      scf.yield %q : tensor<8x512xbf16>
    }
    tile.store %sum, %y[%c0 : 8, %c0 : 512] : !tile.view<8x512xbf16>
    gpu.return
  }

  // Halves that are made of what a thread has stay where they are made.
  // CHECK-LABEL: gpu.func @halves
  // CHECK-NOT: convert_layout
  // CHECK: gpu.return
  gpu.func @halves(%x: !tile.view<64x32xbf16>, %y: !tile.view<64x2x32xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 64, %c0 : 32] : !tile.view<64x32xbf16>
    %e = tile.expand_dims %a axis 1 : tensor<64x32xbf16>
    %b = tile.broadcast %e : tensor<64x1x32xbf16> -> tensor<64x2x32xbf16>
    tile.store %b, %y[%c0 : 64, %c0 : 2, %c0 : 32] : !tile.view<64x2x32xbf16>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @tall
  gpu.func @tall(%x: !tile.view<65519x16xi8>, %y: !tile.view<65519x16xi8>) kernel {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 65519, %c0 : 16] : !tile.view<65519x16xi8>
    tile.store %a, %y[%c0 : 65519, %c0 : 16] : !tile.view<65519x16xi8>
    gpu.return
  }
}
