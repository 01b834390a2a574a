// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --int-range-optimizations | FileCheck %s --check-prefix=RANGE

// CHECK-LABEL: @axes
// CHECK: tile.program_id x
// CHECK: tile.program_id x of %{{.*}}
// CHECK: tile.program_id y
// CHECK: tile.program_id z
func.func @axes(%n: index) -> (index, index, index, index) {
  %p = tile.program_id x
  %q = tile.program_id x of %n
  %r = tile.program_id y
  %s = tile.program_id z
  return %p, %q, %r, %s : index, index, index, index
}

// A program's number is below the grid's length, and below what a launch takes.
// CHECK-LABEL: gpu.func @below_the_grid
// RANGE-LABEL: gpu.func @below_the_grid
// RANGE: %[[TRUE:.+]] = arith.constant true
// RANGE: %[[SAME:.+]] = arith.cmpi ult, %{{.+}}, %c7
// RANGE: tile.print "{} {} {}", %[[TRUE]], %[[SAME]], %[[TRUE]]
gpu.module @kernels {
  gpu.func @below_the_grid() kernel attributes {tile.grid = array<i64: 8, 3, 1>} {
    %c8 = arith.constant 8 : index
    %c7 = arith.constant 7 : index
    %c65535 = arith.constant 65535 : index
    %p = tile.program_id x
    %z = tile.program_id z
    %a = arith.cmpi ult, %p, %c8 : index
    %b = arith.cmpi ult, %p, %c7 : index
    %c = arith.cmpi ult, %z, %c65535 : index
    tile.print "{} {} {}", %a, %b, %c : i1, i1, i1
    gpu.return
  }
}
