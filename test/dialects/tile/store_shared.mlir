// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @to_a_slot
// CHECK: tile.store_shared %{{.+}}, %{{.+}}[%{{.+}}] : tensor<64x128xbf16>, !tile.shared<2x64x128xbf16, #{{.+}}>
// CHECK: tile.store_shared %{{.+}}, %{{.+}}[%{{.+}}] order [0, 2, 1] : tensor<8x16x64xf32>, !tile.shared<2x8x1024xf32>
func.func @to_a_slot(%a: tensor<64x128xbf16>, %s: !tile.shared<2x64x128xbf16, #tile.shared<swizzle = 128>>, %slot: index,
                     %b: tensor<8x16x64xf32>, %t: !tile.shared<2x8x1024xf32>) {
  tile.store_shared %a, %s[%slot] : tensor<64x128xbf16>, !tile.shared<2x64x128xbf16, #tile.shared<swizzle = 128>>
  tile.store_shared %b, %t[%slot] order [0, 2, 1] : tensor<8x16x64xf32>, !tile.shared<2x8x1024xf32>
  return
}

// CHECK-LABEL: @two_slot_indices
// CHECK: tile.store_shared %{{.+}}, %{{.+}}[%{{.+}}, %{{.+}}] : tensor<8xf32>, !tile.shared<2x3x8xf32>
func.func @two_slot_indices(%a: tensor<8xf32>, %s: !tile.shared<2x3x8xf32>, %i: index) {
  tile.store_shared %a, %s[%i, %i] : tensor<8xf32>, !tile.shared<2x3x8xf32>
  return
}
