// RUN: act-opt %s --split-input-file --verify-diagnostics

// rank
func.func @f(%do: tensor<8x4x8xf32>, %q: tensor<8x4x8xf32>, %k: tensor<8x2x8xf32>, %v: tensor<8x2x8xf32>, %o: tensor<8x4x8xf32>, %lse: tensor<4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op q has rank 3, expected 4 without cu_seqlens}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal : (tensor<8x4x8xf32>, tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>, tensor<8x4x8xf32>, tensor<4x8xf32>) -> (tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>)
  return
}

// -----

// rank of k
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<8x2x8xf32>, %v: tensor<8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op k has rank 3, expected 4 without cu_seqlens}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>)
  return
}

// -----

// rank, packed
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>, %cu: tensor<5xi32>) {
  // expected-error@+1 {{'act.attention_grad' op q has rank 4, expected 3 with cu_seqlens}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 cu_seqlens(%cu) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>, tensor<5xi32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return
}

// -----

// batch
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<2x8x2x8xf32>, %v: tensor<2x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op k has shape [2, 8, 2, 8], expected [1, 8, 2, 8] for q of shape [1, 8, 4, 8]}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32>)
  return
}

// -----

// the heads' size
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x4xf32>, %v: tensor<1x8x2x4xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op k has shape [1, 8, 2, 4], expected [1, 8, 2, 8] for q of shape [1, 8, 4, 8]}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>)
  return
}

// -----

// packed tokens
func.func @f(%do: tensor<8x4x8xf32>, %q: tensor<8x4x8xf32>, %k: tensor<9x2x8xf32>, %v: tensor<9x2x8xf32>, %o: tensor<8x4x8xf32>, %lse: tensor<4x8xf32>, %cu: tensor<5xi32>) {
  // expected-error@+1 {{'act.attention_grad' op k has shape [9, 2, 8], expected [8, 2, 8] for q of shape [8, 4, 8]}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 cu_seqlens(%cu) : (tensor<8x4x8xf32>, tensor<8x4x8xf32>, tensor<9x2x8xf32>, tensor<9x2x8xf32>, tensor<8x4x8xf32>, tensor<4x8xf32>, tensor<5xi32>) -> (tensor<8x4x8xf32>, tensor<9x2x8xf32>, tensor<9x2x8xf32>)
  return
}

// -----

// k's element type
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xbf16>, %v: tensor<1x8x2x8xbf16>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op k has elements of type 'bf16', expected 'f32' as in q}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xbf16>, tensor<1x8x2x8xbf16>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xbf16>, tensor<1x8x2x8xbf16>)
  return
}

// -----

// v's shape
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x9x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op v has shape [1, 9, 2, 8], expected [1, 8, 2, 8] for k of shape [1, 8, 2, 8]}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x9x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x9x2x8xf32>)
  return
}

// -----

// v's element type
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xbf16>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op v has elements of type 'bf16', expected 'f32' as in q}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xbf16>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xbf16>)
  return
}

// -----

// heads
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x3x8xf32>, %v: tensor<1x8x3x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op 3 heads of k of shape [1, 8, 3, 8] do not divide 4 heads of q of shape [1, 8, 4, 8]}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x3x8xf32>, tensor<1x8x3x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x3x8xf32>, tensor<1x8x3x8xf32>)
  return
}

// -----

// scale
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op scale is not finite}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 0x7FF0000000000000 : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return
}

// -----

// window
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op window is 0, expected 1 or more}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 window(0) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return
}

// -----

// softcap
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op softcap is 0.000000e+00, expected a finite number above 0}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 softcap(0.0) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return
}

// -----

// dropout
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>, %seed: i64, %step: i64, %site: i64) {
  // expected-error@+1 {{'act.attention_grad' op dropout is 1.000000e+00, expected 0 <= p < 1}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 dropout(1.0, %seed, %step, %site) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>, i64, i64, i64) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return
}

// -----

// p without a seed
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op has only some of dropout's p, seed, step and site, expected all or none}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 {dropout = 0.1} : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return
}

// -----

// one boundary
func.func @f(%do: tensor<8x4x8xf32>, %q: tensor<8x4x8xf32>, %k: tensor<8x2x8xf32>, %v: tensor<8x2x8xf32>, %o: tensor<8x4x8xf32>, %lse: tensor<4x8xf32>, %cu: tensor<1xi32>) {
  // expected-error@+1 {{'act.attention_grad' op cu_seqlens has 1 entry, expected 2 or more}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 cu_seqlens(%cu) : (tensor<8x4x8xf32>, tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>, tensor<8x4x8xf32>, tensor<4x8xf32>, tensor<1xi32>) -> (tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>)
  return
}

// -----

// mask and boundaries
func.func @f(%do: tensor<8x4x8xf32>, %q: tensor<8x4x8xf32>, %k: tensor<8x2x8xf32>, %v: tensor<8x2x8xf32>, %o: tensor<8x4x8xf32>, %lse: tensor<4x8xf32>, %mask: tensor<1x8xi1>, %cu: tensor<5xi32>) {
  // expected-error@+1 {{'act.attention_grad' op has both mask and cu_seqlens, expected one of them}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 mask(%mask) cu_seqlens(%cu) : (tensor<8x4x8xf32>, tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>, tensor<8x4x8xf32>, tensor<4x8xf32>, tensor<1x8xi1>, tensor<5xi32>) -> (tensor<8x4x8xf32>, tensor<8x2x8xf32>, tensor<8x2x8xf32>)
  return
}

// -----

// the mask's shape
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>, %mask: tensor<8x8xi1>) {
  // expected-error@+1 {{'act.attention_grad' op mask has shape [8, 8], expected [1, 8] for k of shape [1, 8, 2, 8]}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 mask(%mask) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>, tensor<8x8xi1>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return
}

// -----

// the sinks' shape
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>, %sinks: tensor<2xf32>) {
  // expected-error@+1 {{'act.attention_grad' op sinks has shape [2], expected [4] for q of shape [1, 8, 4, 8]}}
  %0:4 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 sinks(%sinks) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>, tensor<2xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<2xf32>)
  return
}

// -----

// the sinks' element type
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>, %sinks: tensor<4xbf16>) {
  // expected-error@+1 {{'act.attention_grad' op sinks has elements of type 'bf16', expected 'f32' as scores are computed}}
  %0:4 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 sinks(%sinks) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>, tensor<4xbf16>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<4xbf16>)
  return
}

// -----

// the score's arguments
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op score region has arguments ('f32', 'i32', 'index', 'index', 'index'), expected ('f32', 'index', 'index', 'index', 'index')}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal score {
  ^bb0(%s: f32, %b: i32, %n: index, %i: index, %j: index):
    %h = arith.constant 5.000000e-01 : f32
    %t = arith.mulf %s, %h : f32
    act.yield %t : f32
  } : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return
}

// -----

// the score's result
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op score region does not yield one value of type 'f32'}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal score {
  ^bb0(%s: f32, %b: index, %n: index, %i: index, %j: index):
    %h = arith.constant 5.000000e-01 : f32
    %t = arith.mulf %s, %h : f32
    act.yield
  } : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return
}

// -----

// the log-sum-exp's shape
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x8x4xf32>) {
  // expected-error@+1 {{'act.attention_grad' op lse has shape [1, 8, 4], expected [1, 4, 8] for q of shape [1, 8, 4, 8]}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x4xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return
}

// -----

// grad's shape
func.func @f(%do: tensor<1x8x2x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op grad has shape [1, 8, 2, 8], expected [1, 8, 4, 8] for q of shape [1, 8, 4, 8] and v of shape [1, 8, 2, 8]}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal : (tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return
}

// -----

// out's shape
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x2x8xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op out has shape [1, 8, 2, 8], expected [1, 8, 4, 8] for q of shape [1, 8, 4, 8] and v of shape [1, 8, 2, 8]}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return
}

// -----

// dq's shape
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op dq has shape [1, 8, 2, 8], expected [1, 8, 4, 8] as in q}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return
}

// -----

// dk's shape
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op dk has shape [1, 8, 4, 8], expected [1, 8, 2, 8] as in k}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>)
  return
}

// -----

// dv's element type
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op dv has elements of type 'bf16', expected 'f32' as in v}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xbf16>)
  return
}

// -----

// no dsinks
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>, %sinks: tensor<4xf32>) {
  // expected-error@+1 {{'act.attention_grad' op has 3 results, expected 4: dq, dk, dv, dsinks}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 sinks(%sinks) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>, tensor<4xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return
}

// -----

// no sinks
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op has 4 results, expected 3: dq, dk, dv}}
  %0:4 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<4xf32>)
  return
}

// -----

// dsinks' shape
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>, %sinks: tensor<4xf32>) {
  // expected-error@+1 {{'act.attention_grad' op dsinks has shape [2], expected [4] as in sinks}}
  %0:4 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 sinks(%sinks) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>, tensor<4xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<2xf32>)
  return
}

// -----

// two score regions
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op has 2 score regions, expected one at most}}
  %0:3 = "act.attention_grad"(%do, %q, %k, %v, %o, %lse) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0>, scale = 1.0}> ({
    ^bb0(%s: f32, %b: index, %n: index, %i: index, %j: index):
      act.yield %s : f32
  }, {
    ^bb0(%s: f32, %b: index, %n: index, %i: index, %j: index):
      act.yield %s : f32
  }) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return
}

// -----

// an empty score region
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op score region has 0 blocks, expected 1}}
  %0:3 = "act.attention_grad"(%do, %q, %k, %v, %o, %lse) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0>, scale = 1.0}> ({
  }) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return
}

// -----

// the heads' size, of the output's gradient
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x6xf32>, %o: tensor<1x8x4x6xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op grad has shape [1, 8, 4, 8], expected [1, 8, 4, 6] for q of shape [1, 8, 4, 8] and v of shape [1, 8, 2, 6]}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x6xf32>, tensor<1x8x4x6xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x6xf32>)
  return
}

// -----

// the heads' size, of v's gradient
func.func @f(%do: tensor<1x8x4x6xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x6xf32>, %o: tensor<1x8x4x6xf32>, %lse: tensor<1x4x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op dv has shape [1, 8, 2, 8], expected [1, 8, 2, 6] as in v}}
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal : (tensor<1x8x4x6xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x6xf32>, tensor<1x8x4x6xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return
}

// -----

// dbias' shape
func.func @f(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>, %bias: tensor<1x4x1x8xf32>) {
  // expected-error@+1 {{'act.attention_grad' op dbias has shape [1, 4, 8, 8], expected [1, 4, 1, 8] as in bias}}
  %0:4 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 bias(%bias) : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x1x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x4x8x8xf32>)
  return
}
