// RUN: act-opt %s --split-input-file --verify-diagnostics

// another block
func.func @f(%s: !tile.shared<4x256x64xbf16, #tile.shared<swizzle = 128>>, %i: index) {
  // expected-error@+1 {{'tile.shared_view' op of '!tile.shared<4x256x64xbf16, #tile.shared<swizzle = 128>>' by 1 slot indices is no '!tile.shared<64x256xbf16, #tile.shared<swizzle = 128>>'}}
  %0 = tile.shared_view %s[%i] : !tile.shared<4x256x64xbf16, #tile.shared<swizzle = 128>> -> !tile.shared<64x256xbf16, #tile.shared<swizzle = 128>>
  return
}

// -----

// another swizzle
func.func @f(%s: !tile.shared<256x64xbf16, #tile.shared<swizzle = 128>>) {
  // expected-error@+1 {{by 0 slot indices is no '!tile.shared<64x256xbf16, #tile.shared<swizzle = 64, transposed = true>>'}}
  %0 = tile.shared_view %s : !tile.shared<256x64xbf16, #tile.shared<swizzle = 128>> -> !tile.shared<64x256xbf16, #tile.shared<swizzle = 64, transposed = true>>
  return
}

// -----

// of transposed memory
func.func @f(%s: !tile.shared<64x256xbf16, #tile.shared<swizzle = 128, transposed = true>>) {
  // expected-error@+1 {{expected memory that is not transposed}}
  %0 = tile.shared_view %s : !tile.shared<64x256xbf16, #tile.shared<swizzle = 128, transposed = true>> -> !tile.shared<256x64xbf16, #tile.shared<swizzle = 128>>
  return
}

// -----

// threads do not access it
func.func @f(%s: !tile.shared<64x256xbf16, #tile.shared<swizzle = 128, transposed = true>>) {
  // expected-error@+1 {{'tile.load_shared' op accesses '!tile.shared<64x256xbf16, #tile.shared<swizzle = 128, transposed = true>>' by threads, expected memory that is not transposed}}
  %0 = tile.load_shared %s : !tile.shared<64x256xbf16, #tile.shared<swizzle = 128, transposed = true>> -> tensor<64x256xbf16>
  return
}

// -----

// nobody allocates it
func.func @f() {
  // expected-error@+1 {{'tile.alloc_shared' op makes '!tile.shared<64x256xbf16, #tile.shared<swizzle = 128, transposed = true>>', expected memory that is not transposed}}
  %0 = tile.alloc_shared : !tile.shared<64x256xbf16, #tile.shared<swizzle = 128, transposed = true>>
  return
}
