// Two kernels of equal types that differ in what they compute.
#b_s_h = #act.dims<b, s, h>
module @alike {
  act.parameter @norm "norm.weight" : tensor<32xbf16> init(ones, 0.0)
  func.func @forward(%x: tensor<2x24x32xbf16, #b_s_h> {act.name = "x"})
      -> (tensor<2x24x32xbf16, #b_s_h> {act.name = "y"}) {
    %norm = act.param @norm : tensor<32xbf16>
    %once = act.rms_norm %x, %norm eps 1.0e-5
      : (tensor<2x24x32xbf16, #b_s_h>, tensor<32xbf16>) -> tensor<2x24x32xbf16, #b_s_h>
    %twice = act.rms_norm %once, %norm eps 1.0e-2
      : (tensor<2x24x32xbf16, #b_s_h>, tensor<32xbf16>) -> tensor<2x24x32xbf16, #b_s_h>
    return %twice : tensor<2x24x32xbf16, #b_s_h>
  }
}
