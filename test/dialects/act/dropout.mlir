// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @tenth
// CHECK: act.dropout %{{.+}} p 1.000000e-01 rng(%{{.+}}, %{{.+}}, %{{.+}}) : tensor<2x4xf32>
// FOLD-LABEL: @tenth
// FOLD: act.dropout
func.func @tenth(%x: tensor<2x4xf32>, %seed: i64, %step: i64, %site: i64) -> tensor<2x4xf32> {
  %0 = act.dropout %x p 1.000000e-01 rng(%seed, %step, %site) : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @none
// CHECK: act.dropout %{{.+}} p 0.000000e+00 rng(%{{.+}}, %{{.+}}, %{{.+}}) : tensor<2x4xf32>
// FOLD-LABEL: @none
// FOLD-NOT: act.dropout
func.func @none(%x: tensor<2x4xf32>, %seed: i64, %step: i64, %site: i64) -> tensor<2x4xf32> {
  %0 = act.dropout %x p 0.000000e+00 rng(%seed, %step, %site) : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
