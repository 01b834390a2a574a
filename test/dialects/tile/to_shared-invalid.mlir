// RUN: act-opt %s --split-input-file --verify-diagnostics

// another shape
func.func @f(%a: tensor<64x128xbf16>) {
  // expected-error@+1 {{'tile.to_shared' op of 'tensor<64x128xbf16>' is no '!tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>'}}
  %0 = tile.to_shared %a : tensor<64x128xbf16> -> !tile.shared<128x64xbf16, #tile.shared<swizzle = 128>>
  return
}
