// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --memory-report="dims=b=2 file=-" -o /dev/null | FileCheck %s
// RUN: act-opt %s --memory-report="dims=b=2,z=3" -o /dev/null | FileCheck %s
// RUN: act-opt %s --memory-report="dims=b=6 file=-" -o /dev/null | FileCheck %s --check-prefix=MORE

// Letters that are dynamic get sizes.
// CHECK: arena (planned) {{.*}} 64
// CHECK: lower bound {{.*}} 64
// MORE: arena (planned) {{.*}} 128
// MORE: lower bound {{.*}} 128
func.func @forward(%x: tensor<?x4xf32, #act.dims<b, h>>) -> tensor<?x4xf32, #act.dims<b, h>> {
  %0 = act.softmax %x axis 1 : tensor<?x4xf32, #act.dims<b, h>>
  %1 = act.softmax %0 axis 1 : tensor<?x4xf32, #act.dims<b, h>>
  return %1 : tensor<?x4xf32, #act.dims<b, h>>
}
