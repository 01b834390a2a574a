// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --write-step | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %S/../Inputs/three-layers.mlir --write-step | FileCheck %s
// RUN: act-opt %S/../Inputs/three-layers.mlir --optimizer=sgd --clip=0.5 | FileCheck %s --check-prefix=CLIP
// RUN: act-opt %S/../Inputs/three-layers.mlir --write-step=micro-batches=4 | FileCheck %s --check-prefix=MICRO
// RUN: act-opt %S/../Inputs/three-layers.mlir --micro-batches=4 --loss-average=micro-batches | FileCheck %s --check-prefix=MEANS
// RUN: sed 's/reduction mean/reduction sum/' %S/../Inputs/three-layers.mlir | act-opt --micro-batches=4 | FileCheck %s --check-prefix=TOTAL
// RUN: sed -e 's/reduction mean/reduction sum/' -e 's/return %loss/%%two = act.mul %%loss, %%loss : (tensor<f32>, tensor<f32>) -> tensor<f32> return %%two/' %S/../Inputs/three-layers.mlir | act-opt --micro-batches=4 | FileCheck %s --check-prefix=MIXED
// RUN: sed s/xf32/xbf16/g %S/../Inputs/three-layers.mlir | act-opt --write-step | FileCheck %s --check-prefix=MASTER
// RUN: sed s/xf32/xbf16/g %S/../Inputs/three-layers.mlir | act-opt --write-step="master=none grad-dtype=f32" | FileCheck %s --check-prefix=WIDE

// The manual's example.
act.parameter @w "w" : tensor<4x8xf32>
func.func @forward(%arg0: tensor<2x8xf32>, %arg1: tensor<2xi32>) -> tensor<f32> {
  %w = act.param @w : tensor<4x8xf32>
  %0 = act.linear %arg0, %w : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  %loss = act.cross_entropy %0, %arg1 ignore -100 reduction mean : (tensor<2x4xf32>, tensor<2xi32>) -> tensor<f32>
  return %loss : tensor<f32>
}
// AFTER: func.func @update(%arg0: f32 {act.name = "lr"}, %arg1: i64 {act.name = "step"}) {
// AFTER-NEXT:   act.adamw @w lr(%arg0) step(%arg1) betas [9.000000e-01, 9.990000e-01] eps 1.000000e-08 weight_decay 1.000000e-02
// AFTER-NEXT:   return
// AFTER-NEXT: }
// AFTER-NEXT: func.func @step(%arg0: tensor<2x8xf32>, %arg1: tensor<2xi32>, %arg2: f32 {act.name = "lr"}, %arg3: i64 {act.name = "step"}) -> {{.*}}
// AFTER-NEXT:   act.zero_grad @w
// AFTER-NEXT:   %0 = call @grad(%arg0, %arg1) : (tensor<2x8xf32>, tensor<2xi32>) -> tensor<f32>
// AFTER-NEXT:   act.phase "update"
// AFTER-NEXT:   call @update(%arg2, %arg3) : (f32, i64) -> ()
// AFTER-NEXT:   return %0 : tensor<f32>
// AFTER-NEXT: }

// The defaults are those of torch.optim.AdamW; layers are updated in a repeat.
// CHECK: module attributes {{.*}}act.optimizer = "adamw"
// CHECK-LABEL: func.func private @layer.update
// CHECK-SAME: (%[[LR:[^:]+]]: f32, %[[STEP:[^:]+]]: i64)
// CHECK: act.adamw @n lr(%[[LR]]) step(%[[STEP]]) betas [9.000000e-01, 9.990000e-01] eps 1.000000e-08 weight_decay 1.000000e-02{{$}}
// CHECK: act.adamw @w
// CHECK-LABEL: func.func @update
// CHECK: act.repeat @layer.update count(L = 3)
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[X:[^:]+]]: {{.*}} {act.name = "x"}, %[[L:[^:]+]]: {{.*}} {act.name = "labels"}, %[[LR:[^:]+]]: f32 {act.name = "lr"}, %[[STEP:[^:]+]]: i64 {act.name = "step"}
// CHECK-NEXT: act.repeat @layer.zero_grad count(L = 3)
// CHECK-NEXT: %[[LOSS:.+]] = call @grad(%[[X]], %[[L]])
// CHECK-NEXT: act.phase "update"
// CHECK-NEXT: call @update(%[[LR]], %[[STEP]])
// CHECK-NEXT: return %[[LOSS]]

// The norm of all gradients together scales each of them.
// CLIP: func.func private @layer.square_sum(%[[SUM:[^:]+]]: tensor<f32>)
// CLIP: %[[A:.+]] = act.grad_square_sum @n, %[[SUM]]
// CLIP: %[[B:.+]] = act.grad_square_sum @w, %[[A]]
// CLIP: return %[[B]]
// CLIP: act.sgd @n lr(%{{.+}}) clip(%{{.+}})
// CLIP-LABEL: func.func @update
// CLIP: %[[S:.+]] = act.repeat @layer.square_sum
// CLIP: %[[C:.+]] = act.clip %[[S]]
// CLIP: act.repeat @layer.update {{.*}} shared(%{{.+}}, %{{.+}}, %[[C]])

// Inputs get a leading dimension, gradients and losses add up, and both are over
// the labels of the step, which are counted first.
// MICRO: act.loss_average = "labels"
// MICRO-LABEL: func.func @grad
// MICRO-SAME: %[[N:[^:]+]]: tensor<f32> {act.name = "step_labels"})
// MICRO: %[[T:.+]], %lse = act.cross_entropy {{.*}} reduction sum
// MICRO-NEXT: %[[L:.+]] = act.div %[[T]], %[[N]]
// MICRO: %[[ONE:.+]] = act.constant dense<1.000000e+00> : tensor<f32> {act.loss_scale}
// MICRO: %[[D:.+]] = act.div %[[ONE]], %[[N]]
// MICRO: act.cross_entropy_grad %[[D]], {{.*}} reduction sum
// MICRO: return %[[L]]
// MICRO: func.func private @grad.micro(%[[SUM:[^:]+]]: tensor<f32>, %[[N:[^:]+]]: tensor<f32>, %[[X:[^:]+]]: {{.*}}, %[[Y:[^:]+]]: tensor<2x3xi32
// MICRO: %[[P:.+]] = call @grad(%[[X]], %[[Y]], %[[N]])
// MICRO: act.add %[[SUM]], %[[P]]
// MICRO-LABEL: func.func @step
// MICRO-SAME: tensor<4x2x3x4xf32{{.*}}, %[[LABELS:[^:]+]]: tensor<4x2x3xi32, #{{[^>]+}}> {act.name = "labels"}, %{{[^:]+}}: f32 {act.name = "lr"}, %{{[^:]+}}: i64 {act.name = "step"})
// MICRO: act.repeat @layer.zero_grad
// MICRO: %[[COUNT:.+]] = act.label_count %[[LABELS]] ignore -100
// MICRO: act.repeat @grad.micro count(4) micro_batches carry(%{{.+}}) shared(%[[COUNT]])
// MICRO: act.phase "update"

// Asked for, the mean of the micro-batches' means.
// MEANS: act.loss_average = "micro-batches"
// MEANS-LABEL: func.func @grad
// MEANS: act.cross_entropy {{.*}} reduction mean
// MEANS: act.constant dense<2.500000e-01> : tensor<f32> {act.loss_scale}
// MEANS: func.func private @grad.micro(%[[SUM:[^:]+]]: tensor<f32>
// MEANS: %[[L:.+]] = call @grad
// MEANS: %[[P:.+]] = act.scale %[[L]] by 2.500000e-01
// MEANS: act.add %[[SUM]], %[[P]]

// A sum over tokens adds up as it is. Beside a loss of which each micro-batch
// counts alike, it is scaled to as many tokens as the step has, and so is what a
// mean divides by.
// TOTAL-LABEL: func.func @grad
// TOTAL: act.cross_entropy {{.*}} reduction sum
// TOTAL-NOT: act.scale
// TOTAL: act.constant dense<1.000000e+00> : tensor<f32> {act.loss_scale}
// MIXED: %[[T:.+]], %lse = act.cross_entropy {{.*}} reduction sum
// MIXED-NEXT: act.scale %[[T]] by 4.000000e+00
// MIXED: act.constant dense<2.500000e-01> : tensor<f32> {act.loss_scale}
// MIXED: %[[D:.+]] = act.scale %{{.+}} by 4.000000e+00
// MIXED: act.cross_entropy_grad %[[D]]
// MIXED: func.func private @grad.micro
// MIXED: act.scale %{{.+}} by 2.500000e-01

// 16-bit parameters have a master copy in f32.
// MASTER: act.adamw @n {{.*}} master
// MASTER: act.adamw @w {{.*}} master

// Without a master, and a gradient that is not rounded on its way.
// WIDE: %[[D:.+]] = act.matmul {{.*}} transpose_lhs : (tensor<6x4xbf16{{.*}}>, tensor<6x4xbf16{{.*}}>) -> tensor<4x4xf32
// WIDE: act.accumulate @w, %[[D]] : tensor<4x4xf32
// WIDE-NOT: master
// WIDE: act.parameter @w {{.*}}act.gradient_type = f32
