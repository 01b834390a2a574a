// RUN: act-opt %s --split-input-file --verify-diagnostics

// another phase
func.func @f() {
  // expected-error@+1 {{'act.phase' op name is 'forward', expected 'backward' or 'update'}}
  act.phase "forward"
  return
}
