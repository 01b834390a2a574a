// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --lower-groups=target=sm_80 --verify-diagnostics
// RUN: not act-opt %s --split-input-file --lower-groups=target=sm_11 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: unknown target 'sm_11'

// expected-error@+1 {{the module has no groups to lower; --form-kernels makes them}}
module {
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

module {
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = act.group "silu" (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
      %1 = act.silu %a : tensor<4xf32>
      act.yield %1 : tensor<4xf32>
    }
    return %0 : tensor<4xf32>
  }
  // expected-error@+1 {{the module's groups were lowered for the host, not for sm_80}}
  module @kernels attributes {act.target = ""} {
  }
}

// -----

module {
  func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = act.group "silu" (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
      %1 = act.silu %a : tensor<4xf32>
      act.yield %1 : tensor<4xf32>
    }
    return %0 : tensor<4xf32>
  }
  // expected-error@+1 {{is named @kernels, the name of the module that --lower-groups makes}}
  func.func private @kernels()
}

// -----

#b = #act.dims<b>
func.func @forward(%x: tensor<?xf32, #b>) -> tensor<?xf32, #b> { // expected-error {{has no static shape}}
  %0 = act.group "silu" (%a = %x : tensor<?xf32, #b>) -> tensor<?xf32, #b> {
    %1 = act.silu %a : tensor<?xf32, #b>
    act.yield %1 : tensor<?xf32, #b>
  }
  return %0 : tensor<?xf32, #b>
}
