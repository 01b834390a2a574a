// RUN: sed 's/SWIZZLE/none/; s/COLS/32/g; s/MASK/0/' %s > %t.0.mlir
// RUN: sed 's/SWIZZLE/swizzle_32b/; s/COLS/8/g; s/MASK/16/' %s > %t.32.mlir
// RUN: sed 's/SWIZZLE/swizzle_64b/; s/COLS/16/g; s/MASK/48/' %s > %t.64.mlir
// RUN: sed 's/SWIZZLE/swizzle_128b/; s/COLS/32/g; s/MASK/112/' %s > %t.128.mlir
// RUN: mlir-opt %t.0.mlir --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90a cubin-features=+ptx80 cubin-format=isa" \
// RUN:   | env ACT_DEVICE=sim:sm_90a %run-gpu | FileCheck %s --check-prefix=NONE
// RUN: mlir-opt %t.32.mlir --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90a cubin-features=+ptx80 cubin-format=isa" \
// RUN:   | env ACT_DEVICE=sim:sm_90a %run-gpu | FileCheck %s --check-prefix=B32
// RUN: mlir-opt %t.64.mlir --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90a cubin-features=+ptx80 cubin-format=isa" \
// RUN:   | env ACT_DEVICE=sim:sm_90a %run-gpu | FileCheck %s --check-prefix=B64
// RUN: mlir-opt %t.128.mlir --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90a cubin-features=+ptx80 cubin-format=isa" \
// RUN:   | env ACT_DEVICE=sim:sm_90a %run-gpu | FileCheck %s --check-prefix=B128

// Two tiles of a 40 × 80 tensor, t(i, j) = 80·i + j + 1, come into shared memory
// one after the other by one mbarrier; the second reaches beyond the tensor, where
// it has zeros. What shared memory holds, in the order of its addresses, is
// compared with the tensor: the word at byte o of a tile in rows lies at
// o ^ (o >> 3 & MASK).
//
// Printed: how many words of the tiles are wrong, how many of the first lie
// elsewhere than in rows, how many of the second are zero.
//   32 B   rows of 32 bytes: a row's chunks change places where i & 4
//   64 B   rows of 64: they do unless i & 6 is 0
//   128 B  rows of 128: they do unless i & 7 is 0

// NONE: [0, 0, 384]
// B32:  [0, 64, 64]
// B64:  [0, 192, 128]
// B128: [0, 448, 384]

!map = !nvgpu.tensormap.descriptor<tensor = memref<16xCOLSxf32, 3>, swizzle = SWIZZLE,
                                   l2promo = l2promo_128b, oob = zero, interleave = none>
!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

memref.global "private" @tile : memref<16xCOLSxf32, 3> {alignment = 1024}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %c40 = arith.constant 40 : index
  %c80 = arith.constant 80 : index
  %c128 = arith.constant 128 : index
  %columns = arith.constant COLS : index
  %mask = arith.constant MASK : index
  %zero = arith.constant 0.0 : f32
  %host = memref.alloc() : memref<40x80xf32>
  scf.for %i = %c0 to %c40 step %c1 {
    scf.for %j = %c0 to %c80 step %c1 {
      %before = arith.muli %i, %c80 : index
      %place = arith.addi %before, %j : index
      %one_more = arith.addi %place, %c1 : index
      %n = arith.index_cast %one_more : index to i32
      %f = arith.sitofp %n : i32 to f32
      memref.store %f, %host[%i, %j] : memref<40x80xf32>
    }
  }

  %got = memref.alloc() : memref<2x16xCOLSxf32>
  %s0 = gpu.wait async
  %tensor, %s1 = gpu.alloc async [%s0] () : memref<40x80xf32>
  %out, %s2 = gpu.alloc async [%s1] () : memref<2x16xCOLSxf32>
  %s3 = gpu.memcpy async [%s2] %tensor, %host : memref<40x80xf32>, memref<40x80xf32>
  gpu.wait [%s3]
  %any = memref.cast %tensor : memref<40x80xf32> to memref<*xf32>
  %map = nvgpu.tma.create.descriptor %any box[%c16, %columns] : memref<*xf32> -> !map
  %s4 = gpu.wait async
  %s5 = gpu.launch async [%s4] blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
                               threads(%t, %ty, %tz) in (%threads = %c128, %sy = %c1, %sz = %c1) {
    %leads = arith.cmpi eq, %t, %c0 : index
    %tile = memref.get_global @tile : memref<16xCOLSxf32, 3>
    %barrier = nvgpu.mbarrier.create -> !barrier
    nvgpu.tma.prefetch.descriptor %map, predicate = %leads : !map
    nvgpu.mbarrier.init %barrier[%c0], %c1, predicate = %leads : !barrier
    gpu.barrier
    %words = arith.muli %c16, %columns : index
    scf.for %n = %c0 to %c2 step %c1 {
      // Tile 0 begins at row 16 and column 40, tile 1 at row 32 and column 64.
      %down = arith.muli %n, %c16 : index
      %row = arith.addi %c16, %down : index
      %right = arith.muli %n, %c24 : index
      %column = arith.addi %c40, %right : index
      scf.if %leads {
        %bytes = arith.muli %words, %c4 : index
        nvgpu.mbarrier.arrive.expect_tx %barrier[%c0], %bytes : !barrier
        nvgpu.tma.async.load %map[%column, %row], %barrier[%c0] to %tile
          : !map, !barrier -> memref<16xCOLSxf32, 3>
      }
      %parity = arith.index_cast %n : index to i1
      %ticks = arith.constant 10000000 : index
      nvgpu.mbarrier.try_wait.parity %barrier[%c0], %parity, %ticks : !barrier
      scf.for %i = %t to %words step %threads {
        %r = arith.divui %i, %columns : index
        %c = arith.remui %i, %columns : index
        %v = memref.load %tile[%r, %c] : memref<16xCOLSxf32, 3>
        memref.store %v, %out[%n, %r, %c] : memref<2x16xCOLSxf32>
      }
      gpu.barrier
    }
    gpu.terminator
  }
  %s6 = gpu.memcpy async [%s5] %got, %out : memref<2x16xCOLSxf32>, memref<2x16xCOLSxf32>
  %s7 = gpu.dealloc async [%s6] %tensor : memref<40x80xf32>
  %s8 = gpu.dealloc async [%s7] %out : memref<2x16xCOLSxf32>
  gpu.wait [%s8]

  %wrong, %moved, %zeros = scf.for %n = %c0 to %c2 step %c1
      iter_args(%w0 = %c0, %m0 = %c0, %z0 = %c0) -> (index, index, index) {
    %rw, %rm, %rz = scf.for %i = %c0 to %c16 step %c1
        iter_args(%w1 = %w0, %m1 = %m0, %z1 = %z0) -> (index, index, index) {
      %cw, %cm, %cz = scf.for %j = %c0 to %columns step %c1
          iter_args(%w2 = %w1, %m2 = %m1, %z2 = %z1) -> (index, index, index) {
        // What the tensor has there.
        %down = arith.muli %n, %c16 : index
        %top = arith.addi %c16, %down : index
        %row = arith.addi %top, %i : index
        %right = arith.muli %n, %c24 : index
        %left = arith.addi %c40, %right : index
        %column = arith.addi %left, %j : index
        %row_in = arith.cmpi ult, %row, %c40 : index
        %column_in = arith.cmpi ult, %column, %c80 : index
        %in = arith.andi %row_in, %column_in : i1
        %expected = scf.if %in -> f32 {
          %v = memref.load %host[%row, %column] : memref<40x80xf32>
          scf.yield %v : f32
        } else {
          scf.yield %zero : f32
        }
        // Where the tile has it.
        %before = arith.muli %i, %columns : index
        %word = arith.addi %before, %j : index
        %byte = arith.muli %word, %c4 : index
        %up = arith.shrui %byte, %c3 : index
        %flip = arith.andi %up, %mask : index
        %swizzled = arith.xori %byte, %flip : index
        %place = arith.divui %swizzled, %c4 : index
        %r = arith.divui %place, %columns : index
        %c = arith.remui %place, %columns : index
        %v = memref.load %got[%n, %r, %c] : memref<2x16xCOLSxf32>
        %in_rows = memref.load %got[%n, %i, %j] : memref<2x16xCOLSxf32>
        %is_wrong = arith.cmpf une, %v, %expected : f32
        %first = arith.cmpi eq, %n, %c0 : index
        %elsewhere = arith.cmpf une, %in_rows, %expected : f32
        %is_moved = arith.andi %first, %elsewhere : i1
        %second = arith.cmpi eq, %n, %c1 : index
        %is_zero = arith.cmpf oeq, %v, %zero : f32
        %is_fill = arith.andi %second, %is_zero : i1
        %one_wrong = arith.select %is_wrong, %c1, %c0 : index
        %one_moved = arith.select %is_moved, %c1, %c0 : index
        %one_fill = arith.select %is_fill, %c1, %c0 : index
        %w3 = arith.addi %w2, %one_wrong : index
        %m3 = arith.addi %m2, %one_moved : index
        %z3 = arith.addi %z2, %one_fill : index
        scf.yield %w3, %m3, %z3 : index, index, index
      }
      scf.yield %cw, %cm, %cz : index, index, index
    }
    scf.yield %rw, %rm, %rz : index, index, index
  }
  %result = memref.alloc() : memref<3xi64>
  %wrong_i = arith.index_cast %wrong : index to i64
  %moved_i = arith.index_cast %moved : index to i64
  %zeros_i = arith.index_cast %zeros : index to i64
  memref.store %wrong_i, %result[%c0] : memref<3xi64>
  memref.store %moved_i, %result[%c1] : memref<3xi64>
  memref.store %zeros_i, %result[%c2] : memref<3xi64>
  %result_any = memref.cast %result : memref<3xi64> to memref<*xi64>
  call @printMemrefI64(%result_any) : (memref<*xi64>) -> ()
  memref.dealloc %host : memref<40x80xf32>
  memref.dealloc %got : memref<2x16xCOLSxf32>
  memref.dealloc %result : memref<3xi64>
  return
}
func.func private @printMemrefI64(memref<*xi64>)
