// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @blocks
// CHECK: tile.print "row {} has maximum {}", %{{.+}}, %{{.+}} : tensor<128xi32>, tensor<128xf32>
func.func @blocks(%row: tensor<128xi32>, %m: tensor<128xf32>) {
  tile.print "row {} has maximum {}", %row, %m : tensor<128xi32>, tensor<128xf32>
  return
}

// CHECK-LABEL: @a_scalar_beside_a_block
// CHECK: tile.print "{} {}", %{{.+}}, %{{.+}} : index, tensor<4xbf16>
func.func @a_scalar_beside_a_block(%i: index, %x: tensor<4xbf16>) {
  tile.print "{} {}", %i, %x : index, tensor<4xbf16>
  return
}

// CHECK-LABEL: @words
// CHECK: tile.print "here"
func.func @words() {
  tile.print "here"
  return
}
