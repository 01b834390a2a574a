// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %S/../Inputs/three-layers.mlir --optimizer=lion --weight-decay=0.1 --decay-on=matrices | FileCheck %s --check-prefix=LION
// RUN: act-opt %S/../Inputs/three-layers.mlir --optimizer=sgd --momentum=0.9 --state-dtype=bf16 | FileCheck %s --check-prefix=SGD
// RUN: act-import %S/../import/Inputs/llama-tied.json --seq 8 -o %t.mlir
// RUN: act-opt %t.mlir --optimizer=adamw8bit | FileCheck %s --check-prefix=EIGHT
// RUN: act-opt %S/../Inputs/three-layers.mlir --grad-norm --loss-scale --clip=1 | FileCheck %s --check-prefix=SCALE
// RUN: act-opt %S/../Inputs/three-layers.mlir --loss-scale --micro-batches=2 | FileCheck %s --check-prefix=MICRO
// RUN: act-opt %S/../Inputs/three-layers.mlir --optimizer=sgd --momentum=0.9 --state-dtype=bf16 --memory-report=format=json -o /dev/null | FileCheck %s --check-prefix=BYTES
// RUN: act-opt %S/../Inputs/three-layers.mlir --optimizer=lion --memory-report=format=json -o /dev/null | FileCheck %s --check-prefix=LION-BYTES

// Lion's own defaults; vectors do not decay.
// LION: act.lion @n lr(%{{.+}}) betas [9.000000e-01, 9.900000e-01] weight_decay 0.000000e+00{{$}}
// LION: act.lion @w lr(%{{.+}}) betas [9.000000e-01, 9.900000e-01] weight_decay 1.000000e-01{{$}}

// SGD: act.parameter @w {{.*}}act.state_type = bf16
// SGD: act.sgd @w lr(%{{.+}}) momentum 9.000000e-01{{$}}

// The scale is an input of the step and of its gradient; the update divides by it.
// SCALE-LABEL: func.func @grad
// SCALE-SAME: %[[K:[^:]+]]: tensor<f32> {act.name = "loss_scale"})
// SCALE-NOT: act.loss_scale}
// SCALE: act.cross_entropy_grad %[[K]],
// SCALE-LABEL: func.func @update
// SCALE-SAME: %[[U:[^:]+]]: tensor<f32> {act.name = "loss_scale"}) -> tensor<f32>
// SCALE: %[[S:.+]] = act.repeat @layer.square_sum
// SCALE: %[[N:.+]] = act.grad_norm %[[S]] scale(%[[U]] : tensor<f32>)
// SCALE: %[[C:.+]] = act.clip %[[S]] scale(%[[U]] : tensor<f32>) max_norm 1.000000e+00
// SCALE: act.repeat @layer.update {{.*}} shared(%{{.+}}, %{{.+}}, %[[C]])
// SCALE: return %[[N]]
// SCALE-LABEL: func.func @step
// SCALE-SAME: -> (tensor<f32> {act.name = "loss"}, tensor<f32> {act.name = "grad_norm"})

// Each micro-batch gets the whole scale.
// MICRO: func.func private @grad.micro(%{{[^:]+}}: tensor<f32>, %{{[^:]+}}: tensor<f32>, %[[K:[^:]+]]: tensor<f32>
// MICRO: call @grad({{.*}}, %[[K]])
// MICRO-LABEL: func.func @step
// MICRO-SAME: %[[K:[^:]+]]: tensor<f32> {act.name = "loss_scale"}, %{{[^:]+}}: f32 {act.name = "lr"}
// MICRO: act.repeat @grad.micro count(2) micro_batches carry(%{{.+}}) shared(%{{.+}}, %[[K]])

// Three layers of a norm of 4 and a matrix of 4x4.
// BYTES: "optimizer_bytes": 120,
// LION-BYTES: "optimizer_bytes": 240,

// Tensors of 4096 elements and more, if blocks of 256 divide them.
// EIGHT: act.adamw @input_layernorm
// EIGHT: act.adamw8bit @q_proj lr(%{{.+}}) step(%{{.+}}) betas [9.000000e-01, 9.990000e-01] eps 1.000000e-08 weight_decay 1.000000e-02
