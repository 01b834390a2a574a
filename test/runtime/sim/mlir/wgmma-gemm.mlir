// RUN: mlir-opt %s --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90a cubin-features=+ptx80 cubin-format=isa" \
// RUN:   | env ACT_DEVICE=sim:sm_90a %run-gpu | FileCheck %s

// C = A · B, 128 × 128 × 128, by one warp group: f16 tiles come by TMA, 64 columns
// of A and 64 rows of B at a time, and wgmma adds up in f32. Whole numbers, so the
// CPU's result is the same to the bit: a(i, k) = (7i + 3k) mod 13 − 6 and
// b(k, j) = (5k + 11j) mod 9 − 4.
//
// B's rows run along n: a tile is two boxes of 64 × 64, and the descriptor's
// leading dimension leads from one to the other.

// Wrong elements, elements that are not 0; c(0, 0), c(70, 33), c(127, 127).
// CHECK: [0, 15684]
// CHECK: [30, -19, 4]

!map_a = !nvgpu.tensormap.descriptor<tensor = memref<128x64xf16, 3>, swizzle = swizzle_128b, l2promo = none,
                                     oob = zero, interleave = none>
!map_b = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none,
                                     oob = zero, interleave = none>
!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!desc_a = !nvgpu.warpgroup.descriptor<tensor = memref<128x64xf16, 3>>
!desc_b = !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
!sums = !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>

memref.global "private" @a_tile : memref<128x64xf16, 3> {alignment = 1024}
memref.global "private" @b_tile : memref<2x64x64xf16, 3> {alignment = 1024}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %c7 = arith.constant 7 : index
  %c9 = arith.constant 9 : index
  %c11 = arith.constant 11 : index
  %c13 = arith.constant 13 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %six = arith.constant 6.0 : f16
  %four = arith.constant 4.0 : f16
  %zero = arith.constant 0.0 : f32

  %host_a = memref.alloc() : memref<128x128xf16>
  %host_b = memref.alloc() : memref<128x128xf16>
  %host_c = memref.alloc() : memref<128x128xf32>
  scf.for %i = %c0 to %c128 step %c1 {
    scf.for %j = %c0 to %c128 step %c1 {
      %i7 = arith.muli %i, %c7 : index
      %j3 = arith.muli %j, %c3 : index
      %a_sum = arith.addi %i7, %j3 : index
      %a_mod = arith.remui %a_sum, %c13 : index
      %a_int = arith.index_cast %a_mod : index to i32
      %a_f = arith.sitofp %a_int : i32 to f16
      %a = arith.subf %a_f, %six : f16
      memref.store %a, %host_a[%i, %j] : memref<128x128xf16>
      %i5 = arith.muli %i, %c5 : index
      %j11 = arith.muli %j, %c11 : index
      %b_sum = arith.addi %i5, %j11 : index
      %b_mod = arith.remui %b_sum, %c9 : index
      %b_int = arith.index_cast %b_mod : index to i32
      %b_f = arith.sitofp %b_int : i32 to f16
      %b = arith.subf %b_f, %four : f16
      memref.store %b, %host_b[%i, %j] : memref<128x128xf16>
    }
  }

  %s0 = gpu.wait async
  %a, %s1 = gpu.alloc async [%s0] () : memref<128x128xf16>
  %b, %s2 = gpu.alloc async [%s1] () : memref<128x128xf16>
  %c, %s3 = gpu.alloc async [%s2] () : memref<128x128xf32>
  %s4 = gpu.memcpy async [%s3] %a, %host_a : memref<128x128xf16>, memref<128x128xf16>
  %s5 = gpu.memcpy async [%s4] %b, %host_b : memref<128x128xf16>, memref<128x128xf16>
  gpu.wait [%s5]
  %any_a = memref.cast %a : memref<128x128xf16> to memref<*xf16>
  %any_b = memref.cast %b : memref<128x128xf16> to memref<*xf16>
  %map_a = nvgpu.tma.create.descriptor %any_a box[%c128, %c64] : memref<*xf16> -> !map_a
  %map_b = nvgpu.tma.create.descriptor %any_b box[%c64, %c64] : memref<*xf16> -> !map_b

  %s6 = gpu.wait async
  %s7 = gpu.launch async [%s6] blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
                               threads(%t, %ty, %tz) in (%sx = %c128, %sy = %c1, %sz = %c1) {
    %leads = arith.cmpi eq, %t, %c0 : index
    %a_tile = memref.get_global @a_tile : memref<128x64xf16, 3>
    %b_tile = memref.get_global @b_tile : memref<2x64x64xf16, 3>
    %b_left = memref.subview %b_tile[0, 0, 0] [1, 64, 64] [1, 1, 1]
      : memref<2x64x64xf16, 3> to memref<64x64xf16, strided<[64, 1]>, 3>
    %b_right = memref.subview %b_tile[1, 0, 0] [1, 64, 64] [1, 1, 1]
      : memref<2x64x64xf16, 3> to memref<64x64xf16, strided<[64, 1], offset: 4096>, 3>
    %b_both = memref.reinterpret_cast %b_tile to offset: [0], sizes: [64, 128], strides: [128, 1]
      : memref<2x64x64xf16, 3> to memref<64x128xf16, 3>
    %barrier = nvgpu.mbarrier.create -> !barrier
    nvgpu.mbarrier.init %barrier[%c0], %c1, predicate = %leads : !barrier
    gpu.barrier

    %desc_a = nvgpu.warpgroup.generate.descriptor %a_tile, %map_a : memref<128x64xf16, 3>, !map_a -> !desc_a
    %desc_b = nvgpu.warpgroup.generate.descriptor %b_both, %map_b : memref<64x128xf16, 3>, !map_b -> !desc_b
    // The loop's bounds are the host's, so it stays a loop. Unrolled, LLVM would clear
    // the sums behind the wgmma.fence, which is a finding.
    %none = nvgpu.warpgroup.mma.init.accumulator -> !sums
    %sums = scf.for %k = %c0 to %c128 step %c64 iter_args(%before = %none) -> (!sums) {
      scf.if %leads {
        %bytes = arith.constant 32768 : index
        nvgpu.mbarrier.arrive.expect_tx %barrier[%c0], %bytes : !barrier
        nvgpu.tma.async.load %map_a[%k, %c0], %barrier[%c0] to %a_tile : !map_a, !barrier -> memref<128x64xf16, 3>
        nvgpu.tma.async.load %map_b[%c0, %k], %barrier[%c0] to %b_left
          : !map_b, !barrier -> memref<64x64xf16, strided<[64, 1]>, 3>
        nvgpu.tma.async.load %map_b[%c64, %k], %barrier[%c0] to %b_right
          : !map_b, !barrier -> memref<64x64xf16, strided<[64, 1], offset: 4096>, 3>
      }
      %round = arith.divui %k, %c64 : index
      %parity = arith.index_cast %round : index to i1
      %ticks = arith.constant 10000000 : index
      nvgpu.mbarrier.try_wait.parity %barrier[%c0], %parity, %ticks : !barrier
      %after = nvgpu.warpgroup.mma %desc_a, %desc_b, %before {waitGroup = 0 : i64, transposeB}
        : !desc_a, !desc_b, !sums -> !sums
      // The next tiles come when all have read these.
      gpu.barrier
      scf.yield %after : !sums
    }
    nvgpu.warpgroup.mma.store %sums, %c : !sums to memref<128x128xf32>
    gpu.terminator
  }
  %s8 = gpu.memcpy async [%s7] %host_c, %c : memref<128x128xf32>, memref<128x128xf32>
  %s9 = gpu.dealloc async [%s8] %a : memref<128x128xf16>
  %s10 = gpu.dealloc async [%s9] %b : memref<128x128xf16>
  %s11 = gpu.dealloc async [%s10] %c : memref<128x128xf32>
  gpu.wait [%s11]

  %wrong, %nonzero = scf.for %i = %c0 to %c128 step %c1 iter_args(%w0 = %c0, %n0 = %c0) -> (index, index) {
    %rw, %rn = scf.for %j = %c0 to %c128 step %c1 iter_args(%w1 = %w0, %n1 = %n0) -> (index, index) {
      %expected = scf.for %k = %c0 to %c128 step %c1 iter_args(%sum = %zero) -> f32 {
        %x = memref.load %host_a[%i, %k] : memref<128x128xf16>
        %y = memref.load %host_b[%k, %j] : memref<128x128xf16>
        %x32 = arith.extf %x : f16 to f32
        %y32 = arith.extf %y : f16 to f32
        %xy = arith.mulf %x32, %y32 : f32
        %next = arith.addf %sum, %xy : f32
        scf.yield %next : f32
      }
      %v = memref.load %host_c[%i, %j] : memref<128x128xf32>
      %differs = arith.cmpf une, %v, %expected : f32
      %something = arith.cmpf une, %v, %zero : f32
      %one_wrong = arith.select %differs, %c1, %c0 : index
      %one_nonzero = arith.select %something, %c1, %c0 : index
      %w2 = arith.addi %w1, %one_wrong : index
      %n2 = arith.addi %n1, %one_nonzero : index
      scf.yield %w2, %n2 : index, index
    }
    scf.yield %rw, %rn : index, index
  }
  %counts = memref.alloc() : memref<2xi64>
  %wrong_i = arith.index_cast %wrong : index to i64
  %nonzero_i = arith.index_cast %nonzero : index to i64
  memref.store %wrong_i, %counts[%c0] : memref<2xi64>
  memref.store %nonzero_i, %counts[%c1] : memref<2xi64>
  %c2 = arith.constant 2 : index
  %c33 = arith.constant 33 : index
  %c70 = arith.constant 70 : index
  %c127 = arith.constant 127 : index
  %few = memref.alloc() : memref<3xf32>
  %v0 = memref.load %host_c[%c0, %c0] : memref<128x128xf32>
  %v70 = memref.load %host_c[%c70, %c33] : memref<128x128xf32>
  %v127 = memref.load %host_c[%c127, %c127] : memref<128x128xf32>
  memref.store %v0, %few[%c0] : memref<3xf32>
  memref.store %v70, %few[%c1] : memref<3xf32>
  memref.store %v127, %few[%c2] : memref<3xf32>
  %counts_any = memref.cast %counts : memref<2xi64> to memref<*xi64>
  %few_any = memref.cast %few : memref<3xf32> to memref<*xf32>
  call @printMemrefI64(%counts_any) : (memref<*xi64>) -> ()
  call @printMemrefF32(%few_any) : (memref<*xf32>) -> ()
  return
}
func.func private @printMemrefI64(memref<*xi64>)
func.func private @printMemrefF32(memref<*xf32>)
