// RUN: act-opt %s --split-input-file --verify-diagnostics

// body arguments of other types
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{'act.group' op body has arguments ('tensor<5xf32>'), expected ('tensor<4xf32>')}}
  "act.group"(%x) <{name = "g"}> ({
  ^bb0(%a: tensor<5xf32>):
    act.yield
  }, {}) : (tensor<4xf32>) -> ()
  return
}

// -----

// a result of another type
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{'act.group' op yields ('tensor<4xf32>'), expected ('tensor<5xf32>')}}
  %0 = act.group "g" (%a = %x : tensor<4xf32>) -> tensor<5xf32> {
    act.yield %a : tensor<4xf32>
  }
  return
}

// -----

// no end
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{'act.group' op body does not end in an act.yield}}
  act.group "g" () {
    %0 = act.constant dense<0.0> : tensor<f32>
  }
  return
}

// -----

// no block
func.func @f() {
  // expected-error@+1 {{'act.group' op region #0 ('body') failed to verify constraint: region with 1 blocks}}
  "act.group"() <{name = "g"}> ({
  }, {}) : () -> ()
  return
}

// -----

// a workspace that is no tensor
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{'act.group' op has a workspace of type 'i32', expected a tensor}}
  act.group "g" () workspace(i32) {
    act.yield
  }
  return
}

// -----

// too few entries
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{'act.group' op inplace has 1 entries, expected one for each of 2 results}}
  %0:2 = act.group "g" (%a = %x : tensor<4xf32>) inplace [0] -> (tensor<4xf32>, tensor<4xf32>) {
    act.yield %a, %a : tensor<4xf32>, tensor<4xf32>
  }
  return
}

// -----

// an operand that is not there
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{'act.group' op inplace names operand 1, expected -1 or one of 1}}
  %0 = act.group "g" (%a = %x : tensor<4xf32>) inplace [1] -> tensor<4xf32> {
    act.yield %a : tensor<4xf32>
  }
  return
}

// -----

// an operand given twice
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{'act.group' op inplace gives operand 0 to two results}}
  %0:2 = act.group "g" (%a = %x : tensor<4xf32>) inplace [0, 0] -> (tensor<4xf32>, tensor<4xf32>) {
    act.yield %a, %a : tensor<4xf32>, tensor<4xf32>
  }
  return
}

// -----

// an operand of another size
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{'act.group' op inplace gives operand 0 of type 'tensor<4xf32>' to result 0 of type 'tensor<f32>'}}
  %0 = act.group "g" (%a = %x : tensor<4xf32>) inplace [0] -> tensor<f32> {
    %0 = act.constant dense<0.0> : tensor<f32>
    act.yield %0 : tensor<f32>
  }
  return
}

// -----

// an attribute in the wrong place
func.func @f() {
  // expected-error@+1 {{'workspace' is written before the results}}
  act.group "g" () attributes {workspace = [tensor<4xf32>]} {
    act.yield
  }
  return
}

// -----

// no name
func.func @f() {
  // expected-error@+1 {{expected string}}
  act.group () {
    act.yield
  }
  return
}

// -----

// no operand
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected '='}}
  act.group "g" (%a : tensor<4xf32>) {
    act.yield
  }
  return
}

// -----

// more dimensions than names
func.func @f(%x: tensor<?xf32>) {
  // expected-error@+1 {{'act.group' op operand 0 of type 'tensor<?xf32>' has no name for its dynamic dimension 0}}
  act.group "g" (%a = %x : tensor<?xf32>) {
    act.yield
  }
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  act.group "g" (%a = %x : tensor<4xf32>) {
    act.yield
  } launches {
    // expected-error@+1 {{'act.param' op is among the launches of a group}}
    %w = act.param @w : tensor<4xf32>
  }
  return
}

// -----

func.func @f() {
  act.group "g" () {
    act.yield
  } launches {
    // expected-error@+1 {{'register' is no memory: input, result, workspace, scratch or effect}}
    act.launch @kernels::@k (register 0)
  }
  return
}

// -----

func.func @f() {
  act.group "g" () {
    act.yield
  } launches {
    // expected-error@+1 {{'velocity' is no buffer of a parameter: parameter, gradient, master, exp_avg, exp_avg_sq, momentum, or a moment's codes or scales}}
    act.launch @kernels::@k (effect 0 velocity)
  }
  return
}
