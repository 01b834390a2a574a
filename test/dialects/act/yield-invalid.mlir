// RUN: act-opt %s --split-input-file --verify-diagnostics

// at the end of a function
func.func @f() {
  // expected-error@+1 {{'act.yield' op expects parent op to be one of 'act.group, act.attention, act.attention_grad'}}
  act.yield
}
