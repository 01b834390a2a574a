// RUN: act-opt %s | act-opt | FileCheck %s
// RUN: act-opt %s --emit-bytecode | act-opt | FileCheck %s
// RUN: act-opt %s --canonicalize --cse | FileCheck %s

#shared = #tile.shared<swizzle = 128>
#transposed = #tile.shared<swizzle = 128, transposed = true>
// CHECK-LABEL: @kept
// CHECK: %[[FIRST:.+]] = tile.dot_async %arg0, %arg1, %arg3 {instruction = #tile.instruction<wgmma, m = 64, n = 256, k = 16, element = bf16>} : !tile.shared<128x64xbf16, #shared128>, !tile.shared<64x256xbf16, #shared128> -> !tile.pending<tensor<128x256xf32>>
// CHECK: tile.dot_async %arg0, %arg1, %arg4
// CHECK: tile.dot_async %arg2, %arg5, %[[FIRST]] {{.*}} : tensor<128x64xbf16>, !tile.shared<64x256xbf16, #[[T:.+]]> -> !tile.pending<tensor<128x256xf32>>
func.func @kept(%a: !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, %b: !tile.shared<64x256xbf16, #tile.shared<swizzle = 128>>, %r: tensor<128x64xbf16>, %acc: !tile.pending<tensor<128x256xf32>>, %other: !tile.pending<tensor<128x256xf32>>, %t: !tile.shared<64x256xbf16, #transposed>) -> !tile.pending<tensor<128x256xf32>> {
  %0 = tile.dot_async %a, %b, %acc {instruction = #tile.instruction<wgmma, m = 64, n = 256, k = 16, element = bf16>} : !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<64x256xbf16, #tile.shared<swizzle = 128>> -> !tile.pending<tensor<128x256xf32>>
  %1 = tile.dot_async %a, %b, %other {instruction = #tile.instruction<wgmma, m = 64, n = 256, k = 16, element = bf16>} : !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<64x256xbf16, #tile.shared<swizzle = 128>> -> !tile.pending<tensor<128x256xf32>>
  %2 = tile.dot_async %r, %t, %0 {instruction = #tile.instruction<wgmma, m = 64, n = 256, k = 16, element = bf16>} : tensor<128x64xbf16>, !tile.shared<64x256xbf16, #transposed> -> !tile.pending<tensor<128x256xf32>>
  return %2 : !tile.pending<tensor<128x256xf32>>
}

// A sum may be read on either side of a branch.
// CHECK-LABEL: @branches
func.func @branches(%a: !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, %b: !tile.shared<64x64xbf16, #tile.shared<swizzle = 128>>, %acc: !tile.pending<tensor<128x64xf32>>, %more: i1) -> tensor<128x64xf32> {
  %0 = tile.dot_async %a, %b, %acc {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<64x64xbf16, #tile.shared<swizzle = 128>> -> !tile.pending<tensor<128x64xf32>>
  tile.await_dot %0 : !tile.pending<tensor<128x64xf32>>
  %1 = scf.if %more -> !tile.pending<tensor<128x64xf32>> {
    %2 = tile.dot_async %a, %b, %0 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<64x64xbf16, #tile.shared<swizzle = 128>> -> !tile.pending<tensor<128x64xf32>>
    scf.yield %2 : !tile.pending<tensor<128x64xf32>>
  } else {
    scf.yield %0 : !tile.pending<tensor<128x64xf32>>
  }
  %3 = tile.dot_result %1 : !tile.pending<tensor<128x64xf32>>
  return %3 : tensor<128x64xf32>
}
