// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize --cse | FileCheck %s

// CHECK-LABEL: @staged
// CHECK: tile.to_shared %arg0 : tensor<128x64xbf16> -> !tile.shared<128x64xbf16, #shared128>
func.func @staged(%a: tensor<128x64xbf16>) -> !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>> {
  %0 = tile.to_shared %a : tensor<128x64xbf16> -> !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>
  return %0 : !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>
}
