// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-choose-rounding,tile-simplify-math,canonicalize,cse))' | FileCheck %s
// RUN: %python %S/fuse-loops-run.py %s %t products scaled
// REQUIRES: python-packages

gpu.module @kernels {
  // Of the block: a select, a maximum, an fma, an exponential and a sum. Both
  // exponentials use one rounded product of the maximum.
  // CHECK-LABEL: gpu.func @products
  // CHECK: scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}, %[[L:.*]] =
  // CHECK: %[[X:.*]] = tile.dot
  // CHECK: %[[S:.*]] = arith.select %{{.*}}, %[[X]], %{{.*}} : tensor<16x32xi1>
  // CHECK-NEXT: %[[MOST:.*]] = tile.reduce max %[[S]]
  // CHECK: arith.mulf %[[MOST]], %{{.*}} : tensor<16xf32>
  // CHECK: %[[M1:.*]] = arith.maximumf
  // CHECK: %[[OLD:.*]] = arith.mulf %[[M]],
  // CHECK: %[[LESS:.*]] = arith.mulf %[[M1]],
  // CHECK: %[[CHANGE:.*]] = arith.addf %[[OLD]], %[[LESS]]
  // CHECK: math.exp2 %[[CHANGE]] fastmath
  // CHECK: %[[COLUMN:.*]] = tile.expand_dims %[[LESS]]
  // CHECK: %[[BLOCK:.*]] = tile.broadcast %[[COLUMN]]
  // CHECK: %[[D:.*]] = math.fma %[[S]], %{{.*}}, %[[BLOCK]]
  // CHECK: math.exp2 %[[D]]
  // CHECK-NOT: math.exp %
  // CHECK: scf.yield
  gpu.func @products(%q: !tile.view<16x16xbf16>, %k: !tile.view<96x16xbf16>, %h: !tile.view<16x96xf32>, %y: !tile.view<16xf32>)
      kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<warps = 1, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c96 = arith.constant 96 : index
    %scale = arith.constant dense<0.3> : tensor<16x32xf32>
    %low = arith.constant dense<-1.0e30> : tensor<16xf32>
    %lows = arith.constant dense<0xFF800000> : tensor<16x32xf32>
    %zero = arith.constant dense<0.0> : tensor<16xf32>
    %zeros = arith.constant dense<0.0> : tensor<16x32xf32>
    %Q = tile.load %q[%c0 : 16, %c0 : 16] : !tile.view<16x16xbf16>
    %m, %l = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %low, %b = %zero) -> (tensor<16xf32>, tensor<16xf32>) {
      %K = tile.load %k[%j : 32, %c0 : 16] : !tile.view<96x16xbf16>
      %Kt = tile.trans %K : tensor<32x16xbf16>
      %X = tile.dot %Q, %Kt, %zeros : tensor<16x16xbf16>, tensor<16x32xbf16> -> tensor<16x32xf32>
      %H = tile.load %h[%c0 : 16, %j : 32] : !tile.view<16x96xf32>
      %seen = arith.cmpf oge, %H, %zeros : tensor<16x32xf32>
      %sx = arith.mulf %X, %scale : tensor<16x32xf32>
      %s = arith.select %seen, %sx, %lows : tensor<16x32xi1>, tensor<16x32xf32>
      %r = tile.reduce max %s axis 1 : tensor<16x32xf32>
      %n = arith.maximumf %a, %r : tensor<16xf32>
      %change = arith.subf %a, %n : tensor<16xf32>
      %c = math.exp %change fastmath<reassoc,contract,afn> : tensor<16xf32>
      %n1 = tile.expand_dims %n axis 1 : tensor<16xf32>
      %nb = tile.broadcast %n1 : tensor<16x1xf32> -> tensor<16x32xf32>
      %d = arith.subf %s, %nb : tensor<16x32xf32>
      %e = math.exp %d fastmath<reassoc,contract,afn> : tensor<16x32xf32>
      %sum = tile.reduce add %e axis 1 : tensor<16x32xf32>
      %bc = arith.mulf %b, %c : tensor<16xf32>
      %t = arith.addf %bc, %sum : tensor<16xf32>
      scf.yield %n, %t : tensor<16xf32>, tensor<16xf32>
    }
    %log = math.log %l : tensor<16xf32>
    %lse = arith.addf %m, %log : tensor<16xf32>
    tile.store %lse, %y[%c0 : 16] : !tile.view<16xf32>
    gpu.return
  }

  // Numbers from memory may be of any size, as -1e9: of these the difference comes
  // first.
  // CHECK-LABEL: gpu.func @scaled
  // CHECK: scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}, %[[L:.*]] =
  // CHECK: %[[X:.*]] = tile.load
  // CHECK: %[[S:.*]] = arith.select %{{.*}}, %[[X]], %{{.*}} : tensor<8x32xi1>
  // CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %[[S]],
  // CHECK: %[[M1:.*]] = arith.maximumf
  // CHECK: %[[CHANGE:.*]] = arith.subf %[[M]], %[[M1]]
  // CHECK: %[[TWICE:.*]] = arith.mulf %[[CHANGE]]
  // CHECK: math.exp2 %[[TWICE]]
  // CHECK: %[[LESS:.*]] = arith.subf %[[SCALED]]
  // CHECK: %[[D:.*]] = arith.mulf %[[LESS]]
  // CHECK: math.exp2 %[[D]]
  // CHECK-NOT: math.{{(fma|exp )}}
  // CHECK: scf.yield
  gpu.func @scaled(%x: !tile.view<8x96xf32>, %h: !tile.view<8x96xf32>, %y: !tile.view<8xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c96 = arith.constant 96 : index
    %scale = arith.constant dense<0.3> : tensor<8x32xf32>
    %low = arith.constant dense<-1.0e30> : tensor<8xf32>
    %lows = arith.constant dense<0xFF800000> : tensor<8x32xf32>
    %zero = arith.constant dense<0.0> : tensor<8xf32>
    %zeros = arith.constant dense<0.0> : tensor<8x32xf32>
    %m, %l = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %low, %b = %zero) -> (tensor<8xf32>, tensor<8xf32>) {
      %X = tile.load %x[%c0 : 8, %j : 32] : !tile.view<8x96xf32>
      %H = tile.load %h[%c0 : 8, %j : 32] : !tile.view<8x96xf32>
      %seen = arith.cmpf oge, %H, %zeros : tensor<8x32xf32>
      %sx = arith.mulf %X, %scale : tensor<8x32xf32>
      %s = arith.select %seen, %sx, %lows : tensor<8x32xi1>, tensor<8x32xf32>
      %r = tile.reduce max %s axis 1 : tensor<8x32xf32>
      %n = arith.maximumf %a, %r : tensor<8xf32>
      %change = arith.subf %a, %n : tensor<8xf32>
      %c = math.exp %change fastmath<reassoc,contract,afn> : tensor<8xf32>
      %n1 = tile.expand_dims %n axis 1 : tensor<8xf32>
      %nb = tile.broadcast %n1 : tensor<8x1xf32> -> tensor<8x32xf32>
      %d = arith.subf %s, %nb : tensor<8x32xf32>
      %e = math.exp %d fastmath<reassoc,contract,afn> : tensor<8x32xf32>
      %sum = tile.reduce add %e axis 1 : tensor<8x32xf32>
      %bc = arith.mulf %b, %c : tensor<8xf32>
      %t = arith.addf %bc, %sum : tensor<8xf32>
      scf.yield %n, %t : tensor<8xf32>, tensor<8xf32>
    }
    %log = math.log %l : tensor<8xf32>
    %lse = arith.addf %m, %log : tensor<8xf32>
    tile.store %lse, %y[%c0 : 8] : !tile.view<8xf32>
    gpu.return
  }

  // A negative constant turns the order around; and outside of loops, what is
  // written stays.
  // CHECK-LABEL: gpu.func @kept
  // CHECK: arith.mulf
  // CHECK: tile.reduce max
  // CHECK: math.exp %
  gpu.func @kept(%x: !tile.view<8x96xf32>, %y: !tile.view<8xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c96 = arith.constant 96 : index
    %scale = arith.constant dense<-0.3> : tensor<8x32xf32>
    %low = arith.constant dense<-1.0e30> : tensor<8xf32>
    %m = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %low) -> (tensor<8xf32>) {
      %X = tile.load %x[%c0 : 8, %j : 32] : !tile.view<8x96xf32>
      %s = arith.mulf %X, %scale : tensor<8x32xf32>
      %r = tile.reduce max %s axis 1 : tensor<8x32xf32>
      %n = arith.maximumf %a, %r : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    %e = math.exp %m : tensor<8xf32>
    tile.store %e, %y[%c0 : 8] : !tile.view<8xf32>
    gpu.return
  }

  // exp2 without a constant would only change one subtraction into one fma. What
  // nobody allows to be approximated stays.
  // CHECK-LABEL: gpu.func @plain
  // CHECK: arith.subf
  // CHECK: math.exp2
  // CHECK: math.exp2
  // CHECK: math.exp %
  gpu.func @plain(%x: !tile.view<8x96xf32>, %y: !tile.view<8xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c96 = arith.constant 96 : index
    %zero = arith.constant dense<0.0> : tensor<8xf32>
    %row = tile.load %x[%c0 : 8, %c0] : !tile.view<8x96xf32>
    %row1 = tile.expand_dims %row axis 1 : tensor<8xf32>
    %rows = tile.broadcast %row1 : tensor<8x1xf32> -> tensor<8x32xf32>
    %m = scf.for %j = %c0 to %c96 step %c32 iter_args(%a = %zero) -> (tensor<8xf32>) {
      %X = tile.load %x[%c0 : 8, %j : 32] : !tile.view<8x96xf32>
      %d = arith.subf %X, %rows : tensor<8x32xf32>
      %e = math.exp2 %d fastmath<reassoc,contract,afn> : tensor<8x32xf32>
      %f = math.exp %X fastmath<reassoc,contract,afn> : tensor<8x32xf32>
      %g = math.exp %X : tensor<8x32xf32>
      %ee = arith.addf %e, %f : tensor<8x32xf32>
      %ef = arith.addf %ee, %g : tensor<8x32xf32>
      %r = tile.reduce add %ef axis 1 : tensor<8x32xf32>
      %n = arith.addf %a, %r : tensor<8xf32>
      scf.yield %n : tensor<8xf32>
    }
    tile.store %m, %y[%c0 : 8] : !tile.view<8xf32>
    gpu.return
  }

  // Scores without a mask are finite, masked ones may all be hidden.
  // CHECK-LABEL: gpu.func @finite
  // CHECK: %[[A:.*]]:2 = scf.for
  // CHECK-COUNT-1: arith.cmpf oeq
  // CHECK-NOT: arith.cmpf oeq
  // CHECK: gpu.return
  gpu.func @finite(%x: !tile.view<16x96xbf16>, %h: !tile.view<16x96xf32>, %y: !tile.view<16xf32>)
      kernel attributes {tile.schedule = #tile.schedule<warps = 1, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c96 = arith.constant 96 : index
    %scale = arith.constant dense<0.3> : tensor<16x16xf32>
    %low = arith.constant dense<0xFF800000> : tensor<16xf32>
    %lows = arith.constant dense<0xFF800000> : tensor<16x16xf32>
    %zero = arith.constant dense<0.0> : tensor<16xf32>
    %zeros = arith.constant dense<0.0> : tensor<16x16xf32>
    %m, %l = scf.for %j = %c0 to %c96 step %c16 iter_args(%a = %low, %b = %low) -> (tensor<16xf32>, tensor<16xf32>) {
      %X = tile.load %x[%c0 : 16, %j : 16] : !tile.view<16x96xbf16>
      %H = tile.load %h[%c0 : 16, %j : 16] : !tile.view<16x96xf32>
      %s0 = tile.dot %X, %X, %zeros : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xf32>
      %s = arith.mulf %s0, %scale : tensor<16x16xf32>
      %seen = arith.cmpf oge, %H, %zeros : tensor<16x16xf32>
      %t = arith.select %seen, %s, %lows : tensor<16x16xi1>, tensor<16x16xf32>
      %rs = tile.reduce max %s axis 1 : tensor<16x16xf32>
      %ns = arith.maximumf %a, %rs : tensor<16xf32>
      %is = arith.cmpf oeq, %ns, %low : tensor<16xf32>
      %gs = arith.select %is, %zero, %ns : tensor<16xi1>, tensor<16xf32>
      %rt = tile.reduce max %t axis 1 : tensor<16x16xf32>
      %nt = arith.maximumf %b, %rt : tensor<16xf32>
      %it = arith.cmpf oeq, %nt, %low : tensor<16xf32>
      %gt = arith.select %it, %zero, %nt : tensor<16xi1>, tensor<16xf32>
      scf.yield %gs, %gt : tensor<16xf32>, tensor<16xf32>
    }
    %sum = arith.addf %m, %l : tensor<16xf32>
    tile.store %sum, %y[%c0 : 16] : !tile.view<16xf32>
    gpu.return
  }

  // A row that is taken off a product is what the product begins with.
  // CHECK-LABEL: gpu.func @product
  // CHECK: scf.for
  // CHECK: %[[LESS:.*]] = arith.negf %{{.*}} : tensor<16xf32>
  // CHECK: %[[COLUMN:.*]] = tile.expand_dims %[[LESS]]
  // CHECK: %[[BLOCK:.*]] = tile.broadcast %[[COLUMN]]
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %[[BLOCK]]
  // CHECK-NOT: arith.subf
  // CHECK: gpu.return
  gpu.func @product(%x: !tile.view<16x96xbf16>, %d: !tile.view<16xf32>, %y: !tile.view<16x16xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c96 = arith.constant 96 : index
    %zeros = arith.constant dense<0.0> : tensor<16x16xf32>
    %s = scf.for %j = %c0 to %c96 step %c16 iter_args(%a = %zeros) -> (tensor<16x16xf32>) {
      %X = tile.load %x[%c0 : 16, %j : 16] : !tile.view<16x96xbf16>
      %D = tile.load %d[%c0 : 16] : !tile.view<16xf32>
      %p = tile.dot %X, %X, %zeros : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xf32>
      %e = tile.expand_dims %D axis 1 : tensor<16xf32>
      %r = tile.broadcast %e : tensor<16x1xf32> -> tensor<16x16xf32>
      %q = arith.subf %p, %r : tensor<16x16xf32>
      %b = arith.mulf %q, %q : tensor<16x16xf32>
      %next = arith.addf %a, %b : tensor<16x16xf32>
      scf.yield %next : tensor<16x16xf32>
    }
    tile.store %s, %y[%c0 : 16, %c0 : 16] : !tile.view<16x16xf32>
    gpu.return
  }

  // The only iteration of a loop, which is none any more: the same.
  // CHECK-LABEL: gpu.func @single
  // CHECK: %[[X:.*]] = tile.dot
  // CHECK: %[[MOST:.*]] = tile.reduce max %[[X]]
  // CHECK: %[[M:.*]] = arith.mulf %[[MOST]], %{{.*}} : tensor<16xf32>
  // CHECK: %[[LESS:.*]] = arith.mulf %[[M]],
  // CHECK: %[[COLUMN:.*]] = tile.expand_dims %[[LESS]]
  // CHECK: %[[BLOCK:.*]] = tile.broadcast %[[COLUMN]]
  // CHECK: %[[D:.*]] = math.fma %[[X]], %{{.*}}, %[[BLOCK]]
  // CHECK: math.exp2 %[[D]]
  // CHECK: gpu.return
  gpu.func @single(%q: !tile.view<16x16xbf16>, %k: !tile.view<32x16xbf16>, %y: !tile.view<16x16xf32>)
      kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<warps = 1, stages = 2>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<16x32xf32>
    %none = arith.constant dense<0.0> : tensor<16x16xf32>
    %scale = arith.constant dense<0.25> : tensor<16x32xf32>
    %a = tile.load %q[%c0 : 16, %c0 : 16] : !tile.view<16x16xbf16>
    %b = tile.load %k[%c0 : 32, %c0 : 16] : !tile.view<32x16xbf16>
    %bt = tile.trans %b : tensor<32x16xbf16>
    %x = tile.dot %a, %bt, %zero : tensor<16x16xbf16>, tensor<16x32xbf16> -> tensor<16x32xf32>
    %s = arith.mulf %x, %scale : tensor<16x32xf32>
    %m = tile.reduce max %s axis 1 : tensor<16x32xf32>
    %column = tile.expand_dims %m axis 1 : tensor<16xf32>
    %rows = tile.broadcast %column : tensor<16x1xf32> -> tensor<16x32xf32>
    %d = arith.subf %s, %rows : tensor<16x32xf32>
    %e = math.exp %d fastmath<reassoc,contract,afn> : tensor<16x32xf32>
    %p = arith.truncf %e : tensor<16x32xf32> to tensor<16x32xbf16>
    %o = tile.dot %p, %b, %none : tensor<16x32xbf16>, tensor<32x16xbf16> -> tensor<16x16xf32>
    tile.store %o, %y[%c0 : 16, %c0 : 16] : !tile.view<16x16xf32>
    gpu.return
  }

  // One division for each row of a sum that is rounded to 16 bits; the one that is stored in f32 stays.
  // CHECK-LABEL: gpu.func @quotients
  // CHECK: %[[SUM:.*]]:2 = scf.for
  // CHECK: %[[EACH:.*]] = arith.divf %{{.*}}, %[[SUM]]#1 : tensor<16xf32>
  // CHECK: %[[COLUMN:.*]] = tile.expand_dims %[[EACH]]
  // CHECK: %[[BLOCK:.*]] = tile.broadcast %[[COLUMN]]
  // CHECK: %[[O:.*]] = arith.mulf %[[SUM]]#0, %[[BLOCK]]
  // CHECK: arith.truncf %[[O]]
  // CHECK: arith.divf %{{.*}} : tensor<16x16xf32>
  // CHECK: gpu.return
  gpu.func @quotients(%q: !tile.view<16x16xbf16>, %k: !tile.view<64x16xbf16>, %y: !tile.view<16x16xbf16>, %z: !tile.view<16x16xf32>)
      kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<warps = 1, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<16x16xf32>
    %none = arith.constant dense<0.0> : tensor<16xf32>
    %a = tile.load %q[%c0 : 16, %c0 : 16] : !tile.view<16x16xbf16>
    %sum, %row = scf.for %j = %c0 to %c64 step %c16 iter_args(%acc = %zero, %r = %none) -> (tensor<16x16xf32>, tensor<16xf32>) {
      %b = tile.load %k[%j : 16, %c0 : 16] : !tile.view<64x16xbf16>
      %x = tile.dot %a, %b, %acc : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xf32>
      %m = tile.reduce max %x axis 1 : tensor<16x16xf32>
      %n = arith.addf %r, %m : tensor<16xf32>
      scf.yield %x, %n : tensor<16x16xf32>, tensor<16xf32>
    }
    %column = tile.expand_dims %row axis 1 : tensor<16xf32>
    %rows = tile.broadcast %column : tensor<16x1xf32> -> tensor<16x16xf32>
    %o = arith.divf %sum, %rows : tensor<16x16xf32>
    %narrow = arith.truncf %o : tensor<16x16xf32> to tensor<16x16xbf16>
    tile.store %narrow, %y[%c0 : 16, %c0 : 16] : !tile.view<16x16xbf16>
    %other = arith.addf %rows, %rows : tensor<16x16xf32>
    %wide = arith.divf %sum, %other : tensor<16x16xf32>
    tile.store %wide, %z[%c0 : 16, %c0 : 16] : !tile.view<16x16xf32>
    gpu.return
  }

  // The same where the loop's last iteration is apart, as a block of more rows may have it: no other numbers.
  // CHECK-LABEL: gpu.func @quotients_of_last
  // CHECK: %[[SUM:.*]] = scf.for
  // CHECK: %[[LAST:.*]] = tile.dot %{{.*}}, %{{.*}}, %[[SUM]]
  // CHECK: %[[EACH:.*]] = arith.divf %{{.*}} : tensor<16xf32>
  // CHECK: %[[COLUMN:.*]] = tile.expand_dims %[[EACH]]
  // CHECK: %[[BLOCK:.*]] = tile.broadcast %[[COLUMN]]
  // CHECK: arith.mulf %[[LAST]], %[[BLOCK]]
  // CHECK: gpu.return
  gpu.func @quotients_of_last(%q: !tile.view<16x16xbf16>, %k: !tile.view<64x16xbf16>, %r: !tile.view<16xf32>, %y: !tile.view<16x16xbf16>)
      kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<warps = 1, stages = 2>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c48 = arith.constant 48 : index
    %zero = arith.constant dense<0.0> : tensor<16x16xf32>
    %a = tile.load %q[%c0 : 16, %c0 : 16] : !tile.view<16x16xbf16>
    %sum = scf.for %j = %c0 to %c48 step %c16 iter_args(%acc = %zero) -> (tensor<16x16xf32>) {
      %b = tile.load %k[%j : 16, %c0 : 16] : !tile.view<64x16xbf16>
      %x = tile.dot %a, %b, %acc : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xf32>
      scf.yield %x : tensor<16x16xf32>
    }
    %c = tile.load %k[%c48 : 16, %c0 : 16] : !tile.view<64x16xbf16>
    %last = tile.dot %a, %c, %sum : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xf32>
    %row = tile.load %r[%c0 : 16] : !tile.view<16xf32>
    %column = tile.expand_dims %row axis 1 : tensor<16xf32>
    %rows = tile.broadcast %column : tensor<16x1xf32> -> tensor<16x16xf32>
    %o = arith.divf %last, %rows : tensor<16x16xf32>
    %narrow = arith.truncf %o : tensor<16x16xf32> to tensor<16x16xbf16>
    tile.store %narrow, %y[%c0 : 16, %c0 : 16] : !tile.view<16x16xbf16>
    gpu.return
  }
}
