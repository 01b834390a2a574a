// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @products
// CHECK: tile.dot %{{.+}}, %{{.+}}, %{{.+}} : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
// CHECK: tile.dot %{{.+}}, %{{.+}}, %{{.+}} precision = tf32 : tensor<128x64xf32>, tensor<64x128xf32> -> tensor<128x128xf32>
// CHECK: tile.dot %{{.+}}, %{{.+}}, %{{.+}} within(%{{.+}}, %{{.+}} : tensor<128xi32>, tensor<128xi32>) : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
func.func @products(%a: tensor<128x64xbf16>, %b: tensor<64x128xbf16>, %x: tensor<128x64xf32>, %y: tensor<64x128xf32>, %acc: tensor<128x128xf32>, %low: tensor<128xi32>, %high: tensor<128xi32>) -> (tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>) {
  %0 = tile.dot %a, %b, %acc : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
  %1 = tile.dot %x, %y, %acc precision = tf32 : tensor<128x64xf32>, tensor<64x128xf32> -> tensor<128x128xf32>
  %2 = tile.dot %a, %b, %acc within(%low, %high : tensor<128xi32>, tensor<128xi32>) : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
  return %0, %1, %2 : tensor<128x128xf32>, tensor<128x128xf32>, tensor<128x128xf32>
}

// CHECK-LABEL: @types
// CHECK: precision = bf16x3 : tensor<16x16xf32>
// CHECK: %{{.+}}, %{{.+}}, %{{.+}} : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
// CHECK: tensor<16x32xi8>, tensor<32x8xi8> -> tensor<16x8xi32>
// CHECK: tensor<16x32xf8E4M3FN>, tensor<32x8xf8E5M2> -> tensor<16x8xf32>
// CHECK: tensor<8x4xf64>, tensor<4x8xf64> -> tensor<8x8xf64>
func.func @types(%f: tensor<16x16xf32>, %i: tensor<16x32xi8>, %j: tensor<32x8xi8>, %k: tensor<16x8xi32>, %p: tensor<16x32xf8E4M3FN>, %q: tensor<32x8xf8E5M2>, %r: tensor<16x8xf32>, %d: tensor<8x4xf64>, %e: tensor<4x8xf64>, %g: tensor<8x8xf64>) {
  %0 = tile.dot %f, %f, %f precision = bf16x3 : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %1 = tile.dot %f, %f, %f precision = ieee : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %2 = tile.dot %i, %j, %k : tensor<16x32xi8>, tensor<32x8xi8> -> tensor<16x8xi32>
  %3 = tile.dot %p, %q, %r : tensor<16x32xf8E4M3FN>, tensor<32x8xf8E5M2> -> tensor<16x8xf32>
  %4 = tile.dot %d, %e, %g : tensor<8x4xf64>, tensor<4x8xf64> -> tensor<8x8xf64>
  return
}
