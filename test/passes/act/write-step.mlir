// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %S/Inputs/three-layers.mlir --write-step | FileCheck %s
// RUN: act-opt %S/Inputs/three-layers.mlir --optimizer=sgd --clip=0.5 | FileCheck %s --check-prefix=CLIP
// RUN: act-opt %S/Inputs/three-layers.mlir --write-step=micro-batches=4 | FileCheck %s --check-prefix=MICRO
// RUN: sed s/xf32/xbf16/g %S/Inputs/three-layers.mlir | act-opt --write-step | FileCheck %s --check-prefix=MASTER
// RUN: sed s/xf32/xbf16/g %S/Inputs/three-layers.mlir | act-opt --write-step="master=none grad-dtype=f32" | FileCheck %s --check-prefix=WIDE

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

// Inputs get a leading dimension, gradients add up, and the loss's gradient and
// the loss are those of the mean.
// MICRO-LABEL: func.func @grad
// MICRO: act.constant dense<2.500000e-01> : tensor<f32> {act.loss_scale}
// MICRO: func.func private @grad.micro(%[[SUM:[^:]+]]: tensor<f32>
// MICRO: %[[L:.+]] = call @grad
// MICRO: %[[P:.+]] = act.scale %[[L]] by 2.500000e-01
// MICRO: act.add %[[SUM]], %[[P]]
// MICRO-LABEL: func.func @step
// MICRO-SAME: tensor<4x2x3x4xf32
// MICRO: act.repeat @layer.zero_grad
// MICRO: act.repeat @grad.micro count(4) micro_batches
// MICRO: act.phase "update"

// 16-bit parameters have a master copy in f32.
// MASTER: act.adamw @n {{.*}} master
// MASTER: act.adamw @w {{.*}} master

// Without a master, and a gradient that is not rounded on its way.
// WIDE: %[[D:.+]] = act.matmul {{.*}} transpose_lhs : (tensor<6x4xbf16{{.*}}>, tensor<6x4xbf16{{.*}}>) -> tensor<4x4xf32
// WIDE: act.accumulate @w, %[[D]] : tensor<4x4xf32
// WIDE-NOT: master
// WIDE: act.parameter @w {{.*}}act.gradient_type = f32
