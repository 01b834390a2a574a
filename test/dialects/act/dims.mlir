// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK: #[[MIXED:.+]] = #act.dims<b, 6*s, a*d>
// CHECK: @canonical(%{{.+}}: tensor<1x?x3072xbf16, #[[MIXED]]>)
func.func @canonical(%x: tensor<1x?x3072xbf16, #act.dims<b, s*2*3, d*a>>) {
  return
}

// CHECK: @without_names(%{{.+}}: tensor<4xf32, #{{.+}}>)
func.func @without_names(%x: tensor<4xf32, #act.dims<4>>) {
  return
}

// CHECK: @scalar(%{{.+}}: tensor<f32, #{{.+}}>)
func.func @scalar(%x: tensor<f32, #act.dims<>>) {
  return
}
