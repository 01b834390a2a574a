// RUN: act-opt %s --split-input-file --verify-diagnostics

// rank
func.func @f(%q: tensor<8x4x8xf32>, %k: tensor<8x2x8xf32>, %v: tensor<8x2x8xf32>) {
  // expected-error@+1 {{'act.attention' op q has rank 3, expected 4 without cu_seqlens}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 causal : (tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>) -> tensor<8x4x8xf32>
  return
}

// -----

// rank of k
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<8x2x8xf32>, %v: tensor<8x2x8xf32>) {
  // expected-error@+1 {{'act.attention' op k has rank 3, expected 4 without cu_seqlens}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>) -> tensor<1x8x4x8xf32>
  return
}

// -----

// rank, packed
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %cu: tensor<5xi32>) {
  // expected-error@+1 {{'act.attention' op q has rank 4, expected 3 with cu_seqlens}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 cu_seqlens(%cu) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<5xi32>) -> tensor<1x8x4x8xf32>
  return
}

// -----

// batch
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<2x8x2x8xf32>, %v: tensor<2x8x2x8xf32>) {
  // expected-error@+1 {{'act.attention' op k has shape [2, 8, 2, 8], expected [1, 8, 2, 8] for q of shape [1, 8, 4, 8]}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32>) -> tensor<1x8x4x8xf32>
  return
}

// -----

// the heads' size
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x4xf32>, %v: tensor<1x8x2x4xf32>) {
  // expected-error@+1 {{'act.attention' op k has shape [1, 8, 2, 4], expected [1, 8, 2, 8] for q of shape [1, 8, 4, 8]}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>) -> tensor<1x8x4x8xf32>
  return
}

// -----

// packed tokens
func.func @f(%q: tensor<8x4x8xf32>, %k: tensor<9x2x8xf32>, %v: tensor<9x2x8xf32>, %cu: tensor<5xi32>) {
  // expected-error@+1 {{'act.attention' op k has shape [9, 2, 8], expected [8, 2, 8] for q of shape [8, 4, 8]}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 cu_seqlens(%cu) : (tensor<8x4x8xf32>, tensor<9x2x8xf32>, tensor<9x2x8xf32>, tensor<5xi32>) -> tensor<8x4x8xf32>
  return
}

// -----

// k's element type
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xbf16>, %v: tensor<1x8x2x8xbf16>) {
  // expected-error@+1 {{'act.attention' op k has elements of type 'bf16', expected 'f32' as in q}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xbf16>, tensor<1x8x2x8xbf16>) -> tensor<1x8x4x8xf32>
  return
}

// -----

// v's shape
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x9x2x8xf32>) {
  // expected-error@+1 {{'act.attention' op v has shape [1, 9, 2, 8], expected [1, 8, 2, 8] for k of shape [1, 8, 2, 8]}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x9x2x8xf32>) -> tensor<1x8x4x8xf32>
  return
}

// -----

// v's element type
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xbf16>) {
  // expected-error@+1 {{'act.attention' op v has elements of type 'bf16', expected 'f32' as in q}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xbf16>) -> tensor<1x8x4x8xf32>
  return
}

// -----

// heads
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x3x8xf32>, %v: tensor<1x8x3x8xf32>) {
  // expected-error@+1 {{'act.attention' op 3 heads of k of shape [1, 8, 3, 8] do not divide 4 heads of q of shape [1, 8, 4, 8]}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x3x8xf32>, tensor<1x8x3x8xf32>) -> tensor<1x8x4x8xf32>
  return
}

// -----

// scale
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>) {
  // expected-error@+1 {{'act.attention' op scale is not finite}}
  %0 = act.attention %q, %k, %v scale 0x7FF0000000000000 : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> tensor<1x8x4x8xf32>
  return
}

// -----

// window
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>) {
  // expected-error@+1 {{'act.attention' op window is 0, expected 1 or more}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 window(0) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> tensor<1x8x4x8xf32>
  return
}

// -----

// softcap
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>) {
  // expected-error@+1 {{'act.attention' op softcap is 0.000000e+00, expected a finite number above 0}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 softcap(0.0) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> tensor<1x8x4x8xf32>
  return
}

// -----

// dropout
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %seed: i64, %step: i64, %site: i64) {
  // expected-error@+1 {{'act.attention' op dropout is 1.000000e+00, expected 0 <= p < 1}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 dropout(1.0, %seed, %step, %site) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, i64, i64, i64) -> tensor<1x8x4x8xf32>
  return
}

// -----

// p without a seed
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>) {
  // expected-error@+1 {{'act.attention' op has only some of dropout's p, seed, step and site, expected all or none}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 {dropout = 0.1} : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> tensor<1x8x4x8xf32>
  return
}

// -----

// one boundary
func.func @f(%q: tensor<8x4x8xf32>, %k: tensor<8x2x8xf32>, %v: tensor<8x2x8xf32>, %cu: tensor<1xi32>) {
  // expected-error@+1 {{'act.attention' op cu_seqlens has 1 entry, expected 2 or more}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 cu_seqlens(%cu) : (tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>, tensor<1xi32>) -> tensor<8x4x8xf32>
  return
}

// -----

// mask and boundaries
func.func @f(%q: tensor<8x4x8xf32>, %k: tensor<8x2x8xf32>, %v: tensor<8x2x8xf32>, %mask: tensor<1x8xi1>, %cu: tensor<5xi32>) {
  // expected-error@+1 {{'act.attention' op has both mask and cu_seqlens, expected one of them}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 mask(%mask) cu_seqlens(%cu) : (tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>, tensor<1x8xi1>, tensor<5xi32>) -> tensor<8x4x8xf32>
  return
}

// -----

// the mask's shape
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %mask: tensor<8x8xi1>) {
  // expected-error@+1 {{'act.attention' op mask has shape [8, 8], expected [1, 8] for k of shape [1, 8, 2, 8]}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 mask(%mask) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<8x8xi1>) -> tensor<1x8x4x8xf32>
  return
}

// -----

// the sinks' shape
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %sinks: tensor<2xf32>) {
  // expected-error@+1 {{'act.attention' op sinks has shape [2], expected [4] for q of shape [1, 8, 4, 8]}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 sinks(%sinks) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<2xf32>) -> tensor<1x8x4x8xf32>
  return
}

// -----

// the sinks' element type
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %sinks: tensor<4xbf16>) {
  // expected-error@+1 {{'act.attention' op sinks has elements of type 'bf16', expected 'f32' as scores are computed}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 sinks(%sinks) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<4xbf16>) -> tensor<1x8x4x8xf32>
  return
}

// -----

// the score's arguments
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>) {
  // expected-error@+1 {{'act.attention' op score region has arguments ('f32', 'i32', 'index', 'index', 'index'), expected ('f32', 'index', 'index', 'index', 'index')}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 causal score {
  ^bb0(%s: f32, %b: i32, %n: index, %i: index, %j: index):
    %h = arith.constant 5.000000e-01 : f32
    %t = arith.mulf %s, %h : f32
    act.yield %t : f32
  } : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> tensor<1x8x4x8xf32>
  return
}

// -----

// the score's result
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>) {
  // expected-error@+1 {{'act.attention' op score region does not yield one value of type 'f32'}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 causal score {
  ^bb0(%s: f32, %b: index, %n: index, %i: index, %j: index):
    %h = arith.constant 5.000000e-01 : f32
    %t = arith.mulf %s, %h : f32
    act.yield
  } : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> tensor<1x8x4x8xf32>
  return
}

// -----

// the result's shape
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>) {
  // expected-error@+1 {{'act.attention' op result has shape [1, 8, 2, 8], expected [1, 8, 4, 8] for q of shape [1, 8, 4, 8] and v of shape [1, 8, 2, 8]}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> tensor<1x8x2x8xf32>
  return
}

// -----

// the log-sum-exp's shape
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>) {
  // expected-error@+1 {{'act.attention' op lse has shape [1, 8, 4], expected [1, 4, 8] for q of shape [1, 8, 4, 8]}}
  %0:2 = act.attention %q, %k, %v scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x4xf32>)
  return
}

// -----

// the packed log-sum-exp's shape
func.func @f(%q: tensor<8x4x8xf32>, %k: tensor<8x2x8xf32>, %v: tensor<8x2x8xf32>, %cu: tensor<5xi32>) {
  // expected-error@+1 {{'act.attention' op lse has shape [8, 4], expected [4, 8] for q of shape [8, 4, 8]}}
  %0:2 = act.attention %q, %k, %v scale 3.535534e-01 cu_seqlens(%cu) : (tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>, tensor<5xi32>) -> (tensor<8x4x8xf32>, tensor<8x4xf32>)
  return
}

// -----

// the log-sum-exp's element type
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>) {
  // expected-error@+1 {{'act.attention' op lse has elements of type 'f64', expected 'f32' for statistics}}
  %0:2 = act.attention %q, %k, %v scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x4x8xf64>)
  return
}

// -----

// two score regions
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>) {
  // expected-error@+1 {{'act.attention' op has 2 score regions, expected one at most}}
  %0 = "act.attention"(%q, %k, %v) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0>, scale = 1.0}> ({
    ^bb0(%s: f32, %b: index, %n: index, %i: index, %j: index):
      act.yield %s : f32
  }, {
    ^bb0(%s: f32, %b: index, %n: index, %i: index, %j: index):
      act.yield %s : f32
  }) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> tensor<1x8x4x8xf32>
  return
}

// -----

// an empty score region
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>) {
  // expected-error@+1 {{'act.attention' op score region has 0 blocks, expected 1}}
  %0 = "act.attention"(%q, %k, %v) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0>, scale = 1.0}> ({
  }) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> tensor<1x8x4x8xf32>
  return
}

// -----

// the heads' size, of the result
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x6xf32>) {
  // expected-error@+1 {{'act.attention' op result has shape [1, 8, 4, 8], expected [1, 8, 4, 6] for q of shape [1, 8, 4, 8] and v of shape [1, 8, 2, 6]}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x6xf32>) -> tensor<1x8x4x8xf32>
  return
}

// -----

// packed, v's rank
func.func @f(%q: tensor<8x4x8xf32>, %k: tensor<8x2x8xf32>, %v: tensor<1x8x2x6xf32>, %cu: tensor<5xi32>) {
  // expected-error@+1 {{'act.attention' op v has rank 4, expected 3 with cu_seqlens}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 cu_seqlens(%cu) : (tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<1x8x2x6xf32>, tensor<5xi32>) -> tensor<8x4x6xf32>
  return
}

// -----

// v's heads
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x4x6xf32>) {
  // expected-error@+1 {{'act.attention' op v has shape [1, 8, 4, 6], expected [1, 8, 2, 6] for k of shape [1, 8, 2, 8]}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x6xf32>) -> tensor<1x8x4x6xf32>
  return
}

// -----

// the shape of a mask of pairs
func.func @f(%q: tensor<2x8x4x8xf32>, %k: tensor<2x6x2x8xf32>, %v: tensor<2x6x2x8xf32>, %mask: tensor<2x6x8xi1>) {
  // expected-error@+1 {{'act.attention' op mask has shape [2, 6, 8], expected [2, 8, 6] for q of shape [2, 8, 4, 8] and k of shape [2, 6, 2, 8]}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 mask(%mask) : (tensor<2x8x4x8xf32>, tensor<2x6x2x8xf32>, tensor<2x6x2x8xf32>, tensor<2x6x8xi1>) -> tensor<2x8x4x8xf32>
  return
}

// -----

// the bias' shape
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %bias: tensor<1x2x8x8xf32>) {
  // expected-error@+1 {{'act.attention' op bias has shape [1, 2, 8, 8], expected [1, 4, 8, 8] for q of shape [1, 8, 4, 8] and k of shape [1, 8, 2, 8]}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 bias(%bias) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x8x4x8xf32>
  return
}

// -----

// the bias' rank
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %bias: tensor<8x8xf32>) {
  // expected-error@+1 {{'act.attention' op bias has rank 2, expected 4 for scores}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 bias(%bias) : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<8x8xf32>) -> tensor<1x8x4x8xf32>
  return
}

// -----

// aligned, and nothing to align
func.func @f(%q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>) {
  // expected-error@+1 {{'act.attention' op is top_left, which applies to causal or window, but has neither}}
  %0 = act.attention %q, %k, %v scale 3.535534e-01 top_left : (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) -> tensor<1x8x4x8xf32>
  return
}
