// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize --cse | FileCheck %s

// CHECK-LABEL: @kept
// CHECK: tile.wait_stores %arg0 : !tile.shared<8x2x16x64xbf16, #shared128>
// CHECK: tile.wait_stores complete %arg1 : !tile.shared<2x8x1024xf32>
func.func @kept(%s: !tile.shared<8x2x16x64xbf16, #tile.shared<swizzle = 128>>, %t: !tile.shared<2x8x1024xf32>) {
  tile.wait_stores %s : !tile.shared<8x2x16x64xbf16, #tile.shared<swizzle = 128>>
  tile.wait_stores complete %t : !tile.shared<2x8x1024xf32>
  return
}
