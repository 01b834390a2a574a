// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --check-launches --verify-diagnostics

module {
  act.parameter @w "w" : tensor<4xf32>
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = act.group "g" (%a = %x : tensor<4xf32>) workspace(tensor<4xf32>) -> tensor<4xf32> {
      %1 = act.silu %a : tensor<4xf32>
      act.yield %1 : tensor<4xf32>
    } launches {
      // expected-error@+1 {{names @kernels::@none, which is no kernel}}
      act.launch @kernels::@none (input 0, result 0 written) main
    }
    return %0 : tensor<4xf32>
  }
  module @kernels attributes {act.target = ""} {
    func.func @k(%a: tensor<4xf32>) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
    func.func @half(%a: tensor<4xf16>) -> tensor<4xf32> {
      %0 = tensor.empty() : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func @in_place(%a: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
  }
}

// -----

module {
  act.parameter @w "w" : tensor<4xf32>
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = act.group "g" (%a = %x : tensor<4xf32>) workspace(tensor<4xf32>) -> tensor<4xf32> {
      %1 = act.silu %a : tensor<4xf32>
      act.yield %1 : tensor<4xf32>
    } launches {
      // expected-error@+1 {{has 1 operands; @kernels::@k takes 2}}
      act.launch @kernels::@k (input 0) main
    }
    return %0 : tensor<4xf32>
  }
  module @kernels attributes {act.target = ""} {
    func.func @k(%a: tensor<4xf32>) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
    func.func @half(%a: tensor<4xf16>) -> tensor<4xf32> {
      %0 = tensor.empty() : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func @in_place(%a: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
  }
}

// -----

module {
  act.parameter @w "w" : tensor<4xf32>
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = act.group "g" (%a = %x : tensor<4xf32>) workspace(tensor<4xf32>) -> tensor<4xf32> {
      %1 = act.silu %a : tensor<4xf32>
      act.yield %1 : tensor<4xf32>
    } launches {
      // expected-error@+1 {{names input 1 of a group that has 1}}
      act.launch @kernels::@k (input 1, result 0 written) main
    }
    return %0 : tensor<4xf32>
  }
  module @kernels attributes {act.target = ""} {
    func.func @k(%a: tensor<4xf32>) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
    func.func @half(%a: tensor<4xf16>) -> tensor<4xf32> {
      %0 = tensor.empty() : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func @in_place(%a: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
  }
}

// -----

module {
  act.parameter @w "w" : tensor<4xf32>
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = act.group "g" (%a = %x : tensor<4xf32>) workspace(tensor<4xf32>) -> tensor<4xf32> {
      %1 = act.silu %a : tensor<4xf32>
      act.yield %1 : tensor<4xf32>
    } launches {
      // expected-error@+1 {{binds operand 0 of type 'tensor<4xf16>' to input 0 of type 'tensor<4xf32>'}}
      act.launch @kernels::@half (input 0, result 0 written) main
    }
    return %0 : tensor<4xf32>
  }
  module @kernels attributes {act.target = ""} {
    func.func @k(%a: tensor<4xf32>) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
    func.func @half(%a: tensor<4xf16>) -> tensor<4xf32> {
      %0 = tensor.empty() : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func @in_place(%a: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
  }
}

// -----

module {
  act.parameter @w "w" : tensor<4xf32>
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = act.group "g" (%a = %x : tensor<4xf32>) workspace(tensor<4xf32>) -> tensor<4xf32> {
      %1 = act.silu %a : tensor<4xf32>
      act.yield %1 : tensor<4xf32>
    } launches {
      // expected-error@+1 {{says that operand 1 is not written, but @kernels::@k writes it}}
      act.launch @kernels::@k (input 0, result 0) main
    }
    return %0 : tensor<4xf32>
  }
  module @kernels attributes {act.target = ""} {
    func.func @k(%a: tensor<4xf32>) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
    func.func @half(%a: tensor<4xf16>) -> tensor<4xf32> {
      %0 = tensor.empty() : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func @in_place(%a: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
  }
}

// -----

module {
  act.parameter @w "w" : tensor<4xf32>
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = act.group "g" (%a = %x : tensor<4xf32>) workspace(tensor<4xf32>) -> tensor<4xf32> {
      %1 = act.silu %a : tensor<4xf32>
      act.yield %1 : tensor<4xf32>
    } launches {
      // expected-error@+1 {{reads workspace 0, which no earlier launch has written}}
      act.launch @kernels::@k (workspace 0, result 0 written) main
    }
    return %0 : tensor<4xf32>
  }
  module @kernels attributes {act.target = ""} {
    func.func @k(%a: tensor<4xf32>) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
    func.func @half(%a: tensor<4xf16>) -> tensor<4xf32> {
      %0 = tensor.empty() : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func @in_place(%a: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
  }
}

// -----

module {
  act.parameter @w "w" : tensor<4xf32>
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = act.group "g" (%a = %x : tensor<4xf32>) workspace(tensor<4xf32>) -> tensor<4xf32> {
      %1 = act.silu %a : tensor<4xf32>
      act.yield %1 : tensor<4xf32>
    } launches {
      act.launch @kernels::@k (input 0, result 0 written) main
      // expected-error@+1 {{makes result 0 of its group a second time}}
      act.launch @kernels::@k (input 0, result 0 written)
    }
    return %0 : tensor<4xf32>
  }
  module @kernels attributes {act.target = ""} {
    func.func @k(%a: tensor<4xf32>) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
    func.func @half(%a: tensor<4xf16>) -> tensor<4xf32> {
      %0 = tensor.empty() : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func @in_place(%a: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
  }
}

// -----

module {
  act.parameter @w "w" : tensor<4xf32>
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@+1 {{has no launch that makes result 0}}
    %0 = act.group "g" (%a = %x : tensor<4xf32>) workspace(tensor<4xf32>) -> tensor<4xf32> {
      %1 = act.silu %a : tensor<4xf32>
      act.yield %1 : tensor<4xf32>
    } launches {
      act.launch @kernels::@k (input 0, workspace 0 written) main
    }
    return %0 : tensor<4xf32>
  }
  module @kernels attributes {act.target = ""} {
    func.func @k(%a: tensor<4xf32>) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
    func.func @half(%a: tensor<4xf16>) -> tensor<4xf32> {
      %0 = tensor.empty() : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func @in_place(%a: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
  }
}

// -----

module {
  act.parameter @w "w" : tensor<4xf32>
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = act.group "g" (%a = %x : tensor<4xf32>) workspace(tensor<4xf32>) -> tensor<4xf32> {
      %1 = act.silu %a : tensor<4xf32>
      act.yield %1 : tensor<4xf32>
    } launches {
      // expected-error@+1 {{writes input 0, which no result of this choice takes over}}
      act.launch @kernels::@in_place (input 0 written) main
    }
    return %0 : tensor<4xf32>
  }
  module @kernels attributes {act.target = ""} {
    func.func @k(%a: tensor<4xf32>) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
    func.func @half(%a: tensor<4xf16>) -> tensor<4xf32> {
      %0 = tensor.empty() : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func @in_place(%a: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
  }
}

// -----

module {
  act.parameter @w "w" : tensor<4xf32>
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = act.group "g" (%a = %x : tensor<4xf32>) workspace(tensor<4xf32>) -> tensor<4xf32> {
      %1 = act.silu %a : tensor<4xf32>
      act.yield %1 : tensor<4xf32>
    } launches {
      // expected-error@+1 {{uses scratch of a group that has none}}
      act.launch @kernels::@k (scratch, result 0 written) main
    }
    return %0 : tensor<4xf32>
  }
  module @kernels attributes {act.target = ""} {
    func.func @k(%a: tensor<4xf32>) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
    func.func @half(%a: tensor<4xf16>) -> tensor<4xf32> {
      %0 = tensor.empty() : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func @in_place(%a: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
  }
}

// -----

module {
  act.parameter @w "w" : tensor<4xf32>
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@+1 {{has no launch for effect 0, act.accumulate}}
    %0 = act.group "g" (%a = %x : tensor<4xf32>) workspace(tensor<4xf32>) -> tensor<4xf32> {
      %1 = act.silu %a : tensor<4xf32>
      act.accumulate @w, %1 : tensor<4xf32>
      act.yield %1 : tensor<4xf32>
    } launches {
      act.launch @kernels::@k (input 0, result 0 written) main
    }
    return %0 : tensor<4xf32>
  }
  module @kernels attributes {act.target = ""} {
    func.func @k(%a: tensor<4xf32>) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
    func.func @half(%a: tensor<4xf16>) -> tensor<4xf32> {
      %0 = tensor.empty() : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func @in_place(%a: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
  }
}

// -----

module {
  act.parameter @w "w" : tensor<4xf32>
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = act.group "g" (%a = %x : tensor<4xf32>) workspace(tensor<4xf32>) -> tensor<4xf32> {
      %1 = act.silu %a : tensor<4xf32>
      act.accumulate @w, %1 : tensor<4xf32>
      act.yield %1 : tensor<4xf32>
    } launches {
      // expected-error@+1 {{binds the master of effect 0, which does not use it}}
      act.launch @kernels::@k (input 0, effect 0 master written) main
    }
    return %0 : tensor<4xf32>
  }
  module @kernels attributes {act.target = ""} {
    func.func @k(%a: tensor<4xf32>) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
    func.func @half(%a: tensor<4xf16>) -> tensor<4xf32> {
      %0 = tensor.empty() : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func @in_place(%a: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
  }
}

// -----

module {
  act.parameter @w "w" : tensor<4xf32>
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = act.group "g" (%a = %x : tensor<4xf32>) workspace(tensor<4xf32>) -> tensor<4xf32> {
      %1 = act.silu %a : tensor<4xf32>
      act.yield %1 : tensor<4xf32>
    } launches {
      // expected-error@+1 {{says that operand 0 is written, but not that @kernels::@k writes it}}
      act.launch @kernels::@k (input 0 written, result 0 written) main
    }
    return %0 : tensor<4xf32>
  }
  module @kernels attributes {act.target = ""} {
    func.func @k(%a: tensor<4xf32>) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
    func.func @half(%a: tensor<4xf16>) -> tensor<4xf32> {
      %0 = tensor.empty() : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func @in_place(%a: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
  }
}

// -----

module {
  act.parameter @w "w" : tensor<4xf32>
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@+1 {{has launches for the operands [0] in place, but permits []}}
    %0 = act.group "g" (%a = %x : tensor<4xf32>) workspace(tensor<4xf32>) -> tensor<4xf32> {
      %1 = act.silu %a : tensor<4xf32>
      act.yield %1 : tensor<4xf32>
    } launches {
      act.launch @kernels::@k (input 0, result 0 written) inplace [0] main
    }
    return %0 : tensor<4xf32>
  }
  module @kernels attributes {act.target = ""} {
    func.func @k(%a: tensor<4xf32>) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
    func.func @half(%a: tensor<4xf16>) -> tensor<4xf32> {
      %0 = tensor.empty() : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func @in_place(%a: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
  }
}

// -----

module {
  act.parameter @w "w" : tensor<4xf32>
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = act.group "g" (%a = %x : tensor<4xf32>) workspace(tensor<4xf32>) -> tensor<4xf32> {
      %1 = act.silu %a : tensor<4xf32>
      act.accumulate @w, %1 : tensor<4xf32>
      act.yield %1 : tensor<4xf32>
    } launches {
      act.launch @kernels::@k (input 0, result 0 written) main
      act.launch @kernels::@k (input 0, effect 0 gradient written)
      // expected-error@+1 {{changes the gradient of effect 0 a second time}}
      act.launch @kernels::@k (input 0, effect 0 gradient written)
    }
    return %0 : tensor<4xf32>
  }
  module @kernels attributes {act.target = ""} {
    func.func @k(%a: tensor<4xf32>) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
    func.func @half(%a: tensor<4xf16>) -> tensor<4xf32> {
      %0 = tensor.empty() : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func @in_place(%a: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
  }
}

// -----

module {
  module @kernels attributes {act.target = ""} {
    // expected-error@+1 {{is no kernel: expected a function of one block, with results}}
    func.func private @k(tensor<4xf32>) -> tensor<4xf32>
  }
}
