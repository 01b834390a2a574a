// SPDX-License-Identifier: Apache-2.0
// RUN: not act-opt %s --remat=offload= 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not act-opt %s --remat=offload=25GB 2>&1 | FileCheck %s --check-prefix=TIME
// RUN: not act-opt %s --remat=offload=0GB/s 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not act-opt %s --remat=budget=1kB,offload=25/s 2>&1 | FileCheck %s --check-prefix=UNIT
// RUN: not act-opt %s --remat=budget=1kB,ofload 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not act-opt %s --remat=budget=,offload 2>&1 | FileCheck %s --check-prefix=BYTES
// NONE: error: remat policy 'offload=': expected a speed such as offload=25GB/s
// TIME: error: remat policy 'offload=25GB': expected a speed
// ZERO: error: remat policy 'offload=0GB/s': expected a speed
// UNIT: error: remat policy 'budget=1kB,offload=25/s': expected a speed
// WORD: error: remat policy 'budget=1kB,ofload': expected ',offload' or ',offload=25GB/s' after the bytes
// BYTES: error: remat policy 'budget=,offload': expected bytes

act.parameter @w "w" : tensor<4xf32>
