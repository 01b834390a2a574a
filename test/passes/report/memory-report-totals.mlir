// SPDX-License-Identifier: Apache-2.0
// RUN: split-file %s %t
// RUN: act-opt %t/logits.mlir --memory-report="file=-" -o /dev/null | FileCheck %s --check-prefix=TEXT
// RUN: act-opt %t/logits.mlir --memory-report="format=json file=-" -o /dev/null | FileCheck %s --check-prefix=JSON
// RUN: act-opt %t/logits.mlir --memory-report="format=html file=-" -o /dev/null | FileCheck %s --check-prefix=HTML
// RUN: act-opt %t/huge.mlir --memory-report="file=-" -o /dev/null | FileCheck %s --check-prefix=HUGE
// RUN: act-opt %t/huge.mlir --memory-report="format=json file=-" -o /dev/null | FileCheck %s --check-prefix=HUGE-JSON

// What leaves through an output is outside of the arena, and in the total:
// at the peak 64 bytes of hidden values and 640 of logits, 640 of weights, 64 of
// inputs and 640 of results.
//--- logits.mlir
act.parameter @w "w" : tensor<40x4xf32>
func.func @forward(%x: tensor<4x4xf32>) -> tensor<4x40xf32> {
  %w = act.param @w : tensor<40x4xf32>
  %0 = act.softmax %x axis 1 : tensor<4x4xf32>
  %1 = act.linear %0, %w : (tensor<4x4xf32>, tensor<40x4xf32>) -> tensor<4x40xf32>
  %2 = act.softmax %1 axis 1 : tensor<4x40xf32>
  return %2 : tensor<4x40xf32>
}
// TEXT: peak of activations {{.*}} 704
// TEXT: parameters {{.*}} 640
// TEXT: inputs {{.*}} 64
// TEXT: outputs {{.*}} 640
// TEXT: total peak {{.*}} 2,048
// JSON: "total_peak_bytes": 2048
// JSON: "parameters_bytes": 640
// JSON: "inputs_bytes": 64
// JSON: "outputs_bytes": 640
// HTML-DAG: ["outputs", data.outputs_bytes]
// HTML-DAG: "outputs_bytes":640

// 2^64 FLOPs are more than the counter holds: it stops, and the report says so.
//--- huge.mlir
func.func @forward(%x: tensor<2097152x2097152xf32>, %y: tensor<2097152x2097152xf32>) -> tensor<2097152x2097152xf32> {
  %0 = act.matmul %x, %y : (tensor<2097152x2097152xf32>, tensor<2097152x2097152xf32>) -> tensor<2097152x2097152xf32>
  %1 = act.matmul %0, %y : (tensor<2097152x2097152xf32>, tensor<2097152x2097152xf32>) -> tensor<2097152x2097152xf32>
  return %1 : tensor<2097152x2097152xf32>
}
// HUGE: FLOPs of a step 9.22e+18
// HUGE: note: more than 9.22e+18 FLOPs; the count stops there
// HUGE-JSON: "flops": 9223372036854775807
