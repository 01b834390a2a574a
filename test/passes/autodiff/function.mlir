// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --autodiff | FileCheck %s
// RUN: act-opt %s --autodiff --form-kernels | FileCheck %s --check-prefix=KERNELS
// RUN: act-opt %s --memory-report -o /dev/null | FileCheck %s --check-prefix=REPORT
// RUN: act-opt %s --emit=file=%t.act -o /dev/null
// RUN: not act-opt %s --optimizer=adamw 2>&1 | FileCheck %s --check-prefix=STEP
//
// A function is a model without a loss. Its gradient takes that of each result that
// depends on something trained, and returns that of each argument that asks for it.
module @function {
  act.parameter @w "w" : tensor<4x3xf32>
  func.func @forward(%x: tensor<5x3xf32> {act.name = "x", act.requires_grad},
                     %n: tensor<4xi32> {act.name = "n"},
                     %u: tensor<5x4xf32> {act.name = "u"})
      -> (tensor<5x4xf32> {act.name = "y"}, tensor<5x3xf32> {act.name = "same"},
          tensor<4xi32> {act.name = "n"}, tensor<20xf32> {act.name = "flat"},
          tensor<5x4xf32> {act.name = "next", act.updates = "u"})
      attributes {act.differentiable} {
    %w = act.param @w : tensor<4x3xf32>
    %z = act.linear %x, %w : (tensor<5x3xf32>, tensor<4x3xf32>) -> tensor<5x4xf32>
    %y = act.tanh %z : tensor<5x4xf32>
    %f = act.reshape %y : tensor<5x4xf32> -> tensor<20xf32>
    %t = act.add %u, %y : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
    return %y, %x, %n, %f, %t
      : tensor<5x4xf32>, tensor<5x3xf32>, tensor<4xi32>, tensor<20xf32>, tensor<5x4xf32>
  }
}

// CHECK-LABEL: func.func @grad(
// CHECK-SAME: %[[X:.*]]: tensor<5x3xf32> {act.name = "x", act.requires_grad}, %{{.*}}: tensor<4xi32> {act.name = "n"}, %{{.*}}: tensor<5x4xf32> {act.name = "u"},
// CHECK-SAME: %[[DY:.*]]: tensor<5x4xf32> {act.name = "y.grad"}, %[[DSAME:.*]]: tensor<5x3xf32> {act.name = "same.grad"}, %[[DFLAT:.*]]: tensor<20xf32> {act.name = "flat.grad"})
// CHECK-SAME: tensor<5x4xf32> {act.name = "next", act.updates = "u"}, tensor<5x3xf32> {act.name = "x.grad"})
// CHECK-SAME: attributes {act.differentiable}
// CHECK: act.phase "backward"
// CHECK: %[[F:.*]] = act.reshape %[[DFLAT]]
// CHECK: %[[SUM:.*]] = act.add %[[DY]], %[[F]]
// CHECK: %[[DZ:.*]] = act.tanh_grad %[[SUM]]
// CHECK: act.accumulate @w
// CHECK: %[[DX:.*]] = act.matmul %[[DZ]]
// CHECK: %[[ALL:.*]] = act.add %[[DSAME]], %[[DX]]
// CHECK: return {{.*}}, %[[ALL]] :

// What leaves the function without an op of its own is copied, before backward begins.
// KERNELS-LABEL: func.func @grad(
// KERNELS-COUNT-3: act.expand
// KERNELS: act.phase "backward"
// KERNELS-NOT: act.expand
// KERNELS: return

// REPORT: function @grad, view act
// REPORT: parameter gradients {{ *}}48 B

// STEP: the module is a differentiable function and has no training step
