// RUN: act-opt %s --split-input-file --verify-diagnostics

// more than 16 bits, which would be another layer's
func.func @f(%l: i64) {
  // expected-error@+1 {{'act.site' op id is 65536, expected 0 to 65535}}
  %0 = act.site 65536 layer(%l) : i64
  return
}

// -----

// negative
func.func @f() {
  // expected-error@+1 {{'act.site' op id is -1, expected 0 to 4294967295}}
  %0 = act.site -1 : i64
  return
}
