// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-split-masked-loops,canonicalize,cse))' | FileCheck %s

// What cannot be left out, and what is not split.
gpu.module @kernels {
  // A block without a seen element halves the sum: it stays, with its mask
  // folded, and so there are three loops.
  // CHECK-LABEL: gpu.func @not_neutral
  // CHECK: scf.for
  // CHECK-NOT: arith.cmpi
  // CHECK: scf.for
  // CHECK: arith.cmpi slt
  // CHECK: scf.for
  // CHECK-NOT: arith.cmpi
  // CHECK-NOT: tile.load
  // CHECK: arith.mulf
  // CHECK-NOT: scf.for
  gpu.func @not_neutral(%x: !tile.view<256xf32>, %y: !tile.view<1xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c256 = arith.constant 256 : index
    %none = arith.constant dense<0.0> : tensor<16xf32>
    %zero = arith.constant 0.0 : f32
    %half = arith.constant 0.5 : f32
    %sum = scf.for %j = %c0 to %c256 step %c16 iter_args(%acc = %zero) -> f32 {
      %ns = tensor.splat %n : tensor<16xindex>
      %js = tensor.splat %j : tensor<16xindex>
      %columns = tile.iota 0 to 16
      %columns64 = arith.index_cast %columns : tensor<16xi32> to tensor<16xindex>
      %k = arith.addi %js, %columns64 : tensor<16xindex>
      %seen = arith.cmpi slt, %k, %ns : tensor<16xindex>
      %v = tile.load %x[%j : 16] : !tile.view<256xf32>
      %w = arith.select %seen, %v, %none : tensor<16xi1>, tensor<16xf32>
      %s = tile.reduce add %w axis 0 : tensor<16xf32>
      %less = arith.mulf %acc, %half : f32
      %next = arith.addf %less, %s : f32
      scf.yield %next : f32
    }
    tile.store %sum, %y[%c0] : !tile.view<1xf32>
    gpu.return
  }

  // Something is written in every iteration.
  // CHECK-LABEL: gpu.func @effect
  // CHECK-COUNT-3: scf.for
  gpu.func @effect(%x: !tile.view<256xf32>, %y: !tile.view<256xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c256 = arith.constant 256 : index
    %none = arith.constant dense<0.0> : tensor<16xf32>
    scf.for %j = %c0 to %c256 step %c16 {
      %n64 = arith.index_cast %n : index to i64
      %ns = tensor.splat %n64 : tensor<16xi64>
      %j64 = arith.index_cast %j : index to i64
      %js = tensor.splat %j64 : tensor<16xi64>
      %columns = tile.iota 0 to 16
      %columns64 = arith.extsi %columns : tensor<16xi32> to tensor<16xi64>
      %k = arith.addi %js, %columns64 : tensor<16xi64>
      %seen = arith.cmpi slt, %k, %ns : tensor<16xi64>
      %v = tile.load %x[%j : 16] : !tile.view<256xf32>
      %w = arith.select %seen, %v, %none : tensor<16xi1>, tensor<16xf32>
      tile.store %w, %y[%j : 16] : !tile.view<256xf32>
    }
    gpu.return
  }

  // The mask is loaded.
  // CHECK-LABEL: gpu.func @loaded
  // CHECK: scf.for
  // CHECK-NOT: scf.for
  gpu.func @loaded(%x: !tile.view<256xf32>, %lengths: !tile.view<256xi64>, %y: !tile.view<1xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c256 = arith.constant 256 : index
    %none = arith.constant dense<0.0> : tensor<16xf32>
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %j = %c0 to %c256 step %c16 iter_args(%acc = %zero) -> f32 {
      %ns = tile.load %lengths[%j : 16] : !tile.view<256xi64>
      %j64 = arith.index_cast %j : index to i64
      %js = tensor.splat %j64 : tensor<16xi64>
      %seen = arith.cmpi slt, %js, %ns : tensor<16xi64>
      %v = tile.load %x[%j : 16] : !tile.view<256xf32>
      %w = arith.select %seen, %v, %none : tensor<16xi1>, tensor<16xf32>
      %s = tile.reduce add %w axis 0 : tensor<16xf32>
      %next = arith.addf %acc, %s : f32
      scf.yield %next : f32
    }
    tile.store %sum, %y[%c0] : !tile.view<1xf32>
    gpu.return
  }

  // 32 bits are too few for any index: the sum may wrap around.
  // CHECK-LABEL: gpu.func @wraps
  // CHECK: scf.for
  // CHECK-NOT: scf.for
  gpu.func @wraps(%x: !tile.view<256xf32>, %y: !tile.view<1xf32>, %n: i32, %shift: index) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c256 = arith.constant 256 : index
    %none = arith.constant dense<0.0> : tensor<16xf32>
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %j = %c0 to %c256 step %c16 iter_args(%acc = %zero) -> f32 {
      %ns = tensor.splat %n : tensor<16xi32>
      %at = arith.addi %j, %shift : index
      %j32 = arith.index_cast %at : index to i32
      %js = tensor.splat %j32 : tensor<16xi32>
      %columns = tile.iota 0 to 16
      %k = arith.addi %js, %columns : tensor<16xi32>
      %seen = arith.cmpi slt, %k, %ns : tensor<16xi32>
      %v = tile.load %x[%j : 16] : !tile.view<256xf32>
      %w = arith.select %seen, %v, %none : tensor<16xi1>, tensor<16xf32>
      %s = tile.reduce add %w axis 0 : tensor<16xf32>
      %next = arith.addf %acc, %s : f32
      scf.yield %next : f32
    }
    tile.store %sum, %y[%c0] : !tile.view<1xf32>
    gpu.return
  }

  // No comparison; one that holds for all blocks, and one that holds for none.
  // CHECK-LABEL: gpu.func @whole
  // CHECK: scf.for
  // CHECK-NOT: arith.cmpi
  // CHECK-NOT: scf.for
  gpu.func @whole(%x: !tile.view<256xf32>, %y: !tile.view<1xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c256 = arith.constant 256 : index
    %none = arith.constant dense<0.0> : tensor<16xf32>
    %all = arith.constant dense<256> : tensor<16xi32>
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %j = %c0 to %c256 step %c16 iter_args(%acc = %zero) -> f32 {
      %j32 = arith.index_cast %j : index to i32
      %js = tensor.splat %j32 : tensor<16xi32>
      %columns = tile.iota 0 to 16
      %k = arith.addi %js, %columns : tensor<16xi32>
      %seen = arith.cmpi slt, %k, %all : tensor<16xi32>
      %v = tile.load %x[%j : 16] : !tile.view<256xf32>
      %w = arith.select %seen, %v, %none : tensor<16xi1>, tensor<16xf32>
      %s = tile.reduce add %w axis 0 : tensor<16xf32>
      %next = arith.addf %acc, %s : f32
      scf.yield %next : f32
    }
    %nothing = scf.for %j = %c0 to %c256 step %c16 iter_args(%acc = %sum) -> f32 {
      %j32 = arith.index_cast %j : index to i32
      %js = tensor.splat %j32 : tensor<16xi32>
      %seen = arith.cmpi sge, %js, %all : tensor<16xi32>
      %v = tile.load %x[%j : 16] : !tile.view<256xf32>
      %w = arith.select %seen, %v, %none : tensor<16xi1>, tensor<16xf32>
      %s = tile.reduce add %w axis 0 : tensor<16xf32>
      %next = arith.addf %acc, %s : f32
      scf.yield %next : f32
    }
    tile.store %nothing, %y[%c0] : !tile.view<1xf32>
    gpu.return
  }
}
