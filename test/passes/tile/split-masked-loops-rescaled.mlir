// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-split-masked-loops,canonicalize,cse))' | FileCheck %s

// Recurrences whose factor is 0 where nothing was seen before.
gpu.module @kernels {
  // An online sum whose factor is 0, not 1, where nothing was seen before: blocks
  // that nobody sees do nothing while the sum is 0, as it is from the start on.
  // CHECK-LABEL: gpu.func @rescaled
  // CHECK-COUNT-2: scf.for
  // CHECK-NOT: scf.for
  gpu.func @rescaled(%x: !tile.view<256xf32>, %y: !tile.view<1xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c256 = arith.constant 256 : index
    %none = arith.constant dense<0xFF800000> : tensor<16xf32>
    %inf = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %ns = tensor.splat %n : tensor<16xindex>
    %columns = tile.iota 0 to 16
    %columns64 = arith.index_cast %columns : tensor<16xi32> to tensor<16xindex>
    %all:2 = scf.for %j = %c0 to %c256 step %c16 iter_args(%m = %inf, %l = %zero) -> (f32, f32) {
      %js = tensor.splat %j : tensor<16xindex>
      %k = arith.addi %js, %columns64 : tensor<16xindex>
      %seen = arith.cmpi slt, %k, %ns : tensor<16xindex>
      %v = tile.load %x[%j : 16] : !tile.view<256xf32>
      %s = arith.select %seen, %v, %none : tensor<16xi1>, tensor<16xf32>
      %mj = tile.reduce max %s axis 0 : tensor<16xf32>
      %m_new = arith.maximumf %m, %mj : f32
      %is_none = arith.cmpf oeq, %m_new, %inf : f32
      %b = arith.select %is_none, %zero, %m_new : f32
      %bs = tensor.splat %b : tensor<16xf32>
      %d = arith.subf %s, %bs : tensor<16xf32>
      %p = math.exp %d : tensor<16xf32>
      %lj = tile.reduce add %p axis 0 : tensor<16xf32>
      %less = arith.subf %m, %b : f32
      %c = math.exp %less : f32
      %scaled = arith.mulf %l, %c : f32
      %l_new = arith.addf %scaled, %lj : f32
      scf.yield %m_new, %l_new : f32, f32
    }
    tile.store %all#1, %y[%c0] : !tile.view<1xf32>
    gpu.return
  }

  // The edge hides the terms, and what the maximum is of: not the scores.
  // CHECK-LABEL: gpu.func @edge
  // CHECK-COUNT-2: scf.for
  // CHECK-NOT: scf.for
  gpu.func @edge(%x: !tile.view<250xf32>, %y: !tile.view<1xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c250 = arith.constant 250 : index
    %none = arith.constant dense<0xFF800000> : tensor<16xf32>
    %zeros = arith.constant dense<0.0> : tensor<16xf32>
    %edge = arith.constant dense<250> : tensor<16xindex>
    %inf = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %ns = tensor.splat %n : tensor<16xindex>
    %columns = tile.iota 0 to 16
    %columns64 = arith.index_cast %columns : tensor<16xi32> to tensor<16xindex>
    %all:2 = scf.for %j = %c0 to %c250 step %c16 iter_args(%m = %inf, %l = %zero) -> (f32, f32) {
      %js = tensor.splat %j : tensor<16xindex>
      %k = arith.addi %js, %columns64 : tensor<16xindex>
      %seen = arith.cmpi slt, %k, %ns : tensor<16xindex>
      %v = tile.load %x[%j : 16] : !tile.view<250xf32>
      %s = arith.select %seen, %v, %none : tensor<16xi1>, tensor<16xf32>
      %inside = arith.cmpi slt, %k, %edge : tensor<16xindex>
      %s_inside = arith.select %inside, %s, %none : tensor<16xi1>, tensor<16xf32>
      %mj = tile.reduce max %s_inside axis 0 : tensor<16xf32>
      %m_new = arith.maximumf %m, %mj : f32
      %is_none = arith.cmpf oeq, %m_new, %inf : f32
      %b = arith.select %is_none, %zero, %m_new : f32
      %bs = tensor.splat %b : tensor<16xf32>
      %d = arith.subf %s, %bs : tensor<16xf32>
      %p = math.exp %d : tensor<16xf32>
      %p_inside = arith.select %inside, %p, %zeros : tensor<16xi1>, tensor<16xf32>
      %lj = tile.reduce add %p_inside axis 0 : tensor<16xf32>
      %less = arith.subf %m, %b : f32
      %c = math.exp %less : f32
      %scaled = arith.mulf %l, %c : f32
      %l_new = arith.addf %scaled, %lj : f32
      scf.yield %m_new, %l_new : f32, f32
    }
    tile.store %all#1, %y[%c0] : !tile.view<1xf32>
    gpu.return
  }

  // Here the terms behind the edge are 1: they count where nothing was seen.
  // CHECK-LABEL: gpu.func @edge_counts
  // CHECK-COUNT-3: scf.for
  // CHECK-NOT: scf.for
  gpu.func @edge_counts(%x: !tile.view<256xf32>, %y: !tile.view<1xf32>, %n: index, %hidden: !tile.view<16xi1>) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c256 = arith.constant 256 : index
    %none = arith.constant dense<0xFF800000> : tensor<16xf32>
    %ones = arith.constant dense<1.0> : tensor<16xf32>
    %inf = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %inside = tile.load %hidden[%c0 : 16] : !tile.view<16xi1>
    %ns = tensor.splat %n : tensor<16xindex>
    %columns = tile.iota 0 to 16
    %columns64 = arith.index_cast %columns : tensor<16xi32> to tensor<16xindex>
    %all:2 = scf.for %j = %c0 to %c256 step %c16 iter_args(%m = %inf, %l = %zero) -> (f32, f32) {
      %js = tensor.splat %j : tensor<16xindex>
      %k = arith.addi %js, %columns64 : tensor<16xindex>
      %seen = arith.cmpi slt, %k, %ns : tensor<16xindex>
      %v = tile.load %x[%j : 16] : !tile.view<256xf32>
      %s = arith.select %seen, %v, %none : tensor<16xi1>, tensor<16xf32>
      %s_inside = arith.select %inside, %s, %none : tensor<16xi1>, tensor<16xf32>
      %mj = tile.reduce max %s_inside axis 0 : tensor<16xf32>
      %m_new = arith.maximumf %m, %mj : f32
      %is_none = arith.cmpf oeq, %m_new, %inf : f32
      %b = arith.select %is_none, %zero, %m_new : f32
      %bs = tensor.splat %b : tensor<16xf32>
      %d = arith.subf %s, %bs : tensor<16xf32>
      %p = math.exp %d : tensor<16xf32>
      %p_inside = arith.select %inside, %p, %ones : tensor<16xi1>, tensor<16xf32>
      %lj = tile.reduce add %p_inside axis 0 : tensor<16xf32>
      %less = arith.subf %m, %b : f32
      %c = math.exp %less : f32
      %scaled = arith.mulf %l, %c : f32
      %l_new = arith.addf %scaled, %lj : f32
      scf.yield %m_new, %l_new : f32, f32
    }
    tile.store %all#1, %y[%c0] : !tile.view<1xf32>
    gpu.return
  }

  // With something in the sum before anything is seen, the first such block
  // clears it: it has to stay.
  // CHECK-LABEL: gpu.func @not_zero_at_first
  // CHECK-COUNT-3: scf.for
  // CHECK-NOT: scf.for
  gpu.func @not_zero_at_first(%x: !tile.view<256xf32>, %y: !tile.view<1xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c256 = arith.constant 256 : index
    %none = arith.constant dense<0xFF800000> : tensor<16xf32>
    %inf = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %ns = tensor.splat %n : tensor<16xindex>
    %columns = tile.iota 0 to 16
    %columns64 = arith.index_cast %columns : tensor<16xi32> to tensor<16xindex>
    %all:2 = scf.for %j = %c0 to %c256 step %c16 iter_args(%m = %inf, %l = %one) -> (f32, f32) {
      %js = tensor.splat %j : tensor<16xindex>
      %k = arith.addi %js, %columns64 : tensor<16xindex>
      %seen = arith.cmpi slt, %k, %ns : tensor<16xindex>
      %v = tile.load %x[%j : 16] : !tile.view<256xf32>
      %s = arith.select %seen, %v, %none : tensor<16xi1>, tensor<16xf32>
      %mj = tile.reduce max %s axis 0 : tensor<16xf32>
      %m_new = arith.maximumf %m, %mj : f32
      %is_none = arith.cmpf oeq, %m_new, %inf : f32
      %b = arith.select %is_none, %zero, %m_new : f32
      %less = arith.subf %m, %b : f32
      %c = math.exp %less : f32
      %scaled = arith.mulf %l, %c : f32
      scf.yield %m_new, %scaled : f32, f32
    }
    tile.store %all#1, %y[%c0] : !tile.view<1xf32>
    gpu.return
  }
}
