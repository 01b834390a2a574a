// RUN: act-opt %s --split-input-file --verify-diagnostics

// more than 16 bits
func.func @f() {
  // expected-error@+1 {{'act.site' op id is 65536, expected 0 to 65535}}
  %0 = act.site 65536 : i64
  return
}

// -----

// negative
func.func @f() {
  // expected-error@+1 {{'act.site' op id is -1, expected 0 to 65535}}
  %0 = act.site -1 : i64
  return
}
