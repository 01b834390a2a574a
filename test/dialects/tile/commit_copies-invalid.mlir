// RUN: act-opt %s --split-input-file --verify-diagnostics

// an operand
func.func @f(%s: !tile.shared<16xf32>) {
  // expected-error@+1 {{'tile.commit_copies' op requires zero operands}}
  "tile.commit_copies"(%s) : (!tile.shared<16xf32>) -> ()
  return
}
