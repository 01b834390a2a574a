// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize --cse | FileCheck %s

// CHECK-LABEL: @kept
// CHECK: tile.wait_stores %arg0 : !tile.shared<8x2x16x64xbf16, #shared128>
func.func @kept(%s: !tile.shared<8x2x16x64xbf16, #tile.shared<swizzle = 128>>) {
  tile.wait_stores %s : !tile.shared<8x2x16x64xbf16, #tile.shared<swizzle = 128>>
  return
}
