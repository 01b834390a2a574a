// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @rows
// CHECK: tile.atomic_add %{{.+}}, %{{.+}}[%{{.+}} : tensor<128xi32>, %{{.+}} : 64] : !tile.view<50257x64xf32>
func.func @rows(%a: tensor<128x64xf32>, %w: !tile.view<50257x64xf32>, %ids: tensor<128xi32>, %c0: index) {
  tile.atomic_add %a, %w[%ids : tensor<128xi32>, %c0 : 64] : !tile.view<50257x64xf32>
  return
}

// CHECK-LABEL: @ticket
// CHECK: tile.atomic_add %{{.+}}, %{{.+}}[%{{.+}}] : !tile.view<4xi32>
func.func @ticket(%one: i32, %w: !tile.view<4xi32>, %i: index) {
  tile.atomic_add %one, %w[%i] : !tile.view<4xi32>
  return
}
