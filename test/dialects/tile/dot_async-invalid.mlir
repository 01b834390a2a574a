// RUN: act-opt %s --split-input-file --verify-diagnostics

// shapes that do not fit
func.func @f(%a: !tile.shared<128x32xbf16, #tile.shared<swizzle = 64>>, %b: !tile.shared<64x256xbf16, #tile.shared<swizzle = 128>>, %acc: !tile.pending<tensor<128x256xf32>>) {
  // expected-error@+1 {{'tile.dot_async' op multiplies [128, 32] by [64, 256] into [128, 256], expected m x k, k x n and m x n}}
  %0 = tile.dot_async %a, %b, %acc {instruction = #tile.instruction<wgmma, m = 64, n = 256, k = 16, element = bf16>} : !tile.shared<128x32xbf16, #tile.shared<swizzle = 64>>, !tile.shared<64x256xbf16, #tile.shared<swizzle = 128>> -> !tile.pending<tensor<128x256xf32>>
  return
}

// -----

// an instruction for one warp
func.func @f(%a: !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, %b: !tile.shared<64x256xbf16, #tile.shared<swizzle = 128>>, %acc: !tile.pending<tensor<128x256xf32>>) {
  // expected-error@+1 {{does not become #tile.instruction<mma_sync, m = 16, n = 8, k = 16, element = bf16>}}
  %0 = tile.dot_async %a, %b, %acc {instruction = #tile.instruction<mma_sync, m = 16, n = 8, k = 16, element = bf16>} : !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<64x256xbf16, #tile.shared<swizzle = 128>> -> !tile.pending<tensor<128x256xf32>>
  return
}

// -----

// an instruction that is wider than the block
func.func @f(%a: !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, %b: !tile.shared<64x128xbf16, #tile.shared<swizzle = 128>>, %acc: !tile.pending<tensor<128x128xf32>>) {
  // expected-error@+1 {{does not become #tile.instruction<wgmma, m = 64, n = 256, k = 16, element = bf16>}}
  %0 = tile.dot_async %a, %b, %acc {instruction = #tile.instruction<wgmma, m = 64, n = 256, k = 16, element = bf16>} : !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<64x128xbf16, #tile.shared<swizzle = 128>> -> !tile.pending<tensor<128x128xf32>>
  return
}

// -----

// a sum in f16
func.func @f(%a: !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, %b: !tile.shared<64x256xbf16, #tile.shared<swizzle = 128>>, %acc: !tile.pending<tensor<128x256xf16>>) {
  // expected-error@+1 {{does not become #tile.instruction<wgmma}}
  %0 = tile.dot_async %a, %b, %acc {instruction = #tile.instruction<wgmma, m = 64, n = 256, k = 16, element = bf16>} : !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<64x256xbf16, #tile.shared<swizzle = 128>> -> !tile.pending<tensor<128x256xf16>>
  return
}

// -----

// 8-bit operands that do not lie along k
func.func @f(%a: !tile.shared<64x32xf8E4M3FN, #tile.shared<swizzle = 32>>, %b: !tile.shared<32x64xf8E4M3FN, #tile.shared<swizzle = 64>>, %acc: !tile.pending<tensor<64x64xf32>>) {
  // expected-error@+1 {{'tile.dot_async' op reads operands of 'f8E4M3FN', which must lie in memory along k}}
  %0 = tile.dot_async %a, %b, %acc {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 32, element = f8E4M3FN>} : !tile.shared<64x32xf8E4M3FN, #tile.shared<swizzle = 32>>, !tile.shared<32x64xf8E4M3FN, #tile.shared<swizzle = 64>> -> !tile.pending<tensor<64x64xf32>>
  return
}

// -----

// a sum that is read while it is computed
func.func @f(%a: !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, %b: !tile.shared<64x256xbf16, #tile.shared<swizzle = 128>>, %acc: !tile.pending<tensor<128x256xf32>>) {
  %0 = tile.dot_async %a, %b, %acc {instruction = #tile.instruction<wgmma, m = 64, n = 256, k = 16, element = bf16>} : !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<64x256xbf16, #tile.shared<swizzle = 128>> -> !tile.pending<tensor<128x256xf32>>
  // expected-error@+1 {{'arith.negf' op operand #0 must be floating-point-like}}
  %1 = arith.negf %0 : !tile.pending<tensor<128x256xf32>>
  return
}

// -----

// no such instruction
func.func @f(%a: !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, %b: !tile.shared<64x256xbf16, #tile.shared<swizzle = 128>>, %acc: !tile.pending<tensor<128x256xf32>>) {
  // expected-error@+1 {{there is no wgmma of 64x260x16 on 'bf16'}}
  %0 = tile.dot_async %a, %b, %acc {instruction = #tile.instruction<wgmma, m = 64, n = 260, k = 16, element = bf16>} : !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<64x256xbf16, #tile.shared<swizzle = 128>> -> !tile.pending<tensor<128x256xf32>>
  return
}

// -----

// a sum that two products add to
func.func @f(%a: !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, %b: !tile.shared<64x64xbf16, #tile.shared<swizzle = 128>>, %acc: !tile.pending<tensor<128x64xf32>>) {
  // expected-error@+1 {{'tile.dot_async' op has a sum with two readers, expected one: a product changes it in place}}
  %0 = tile.dot_async %a, %b, %acc {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<64x64xbf16, #tile.shared<swizzle = 128>> -> !tile.pending<tensor<128x64xf32>>
  // expected-note@+1 {{a reader}}
  %1 = tile.dot_async %a, %b, %0 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<64x64xbf16, #tile.shared<swizzle = 128>> -> !tile.pending<tensor<128x64xf32>>
  // expected-note@+1 {{a reader}}
  %2 = tile.dot_async %a, %b, %0 {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<64x64xbf16, #tile.shared<swizzle = 128>> -> !tile.pending<tensor<128x64xf32>>
  return
}

// -----

// a sum that is read while the next product adds to it
func.func @f(%a: !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, %b: !tile.shared<64x64xbf16, #tile.shared<swizzle = 128>>, %acc: !tile.pending<tensor<128x64xf32>>) -> tensor<128x64xf32> {
  // expected-error@+2 {{'tile.dot_async' op has a sum with two readers, expected one: a product changes it in place}}
  // expected-note@+1 {{a reader}}
  %0 = tile.dot_async %a, %b, %acc {instruction = #tile.instruction<wgmma, m = 64, n = 64, k = 16, element = bf16>} : !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>, !tile.shared<64x64xbf16, #tile.shared<swizzle = 128>> -> !tile.pending<tensor<128x64xf32>>
  // expected-note@+1 {{a reader}}
  %1 = tile.dot_result %acc : !tile.pending<tensor<128x64xf32>>
  return %1 : tensor<128x64xf32>
}
