// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @in_a_layer
// CHECK: act.site 3 layer(%{{.+}}) : i64
func.func @in_a_layer(%l: i64) -> i64 {
  %site = act.site 3 layer(%l) : i64
  return %site : i64
}

// CHECK-LABEL: @outside
// CHECK: act.site 65535 : i64
func.func @outside() -> i64 {
  %site = act.site 65535 : i64
  return %site : i64
}
