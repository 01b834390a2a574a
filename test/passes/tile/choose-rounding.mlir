// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --tile-choose-rounding | FileCheck %s
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-choose-rounding,tile-split-masked-loops,canonicalize,tile-simplify-math,canonicalize,cse))' | FileCheck %s --check-prefix=SPLIT

// Masks by infinity do not round; a mask by a number does, and where it is known to choose
// the product, in blocks before the diagonal, the numbers must be as if it were not known.
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @infinity
  // CHECK: math.exp {{.*}}{tile.exponent_scale = 2.500000e-01 : f64}
  // SPLIT-LABEL: gpu.func @infinity
  // Where nothing is masked, and where something is:
  // SPLIT: scf.for
  // SPLIT-NOT: arith.select {{.*}} tensor<16x32xf32>
  // SPLIT: math.fma
  // SPLIT: scf.for
  // SPLIT: arith.select {{.*}} tensor<16x32xf32>
  // SPLIT: math.fma
  // SPLIT: gpu.return
  gpu.func @infinity(%q: !tile.view<96x16xbf16>, %k: !tile.view<96x16xbf16>, %l: !tile.view<96xf32>, %y: !tile.view<96x16xf32>) kernel attributes {tile.grid = array<i64: 6, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c96 = arith.constant 96 : index
    %pid = tile.program_id x
    %i = arith.muli %pid, %c16 : index
    %zero = arith.constant dense<0.0> : tensor<16x32xf32>
    %none = arith.constant dense<0.0> : tensor<16x16xf32>
    %scale = arith.constant dense<0.25> : tensor<16x32xf32>
    %hidden = arith.constant dense<0xFF800000> : tensor<16x32xf32>
    %out = arith.constant dense<0xFF800000> : tensor<16x32xf32>
    %a = tile.load %q[%i : 16, %c0 : 16] : !tile.view<96x16xbf16>
    %lse = tile.load %l[%i : 16] : !tile.view<96xf32>
    %column = tile.expand_dims %lse axis 1 : tensor<16xf32>
    %rows = tile.broadcast %column : tensor<16x1xf32> -> tensor<16x32xf32>
    %i32 = arith.index_cast %i : index to i32
    %i0 = tensor.splat %i32 : tensor<16xi32>
    %ia = tile.iota 0 to 16
    %ii = arith.addi %ia, %i0 : tensor<16xi32>
    %ic = tile.expand_dims %ii axis 1 : tensor<16xi32>
    %ib = tile.broadcast %ic : tensor<16x1xi32> -> tensor<16x32xi32>
    %sum = scf.for %j = %c0 to %c96 step %c32 iter_args(%acc = %none) -> (tensor<16x16xf32>) {
      %b = tile.load %k[%j : 32, %c0 : 16] : !tile.view<96x16xbf16>
      %bt = tile.trans %b : tensor<32x16xbf16>
      %x = tile.dot %a, %bt, %zero : tensor<16x16xbf16>, tensor<16x32xbf16> -> tensor<16x32xf32>
      %s = arith.mulf %x, %scale : tensor<16x32xf32>
      %j32 = arith.index_cast %j : index to i32
      %j0 = tensor.splat %j32 : tensor<32xi32>
      %ja = tile.iota 0 to 32
      %jj = arith.addi %ja, %j0 : tensor<32xi32>
      %jc = tile.expand_dims %jj axis 0 : tensor<32xi32>
      %jb = tile.broadcast %jc : tensor<1x32xi32> -> tensor<16x32xi32>
      %sees = arith.cmpi sle, %jb, %ib : tensor<16x32xi32>
      %h = arith.select %sees, %s, %hidden : tensor<16x32xi1>, tensor<16x32xf32>
      %m = arith.select %sees, %h, %out : tensor<16x32xi1>, tensor<16x32xf32>
      %d = arith.subf %m, %rows : tensor<16x32xf32>
      %e = math.exp %d fastmath<reassoc,contract,afn> : tensor<16x32xf32>
      %p = arith.truncf %e : tensor<16x32xf32> to tensor<16x32xbf16>
      %o = tile.dot %p, %b, %acc : tensor<16x32xbf16>, tensor<32x16xbf16> -> tensor<16x16xf32>
      scf.yield %o : tensor<16x16xf32>
    }
    tile.store %sum, %y[%i : 16, %c0 : 16] : !tile.view<96x16xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @large
  // CHECK: math.exp %{{.*}} fastmath<reassoc,contract,afn> : tensor
  // SPLIT-LABEL: gpu.func @large
  // Where nothing is masked, and where something is:
  // SPLIT: scf.for
  // SPLIT-NOT: arith.select {{.*}} tensor<16x32xf32>
  // SPLIT: arith.subf {{.*}} tensor<16x32xf32>
  // SPLIT: scf.for
  // SPLIT: arith.select {{.*}} tensor<16x32xf32>
  // SPLIT: arith.subf {{.*}} tensor<16x32xf32>
  // SPLIT: gpu.return
  gpu.func @large(%q: !tile.view<96x16xbf16>, %k: !tile.view<96x16xbf16>, %l: !tile.view<96xf32>, %y: !tile.view<96x16xf32>) kernel attributes {tile.grid = array<i64: 6, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c96 = arith.constant 96 : index
    %pid = tile.program_id x
    %i = arith.muli %pid, %c16 : index
    %zero = arith.constant dense<0.0> : tensor<16x32xf32>
    %none = arith.constant dense<0.0> : tensor<16x16xf32>
    %scale = arith.constant dense<0.25> : tensor<16x32xf32>
    %hidden = arith.constant dense<-1.0e9> : tensor<16x32xf32>
    %out = arith.constant dense<0xFF800000> : tensor<16x32xf32>
    %a = tile.load %q[%i : 16, %c0 : 16] : !tile.view<96x16xbf16>
    %lse = tile.load %l[%i : 16] : !tile.view<96xf32>
    %column = tile.expand_dims %lse axis 1 : tensor<16xf32>
    %rows = tile.broadcast %column : tensor<16x1xf32> -> tensor<16x32xf32>
    %i32 = arith.index_cast %i : index to i32
    %i0 = tensor.splat %i32 : tensor<16xi32>
    %ia = tile.iota 0 to 16
    %ii = arith.addi %ia, %i0 : tensor<16xi32>
    %ic = tile.expand_dims %ii axis 1 : tensor<16xi32>
    %ib = tile.broadcast %ic : tensor<16x1xi32> -> tensor<16x32xi32>
    %sum = scf.for %j = %c0 to %c96 step %c32 iter_args(%acc = %none) -> (tensor<16x16xf32>) {
      %b = tile.load %k[%j : 32, %c0 : 16] : !tile.view<96x16xbf16>
      %bt = tile.trans %b : tensor<32x16xbf16>
      %x = tile.dot %a, %bt, %zero : tensor<16x16xbf16>, tensor<16x32xbf16> -> tensor<16x32xf32>
      %s = arith.mulf %x, %scale : tensor<16x32xf32>
      %j32 = arith.index_cast %j : index to i32
      %j0 = tensor.splat %j32 : tensor<32xi32>
      %ja = tile.iota 0 to 32
      %jj = arith.addi %ja, %j0 : tensor<32xi32>
      %jc = tile.expand_dims %jj axis 0 : tensor<32xi32>
      %jb = tile.broadcast %jc : tensor<1x32xi32> -> tensor<16x32xi32>
      %sees = arith.cmpi sle, %jb, %ib : tensor<16x32xi32>
      %h = arith.select %sees, %s, %hidden : tensor<16x32xi1>, tensor<16x32xf32>
      %m = arith.select %sees, %h, %out : tensor<16x32xi1>, tensor<16x32xf32>
      %d = arith.subf %m, %rows : tensor<16x32xf32>
      %e = math.exp %d fastmath<reassoc,contract,afn> : tensor<16x32xf32>
      %p = arith.truncf %e : tensor<16x32xf32> to tensor<16x32xbf16>
      %o = tile.dot %p, %b, %acc : tensor<16x32xbf16>, tensor<32x16xbf16> -> tensor<16x16xf32>
      scf.yield %o : tensor<16x16xf32>
    }
    tile.store %sum, %y[%i : 16, %c0 : 16] : !tile.view<96x16xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @small
  // CHECK: math.exp {{.*}}{tile.exponent_scale = 1.000000e+00 : f64}
  // SPLIT-LABEL: gpu.func @small
  // Where nothing is masked, and where something is:
  // SPLIT: scf.for
  // SPLIT-NOT: arith.select {{.*}} tensor<16x32xf32>
  // SPLIT: arith.mulf {{.*}} tensor<16x32xf32>
  // SPLIT: math.fma
  // SPLIT: scf.for
  // SPLIT: arith.select {{.*}} tensor<16x32xf32>
  // SPLIT: arith.mulf {{.*}} tensor<16x32xf32>
  // SPLIT: math.fma
  // SPLIT: gpu.return
  gpu.func @small(%q: !tile.view<96x16xbf16>, %k: !tile.view<96x16xbf16>, %l: !tile.view<96xf32>, %y: !tile.view<96x16xf32>) kernel attributes {tile.grid = array<i64: 6, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c96 = arith.constant 96 : index
    %pid = tile.program_id x
    %i = arith.muli %pid, %c16 : index
    %zero = arith.constant dense<0.0> : tensor<16x32xf32>
    %none = arith.constant dense<0.0> : tensor<16x16xf32>
    %scale = arith.constant dense<0.25> : tensor<16x32xf32>
    %hidden = arith.constant dense<-40.0> : tensor<16x32xf32>
    %out = arith.constant dense<0xFF800000> : tensor<16x32xf32>
    %a = tile.load %q[%i : 16, %c0 : 16] : !tile.view<96x16xbf16>
    %lse = tile.load %l[%i : 16] : !tile.view<96xf32>
    %column = tile.expand_dims %lse axis 1 : tensor<16xf32>
    %rows = tile.broadcast %column : tensor<16x1xf32> -> tensor<16x32xf32>
    %i32 = arith.index_cast %i : index to i32
    %i0 = tensor.splat %i32 : tensor<16xi32>
    %ia = tile.iota 0 to 16
    %ii = arith.addi %ia, %i0 : tensor<16xi32>
    %ic = tile.expand_dims %ii axis 1 : tensor<16xi32>
    %ib = tile.broadcast %ic : tensor<16x1xi32> -> tensor<16x32xi32>
    %sum = scf.for %j = %c0 to %c96 step %c32 iter_args(%acc = %none) -> (tensor<16x16xf32>) {
      %b = tile.load %k[%j : 32, %c0 : 16] : !tile.view<96x16xbf16>
      %bt = tile.trans %b : tensor<32x16xbf16>
      %x = tile.dot %a, %bt, %zero : tensor<16x16xbf16>, tensor<16x32xbf16> -> tensor<16x32xf32>
      %s = arith.mulf %x, %scale : tensor<16x32xf32>
      %j32 = arith.index_cast %j : index to i32
      %j0 = tensor.splat %j32 : tensor<32xi32>
      %ja = tile.iota 0 to 32
      %jj = arith.addi %ja, %j0 : tensor<32xi32>
      %jc = tile.expand_dims %jj axis 0 : tensor<32xi32>
      %jb = tile.broadcast %jc : tensor<1x32xi32> -> tensor<16x32xi32>
      %sees = arith.cmpi sle, %jb, %ib : tensor<16x32xi32>
      %h = arith.select %sees, %s, %hidden : tensor<16x32xi1>, tensor<16x32xf32>
      %m = arith.select %sees, %h, %out : tensor<16x32xi1>, tensor<16x32xf32>
      %d = arith.subf %m, %rows : tensor<16x32xf32>
      %e = math.exp %d fastmath<reassoc,contract,afn> : tensor<16x32xf32>
      %p = arith.truncf %e : tensor<16x32xf32> to tensor<16x32xbf16>
      %o = tile.dot %p, %b, %acc : tensor<16x32xbf16>, tensor<32x16xbf16> -> tensor<16x16xf32>
      scf.yield %o : tensor<16x16xf32>
    }
    tile.store %sum, %y[%i : 16, %c0 : 16] : !tile.view<96x16xf32>
    gpu.return
  }

}
