// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-select-instructions{target=sm_86}))' | FileCheck %s --check-prefixes=WIDE,OLD
// RUN: act-opt %s --pass-pipeline='builtin.module(gpu.module(tile-select-instructions{target=sm_89}))' | FileCheck %s --check-prefixes=WIDE,NEW
// RUN: act-opt %s --emit-ptx="dir=%t target=sm_80 cache-dir=none" -o /dev/null
// RUN: FileCheck %s --check-prefix=PTX64 --input-file=%t/doubles.ptx
// RUN: FileCheck %s --check-prefix=PTX32 --input-file=%t/singles.ptx
// RUN: FileCheck %s --check-prefix=PTX6 --input-file=%t/added.ptx
// RUN: FileCheck %s --check-prefix=HALF --input-file=%t/halves.ptx
// RUN: FileCheck %s --check-prefix=INT --input-file=%t/integers.ptx
// RUN: FileCheck %s --check-prefix=LATE --input-file=%t/loads.ptx
// RUN: FileCheck %s --check-prefix=PTX80 --input-file=%t/bytes.ptx
// RUN: act-opt %s --emit-ptx="dir=%t target=sm_89 cache-dir=none" -o /dev/null
// RUN: FileCheck %s --check-prefix=PTX89 --input-file=%t/bytes.ptx

// Products of types that tensor cores have in another shape, or not everywhere.
// WIDE-LABEL: gpu.func @singles
// WIDE: tile.dot {{.*}} precision = bf16x3 {instruction = #tile.instruction<mma_sync, m = 16, n = 8, k = 16, element = bf16, parts = 2>}
// WIDE: tile.dot {{.*}} precision = tf32 {instruction = #tile.instruction<mma_sync, m = 16, n = 8, k = 8, element = tf32>}
// WIDE-LABEL: gpu.func @added
// WIDE: tile.dot {{.*}} {instruction = #tile.instruction<mma_sync, m = 16, n = 8, k = 16, element = bf16, parts = 3>}
// WIDE-LABEL: gpu.func @doubles
// WIDE: tile.dot {{.*}} {instruction = #tile.instruction<mma_sync, m = 8, n = 8, k = 4, element = f64>}
gpu.module @kernels {
  // f32 in parts of bf16, three products that begin with zero, for which the two
  // smaller ones come first; then two of tf32, which begin with the sum.
  // PTX32: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
  // PTX32: {{[{]}}%[[Z:r[0-9]+]], %[[Z]], %[[Z]], %[[Z]]};
  // PTX32-COUNT-2: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
  // PTX32-NOT: mma.sync.aligned.m16n8k16
  // PTX32-NOT: add.rn.f32
  // PTX32-COUNT-2: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
  gpu.func @singles(%x: !tile.view<16x16xf32>, %y: !tile.view<16x8xf32>, %z: !tile.view<16x8xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 1>, tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<16x8xf32>
    %a = tile.load %x[%c0 : 16, %c0 : 16] : !tile.view<16x16xf32>
    %b = tile.load %y[%c0 : 16, %c0 : 8] : !tile.view<16x8xf32>
    %c = tile.dot %a, %b, %zero precision = bf16x3 : tensor<16x16xf32>, tensor<16x8xf32> -> tensor<16x8xf32>
    %d = tile.dot %a, %b, %c precision = tf32 : tensor<16x16xf32>, tensor<16x8xf32> -> tensor<16x8xf32>
    tile.store %d, %z[%c0 : 16, %c0 : 8] : !tile.view<16x8xf32>
    gpu.return
  }

  // All of f32's bits: six products, and the accumulator is added to these.
  // PTX6: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
  // PTX6: {{[{]}}%[[Z:r[0-9]+]], %[[Z]], %[[Z]], %[[Z]]};
  // PTX6-COUNT-5: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
  // PTX6-NOT: mma.sync
  // PTX6-COUNT-4: add.rn.f32
  gpu.func @added(%x: !tile.view<16x16xf32>, %y: !tile.view<16x8xf32>, %z: !tile.view<16x8xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 1>, tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 16, %c0 : 16] : !tile.view<16x16xf32>
    %b = tile.load %y[%c0 : 16, %c0 : 8] : !tile.view<16x8xf32>
    %c = tile.load %z[%c0 : 16, %c0 : 8] : !tile.view<16x8xf32>
    %d = tile.dot %a, %b, %c : tensor<16x16xf32>, tensor<16x8xf32> -> tensor<16x8xf32>
    tile.store %d, %z[%c0 : 16, %c0 : 8] : !tile.view<16x8xf32>
    gpu.return
  }

  // From shared memory each instruction's operands come when it is their turn,
  // not both blocks before the first: of each 32 of k a row's words are loaded
  // for the first column of instructions only.
  // LATE-COUNT-2: bar.sync
  // LATE-COUNT-8: ld.shared
  // LATE-NOT: ld.shared
  // LATE: mma.sync
  // LATE-COUNT-8: ld.shared
  // LATE-NOT: ld.shared
  // LATE-COUNT-5: mma.sync
  // LATE-COUNT-4: ld.shared
  // LATE-NOT: ld.shared
  // LATE: mma.sync
  gpu.func @loads(%x: !tile.view<16x64xf32>, %y: !tile.view<64x16xf32>, %z: !tile.view<16x16xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 1>, tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<16x16xf32>
    %a = tile.load %x[%c0 : 16, %c0 : 64] : !tile.view<16x64xf32>
    %b = tile.load %y[%c0 : 64, %c0 : 16] : !tile.view<64x16xf32>
    %c = tile.dot %a, %b, %zero precision = bf16x3 : tensor<16x64xf32>, tensor<64x16xf32> -> tensor<16x16xf32>
    tile.store %c, %z[%c0 : 16, %c0 : 16] : !tile.view<16x16xf32>
    gpu.return
  }

  // Two instructions of 8 rows for each 16, of 4 along k.
  // PTX64: .version 8.0
  // PTX64-COUNT-16: mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64
  // PTX64-NOT: mma.sync
  // PTX64: ret;
  gpu.func @doubles(%x: !tile.view<32x8xf64>, %y: !tile.view<8x16xf64>, %z: !tile.view<32x16xf64>) kernel attributes {tile.schedule = #tile.schedule<warps = 1>, tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<32x16xf64>
    %a = tile.load %x[%c0 : 32, %c0 : 8] : !tile.view<32x8xf64>
    %b = tile.load %y[%c0 : 8, %c0 : 16] : !tile.view<8x16xf64>
    %d = tile.dot %a, %b, %zero : tensor<32x8xf64>, tensor<8x16xf64> -> tensor<32x16xf64>
    tile.store %d, %z[%c0 : 32, %c0 : 16] : !tile.view<32x16xf64>
    gpu.return
  }

  // f8 of two kinds, one of them turned: as it is from sm_89 on, else as f16. The
  // turn stays at the load.
  // WIDE-LABEL: gpu.func @bytes
  // OLD-DAG: %[[A:.+]] = arith.extf %{{.+}} : tensor<32x32xf8E4M3FN> to tensor<32x32xf16>
  // OLD-DAG: %[[B:.+]] = arith.extf %{{.+}} : tensor<16x32xf8E5M2> to tensor<16x32xf16>
  // OLD-DAG: %[[T:.+]] = tile.trans %[[B]] : tensor<16x32xf16>
  // OLD: tile.dot %[[A]], %[[T]], %{{.+}} {instruction = #tile.instruction<mma_sync, m = 16, n = 8, k = 16, element = f16>} : tensor<32x32xf16>, tensor<32x16xf16> -> tensor<32x16xf32>
  // NEW-NOT: extf
  // NEW: tile.dot {{.*}} {instruction = #tile.instruction<mma_sync, m = 16, n = 8, k = 32, element = f8E4M3FN>} : tensor<32x32xf8E4M3FN>, tensor<32x16xf8E5M2> -> tensor<32x16xf32>
  // PTX80: .version 8.0
  // PTX80-COUNT-8: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
  // PTX80-NOT: mma.sync
  // PTX89: .version 8.4
  // PTX89-COUNT-4: mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32
  // PTX89-NOT: mma.sync
  gpu.func @bytes(%x: !tile.view<32x32xf8E4M3FN>, %y: !tile.view<16x32xf8E5M2>, %z: !tile.view<32x16xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 1>, tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<32x16xf32>
    %a = tile.load %x[%c0 : 32, %c0 : 32] : !tile.view<32x32xf8E4M3FN>
    %b = tile.load %y[%c0 : 16, %c0 : 32] : !tile.view<16x32xf8E5M2>
    %t = tile.trans %b : tensor<16x32xf8E5M2>
    %d = tile.dot %a, %t, %zero : tensor<32x32xf8E4M3FN>, tensor<32x16xf8E5M2> -> tensor<32x16xf32>
    tile.store %d, %z[%c0 : 32, %c0 : 16] : !tile.view<32x16xf32>
    gpu.return
  }

  // Sums of f16 are two to a register; k is not a multiple of 16, so it is done with
  // the instruction of half of it.
  // HALF-COUNT-3: mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16
  // HALF-NOT: mma.sync
  gpu.func @halves(%x: !tile.view<16x24xf16>, %y: !tile.view<24x8xf16>, %z: !tile.view<16x8xf16>) kernel attributes {tile.schedule = #tile.schedule<warps = 1>, tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0 : 16, %c0 : 24] : !tile.view<16x24xf16>
    %b = tile.load %y[%c0 : 24, %c0 : 8] : !tile.view<24x8xf16>
    %c = tile.load %z[%c0 : 16, %c0 : 8] : !tile.view<16x8xf16>
    %d = tile.dot %a, %b, %c : tensor<16x24xf16>, tensor<24x8xf16> -> tensor<16x8xf16>
    tile.store %d, %z[%c0 : 16, %c0 : 8] : !tile.view<16x8xf16>
    gpu.return
  }

  // INT: mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32
  // INT-NOT: mma.sync
  gpu.func @integers(%x: !tile.view<16x16xi8>, %y: !tile.view<16x8xi8>, %z: !tile.view<16x8xi32>) kernel attributes {tile.schedule = #tile.schedule<warps = 1>, tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0> : tensor<16x8xi32>
    %a = tile.load %x[%c0 : 16, %c0 : 16] : !tile.view<16x16xi8>
    %b = tile.load %y[%c0 : 16, %c0 : 8] : !tile.view<16x8xi8>
    %d = tile.dot %a, %b, %zero : tensor<16x16xi8>, tensor<16x8xi8> -> tensor<16x8xi32>
    tile.store %d, %z[%c0 : 16, %c0 : 8] : !tile.view<16x8xi32>
    gpu.return
  }

  // The instruction has a k of 32.
  // WIDE-LABEL: gpu.func @short
  // WIDE: tile.dot {{.*}} : tensor<16x16xf16>, tensor<16x8xf16> -> tensor<16x8xf32>
  gpu.func @short(%x: !tile.view<16x16xf8E5M2>, %y: !tile.view<16x8xf8E5M2>, %z: !tile.view<16x8xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 1>, tile.grid = array<i64: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<16x8xf32>
    %a = tile.load %x[%c0 : 16, %c0 : 16] : !tile.view<16x16xf8E5M2>
    %b = tile.load %y[%c0 : 16, %c0 : 8] : !tile.view<16x8xf8E5M2>
    %d = tile.dot %a, %b, %zero : tensor<16x16xf8E5M2>, tensor<16x8xf8E5M2> -> tensor<16x8xf32>
    tile.store %d, %z[%c0 : 16, %c0 : 8] : !tile.view<16x8xf32>
    gpu.return
  }
}
