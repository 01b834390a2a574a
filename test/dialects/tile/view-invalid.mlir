// RUN: act-opt %s --split-input-file --verify-diagnostics

// another element type
func.func @f(%p: !tile.ptr<f32>) {
  // expected-error@+1 {{'tile.view' op result has elements of type 'bf16', expected 'f32' as in pointer}}
  %0 = tile.view %p sizes [8] : !tile.ptr<f32> -> !tile.view<8xbf16>
  return
}

// -----

// too few sizes
func.func @f(%p: !tile.ptr<f32>) {
  // expected-error@+1 {{'tile.view' op has 1 sizes, expected 2 for the result '!tile.view<8x4xf32>'}}
  %0 = tile.view %p sizes [8] : !tile.ptr<f32> -> !tile.view<8x4xf32>
  return
}

// -----

// another size
func.func @f(%p: !tile.ptr<f32>) {
  // expected-error@+1 {{'tile.view' op size 1 is 5, expected 4 as in the result}}
  %0 = tile.view %p sizes [8, 5] : !tile.ptr<f32> -> !tile.view<8x4xf32>
  return
}

// -----

// a size that the type claims to know
func.func @f(%p: !tile.ptr<f32>, %n: index) {
  // expected-error@+1 {{'tile.view' op size 0 is known at run time, expected 8 as in the result}}
  %0 = tile.view %p sizes [%n, 4] : !tile.ptr<f32> -> !tile.view<8x4xf32>
  return
}

// -----

// a negative size
func.func @f(%p: !tile.ptr<f32>) {
  // expected-error@+1 {{'tile.view' op size 0 is -1, expected 0 or more}}
  %0 = tile.view %p sizes [-1] : !tile.ptr<f32> -> !tile.view<?xf32>
  return
}

// -----

// no strides
func.func @f(%p: !tile.ptr<f32>, %n: index) {
  // expected-error@+1 {{'tile.view' op has no strides, expected [256, 1] as in the result}}
  %0 = tile.view %p sizes [%n, 64] : !tile.ptr<f32> -> !tile.view<?x64xf32, strides = [256, 1]>
  return
}

// -----

// too many strides
func.func @f(%p: !tile.ptr<f32>) {
  // expected-error@+1 {{'tile.view' op has 2 strides, expected 1 for the result '!tile.view<8xf32>'}}
  %0 = tile.view %p sizes [8] strides [8, 1] : !tile.ptr<f32> -> !tile.view<8xf32>
  return
}

// -----

// another stride
func.func @f(%p: !tile.ptr<f32>) {
  // expected-error@+1 {{'tile.view' op stride 0 is 8, expected 4 as in the result}}
  %0 = tile.view %p sizes [8, 4] strides [8, 1] : !tile.ptr<f32> -> !tile.view<8x4xf32>
  return
}

// -----

// strides of a result that is row-major by sizes at run time
func.func @f(%p: !tile.ptr<f32>, %n: index) {
  // expected-error@+1 {{'tile.view' op has strides, expected none for the result '!tile.view<?x?xf32>', whose strides follow from sizes at run time}}
  %0 = tile.view %p sizes [%n, %n] strides [%n, 1] : !tile.ptr<f32> -> !tile.view<?x?xf32>
  return
}

// -----

// a value without its place
func.func @f(%p: !tile.ptr<f32>, %n: index) {
  // expected-error@+1 {{'tile.view' op has 1 sizes at run time, expected 0}}
  %0 = "tile.view"(%p, %n) <{operandSegmentSizes = array<i32: 1, 1, 0>, static_sizes = array<i64: 8>, static_strides = array<i64>}> : (!tile.ptr<f32>, index) -> !tile.view<8xf32>
  return
}
