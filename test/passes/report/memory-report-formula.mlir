// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --memory-report=format=formula -o /dev/null | FileCheck %s
// RUN: sed -e 's/x8x8xf32, #act.dims<b, s/x?x?xf32, #act.dims<b, s/g; s/2x?x?/?x?x?/g; s/2x8xi32/?x?xi32/' %s | act-opt --memory-report=format=formula -o /dev/null | FileCheck %s
// RUN: act-opt %S/../Inputs/three-layers.mlir --memory-report=format=formula -o /dev/null | FileCheck %s --check-prefix=LAYERS
// RUN: act-import %S/../import/Inputs/llama.json --symbolic b,s,h,a,d,k,f,V | act-opt --fuse-attention --remat=selective --memory-report=format=formula -o /dev/null | FileCheck %s --check-prefix=LLAMA
// RUN: act-import %S/../import/Inputs/llama.json --symbolic b,s | act-opt --remat=segments=2 --memory-report=format=formula -o /dev/null | FileCheck %s --check-prefix=SEGMENTS
// RUN: sed 's/"num_hidden_layers": [0-9]*/"num_hidden_layers": 8/' %S/../import/Inputs/llama.json > %t.json
// RUN: act-import %t.json --batch 1 --seq 64 | act-opt --fuse-attention --remat=budget=300KB --memory-report=format=formula -o /dev/null | FileCheck %s --check-prefix=BUDGET
// RUN: act-import %S/../import/Inputs/llama.json --symbolic b,s,h,a,d,k,f,V -o %t.mlir
// RUN: act-opt %t.mlir --memory-report="format=formula view=torch" -o /dev/null | FileCheck %s --check-prefix=TORCH
// RUN: act-opt %t.mlir --remat=layer --memory-report="format=formula view=torch attention=eager checkpoint=reentrant" -o /dev/null | FileCheck %s --check-prefix=AGAIN
// RUN: act-opt %t.mlir --remat=sqrt --memory-report="format=formula view=torch attention=sdpa-efficient dims=b=1" -o /dev/null | FileCheck %s --check-prefix=ONE
// RUN: act-opt %t.mlir --memory-report="format=text dims=b=1,s=8,h=12,a=4,k=2,d=6,f=10,V=40" -o /dev/null | FileCheck %s --check-prefix=SIZED
// RUN: not act-opt %t.mlir --memory-report="format=formula dims=d=7" 2>&1 | FileCheck %s --check-prefix=CONTRADICTION

// A block of ops in no usual order, s = h = V in number.
// CHECK: model_saved = b*s*(8*h + 4*V + 8)
// CHECK-NEXT: model_peak = max(b*s*(8*h + 12*V + 4), b*s*(8*h + 8*V + 8) + 4)
// CHECK-NEXT: model_alignment = 420
// CHECK-NEXT: layer_saved = b*s*(8*h + 4*V + 8)
// CHECK-NEXT: layer_peak = max(
// CHECK-NEXT: layer_saved_silu = 4*b*s*h
// CHECK-NEXT: layer_saved_w_rms_norm = 4*b*s*h
// CHECK-NEXT: layer_saved_w_rms_norm_statistic = 4*b*s
// CHECK-NEXT: layer_saved_softmax = 4*b*s*V
// CHECK-NEXT: layer_saved_cross_entropy_statistic = 4*b*s
func.func @forward(%x: tensor<2x8x8xf32, #act.dims<b, s, h>>, %labels: tensor<2x8xi32, #act.dims<b, s>>) -> tensor<f32> {
  %w = act.param @w : tensor<8xf32, #act.dims<h>>
  %u = act.param @u : tensor<8x8xf32, #act.dims<V, h>>
  %0 = act.silu %x : tensor<2x8x8xf32, #act.dims<b, s, h>>
  %1 = act.rms_norm %0, %w eps 1.0e-5 : (tensor<2x8x8xf32, #act.dims<b, s, h>>, tensor<8xf32, #act.dims<h>>) -> tensor<2x8x8xf32, #act.dims<b, s, h>>
  %2 = act.linear %1, %u : (tensor<2x8x8xf32, #act.dims<b, s, h>>, tensor<8x8xf32, #act.dims<V, h>>) -> tensor<2x8x8xf32, #act.dims<b, s, V>>
  %3 = act.softmax %2 axis 2 : tensor<2x8x8xf32, #act.dims<b, s, V>>
  %4 = act.cross_entropy %3, %labels ignore -100 reduction mean : (tensor<2x8x8xf32, #act.dims<b, s, V>>, tensor<2x8xi32, #act.dims<b, s>>) -> tensor<f32>
  return %4 : tensor<f32>
}
act.parameter @w "w" : tensor<8xf32, #act.dims<h>>
act.parameter @u "u" : tensor<8x8xf32, #act.dims<V, h>>

// LAYERS: model_saved = b*s*(L*(12*h + 4) + 4)
// LAYERS-NEXT: model_peak = b*s*(L*(12*h + 4) + 8) + 4
// Last, for which sizes.
// LAYERS: holds_L_from = 2
// LAYERS-NOT: holds_

// LLAMA: model_saved = b*s*(L*(
// LLAMA: layer_saved = b*s*(a*(4*d + 4) + 4*d*k + 4*h + 4*f + 8)
// LLAMA: layer_saved_attention_statistic = 4*b*s*a
// LLAMA: holds_L_from = 2
// LLAMA-NEXT: holds_chunk_rows = 1024
// LLAMA-NOT: *p
// SEGMENTS: layer_saved = {{[0-9]+}}*b*s
// SEGMENTS-NEXT: layer_peak =
// SEGMENTS-NEXT: layer_0_saved =
// SEGMENTS: holds_L = 3
// SEGMENTS-NOT: holds_
// A budget's runs are numbers, and so is L; a loss of one chunk says how far it goes.
// BUDGET-NOT: L
// BUDGET: holds_L = 8
// BUDGET-NEXT: holds_tokens_to = 1024
// What PyTorch keeps, of letters: the widths of norms in f32, the logits twice.
// TORCH: model_saved = b*s*(L*(a*(4*d + 4) + 4*d*k + 16*h + 8*f + 8) + 8*h + 4*V + 12) + 4*s*d + 24*L + 4
// TORCH-NEXT: model_peak = max(
// TORCH-NEXT: layer_saved = b*s*(a*(4*d + 4) + 4*d*k + 16*h + 8*f + 8) + 24
// TORCH-NOT: holds_
// AGAIN: layer_saved = 2*b*s*h
// AGAIN: layer_saved_saved_tensors = 2*b*s*h
// AGAIN-NOT: holds_
// ONE-DAG: holds_L = 3
// ONE-DAG: holds_b = 1
// ONE-DAG: holds_s_mod_32 =
// Tables of rope are as long as half a head is.
// SIZED: peak of activations
// CONTRADICTION: error: 'act.rope' op
