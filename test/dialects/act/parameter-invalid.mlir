// RUN: act-opt %s --split-input-file --verify-diagnostics

// no layers
// expected-error@+1 {{'act.parameter' op layers is 0, expected 1 or more}}
act.parameter @w "w.{l}" : tensor<4xf32> layers(0)

// -----

// a name without its layer
// expected-error@+1 {{'act.parameter' op name 'w' has no {l} for its layers}}
act.parameter @w "w" : tensor<4xf32> layers(2)

// -----

// a layer that is not there
// expected-error@+1 {{'act.parameter' op name 'w.{l}' has {l} but no layers}}
act.parameter @w "w.{l}" : tensor<4xf32>

// -----

// a tied name without its layer
// expected-error@+1 {{'act.parameter' op name 'v' has no {l} for its layers}}
act.parameter @w "w.{l}" : tensor<4xf32> layers(2) tied ["v"]

// -----

// an empty name
// expected-error@+1 {{'act.parameter' op has an empty name}}
act.parameter @w "" : tensor<4xf32>

// -----

// a negative deviation
// expected-error@+1 {{'act.parameter' op init_std is -1.000000e+00, expected a finite number of 0 or more}}
act.parameter @w "w" : tensor<4xf32> init(normal, -1.0)

// -----

// an unknown start
// expected-error@+1 {{expected normal, zeros or ones, got uniform}}
act.parameter @w "w" : tensor<4xf32> init(uniform)

// -----

// a trained integer
// expected-error@+1 {{'act.parameter' op has elements of type 'i32', which cannot be trained; expected 'frozen'}}
act.parameter @w "w" : tensor<4xi32>

// -----

// a trained nf4 weight
// expected-error@+1 {{'act.parameter' op has elements of type '!act.nf4', which cannot be trained; expected 'frozen'}}
act.parameter @w "w" : tensor<4x64x!act.nf4>

// -----

// a dimension without a name
// expected-error@+1 {{'act.parameter' op type 'tensor<?xf32>' has no name for its dynamic dimension 0}}
act.parameter @w "w" : tensor<?xf32>

// -----

// an empty tensor
// expected-error@+1 {{'act.parameter' op type 'tensor<4x0xf32>' is empty: dimension 1 has size 0}}
act.parameter @w "w" : tensor<4x0xf32>

// -----

// more than there is
// expected-error@+1 {{'act.parameter' op type 'tensor<4611686018427387904x4xf32>' is larger than 2^63 bytes}}
act.parameter @w "w" : tensor<4611686018427387904x4xf32>

// -----

// no tensor
// expected-error@+1 {{'act.parameter' op attribute 'type' failed to satisfy constraint: type attribute of ranked tensor of 64-bit float or 32-bit float or bfloat16 type or 16-bit float or f8E4M3FN type or 1-bit signless integer or 32-bit signless integer or 64-bit signless integer or a 4-bit normal-float weight element, quantised in blocks values}}
act.parameter @w "w" : f32

// -----

// two of one name
// expected-note@+1 {{see existing symbol definition here}}
act.parameter @w "w" : tensor<4xf32>
// expected-error@+1 {{redefinition of symbol named 'w'}}
act.parameter @w "v" : tensor<4xf32>
