// SPDX-License-Identifier: Apache-2.0
//
// Kernels whose results are exact, so that both devices have the same bits.
gpu.module @kernels {
  // A product of gathered rows: the threads that copy a row into shared memory are
  // others than those that would load it.
  gpu.func @rows(%x: !tile.view<21x64xi8>, %w: !tile.view<64x128xi8>, %y: !tile.view<16x128xi32>)
      kernel attributes {tile.schedule = #tile.schedule<warps = 8, stages = 1>} {
    %c0 = arith.constant 0 : index
    %i = tile.iota 0 to 16
    %five = arith.constant dense<5> : tensor<16xi32>
    %n = arith.constant dense<21> : tensor<16xi32>
    %j = arith.muli %i, %five : tensor<16xi32>
    %rows = arith.remui %j, %n : tensor<16xi32>
    %a = tile.load %x[%rows : tensor<16xi32>, %c0 : 64] : !tile.view<21x64xi8>
    %b = tile.load %w[%c0 : 64, %c0 : 128] : !tile.view<64x128xi8>
    %zero = arith.constant dense<0> : tensor<16x128xi32>
    %p = tile.dot %a, %b, %zero : tensor<16x64xi8>, tensor<64x128xi8> -> tensor<16x128xi32>
    tile.store %p, %y[%c0 : 16, %c0 : 128] : !tile.view<16x128xi32>
    gpu.return
  }

  // Sums of gathered rows, as whole numbers: rows of 40 columns of f32 are copied
  // in panels of 32 bytes.
  gpu.func @rows_f32(%x: !tile.view<21x40xf32>, %y: !tile.view<16x8xf32>)
      kernel attributes {tile.schedule = #tile.schedule<warps = 1, stages = 1>} {
    %c0 = arith.constant 0 : index
    %i = tile.iota 0 to 16
    %five = arith.constant dense<5> : tensor<16xi32>
    %n = arith.constant dense<21> : tensor<16xi32>
    %j = arith.muli %i, %five : tensor<16xi32>
    %rows = arith.remui %j, %n : tensor<16xi32>
    %a = tile.load %x[%rows : tensor<16xi32>, %c0 : 40] : !tile.view<21x40xf32>
    %ones = arith.constant dense<1.0> : tensor<40x8xf32>
    %zero = arith.constant dense<0.0> : tensor<16x8xf32>
    %p = tile.dot %a, %ones, %zero precision = tf32 : tensor<16x40xf32>, tensor<40x8xf32> -> tensor<16x8xf32>
    %r = math.round %p : tensor<16x8xf32>
    tile.store %r, %y[%c0 : 16, %c0 : 8] : !tile.view<16x8xf32>
    gpu.return
  }

  // Both halves of a product of 64-bit numbers.
  gpu.func @long_products(%x: !tile.view<20xi64>, %y: !tile.view<4x20xi64>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %a = tile.load %x[%c0 : 20] : !tile.view<20xi64>
    %m = arith.constant dense<-7> : tensor<20xi64>
    %ul, %uh = arith.mului_extended %a, %m : tensor<20xi64>
    %sl, %sh = arith.mulsi_extended %a, %m : tensor<20xi64>
    tile.store %ul, %y[%c0, %c0 : 20] : !tile.view<4x20xi64>
    tile.store %uh, %y[%c1, %c0 : 20] : !tile.view<4x20xi64>
    tile.store %sl, %y[%c2, %c0 : 20] : !tile.view<4x20xi64>
    tile.store %sh, %y[%c3, %c0 : 20] : !tile.view<4x20xi64>
    gpu.return
  }

  // Four iterations, of numbers without a sign; and a line without a value.
  gpu.func @unsigned(%x: !tile.view<64x64xi32>, %y: !tile.view<256xi32>) kernel {
    %c0 = arith.constant 0 : index
    %from = arith.constant 2147483632 : i32
    %to = arith.constant -2147483632 : i32
    %step = arith.constant 8 : i32
    %a = tile.load %x[%c0, %c0 : 256] pad = 3 : !tile.view<64x64xi32>
    %r = scf.for unsigned %i = %from to %to step %step iter_args(%s = %a) -> (tensor<256xi32>) : i32 {
      %t = arith.addi %s, %a : tensor<256xi32>
      scf.yield %t : tensor<256xi32>
    }
    tile.store %r, %y[%c0 : 256] : !tile.view<256xi32>
    tile.print "100% done"
    gpu.return
  }

  // With 20 as the most that %to is as a number with a sign, %i is not below 20:
  // its numbers have none.
  gpu.func @unsigned_positions(%y: !tile.view<16xi32>, %far: i32) kernel attributes {tile.schedule = #tile.schedule<warps = 1, stages = 1>} {
    %c0 = arith.constant 0 : index
    %from = arith.constant 0 : i32
    %least = arith.constant -1073741824 : i32
    %most = arith.constant 20 : i32
    %step = arith.constant 1073741824 : i32
    %below = arith.minsi %far, %most : i32
    %to = arith.maxsi %below, %least : i32
    %none = arith.constant dense<0> : tensor<16xi32>
    %one = arith.constant dense<1> : tensor<16xi32>
    %five = arith.constant dense<5> : tensor<16xi32>
    %n = tile.iota 0 to 16 : tensor<16xi32>
    %r = scf.for unsigned %i = %from to %to step %step iter_args(%s = %none) -> (tensor<16xi32>) : i32 {
      %first = tensor.splat %i : tensor<16xi32>
      %at = arith.addi %first, %n : tensor<16xi32>
      %small = arith.cmpi ult, %at, %five : tensor<16xi32>
      %more = arith.select %small, %one, %none : tensor<16xi1>, tensor<16xi32>
      %t = arith.addi %s, %more : tensor<16xi32>
      scf.yield %t : tensor<16xi32>
    }
    tile.store %r, %y[%c0 : 16] : !tile.view<16xi32>
    gpu.return
  }
}
