// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

#s_4 = #act.dims<s, 4>
#s = #act.dims<s>

// CHECK-LABEL: @plain
// CHECK: act.rms_norm %{{.+}}, %{{.+}} eps 1.000000e-05 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
func.func @plain(%x: tensor<2x4xf32>, %g: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = act.rms_norm %x, %g eps 1.000000e-05 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @statistics
// CHECK: act.rms_norm %{{.+}}, %{{.+}} eps 1.000000e-06 : (tensor<?x4xbf16, #s_4>, tensor<4xbf16>) -> (tensor<?x4xbf16, #s_4>, tensor<?xf32, #s>)
func.func @statistics(%x: tensor<?x4xbf16, #s_4>, %g: tensor<4xbf16>) -> (tensor<?x4xbf16, #s_4>, tensor<?xf32, #s>) {
  %0:2 = act.rms_norm %x, %g eps 1.000000e-06 : (tensor<?x4xbf16, #s_4>, tensor<4xbf16>) -> (tensor<?x4xbf16, #s_4>, tensor<?xf32, #s>)
  return %0#0, %0#1 : tensor<?x4xbf16, #s_4>, tensor<?xf32, #s>
}

// CHECK-LABEL: @doubles
// CHECK: act.rms_norm %{{.+}}, %{{.+}} eps 0.000000e+00 : (tensor<4xf64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<f64>)
func.func @doubles(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<f64>) {
  %0:2 = act.rms_norm %x, %x eps 0.000000e+00 : (tensor<4xf64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<f64>)
  return %0#0, %0#1 : tensor<4xf64>, tensor<f64>
}
