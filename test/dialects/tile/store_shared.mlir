// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @to_a_slot
// CHECK: tile.store_shared %{{.+}}, %{{.+}}[%{{.+}}] : tensor<64x128xbf16>, !tile.shared<2x64x128xbf16, #{{.+}}>
func.func @to_a_slot(%a: tensor<64x128xbf16>, %s: !tile.shared<2x64x128xbf16, #tile.shared<swizzle = 128>>, %slot: index) {
  tile.store_shared %a, %s[%slot] : tensor<64x128xbf16>, !tile.shared<2x64x128xbf16, #tile.shared<swizzle = 128>>
  return
}

// CHECK-LABEL: @two_slot_indices
// CHECK: tile.store_shared %{{.+}}, %{{.+}}[%{{.+}}, %{{.+}}] : tensor<8xf32>, !tile.shared<2x3x8xf32>
func.func @two_slot_indices(%a: tensor<8xf32>, %s: !tile.shared<2x3x8xf32>, %i: index) {
  tile.store_shared %a, %s[%i, %i] : tensor<8xf32>, !tile.shared<2x3x8xf32>
  return
}
