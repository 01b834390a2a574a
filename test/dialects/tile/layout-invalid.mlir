// RUN: act-opt %s --split-input-file --verify-diagnostics

// too few lanes
// expected-error@+1 {{the lanes of a layout multiply to 16, expected 32}}
#l = #tile.layout<register = [], lane = [16:(1)], warp = []>

// -----

// two ranks
// expected-error@+1 {{a digit has 2 strides and another 1}}
#l = #tile.layout<register = [2:(0,1)], lane = [32:(1)], warp = []>

// -----

// a digit of nothing
// expected-error@+1 {{a digit has extent 0, expected 1 or more}}
#l = #tile.layout<register = [0:(1)], lane = [32:(1)], warp = []>

// -----

// a negative stride
// expected-error@+1 {{a digit has a stride of -1, expected 0 or more}}
#l = #tile.layout<register = [2:(-1)], lane = [32:(1)], warp = []>

// -----

// no strides
// expected-error@+1 {{a digit has no strides, expected one per dimension}}
#l = #tile.layout<register = [2:()], lane = [32:(1)], warp = []>

// -----

// another rank than the tensor's
#l = #tile.layout<register = [], lane = [32:(1)], warp = []>
// expected-error@+1 {{a layout of 1 dimensions encodes a tensor of rank 2}}
func.func private @f(tensor<32x1xf32, #l>)

// -----

// a size that is not known
#l = #tile.layout<register = [], lane = [32:(1)], warp = []>
// expected-error@+1 {{a layout encodes a tensor of dynamic shape}}
func.func private @f(tensor<?xf32, #l>)

// -----

// too small
#l = #tile.layout<register = [], lane = [32:(1)], warp = []>
// expected-error@+1 {{layout does not fit a tensor of shape [64]: digits cover 32 of 64 coordinates along dimension 0}}
func.func private @f(tensor<64xf32, #l>)

// -----

// held twice
#l = #tile.layout<register = [2:(16)], lane = [32:(1)], warp = []>
// expected-error@+1 {{layout does not fit a tensor of shape [64]: register digit 0, `2:(16)`, and lane digit 0, `32:(1)`, hold the same coordinates along dimension 0: stride 16, expected 32}}
func.func private @f(tensor<64xf32, #l>)

// -----

// held by no one
#l = #tile.layout<register = [2:(33)], lane = [32:(1)], warp = []>
// expected-error-re@+1 {{layout does not fit a tensor of shape [64]: {{.*}}}}
func.func private @f(tensor<64xf32, #l>)
