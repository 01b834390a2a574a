// SPDX-License-Identifier: Apache-2.0
// RUN: not act-opt %s --memory-report=format=xml 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not act-opt %s --memory-report 2>&1 | FileCheck %s --check-prefix=LETTER
// RUN: not act-opt %s --memory-report=dims=b=0 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not act-opt %s --memory-report=dims=b 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not act-opt %s --memory-report="dims=b=2 function=nowhere" 2>&1 | FileCheck %s --check-prefix=FUNCTION
// RUN: not act-opt %s --memory-report="dims=b=2 file=%t.nowhere/report.txt" 2>&1 | FileCheck %s --check-prefix=FILE
// FORMAT: error: unknown report format 'xml': expected text, json, html, formula or svg
// LETTER: error: the letter b has no size; give it one with dims=b=N
// SIZE: error: 'b=0' gives no letter a positive size; expected b=1,s=4096
// SHAPE: error: 'b' gives no letter a positive size; expected b=1,s=4096
// FUNCTION: error: has no function @nowhere
// FILE: error: {{.*}}.nowhere/report.txt
func.func @forward(%x: tensor<?x4xf32, #act.dims<b, h>>) -> tensor<?x4xf32, #act.dims<b, h>> {
  %0 = act.softmax %x axis 1 : tensor<?x4xf32, #act.dims<b, h>>
  return %0 : tensor<?x4xf32, #act.dims<b, h>>
}
