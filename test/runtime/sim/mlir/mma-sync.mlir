// RUN: mlir-opt %s --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_80 cubin-features=+ptx80 cubin-format=isa" \
// RUN:   | %run-gpu | FileCheck %s

// One warp, m16n8k16 of f16: A(i, k) = i, B(k, j) = j for k < 4 and zero beyond, so that
// D(i, j) = 4·i·j. Fragments are made from their layout; the sum of all is
// 4 · (0 + … + 15) · (0 + … + 7) = 13440, D(9, 5) = 180 and D(15, 7) = 420.

// CHECK: [13440,  180,  420]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %d = memref.alloc() : memref<16x8xf32>
  %any = memref.cast %d : memref<16x8xf32> to memref<*xf32>
  gpu.host_register %any : memref<*xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%t, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %group = arith.divui %t, %c4 : index
    %in = arith.remui %t, %c4 : index
    %group32 = arith.index_cast %group : index to i32
    %row = arith.sitofp %group32 : i32 to f16
    %eight = arith.constant 8.0 : f16
    %zero = arith.constant 0.0 : f16
    %below = arith.addf %row, %eight : f16
    // Registers of A: rows g, g + 8, g, g + 8; columns 2q, 2q + 1, then eight further.
    %splat0 = vector.broadcast %row : f16 to vector<2xf16>
    %splat1 = vector.broadcast %below : f16 to vector<2xf16>
    %a_zero = arith.constant dense<0.0> : vector<4x2xf16>
    %a0 = vector.insert %splat0, %a_zero [0] : vector<2xf16> into vector<4x2xf16>
    %a1 = vector.insert %splat1, %a0 [1] : vector<2xf16> into vector<4x2xf16>
    %a2 = vector.insert %splat0, %a1 [2] : vector<2xf16> into vector<4x2xf16>
    %a3 = vector.insert %splat1, %a2 [3] : vector<2xf16> into vector<4x2xf16>
    // Registers of B: rows 2q, 2q + 1 (below 4 when q < 2), then eight further (zero); column g.
    %few = arith.cmpi ult, %in, %c2 : index
    %b_value = arith.select %few, %row, %zero : f16
    %b_splat = vector.broadcast %b_value : f16 to vector<2xf16>
    %b_zero = arith.constant dense<0.0> : vector<2x2xf16>
    %b0 = vector.insert %b_splat, %b_zero [0] : vector<2xf16> into vector<2x2xf16>
    %acc = arith.constant dense<0.0> : vector<2x2xf32>
    %r = nvgpu.mma.sync(%a3, %b0, %acc) {mmaShape = [16, 8, 16]}
      : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %column = arith.muli %in, %c2 : index
    %column1 = arith.addi %column, %c1 : index
    %group8 = arith.addi %group, %c8 : index
    %d00 = vector.extract %r[0, 0] : f32 from vector<2x2xf32>
    %d01 = vector.extract %r[0, 1] : f32 from vector<2x2xf32>
    %d10 = vector.extract %r[1, 0] : f32 from vector<2x2xf32>
    %d11 = vector.extract %r[1, 1] : f32 from vector<2x2xf32>
    memref.store %d00, %d[%group, %column] : memref<16x8xf32>
    memref.store %d01, %d[%group, %column1] : memref<16x8xf32>
    memref.store %d10, %d[%group8, %column] : memref<16x8xf32>
    memref.store %d11, %d[%group8, %column1] : memref<16x8xf32>
    gpu.terminator
  }
  %c16 = arith.constant 16 : index
  %c8 = arith.constant 8 : index
  %none = arith.constant 0.0 : f32
  %sum = scf.for %i = %c0 to %c16 step %c1 iter_args(%outer = %none) -> f32 {
    %row = scf.for %j = %c0 to %c8 step %c1 iter_args(%inner = %outer) -> f32 {
      %v = memref.load %d[%i, %j] : memref<16x8xf32>
      %s = arith.addf %inner, %v : f32
      scf.yield %s : f32
    }
    scf.yield %row : f32
  }
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %c7 = arith.constant 7 : index
  %c9 = arith.constant 9 : index
  %c15 = arith.constant 15 : index
  %results = memref.alloc() : memref<3xf32>
  %d95 = memref.load %d[%c9, %c5] : memref<16x8xf32>
  %d157 = memref.load %d[%c15, %c7] : memref<16x8xf32>
  memref.store %sum, %results[%c0] : memref<3xf32>
  memref.store %d95, %results[%c1] : memref<3xf32>
  memref.store %d157, %results[%c2] : memref<3xf32>
  %results_any = memref.cast %results : memref<3xf32> to memref<*xf32>
  call @printMemrefF32(%results_any) : (memref<*xf32>) -> ()
  return
}
func.func private @printMemrefF32(memref<*xf32>)
