// RUN: mlir-opt %s --gpu-lower-to-nvvm-pipeline="cubin-chip=sm_80 cubin-features=+ptx80 cubin-format=isa" \
// RUN:   | %run-gpu | FileCheck %s

// One thread prints numbers of every kind, then each of four: their order is not
// said, their lines are whole.

// CHECK:      nothing to fill in, and 100 %
// CHECK-NEXT: signed -7, unsigned 4294967289, hexadecimal fff9
// CHECK-NEXT: long -1099511627776, index 12
// CHECK-NEXT: f32 0.10000000, f64 1.000000e-10, f64 -0.5, inf
// CHECK-NEXT: |   42|42   |00042|
// CHECK-DAG: thread 0 of 4
// CHECK-DAG: thread 1 of 4
// CHECK-DAG: thread 2 of 4
// CHECK-DAG: thread 3 of 4
// CHECK: the kernel has ended
func.func @main() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c4, %sy = %c1, %sz = %c1) {
    %c0 = arith.constant 0 : index
    %first = arith.cmpi eq, %tx, %c0 : index
    scf.if %first {
      %seven = arith.constant -7 : i32
      %short = arith.constant 65529 : i32
      %long = arith.constant -1099511627776 : i64
      %c12 = arith.constant 12 : index
      %tenth = arith.constant 0.1 : f32
      %small = arith.constant 1.0e-10 : f64
      %half = arith.constant -0.5 : f64
      %infinite = arith.constant 0x7FF0000000000000 : f64
      %n = arith.constant 42 : i32
      gpu.printf "nothing to fill in, and 100 %%\n"
      gpu.printf "signed %d, unsigned %u, hexadecimal %x\n", %seven, %seven, %short : i32, i32, i32
      gpu.printf "long %lld, index %lld\n", %long, %c12 : i64, index
      gpu.printf "f32 %.8f, f64 %e, f64 %g, %f\n", %tenth, %small, %half, %infinite : f32, f64, f64, f64
      gpu.printf "|%5d|%-5d|%05d|\n", %n, %n, %n : i32, i32, i32
    }
    gpu.barrier
    gpu.printf "thread %lld of %lld\n", %tx, %c4 : index, index
    gpu.terminator
  }
  vector.print str "the kernel has ended\n"
  return
}
