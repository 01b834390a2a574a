// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --memory-report="format=json file=%t.json" -o /dev/null
// RUN: FileCheck %s < %t.json
// RUN: act-opt %s --memory-report="file=-" -o /dev/null | FileCheck %s --check-prefix=TEXT

// A kernel's workspace counts while it runs, in a category of its own. Kernels of
// one name and different workspaces are told apart in the formula.
// CHECK-DAG: "peak_bytes": 3064
// CHECK-DAG: "category": "workspace"
// CHECK-DAG: "workspace": 3000
// TEXT: peak of activations {{.*}} 3,064
module {
  func.func @forward(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = act.group "split" (%a = %x : tensor<4x4xf32>) workspace(tensor<1000xi8>) -> tensor<4x4xf32> {
      %s = act.softmax %a axis 0 : tensor<4x4xf32>
      act.yield %s : tensor<4x4xf32>
    }
    %1 = act.group "split" (%a = %0 : tensor<4x4xf32>) workspace(tensor<500xi8>, tensor<625xf32>) -> tensor<4x4xf32> {
      %s = act.softmax %a axis 1 : tensor<4x4xf32>
      act.yield %s : tensor<4x4xf32>
    }
    return %1 : tensor<4x4xf32>
  }
}
