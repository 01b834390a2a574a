// The GPU has no exponential of f64.
module @none {
  act.parameter @w "w" : tensor<16x16xf64>
  func.func @forward(%x: tensor<4x16xf64> {act.name = "x"}) -> (tensor<4x16xf64> {act.name = "y"}) {
    %w = act.param @w : tensor<16x16xf64>
    %y = act.add %x, %x : (tensor<4x16xf64>, tensor<4x16xf64>) -> tensor<4x16xf64>
    %z = act.gelu %y : tensor<4x16xf64>
    return %z : tensor<4x16xf64>
  }
}
