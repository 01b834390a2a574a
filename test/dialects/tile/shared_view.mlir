// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize --cse | FileCheck %s

// CHECK-LABEL: @slot
// CHECK: tile.shared_view %arg0[%arg1] : !tile.shared<4x256x64xbf16, #shared128> -> !tile.shared<256x64xbf16, #shared128>
// CHECK: tile.shared_view %arg0[%arg1] : !tile.shared<4x256x64xbf16, #shared128> -> !tile.shared<64x256xbf16, #[[T:.+]]>
func.func @slot(%s: !tile.shared<4x256x64xbf16, #tile.shared<swizzle = 128>>, %i: index) -> (!tile.shared<256x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<64x256xbf16, #tile.shared<swizzle = 128, transposed = true>>) {
  %0 = tile.shared_view %s[%i] : !tile.shared<4x256x64xbf16, #tile.shared<swizzle = 128>> -> !tile.shared<256x64xbf16, #tile.shared<swizzle = 128>>
  %1 = tile.shared_view %s[%i] : !tile.shared<4x256x64xbf16, #tile.shared<swizzle = 128>> -> !tile.shared<64x256xbf16, #tile.shared<swizzle = 128, transposed = true>>
  return %0, %1 : !tile.shared<256x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<64x256xbf16, #tile.shared<swizzle = 128, transposed = true>>
}
