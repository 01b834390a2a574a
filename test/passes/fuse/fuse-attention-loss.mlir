// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --fuse-attention="chunk=5" | FileCheck %s
// RUN: not act-opt %s --fuse-attention="chunk=0" 2>&1 | FileCheck %s --check-prefix=CHUNK

// CHUNK: error: chunk is 0, expected 1 or more

// The head's product and the loss become one op.
// CHECK-LABEL: func.func @linear
// CHECK: act.linear_cross_entropy %arg0, %arg1, %arg2 ignore -100 reduction mean chunk 5 : (tensor<2x6x8xbf16>, tensor<16x8xbf16>, tensor<2x6xi32>) -> tensor<f32>
// CHECK-NOT: act.linear
// CHECK: return
func.func @linear(%x: tensor<2x6x8xbf16>, %w: tensor<16x8xbf16>, %y: tensor<2x6xi32>) -> tensor<f32> {
  %l = act.linear %x, %w : (tensor<2x6x8xbf16>, tensor<16x8xbf16>) -> tensor<2x6x16xbf16>
  %z = act.cross_entropy %l, %y ignore -100 reduction mean : (tensor<2x6x16xbf16>, tensor<2x6xi32>) -> tensor<f32>
  return %z : tensor<f32>
}

// Logits in f32, tokens in one dimension.
// CHECK-LABEL: func.func @flattened
// CHECK: %[[X:.*]] = act.reshape %arg0 : tensor<2x6x8xbf16> -> tensor<12x8xbf16>
// CHECK-NEXT: act.linear_cross_entropy %[[X]], %arg1, %arg2 ignore 0 reduction sum chunk 5
// CHECK-NEXT: return
func.func @flattened(%x: tensor<2x6x8xbf16>, %w: tensor<16x8xbf16>, %y: tensor<12xi64>) -> tensor<f32> {
  %l = act.linear %x, %w : (tensor<2x6x8xbf16>, tensor<16x8xbf16>) -> tensor<2x6x16xbf16>
  %f = act.cast %l : tensor<2x6x16xbf16> to tensor<2x6x16xf32>
  %r = act.reshape %f : tensor<2x6x16xf32> -> tensor<12x16xf32>
  %z = act.cross_entropy %r, %y ignore 0 reduction sum : (tensor<12x16xf32>, tensor<12xi64>) -> tensor<f32>
  return %z : tensor<f32>
}

// The product as a matmul, with a matrix that was transposed for it.
// CHECK-LABEL: func.func @matmul
// CHECK: act.linear_cross_entropy %arg0, %arg1, %arg2
// CHECK-NEXT: return
func.func @matmul(%x: tensor<7x8xf32>, %w: tensor<16x8xf32>, %y: tensor<7xi32>) -> tensor<f32> {
  %t = act.transpose %w [1, 0] : tensor<16x8xf32> -> tensor<8x16xf32>
  %l = act.matmul %x, %t : (tensor<7x8xf32>, tensor<8x16xf32>) -> tensor<7x16xf32>
  %z = act.cross_entropy %l, %y ignore -100 reduction mean : (tensor<7x16xf32>, tensor<7xi32>) -> tensor<f32>
  return %z : tensor<f32>
}

// A matmul whose matrix is transposed in it.
// CHECK-LABEL: func.func @transposed_rhs
// CHECK: act.linear_cross_entropy {{.*}} chunk 5 :
func.func @transposed_rhs(%x: tensor<7x8xf32>, %w: tensor<16x8xf32>, %y: tensor<7xi32>) -> tensor<f32> {
  %l = act.matmul %x, %w transpose_rhs : (tensor<7x8xf32>, tensor<16x8xf32>) -> tensor<7x16xf32>
  %z = act.cross_entropy %l, %y ignore -100 reduction mean : (tensor<7x16xf32>, tensor<7xi32>) -> tensor<f32>
  return %z : tensor<f32>
}

// The number of tokens is not known yet.
// CHECK-LABEL: func.func @dynamic
// CHECK: act.linear_cross_entropy {{.*}} chunk 5 :
func.func @dynamic(%x: tensor<?x8xf32, #act.dims<t, 8>>, %w: tensor<16x8xf32>, %y: tensor<?xi32, #act.dims<t>>) -> tensor<f32> {
  %l = act.linear %x, %w : (tensor<?x8xf32, #act.dims<t, 8>>, tensor<16x8xf32>) -> tensor<?x16xf32, #act.dims<t, 16>>
  %z = act.cross_entropy %l, %y ignore -100 reduction mean : (tensor<?x16xf32, #act.dims<t, 16>>, tensor<?xi32, #act.dims<t>>) -> tensor<f32>
  return %z : tensor<f32>
}

// Logits that are returned, too.
// CHECK-LABEL: func.func @logits_used
// CHECK-NOT: act.linear_cross_entropy
// CHECK: act.cross_entropy
func.func @logits_used(%x: tensor<6x8xf32>, %w: tensor<16x8xf32>, %y: tensor<6xi32>) -> (tensor<f32>, tensor<6x16xf32>) {
  %l = act.linear %x, %w : (tensor<6x8xf32>, tensor<16x8xf32>) -> tensor<6x16xf32>
  %z = act.cross_entropy %l, %y ignore -100 reduction mean : (tensor<6x16xf32>, tensor<6xi32>) -> tensor<f32>
  return %z, %l : tensor<f32>, tensor<6x16xf32>
}

// One loss per token.
// CHECK-LABEL: func.func @per_token
// CHECK-NOT: act.linear_cross_entropy
// CHECK: act.cross_entropy
func.func @per_token(%x: tensor<6x8xf32>, %w: tensor<16x8xf32>, %y: tensor<6xi32>) -> tensor<6xf32> {
  %l = act.linear %x, %w : (tensor<6x8xf32>, tensor<16x8xf32>) -> tensor<6x16xf32>
  %z = act.cross_entropy %l, %y ignore -100 reduction none : (tensor<6x16xf32>, tensor<6xi32>) -> tensor<6xf32>
  return %z : tensor<6xf32>
}

// A head with a bias.
// CHECK-LABEL: func.func @bias
// CHECK: act.linear_cross_entropy %arg0, %arg1 bias(%arg2), %arg3
// CHECK-NEXT: return
func.func @bias(%x: tensor<6x8xf32>, %w: tensor<16x8xf32>, %b: tensor<16xf32>, %y: tensor<6xi32>) -> tensor<f32> {
  %l = act.linear %x, %w bias(%b) : (tensor<6x8xf32>, tensor<16x8xf32>, tensor<16xf32>) -> tensor<6x16xf32>
  %z = act.cross_entropy %l, %y ignore -100 reduction mean : (tensor<6x16xf32>, tensor<6xi32>) -> tensor<f32>
  return %z : tensor<f32>
}

// A bias that is added to a product, in either order.
// CHECK-LABEL: func.func @added_bias
// CHECK: act.linear_cross_entropy %arg0, %arg1 bias(%arg2), %arg3
// CHECK-NEXT: return
func.func @added_bias(%x: tensor<6x8xf32>, %w: tensor<16x8xf32>, %b: tensor<16xf32>, %y: tensor<6xi32>) -> tensor<f32> {
  %m = act.matmul %x, %w transpose_rhs : (tensor<6x8xf32>, tensor<16x8xf32>) -> tensor<6x16xf32>
  %l = act.add %b, %m : (tensor<16xf32>, tensor<6x16xf32>) -> tensor<6x16xf32>
  %z = act.cross_entropy %l, %y ignore -100 reduction mean : (tensor<6x16xf32>, tensor<6xi32>) -> tensor<f32>
  return %z : tensor<f32>
}

// What is added has a row for every token: no bias.
// CHECK-LABEL: func.func @added_rows
// CHECK-NOT: act.linear_cross_entropy
// CHECK: act.cross_entropy
func.func @added_rows(%x: tensor<6x8xf32>, %w: tensor<16x8xf32>, %b: tensor<6x16xf32>, %y: tensor<6xi32>) -> tensor<f32> {
  %m = act.linear %x, %w : (tensor<6x8xf32>, tensor<16x8xf32>) -> tensor<6x16xf32>
  %l = act.add %m, %b : (tensor<6x16xf32>, tensor<6x16xf32>) -> tensor<6x16xf32>
  %z = act.cross_entropy %l, %y ignore -100 reduction mean : (tensor<6x16xf32>, tensor<6xi32>) -> tensor<f32>
  return %z : tensor<f32>
}

// A reshape that mixes tokens and vocabulary.
// CHECK-LABEL: func.func @mixed
// CHECK-NOT: act.linear_cross_entropy
// CHECK: act.cross_entropy
func.func @mixed(%x: tensor<6x8xf32>, %w: tensor<16x8xf32>, %y: tensor<12xi32>) -> tensor<f32> {
  %l = act.linear %x, %w : (tensor<6x8xf32>, tensor<16x8xf32>) -> tensor<6x16xf32>
  %r = act.reshape %l : tensor<6x16xf32> -> tensor<12x8xf32>
  %z = act.cross_entropy %r, %y ignore -100 reduction mean : (tensor<12x8xf32>, tensor<12xi32>) -> tensor<f32>
  return %z : tensor<f32>
}

// Capped logits.
// CHECK-LABEL: func.func @capped
// CHECK: act.linear_cross_entropy %arg0, %arg1, %arg2 ignore -100 reduction mean chunk 5 softcap 3.000000e+01
// CHECK-NEXT: return
func.func @capped(%x: tensor<6x8xf32>, %w: tensor<16x8xf32>, %y: tensor<6xi32>) -> tensor<f32> {
  %l = act.linear %x, %w : (tensor<6x8xf32>, tensor<16x8xf32>) -> tensor<6x16xf32>
  %a = act.scale %l by 3.333333333333333e-02 : tensor<6x16xf32>
  %t = act.tanh %a : tensor<6x16xf32>
  %c = act.scale %t by 30.0 : tensor<6x16xf32>
  %z = act.cross_entropy %c, %y ignore -100 reduction mean : (tensor<6x16xf32>, tensor<6xi32>) -> tensor<f32>
  return %z : tensor<f32>
}

// The two factors are no cap.
// CHECK-LABEL: func.func @scaled
// CHECK-NOT: act.linear_cross_entropy
// CHECK: act.cross_entropy
func.func @scaled(%x: tensor<6x8xf32>, %w: tensor<16x8xf32>, %y: tensor<6xi32>) -> tensor<f32> {
  %l = act.linear %x, %w : (tensor<6x8xf32>, tensor<16x8xf32>) -> tensor<6x16xf32>
  %a = act.scale %l by 5.0e-02 : tensor<6x16xf32>
  %t = act.tanh %a : tensor<6x16xf32>
  %c = act.scale %t by 30.0 : tensor<6x16xf32>
  %z = act.cross_entropy %c, %y ignore -100 reduction mean : (tensor<6x16xf32>, tensor<6xi32>) -> tensor<f32>
  return %z : tensor<f32>
}
