// RUN: act-opt %s --split-input-file --verify-diagnostics

// elements that no block has
// expected-error@+1 {{a view's elements cannot be of type 'i5'}}
func.func private @f(!tile.view<8xi5>)

// -----

// a view of views
// expected-error@+1 {{a view's elements cannot be of type '!tile.view<8xf32>'}}
func.func private @f(!tile.view<8x!tile.view<8xf32>>)

// -----

// too few strides
// expected-error@+1 {{a view of rank 2 has 1 strides}}
func.func private @f(!tile.view<8x4xf32, strides = [1]>)

// -----

// more than can be counted
// expected-error@+1 {{a view has more than 2^59 elements}}
func.func private @f(!tile.view<4611686018427387904x8xf32>)

// -----

// a pointer to pointers
// expected-error@+1 {{a pointer's elements cannot be of type 'index'}}
func.func private @f(!tile.ptr<index>)

// -----

// elements that no block has
// expected-error@+1 {{shared memory cannot have elements of type 'index'}}
func.func private @f(!tile.shared<8xindex>)

// -----

// no dimension
// expected-error@+1 {{shared memory has rank 0, expected 1 or more}}
func.func private @f(!tile.shared<f32>)

// -----

// an empty one
// expected-error@+1 {{shared memory has a dimension of size 0, expected 1 or more}}
func.func private @f(!tile.shared<8x0xf32>)

// -----

// more than any machine has
// expected-error@+1 {{shared memory has more than 2^31 bytes}}
func.func private @f(!tile.shared<65536x65536xf32>)

// -----

// a swizzle of a row alone
// expected-error@+1 {{swizzled shared memory has rank 1, expected 2 or more}}
func.func private @f(!tile.shared<64xf32, #tile.shared<swizzle = 128>>)

// -----

// pairs in a panel of one
// expected-error@+1 {{swizzle is 16, expected 32, 64 or 128 bytes where pairs of chunks are kept apart}}
func.func private @f(!tile.shared<64x4xf32, #tile.shared<swizzle = 16, pairs = true>>)

// -----

// a swizzle of chunks that are not whole
// expected-error@+1 {{swizzled shared memory has rows of 6 bytes, expected a multiple of 16}}
func.func private @f(!tile.shared<64x3xbf16, #tile.shared<swizzle = 16>>)

// -----

// a swizzle that there is not
// expected-error@+1 {{swizzle is 48, expected 0, 16, 32, 64 or 128 bytes}}
func.func private @f() attributes {s = #tile.shared<swizzle = 48>}
