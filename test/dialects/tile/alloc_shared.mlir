// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s

// CHECK-LABEL: @memory
// CHECK: tile.alloc_shared : !tile.shared<2x64x128xbf16, #[[S:.+]]>
// CHECK: tile.alloc_shared offset 32768 : !tile.shared<64x128xbf16, #[[S]]>
// CHECK: tile.alloc_shared : !tile.shared<64x80xbf16, #{{.+}}>
// CHECK: tile.alloc_shared : !tile.shared<7xi1>
func.func @memory() {
  %s = tile.alloc_shared : !tile.shared<2x64x128xbf16, #tile.shared<swizzle = 128>>
  %t = tile.alloc_shared offset 32768 : !tile.shared<64x128xbf16, #tile.shared<swizzle = 128>>
  %u = tile.alloc_shared : !tile.shared<64x80xbf16, #tile.shared<swizzle = 32>>
  %v = tile.alloc_shared : !tile.shared<7xi1>
  return
}
