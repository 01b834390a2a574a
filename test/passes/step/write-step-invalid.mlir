// SPDX-License-Identifier: Apache-2.0
// RUN: not act-opt %s --optimizer=ftrl 2>&1 | FileCheck %s --check-prefix=OPTIMIZER
// RUN: not act-opt %s --master=bf16 2>&1 | FileCheck %s --check-prefix=MASTER
// RUN: not act-opt %s --grad-dtype=f8 2>&1 | FileCheck %s --check-prefix=DTYPE
// RUN: not act-opt %s --grad-dtype=bf16 2>&1 | FileCheck %s --check-prefix=NARROW
// RUN: not act-opt %s --micro-batches=0 2>&1 | FileCheck %s --check-prefix=MICRO
// RUN: not act-opt %s --loss-average=tokens 2>&1 | FileCheck %s --check-prefix=AVERAGE
// RUN: not act-opt %S/Inputs/labels-made-inside.mlir --micro-batches=2 2>&1 | FileCheck %s --check-prefix=INSIDE
// RUN: not act-opt %s --clip=-1 2>&1 | FileCheck %s --check-prefix=CLIP
// RUN: not act-opt %s --beta1=1.5 2>&1 | FileCheck %s --check-prefix=BETA1
// RUN: not act-opt %s --beta2=-0.5 2>&1 | FileCheck %s --check-prefix=BETA2
// RUN: not act-opt %s --eps=0 2>&1 | FileCheck %s --check-prefix=EPS
// RUN: not act-opt %s --momentum=0.9 2>&1 | FileCheck %s --check-prefix=MOMENTUM
// RUN: not act-opt %s --weight-decay=-1 2>&1 | FileCheck %s --check-prefix=DECAY
// RUN: not act-opt %s --decay-on=norms 2>&1 | FileCheck %s --check-prefix=ON
// RUN: not act-opt %s --state-dtype=f16 2>&1 | FileCheck %s --check-prefix=STATE
// RUN: not act-opt %s --write-step --write-step 2>&1 | FileCheck %s --check-prefix=TWICE
// OPTIMIZER: error: unknown optimizer 'ftrl': expected adamw, adamw8bit, lion or sgd
// MASTER: error: unknown master type 'bf16': expected f32 or none
// DTYPE: error: unknown grad-dtype 'f8': expected f32, bf16 or f16
// NARROW: error: grad-dtype 'bf16' does not hold gradients of 'f32' parameters: expected 'f32' or a wider type
// MICRO: error: micro-batches must be from 1 to 4096, got 0
// AVERAGE: error: unknown loss-average 'tokens': expected labels or micro-batches
// INSIDE: error: 'act.cross_entropy' op divides by the number of its labels, which are not an input of @forward, so the labels of all micro-batches cannot be counted before the first; loss-average=micro-batches takes the mean of the micro-batches' losses
// CLIP: error: clip must not be negative, got -1
// BETA1: error: beta1 must be at least 0 and below 1, got 1.5
// BETA2: error: beta2 must be at least 0 and below 1, got -5.0
// EPS: error: eps must be positive, got 0
// MOMENTUM: error: momentum is sgd's, and the optimizer is adamw
// DECAY: error: weight-decay must not be negative, got -1
// ON: error: unknown decay-on 'norms': expected all or matrices
// STATE: error: unknown state-dtype 'f16': expected f32 or bf16
// TWICE: error: the module already has a @step or an @update
act.parameter @w "w" : tensor<4xf32>
func.func @forward(%x: tensor<4xf32>) -> tensor<f32> {
  %w = act.param @w : tensor<4xf32>
  %0 = act.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %sum = act.sum_to %0 : tensor<4xf32> -> tensor<1xf32>
  %loss = act.reshape %sum : tensor<1xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
