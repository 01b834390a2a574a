// RUN: act-opt %s --split-input-file --verify-diagnostics

// less than none
func.func @f() {
  // expected-error@+1 {{'tile.wait_copies' op waits for -1 pending groups, expected 0 or more}}
  tile.wait_copies -1
  return
}
