// RUN: act-opt %s --split-input-file --verify-diagnostics

// no condition
func.func @f(%x: tensor<8xi32>) {
  // expected-error@+1 {{'tile.assert' op operand #0 must be statically shaped tensor of 1-bit signless integer values or 1-bit signless integer, but got 'tensor<8xi32>'}}
  tile.assert %x, "x" : tensor<8xi32>
  return
}
