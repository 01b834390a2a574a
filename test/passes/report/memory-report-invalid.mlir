// SPDX-License-Identifier: Apache-2.0
// RUN: not act-opt %s --memory-report=format=xml 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not act-opt %s --memory-report 2>&1 | FileCheck %s --check-prefix=LETTER
// RUN: not act-opt %s --memory-report=dims=b=0 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not act-opt %s --memory-report=dims=b 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not act-opt %s --memory-report="dims=b=2 function=nowhere" 2>&1 | FileCheck %s --check-prefix=FUNCTION
// RUN: not act-opt %s --memory-report="dims=b=2 file=%t.nowhere/report.txt" 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not act-opt %s --memory-report="dims=b=2,h=8" 2>&1 | FileCheck %s --check-prefix=FIXED
// RUN: not act-opt %s --memory-report=attention=eager 2>&1 | FileCheck %s --check-prefix=ATTENTION
// RUN: not act-opt %s --memory-report="attention=sdpa-flash view=paper" 2>&1 | FileCheck %s --check-prefix=PAPER
// RUN: not act-opt %s --memory-report=checkpoint=reentrant 2>&1 | FileCheck %s --check-prefix=CHECKPOINT
// RUN: not act-opt %s --memory-report="view=torch selection=gpt-layer" 2>&1 | FileCheck %s --check-prefix=SELECTION
// RUN: not act-opt %s --memory-report="view=torch function=forward" 2>&1 | FileCheck %s --check-prefix=TORCH
// FORMAT: error: unknown report format 'xml': expected text, json, html, formula or svg
// LETTER: error: the letter b has no size; give it one with dims=b=N
// SIZE: error: 'b=0' gives no letter a positive size, expected b=1,s=4096
// SHAPE: error: 'b' gives no letter a positive size, expected b=1,s=4096
// FUNCTION: error: the module has no function @nowhere
// FIXED: error: dims gives h=8, but in the module h has the size 4
// ATTENTION: error: attention applies to view torch, but this is view act: expected view=torch as well
// PAPER: error: attention applies to view torch, but this is view paper: expected view=torch as well
// CHECKPOINT: error: checkpoint applies to view torch, but this is view act: expected view=torch as well
// SELECTION: error: selection applies to view paper, but this is view torch: expected view=paper as well
// TORCH: error: function=forward: view torch applies to a step of @forward, not to a function
// FILE: error: {{.*}}.nowhere/report.txt
func.func @forward(%x: tensor<?x4xf32, #act.dims<b, h>>) -> tensor<?x4xf32, #act.dims<b, h>> {
  %0 = act.softmax %x axis 1 : tensor<?x4xf32, #act.dims<b, h>>
  return %0 : tensor<?x4xf32, #act.dims<b, h>>
}
