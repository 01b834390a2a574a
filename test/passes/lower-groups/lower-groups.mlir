// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --split-input-file --form-kernels --lower-groups=target=sm_80 | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --split-input-file --form-kernels --lower-groups=target=sm_80 | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: act-opt %s --split-input-file --form-kernels --lower-groups | FileCheck %s --check-prefixes=CHECK,HOST
// What it prints can be read, checked, and lowered again: groups that have
// launches keep them.
// RUN: act-opt %s --split-input-file --form-kernels --lower-groups=target=sm_80 -o %t.mlir
// RUN: act-opt %t.mlir --split-input-file --check-groups --check-launches --lower-groups=target=sm_80 | diff %t.mlir -

// The manual's example.
func.func @forward(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = act.group "silu" (%arg1 = %arg0 : tensor<4xf32>) -> tensor<4xf32> {
    %1 = act.silu %arg1 : tensor<4xf32>
    act.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
// AFTER: %0 = act.group "silu" (%arg1 = %arg0 : tensor<4xf32>) -> tensor<4xf32> {
// AFTER-NEXT:   %1 = act.silu %arg1 : tensor<4xf32>
// AFTER-NEXT:   act.yield %1 : tensor<4xf32>
// AFTER-NEXT: } launches {
// AFTER-NEXT:   act.launch @kernels::@k0_silu (input 0, result 0 written) main
// AFTER-NEXT: }
// AFTER: module @kernels attributes {act.target = "sm_80"} {
// AFTER-NEXT:   func.func @k0_silu(%arg0: tensor<4xf32>) -> tensor<4xf32> {
// AFTER-NEXT:     %0 = tensor.empty() : tensor<4xf32>

// -----

// Equal groups share a kernel; another shape has its own.
// CHECK-LABEL: func.func @shared
// CHECK: act.launch @kernels::@k0_softmax (input 0, result 0 written) main
// CHECK: act.launch @kernels::@k0_softmax (input 0, result 0 written) main
// CHECK: act.launch @kernels::@k1_softmax (input 0, result 0 written) main
// CHECK: module @kernels
// HOST-SAME: attributes {act.target = ""}
// GPU-SAME: attributes {act.target = "sm_80"}
// CHECK: func.func @k0_softmax(%arg0: tensor<4xf32>) -> tensor<4xf32>
// CHECK: func.func @k1_softmax(%arg0: tensor<8xf32>) -> tensor<8xf32>
// CHECK-NOT: func.func
func.func @shared(%x: tensor<4xf32>, %y: tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
  %0 = act.softmax %x axis 0 : tensor<4xf32>
  %1 = act.softmax %0 axis 0 : tensor<4xf32>
  %2 = act.softmax %y axis 0 : tensor<8xf32>
  return %1, %2 : tensor<4xf32>, tensor<8xf32>
}

// -----

// A layer's first operand is the step's input, which a kernel may not overwrite.
// Later ones die in the layer, so their memory is taken over: two choices, and
// the kernel in place has no argument for its result.
// CHECK-LABEL: func.func @layer
// CHECK: act.launch @kernels::@k0_silu (input 0, result 0 written) main
// CHECK: act.launch @kernels::@k1_silu (input 0 written) inplace [0] main
// CHECK: func.func @k0_silu(%arg0: tensor<4xf32>) -> tensor<4xf32>
// CHECK: func.func @k1_silu(%arg0: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}) -> tensor<4xf32>
func.func @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = act.silu %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @layers(%x: tensor<4xf32>) -> tensor<1xf32> {
  %0 = act.repeat @layer count(L = 3) carry(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = act.sum_to %0 : tensor<4xf32> -> tensor<1xf32>
  return %1 : tensor<1xf32>
}

// -----

// The gradient of attention. The host has a kernel for each order of sums. A GPU
// computes the scores once and adds up dq in turns.
// CHECK-LABEL: func.func @attention
// HOST: act.launch @kernels::@k0_attention_grad (input 0, input 1, input 2, input 3, input 4, input 5, result 1 written, result 2 written) main
// HOST: act.launch @kernels::@k1_attention_grad (input 0, input 1, input 2, input 3, input 4, input 5, result 0 written)
// GPU: act.launch @kernels::@k0_attention_grad (input 0, input 1, input 2, input 3, input 4, input 5, workspace 0 written, workspace 1 written, workspace 2 written, workspace 3 written)
// GPU: act.launch @kernels::@k1_attention_grad (input 0, input 1, input 2, input 3, input 4, input 5, workspace 1, workspace 0 written, workspace 2 written, workspace 3 written, result 1 written, result 2 written) main
// GPU: act.launch @kernels::@k2_attention_grad (input 0, input 1, input 2, input 3, input 4, input 5, workspace 0, result 0 written)
// GPU: func.func @k1_attention_grad(
// GPU-SAME: {act.role = #act.role<summed, result = {{[0-9]}}, tiles = 32>}, %{{[a-z0-9]+}}: tensor<1x4x8xi32> {act.role = #act.role<turns, result = {{[0-9]}}>}, %{{[a-z0-9]+}}: tensor<1xi32> {act.role = #act.role<ticket, result = {{[0-9]}}>}
func.func @attention(%do: tensor<1x8x4x8xf32>, %q: tensor<1x8x4x8xf32>, %k: tensor<1x8x2x8xf32>, %v: tensor<1x8x2x8xf32>, %o: tensor<1x8x4x8xf32>, %lse: tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>) {
  %0:3 = act.attention_grad %do, %q, %k, %v, %o, %lse scale 3.535534e-01 causal : (tensor<1x8x4x8xf32>, tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x4x8xf32>, tensor<1x4x8xf32>) -> (tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>)
  return %0#0, %0#1, %0#2 : tensor<1x8x4x8xf32>, tensor<1x8x2x8xf32>, tensor<1x8x2x8xf32>
}

// -----

// A product with few blocks and a long sum: on a GPU its parts are in scratch,
// and the epilogue is in the kernel that adds them up.
// CHECK-LABEL: func.func @parts
// HOST: act.launch @kernels::@k0_linear_w (input 0, input 1, result 0 written) main
// HOST-NOT: act.launch
// GPU: act.launch @kernels::@k0_linear_w (input 0, input 1, scratch written) main
// GPU: act.launch @kernels::@k1_linear_w (input 0, input 1, scratch, result 0 written)
// GPU: func.func @k1_linear_w
// GPU: math.exp
act.parameter @w "w" : tensor<64x4096xf32>
func.func @parts(%x: tensor<64x4096xf32>) -> tensor<64x64xf32> {
  %w = act.param @w : tensor<64x4096xf32>
  %0 = act.linear %x, %w : (tensor<64x4096xf32>, tensor<64x4096xf32>) -> tensor<64x64xf32>
  %1 = act.silu %0 : tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// -----

// An effect's buffers: the gradient is updated in place.
// CHECK-LABEL: func.func @grad
// CHECK: act.launch @kernels::@k0_silu_w (input 0, effect 0 gradient written) main
// CHECK: func.func @k0_silu_w(%arg0: tensor<4xf32>, %arg1: tensor<4xf32> {act.role = #act.role<in_place, result = 0>}) -> tensor<4xf32>
act.parameter @w "w" : tensor<4xf32>
func.func @grad(%x: tensor<4xf32>) {
  %0 = act.silu %x : tensor<4xf32>
  act.accumulate @w, %0 : tensor<4xf32>
  return
}
