// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @axes
// CHECK: tile.num_programs x
// CHECK: tile.num_programs z
// FOLD-LABEL: @axes
// FOLD: tile.num_programs x
func.func @axes() -> (index, index) {
  %n = tile.num_programs x
  %m = tile.num_programs z
  return %n, %m : index, index
}

// CHECK-LABEL: gpu.func @static_grid
// CHECK: tile.num_programs y
// FOLD-LABEL: gpu.func @static_grid
// FOLD: %[[N:.+]] = arith.constant 3 : index
// FOLD: tile.print "{}", %[[N]]
gpu.module @kernels {
  gpu.func @static_grid() kernel attributes {tile.grid = array<i64: 8, 3, 1>} {
    %n = tile.num_programs y
    tile.print "{}", %n : index
    gpu.return
  }
}
