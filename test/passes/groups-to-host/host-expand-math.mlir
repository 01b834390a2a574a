// SPDX-License-Identifier: Apache-2.0
// RUN: act-opt %s --host-expand-math | FileCheck %s --check-prefix=AFTER --match-full-lines
// RUN: act-opt %s --host-expand-math | FileCheck %s

// The example of the manual: 1 / sqrt, and f16 in f32.
// AFTER: %0 = math.sqrt %arg0 : vector<16xf32>
// AFTER-NEXT: %1 = arith.divf %cst, %0 : vector<16xf32>
// AFTER-NEXT: %2 = arith.extf %arg1 : vector<16xf16> to vector<16xf32>
// AFTER-NEXT: %3 = arith.extf %arg1 : vector<16xf16> to vector<16xf32>
// AFTER-NEXT: %4 = arith.addf %2, %3 : vector<16xf32>
// AFTER-NEXT: %5 = arith.truncf %4 : vector<16xf32> to vector<16xf16>
func.func @example(%x: vector<16xf32>, %h: vector<16xf16>) -> (vector<16xf32>, vector<16xf16>) {
  %0 = math.rsqrt %x : vector<16xf32>
  %1 = arith.addf %h, %h : vector<16xf16>
  return %0, %1 : vector<16xf32>, vector<16xf16>
}

// A polynomial, on vectors too.
// CHECK-LABEL: func.func @polynomials
// CHECK-NOT: math.{{exp|log|tanh|erf|expm1|log1p|atan}}
// CHECK: math.fma {{.*}} : vector<16xf32>
// CHECK: return
func.func @polynomials(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x : vector<16xf32>
  %1 = math.log %0 : vector<16xf32>
  %2 = math.tanh %1 : vector<16xf32>
  %3 = math.erf %2 : vector<16xf32>
  %4 = math.expm1 %3 : vector<16xf32>
  %5 = math.log1p %4 : vector<16xf32>
  %6 = math.atan %5 : vector<16xf32>
  return %6 : vector<16xf32>
}

// What libm computes.
// CHECK-LABEL: func.func @calls
// CHECK-NEXT: math.sin
// CHECK-NEXT: math.cos
// CHECK-NEXT: math.powf
// CHECK-NEXT: math.exp {{.*}} : f64
// CHECK-NEXT: return
func.func @calls(%x: f32, %y: f64) -> (f32, f32, f32, f64) {
  %0 = math.sin %x : f32
  %1 = math.cos %x : f32
  %2 = math.powf %x, %x : f32
  %3 = math.exp %y : f64
  return %0, %1, %2, %3 : f32, f32, f32, f64
}

// Conversions of bf16 are integer operations; one from f64 goes through f32.
// CHECK-LABEL: func.func @bf16
// CHECK: arith.truncf %{{.+}} : f64 to f32
// CHECK-NOT: arith.truncf
// CHECK: arith.bitcast %{{.+}} : i16 to bf16
func.func @bf16(%x: f64) -> bf16 {
  %0 = arith.truncf %x : f64 to bf16
  return %0 : bf16
}

// CHECK-LABEL: func.func @clamp
// CHECK-SAME: (%[[X:.+]]: f32, %[[LOW:.+]]: f32, %[[HIGH:.+]]: f32)
// CHECK-NOT: math.clampf
// CHECK: arith.cmpf ugt, %[[X]], %[[LOW]]
// CHECK: arith.cmpf ult, %{{.+}}, %[[HIGH]]
func.func @clamp(%x: f32, %low: f32, %high: f32) -> f32 {
  %0 = math.clampf %x to [%low, %high] : f32
  return %0 : f32
}
