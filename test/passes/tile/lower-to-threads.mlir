// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(canonicalize,tile-select-instructions,tile-assign-layouts,cse,tile-stage-loads,tile-lower-to-threads))' | FileCheck %s

gpu.module @kernels {
  // Positions are compared by what a thread's first two differ by, in 32 bits,
  // and constants.
  // CHECK-LABEL: gpu.func @causal
  // CHECK: scf.for
  // CHECK: %[[J:.*]] = arith.index_cast %{{.*}} : index to i32
  // CHECK: %[[D:.*]] = arith.addi %{{.*}}, %{{.*}} : i32
  // CHECK: arith.cmpi sle, %[[OWN:.*]], %c0_i32{{.*}} : i32
  // CHECK: arith.cmpi sle, %[[OWN]], %c-1_i32{{.*}} : i32
  // CHECK-NOT: arith.cmpi {{.*}} : i64
  // CHECK: gpu.return
  gpu.func @causal(%x: !tile.view<64x256xf32>, %y: !tile.view<64x16xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c256 = arith.constant 256 : index
    %none = arith.constant dense<0.0> : tensor<64x16xf32>
    %i = tile.iota 0 to 64 : tensor<64xi32>
    %wide = arith.extsi %i : tensor<64xi32> to tensor<64xi64>
    %column = tile.expand_dims %wide axis 1 : tensor<64xi64> -> tensor<64x1xi64>
    %rows = tile.broadcast %column : tensor<64x1xi64> -> tensor<64x16xi64>
    %n = tile.iota 0 to 16 : tensor<16xi32>
    %places = arith.extsi %n : tensor<16xi32> to tensor<16xi64>
    %sum = scf.for %j = %c0 to %c256 step %c16 iter_args(%acc = %none) -> tensor<64x16xf32> {
      %first = arith.index_cast %j : index to i64
      %firsts = tensor.splat %first : tensor<16xi64>
      %keys = arith.addi %places, %firsts : tensor<16xi64>
      %row = tile.expand_dims %keys axis 0 : tensor<16xi64> -> tensor<1x16xi64>
      %columns = tile.broadcast %row : tensor<1x16xi64> -> tensor<64x16xi64>
      %sees = arith.cmpi sle, %columns, %rows : tensor<64x16xi64>
      %a = tile.load %x[%c0 : 64, %j : 16] : !tile.view<64x256xf32>
      %seen = arith.select %sees, %a, %none : tensor<64x16xi1>, tensor<64x16xf32>
      %next = arith.addf %acc, %seen : tensor<64x16xf32>
      scf.yield %next : tensor<64x16xf32>
    }
    tile.store %sum, %y[%c0 : 64, %c0 : 16] : !tile.view<64x16xf32>
    gpu.return
  }

  // Without signs only what is not negative is; what may wrap around is as it is.
  // CHECK-LABEL: gpu.func @signs
  // CHECK: arith.cmpi slt, {{.*}} : i32
  // CHECK: arith.cmpi ult, {{.*}} : i64
  // CHECK: arith.cmpi slt, {{.*}} : i64
  // CHECK: gpu.return
  gpu.func @signs(%y: !tile.view<3x32xi1>, %far: i64) kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<warps = 1, stages = 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %n = tile.iota 0 to 32 : tensor<32xi32>
    %wide = arith.extsi %n : tensor<32xi32> to tensor<32xi64>
    %seven = arith.constant dense<7> : tensor<32xi64>
    %below = arith.subi %wide, %seven : tensor<32xi64>
    %others = tensor.splat %far : tensor<32xi64>
    %beyond = arith.addi %wide, %others : tensor<32xi64>
    %a = arith.cmpi ult, %wide, %seven : tensor<32xi64>
    %b = arith.cmpi ult, %below, %seven : tensor<32xi64>
    %c = arith.cmpi slt, %beyond, %seven : tensor<32xi64>
    tile.store %a, %y[%c0, %c0 : 32] : !tile.view<3x32xi1>
    tile.store %b, %y[%c1, %c0 : 32] : !tile.view<3x32xi1>
    tile.store %c, %y[%c2, %c0 : 32] : !tile.view<3x32xi1>
    gpu.return
  }

  // Random numbers are made where they are needed, one after the other.
  // CHECK-LABEL: gpu.func @drawn
  // CHECK: math.exp2
  // CHECK: math.exp2
  // CHECK: arith.mului_extended
  // CHECK: arith.mului_extended
  // CHECK: arith.select
  // CHECK: arith.mului_extended
  // CHECK: arith.mului_extended
  // CHECK: arith.select
  // CHECK-NOT: arith.mului_extended
  // CHECK: gpu.return
  gpu.func @drawn(%x: !tile.view<64xf32>, %y: !tile.view<64xf32>) kernel attributes {tile.grid = array<i64: 1, 1, 1>, tile.schedule = #tile.schedule<warps = 1, stages = 1>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64xf32>
    %by = arith.constant dense<-766435501> : tensor<64xi32>
    %most = arith.constant dense<1000> : tensor<64xi32>
    %n = tile.iota 0 to 64 : tensor<64xi32>
    %low, %high = arith.mului_extended %n, %by : tensor<64xi32>
    %one = arith.xori %low, %high : tensor<64xi32>
    %low2, %high2 = arith.mului_extended %one, %by : tensor<64xi32>
    %two = arith.xori %low2, %high2 : tensor<64xi32>
    %keep = arith.cmpi uge, %two, %most : tensor<64xi32>
    %a = tile.load %x[%c0 : 64] : !tile.view<64xf32>
    %b = math.exp2 %a : tensor<64xf32>
    %kept = arith.select %keep, %b, %zero : tensor<64xi1>, tensor<64xf32>
    tile.store %kept, %y[%c0 : 64] : !tile.view<64xf32>
    gpu.return
  }

  // Proven to be inside: one load of 16 bytes, no mask.
  // CHECK-LABEL: gpu.func @inside
  // CHECK-SAME: tile.shared_bytes = 0
  // CHECK-NOT: inline_asm
  // CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
  // CHECK-COUNT-4: arith.addf {{.*}} : f32
  // CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
  gpu.func @inside(%x: !tile.view<1024xf32>, %y: !tile.view<1024xf32>) kernel attributes {tile.grid = array<i64: 2, 1, 1>} {
    %c512 = arith.constant 512 : index
    %p = tile.program_id x
    %i = arith.muli %p, %c512 : index
    %a = tile.load %x[%i : 512] : !tile.view<1024xf32>
    %b = arith.addf %a, %a : tensor<512xf32>
    tile.store %b, %y[%i : 512] : !tile.view<1024xf32>
    gpu.return
  }

  // What may be outside is predicated, with its padding in place first.
  // CHECK-LABEL: gpu.func @outside
  // CHECK: llvm.inline_asm {{.*}}mov.b32 $0, 0xff800000;{{.*}}@{{.*}} ld.global.b32
  // CHECK: llvm.inline_asm {{.*}}@$0 st.global.b32
  gpu.func @outside(%x: !tile.view<999xf32>, %y: !tile.view<999xf32>) kernel {
    %c512 = arith.constant 512 : index
    %p = tile.program_id x
    %i = arith.muli %p, %c512 : index
    %a = tile.load %x[%i : 512] pad = neg_inf : !tile.view<999xf32>
    tile.store %a, %y[%i : 512] : !tile.view<999xf32>
    gpu.return
  }

  // Of an argument nothing is known, however large the view.
  // CHECK-LABEL: gpu.func @anywhere
  // CHECK: arith.maxsi
  // CHECK: arith.maxsi
  // CHECK: llvm.inline_asm {{.*}}@{{.*}} ld.global
  gpu.func @anywhere(%x: !tile.view<1024xf32>, %y: !tile.view<64xf32>, %i: index) kernel {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%i : 64] : !tile.view<1024xf32>
    tile.store %a, %y[%c0 : 64] : !tile.view<64xf32>
    gpu.return
  }

  // Padding of 64 bits has two words of its own.
  // CHECK-LABEL: gpu.func @wide
  // CHECK: llvm.inline_asm {{.*}}mov.b32 $0, 0x0; mov.b32 $1, 0xfff00000;
  gpu.func @wide(%x: !tile.view<99xf64>, %y: !tile.view<99xf64>) kernel {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 128] pad = neg_inf : !tile.view<99xf64>
    tile.store %a, %y[%c0 : 128] : !tile.view<99xf64>
    gpu.return
  }

  // A transposed view of a pointer: strides of run-time sizes are their products.
  // CHECK-LABEL: gpu.func @turned
  // CHECK-SAME: (%{{.+}}: !llvm.ptr<1> {llvm.align = 4 : i64}, %{{.+}}: i64, %{{.+}}: !llvm.ptr<1> {llvm.align = 16 : i64})
  // CHECK-NOT: tile.transposed_view
  // CHECK: gpu.return
  gpu.func @turned(%p: !tile.ptr<f32>, %n: index, %y: !tile.view<16x8xf32>) kernel {
    %c0 = arith.constant 0 : index
    %v = tile.view %p sizes [8, %n] : !tile.ptr<f32> -> !tile.view<8x?xf32>
    %t = tile.transposed_view %v [1, 0] : !tile.view<8x?xf32> -> !tile.view<?x8xf32, strides = [1, ?]>
    %a = tile.load %t[%c0 : 16, %c0 : 8] : !tile.view<?x8xf32, strides = [1, ?]>
    tile.store %a, %y[%c0 : 16, %c0 : 8] : !tile.view<16x8xf32>
    gpu.return
  }

  // A dot of 64x64x32 on 4 warps: 8 instructions of 16x8x16 for each k, twice.
  // CHECK-LABEL: gpu.func @product
  // CHECK: nvvm.cp.async.shared.global
  // CHECK: nvvm.ldmatrix
  // CHECK-COUNT-16: nvvm.mma.sync
  // CHECK-NOT: nvvm.mma.sync
  // CHECK: gpu.return
  gpu.func @product(%x: !tile.view<64x32xbf16>, %y: !tile.view<32x64xbf16>, %z: !tile.view<64x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %a = tile.load %x[%c0 : 64, %c0 : 32] : !tile.view<64x32xbf16>
    %b = tile.load %y[%c0 : 32, %c0 : 64] : !tile.view<32x64xbf16>
    %d = tile.dot %a, %b, %zero : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
    tile.store %d, %z[%c0 : 64, %c0 : 64] : !tile.view<64x64xf32>
    gpu.return
  }

  // Between 20x16 and 10x32 no layout fits both: elements move in the reshape.
  // CHECK-LABEL: gpu.func @moved
  // CHECK: gpu.barrier
  gpu.func @moved(%x: !tile.view<20x48xf32>, %y: !tile.view<30x32xf32>) kernel {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 20, %c0 : 48] : !tile.view<20x48xf32>
    %b = tile.reshape %a : tensor<20x48xf32> -> tensor<30x32xf32>
    tile.store %b, %y[%c0 : 30, %c0 : 32] : !tile.view<30x32xf32>
    gpu.return
  }

  // In a loop, scratch that the last round may still read waits for it.
  // CHECK-LABEL: gpu.func @again
  // CHECK: scf.for
  // CHECK: gpu.barrier
  // CHECK: llvm.store {{.*}}!llvm.ptr<3>
  // CHECK: gpu.barrier
  // CHECK: llvm.load {{.*}}!llvm.ptr<3>
  gpu.func @again(%x: !tile.view<4x1024xf32>, %y: !tile.view<1xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant 0.0 : f32
    %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %zero) -> f32 {
      %a = tile.load %x[%i, %c0 : 1024] : !tile.view<4x1024xf32>
      %m = tile.reduce max %a axis 0 : tensor<1024xf32>
      %n = arith.addf %s, %m : f32
      scf.yield %n : f32
    }
    tile.store %r, %y[%c0] : !tile.view<1xf32>
    gpu.return
  }

  // A line of 128 in one warp: 4 registers, which are added up one after the
  // other, then 5 steps among lanes and what all of them have in front.
  // CHECK-LABEL: gpu.func @lines
  // CHECK-SAME: tile.shared_bytes = 0
  // CHECK-NOT: nvvm.shfl
  // CHECK-COUNT-3: arith.addi %{{.+}}, %{{.+}} : i32
  // CHECK-COUNT-6: nvvm.shfl.sync up
  // CHECK-NOT: nvvm.shfl
  // CHECK: gpu.return
  gpu.func @lines(%x: !tile.view<4x128xi32>) kernel {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 4, %c0 : 128] : !tile.view<4x128xi32>
    %b = tile.scan add %a axis 1 : tensor<4x128xi32>
    tile.store %b, %x[%c0 : 4, %c0 : 128] : !tile.view<4x128xi32>
    gpu.return
  }

  // A line over warps: what each combines to goes through shared memory, 4
  // numbers for each of the two runs of 512.
  // CHECK-LABEL: gpu.func @over_warps
  // CHECK-SAME: tile.shared_bytes = 32
  // CHECK: nvvm.shfl.sync idx
  // CHECK: gpu.barrier
  // CHECK-COUNT-8: llvm.load {{.*}}!llvm.ptr<3> -> i32
  // CHECK-NOT: gpu.barrier
  // CHECK: gpu.return
  gpu.func @over_warps(%x: !tile.view<1024xi32>) kernel {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 1024] : !tile.view<1024xi32>
    %b = tile.scan add %a axis 0 : tensor<1024xi32>
    tile.store %b, %x[%c0 : 1024] : !tile.view<1024xi32>
    gpu.return
  }

  // A number of the kernel in a branch of the region.
  // CHECK-LABEL: gpu.func @branches
  // CHECK: %[[N:.+]] = llvm.bitcast %{{.+}} : i32 to f32
  // CHECK: scf.if
  // CHECK: arith.addf %{{.+}}, %[[N]] : f32
  gpu.func @branches(%x: !tile.view<1x128xf32>, %y: !tile.view<1xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 1>} {
    %c0 = arith.constant 0 : index
    %n = tile.load %y[%c0] : !tile.view<1xf32>
    %a = tile.load %x[%c0, %c0 : 128] : !tile.view<1x128xf32>
    %b = tile.scan %a axis 0 : tensor<128xf32> {
    ^bb0(%p: f32, %q: f32):
      %less = arith.cmpf olt, %p, %q : f32
      %r = scf.if %less -> f32 {
        %s = arith.addf %q, %n : f32
        scf.yield %s : f32
      } else {
        scf.yield %p : f32
      }
      tile.yield %r : f32
    }
    tile.store %b, %x[%c0, %c0 : 128] : !tile.view<1x128xf32>
    gpu.return
  }
}
