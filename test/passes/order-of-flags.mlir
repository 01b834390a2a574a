// SPDX-License-Identifier: Apache-2.0
// Passes with but one order are put into it; --pass-pipeline is taken as it is, and
// says what is wrong without naming a flag that nobody typed.
// RUN: act-opt %S/Inputs/three-layers.mlir --fuse-attention --write-step=optimizer=sgd --remat=selective --form-kernels -o %t.right
// RUN: act-opt %S/Inputs/three-layers.mlir --form-kernels --optimizer=sgd --remat=selective --fuse-attention -o %t.wrong
// RUN: cmp %t.right %t.wrong
// RUN: not act-opt %S/Inputs/three-layers.mlir --pass-pipeline='builtin.module(remat{policy=selective},fuse-attention)' -o /dev/null 2>&1 | FileCheck %s
// CHECK: three-layers.mlir:{{[0-9:]+}} error: fuse-attention needs a model that is not differentiated yet
// CHECK-NOT: --autodiff
